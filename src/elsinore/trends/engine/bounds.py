"""Which earlier events an event may follow, as ranges of the values that order them.

A comparison of two neighbours (`b[i].v >= b[i-1].v - 5`) is, for the later event, a range of the
earlier events' values. Values are compared as 64-bit integers in their order
(`elsinore.trends.engine.values`), which do not depend on other events.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_numpy
from elsinore.errors import InputError
from elsinore.expressions.lengths import unit_of
from elsinore.model import expression as ex
from elsinore.model.expression import Attribute, Binary, Duration, Expression, Operator
from elsinore.operators.conditions.orders import Order
from elsinore.operators.ranks import ordered_bits, rank_doubles
from elsinore.plan.ranges import sides
from elsinore.plan.template import Cut
from elsinore.trends.engine.values import (
    NANOSECONDS,
    SMALL,
    STEADY,
    Values,
    added,
    are_small,
    as_codes,
    compared,
    kind_of,
    order_of,
    plain_column,
    plain_type,
    steady_codes,
    values_of,
    with_nan,
)
from elsinore.trends.values import Ints

LEAST, GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_LEAST_FINITE, _GREATEST_FINITE = (
    int(ordered_bits(np.array([limit]).view(np.int64))[0])
    for limit in (-np.finfo(np.float64).max, np.finfo(np.float64).max)
)
Codes = tuple[NDArray[np.int64], NDArray[np.bool_]]  # and which are known
Ranges = tuple[tuple[Cut, ...], ...]  # alternatives, each a conjunction of cuts
Range = tuple[NDArray[np.int64], NDArray[np.int64]]  # least and greatest values
_UP = frozenset({Operator.LT, Operator.LE, Operator.EQ})  # bound earlier values from above ...
_DOWN = frozenset({Operator.GT, Operator.GE, Operator.EQ})  # ... and from below


class OrderColumn(NamedTuple):
    """A column of sort keys of rows: an expression, in descending order if it is falling."""

    order: Expression
    is_falling: bool


class PartColumn(NamedTuple):
    """The columns of `ranges`, or with `is_whole` one of a range that contains them all."""

    ranges: Ranges
    order: Expression
    is_falling: bool
    is_whole: bool


def is_range(cut: Cut, types: Mapping[str, pa.DataType]) -> bool:
    """Return whether a comparison is a range of integers that do not depend on other events.

    Codes of texts change only all together (`elsinore.trends.engine.conditions`). Decimals are not
    ranges, nor are expressions that `elsinore.trends.engine.values` cannot compute.
    """
    match cut.previous, cut.current, cut.shift:
        case Attribute(_, str(earlier)), Attribute(_, str(later)), None:
            orders = {order_of(plain_type(types[n])) for n in (earlier, later)}
            if len(orders) == 1:
                return orders <= {*STEADY, Order.TEXT}
    shifted = _shifted(cut.current)
    if shifted is not None:
        read = (*ex.attributes(cut.previous), shifted.attribute)
        names = [attribute.name or "" for attribute in read]
        orders = {order_of(plain_type(types[name])) for name in names}
        return orders in ({Order.TIME}, {Order.LENGTH})
    computed = (cut.previous, cut.current, *(() if cut.shift is None else (cut.shift,)))
    return all(kind_of(expression, types) is not None for expression in computed)


class Bounds:
    """The columns of orders and of ranges of a program."""

    def __init__(self, *, has_fine_lengths: bool) -> None:
        self._has_fine_lengths = has_fine_lengths
        self._orders: dict[OrderColumn, int] = {}
        self._parts: dict[PartColumn, int] = {}
        self._part_count = 0

    def order(self, order: Expression | None, *, is_falling: bool) -> int:
        """Return the column of `orders` of an expression; -1 for none."""
        if order is None:
            return -1
        return self._orders.setdefault(OrderColumn(order, is_falling), len(self._orders))

    def parts(
        self, ranges: Ranges, order: Expression | None, *, is_falling: bool, is_whole: bool
    ) -> tuple[int, int]:
        """Return the columns of ranges of a read: the first, and the one after the last."""
        if not ranges or order is None:
            return 0, 0
        column = PartColumn(ranges, order, is_falling, is_whole)
        if column not in self._parts:
            self._parts[column] = self._part_count
            self._part_count += 1 if is_whole else len(ranges)
        first = self._parts[column]
        return first, first + (1 if is_whole else len(ranges))

    @property
    def has_columns(self) -> bool:
        """Whether there are columns of orders or ranges."""
        return bool(self._orders or self._parts)

    @property
    def attributes(self) -> set[str]:
        """The attributes that orders and ranges read."""
        cuts = [cut for part in self._parts for cuts in part.ranges for cut in cuts]
        expressions = [*(c.order for c in self._orders), *(cut.current for cut in cuts)]
        return {a.name or "" for expression in expressions for a in ex.attributes(expression)}

    def columns(
        self, batch: pa.RecordBatch, text_codes: Callable[[str], Codes]
    ) -> dict[str, NDArray[Any]]:
        """Return `orders`, `ordered`, `lows` and `highs` of a batch's events.

        text_codes: returns the codes of an attribute of texts.
        """
        rows, codes = batch.num_rows, _Codes(batch, self._has_fine_lengths, text_codes)
        orders = np.zeros((rows, len(self._orders)), np.int64)
        ordered = np.zeros((rows, len(self._orders)), np.uint8)
        for column, place in self._orders.items():
            values, known = codes.of_expression(column.order)
            orders[:, place] = ~values if column.is_falling else values
            ordered[:, place] = known
        lows = np.zeros((rows, self._part_count), np.int64)
        highs = np.full((rows, self._part_count), -1, np.int64)
        for part, place in self._parts.items():
            ranges = [_range(cuts, codes, part) for cuts in part.ranges]
            if part.is_whole:
                tops = [np.where(low > high, LEAST, high) for low, high in ranges]
                is_any = functools.reduce(np.logical_or, [low <= high for low, high in ranges])
                lows[:, place] = np.where(is_any, LEAST, 0)
                highs[:, place] = np.where(is_any, functools.reduce(np.maximum, tops), -1)
                continue
            for number, (low, high) in enumerate(_apart(ranges)):
                lows[:, place + number], highs[:, place + number] = low, high
        return {"orders": orders, "ordered": ordered, "lows": lows, "highs": highs}


class _Codes:
    """The codes of values of a batch's events: 64-bit integers in the order of the values."""

    def __init__(
        self,
        batch: pa.RecordBatch,
        has_fine_lengths: bool,
        text_codes: Callable[[str], Codes],
    ) -> None:
        self.rows = batch.num_rows
        self._text_codes = text_codes
        self._batch = batch
        prefix = "pair:"
        fields = [field for field in batch.schema if field.name.startswith(prefix)]
        self.types = {field.name.removeprefix(prefix): field.type for field in fields}
        self._unit = "ns" if has_fine_lengths else unit_of(*map(plain_type, self.types.values()))
        self._known: dict[Expression | str | int | None, Codes] = {}

    def of_expression(self, expression: Expression) -> Codes:
        """Return the codes of an expression over any event, and which of them are known."""
        key = expression.name if isinstance(expression, Attribute) else expression
        if key not in self._known:
            self._known[key] = self._computed(expression)
        return self._known[key]

    def _computed(self, expression: Expression) -> Codes:
        match expression:
            case Attribute(_, str(name)):
                column = plain_column(self._batch.column(f"pair:{name}"))
                order = order_of(column.type)
                if order is Order.NUMBER:
                    return _ranks(with_nan(column))
                if order is Order.TEXT:
                    return self._text_codes(name)
                codes = steady_codes(name, column, order, self._unit)
                return to_numpy(codes, 0), to_numpy(column.is_valid())
        shifted = _shifted(expression)
        if shifted is not None:
            ticks, known = self.of_expression(shifted.attribute)
            return shifted.codes(ticks, NANOSECONDS[self._unit]), known
        values = self.values(expression)
        if values.are_whole:
            return as_codes(values), values.known
        return _ranks(np.where(values.known, values.numbers, np.nan))

    def read(self, name: str) -> Values:
        """Return the values of an attribute of numbers."""
        column = plain_column(self._batch.column(f"pair:{name}"))
        if order_of(column.type) is Order.NUMBER:
            doubles = with_nan(column)
            return Values(doubles, ~np.isnan(doubles))
        return Values(to_numpy(column.cast(pa.int64()), 0), to_numpy(column.is_valid()))

    def values(self, expression: Expression) -> Values:
        """Return the values of an expression of numbers."""
        return values_of(expression, self.read, self.rows)


