"""Comparisons of neighbours made ready for trees (`elsinore.matches.engine.trees`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.matches.arrays import Ints
from elsinore.matches.engine import tables as tb
from elsinore.matches.operands import NULL_CODE, Operands
from elsinore.matches.program import Code
from elsinore.matches.tables import Tables

NEVER = 2**31 - 1


def put_orders(
    program: tb.Program, graph: tb.Graph, tables: Tables, operands: Operands, longest: int
) -> Ints:
    """Set the orders of a program's edges; return the integers of a batch with rows for them.

    Nothing is ordered if no key has more than a few events (`longest`).
    """
    program.orders = tb.empty(tb.ORDER, 0)
    if not tables.ordered or longest < 64:
        return operands.wholes
    rows, room = [operands.wholes], 0
    orders: list[tuple[int, ...]] = []
    for _, target, pair in tables.ordered:
        places, bounds, size = _numbered(operands, pair)
        row = len(operands.wholes) + 2 * len(orders)
        rows.append(np.stack([places, bounds]))
        orders.append((target, row, row + 1, room, size))
        room += size + 1
    program.orders = tb.table(tb.ORDER, orders)
    graph.tree_counts = np.zeros(room)
    graph.tree_ends = np.full(room, NEVER, np.int32)
    return np.concatenate(rows)


def _numbered(operands: Operands, pair: tuple[int, ...]) -> tuple[Ints, Ints, int]:
    """Return each row's place among the values, how many places count for it, and their number.

    pair: comparison, whether it is of integers, rows of the later event's attribute and the other.
    """
    code, is_whole, later_row, before_row = pair
    columns: Any = operands.wholes if is_whole else operands.doubles
    later, before = columns[later_row], columns[before_row]
    known = later != NULL_CODE if is_whole else ~np.isnan(later)
    values = np.unique(later[known])
    side: Any = "left" if code in {Code.LT, Code.GE} else "right"
    places = np.searchsorted(values, later)
    bounds = np.searchsorted(values, before, side=side)
    if code in {Code.GT, Code.GE}:
        places, bounds = len(values) - 1 - places, len(values) - bounds
    compares = before != NULL_CODE if is_whole else ~np.isnan(before)
    return np.where(known, places, -1), np.where(compares, bounds, 0), len(values)
