"""Comparisons made ready for each batch: what lets a program look up events instead of scanning.

- *Orders*: under ANY, the counts of all nodes that fulfil a comparison of neighbours, by a tree
  (`elsinore.matches.engine.trees`).
- *Buckets*: the events whose attribute equals one of an earlier event
  (`elsinore.matches.engine.buckets`).
- *Limits*: comparisons that no later event fulfils once one does not, as `c.time - b.time <= 5
  minutes` where times rise: no search looks beyond.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.matches.arrays import Ints, Keys
from elsinore.matches.engine import tables as tb
from elsinore.matches.engine.codes import Strategy
from elsinore.matches.engine.implied import implied_limits
from elsinore.matches.operands import NULL_CODE, Operands
from elsinore.operators.conditions.code import Code
from elsinore.operators.conditions.comparisons import Comparison
from elsinore.structs import empty, table

NEVER = 2**31 - 1
GREATEST = 2**63 - 1
FEW = 64  # events of a key, up to which a scan is as fast
START = -1

Comparisons = Sequence[Comparison | None]  # [condition]


class Lookups:
    """The lookups of one program; made anew for each batch."""

    def __init__(self, program: tb.Program, comparisons: Comparisons) -> None:
        self._program = program
        self._comparisons = comparisons
        self._edges = np.asarray(program.edges).view(np.recarray)
        self._relations = np.asarray(program.relations).view(np.recarray)
        near = [self._of(edge.near, edge.near_end) for edge in self._edges]
        far = [self._of(edge.far, edge.far_end) for edge in self._edges]
        self._ordered = {
            edge: conditions[0]
            for edge, conditions in enumerate(near)
            if self._may_be_ordered(edge)
            and len(conditions) == 1
            and conditions[0] is not None
            and conditions[0].operator != Code.NE
        }
        implied = implied_limits(program, comparisons) if program.strategy == Strategy.ANY else {}
        self._limits: list[tuple[Any, list[tuple[int, Comparison]]]] = []
        self._equalities: dict[int, Comparison] = {}
        for edge, row in enumerate(self._edges):
            if row.source == START:
                continue
            numbers = [*self._numbers(row.near, row.near_end), *self._numbers(row.far, row.far_end)]
            numbers += implied.get(edge, [])
            self._add_limits(row, numbers)
            for comparison in (*near[edge], *far[edge]):
                if comparison is not None and comparison.operator == Code.EQ:
                    self._equalities.setdefault(edge, comparison)
        for relation in self._relations:
            self._add_limits(relation, self._numbers(relation.conditions, relation.conditions_end))

    @property
    def equalities(self) -> Iterator[tuple[Any, int, Comparison]]:
        """Edges and relations with the equality by which their events are looked up.

        And the state that takes these events; for a NOT -1 - its number.
        """
        for edge, equality in self._equalities.items():
            yield self._edges[edge], int(self._edges[edge].target), equality
        for relation in self._relations:
            conditions = self._of(relation.conditions, relation.conditions_end)
            for comparison in conditions:
                if comparison is not None and comparison.operator == Code.EQ:
                    yield relation, -1 - int(relation.negative), comparison
                    break

    def _numbers(self, begin: int, end: int) -> list[int]:
        return np.asarray(self._program.conditions.lists)[begin:end].tolist()

    def _of(self, begin: int, end: int) -> list[Comparison | None]:
        return [self._comparisons[number] for number in self._numbers(begin, end)]

    def _add_limits(self, part: Any, numbers: Iterable[int]) -> None:
        """Note the limits among the conditions of an edge or a relation."""
        limits = [
            (number, comparison)
            for number in dict.fromkeys(numbers)
            if (comparison := self._comparisons[number]) is not None and comparison.is_upper_limit
        ]
        if limits:
            self._limits.append((part, limits))

    def _may_be_ordered(self, edge: int) -> bool:
        row = self._edges[edge]
        is_any = self._program.strategy == Strategy.ANY
        is_free = bool(np.asarray(self._program.guards)["is_free"][row.guard]) and row.unless < 0
        return is_any and row.source != START and is_free

    def put_orders(self, graph: tb.Graph, operands: Operands) -> Ints:
        """Set the orders of the program; return the integers of a batch with rows for them."""
        rows, room = [operands.wholes], 0
        orders: list[tuple[int, ...]] = []
        for edge, comparison in self._ordered.items():
            places, bounds, size = _numbered(operands, comparison)
            row = len(operands.wholes) + 2 * len(orders)
            rows.append(np.stack([places, bounds]))
            target = int(self._edges[edge].target)
            is_equality = int(comparison.operator == Code.EQ)
            self._edges[edge].order = len(orders)
            orders.append((target, row, row + 1, room, size, is_equality))
            room += size + 1
        self._program.orders = table(tb.ORDER, orders)
        graph.tree_counts = np.zeros(room)
        graph.tree_ends = np.full(room, NEVER, np.int32)
        return np.concatenate(rows) if orders else operands.wholes

    def put_limits(self, operands: Operands, keys: Keys) -> None:
        """Set the limits of the program's edges: those on attributes that rise in this batch."""
        limits: list[int] = []
        rises: dict[tuple[bool, int], bool] = {}
        for part, conditions in self._limits:
            begin = len(limits)
            for number, comparison in conditions:
                column = comparison.is_whole, comparison.current
                if column not in rises:
                    rises[column] = _rises(column_of(operands, *column), keys)
                if rises[column]:
                    limits.append(number)
            part.limits, part.limits_end = begin, len(limits)
        self._program.limits = np.array(limits, dtype=np.int32)

    def leave_out(self) -> None:
        """Let the program scan: keys have few events."""
        self._program.orders = empty(tb.ORDER, 0)
        for part in (self._edges, self._relations):
            part["bucket"] = -1
            part["limits_end"] = part["limits"]


