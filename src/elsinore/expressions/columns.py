"""Expressions over Arrow columns, in SQL's three-valued logic.

NaN counts as null; comparisons with null, divisions by zero, and integers, times or durations that
overflow 64 bits are null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy, to_scalar
from elsinore.errors import InputError
from elsinore.expressions import integers, lengths, lists
from elsinore.expressions.reasons import MIXED_SIGNS, not_computed, reason
from elsinore.model.expression import (
    CONTAINS,
    Attribute,
    Binary,
    Call,
    Duration,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
    Operator,
)
from elsinore.numeric.constants import engine_constant, moment

Columns = Mapping[str, pa.Array]

_COMPARE = {
    Operator.EQ: pc.equal,
    Operator.NE: pc.not_equal,
    Operator.LT: pc.less,
    Operator.LE: pc.less_equal,
    Operator.GT: pc.greater,
    Operator.GE: pc.greater_equal,
}
_COMPUTE = {Operator.ADD: pc.add, Operator.SUB: pc.subtract, Operator.MUL: pc.multiply}


def evaluate(expression: Expression, columns: Columns) -> pa.Array | pa.Scalar:
    """Return an expression's value for every row, null if it is unknown.

    Attributes are read from `columns` by name. Raises InputError for values that cannot be
    compared, and for results of unsigned integers that fit neither all in int64 nor in uint64.

    >>> slow = Binary(Operator.LT, Attribute("T", "speed"), Literal(10))
    >>> evaluate(slow, {"speed": pa.array([5.0, 20.0, None, float("nan")])}).to_pylist()
    [True, False, None, None]
    """
    try:
        return _evaluate(expression, columns)
    except pa.ArrowInvalid as error:
        raise InputError(not_computed(reason(error))) from error
    except pa.ArrowNotImplementedError as error:
        raise InputError(not_computed(reason(error))) from error


def _evaluate(expression: Expression, columns: Columns) -> pa.Array | pa.Scalar:
    match expression:
        case Literal(value):
            return to_scalar(engine_constant(value))
        case Duration(nanoseconds):
            return lengths.constant(nanoseconds)
        case Attribute(_, str(name)):
            return values(columns[name])
        case Not(operand):
            return pc.invert(_truth(_evaluate(operand, columns)))
        case Negative(Duration(nanoseconds)):
            return lengths.constant(-nanoseconds)
        case Negative(operand):
            number = _wide(_evaluate(operand, columns))
            if lengths.is_length(number.type):
                return lengths.signed(integers.negated, number)
            is_whole = pa.types.is_integer(number.type)
            return integers.negated(number) if is_whole else pc.negate(number)
        case IsNull(operand):
            return pc.is_null(_evaluate(operand, columns))
        case InList(operand, choices):
            return _in_list(_evaluate(operand, columns), [choice.value for choice in choices])
        case Like(operand, pattern):
            return pc.match_like(_text(_evaluate(operand, columns)), pattern)
        case Call("ABS", (operand,)):
            number = _wide(_evaluate(operand, columns))
            if lengths.is_length(number.type):
                return lengths.signed(integers.absolute, number)
            is_whole = pa.types.is_integer(number.type)
            return integers.absolute(number) if is_whole else pc.abs(number)
        case Call("LOG2", (operand,)):
            number = _nearest(_evaluate(operand, columns))
            positive = pc.greater(number, to_scalar(0))
            return pc.log2(pc.if_else(positive, number, to_scalar(None, pa.float64())))
        case Call(name, (listed, operand)) if name == CONTAINS:
            return _contains(_evaluate(listed, columns), _evaluate(operand, columns))
        case Binary(Operator.AND, left, right):
            return pc.and_kleene(
                _truth(_evaluate(left, columns)), _truth(_evaluate(right, columns))
            )
        case Binary(Operator.OR, left, right):
            return pc.or_kleene(_truth(_evaluate(left, columns)), _truth(_evaluate(right, columns)))
        case Binary(operator, left, right):
            left_value, right_value = _comparable_operands(
                _evaluate(left, columns), _evaluate(right, columns)
            )
            if operator in _COMPARE:
                return _compare(operator, *_signed(left_value, right_value))
            length = lengths.compute(operator, left_value, right_value)
            return (
                nan_as_null(_compute(operator, left_value, right_value))
                if length is None
                else length
            )
        case _:
            raise TypeError(f"not an expression over one event: {expression}")


def type_of(expression: Expression, types: Mapping[str, pa.DataType]) -> pa.DataType:
    """Return the Arrow type of an expression's values over columns of these types.

    >>> type_of(Binary(Operator.DIV, Attribute("T", "n"), Literal(2)), {"n": pa.int32()})
    DataType(double)
    """
    columns = {name: to_arrow([], kind) for name, kind in types.items()}
    return evaluate(expression, columns).type


def values(column: pa.Array) -> pa.Array:
    """Return a column as expressions see it: plain, decimals as doubles, NaN as null."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):
        column = nearest_doubles(column)
    elif column.type == pa.float16():
        column = column.cast(pa.float64())
    return nan_as_null(column)


