"""Values of attributes and of expressions over them, and the codes by which they are compared.

Codes are integers in the order of an attribute's values. Expressions over numbers are whole numbers
or doubles; results equal those of `elsinore.model.evaluate` for each event, and whole numbers are
unbounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy, whole
from elsinore.errors import InputError
from elsinore.expressions.lengths import ticks
from elsinore.model.evaluate import COMPARE
from elsinore.model.expression import (
    MIRRORED,
    Attribute,
    Binary,
    Call,
    Expression,
    Literal,
    Negative,
    Operator,
)
from elsinore.operators.conditions import orders
from elsinore.operators.conditions.orders import Order
from elsinore.operators.ranks import to_ranks
from elsinore.trends.values import Doubles

NANOSECONDS = {"us": 1_000, "ns": 1}  # in a tick, by unit
BOUND = 2**63  # whole numbers of 64 bits are below it
FITTING = 2.0**63 - 2**10  # the greatest double that is one of these
GREAT = 2.0**61  # greater results of whole numbers are computed by Python
SMALL = 2**60
DIGITS = 15  # decimals of so many digits are different doubles
LITERAL = 2**53  # whole constants below this are different doubles
_TOO_GREAT = "A whole number in a condition goes beyond 64 bits. Cast the attribute to a double."
_COMPUTE: dict[Operator, Callable[[Any, Any], Any]] = {
    Operator.ADD: np.add,
    Operator.SUB: np.subtract,
    Operator.MUL: np.multiply,
}


STEADY = {Order.WHOLE, Order.NUMBER, Order.TRUTH, Order.TIME, Order.LENGTH}


def plain_of(column: pa.Array) -> pa.Array:
    """Return a column without dictionary encoding, floats as doubles."""
    column = whole(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_floating(kind):
        return column.cast(pa.float64(), safe=False)
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    return column


def steady_codes(name: str, column: pa.Array, order: Order, unit: str) -> pa.Array:
    """Return the codes of whole numbers of 64 bits, times or truth values.

    Times are whole numbers of a unit at least as fine as their own. Raises InputError for times
    outside of what nanoseconds of 64 bits reach.
    """
    if order not in {Order.TIME, Order.LENGTH}:
        return to_ranks(column) if order is Order.TRUTH else column.cast(pa.int64())
    try:
        return ticks(column, unit)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"'{name}' has times outside of the years 1678 to 2261 and is compared with times in "
            "nanoseconds, which reach no further. Cast those to microseconds, or leave these out."
        ) from error


def with_nan(column: pa.Array) -> Doubles:
    """Return a column of floating numbers, null as NaN."""
    if column.type != pa.float64():
        column = plain_of(column)
    return to_numpy(column)


def order_of(kind: pa.DataType) -> Order:
    """Return the order by which values of a type are compared; decimals have ranks, too."""
    return Order.UNSIGNED if pa.types.is_decimal(kind) else orders.order_of(kind)


class Values(NamedTuple):
    """Whole numbers or doubles, and which of them are known."""

    numbers: NDArray[Any]
    known: NDArray[np.bool_]

    @property
    def are_whole(self) -> bool:
        """Whether they are whole numbers."""
        return self.numbers.dtype != np.float64

    def as_doubles(self) -> NDArray[np.float64]:
        """Return the nearest doubles."""
        return self.numbers.astype(np.float64)


def plain_column(column: pa.Array) -> pa.Array:
    """Return a column without encoding; floats, and decimals of few digits, as doubles."""
    column = plain_of(column)
    kind = column.type
    if pa.types.is_decimal(kind) and kind.scale > 0 and kind.precision <= DIGITS:
        return column.cast(pa.float64())
    return column


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column of some type once it is plain."""
    return plain_column(to_arrow([], kind)).type


def kind_of(expression: Expression, types: Mapping[str, pa.DataType]) -> Order | None:
    """Return whether an expression is of whole numbers or doubles; None if it is not supported.

    >>> from elsinore.model.expression import Attribute, Literal
    >>> five = Binary(Operator.ADD, Attribute("previous", "v"), Literal(5))
    >>> kind_of(five, {"v": pa.int32()}).name, kind_of(five, {"v": pa.string()})
    ('WHOLE', None)
    """
    match expression:
        case Literal(bool()):
            return None
        case Literal(int(number)):
            return Order.WHOLE if abs(number) < LITERAL else None
        case Literal(float()):
            return Order.NUMBER
        case Attribute(_, str(name)):
            order = order_of(plain_type(types[name]))
            return order if order in {Order.WHOLE, Order.NUMBER} else None
        case Negative(operand) | Call("ABS", (operand,)):
            return kind_of(operand, types)
        case Binary(operator, left, right) if operator in _COMPUTE or operator is Operator.DIV:
            kinds = {kind_of(left, types), kind_of(right, types)}
            if None in kinds or (operator is Operator.DIV and Order.WHOLE in kinds):
                return None
            return Order.NUMBER if Order.NUMBER in kinds else Order.WHOLE
    return None


