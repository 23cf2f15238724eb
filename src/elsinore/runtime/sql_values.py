"""SQL expressions over the input's columns, computed in process.

They are parsed by sqlglot and computed with Arrow: columns, fields of structs, constants, CASE,
comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, arithmetic with `%`, `||`, CAST, TRY_CAST,
TO_TIMESTAMP, TO_DATE and their TRY_ forms with or without a format, COALESCE, IF, CONCAT, LOWER,
UPPER, TRIM, LENGTH, SUBSTRING, LEFT, ABS, FLOOR, CEIL.

An expression that fails for a row (a cast of 'N/A' to a number, a division by zero, an overflow) is
null there, whatever COALESCE or IS NULL are around the part that fails. Parts that SQL does not
compute, such as other branches of CASE, do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from numpy.typing import NDArray
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from elsinore.arrow import to_arrow, to_numpy, to_scalar, whole
from elsinore.errors import (
    InputError,
    choices_text,
    did_you_mean,
    is_on_the_command_line,
    no_column,
    option,
)
from elsinore.expressions.columns import remainder
from elsinore.expressions.reasons import reason
from elsinore.runtime.chunks import plain
from elsinore.runtime.sql_casts import cast, computed, lost
from elsinore.runtime.time_formats import parse_times

Value: TypeAlias = pa.Array | pa.Scalar

_COMPARED: dict[type[exp.Expression], Callable[[Value, Value], Value]] = {
    exp.EQ: pc.equal,
    exp.NEQ: pc.not_equal,
    exp.LT: pc.less,
    exp.LTE: pc.less_equal,
    exp.GT: pc.greater,
    exp.GTE: pc.greater_equal,
}
_ARITHMETIC: dict[type[exp.Expression], Callable[[Value, Value], Value]] = {
    exp.Add: pc.add_checked,
    exp.Sub: pc.subtract_checked,
    exp.Mul: pc.multiply_checked,
}
_SIGNED: dict[type[exp.Expression], Callable[[Value], Value]] = {
    exp.Neg: pc.negate_checked,
    exp.Abs: pc.abs_checked,
}
_UNARY: dict[type[exp.Expression], Callable[[Value], Value]] = {
    exp.Not: pc.invert,
    exp.Lower: pc.utf8_lower,
    exp.Upper: pc.utf8_upper,
    exp.Trim: pc.utf8_trim_whitespace,
    exp.Length: pc.utf8_length,
}
_ROUNDED: dict[type[exp.Expression], Callable[[Value], Value]] = {
    exp.Floor: pc.floor,
    exp.Ceil: pc.ceil,
}


def evaluate(text: str, table: pa.Table, role: str) -> pa.Array:
    """Return an SQL expression's value for each row of a table: see `evaluate_sql`.

    >>> evaluate("1 + n", pa.table({"n": [1, 2]}), "time").to_pylist()
    [2, 3]
    """
    try:
        tree = sqlglot.parse_one(text, read=_Sql)
    except SqlglotError as error:
        if text.isidentifier():  # a keyword of SQL
            raise InputError(no_column(text, role, table.column_names)) from None
        raise InputError(
            f"The expression for the {role}, {text!r}, is not SQL{_place(error)}. Name a column, "
            "or write SQL such as CASE WHEN delay > 15 THEN 'Late' ELSE 'OnTime' END. "
            f"Columns: {choices_text(table.column_names)}."
        ) from error
    try:
        rows = _Rows(table, role)
        value = _evaluate(tree, rows)
    except pa.ArrowException as error:
        raise InputError(
            f"The expression for the {role}, {text!r}, cannot be computed: {reason(error)}."
        ) from error
    column = rows.repeated(value)
    if not rows.failed.any():
        return column
    return pc.if_else(to_arrow(rows.failed), to_scalar(None, column.type), column)


class _Sql(Spark):  # type: ignore[misc]
    """Spark's SQL, with formats of times as they are written."""

    class Parser(Spark.Parser):  # type: ignore[misc]
        """Leaves functions that take formats to `_TIMES`; a CAST that fails is an error (ANSI)."""

        STRICT_CAST = True
        FUNCTIONS: ClassVar = {
            name: build
            for name, build in Spark.Parser.FUNCTIONS.items()
            if name not in {"TO_TIMESTAMP", "TO_DATE"}
        }


_TIMES = {
    "TO_TIMESTAMP": pa.timestamp("us"),
    "TO_TIMESTAMP_NTZ": pa.timestamp("us"),
    "TO_DATE": pa.date32(),
}