def _ranks(doubles: NDArray[np.float64]) -> Codes:
    codes, known = np.empty(len(doubles), np.int64), np.empty(len(doubles), np.bool_)
    rank_doubles(np.ascontiguousarray(doubles), codes, known, one_zero=True)
    return codes, known


def _range(cuts: Sequence[Cut], codes: _Codes, part: PartColumn) -> Range:
    """Return the least and greatest value that satisfy all cuts; low is above high without any."""
    bounds = [
        _compared(cut.operator, *codes.of_expression(cut.current))
        if cut.shift is None
        and cut.previous == part.order
        and kind_of(cut.previous, codes.types) is kind_of(cut.current, codes.types)
        else _searched(cut, codes, part.order)
        for cut in cuts
    ]
    if len(bounds) == 1 and not part.is_falling:
        return bounds[0]
    none = functools.reduce(np.logical_or, [low > high for low, high in bounds])
    low = functools.reduce(np.maximum, [low for low, _ in bounds])
    high = functools.reduce(np.minimum, [high for _, high in bounds])
    if part.is_falling:
        low, high = ~high, ~low
    return np.where(none, 0, low), np.where(none, -1, high)


def _compared(operator: Operator, bound: NDArray[np.int64], known: NDArray[np.bool_]) -> Range:
    """Return the range of values for which a comparison with bounds holds."""
    low, high = np.full(len(bound), LEAST), np.full(len(bound), GREATEST)
    none = ~known
    if operator is Operator.LT:
        none |= bound == LEAST
        high = bound - (bound > LEAST)
    elif operator is Operator.GT:
        none |= bound == GREATEST
        low = bound + (bound < GREATEST)
    else:
        high = bound if operator in _UP else high
        low = bound if operator in _DOWN else low
    return np.where(none, 0, low), np.where(none, -1, high)


