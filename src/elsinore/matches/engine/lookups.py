"""Comparisons made ready for each batch: what lets a program look up events instead of scanning.

- *Orders*: under ANY, the counts of all nodes that fulfil a comparison of neighbours, by a tree
  (`elsinore.matches.engine.graph`).
- *Buckets*: the events whose attribute equals one of an earlier event, as ranges of sorted rows.
  For each such equality the rows of a batch that may be bound to the later variable are put in
  order: by key, by value, by row. Row 3 * n of `Values.buckets` has the sorted rows of equality n,
  the next two the range of each row.
- *Limits*: comparisons that no later event fulfils once one does not, as `c.time - b.time <= 5
  minutes` where times rise: no search looks beyond. `c.time - a.time <= 5 minutes` bounds what lies
  between a and c as well: under ANY a search that heeds it does not begin what cannot be completed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.expressions.lists import NULL_CODE
from elsinore.matches.arrays import Ints, Keys
from elsinore.matches.engine import tables as tb
from elsinore.matches.engine.codes import CLASS, Strategy
from elsinore.matches.operands import Operands
from elsinore.matches.registers import RegisterKind
from elsinore.operators.conditions.code import Code
from elsinore.operators.conditions.comparisons import Comparison
from elsinore.structs import empty, table

NEVER = 2**31 - 1
GREATEST = 2**63 - 1
FEW = 64  # events of a key, up to which a scan is as fast
START = -1

Comparisons = Sequence[Comparison | None]  # [condition]


class Lookups:
    """The lookups of one program, whose tables are made for each batch."""

    def __init__(self, program: tb.Program, comparisons: Comparisons) -> None:
        self._program, self._comparisons = program, comparisons
        self._edges = np.asarray(program.edges).view(np.recarray)
        self._relations = np.asarray(program.relations).view(np.recarray)
        # edges, or relations, and comparisons of them
        self._ordered: list[tuple[Any, Comparison]] = []
        self._limits: list[tuple[Any, list[tuple[int, Comparison]]]] = []
        self._equalities: list[tuple[Any, int, Comparison]] = []
        is_any = program.strategy == Strategy.ANY
        implied = implied_limits(program, comparisons) if is_any else {}
        for number, edge in enumerate(self._edges):
            if edge.source == START:
                continue
            near, far = listed(program, edge.near), listed(program, edge.far)
            self._add(edge, int(edge.target), [*near, *far], implied.get(number, []))
            is_free = np.asarray(program.guards)["is_free"][edge.guard] and edge.unless < 0
            one = comparisons[near[0]] if is_any and is_free and len(near) == 1 else None
            if one is not None and one.operator not in {Code.EQ, Code.NE}:
                self._ordered.append((edge, one))
        for relation in self._relations:
            self._add(relation, -1 - int(relation.negative), listed(program, relation.checks))

    def _add(
        self, part: Any, target: int, numbers: Sequence[int], implied: Sequence[int] = ()
    ) -> None:
        """Add the limits of an edge or a relation, and the first equality.

        `target` is the state that takes its events; for a NOT -1 - its number.
        """
        compared = [
            (number, comparison)
            for number in dict.fromkeys([*numbers, *implied])
            if (comparison := self._comparisons[number]) is not None
        ]
        if limits := [pair for pair in compared if pair[1].is_upper_limit]:
            self._limits.append((part, limits))
        equal = [comparison for _, comparison in compared if comparison.operator == Code.EQ]
        self._equalities += [(part, target, comparison) for comparison in equal[:1]]

    def put_orders(self, search: tb.Search, operands: Operands) -> Ints:
        """Set the orders of the program; return the integers of a batch with rows for them."""
        rows, room = [operands.wholes], 0
        orders: list[tuple[int, ...]] = []
        for edge, comparison in self._ordered:
            places, bounds, size = _numbered(operands, comparison)
            row = len(operands.wholes) + 2 * len(orders)
            rows.append(np.stack([places, bounds]))
            edge.order = len(orders)
            orders.append((int(edge.target), row, row + 1, room, size))
            room += size + 1
        self._program.orders = table(tb.ORDER, orders)
        search.tree_counts = np.zeros(room)
        search.tree_ends = np.full(room, NEVER, np.int32)
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

    def put_buckets(self, operands: Operands, keys: Keys) -> Ints:
        """Set the buckets of the program's edges and relations; return `Values.buckets`."""
        numbers: dict[tuple[Comparison, int], int] = {}
        pieces: list[Ints] = []
        for part, target, comparison in self._equalities:
            if (comparison, target) not in numbers:
                numbers[comparison, target] = len(numbers)
                takes = _may_take(self._program, target, operands)
                pieces.append(_sorted_rows(takes, comparison, operands, keys))
            part.bucket = numbers[comparison, target]
        rows = [(comparison.register, 3 * number) for (comparison, _), number in numbers.items()]
        self._program.buckets = table(tb.BUCKET, rows)
        return np.concatenate(pieces) if pieces else np.zeros((0, 0), np.int64)

    def leave_out(self) -> None:
        """Remove the lookups from the program: keys have few events."""
        self._program.orders = empty(tb.ORDER, 0)
        for part in (self._edges, self._relations):
            part["bucket"] = -1
            part["limits_end"] = part["limits"]