class _Rows:
    """The rows of a table for which an expression is computed, and for which of them it failed."""

    def __init__(self, table: pa.Table, role: str) -> None:
        self.table = table
        self.role = role
        self.failed = np.zeros(table.num_rows, dtype=np.bool_)

    def repeated(self, value: Value) -> pa.Array:
        """Return a value as a column, a constant repeated for each row."""
        if isinstance(value, pa.Scalar):
            return pa.repeat(value, self.table.num_rows)
        return whole(value)

    def mask(self, value: Value) -> NDArray[np.bool_]:
        """Return for which rows a condition is true."""
        return to_numpy(pc.fill_null(self.repeated(value), to_scalar(False)))

    def cast(self, value: Value, kind: pa.DataType, *, tried: bool = False) -> Value:
        """Return a value cast to a type; unless `tried`, rows for which that fails have failed."""
        if isinstance(value, pa.Scalar) and not tried:
            return value.cast(kind, safe=False)
        values, failed = cast(self.repeated(value), kind)
        if not tried:
            self.failed |= failed
        return values

    def compute(self, function: Callable[..., Value], *values: Value) -> Value:
        """Return what a function gives; rows for which it overflows have failed."""
        if all(isinstance(value, pa.Scalar) for value in values):
            return function(*values)
        result, failed = computed(function, [self.repeated(value) for value in values])
        self.failed |= failed
        return result


def _place(error: SqlglotError) -> str:
    """Return where a text stopped being SQL, if that is known."""
    for known in getattr(error, "errors", None) or []:
        if known.get("col"):
            near = known.get("highlight")
            return f" (near {near!r}, column {known['col']})" if near else ""
    return ""


def _evaluate(node: exp.Expression, rows: _Rows) -> Value:
    def of(part: exp.Expression) -> Value:
        return _evaluate(part, rows)

    table, role = rows.table, rows.role
    value = _function(node, rows, of)
    if value is not None:
        return value
    match node:
        case exp.Paren():
            return of(node.this)
        case exp.Column():
            first, *fields = (part.name for part in node.parts)
            column = _column(first, fields, table, role)
            for name in fields:
                column = _field(column, name, node, role)
            return column
        case exp.Dot():
            return _field(of(node.this), node.name, node, role)
        case exp.Literal():
            return to_scalar(node.this if node.is_string else _number(node.this))
        case exp.Boolean():
            return to_scalar(bool(node.this))
        case exp.Null():
            return to_scalar(None)
        case exp.Is() if isinstance(node.expression, exp.Null):
            return pc.is_null(of(node.this), nan_is_null=False)
        case exp.Is() if isinstance(node.expression, exp.Boolean):
            return pc.fill_null(
                pc.equal(*_alike(rows, of(node.this), of(node.expression))), to_scalar(False)
            )
        case exp.And() | exp.Or():
            return _connected(node, rows)
        case exp.Div() | exp.SafeDivide():
            over, under = of(node.this), of(node.expression)
            tried = isinstance(node, exp.SafeDivide)
            over, under = over.cast(pa.float64()), _divisor(rows, under, tried=tried)
            return pc.divide(over, under.cast(pa.float64()))
        case exp.Mod():
            return remainder(of(node.this), _divisor(rows, of(node.expression)))
        case exp.Substring() | exp.Left():
            return _part(node, of)
        case exp.In() if node.expressions and not node.args.get("query"):
            verdict: Value = to_scalar(False)
            for choice in node.expressions:
                verdict = pc.or_kleene(verdict, pc.equal(*_alike(rows, of(node.this), of(choice))))
            return verdict
        case exp.Between() if not node.args.get("symmetric"):
            low, high = (
                _alike(rows, of(node.this), of(node.args["low"])),
                _alike(rows, of(node.this), of(node.args["high"])),
            )
            return pc.and_kleene(pc.greater_equal(*low), pc.less_equal(*high))
        case exp.Like() if isinstance(node.expression, exp.Literal):
            verdict = pc.match_like(of(node.this), node.expression.name)
            return pc.invert(verdict) if node.args.get("negate") else verdict
        case exp.Coalesce():
            return _first_known([node.this, *node.expressions], rows)
        case exp.Concat() | exp.DPipe():
            parts = node.expressions if isinstance(node, exp.Concat) else [node.left, node.right]
            texts = [of(part).cast(pa.string()) for part in parts]
            return pc.binary_join_element_wise(*texts, to_scalar(""))
        case exp.Cast():
            tried = isinstance(node, exp.TryCast)
            return rows.cast(of(node.this), _arrow_type(node.to.this), tried=tried)
        case exp.Anonymous() if node.name.upper().removeprefix("TRY_") in _TIMES:
            return _time(node, of, rows)
        case exp.If():
            return _case([node], node.args.get("false"), None, rows)
        case exp.Case():
            return _case(node.args["ifs"], node.args.get("default"), node.this, rows)
        case _:
            raise InputError(
                f"The expression for the {role} uses {node.sql(dialect='spark')!r}, which the "
                f"in-process engine cannot compute. {_on_spark()}, or add a column with the value."
            )


