"""Attributes as conditions and registers read them: rows of doubles, and of 64-bit integers.

Texts become integers in their order (`elsinore.operators.conditions.ranked`), times whole numbers
of the finest unit that the attributes have. Integers without a sign are moved to those with one,
and the least of these stands for null.

Lists in which conditions look up values (`c.ip IN d.ips`) become sorted codes of their elements.
These are made for each search, of the rows that it reads, and are not saved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_numpy, to_scalar, whole
from elsinore.errors import InputError
from elsinore.expressions.columns import values
from elsinore.expressions.lengths import ticks, unit_of
from elsinore.expressions.lists import NULL_CODE, codes, elements
from elsinore.matches.arrays import Doubles, Ints
from elsinore.matches.classes import EventClasses
from elsinore.numeric.constants import moment
from elsinore.operators.conditions.orders import LIMIT, Order, order_of
from elsinore.operators.conditions.ranked import OrderCodes

RESERVED = 3  # rows of integers that every event has: TIME, CLASS, MOMENT
COUNTED = {Order.TIME, Order.LENGTH}  # counted in ticks
HALF = 32  # bits of the lower half of an integer


class Layout:
    """The rows of the attributes, by their Arrow types, and the numbers of events' classes.

    Rows are assigned on request.
    Times and lengths of time are counted in one unit: microseconds, or nanoseconds where some have
    them, or with `fine`.
    """

    def __init__(
        self, types: Mapping[str, pa.DataType], classes: EventClasses, *, fine: bool = False
    ) -> None:
        self.classes = classes
        self.types = dict(types)
        self._orders = {name: order_of(kind) for name, kind in types.items()}
        self.doubles: dict[str, int] = {}
        self._wholes: dict[str, int] = {}
        self._halves: dict[tuple[str, bool], int] = {}
        self._distinct: dict[str, tuple[int, DistinctValues]] = {}
        self._members: dict[tuple[str, str], int] = {}
        self._least: dict[str, set[int]] = {}  # of the two least integers, those that occurred
        self.texts = OrderCodes()
        counted = [_plain_type(k) for n, k in types.items() if self._orders[n] in COUNTED]
        self.unit = "ns" if fine else unit_of(*counted)

    def order(self, name: str) -> Order:
        """Return how an attribute is compared."""
        return self._orders[name]

    def double(self, name: str) -> int:
        """Return the row of an attribute as doubles.

        Raises InputError for texts and other values that are not numbers.
        """
        if self._orders[name] in {Order.TEXT, Order.NONE} and not pa.types.is_null(
            self.types[name]
        ):
            raise InputError(
                f"'{name}' is of type {self.types[name]}: a condition or an aggregate cannot "
                "compute with it."
            )
        return self.doubles.setdefault(name, self.double_rows)

    def half(self, name: str, *, is_high: bool) -> int:
        """Return the row of doubles of which sums of an attribute are made.

        Sums of 64-bit integers are exact in two halves; other numbers are all in the lower half,
        and null in the upper one. InputError as from `double`.
        """
        if not is_high and not self.has_halves(name):
            return self.double(name)
        return self._halves.setdefault((name, is_high), self.double_rows)

    def distinct(self, name: str) -> int:
        """Return the row of doubles with a number for each different value of an attribute."""
        if name not in self._distinct:
            self._distinct[name] = self.double_rows, DistinctValues()
        return self._distinct[name][0]

    def distinct_values(self, name: str) -> Mapping[int, Any]:
        """Return the values of an attribute by their numbers; new values are added later."""
        return self._distinct[name][1].values

    def has_halves(self, name: str) -> bool:
        """Return whether sums of an attribute are made of two halves."""
        order, kind = self._orders[name], _plain_type(self.types[name])
        return (
            order in COUNTED
            or (order is Order.WHOLE and kind.bit_width > HALF)
            or (order is Order.UNSIGNED)
        )

    def ticks(self, nanoseconds: int) -> int:
        """Return a duration in the unit of the rows; InputError if it exceeds 64 bits."""
        length = nanoseconds if self.unit == "ns" else nanoseconds // 1_000
        if not -LIMIT < length < LIMIT:
            raise InputError(
                "A constant length of time is longer than 292 years, which nanoseconds of 64 bits "
                "do not hold. Cast the times to microseconds."
            )
        return length

    def whole(self, name: str) -> int:
        """Return the row of an attribute as integers that keep the order."""
        return self._wholes.setdefault(name, self.whole_rows)

    def members(self, lists: str, values: str) -> int:
        """Return the row of integers with the numbers of lists; the next row has codes of values.

        They are filled where rows are read (`elsinore.matches.operands`).
        """
        return self._members.setdefault((lists, values), self.whole_rows)

    @property
    def member_rows(self) -> Mapping[tuple[str, str], int]:
        """The rows of the attributes of lists and of values, as `members` returns them."""
        return self._members

    def comparable(self, name: str) -> tuple[bool, int]:
        """Return whether an attribute is compared as integers, and the row with its order."""
        if self._orders[name] in {Order.NUMBER, Order.TRUTH}:
            return False, self.double(name)
        return True, self.whole(name)

    def has_nulls(self, name: str, operands: Operands) -> bool:
        """Return whether an attribute that has a row is null at some event."""
        if name in self.doubles:
            return bool(np.isnan(operands.doubles[self.doubles[name]]).any())
        if name in self._wholes:
            codes = operands.wholes[self._wholes[name]]
            return bool((codes == NULL_CODE).any())
        return False

    def time(self, text: str) -> int:
        """Return a time written as text as an integer; InputError if it is not a time."""
        try:
            return int(moment(text, pa.timestamp(self.unit)).value)
        except pa.ArrowInvalid:
            raise InputError(
                f"'{text}' is compared with a time and is none. Write it as 2026-01-31 12:00:00."
            ) from None

    @property
    def double_rows(self) -> int:
        """The number of rows of doubles."""
        return len(self.doubles) + len(self._halves) + len(self._distinct)

    @property
    def whole_rows(self) -> int:
        """The number of rows of integers."""
        return RESERVED + len(self._wholes) + 2 * len(self._members)

    @property
    def text_rows(self) -> list[int]:
        """The rows of integers that stand for texts."""
        return [row for name, row in self._wholes.items() if self._orders[name] is Order.TEXT]

    def learn_texts(self, columns: Mapping[str, pa.Array]) -> tuple[Ints, Ints] | None:
        """Add the texts of a batch; return old and new codes if codes change (`OrderCodes`)."""
        names = [name for name in self._wholes if self._orders[name] is Order.TEXT]
        pieces = [pc.unique(_plain(columns[n]).cast(pa.string()).drop_null()) for n in names]
        return self.texts.learn(text for piece in pieces for text in piece.to_pylist())

    def forget_texts(self, doubles: Doubles, integers: Ints) -> None:
        """Remove texts and values that no row has; the arrays are those of all rows."""
        for row, known in self._distinct.values():
            known.keep(doubles[row])
        if rows := self.text_rows:
            self.texts.keep(np.unique(integers[rows]))

    def convert(
        self, columns: Mapping[str, pa.Array], order: Ints, doubles: Doubles, integers: Ints
    ) -> None:
        """Fill rows of doubles and integers with columns in an order, whose texts are known."""
        for name, row in self.doubles.items():
            column = _doubles(self._timed(name, _plain(columns[name])))
            np.take(column, order, out=doubles[row], mode="clip")
        for (name, is_high), row in self._halves.items():
            half = self._half(name, _plain(columns[name]), is_high=is_high)
            np.take(half, order, out=doubles[row], mode="clip")
        for name, (row, known) in self._distinct.items():
            np.take(known.numbers(_plain(columns[name])), order, out=doubles[row], mode="clip")
        for name, row in self._wholes.items():
            codes = self._codes(name, _plain(columns[name]))
            np.take(codes, order, out=integers[row], mode="clip")

    def _timed(self, name: str, column: pa.Array) -> pa.Array:
        """Return times as integers of the common unit; other columns as they are."""
        if self._orders[name] not in COUNTED:
            return column
        try:
            return ticks(column, self.unit)
        except pa.ArrowInvalid as error:
            raise InputError(f"The times in '{name}' cannot be compared: {error}") from error

    def _half(self, name: str, column: pa.Array, *, is_high: bool) -> NDArray[np.float64]:
        """Return the lower or upper halves of integers as doubles, null as NaN."""
        if not self.has_halves(name):
            return np.full(len(column), np.nan)
        numbers: NDArray[Any] = to_numpy(self._timed(name, column), 0)
        half = numbers >> HALF if is_high else numbers & (2**HALF - 1)
        halves = half.astype(np.float64)
        halves[to_numpy(column.is_null())] = np.nan
        return halves

    def _codes(self, name: str, column: pa.Array) -> NDArray[np.int64]:
        match self._orders[name]:
            case Order.TEXT:
                encoded = column.cast(pa.string()).dictionary_encode()
                of_texts = self.texts.encoded(encoded.dictionary.to_pylist())
                places = to_numpy(encoded.indices, -1)
                return np.asarray(np.append(of_texts, NULL_CODE)[places], np.int64)
            case Order.TIME | Order.LENGTH:
                codes = self._timed(name, column)
            case Order.WHOLE | Order.UNSIGNED:
                return _codes_of_wholes(name, column, self._least.setdefault(name, set()))
            case _:
                codes = pc.if_else(column.is_null(), to_scalar(None, pa.int64()), to_scalar(0))
        return to_numpy(codes, NULL_CODE)


class DistinctValues:
    """Numbers for the different values of a column, from 0 in the order in which they come.

    >>> distinct = DistinctValues()
    >>> distinct.numbers(pa.array(["x", None, "y", "x"])).tolist()
    [0.0, nan, 1.0, 0.0]
    >>> distinct.values
    {0: 'x', 1: 'y'}
    """

    def __init__(self) -> None:
        self.values: dict[int, Any] = {}
        self._numbers: dict[Any, int] = {}
        self._next = 0

    def numbers(self, column: pa.Array) -> NDArray[np.float64]:
        """Return the number of each value as a double, null as NaN."""
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), to_scalar(None, column.type), column)
        encoded = column.dictionary_encode()
        numbers = [self._number(value) for value in encoded.dictionary.to_pylist()]
        places = to_numpy(encoded.indices, -1)
        return np.asarray(np.append(np.array(numbers, np.float64), np.nan)[places], np.float64)

    def _number(self, value: Any) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = self._next
            self.values[number] = value
            self._next += 1
        return number

    def keep(self, numbers: Doubles) -> None:
        """Remove all values but those with these numbers."""
        used = set(np.unique(numbers[~np.isnan(numbers)]).astype(np.int64).tolist())
        for number in self.values.keys() - used:
            del self._numbers[self.values.pop(number)]


@dataclass(frozen=True, slots=True)
class Members:
    """The sorted codes of the elements of lists: list n has those from `starts[n]` on.

    A null element has the least code of all.
    """

    starts: Ints
    codes: Ints


NO_MEMBERS = Members(np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class Laws:
    """The probabilities of each event's times: `weights[first : first + size]`; size 0: equal."""

    first: NDArray[np.int64]
    size: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, lists: pa.Array) -> Laws:
        """Return the distributions of a column of lists, null if times are equally probable."""
        size = to_numpy(pc.list_value_length(lists), 0).astype(np.int64)
        return cls(np.cumsum(size) - size, size, to_numpy(lists.flatten()))


