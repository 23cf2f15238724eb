"""Sums over the windows of a single query, event by event."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import enter
from elsinore.plan import TrendUnit
from elsinore.trends.core.arrays import FOREVER, Ints
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.index.windows import sum_windows
from elsinore.trends.index.words import QueryWords
from elsinore.trends.keyed import KeyedEvents, WindowTotals, size_of
from elsinore.trends.statistics import SharingStatistics

Kind = TypeVar("Kind", bound=np.generic)

MOST_WINDOWS = 16  # open at once: each is worked on by itself
MANY = 64  # events of a window for which values are numbered
ROWS = 4096  # results that are given out at once
_SECONDS = 1e-4  # that an event takes in plain Python, in each window


def can_index(unit: TrendUnit) -> bool:
    """Return whether a unit is of one query that counts trends, in few windows at once."""
    if len(unit.templates) != 1:
        return False
    (template,) = unit.templates
    window, wanted = template.query.window, template.aggregation
    if window is not None and window.overlap > MOST_WINDOWS:
        return False
    return len(wanted.linear) == 1 and not wanted.extremes


class IndexEvaluator:
    """Counts the trends of a single query by an index over the events of each window.

    The query has no `elsinore.plan.sharing.obstacle`. `by_time`: events of one time do not precede
    one another; else each is its own moment.
    """

    def __init__(self, unit: TrendUnit, *, by_time: bool) -> None:
        self._words = QueryWords(unit)
        self._by_time = by_time
        window = unit.templates[0].query.window
        self._window = window
        self._overlap = 1 if window is None else window.overlap
        self._states = unit.templates[0].states
        self.bytes_held = 0
        self.statistics: list[SharingStatistics] = []  # a query on its own shares with nobody

    def evaluate(self, events: KeyedEvents, columns: ComparedColumns) -> WindowTotals:
        """Return the sums of all windows that end after `done` and at or before `until`."""
        classes, lists = self._words.classes(events.codes)
        self._words.query(columns, 0)  # `columns` may grow
        compared, different = _plain(columns.compared), 0
        if len(classes) >= MANY * self._windows(events):
            compared, different = _numbered(compared)
        query = self._words.query(columns, different)
        size = int(np.max(np.diff(events.starts), initial=0)) * self._states
        values, sums = np.empty(size, dtype=np.int64), np.empty(size)
        powers = np.empty(size, dtype=np.int32)
        found_powers, found_ranks = np.empty_like(powers), np.empty_like(powers)
        found = np.empty(size)
        marks = np.empty((self._states, (different >> 6) + 1), dtype=np.uint64)
        counted = np.empty(marks.shape, dtype=np.int32)
        at = np.array([0, FOREVER, 0, 0], dtype=np.int64)
        places, cells = np.empty(2 * ROWS, dtype=np.int64), np.empty(ROWS)
        cell_powers = np.empty(ROWS, dtype=np.int32)
        parts = []
        while at[0] < len(events.starts) - 1:
            count = enter(
                sum_windows,
                _SECONDS * len(classes) * self._overlap,
                query,
                lists,
                _plain(events.starts),
                _plain(events.done),
                _plain(events.until),
                _plain(events.times),
                classes,
                compared,
                _plain(columns.known),
                self._by_time,
                places,
                cells,
                cell_powers,
                values,
                marks,
                counted,
                sums,
                powers,
                found,
                found_powers,
                found_ranks,
                at,
            )
            told = places[: 2 * count].reshape(-1, 2)
            parts.append((told.copy(), cells[:count].copy(), cell_powers[:count].copy()))
        self.bytes_held = size_of(
            (values, sums, powers, found, found_powers, found_ranks, marks, counted)
        )
        told = np.concatenate([np.empty((0, 2), dtype=np.int64), *(part[0] for part in parts)])
        return WindowTotals(
            query=np.zeros(len(told), dtype=np.int32),
            key=told[:, 0].astype(np.int32),
            window=told[:, 1],
            cells=np.concatenate([np.empty(0), *(part[1] for part in parts)])[:, None],
            powers=np.concatenate([np.empty(0, dtype=np.int32), *(part[2] for part in parts)])[
                :, None
            ],
            extremes=np.empty((len(told), 0), dtype=np.int64),
        )

    def _windows(self, events: KeyedEvents) -> int:
        """Return about how many windows there are, of all keys."""
        starts, window = events.starts, self._window
        keys = int(np.count_nonzero(np.diff(starts)))
        if window is None or keys == 0:
            return keys
        full = np.flatnonzero(np.diff(starts))
        spans = events.times[starts[full + 1] - 1] - events.times[starts[full]]
        return keys + int(np.sum(spans // window.step))


def _numbered(compared: Ints) -> tuple[Ints, int]:
    """Return values numbered in their order, equal ones alike, and how many differ.

    >>> _numbered(np.array([[7, -1], [9, 7]]))
    (array([[1, 0],
           [2, 1]]), 3)
    """
    flat = compared.reshape(-1)
    order = np.argsort(flat)
    ascending = flat[order]
    numbers = np.empty(len(flat), dtype=np.int64)
    steps = np.zeros(len(flat), dtype=np.int64)
    np.cumsum(ascending[1:] != ascending[:-1], out=steps[1:])
    numbers[order] = steps
    return numbers.reshape(compared.shape), int(steps[-1]) + 1 if len(steps) else 0


def _plain(array: NDArray[Kind]) -> NDArray[Kind]:
    """Return an array as the kernels are compiled for: in one piece, and not read only."""
    return np.require(array, requirements=["C", "W"])