def _on_spark() -> str:
    if is_on_the_command_line():
        return f"Run it on Spark ({option('engine', 'spark')})"
    return "Hand over a Spark DataFrame, and Spark computes it"


def _column(name: str, fields: Sequence[str], table: pa.Table, role: str) -> pa.Array:
    names = table.column_names
    called = _called(name, names)
    if len(called) != 1:
        dotted = ".".join((name, *fields))
        quote = f" A name with a dot goes in backticks: `{dotted}`." if dotted in names else ""
        raise InputError(no_column(name, role, names) + quote)
    return plain(whole(table.column(called[0])))


def _field(value: Value, name: str, node: exp.Expression, role: str) -> Value:
    """Return a field of structs, null where a struct is."""
    written = node.sql(dialect="spark")
    if not pa.types.is_struct(value.type):
        raise InputError(
            f"The expression for the {role} reads {written!r}, and what is before '.{name}' is no "
            f"struct but of type {value.type}."
        )
    names = [field.name for field in value.type.fields]
    called = _called(name, names)
    if len(called) != 1:
        raise InputError(
            f"The expression for the {role} reads {written!r}, and there is no field '{name}'."
            f"{did_you_mean(name, names)} Fields: {choices_text(names)}."
        )
    return plain(pc.struct_field(value, names.index(called[0])))


def _called(name: str, names: Sequence[str]) -> list[str]:
    """Return which of `names` SQL means by one: that, or those that differ by case alone."""
    exact = [known for known in names if known == name]
    return exact or [known for known in names if known.casefold() == name.casefold()]


def _function(
    node: exp.Expression, rows: _Rows, of: Callable[[exp.Expression], Value]
) -> Value | None:
    """Return the value of an operator or a function that Arrow has; None for any other node."""
    kind = type(node)
    if kind in _COMPARED:
        return _COMPARED[kind](*_alike(rows, of(node.left), of(node.right)))
    if kind in _ARITHMETIC:
        return rows.compute(_ARITHMETIC[kind], *_same([of(node.left), of(node.right)]))
    if kind in _SIGNED:
        return rows.compute(_SIGNED[kind], of(node.this))
    if kind in _UNARY and not (node.args.get("position") or node.args.get("expression")):
        return _UNARY[kind](of(node.this))
    if kind in _ROUNDED and not (node.args.get("decimals") or node.args.get("to")):
        value = of(node.this)
        whole_already = pa.types.is_integer(value.type)
        return value if whole_already else rows.cast(_ROUNDED[kind](value), pa.int64())
    return None


def _lazily(part: exp.Expression, rows: _Rows, wanted: NDArray[np.bool_]) -> Value:
    """Return a part's value; only rows for which SQL computes it, `wanted`, can fail."""
    inner = _Rows(rows.table, rows.role)
    value = _evaluate(part, inner)
    rows.failed |= inner.failed & wanted
    return value


def _connected(node: exp.Expression, rows: _Rows) -> Value:
    """Return AND or OR, whose second part is not computed where the first one decides."""
    first = _evaluate(node.left, rows)
    is_and = isinstance(node, exp.And)
    decided = rows.mask(pc.invert(first) if is_and else first)
    second = _lazily(node.right, rows, ~decided)
    return (pc.and_kleene if is_and else pc.or_kleene)(first, second)


def _first_known(parts: Sequence[exp.Expression], rows: _Rows) -> Value:
    """Return COALESCE: the first value that is not null."""
    values: list[Value] = []
    unknown = np.ones(rows.table.num_rows, dtype=np.bool_)
    for part in parts:
        values.append(_lazily(part, rows, unknown))
        unknown = unknown & to_numpy(rows.repeated(values[-1]).is_null())
    return pc.coalesce(*_same(values))


def _case(
    branches: Sequence[exp.Expression],
    default: exp.Expression | None,
    operand: exp.Expression | None,
    rows: _Rows,
) -> Value:
    """Return CASE or IF: the value of the first branch whose condition is true."""
    undecided = np.ones(rows.table.num_rows, dtype=np.bool_)
    subject = None if operand is None else _evaluate(operand, rows)
    chosen: list[tuple[Value, Value]] = []
    for branch in branches:
        condition = _lazily(branch.this, rows, undecided)
        if subject is not None:
            condition = pc.equal(*_alike(rows, subject, condition))
        true = undecided & rows.mask(condition)
        chosen.append((condition, _lazily(branch.args["true"], rows, true)))
        undecided = undecided & ~true
    result: Value = to_scalar(None)
    if default is not None:
        result = _lazily(default, rows, undecided)
    for condition, value in reversed(chosen):
        result = _choose(condition, value, result)
    return result


