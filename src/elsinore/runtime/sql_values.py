"""SQL expressions over the input's columns, computed in process.

They are parsed by sqlglot and computed with Arrow: columns, fields of structs, constants, CASE,
comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, arithmetic with `%`, `||`, CAST, COALESCE,
IF, CONCAT, LOWER, UPPER, TRIM, LENGTH, SUBSTRING, LEFT, ABS, FLOOR, CEIL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from elsinore.arrow import to_scalar, whole
from elsinore.errors import (
    InputError,
    choices_text,
    did_you_mean,
    is_on_the_command_line,
    no_column,
    option,
)
from elsinore.runtime.chunks import plain
from elsinore.runtime.expressions import remainder
from elsinore.runtime.reasons import reason

Value: TypeAlias = pa.Array | pa.Scalar

_BINARY: dict[type[exp.Expression], Callable[[Value, Value], Value]] = {
    exp.EQ: pc.equal,
    exp.NEQ: pc.not_equal,
    exp.LT: pc.less,
    exp.LTE: pc.less_equal,
    exp.GT: pc.greater,
    exp.GTE: pc.greater_equal,
    exp.And: pc.and_kleene,
    exp.Or: pc.or_kleene,
    exp.Add: pc.add_checked,
    exp.Sub: pc.subtract_checked,
    exp.Mul: pc.multiply_checked,
}
_UNARY: dict[type[exp.Expression], Callable[[Value], Value]] = {
    exp.Not: pc.invert,
    exp.Neg: pc.negate_checked,
    exp.Abs: pc.abs_checked,
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
        tree = sqlglot.parse_one(text, read="spark")
    except SqlglotError as error:
        raise InputError(
            f"The expression for the {role}, {text!r}, is not SQL{_place(error)}. Name a column, "
            "or write SQL such as CASE WHEN delay > 15 THEN 'Late' ELSE 'OnTime' END."
        ) from error
    try:
        value = _evaluate(tree, table, role)
    except pa.ArrowException as error:
        raise InputError(
            f"The expression for the {role}, {text!r}, cannot be computed: {reason(error)}."
        ) from error
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, table.num_rows)
    return whole(value)


def _place(error: SqlglotError) -> str:
    """Return where a text stopped being SQL, if that is known."""
    for known in getattr(error, "errors", None) or []:
        if known.get("col"):
            near = known.get("highlight")
            return f" (near {near!r}, column {known['col']})" if near else ""
    return ""


def _evaluate(node: exp.Expression, table: pa.Table, role: str) -> Value:
    def of(part: exp.Expression) -> Value:
        return _evaluate(part, table, role)

    kind = type(node)
    if kind in _BINARY:
        return _BINARY[kind](*_alike(of(node.left), of(node.right)))
    if kind in _UNARY and not (node.args.get("position") or node.args.get("expression")):
        return _UNARY[kind](of(node.this))
    if kind in _ROUNDED and not (node.args.get("decimals") or node.args.get("to")):
        value = of(node.this)
        whole_already = pa.types.is_integer(value.type)
        return value if whole_already else _ROUNDED[kind](value).cast(pa.int64())
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
                pc.equal(*_alike(of(node.this), of(node.expression))), to_scalar(False)
            )
        case exp.Div():
            over, under = of(node.left).cast(pa.float64()), of(node.right).cast(pa.float64())
            return pc.divide(
                over,
                pc.if_else(pc.equal(under, to_scalar(0)), to_scalar(None, pa.float64()), under),
            )
        case exp.Mod():
            return remainder(of(node.this), of(node.expression))
        case exp.Substring() | exp.Left():
            return _part(node, of)
        case exp.In() if node.expressions and not node.args.get("query"):
            verdict: Value = to_scalar(False)
            for choice in node.expressions:
                verdict = pc.or_kleene(verdict, pc.equal(*_alike(of(node.this), of(choice))))
            return verdict
        case exp.Between() if not node.args.get("symmetric"):
            low, high = (
                _alike(of(node.this), of(node.args["low"])),
                _alike(of(node.this), of(node.args["high"])),
            )
            return pc.and_kleene(pc.greater_equal(*low), pc.less_equal(*high))
        case exp.Like() if isinstance(node.expression, exp.Literal):
            verdict = pc.match_like(of(node.this), node.expression.name)
            return pc.invert(verdict) if node.args.get("negate") else verdict
        case exp.Coalesce():
            return pc.coalesce(*_same([of(node.this), *map(of, node.expressions)]))
        case exp.Concat() | exp.DPipe():
            parts = node.expressions if isinstance(node, exp.Concat) else [node.left, node.right]
            texts = [of(part).cast(pa.string()) for part in parts]
            return pc.binary_join_element_wise(*texts, to_scalar(""))
        case exp.Cast():
            return _cast(of(node.this), node.to.this)
        case exp.If():
            yes, no = of(node.args["true"]), node.args.get("false")
            return _choose(of(node.this), yes, of(no) if no else to_scalar(None))
        case exp.Case():
            return _case(node, of)
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


def _case(node: exp.Case, of: Callable[[exp.Expression], Value]) -> Value:
    default = node.args.get("default")
    result = of(default) if default is not None else to_scalar(None)
    for branch in reversed(node.args["ifs"]):
        condition = of(branch.this)
        if node.this is not None:
            condition = pc.equal(*_alike(of(node.this), condition))
        result = _choose(condition, of(branch.args["true"]), result)
    return result


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


def _alike(left: Value, right: Value) -> tuple[Value, Value]:
    """Make two values comparable: nulls typed, text constants read as times beside times."""
    left, right = _same([left, right])
    if pa.types.is_temporal(left.type) and pa.types.is_string(right.type):
        right = right.cast(left.type)
    elif pa.types.is_temporal(right.type) and pa.types.is_string(left.type):
        left = left.cast(right.type)
    return left, right


def _number(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)


def _cast(value: Value, kind: exp.DataType.Type) -> Value:
    types = {
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
    if kind not in types:
        raise InputError(f"CAST to {kind.value} cannot be computed in process; Spark can.")
    return value.cast(types[kind], safe=False)
