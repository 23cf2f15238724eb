"""Deterministic queries, answered in one pass over the events.

See `elsinore.matches.engine.backwards`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from elsinore.matches.arrays import Ints, Keys, MatchBatch, Shorts
from elsinore.matches.engine import tables as tb
from elsinore.matches.engine.backwards import go_back
from elsinore.matches.engine.pattern import PatternSearch
from elsinore.matches.merged import MergedQuery, Program, merge
from elsinore.matches.operands import Operands
from elsinore.matches.query import GUARD, longest

MOST_QUERIES = 64  # answered in one pass
ROWS = 1 << 17  # read at a time
NO_ROWS: Ints = np.zeros((0, 0), np.int64)
_ZERO = np.int64(0)
_NO_PATHS: Shorts = np.zeros((0, 2), dtype=np.int32)


class Together:
    """Queries of one unit that are answered in one pass."""

    def __init__(self, queries: Sequence[tuple[int, PatternSearch]]) -> None:
        """`queries`: the place in the unit, and the search."""
        self._queries = [MergedQuery(*query) for query in queries]
        self.places = tuple(query.place for query in self._queries)
        self._classes = 0  # that the program has
        self._program: Program | None = None
        self._found: Shorts = np.empty(0, dtype=np.int32)

    def is_possible(self, keys: Keys) -> bool:
        """Return whether each class of events leads to one state, and no key is too long."""
        if longest(keys) > GUARD:  # a window may have too many matches, which are counted elsewhere
            return False
        classes = len(self._queries[0].states.by_class)
        if classes != self._classes:
            self._classes, self._program = classes, merge(self._queries)
        return self._program is not None

    def matches(self, operands: Operands, keys: Keys) -> Iterator[tuple[list[int], MatchBatch]]:
        """Yield places of queries and matches of theirs, as `QuerySearch.matches` does.

        No two events of a key are simultaneous.
        """
        assert self._program is not None
        search = _Pass(self._program, operands, keys)
        begin, ends = 0, keys.end_row
        while begin < len(keys):
            first = int(keys.first_row[begin])
            end = int(np.searchsorted(ends, first + ROWS, side="right"))
            if end > begin:
                yield from self._found_by(search, (begin, end), (first, int(ends[end - 1])))
                begin = end
                continue
            # a long key: what follows the last row of each piece is computed beforehand
            edges = [*range(first, int(ends[begin]), ROWS), int(ends[begin])]
            pieces = list(itertools.pairwise(edges))
            after = []
            for piece in pieces[:0:-1]:
                after.append(search.slots())
                search.run((begin, begin + 1), piece, None)
            after.append(search.slots())
            for piece in pieces:
                search.set_slots(after.pop())
                yield from self._found_by(search, (begin, begin + 1), piece)
            begin += 1

    def _found_by(
        self, search: _Pass, keys: tuple[int, int], rows: tuple[int, int]
    ) -> Iterator[tuple[list[int], MatchBatch]]:
        """Yield the matches that begin among some rows of some keys."""
        assert self._program is not None
        widths = self._program.widths
        room = (rows[1] - rows[0]) * sum(widths)
        if len(self._found) < room:
            self._found = np.empty(room, dtype=np.int32)
        for lane, (begin, end) in enumerate(search.run(keys, rows, self._found)):
            if begin < end:
                places = self._program.lanes[lane]
                matches = self._found[begin:end].reshape(-1, widths[lane])
                found = _batch(self._queries[places[0]], matches)
                yield [self._queries[place].place for place in places], found


class _Pass:
    """One pass over the events of some keys."""

    def __init__(self, program: Program, operands: Operands, keys: Keys) -> None:
        self._merged, self._widths = program.merged, program.widths
        columns = operands.doubles, operands.wholes, NO_ROWS, NO_ROWS, NO_ROWS
        self._values = tb.Values(*map(np.ascontiguousarray, columns))
        self._merged.keys = keys

    def slots(self) -> tuple[Any, Ints]:
        """Return a copy of the slots and their registers."""
        return np.array(self._merged.slots), np.array(self._merged.numbers)

    def set_slots(self, slots: tuple[Any, Ints]) -> None:
        """Set the slots and their registers."""
        self._merged.slots, self._merged.numbers = slots

    def run(
        self, keys: tuple[int, int], rows: tuple[int, int], found: Shorts | None
    ) -> list[tuple[int, int]]:
        """Read some rows of some keys; return the range of each lane's matches in `found`.

        None are written down if it is None.
        """
        ends = (rows[1] - rows[0]) * np.cumsum(self._widths)
        self._merged.lane_ends = ends.copy()
        room = _NO_PATHS.reshape(-1) if found is None else found
        go_back(self._merged, self._values, *keys, *rows, found is None, room)
        begins = np.asarray(self._merged.lane_ends)
        return list(zip(begins.tolist(), ends.tolist(), strict=True))


def _batch(query: MergedQuery, matches: Shorts) -> MatchBatch:
    """Return a query's matches from their numbers: first and last rows, and registers."""
    events: Any = np.empty((query.events, len(matches)), dtype=np.int32)
    numbers: Any = np.empty((len(query.columns) - query.events, len(matches)), dtype=np.int32)
    for out, number in zip((*events, *numbers), query.columns, strict=True):
        out[:] = matches[:, number]
    if query.computes:  # the types of operands of expressions
        events, numbers = events.astype(np.int64), numbers.astype(np.float64)
    return MatchBatch(
        first=np.ascontiguousarray(matches[:, 0]), last=np.ascontiguousarray(matches[:, 1]),
        window=np.broadcast_to(_ZERO, len(matches)), events=events.T, numbers=numbers.T,
        starts=np.broadcast_to(_ZERO, len(matches) + 1), paths=_NO_PATHS,
    )  # fmt: skip
