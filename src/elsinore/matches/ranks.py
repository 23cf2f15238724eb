"""Making comparisons of neighbours ready for trees of sums (`elsinore.matches.counting`).

The values of the later event's attribute are numbered, from the greatest where the later one must
be greater, so that those that compare as they should with any value are the first so many.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.matches.arrays import Doubles, Ints
from elsinore.matches.counting import ENTRY, LONG
from elsinore.matches.interpret import STACK
from elsinore.matches.operands import NULL_CODE, Operands
from elsinore.matches.program import Code
from elsinore.matches.tables import Header, Tables


def with_ranks(tables: Tables, operands: Operands, longest: int) -> tuple[Ints, Doubles]:
    """Return the integers of a batch with rows for comparisons, and room for sums and trees.

    longest: the most events of a key; where no window can be long nothing is made ready.
    """
    header = tables.integers
    states = int(header[Header.STATES])
    ordered = header[Header.ORDERED_AT] = 0
    if not tables.ordered or longest < LONG:
        return operands.wholes, np.zeros(STACK + 2 * states, dtype=np.float64)
    rows = [operands.wholes]
    numbered: dict[tuple[int, ...], tuple[int, int]] = {}  # pair -> its row, the size of its tree
    room = STACK + 2 * states
    ordered = int(header[Header.ORDERED_ROOM])
    edges = int(header[ordered])
    for number, (edge, target, pair) in enumerate(tables.ordered):
        if pair not in numbered:
            places, bounds, size = _numbered(operands, pair)
            numbered[pair] = len(operands.wholes) + 2 * len(numbered), size
            rows.append(np.stack([places, bounds]))
        row, size = numbered[pair]
        entry = ordered + 1 + edges + ENTRY * number
        header[ordered + 1 + edge] = entry
        header[entry : entry + ENTRY] = target, row, row + 1, room, size
        room += 2 * (size + 1)
    header[Header.ORDERED_AT] = ordered
    return np.concatenate(rows), np.zeros(room, dtype=np.float64)


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