@dataclass(frozen=True, slots=True)
class Operands:
    """The values of rows, codes of texts, and lists; `laws`: distributions of events' times."""

    doubles: NDArray[np.float64]
    wholes: NDArray[np.int64]
    texts: OrderCodes
    laws: Laws | None = None
    members: Members = NO_MEMBERS


def _codes_of_wholes(name: str, column: pa.Array, occurred: set[int]) -> NDArray[np.int64]:
    """Return integers of 64 bits as codes, null as the least of them.

    Of as many values as there are codes two have the same: the two least, without a sign the two
    greatest. `occurred` are those of them that have occurred so far. Raises InputError if both
    have.
    """
    codes: NDArray[Any] = to_numpy(column, 0).copy()
    unsigned = codes.dtype == np.uint64
    last = codes.dtype.type(2**64 - 1) if unsigned else NULL_CODE
    beside = last - codes.dtype.type(1) if unsigned else last + 1
    at_last = codes == last
    occurred.update({int(value) for value in (last, beside) if (codes == value).any()})
    if at_last.any() or len(occurred) > 1:
        if len(occurred) > 1:
            raise InputError(
                f"'{name}' has {last} and {beside}, which match queries cannot tell apart. Give "
                "the events a column without one of them."
            )
        codes[at_last] = beside
    if unsigned:
        codes = (codes ^ np.uint64(2**63)).view(np.int64) + 1
    codes = codes.astype(np.int64, copy=False)
    codes[to_numpy(column.is_null())] = NULL_CODE
    return codes


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _plain(column: pa.Array) -> pa.Array:
    column = whole(column)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _doubles(column: pa.Array) -> NDArray[np.float64]:
    """Return numbers as doubles, null as NaN."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    return to_numpy(column.cast(pa.float64(), safe=False))


def put_members(
    places: Mapping[tuple[str, str], int], read: Callable[[str], pa.Array], wholes: Ints
) -> Members:
    """Fill rows of integers with numbers of lists and codes of values; return the lists.

    `places` are the rows by the attribute of lists and that of values: the numbers of lists are in
    this row, the codes of values in the next. `read` returns an attribute of all rows.
    Raises InputError if an attribute has no lists, or its elements and the values cannot be
    compared.
    """
    starts: list[Ints] = []
    of_elements: list[Ints] = []
    first, begin = 0, 0  # number of the next list, place of its codes
    for (of_lists, of_values), row in places.items():
        lists, looked_up = whole(read(of_lists)), values(whole(read(of_values)))
        try:
            sizes, flat = elements(lists)
            members, wanted = codes(values(flat), looked_up)
        except InputError as error:
            raise InputError(f"{of_values} IN {of_lists}: {error}") from None
        owner = np.repeat(np.arange(len(sizes)), sizes)
        of_elements.append(members[np.lexsort((members, owner))])
        starts.append(begin + np.append(0, np.cumsum(sizes)))
        numbers = first + np.arange(len(sizes))
        wholes[row] = np.where(to_numpy(lists.is_null()), NULL_CODE, numbers)
        wholes[row + 1] = wanted
        first, begin = first + len(sizes) + 1, begin + len(members)
    return Members(np.concatenate(starts), np.concatenate(of_elements)) if starts else NO_MEMBERS
