"""Translating SQL expressions from Spark's dialect to DuckDB's, with equal values for every row.

sqlglot parses the text. Operators and functions have rules here, in `operators`, `texts`, `times`
and `functions`. An expression without a rule is rejected, with its text and the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from elsinore.arrow import whole
from elsinore.errors import (
    InputError,
    choices_text,
    did_you_mean,
    is_on_the_command_line,
    nearest_choice,
    no_column,
    option,
)
from elsinore.runtime.chunks import plain
from elsinore.runtime.sql.casts import CAST_TYPES, cast
from elsinore.runtime.sql.database import ROWS, database
from elsinore.runtime.sql.decimals import MOST_DIGITS, digits_of_number
from elsinore.runtime.sql.functions import ELEMENT, FUNCTIONS
from elsinore.runtime.sql.kinds import (
    DATE,
    DOUBLE,
    NUMBERS,
    TEXT,
    TIME,
    TIMES,
    Kind,
    as_spark_reads,
)
from elsinore.runtime.sql.operators import OPERATORS, SPECIAL
from elsinore.runtime.sql.parts import (
    Part,
    RejectedError,
    as_double,
    constant_argument,
    converted_text,
    quoted_text,
)
from elsinore.words import count

FOR = "The expression for the "
_FIELDS = {  # of EXTRACT and date_part
    name: function
    for function, names in {
        "year": ("year", "y", "years", "yr", "yrs"),
        "quarter": ("quarter", "qtr"),
        "month": ("month", "mon", "mons", "months"),
        "weekofyear": ("week", "w", "weeks"),
        "day": ("day", "d", "days"),
        "dayofweek": ("dayofweek", "dow"),
        "dayofyear": ("doy",),
        "hour": ("hour", "h", "hours", "hr", "hrs"),
        "minute": ("minute", "m", "min", "mins", "minutes"),
    }.items()
    for name in names
}
_CASTS = {  # functions named after types
    **{name: name for name in ("tinyint", "smallint", "int", "bigint", "float", "double")},
    **{name: name for name in ("boolean", "date", "timestamp")},
    "string": "text",
}


class _Sql(Spark):  # type: ignore[misc]
    """Spark's dialect without sqlglot's own translations of functions."""

    class Parser(Spark.Parser):  # type: ignore[misc]
        """Parses most functions as `Anonymous` nodes, by name; CAST is strict (ANSI)."""

        STRICT_CAST = True
        FUNCTIONS: ClassVar[dict[str, object]] = {}
        FUNCTION_PARSERS: ClassVar = {
            name: parse
            for name, parse in Spark.Parser.FUNCTION_PARSERS.items()
            if name in {"CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "POSITION"}
        }


def parsed(text: str, names: Sequence[str], label: str) -> exp.Expression:
    """Parse one SQL expression; raise InputError, with the place, for other text."""
    try:
        trees = sqlglot.parse(text, read=_Sql)
    except SqlglotError as error:
        if text.isidentifier():  # a keyword of SQL
            raise InputError(no_column(text, _role(label), names)) from None
        raise InputError(
            f"{label}, {text!r}, is not SQL{_place(error)}. Name a column, "
            "or write SQL such as CASE WHEN delay > 15 THEN 'Late' ELSE 'OnTime' END. "
            f"Columns: {choices_text(names)}."
        ) from error
    if len(trees) != 1 or trees[0] is None or isinstance(trees[0], exp.Query | exp.Command):
        raise InputError(f"{label}, {text!r}, is not one SQL expression.")
    return trees[0]


def _place(error: SqlglotError) -> str:
    """Return the place of a syntax error, for messages; "" if it is unknown."""
    for known in getattr(error, "errors", None) or []:
        if known.get("col"):
            near = known.get("highlight")
            return f" (near {near!r}, column {known['col']})" if near else ""
    return ""


def _role(label: str) -> str:
    """Return the purpose of an expression, such as "time", from its label in messages."""
    return label.removeprefix(FOR)


def spark_remedy() -> str:
    """Return the remedy, for messages: how to let Spark compute an expression."""
    if is_on_the_command_line():
        return f"Run it on Spark ({option('engine', 'spark')})"
    return "Hand over a Spark DataFrame, and Spark computes it"


class Translator:
    """Translates expressions over the columns of a schema, and collects the columns they read.

    `label` names the expression in messages. `prefix` begins the columns' names in translations.
    """

    def __init__(self, schema: pa.Schema, label: str, prefix: str = "") -> None:
        self._table = schema.empty_table()
        self._label = label
        self._prefix = prefix
        self.has_times = False  # whether an expression translated so far is a date or a time
        self._read: dict[tuple[str, ...], Part] = {}
        self._columns: dict[str, pa.Array] = {}

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The path of each column that is read, by its name in the translation."""
        return {part.text: path for path, part in self._read.items()}

    def translate(self, node: exp.Expression) -> Part:
        """Translate a parsed expression.

        Raises InputError for unknown columns, RejectedError for parts that DuckDB would compute
        differently from Spark.
        """
        part = self._translate(node)
        self.has_times |= part.kind in TIMES
        return part

    def _translate(self, node: exp.Expression) -> Part:
        """Translate one node by its type: leaves here, operators by `OPERATORS`."""
        match node:
            case exp.Paren():
                inner = self.translate(node.this)
                return Part(f"({inner.text})", inner.type)
            case exp.Column():
                return self._column(node, [part.name for part in node.parts])
            case exp.Dot():
                return self._column(node, self._path(node))
            case exp.Literal() | exp.Boolean() | exp.Null() | exp.RawString():
                return self._constant(node)
            case exp.Neg() if isinstance(node.this, exp.Literal) and not node.this.is_string:
                return self._constant(node.this, "-")
            case exp.Cast():
                return self._cast(node)
            case exp.Anonymous():
                return self._call(node, node.name.lower(), node.expressions)
            case exp.Trim() if node.args.get("expression") is None:
                place = str(node.args.get("position") or "").upper()
                name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(place, "trim")
                return self._call(node, name, [node.this])
            case exp.Substring():
                arguments = [node.this, node.args.get("start"), node.args.get("length")]
                return self._call(
                    node, "substring", [part for part in arguments if part is not None]
                )
            case exp.StrPosition() if not node.args.get("position"):
                return self._call(node, "instr", [node.this, node.args["substr"]])
            case exp.Extract():
                return self._call(node, _FIELDS.get(node.name.lower(), ""), [node.expression])
            case exp.Bracket() if len(node.expressions) == 1:
                return self._element(node)
        translate = OPERATORS.get(type(node))
        if translate is None:
            raise self.rejected(node)
        part = translate(self, node)
        return Part(f"(NOT {part.text})", part.type) if node.args.get("negate") else part

    def rejected(self, node: exp.Expression, why: str = "") -> RejectedError:
        """Return the error for an expression that cannot be computed in process, with a remedy."""
        because = f": {why}" if why else ""
        return RejectedError(
            f"{self._label} uses {node.sql(dialect=_Sql)!r}, which is not "
            f"computed in process{because}. {spark_remedy()}, or add a column with the value."
        )

    def typed_by_duckdb(self, text: str, node: exp.Expression) -> Part:
        """Return DuckDB's SQL with the type that DuckDB infers; raise RejectedError if it fails."""
        import duckdb  # noqa: PLC0415 - where needed

        connection = database()
        connection.register(ROWS, pa.table(self._columns or {"none": []}))
        try:
            inferred = connection.sql(f"SELECT {text} FROM {ROWS}").types[0]
        except duckdb.Error as error:
            raise self.rejected(node, str(error).splitlines()[0]) from error
        finally:
            connection.unregister(ROWS)
        return Part(text, str(inferred))

    # --- leaves ---------------------------------------------------------------------------------

    def _path(self, node: exp.Expression) -> list[str]:
        if isinstance(node, exp.Dot):
            return [*self._path(node.this), node.name]
        if isinstance(node, exp.Column):
            return [part.name for part in node.parts]
        raise self.rejected(node)

    def _column(self, node: exp.Expression, path: Sequence[str]) -> Part:
        part = self._read.get(tuple(path))
        if part is None:
            name = f"{self._prefix}c{len(self._columns)}"
            self._columns[name] = as_spark_reads(read_path(self._table, path, self._label))
            part = self._read[tuple(path)] = self.typed_by_duckdb(name, node)
        return part

    def _constant(self, node: exp.Expression, sign: str = "") -> Part:
        match node:
            case exp.Null():
                return Part("NULL", "NULL")
            case exp.Boolean():
                return Part(str(bool(node.this)).upper(), "BOOLEAN")
            case exp.Literal() if not node.is_string:
                return self._number(node, f"{sign}{node.this}")
        return Part(f"CAST({quoted_text(str(node.this))} AS VARCHAR)", "VARCHAR")

    def _number(self, node: exp.Expression, text: str) -> Part:
        if not text.lstrip("-").isdigit():
            if "e" in text.lower():
                return self.typed_by_duckdb(text, node)  # a double
            return self._decimal(node, text)
        for bits, name in ((31, "INTEGER"), (63, "BIGINT")):
            if -(2**bits) <= int(text) < 2**bits:
                return Part(f"CAST({text} AS {name})", name)
        raise self.rejected(node, "it goes beyond 64 bits")

    def _decimal(self, node: exp.Expression, text: str) -> Part:
        digits = digits_of_number(text)
        if digits.precision > MOST_DIGITS:
            raise self.rejected(node, f"it has more than {MOST_DIGITS} digits")
        return Part(f"CAST({quoted_text(text)} AS {digits.type})", digits.type)

    # --- casts and functions --------------------------------------------------------------------

    def _cast(self, node: exp.Cast) -> Part:
        target = CAST_TYPES.get(node.to.this)
        if target is None or node.to.expressions:
            raise self.rejected(node, f"there is no CAST to {node.to.sql(dialect=_Sql)}")
        value = self.translate(node.this)
        text = cast(value.text, value.kind, target)
        if text is None:
            raise self.rejected(node, f"Spark casts {value.kind.value} to {target} differently")
        return Part(f"TRY({text})" if isinstance(node, exp.TryCast) else text, target)

    def _call(self, node: exp.Expression, name: str, arguments: Sequence[exp.Expression]) -> Part:
        """Translate a function call by its first rule whose kinds fit the arguments."""
        if name in SPECIAL:
            return SPECIAL[name](self, node, arguments)
        if name in _CASTS and len(arguments) == 1:
            return self._cast(exp.Cast(this=arguments[0], to=exp.DataType.build(_CASTS[name])))
        rules = FUNCTIONS.get(name)
        if rules is None:
            near = nearest_choice(name, [*FUNCTIONS, *SPECIAL])
            instead = f" (there is {near})" if near else ""
            raise self.rejected(node, f"only Spark has this function{instead}")
        candidates = [rule for rule in rules if len(rule.kinds) == len(arguments)]
        translated: list[Part | None] = [None] * len(arguments)
        for rule in candidates:
            texts = [
                self._argument(kind, part, at, translated)
                for at, (kind, part) in enumerate(zip(rule.kinds, arguments, strict=True))
            ]
            if None not in texts:
                return self.typed_by_duckdb(rule.template.format(*texts), node)
        types = ", ".join(part.kind.value for part in translated if part is not None)
        numbers = " or ".join(sorted({count(len(rule.kinds), "argument") for rule in rules}))
        why = f"it does not accept {types}" if candidates else f"it takes {numbers} here"
        if any(part is not None and part.kind is Kind.DECIMAL for part in translated):
            why += "; cast the decimal to DOUBLE"
        raise self.rejected(node, why)

    def _argument(
        self, kind: str, node: exp.Expression, at: int, translated: list[Part | None]
    ) -> str | None:
        """Return the SQL of argument number `at` converted to a rule's kind, or None.

        `translated` caches the arguments' translations while several rules are tried.
        """
        if kind.isupper():
            return constant_argument(kind, node)
        part = translated[at] = translated[at] or self.translate(node)
        return converted_text(kind, part)

    def _element(self, node: exp.Bracket) -> Part:
        value = self.translate(node.this)
        (index,) = node.expressions
        if value.kind is Kind.MAP:
            key = self.translate(index)
            return self.typed_by_duckdb(f"map_extract_value({value.text}, {key.text})", node)
        texts = self.converted(node, "l", node.this), self.converted(node, "i", index)
        return self.typed_by_duckdb(ELEMENT.template.format(*texts), node)

    def converted(self, node: exp.Expression, kind: str, operand: exp.Expression) -> str:
        """Return the SQL of an operand converted to a kind (see `functions`).

        Raises RejectedError, which names the whole expression `node`, if there is no conversion.
        """
        part = self.translate(operand)
        text = converted_text(kind, part)
        if text is None:
            raise self.rejected(node, f"it does not accept {part.kind.value}")
        return text

    def with_common_type(
        self, node: exp.Expression, operands: Sequence[exp.Expression]
    ) -> list[Part]:
        """Translate operands of a comparison or choice, and convert them to a common type.

        Text is parsed as a time if another operand is one; a date becomes its midnight if another
        operand is a timestamp. Raises RejectedError if there is no common type.
        """
        parts = [self.translate(operand) for operand in operands]
        kinds = {part.kind for part in parts} - {Kind.NULL}
        if len(kinds) < 2 and not kinds & {Kind.STRUCT, Kind.MAP, Kind.OTHER}:
            return parts
        if kinds <= NUMBERS:
            if DOUBLE in kinds:
                return [as_double(part) for part in parts]
            return parts
        if kinds <= {TEXT, DATE, TIME}:
            target = "TIMESTAMP" if TIME in kinds else "DATE"
            casts = [cast(part.text, part.kind, target) for part in parts]
            return [Part(str(text), target) for text in casts]
        kind_names = " and ".join(sorted(kind.value for kind in kinds))
        raise self.rejected(node, f"{kind_names} cannot be compared or computed with each other")


