"""From an expression of Spark's SQL to one of DuckDB with the same value for every row.

sqlglot parses the text. Every operator and function that is computed has a rule here or in
`functions`; whatever has none is rejected, with its text and the reason.
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
from elsinore.runtime.sql.parts import Part, RejectedError, as_double, fitting, quoted_text, written
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
    """Spark's SQL with functions as they are written, by name."""

    class Parser(Spark.Parser):  # type: ignore[misc]
        """Takes no function for another; a CAST that fails is an error (ANSI)."""

        STRICT_CAST = True
        FUNCTIONS: ClassVar[dict[str, object]] = {}
        FUNCTION_PARSERS: ClassVar = {
            name: parse
            for name, parse in Spark.Parser.FUNCTION_PARSERS.items()
            if name in {"CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "POSITION"}
        }


def parsed(text: str, names: Sequence[str], whose: str) -> exp.Expression:
    """Return the tree of an SQL expression. Raises InputError for text that is none."""
    try:
        trees = sqlglot.parse(text, read=_Sql)
    except SqlglotError as error:
        if text.isidentifier():  # a keyword of SQL
            raise InputError(no_column(text, _role(whose), names)) from None
        raise InputError(
            f"{whose}, {text!r}, is not SQL{_place(error)}. Name a column, "
            "or write SQL such as CASE WHEN delay > 15 THEN 'Late' ELSE 'OnTime' END. "
            f"Columns: {choices_text(names)}."
        ) from error
    if len(trees) != 1 or trees[0] is None or isinstance(trees[0], exp.Query | exp.Command):
        raise InputError(f"{whose}, {text!r}, is not one SQL expression.")
    return trees[0]


def _place(error: SqlglotError) -> str:
    """Return where a text stopped being SQL, if that is known."""
    for known in getattr(error, "errors", None) or []:
        if known.get("col"):
            near = known.get("highlight")
            return f" (near {near!r}, column {known['col']})" if near else ""
    return ""


def _role(whose: str) -> str:
    """Return what a column is read for."""
    return whose.removeprefix(FOR)


def on_spark() -> str:
    """Return how an expression is computed by Spark."""
    if is_on_the_command_line():
        return f"Run it on Spark ({option('engine', 'spark')})"
    return "Hand over a Spark DataFrame, and Spark computes it"


class Translator:
    """Translates expressions over columns of a schema, and gathers those that they read."""

    def __init__(self, schema: pa.Schema, whose: str, prefix: str = "") -> None:
        self._table = schema.empty_table()
        self._whose = whose
        self._prefix = prefix
        self.has_times = False  # whether some part translated so far is a date or a time
        self._read: dict[tuple[str, ...], Part] = {}
        self._columns: dict[str, pa.Array] = {}

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The columns that are read: the name of each in the translation, and its path."""
        return {part.text: path for path, part in self._read.items()}

    def translate(self, node: exp.Expression) -> Part:
        """Return the translation of a tree.

        Raises InputError for unknown columns, and for what is not computed in process.
        """
        part = self._translate(node)
        self.has_times |= part.kind in TIMES
        return part

    def _translate(self, node: exp.Expression) -> Part:
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
                given = [node.this, node.args.get("start"), node.args.get("length")]
                return self._call(node, "substring", [part for part in given if part is not None])
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
        """Return the error for a part that is not computed in process."""
        because = f": {why}" if why else ""
        return RejectedError(
            f"{self._whose} uses {node.sql(dialect=_Sql)!r}, which is not "
            f"computed in process{because}. {on_spark()}, or add a column with the value."
        )

    def probed(self, text: str, node: exp.Expression) -> Part:
        """Return a part whose type DuckDB finds out; rejects what it cannot compute."""
        import duckdb  # noqa: PLC0415 - where needed

        connection = database()
        connection.register(ROWS, pa.table(self._columns or {"none": []}))
        try:
            found = connection.sql(f"SELECT {text} FROM {ROWS}").types[0]
        except duckdb.Error as error:
            raise self.rejected(node, str(error).splitlines()[0]) from error
        finally:
            connection.unregister(ROWS)
        return Part(text, str(found))

    # --- leaves ---------------------------------------------------------------------------------

    def _path(self, node: exp.Expression) -> list[str]:
        if isinstance(node, exp.Dot):
            return [*self._path(node.this), node.name]
        if isinstance(node, exp.Column):
            return [part.name for part in node.parts]
        raise self.rejected(node)

    def _column(self, node: exp.Expression, path: Sequence[str]) -> Part:
        known = self._read.get(tuple(path))
        if known is None:
            name = f"{self._prefix}c{len(self._columns)}"
            self._columns[name] = as_spark_reads(read_path(self._table, path, self._whose))
            known = self._read[tuple(path)] = self.probed(name, node)
        return known

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
                return self.probed(text, node)  # a double
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
            raise self.rejected(node, f"{value.kind.value} is cast to {target} in another way")
        return Part(f"TRY({text})" if isinstance(node, exp.TryCast) else text, target)

    def _call(self, node: exp.Expression, name: str, given: Sequence[exp.Expression]) -> Part:
        if name in SPECIAL:
            return SPECIAL[name](self, node, given)
        if name in _CASTS and len(given) == 1:
            return self._cast(exp.Cast(this=given[0], to=exp.DataType.build(_CASTS[name])))
        rules = FUNCTIONS.get(name)
        if rules is None:
            near = nearest_choice(name, [*FUNCTIONS, *SPECIAL])
            instead = f" (there is {near})" if near else ""
            raise self.rejected(node, f"only Spark has this function{instead}")
        fitting = [rule for rule in rules if len(rule.kinds) == len(given)]
        arguments: list[Part | None] = [None] * len(given)
        for rule in fitting:
            texts = [
                self._argument(kind, part, at, arguments)
                for at, (kind, part) in enumerate(zip(rule.kinds, given, strict=True))
            ]
            if None not in texts:
                return self.probed(rule.template.format(*texts), node)
        types = ", ".join(part.kind.value for part in arguments if part is not None)
        numbers = " or ".join(sorted({count(len(rule.kinds), "argument") for rule in rules}))
        why = f"it is not taken of {types}" if fitting else f"it takes {numbers} here"
        if any(part is not None and part.kind is Kind.DECIMAL for part in arguments):
            why += "; cast the decimal to DOUBLE"
        raise self.rejected(node, why)

    def _argument(
        self, kind: str, node: exp.Expression, at: int, translated: list[Part | None]
    ) -> str | None:
        """Return an argument as a rule's kind asks for it; None if it does not fit."""
        if kind.isupper():
            return written(kind, node)
        part = translated[at] = translated[at] or self.translate(node)
        return fitting(kind, part)

    def _element(self, node: exp.Bracket) -> Part:
        value = self.translate(node.this)
        (index,) = node.expressions
        if value.kind is Kind.MAP:
            key = self.translate(index)
            return self.probed(f"map_extract_value({value.text}, {key.text})", node)
        texts = self.fitted(node, "l", node.this), self.fitted(node, "i", index)
        return self.probed(ELEMENT.template.format(*texts), node)

    def fitted(self, node: exp.Expression, kind: str, given: exp.Expression) -> str:
        """Return an operand as a kind of `functions` asks for it; rejects any other."""
        part = self.translate(given)
        text = fitting(kind, part)
        if text is None:
            raise self.rejected(node, f"it is not taken of {part.kind.value}")
        return text

    def alike(self, node: exp.Expression, given: Sequence[exp.Expression]) -> list[Part]:
        """Return parts that are compared or chosen from, in kinds that are alike.

        A text beside a time is read as one; a date beside a time is one at midnight.
        """
        parts = [self.translate(part) for part in given]
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
        named = " and ".join(sorted(kind.value for kind in kinds))
        raise self.rejected(node, f"{named} cannot be compared or computed with each other")


def read_path(table: pa.Table, path: Sequence[str], whose: str) -> pa.Array:
    """Return a column, or a field of its structs, null where a struct is.

    Raises InputError for a name that there is not, with the nearest one.
    """
    name, *fields = path
    names = table.column_names
    called = _called(name, names)
    if len(called) != 1:
        dotted = ".".join(path)
        quote = f" A name with a dot goes in backticks: `{dotted}`." if dotted in names else ""
        raise InputError(no_column(name, _role(whose), names) + quote)
    column = plain(whole(table.column(called[0])))
    for at, field in enumerate(fields, 2):
        written_path = ".".join(path[:at])
        if not pa.types.is_struct(column.type):
            raise InputError(
                f"{whose} reads '{written_path}', and what is before "
                f"'.{field}' is no struct but of type {column.type}."
            )
        inner = [of_struct.name for of_struct in column.type.fields]
        called = _called(field, inner)
        if len(called) != 1:
            raise InputError(
                f"{whose} reads '{written_path}', and there is no field "
                f"'{field}'.{did_you_mean(field, inner)} Fields: {choices_text(inner)}."
            )
        column = plain(pc.struct_field(column, inner.index(called[0])))
    return column


def _called(name: str, names: Sequence[str]) -> list[str]:
    """Return which of `names` SQL means by one: that, or those that differ by case alone."""
    exact = [known for known in names if known == name]
    return exact or [known for known in names if known.casefold() == name.casefold()]