def doubles(column: pa.Array) -> pa.Array:
    """Return a column as the nearest doubles; durations as ticks (`lengths.unit_of`).

    >>> doubles(pa.array([2, None], pa.duration("s"))).to_pylist()
    [2000000.0, None]
    """
    column = values(column)
    if lengths.is_length(column.type):
        column = lengths.ticks(column, lengths.unit_of(column.type))
    return pc.cast(column, pa.float64(), safe=False)


def nan_as_null(numbers: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    """Return values with NaN (such as infinity less infinity) as null."""
    if not pa.types.is_floating(numbers.type):
        return numbers
    strange = pc.is_nan(numbers)
    if isinstance(strange, pa.Array) and not pc.any(strange).as_py():
        return numbers
    return pc.if_else(strange, to_scalar(None, numbers.type), numbers)


def nearest_doubles(decimals: pa.Array) -> pa.Array:
    """Return decimals as the nearest doubles; Arrow's cast may be off by one.

    >>> from decimal import Decimal
    >>> nearest_doubles(pa.array([Decimal("-99.99"), None])).to_pylist()
    [-99.99, None]
    """
    return decimals.cast(pa.string()).cast(pa.float64())


def _truth(value: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    """Cast an untyped null to boolean."""
    return value.cast(pa.bool_()) if pa.types.is_null(value.type) else value


def _text(value: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    """Cast an untyped null to string."""
    return value.cast(pa.string()) if pa.types.is_null(value.type) else value


def _comparable_operands(
    left: pa.Array | pa.Scalar, right: pa.Array | pa.Scalar
) -> tuple[pa.Array | pa.Scalar, pa.Array | pa.Scalar]:
    """Convert operands of a comparison to comparable types.

    Text constants beside times become times, untyped nulls get the other type, and integers beside
    doubles become the nearest doubles.
    """
    if pa.types.is_null(left.type):
        left = left.cast(right.type)
    if pa.types.is_null(right.type):
        right = right.cast(left.type)
    if pa.types.is_null(left.type):
        left, right = left.cast(pa.bool_()), right.cast(pa.bool_())
    if _is_text(left) and pa.types.is_temporal(right.type):
        left = _moment(left.as_py(), right.type)
    elif _is_text(right) and pa.types.is_temporal(left.type):
        right = _moment(right.as_py(), left.type)
    if pa.types.is_timestamp(left.type) or pa.types.is_timestamp(right.type):
        left, right = _in_one_zone(left, right)
    if pa.types.is_integer(left.type) and pa.types.is_floating(right.type):
        left = _nearest(left)
    elif pa.types.is_floating(left.type) and pa.types.is_integer(right.type):
        right = _nearest(right)
    return left, right


def _in_one_zone(
    left: pa.Array | pa.Scalar, right: pa.Array | pa.Scalar
) -> tuple[pa.Array | pa.Scalar, pa.Array | pa.Scalar]:
    """Convert times to UTC if only some of them have a zone."""
    zones = [v.type.tz if pa.types.is_timestamp(v.type) else None for v in (left, right)]
    if not all(lengths.is_time(v.type) for v in (left, right)) or zones[0] == zones[1]:
        return left, right
    unit = lengths.unit_of(left.type, right.type)
    plain = [lengths.ticks(value, unit).cast(pa.timestamp(unit)) for value in (left, right)]
    return plain[0], plain[1]


def _moment(text: str, kind: pa.DataType) -> pa.Scalar:
    """Return a time from text, in a finer unit than `kind` if necessary."""
    finer = ("us", "ns") if pa.types.is_timestamp(kind) and "." in text else ()
    for unit in finer:
        with suppress(pa.ArrowInvalid):
            return moment(text, pa.timestamp(unit, kind.tz))
    return moment(text, kind)


def _compare(
    operator: Operator, left: pa.Array | pa.Scalar, right: pa.Array | pa.Scalar
) -> pa.Array | pa.Scalar:
    """Compare values; times or durations of different units without overflow."""
    compare = _COMPARE[operator]
    try:
        return compare(left, right)
    except pa.ArrowInvalid:
        if not all(lengths.is_time(v.type) or lengths.is_length(v.type) for v in (left, right)):
            raise
        unit = lengths.unit_of(left.type, right.type)
        return compare(lengths.wide_ticks(left, unit), lengths.wide_ticks(right, unit))


def _signed(
    left: pa.Array | pa.Scalar, right: pa.Array | pa.Scalar
) -> tuple[pa.Array | pa.Scalar, pa.Array | pa.Scalar]:
    """Cast integers, one of them unsigned, to a type that represents the values of both."""
    if pa.uint64() in {left.type, right.type} and left.type != right.type:
        wide = pa.decimal128(20)
        if pa.types.is_integer(left.type) and pa.types.is_integer(right.type):
            return left.cast(wide), right.cast(wide)
    return left, right


def _wide(number: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    """Widen numbers of fewer than 64 bits to 64, so that results fit."""
    kind = number.type
    if kind == pa.float32():
        return number.cast(pa.float64())
    return number.cast(pa.int64()) if pa.types.is_integer(kind) and kind.bit_width < 64 else number


def _nearest(value: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    """Return numbers as the nearest doubles."""
    return pc.cast(value, pa.float64(), safe=False)


def _is_text(value: pa.Array | pa.Scalar) -> bool:
    return bool(pa.types.is_string(value.type) and isinstance(value, pa.Scalar))


def _compute(
    operator: Operator, left: pa.Array | pa.Scalar, right: pa.Array | pa.Scalar
) -> pa.Array | pa.Scalar:
    """Return sum, difference, product, quotient (of doubles) or remainder; null for /0."""
    left, right = _wide(left), _wide(right)
    if operator is Operator.DIV:
        return pc.divide(_nearest(left), _nearest(_nonzero(right)))
    if operator is Operator.MOD:
        return remainder(*_of_one_sign(left, right))
    if pa.types.is_integer(left.type) and pa.types.is_integer(right.type):
        return integers.arithmetic(operator, left, right)
    return _COMPUTE[operator](left, right)


def _of_one_sign(
    left: pa.Array | pa.Scalar, right: pa.Array | pa.Scalar
) -> tuple[pa.Array | pa.Scalar, pa.Array | pa.Scalar]:
    """Return integers, one of them unsigned, as signed ones if they fit, else as unsigned ones."""
    if pa.uint64() not in {left.type, right.type}:
        return left, right
    for kind in (pa.int64(), pa.uint64()):
        with suppress(pa.ArrowInvalid):
            return left.cast(kind), right.cast(kind)
    raise InputError(not_computed(MIXED_SIGNS))


def remainder(left: pa.Array | pa.Scalar, right: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    """Return the remainder with the dividend's sign; null for division by zero.

    >>> remainder(pa.array([1e17, -5.0, 2.0]), pa.array([3.0, 3.0, float("inf")])).to_pylist()
    [1.0, -2.0, 2.0]
    """
    right = _nonzero(right)
    if pa.types.is_integer(left.type) and pa.types.is_integer(right.type):
        if pa.types.is_signed_integer(right.type):
            unit = pc.equal(right, to_scalar(-1))  # the least integer / -1 overflows
            right = pc.if_else(unit, to_scalar(1, right.type), right)
        return pc.subtract(left, pc.multiply(pc.divide(left, right), right))
    unknown = pc.or_(pc.is_null(left), pc.is_null(right))
    with np.errstate(invalid="ignore"):  # the remainder of infinity is NaN
        modulo = np.fmod(_doubles(left), _doubles(right))
    modulo_or_null = to_arrow(modulo) if np.ndim(modulo) else to_scalar(float(modulo))
    return pc.if_else(unknown, to_scalar(None, pa.float64()), modulo_or_null)


def _nonzero(number: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    """Return a divisor with zero as null."""
    zero = to_scalar(0, number.type if number.type == pa.uint64() else pa.int64())
    return pc.if_else(pc.equal(number, zero), to_scalar(None, number.type), number)


def _doubles(number: pa.Array | pa.Scalar) -> NDArray[np.float64] | float:
    number = _nearest(number)
    if isinstance(number, pa.Scalar):
        return math.nan if number.as_py() is None else float(number.as_py())
    return to_numpy(number)


def _contains(listed: pa.Array, value: pa.Array) -> pa.Array:
    """Return whether each list contains the value of the same row."""
    sizes, members = lists.elements(listed)
    return lists.contains(listed, sizes, *lists.codes(values(members), value))


def _in_list(
    value: pa.Array | pa.Scalar, choices: list[bool | int | float | str | None]
) -> pa.Array | pa.Scalar:
    """Return whether values are among constants, null if that is unknown.

    Texts are looked up by hashing, other constants compared one by one.
    """
    known = [choice for choice in choices if choice is not None]
    verdict: pa.Array | pa.Scalar = to_scalar(False)
    is_text = pa.types.is_string(value.type) or pa.types.is_large_string(value.type)
    if is_text and known and all(isinstance(choice, str) for choice in known):
        found = pc.is_in(value, to_arrow(known, value.type))
        verdict = pc.if_else(pc.is_valid(value), found, to_scalar(None, pa.bool_()))
    else:
        for choice in known:
            element, chosen = _comparable_operands(value, to_scalar(engine_constant(choice)))
            verdict = pc.or_kleene(verdict, pc.equal(*_signed(element, chosen)))
    if len(known) < len(choices):
        verdict = pc.or_kleene(verdict, to_scalar(None, pa.bool_()))
    return verdict