def values_of(expression: Expression, read: Callable[[str], Values], count: int) -> Values:
    """Return the values of an expression; `read` returns those of an attribute."""
    match expression:
        case Literal(int() | float() as number):
            kind = np.int64 if isinstance(number, int) else np.float64
            return Values(np.full(count, number, kind), np.ones(count, np.bool_))
        case Attribute(_, str(name)):
            return read(name)
        case Negative(operand):
            values = values_of(operand, read, count)
            return values._replace(numbers=-values.numbers)
        case Call("ABS", (operand,)):
            values = values_of(operand, read, count)
            return values._replace(numbers=np.abs(values.numbers))
        case Binary(operator, left, right):
            return _computed(operator, values_of(left, read, count), values_of(right, read, count))
    raise TypeError(f"not computed: {expression}")


def _computed(operator: Operator, left: Values, right: Values) -> Values:
    known = left.known & right.known
    with np.errstate(all="ignore"):
        if operator is Operator.DIV:
            known &= right.numbers != 0
            numbers = np.where(known, left.as_doubles() / right.as_doubles(), 0.0)
        elif left.are_whole and right.are_whole:
            size = np.abs(_COMPUTE[operator](left.as_doubles(), right.as_doubles()))
            fits = bool((size[known] < GREAT).all())
            kind: Any = np.int64 if fits else object
            operands = left.numbers.astype(kind), right.numbers.astype(kind)
            return Values(_COMPUTE[operator](*operands), known)
        else:
            numbers = _COMPUTE[operator](left.as_doubles(), right.as_doubles())
    return Values(numbers, known & ~np.isnan(numbers))


def added(left: Values, right: Values) -> Values:
    """Return sums."""
    return _computed(Operator.ADD, left, right)


def compared(operator: Operator, left: Values, right: Values) -> NDArray[np.bool_]:
    """Compare numbers; whole numbers and doubles are compared exactly.

    >>> known = np.ones(1, np.bool_)
    >>> whole, double = Values(np.array([2**53 + 1]), known), Values(np.array([2.0**53]), known)
    >>> compared(Operator.GT, whole, double).tolist(), compared(Operator.EQ, double, whole).tolist()
    ([True], [False])
    """
    if left.are_whole == right.are_whole:
        return np.asarray(COMPARE[operator](left.numbers, right.numbers), np.bool_)
    if not left.are_whole:
        return compared(MIRRORED[operator], right, left)
    if left.numbers.dtype == object:  # Python compares such numbers exactly
        pairs = left.numbers, right.numbers.astype(object)
        return np.asarray(COMPARE[operator](*pairs), np.bool_)
    doubles = np.where(np.isnan(right.numbers), 0.0, right.numbers)
    below = np.floor(np.clip(doubles, -(2.0**63), FITTING))
    floors = below.astype(np.int64)
    unequal = np.where(left.numbers > floors, 1.0, -1.0)
    sign = np.where(left.numbers == floors, below - doubles, unequal)
    sign = np.where(np.abs(doubles) < BOUND, sign, -doubles)
    return np.asarray(COMPARE[operator](sign, 0.0), np.bool_)


def as_codes(values: Values) -> NDArray[np.int64]:
    """Return whole numbers as 64-bit integers. Raises InputError for greater ones."""
    if values.numbers.dtype == object:
        sizes = [abs(int(number)) for number in values.numbers[values.known]]
        if max(sizes, default=0) >= BOUND:
            raise InputError(_TOO_GREAT)
        return np.where(values.known, values.numbers, 0).astype(np.int64)
    return values.numbers


def are_small(values: Values) -> bool:
    """Return whether all whole numbers are below `SMALL`."""
    known = values.numbers[values.known]
    return not len(known) or max(int(known.max()), -int(known.min())) < SMALL