def read_path(table: pa.Table, path: Sequence[str], label: str) -> pa.Array:
    """Return a column, or the field of a struct column; null where the struct is null.

    Raises InputError for an unknown name, with the nearest one.
    """
    name, *fields = path
    names = table.column_names
    matching = _matching_names(name, names)
    if len(matching) != 1:
        dotted = ".".join(path)
        quote = f" A name with a dot goes in backticks: `{dotted}`." if dotted in names else ""
        raise InputError(no_column(name, _role(label), names) + quote)
    column = plain(whole(table.column(matching[0])))
    for at, field in enumerate(fields, 2):
        written_path = ".".join(path[:at])
        if not pa.types.is_struct(column.type):
            raise InputError(
                f"{label} reads '{written_path}', but '{'.'.join(path[: at - 1])}' is of type "
                f"{column.type}, not a struct."
            )
        inner = [of_struct.name for of_struct in column.type.fields]
        matching = _matching_names(field, inner)
        if len(matching) != 1:
            raise InputError(
                f"{label} reads '{written_path}', but there is no field "
                f"'{field}'.{did_you_mean(field, inner)} Fields: {choices_text(inner)}."
            )
        column = plain(pc.struct_field(column, inner.index(matching[0])))
    return column


def _matching_names(name: str, names: Sequence[str]) -> list[str]:
    """Return the exact match for a name in `names`, or all matches that ignore case."""
    exact = [known for known in names if known == name]
    return exact or [known for known in names if known.casefold() == name.casefold()]