def listed(program: tb.Program, checks: int) -> list[int]:
    """Return the numbers of the conditions in a list."""
    begin, end = np.asarray(program.checks)[checks]
    return np.asarray(program.conditions.lists)[begin:end].tolist()


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
    """Return each row's place among the values, how many places count for it, and their number."""
    later = column_of(operands, comparison.is_whole, comparison.current)
    other, beyond = shifted_other(operands, comparison)
    known = known_of(later)
    compares = known_of(column_of(operands, comparison.is_whole, comparison.other))
    values = np.unique(later[known])
    operator, size = comparison.operator, len(values)
    side: Any = "left" if operator in {Code.LT, Code.GE} else "right"
    places = np.searchsorted(values, later)
    bounds = np.searchsorted(values, other, side=side)
    bounds = np.where(beyond == 0, bounds, np.where(beyond > 0, size, 0))
    if operator in {Code.GT, Code.GE}:
        places, bounds = size - 1 - places, size - bounds
    return np.where(known, places, -1), np.where(compares, bounds, 0), size


_CHANGING = {RegisterKind.LATEST, RegisterKind.LEAST, RegisterKind.GREATEST, RegisterKind.LAG}


def implied_limits(
    program: tb.Program, comparisons: Sequence[Comparison | None]
) -> dict[int, list[int]]:
    """Return by edge the limits that each match which goes along it must keep later.

    They are limits relative to an event in a register that does not change until then.
    """
    edges = np.asarray(program.edges).view(np.recarray)
    checked = [set(listed(program, edge.far)) for edge in edges]
    implied: dict[int, list[int]] = {}
    for number, comparison in enumerate(comparisons):
        if comparison is None or comparison.register < 0 or not comparison.is_upper_limit:
            continue
        keeping = {edge for edge, numbers in enumerate(checked) if number in numbers}
        if not keeping:
            continue
        changing = _changing_states(program, comparison.register)
        for edge in range(program.first_edges, len(edges)):
            target = int(edges[edge].target)
            if edge not in keeping and _must_keep(program, edges, target, keeping, changing):
                implied.setdefault(edge, []).append(number)
    return implied


def _changing_states(program: tb.Program, register: int) -> set[int]:
    """Return the states whose events replace the event in a register."""
    updates = np.asarray(program.updates).view(np.recarray)
    states = np.asarray(program.states).view(np.recarray)
    return {
        number
        for number, state in enumerate(states)
        if any(
            update.kind in _CHANGING and update.register == register
            for update in updates[state.updates : state.updates_end]
        )
    }


def _must_keep(
    program: tb.Program, edges: np.recarray, state: int, keeping: set[int], changing: set[int]
) -> bool:
    """Return whether all ways to complete a match from a state go along one of some edges.

    False if the register changes on one of the ways before.
    """
    states = np.asarray(program.states).view(np.recarray)
    pending, seen = [state], {state}
    while pending:
        at = pending.pop()
        if at in changing or states[at].ends:
            return False
        for edge in range(states[at].edges, states[at].edges_end):
            target = int(edges[edge].target)
            if edge not in keeping and target not in seen:
                seen.add(target)
                pending.append(target)
    return True


def _sorted_rows(
    takes: NDArray[np.bool_], comparison: Comparison, operands: Operands, keys: Keys
) -> Ints:
    """Return the three rows of a bucket; `takes` says which events may be bound."""
    key = np.repeat(np.arange(len(keys)), keys.end_row - keys.first_row)
    column = column_of(operands, comparison.is_whole, comparison.current)
    other, beyond = shifted_other(operands, comparison)
    is_bound = known_of(column) & takes
    values = np.unique(column[is_bound])
    refers = known_of(column_of(operands, comparison.is_whole, comparison.other)) & (beyond == 0)
    refers &= np.isin(other, values)
    codes = key * len(values) + np.searchsorted(values, column)
    sought = (key * len(values) + np.searchsorted(values, other))[refers]
    rows = np.flatnonzero(is_bound)
    rows = rows[np.argsort(codes[rows], kind="stable")]
    bucket = np.zeros((3, len(column)), np.int64)
    bucket[0, : len(rows)] = rows
    bucket[1, refers] = np.searchsorted(codes[rows], sought, side="left")
    bucket[2, refers] = np.searchsorted(codes[rows], sought, side="right")
    return bucket


def _may_take(program: tb.Program, target: int, operands: Operands) -> NDArray[np.bool_]:
    """Return which rows are of a class that a state takes, or a NOT (-1 - its number)."""
    classes = operands.wholes[CLASS]
    if target < 0:
        forbids = np.append(np.asarray(program.forbids)[-1 - target], 0)
        return np.asarray(forbids[np.where(classes < 0, -1, classes)] != 0)
    states = np.asarray(program.class_states)
    spans = np.asarray(program.classes)
    takes = np.zeros(len(spans) + 1, np.bool_)
    for number, (begin, end) in enumerate(spans.tolist()):
        takes[number] = target in states[begin:end]
    return takes[np.where(classes < 0, len(spans), classes)]
