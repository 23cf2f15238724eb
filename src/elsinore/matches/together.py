"""Queries each match of which goes on in one way, answered in one pass: see `backwards`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from elsinore.kernels import enter
from elsinore.matches import backwards as bw
from elsinore.matches.arrays import Ints, Shorts
from elsinore.matches.found import Found
from elsinore.matches.keyed import END_ROW, FIRST_ROW
from elsinore.matches.merged import Program, Query, written
from elsinore.matches.operands import Operands
from elsinore.matches.query import GUARD, longest
from elsinore.matches.tables import Tables
from elsinore.matches.template import MatchTemplate

MOST_QUERIES = 64  # of one program
ROWS = 1 << 17  # gone through at a time
ENTRY_SECONDS = 1e-5  # what an entry of the program takes in plain Python, for an event
_ZERO = np.int64(0)
_NO_PATHS: Shorts = np.zeros((0, 2), dtype=np.int32)


class Together:
    """Queries of one unit with a common program."""

    def __init__(self, queries: Sequence[tuple[int, MatchTemplate, Tables]]) -> None:
        """`queries`: the place in the unit, the template, its tables."""
        self._queries = [Query(*query) for query in queries]
        self.places = tuple(query.place for query in self._queries)
        self._made_of: list[Ints] = []
        self._program: Program | None = None
        self._found: Shorts = np.empty(0, dtype=np.int32)

    def is_possible(self, keys: Ints) -> bool:
        """Return whether the events so far lead to one state each, and no key has too many."""
        if longest(keys) > GUARD:  # more may be in a window, and are counted elsewhere
            return False
        tables = [query.tables.integers for query in self._queries]
        if list(map(id, tables)) != list(map(id, self._made_of)):
            self._made_of, self._program = tables, written(self._queries)
        return self._program is not None

    def matches(self, operands: Operands, keys: Ints) -> Iterator[tuple[list[int], Found]]:
        """Yield places of queries and matches of theirs, as `QuerySearch.matches` does.

        No two events of a key are simultaneous.
        """
        assert self._program is not None
        size = len(self._program.slots)
        slots = np.concatenate([self._program.slots, self._program.slots])
        begin, ends = 0, keys[:, END_ROW]
        while begin < len(keys):
            first = int(keys[begin, FIRST_ROW])
            end = int(np.searchsorted(ends, first + ROWS, side="right"))
            if end > begin:
                rows = first, int(ends[end - 1])
                yield from self._given(operands, keys, slots, (begin, end), rows)
                begin = end
                continue
            # a long key: what follows the last row of each piece is worked out beforehand
            edges = [*range(first, int(ends[begin]), ROWS), int(ends[begin])]
            pieces = list(itertools.pairwise(edges))
            after = []
            for piece in pieces[:0:-1]:
                after.append(slots[:size].copy())
                self._run(operands, keys, slots, (begin, begin + 1), piece, quiet=True)
            after.append(slots[:size].copy())
            for piece in pieces:
                slots[:size] = after.pop()
                yield from self._given(operands, keys, slots, (begin, begin + 1), piece)
            begin += 1

    def _given(
        self, operands: Operands, keys: Ints, slots: Ints, some: tuple[int, int],
        rows: tuple[int, int],
    ) -> Iterator[tuple[list[int], Found]]:  # fmt: skip
        """Yield the matches that begin among some rows of some keys."""
        assert self._program is not None
        ends, span = self._run(operands, keys, slots, some, rows, quiet=False)
        for lane, places in enumerate(self._program.lanes):
            begin, end = int(span[bw.LANES + lane]), int(ends[lane])
            if begin == end:
                continue
            matches = self._found[begin:end].reshape(-1, self._program.widths[lane])
            found = _found(self._queries[places[0]], matches)
            yield [self._queries[place].place for place in places], found

    def _run(
        self, operands: Operands, keys: Ints, slots: Ints, some: tuple[int, int],
        rows: tuple[int, int], *, quiet: bool,
    ) -> tuple[Ints, Ints]:  # fmt: skip
        """Go through some rows of some keys; return where each lane's room ends, and `span`."""
        program = self._program
        assert program is not None
        room = 0 if quiet else rows[1] - rows[0]
        ends = room * np.cumsum(program.widths)
        span = np.array([*some, *rows, quiet, *ends.tolist()], dtype=np.int64)
        if len(self._found) < ends[-1]:
            self._found = np.empty(int(ends[-1]), dtype=np.int32)
        enter(
            bw.go_back, ENTRY_SECONDS * (1 + program.work) * (rows[1] - rows[0]), program.code,
            slots, operands.values, keys, span, self._found,
        )  # fmt: skip
        return ends, span


def _found(query: Query, matches: Shorts) -> Found:
    """Return a query's matches by their numbers: first and last rows, and registers."""
    events: Any = np.empty((query.events, len(matches)), dtype=np.int32)
    numbers: Any = np.empty((len(query.columns) - query.events, len(matches)), dtype=np.int32)
    for out, number in zip((*events, *numbers), query.columns, strict=True):
        out[:] = matches[:, number]
    if query.computes:  # of these types expressions are compiled for
        events, numbers = events.astype(np.int64), numbers.astype(np.float64)
    return Found(
        first=np.ascontiguousarray(matches[:, 0]), last=np.ascontiguousarray(matches[:, 1]),
        window=np.broadcast_to(_ZERO, len(matches)), events=events.T, numbers=numbers.T,
        starts=np.broadcast_to(_ZERO, len(matches) + 1), paths=_NO_PATHS,
    )  # fmt: skip