def column_of(operands: Operands, is_whole: bool, row: int) -> NDArray[Any]:
    """Return a row of the integers or of the doubles."""
    return operands.wholes[row] if is_whole else operands.doubles[row]


def known_of(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are not null."""
    is_whole = column.dtype == np.int64
    return np.asarray(column != NULL_CODE) if is_whole else ~np.isnan(column)


def shifted_other(operands: Operands, comparison: Comparison) -> tuple[NDArray[Any], Ints]:
    """Return the other event's values with the shift, and -1, 0 or 1 by whether they fit 64 bits.

    Values beyond 64 bits are left as they are.
    """
    column = column_of(operands, comparison.is_whole, comparison.other)
    beyond = np.zeros(len(column), np.int64)
    if not comparison.is_whole:
        return column + comparison.shift, beyond
    shift = int(comparison.shift)
    if shift > 0:
        beyond[column > GREATEST - shift] = 1
    elif shift < 0:
        beyond[column < -GREATEST - shift] = -1
    return np.where(beyond == 0, column + np.where(beyond == 0, shift, 0), column), beyond


def _rises(column: NDArray[Any], keys: Keys) -> bool:
    """Return whether an attribute never falls within a key, and is never null."""
    if not known_of(column).all():
        return False
    falls = np.flatnonzero(column[1:] < column[:-1]) + 1
    return bool(np.isin(falls, [keys.first_row, keys.end_row]).all())


def _numbered(operands: Operands, comparison: Comparison) -> tuple[Ints, Ints, int]:
    """Return each row's place among the values, how many places count for it, and their number.

    For an equality, the one place that counts for it; -1 if there is none.
    """
    later = column_of(operands, comparison.is_whole, comparison.current)
    other, beyond = shifted_other(operands, comparison)
    known = known_of(later)
    compares = known_of(column_of(operands, comparison.is_whole, comparison.other))
    values = np.unique(later[known])
    operator, size = comparison.operator, len(values)
    if operator == Code.EQ:
        places = np.searchsorted(values, later)
        bounds = np.searchsorted(values, other)
        is_there = compares & (beyond == 0) & (bounds < size)
        is_there &= values[np.minimum(bounds, size - 1)] == other if size else False
        return np.where(known, places, -1), np.where(is_there, bounds, -1), size
    side: Any = "left" if operator in {Code.LT, Code.GE} else "right"
    places = np.searchsorted(values, later)
    bounds = np.searchsorted(values, other, side=side)
    bounds = np.where(beyond == 0, bounds, np.where(beyond > 0, size, 0))
    if operator in {Code.GT, Code.GE}:
        places, bounds = size - 1 - places, size - bounds
    return np.where(known, places, -1), np.where(compares, bounds, 0), size
