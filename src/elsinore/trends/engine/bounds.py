"""Which earlier events an event may follow, as ranges of the values that order them.

A comparison of an attribute of two neighbours (`b[i].v >= b[i-1].v`) is, for the later event, a
range of the earlier events' values. Values are compared as 64-bit integers in their order
(`elsinore.trends.graph.codes`), which do not depend on other events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy
from elsinore.model.expression import Attribute, Expression, Operator
from elsinore.operators.ranks import rank_doubles
from elsinore.plan.template import Cut, Reads, Template
from elsinore.trends.graph.codes import (
    STEADY,
    Order,
    is_fine,
    order_of,
    plain_of,
    steady_codes,
    with_nan,
)

LEAST, GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_UP = frozenset({Operator.LT, Operator.LE, Operator.EQ})  # bound earlier values from above ...
_DOWN = frozenset({Operator.GT, Operator.GE, Operator.EQ})  # ... and from below


class OrderColumn(NamedTuple):
    """A column that orders rows: an attribute, from its greatest value on if it is falling."""

    attribute: str
    is_falling: bool


class PartColumn(NamedTuple):
    """Columns of ranges, the first at `place`: those of `reads`, or one that contains them all."""

    reads: Reads
    is_falling: bool
    is_whole: bool


def is_steady(templates: Sequence[Template], types: Mapping[str, pa.DataType]) -> bool:
    """Return whether all conditions compare two attributes, of types in one order, by value.

    Texts, decimals, and integers with doubles are compared by their ranks among all events.
    """
    cuts = {
        cut
        for template in templates
        for move in template.transitions
        for part in move.reads
        for cut in part
    }
    return all(_is_steady(cut, types) for cut in cuts)


def _is_steady(cut: Cut, types: Mapping[str, pa.DataType]) -> bool:
    if cut.shift is not None:
        return False
    match cut.previous, cut.current:
        case Attribute(_, str(earlier)), Attribute(_, str(later)):
            orders = {order_of(plain_of(to_arrow([], types[n])).type) for n in (earlier, later)}
            return len(orders) == 1 and orders <= STEADY
    return False


class Bounds:
    """The columns of orders and of ranges of a program."""

    def __init__(self) -> None:
        self._orders: dict[OrderColumn, int] = {}
        self._parts: dict[PartColumn, int] = {}
        self._part_count = 0

    def order(self, order: Expression | None, *, is_falling: bool) -> int:
        """Return the column of `orders` of an attribute; -1 for none."""
        if not isinstance(order, Attribute) or order.name is None:
            return -1
        return self._orders.setdefault(OrderColumn(order.name, is_falling), len(self._orders))

    def parts(self, reads: Reads, *, is_falling: bool, is_whole: bool) -> tuple[int, int]:
        """Return the columns of ranges of a read: the first one, and that after the last one."""
        if not reads:
            return 0, 0
        column = PartColumn(reads, is_falling, is_whole)
        if column not in self._parts:
            self._parts[column] = self._part_count
            self._part_count += 1 if is_whole else len(reads)
        first = self._parts[column]
        return first, first + (1 if is_whole else len(reads))

    def columns(self, batch: pa.RecordBatch) -> dict[str, NDArray[Any]]:
        """Return `orders`, `ordered`, `lows` and `highs` of a batch's events."""
        rows, codes = batch.num_rows, _Codes(batch)
        orders = np.zeros((rows, len(self._orders)), np.int64)
        ordered = np.zeros((rows, len(self._orders)), np.uint8)
        for column, place in self._orders.items():
            values, known = codes.of(column.attribute)
            orders[:, place] = ~values if column.is_falling else values
            ordered[:, place] = known
        lows = np.zeros((rows, self._part_count), np.int64)
        highs = np.full((rows, self._part_count), -1, np.int64)
        for part, place in self._parts.items():
            ranges = [_range(cuts, codes, rows, part.is_falling) for cuts in part.reads]
            if part.is_whole:
                highs[:, place] = GREATEST
                lows[:, place] = LEAST
                tops = np.stack([np.where(low > high, LEAST, high) for low, high in ranges])
                there = np.stack([low <= high for low, high in ranges]).any(axis=0)
                highs[:, place] = tops.max(axis=0)
                lows[~there, place], highs[~there, place] = 0, -1
                continue
            for number, (low, high) in enumerate(_apart(ranges)):
                lows[:, place + number], highs[:, place + number] = low, high
        return {"orders": orders, "ordered": ordered, "lows": lows, "highs": highs}


class _Codes:
    """What the attributes of a batch's events are compared as."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        types = [field.type for field in batch.schema if field.name.startswith("pair:")]
        self._unit = "ns" if any(is_fine(plain_of(to_arrow([], t)).type) for t in types) else "us"
        self._known: dict[str, tuple[NDArray[np.int64], NDArray[np.bool_]]] = {}

    def of(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return codes and which are known."""
        if name not in self._known:
            column = plain_of(self._batch.column(f"pair:{name}"))
            order = order_of(column.type)
            if order is Order.NUMBER:
                codes = np.empty(len(column), np.int64)
                known = np.empty(len(column), np.bool_)
                rank_doubles(with_nan(column), codes, known, one_zero=True)
            else:
                known = to_numpy(column.is_valid())
                codes = to_numpy(steady_codes(name, column, order, self._unit), 0)
            self._known[name] = codes, known
        return self._known[name]


def _range(
    cuts: Sequence[Cut], codes: _Codes, rows: int, is_falling: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least and the greatest value that all cuts allow; low above high where none."""
    low, high = np.full(rows, LEAST), np.full(rows, GREATEST)
    none = np.zeros(rows, np.bool_)
    for cut in cuts:
        assert isinstance(cut.current, Attribute)
        bound, known = codes.of(cut.current.name or "")
        none |= ~known
        if cut.operator in _UP:
            is_open = cut.operator is Operator.LT
            none |= is_open & (bound == LEAST)
            high = np.minimum(high, bound - (is_open & (bound > LEAST)))
        if cut.operator in _DOWN:
            is_open = cut.operator is Operator.GT
            none |= is_open & (bound == GREATEST)
            low = np.maximum(low, bound + (is_open & (bound < GREATEST)))
    if is_falling:
        low, high = ~high, ~low
    return np.where(none, 0, low), np.where(none, -1, high)


def _apart(
    ranges: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return as many ranges of the same values, no value in two of them."""
    if len(ranges) < 2:
        return list(ranges)
    lows, highs = (np.stack([part[side] for part in ranges]) for side in (0, 1))
    order = np.lexsort((highs, np.where(lows > highs, GREATEST, lows)), axis=0)
    lows, highs = np.take_along_axis(lows, order, 0), np.take_along_axis(highs, order, 0)
    apart = []
    reach = np.full(lows.shape[1], LEAST)  # the first value that no range before has
    is_full = np.zeros(lows.shape[1], np.bool_)  # those before have all up to the greatest
    for low, high in zip(lows, highs, strict=True):
        none = (low > high) | is_full | (high < reach)
        apart.append((np.where(none, 0, np.maximum(low, reach)), np.where(none, -1, high)))
        is_full |= ~none & (high == GREATEST)
        reach = np.where(none | is_full, reach, high + (high < GREATEST))
    return apart
