"""The rows in collapsed form that are due, and where the events of each state are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.matches.arrays import Ints
from elsinore.matches.engine import tables as tb
from elsinore.matches.engine.codes import BEGINS, ENDS, MOMENT
from elsinore.matches.engine.due import COLUMNS, list_windows
from elsinore.matches.engine.pattern import NO_BUCKETS, structs
from elsinore.matches.keyed import FIRST_ROW
from elsinore.matches.operands import Operands
from elsinore.matches.query import are_apart

ROWS = 1 << 15  # rows returned at a time
LISTED = 1 << 20  # events in the windows of rows whose sets are listed at a time
NO_NEGATIVES = np.zeros((0, 0), np.int64)


def due_rows(keys: Ints, wholes: Ints, window: tuple[int, int, int], fits: Any) -> Ints:
    """Return the rows whose windows have passed by now, in order of their first events.

    Columns are those of `elsinore.matches.engine.due`.
    """
    empty = np.zeros((0, 0))
    values = tb.Values(empty, np.ascontiguousarray(wholes), NO_NEGATIVES, NO_BUCKETS)
    mask = fits.astype(np.uint8)
    rows = np.empty((int(np.count_nonzero(fits)), COLUMNS), dtype=np.int64)
    count = list_windows(values, tb.Window(structs(keys), *window), mask, rows)
    if count > len(rows):
        rows = np.empty((count, COLUMNS), dtype=np.int64)
        list_windows(values, tb.Window(structs(keys), *window), mask, rows)
    return rows[:count]


def cut(rows: Ints) -> Iterator[Ints]:
    """Yield rows in pieces of a bounded number."""
    for start in range(0, len(rows), ROWS):
        yield rows[start : start + ROWS]


def in_pieces(rows: Ints) -> Iterator[Ints]:
    """Yield rows in pieces whose windows have a bounded number of events, of one row at least."""
    sizes = np.cumsum(rows[:, ENDS] - rows[:, BEGINS] + 1)
    start = 0
    while start < len(rows):
        before = sizes[start - 1] if start else 0
        end = int(np.searchsorted(sizes, before + LISTED, side="right"))
        end = min(max(end, start + 1), start + ROWS)
        yield rows[start:end]
        start = end


class Reach:
    """Where the events of each state are, before and after any event."""

    def __init__(self, operands: Operands, keys: Ints, fits: NDArray[np.bool_]) -> None:
        wholes = operands.wholes
        count = wholes.shape[1]
        self.count = count
        # the first event after all of its moment, and the last one before them
        self.after = np.minimum(np.arange(1, count + 2), count)
        self.before = np.arange(-1, count)
        self.before[-1] = -1
        if not are_apart(operands, keys):
            is_first = np.ones(count, dtype=np.bool_)  # of its key and moment
            is_first[1:] = np.diff(wholes[MOMENT]) != 0
            is_first[keys[:, FIRST_ROW]] = True
            begins = np.flatnonzero(is_first)
            moment = np.cumsum(is_first) - 1
            self.after[:-1] = np.append(begins[1:], count)[moment]
            self.before[:-1] = begins[moment] - 1
        # the events of a state, and one more, so that each place has one
        self.events = [np.append(np.flatnonzero(row), count) for row in fits]
        self.until = [np.concatenate([[-1], row[:-1]]) for row in self.events]
        self._places = np.zeros((len(fits), count + 1), dtype=np.int64)
        for places, row in zip(self._places, fits, strict=True):
            np.cumsum(row, out=places[1:])

    def place(self, state: int, rows: Ints) -> Ints:
        """Return the number of a state's events before each of some rows."""
        return np.asarray(self._places[state][rows])

    def first(self, state: int, rows: Ints) -> Ints:
        """Return the first event of a state from each row on; `count` if there is none."""
        return np.asarray(self.events[state][self.place(state, rows)])

    def last(self, state: int, rows: Ints) -> Ints:
        """Return the last event of a state up to each row, -1 if there is none."""
        return np.asarray(self.until[state][self.place(state, rows + 1)])