def _searched(cut: Cut, codes: _Codes, order: Expression) -> Range:
    """Return the range of values of an attribute or an expression for which a cut holds.

    It is found by bisection over all codes: sums of doubles are rounded, but they never decrease if
    a term increases.
    """
    right = codes.values(cut.current)
    shift = None if cut.shift is None else codes.values(cut.shift)
    is_whole = codes.values(order).are_whole
    least, greatest = _LEAST_FINITE, _GREATEST_FINITE
    if is_whole:  # greater values compare with small numbers as 2 * SMALL does
        is_small = are_small(right) and (shift is None or are_small(shift))
        least, greatest = (-2 * SMALL, 2 * SMALL) if is_small else (LEAST, GREATEST)

    def holds(operator: Operator, place: NDArray[np.int64]) -> NDArray[np.bool_]:
        numbers = place if is_whole else ordered_bits(place).view(np.float64)
        left = Values(numbers, np.ones(len(place), np.bool_))
        if cut.previous != order:
            order_values = left
            left = values_of(cut.previous, lambda _: order_values, len(place))
        if shift is not None:
            left = added(left, shift)
        return left.known & right.known & compared(operator, left, right)

    low, high = np.full(codes.rows, LEAST), np.full(codes.rows, GREATEST)
    none = ~right.known if shift is None else ~(right.known & shift.known)
    for operator, is_high in sides(cut, order):
        # the least place where the cut holds, or for an upper bound where it does not hold
        first, last = np.full(codes.rows, least), np.full(codes.rows, greatest)
        is_beyond = holds(operator, last) == is_high
        while (first < last).any():
            middle = (first & last) + ((first ^ last) >> 1)
            there = holds(operator, middle) != is_high
            is_open = first < last
            last = np.where(is_open & there, middle, last)
            first = np.where(is_open & ~there, middle + is_open, first)
        is_first = ~is_beyond & (first == least)
        if is_high:
            none |= is_first
            high = np.minimum(
                high, np.where(is_beyond, GREATEST, first - (~is_first).astype(np.int64))
            )
        else:
            none |= is_beyond
            low = np.maximum(low, np.where(is_first, LEAST, first))
    return _with_infinities(cut, holds, is_whole, np.where(none, 0, low), np.where(none, -1, high))


