"""What predicates between two events read: whole columns as integers that keep the order."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum, auto

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy, to_scalar, whole
from elsinore.errors import InputError
from elsinore.numeric.constants import moment
from elsinore.operators.ranks import rank_doubles, to_ranks, turned
from elsinore.trends.keyed import Doubles, Flags, Ints

Exact = int | Decimal

_DAYS = {"us": 86_400_000_000, "ns": 86_400_000_000_000}  # a day's length, by unit
_BOUND = 2**63  # integers from its negative up to below it have 64 bits


class Order(Enum):
    """What values are compared among each other; WHOLE, WIDE and NUMBER are all numbers."""

    WHOLE = auto()  # integers of at most 64 bits
    WIDE = auto()  # other numbers that are exact: decimals, integers without a sign
    NUMBER = auto()
    TEXT = auto()
    TRUTH = auto()
    TIME = auto()
    DURATION = auto()
    NONE = auto()  # neither compared nor computed with; it is null or not

    @property
    def is_exact(self) -> bool:
        """Whether it is a number, and no double."""
        return self in {Order.WHOLE, Order.WIDE}

    @property
    def is_number(self) -> bool:
        """Whether one can compute with it."""
        return self.is_exact or self is Order.NUMBER


_STEADY = {Order.WHOLE, Order.NUMBER, Order.TRUTH, Order.TIME, Order.DURATION}


@dataclass(slots=True, kw_only=True)
class ComparedColumns:
    """Attributes as predicates between two events read them, and the codes of constants there.

    `compared` keeps the order among attributes of one `Order`: doubles by rank, truth values 0 and
    1, times in the finest unit that one of them has (`unit`: us or ns), texts by the rank of all
    texts of all attributes in code point order. Exact numbers share an order: they are as they are
    where all fit 64 bits, else by the rank of all there are. Exact numbers and doubles have an
    order in common in rows of their own, made when first asked for; `rows` tells by which rows two
    attributes compare.

    Ranks are of these columns alone: whatever is compared with one another must be in them.
    """

    names: tuple[str, ...]
    orders: Mapping[str, Order]
    types: Mapping[str, pa.DataType]
    texts: pa.Array  # all texts there are, ascending
    wholes: Sequence[Exact] | None  # all exact numbers there are, ascending, if they go by rank
    compared: Ints  # [row of `rows`, event]
    known: Flags  # [row of `rows`, event] whether there is a value
    plain: Mapping[str, pa.Array]
    unit: str  # of times and durations
    # the number of the first event among all that came in turn, if codes are steady; None: unknown
    first: int | None = None
    made: Doubles | None = None  # `numbers`, if they are made

    @classmethod
    def of(cls, columns: Mapping[str, pa.Array]) -> ComparedColumns:
        """Read the columns of attributes, all of one length.

        >>> found = ComparedColumns.of({"s": pa.array(["b", None, "a"]), "v": pa.array([1, 2, 3])})
        >>> found.compared.tolist(), found.known.tolist()
        ([[2, 0, 0], [1, 2, 3]], [[1, 0, 1], [1, 1, 1]])
        >>> found.text_code("b"), found.text_code("ab")
        (2, 1)
        """
        plain = {name: _plain(column) for name, column in columns.items()}
        orders = {name: _order(column.type) for name, column in plain.items()}
        count = len(next(iter(plain.values()))) if plain else 0
        texts = _texts([plain[name] for name, order in orders.items() if order is Order.TEXT])
        exact, wholes = _exact({n: c for n, c in plain.items() if orders[n].is_exact})
        unit = "ns" if any(_is_fine(column.type) for column in plain.values()) else "us"
        compared = np.empty((len(plain), count), dtype=np.int64)
        known = np.empty((len(plain), count), dtype=np.uint8)
        for place, (name, column) in enumerate(plain.items()):
            order = orders[name]
            if order is Order.NUMBER:
                there = known[place].view(np.bool_)
                rank_doubles(_with_nan(column), compared[place], there, one_zero=True)
                continue
            known[place] = to_numpy(column.is_valid())
            if order is Order.NONE:
                compared[place] = 0
                continue
            if order.is_exact:
                codes = exact[name]
            elif order is Order.TEXT:
                codes = pc.multiply(pc.index_in(column, texts).cast(pa.int64()), to_scalar(2))
            else:
                codes = _steady(name, column, order, unit)
            compared[place] = to_numpy(codes, 0)
        return cls(
            names=tuple(plain),
            orders=orders,
            types={name: column.type for name, column in plain.items()},
            texts=texts,
            wholes=wholes,
            compared=compared,
            known=known,
            plain=plain,
            unit=unit,
        )

    @property
    def numbers(self) -> Doubles:
        """The values of numbers [attribute, event], as the nearest doubles; else 0.

        They are made when first asked for: most predicates compare codes alone.
        """
        if self.made is None:
            self.made = np.zeros((len(self.names), self.compared.shape[1]))
            for place, (name, order) in enumerate(self.orders.items()):
                codes = self.compared[place]
                if order is Order.NUMBER:
                    self.made[place] = turned(codes).view(np.float64)
                elif order is Order.WHOLE and self.wholes is None:
                    self.made[place] = codes
                elif order.is_number:
                    self.made[place] = _doubles(self.plain[name])
        return self.made

    @property
    def is_steady(self) -> bool:
        """Whether a value's code depends on no other value: `codes_of` tells it of some rows.

        >>> one, other = pa.array([1, 2]), pa.array([0.5, 2.0])
        >>> ComparedColumns.of({"v": one}).is_steady
        True
        >>> ComparedColumns.of({"v": one, "w": other}).is_steady  # compared, they go by rank
        False
        """
        orders = set(self.orders.values())
        return len(orders) <= 1 and orders <= _STEADY

    def codes_of(
        self, name: str, column: pa.Array, chosen: Ints | None
    ) -> tuple[Ints, NDArray[np.bool_]]:
        """Return rows of `compared` and `known` for an attribute of steady columns.

        chosen: which rows of the column are read; None: all.
        """
        order = self.orders[name]
        if order is Order.NUMBER:
            doubles = _with_nan(column)
            doubles = doubles if chosen is None else doubles[chosen]
            size = len(doubles)
            bits, there = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.bool_)
            rank_doubles(doubles, bits, there, one_zero=True)
            return bits, there
        if chosen is not None:
            column = column.take(to_arrow(chosen))
        column = _plain(column)
        known = to_numpy(column.is_valid())
        return to_numpy(_steady(name, column, order, self.unit), 0), known

    def with_rows(self, compared: Ints, known: Flags, first: int | None = None) -> ComparedColumns:
        """Return columns of the same types and steady codes, with other rows."""
        return replace(self, compared=compared, known=known, made=None, first=first)

    def without_rows(self) -> ComparedColumns:
        """Return columns of the same types that have no rows."""
        count = len(self.names)
        return replace(
            self,
            compared=self.compared[:count, :0].copy(),
            known=self.known[:count, :0].copy(),
            made=np.zeros((count, 0)),
            first=None,
            plain={name: column[:0] for name, column in self.plain.items()},
        )

    def take(self, rows: Ints) -> ComparedColumns:
        """Return the columns of some rows, in order.

        >>> columns = ComparedColumns.of({"v": pa.array([1, 2, 3])})
        >>> columns.take(np.array([2, 0])).compared.tolist()
        [[3, 1]]
        """
        if not self.names:
            return self
        return replace(
            self,
            compared=self.compared[:, rows],
            known=self.known[:, rows],
            made=None if self.made is None else self.made[:, rows],
            plain={name: column.take(to_arrow(rows)) for name, column in self.plain.items()},
        )

    def rows(self, one: str, other: str) -> tuple[int, int]:
        """Return the rows of `compared` and `known` by which two attributes are compared.

        What cannot be compared is compared by a row that knows no value. `compared` and `known`
        may grow: look at them when all is asked.

        >>> ids = pa.array([2**53, 2**53 + 1])
        >>> found = ComparedColumns.of({"id": ids, "v": pa.array([2.0**53, 2.0**53])})
        >>> found.rows("id", "id")
        (0, 0)
        >>> [found.compared[row].tolist() for row in found.rows("id", "v")]
        [[0, 1], [0, 0]]
        """
        here, there = self.names.index(one), self.names.index(other)
        first, second = self.orders[one], self.orders[other]
        count = len(self.names)
        if (first.is_exact and second.is_exact) or (first is second and first is not Order.NONE):
            return here, there
        if len(self.compared) == count:
            self._put_in_common()
        if first.is_number and second.is_number:
            return count + here, count + there
        return 2 * count, 2 * count

    def need(self, row: int) -> None:
        """Have a row that `rows` told of columns of the same types."""
        if row >= len(self.compared) > 0:
            self._put_in_common()

    def _put_in_common(self) -> None:
        """Add a row for each attribute, in an order that all numbers have in common, and a last."""
        size = (len(self.names) + 1, self.compared.shape[1])
        codes, known = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.uint8)
        places = [place for place, name in enumerate(self.names) if self.orders[name].is_number]
        codes[places] = _in_common(
            self.numbers[places],
            [_excess(self.plain[self.names[place]], self.numbers[place]) for place in places],
        )
        known[places] = self.known[places]
        self.compared = np.concatenate((self.compared, codes))
        self.known = np.concatenate((self.known, known))

    def whole_code(self, number: int) -> int | None:
        """Return what a whole constant is compared as with exact numbers; None where it cannot be.

        >>> ComparedColumns.of({"id": pa.array([2, 2**63], pa.uint64())}).whole_code(2**63)
        2
        """
        if self.wholes is None:
            return number if -_BOUND <= number < _BOUND else None
        place = bisect.bisect_left(self.wholes, number)
        found = place < len(self.wholes) and self.wholes[place] == number
        return 2 * place if found else 2 * place - 1

    def text_code(self, text: str) -> int:
        """Return what a text constant is compared as: odd where no attribute has that value."""
        ranks = range(len(self.texts))
        place = bisect.bisect_left(ranks, text, key=lambda rank: self.texts[rank].as_py())
        found = place in ranks and self.texts[place].as_py() == text
        return 2 * place if found else 2 * place - 1

    def time_code(self, name: str, text: str) -> int:
        """Return a constant that is compared with an attribute of times, in the unit of times.

        Raises InputError where it is none.
        """
        try:
            written = moment(text, self.types[name])
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"A predicate compares '{name}' with '{text}', which is no time. Write one as "
                "in '2024-01-31T12:00:00'."
            ) from error
        return int(_ticks(name, to_arrow([written.value], written.type), self.unit)[0].as_py())


def keeps_codes(types: Iterable[pa.DataType]) -> bool:
    """Return whether attributes of these types are compared as the same numbers in every batch.

    Texts, decimals and numbers of different kinds go by their ranks in a batch.

    >>> keeps_codes([pa.float64(), pa.float32()]), keeps_codes([pa.float64(), pa.int64()])
    (True, False)
    """
    orders = {_order(_plain(to_arrow([], kind)).type) for kind in types}
    return orders.isdisjoint({Order.WIDE, Order.TEXT}) and not orders >= {Order.WHOLE, Order.NUMBER}


def _plain(column: pa.Array) -> pa.Array:
    """Return a column decoded, small floats as doubles."""
    column = whole(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_floating(kind):
        return column.cast(pa.float64(), safe=False)
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    return column


def _steady(name: str, column: pa.Array, order: Order, unit: str) -> pa.Array:
    """Return what whole numbers of 64 bits, times and truth values are compared as."""
    if order in {Order.TIME, Order.DURATION}:
        return _ticks(name, column, unit)
    return to_ranks(column) if order is Order.TRUTH else column.cast(pa.int64())


def _with_nan(column: pa.Array) -> Doubles:
    """Return a column of floating numbers, null as NaN."""
    if column.type != pa.float64():
        column = _plain(column)
    return to_numpy(column)


def _order(kind: pa.DataType) -> Order:
    if pa.types.is_decimal(kind) or kind == pa.uint64():
        return Order.WIDE
    if pa.types.is_integer(kind):
        return Order.WHOLE
    if pa.types.is_floating(kind):
        return Order.NUMBER
    if pa.types.is_large_string(kind):
        return Order.TEXT
    if pa.types.is_boolean(kind):
        return Order.TRUTH
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return Order.TIME
    return Order.DURATION if pa.types.is_duration(kind) else Order.NONE


def _doubles(column: pa.Array) -> Doubles:
    """Return a column of numbers as the nearest doubles, null as 0."""
    return to_numpy(column.cast(pa.float64(), safe=False), 0)


def _exact(
    columns: Mapping[str, pa.Array],
) -> tuple[dict[str, pa.Array], Sequence[Exact] | None]:
    """Return the codes of exact numbers: themselves, or twice their ranks and what is ranked."""
    try:
        return {name: column.cast(pa.int64()) for name, column in columns.items()}, None
    except pa.ArrowInvalid:  # some are fractions, or need more than 64 bits
        encoded = {name: column.dictionary_encode() for name, column in columns.items()}
    values = {name: column.dictionary.to_pylist() for name, column in encoded.items()}
    wholes: list[Exact] = sorted({value for found in values.values() for value in found})
    ranks = {value: 2 * rank for rank, value in enumerate(wholes)}
    codes = {
        name: to_arrow([ranks[value] for value in values[name]], pa.int64()).take(column.indices)
        for name, column in encoded.items()
    }
    return codes, wholes


def _excess(column: pa.Array, nearest: Doubles) -> Ints:
    """Return by how much whole numbers of 64 bits exceed the nearest doubles; 0 for other numbers.

    >>> numbers = pa.array([2**53 + 1, 2**63 - 1])
    >>> _excess(numbers, _doubles(numbers)).tolist()
    [1, -1]
    """
    if _order(column.type) is not Order.WHOLE:
        return np.zeros(len(column), dtype=np.int64)
    integers = to_numpy(column.cast(pa.int64()), 0)
    beyond = nearest >= _BOUND  # the one such double, 2**63, fits no integer: half of it does
    return np.asarray(
        np.where(
            beyond,
            integers - _BOUND // 2 - _BOUND // 2,
            integers - np.where(beyond, 0.0, nearest).astype(np.int64),
        )
    )


def _in_common(nearest: Doubles, excess: Sequence[Ints]) -> Ints:
    """Return the ranks of numbers given as the nearest doubles and what they exceed these by."""
    most, more = nearest.reshape(-1), np.concatenate([*excess, np.zeros(0, dtype=np.int64)])
    order = np.lexsort((more, most))
    most, more = most[order], more[order]
    differs = (most[1:] != most[:-1]) | (more[1:] != more[:-1])
    ranks = np.zeros(len(order), dtype=np.int64)
    ranks[order[1:]] = np.cumsum(differs)
    return ranks.reshape(nearest.shape)


def _texts(columns: list[pa.Array]) -> pa.Array:
    """Return all different texts of some columns, ascending by code points."""
    if not columns:
        return to_arrow([], pa.large_string())
    distinct = pc.unique(pa.chunked_array(columns)).drop_null()
    return distinct.take(pc.array_sort_indices(distinct))


def _is_fine(kind: pa.DataType) -> bool:
    return bool(kind == pa.duration("ns") or (pa.types.is_timestamp(kind) and kind.unit == "ns"))


def _ticks(name: str, column: pa.Array, unit: str) -> pa.Array:
    """Return times or durations as whole numbers of a unit at least as fine as their own.

    Raises InputError for times outside of what nanoseconds of 64 bits reach.
    """
    kind = column.type
    try:
        if pa.types.is_date32(kind):
            days = column.cast(pa.int32()).cast(pa.int64())
            return pc.multiply_checked(days, _DAYS[unit])
        if pa.types.is_date64(kind):
            return pc.multiply_checked(
                column.cast(pa.int64()), to_scalar(_DAYS[unit] // 86_400_000)
            )
        if pa.types.is_duration(kind):
            return column.cast(pa.duration(unit)).cast(pa.int64())
        return column.cast(pa.timestamp(unit, kind.tz)).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise InputError(
            f"'{name}' has times outside of the years 1678 to 2261 and is compared with times in "
            "nanoseconds, which reach no further. Cast those to microseconds, or leave these out."
        ) from error
