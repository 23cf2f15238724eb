"""Searches by kernels that are compiled by Numba: their working arrays, and what they return."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from benchmarks.evaluations import checks as se
from benchmarks.evaluations import registers as sl
from benchmarks.evaluations.arrays import Given, Registers
from benchmarks.evaluations.interpret import STACK
from benchmarks.evaluations.reach import EVENT_COLUMNS
from benchmarks.evaluations.tables import Header, Tables
from benchmarks.evaluations.tabulate import build_tables
from elsinore.matches.arrays import Doubles, Ints, MatchBatch
from elsinore.matches.engine.pattern import PatternSearch, Work
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.query import QuerySearch
from elsinore.matches.template import MatchTemplate

STEPS = 64  # events that a match may have at first
ROOM = 1 << 15  # matches returned at a time, at first


class KernelSearch(QuerySearch):
    """A search of one query by a kernel."""

    def __init__(self, template: MatchTemplate, layout: Layout) -> None:
        super().__init__(template, layout)
        self.pattern = _TablesPattern(template, layout)
        self.tables = self.pattern.tables

    @cached_property
    def room(self) -> Room:
        """The working arrays."""
        return Room(self.tables)

    def _taken(self, progress: Ints) -> tuple[int, MatchBatch | None]:
        """Return a kernel's status and its matches, and reset `progress` for the next piece.

        The matches are views of the working arrays: the next call overwrites them.
        """
        status, count = int(progress[se.STATUS]), int(progress[se.FOUND])
        found = self._given(count, int(progress[se.FILLED])) if count else None
        progress[[se.FOUND, se.FILLED]] = 0
        progress[se.LIMIT] -= count
        progress[se.STATUS] = se.DONE
        return status, found

    def _make_way(self, status: int, progress: Ints, *, widen: bool) -> None:
        """Enlarge what a stopped kernel ran out of; raise its error if that is not possible."""
        if status == se.PAUSED:
            return
        if status == se.DEEP:
            self.room.deepen()
        elif status == se.FULL:
            if widen:
                self.room.widen()
        elif status == se.TOO_LONG:
            raise self.too_long()
        elif status == se.BROKEN:
            self.pattern.program.failed_row = self.tables.integers[Header.FAILED] - 1
            self.tables.integers[Header.FAILED] = 0
            self.pattern.check_failure()
        else:
            raise self.too_many(int(progress[se.COUNTED]))

    def _given(self, count: int, filled: int) -> MatchBatch:
        """Return views of the `count` matches in the working arrays, each match once."""
        room = self.room
        return self.batch_of(room.found[:, :count], room.counted, room.paths, filled)


class _TablesPattern(PatternSearch):
    """A pattern with the tables that kernels read."""

    def __init__(self, template: MatchTemplate, layout: Layout) -> None:
        super().__init__(template, layout)
        self.tables = build_tables(template, layout)
        self._classes = -1  # that the tables have

    def set_texts(self, operands: Operands) -> None:
        """Set the integers that stand for the texts of conditions, and the classes so far."""
        super().set_texts(operands)
        if self._classes != len(self.states.by_class):
            self._classes = len(self.states.by_class)
            self.tables.set_classes(self.states)
        self.tables.set_texts(operands)

    def has_overflown(self) -> bool:
        """Return whether a whole number in a condition went beyond 64 bits; forget it."""
        return any([super().has_overflown(), self.tables.has_overflown()])


class Room:
    """The working arrays of a search."""

    def __init__(self, tables: Tables) -> None:
        header = tables.integers
        events, numbers = int(header[Header.EVENTS]), int(header[Header.NUMBERS])
        states = int(header[Header.STATES])
        self.events = np.zeros((0, EVENT_COLUMNS), dtype=np.int64)
        self.path = np.zeros((STEPS, se.PATH_COLUMNS), dtype=np.int64)
        self.bound_rows = np.zeros((STEPS + 2, events), dtype=np.int64)
        self.numbers = np.zeros((STEPS + 2, numbers), dtype=np.float64)
        self._before: list[Doubles] = []
        self.stack = np.zeros(STACK + 2 * states, dtype=np.float64)
        self.found = np.zeros((sl.BOUND + events, ROOM), dtype=np.int64)
        self.counted = np.zeros((numbers, ROOM), dtype=np.float64)
        self.paths = np.zeros((4 * ROOM, 2), dtype=np.int32)

    @property
    def registers(self) -> Registers:
        """The registers of the match under way."""
        return Registers(self.bound_rows, self.numbers)

    @property
    def given(self) -> Given:
        """Room for matches that are given out."""
        return Given(self.found, self.counted, self.paths)

    def for_rows(self, rows: int) -> None:
        """Make room for keys of up to so many rows."""
        if len(self.events) < rows:
            self.events = np.zeros((rows, EVENT_COLUMNS), dtype=np.int64)

    def deepen(self) -> None:
        """Make room for matches of twice as many events; the one under way goes on."""
        # states of users' aggregates are known by their places: those are not used anew
        self._before.append(self.numbers)
        rows = len(self.path)
        self.path = np.concatenate([self.path, np.zeros_like(self.path)])
        self.bound_rows = np.concatenate([self.bound_rows, np.zeros_like(self.bound_rows[:rows])])
        self.numbers = np.concatenate([self.numbers, np.zeros_like(self.numbers[:rows])])

    def widen(self) -> None:
        """Make room for twice as many matches at a time."""
        columns = 2 * self.found.shape[1]
        self.found = np.zeros((len(self.found), columns), dtype=np.int64)
        self.counted = np.zeros((len(self.counted), columns), dtype=np.float64)
        self.paths = np.zeros((2 * len(self.paths), 2), dtype=np.int32)


def begin_work(work: Work, progress: Ints) -> None:
    """Ready `progress` for a call: it ends when too much was tried, or to look for Ctrl-C."""
    left = max(work.allowed - work.tried, 0)
    progress[se.STEPS], progress[se.PAUSE_AT] = 0, min(se.PAUSE_STEPS, left)
    progress[se.BUDGET] = left


def end_work(work: Work, progress: Ints) -> bool:
    """Count what a call tried; return whether the search has tried more than it may."""
    return work.exceeds(int(progress[se.STEPS]), int(progress[se.FOUND]))