def _divisor(rows: _Rows, value: Value, *, tried: bool = False) -> Value:
    """Return what is divided by: zero as null; unless `tried`, rows with zero have failed."""
    zero = pc.equal(value, to_scalar(0))
    if not tried:
        rows.failed |= rows.mask(zero)
    return pc.if_else(zero, to_scalar(None, value.type), value)


def _time(node: exp.Anonymous, of: Callable[[exp.Expression], Value], rows: _Rows) -> Value:
    """Return TO_TIMESTAMP or TO_DATE of a text, in a format that is a constant or in ISO 8601."""
    name = node.name.upper()
    tried, kind = name.startswith("TRY_"), _TIMES[name.removeprefix("TRY_")]
    operand, *form = node.expressions
    value = of(operand)
    if not form:
        return rows.cast(value, kind, tried=tried)
    if len(form) > 1 or not (isinstance(form[0], exp.Literal) and form[0].is_string):
        raise InputError(
            f"{node.sql(dialect='spark')!r} cannot be computed in process: the format is to be a "
            f"written text. {_on_spark()}."
        )
    texts = rows.repeated(value).cast(pa.string())
    times = parse_times(texts, form[0].name)
    if not tried:
        rows.failed |= lost(texts, times)
    return times if pa.types.is_timestamp(kind) else times.cast(kind, safe=False)


def _part(node: exp.Expression, of: Callable[[exp.Expression], Value]) -> Value:
    """Return a part of texts, from the n-th sign on (from 1), which is a constant."""
    is_left = isinstance(node, exp.Left)
    start = exp.Literal.number(1) if is_left else node.args["start"]
    length = node.expression if is_left else node.args.get("length")
    for number in (start, length):
        if number is not None and not (isinstance(number, exp.Literal) and number.is_int):
            raise InputError(
                f"{node.sql(dialect='spark')!r} cannot be computed in process: where a part "
                f"begins, and how long it is, are to be written numbers. {_on_spark()}."
            )
    first = max(int(start.this) - 1, 0)  # 0 is the first too
    stop = None if length is None else first + int(length.this)
    return pc.utf8_slice_codeunits(of(node.this), start=first, stop=stop)


def _choose(condition: Value, yes: Value, no: Value) -> Value:
    """Return `yes` where the condition is true, `no` where it is false or unknown."""
    yes, no = _same([yes, no])
    return pc.if_else(pc.fill_null(condition, to_scalar(False)), yes, no)


def _same(values: list[Value]) -> list[Value]:
    """Give untyped nulls the type of the other values."""
    known = [value.type for value in values if not pa.types.is_null(value.type)]
    if not known:
        return values
    return [value.cast(known[0]) if pa.types.is_null(value.type) else value for value in values]


def _alike(rows: _Rows, left: Value, right: Value) -> tuple[Value, Value]:
    """Make two values comparable: nulls typed, texts read as times beside times."""
    left, right = _same([left, right])
    if pa.types.is_temporal(left.type) and pa.types.is_string(right.type):
        right = rows.cast(right, left.type)
    elif pa.types.is_temporal(right.type) and pa.types.is_string(left.type):
        left = rows.cast(left, right.type)
    return left, right


def _number(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)


def _arrow_type(kind: exp.DataType.Type) -> pa.DataType:
    """Return the Arrow type of a type of SQL."""
    if kind not in _TYPES:
        raise InputError(f"CAST to {kind.value} cannot be computed in process; Spark can.")
    return _TYPES[kind]


_TYPES = {
    exp.DataType.Type.BIGINT: pa.int64(),
    exp.DataType.Type.INT: pa.int32(),
    exp.DataType.Type.DOUBLE: pa.float64(),
    exp.DataType.Type.FLOAT: pa.float32(),
    exp.DataType.Type.TEXT: pa.string(),
    exp.DataType.Type.VARCHAR: pa.string(),
    exp.DataType.Type.BOOLEAN: pa.bool_(),
    exp.DataType.Type.TIMESTAMP: pa.timestamp("us"),
    exp.DataType.Type.TIMESTAMPTZ: pa.timestamp("us"),
    exp.DataType.Type.TIMESTAMPNTZ: pa.timestamp("us"),
    exp.DataType.Type.DATE: pa.date32(),
}