def _with_infinities(
    cut: Cut,
    holds: Callable[[Operator, NDArray[np.int64]], NDArray[np.bool_]],
    is_whole: bool,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> Range:
    """Extend ranges of finite doubles by the infinities for which a cut holds."""
    if is_whole:
        return low, high
    below = holds(cut.operator, np.full(len(low), _LEAST_FINITE - 1))
    above = holds(cut.operator, np.full(len(low), _GREATEST_FINITE + 1))
    low, high = np.maximum(low, _LEAST_FINITE), np.minimum(high, _GREATEST_FINITE)
    none = low > high
    low = np.where(none & above, _GREATEST_FINITE + 1, low)
    high = np.where(none & below, _LEAST_FINITE - 1, high)
    low = np.where(below, _LEAST_FINITE - 1, low)
    high = np.where(above, _GREATEST_FINITE + 1, high)
    return low, high


def _apart(
    ranges: Sequence[Range],
) -> list[Range]:
    """Return as many disjoint ranges with the same values."""
    if len(ranges) < 2:
        return list(ranges)
    lows, highs = (np.stack([part[side] for part in ranges]) for side in (0, 1))
    order = np.lexsort((highs, np.where(lows > highs, GREATEST, lows)), axis=0)
    lows, highs = np.take_along_axis(lows, order, 0), np.take_along_axis(highs, order, 0)
    apart = []
    reach = np.full(lows.shape[1], LEAST)  # the first value after all previous ranges
    is_full = np.zeros(lows.shape[1], np.bool_)  # previous ranges reach the greatest value
    for low, high in zip(lows, highs, strict=True):
        none = (low > high) | is_full | (high < reach)
        apart.append((np.where(none, 0, np.maximum(low, reach)), np.where(none, -1, high)))
        is_full |= ~none & (high == GREATEST)
        reach = np.where(none | is_full, reach, high + (high < GREATEST))
    return apart


class _Shifted(NamedTuple):
    """An attribute of a time, or with the sign -1 its negative, plus a constant length of time."""

    sign: int
    attribute: Attribute
    nanoseconds: int

    def codes(self, ticks: Ints, unit: int) -> Ints:
        """Return its values in ticks of `unit` nanoseconds, given those of the attribute.

        Raises InputError if 64 bits do not suffice.

        >>> before = _Shifted(1, Attribute("current", "time"), 1_000_000_000)
        >>> before.codes(np.array([5, 6]), 1_000).tolist()
        [1000005, 1000006]
        """
        length = self.nanoseconds // unit
        if len(ticks):
            ends = [self.sign * int(tick) + length for tick in (ticks.min(), ticks.max())]
            if max(map(abs, [length, *ends])) > GREATEST:
                raise InputError(
                    f"A time or a length of time in a condition goes beyond 64 bits: "
                    f"'{self.attribute.name}' and a constant. Cast it to microseconds, or leave "
                    "out such events."
                )
        return self.sign * ticks + np.int64(length)


def _shifted(expression: Expression) -> _Shifted | None:
    """Return a shifted attribute (`elsinore.plan.ranges`), or None for another expression."""
    match expression:
        case Binary(Operator.ADD, Attribute() as attribute, Duration(nanoseconds)):
            return _Shifted(1, attribute, nanoseconds)
        case Binary(Operator.SUB, Duration(nanoseconds), Attribute() as attribute):
            return _Shifted(-1, attribute, nanoseconds)
    return None
