# cython: infer_types=True
"""Matches of patterns under NOT: the latest beginning of those that end by a row, and lists.

A NOT without relations to the match is decided by the latest moment at which a match of it begins
that ends by a row (`latest_beginnings`).

The matches of a NOT of several events with relations to the match are listed once for each batch,
in the order of their first events, and compared with the partial matches in whose gaps they lie: of
`SEQ(A a, NOT SEQ(X+ x, Y y), B b) WHERE x.ref = a.id AND y.ref = b.id` those of `SEQ(X+ x, Y y)`. A
match takes as many columns of the table as it has events for the variable that is repeated most. A
column has the first and the last row of the match, the number of columns from here on that are of
the match, and the row of the event for each register that the conditions read (-1: none). A
register of each event (`RegisterKind.EACH`) has one after the other, then the last one again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cython
import numpy as np
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.matches.arrays import Ints
from elsinore.matches.engine.codes import (
    BEGINS_AT,
    ENDS_AT,
    LISTED_EVENTS,
    LISTED_FIRST,
    PATH,
    Index,
)
from elsinore.matches.engine.graph import build, gather
from elsinore.matches.engine.guards import is_free, last_before
from elsinore.matches.engine.tables import Program, Search
from elsinore.matches.registers import Register, RegisterKind
from elsinore.matches.template import MatchTemplate


def latest_beginnings(program: Program, search: Search, latest: cython.longlong[::1]) -> None:
    """Raise `latest` [row] to the latest moment at which a match began that ends with the row.

    For patterns whose conditions read no more than two neighbours: of the matches that begin with
    an event, the graph has the first end. Matches longer than the window's `within` do not count. A
    NOT at the beginning or the end of the pattern is looked for among all rows of the key.
    """
    with cython.nogil:
        search.all_rows = 1
        while search.key < search.keys.shape[0]:
            gather(program, search)
            if search.event_count > 0:
                build(program, search, 0, search.event_count - 1)
            for event in range(search.event_count):
                for node in range(search.events[event].node, search.events[event].node_end):
                    end: Index = search.nodes[node].soonest
                    if (
                        begins_freely(program, search, node)
                        and end < search.event_count
                        and (
                            search.within < 0
                            or search.events[end].time - search.events[event].time <= search.within
                        )
                    ):
                        row: Index = search.events[end].row
                        latest[row] = max(latest[row], search.events[event].moment)
            search.key += 1


@cython.nogil
def begins_freely(program: Program, search: Search, node: Index) -> cython.bint:
    """Return whether a match may begin with a node, with a NOT at its beginning."""
    edge: Index = program.states[search.nodes[node].state].first_edge
    if edge < 0:
        return False
    before: Index = last_before(search, search.events[search.nodes[node].event].row)
    return is_free(program, search, program.edges[edge].guard, -1, before, -1, -1)


def spread(search: Search, latest: cython.longlong[::1]) -> None:
    """Raise `latest` [row] to its greatest value up to the row of the key."""
    with cython.nogil:
        for key in range(search.keys.shape[0]):
            for row in range(search.keys[key].first_row + 1, search.keys[key].end_row):
                latest[row] = max(latest[row], latest[row - 1])


MOST_LISTED = 5_000_000  # columns of the table


class ListedMatches:
    """The list of the matches of one pattern under NOT."""

    def __init__(
        self, template: MatchTemplate, negative: MatchTemplate, reads: Sequence[int]
    ) -> None:
        """`reads` are the registers of `template` that hold events of `negative`."""
        self._template = template
        self._reads = [_Read(template.registers[number], negative) for number in reads]
        self._pieces: list[Ints] = []
        self._count = 0

    def put(self, search: Search) -> None:
        """Add the matches that a search returned. Raises InputError if there are too many."""
        rows = np.asarray(search.match_rows)[:, : search.count]
        starts, path = rows[PATH], np.asarray(search.match_paths)[: search.filled]
        for read in self._reads:
            read.begin(starts, path)
        counts = np.max(
            [np.ones_like(starts), *(read.counts for read in self._reads if read.is_each)], axis=0
        )
        self._count += int(counts.sum())
        if self._count > MOST_LISTED:
            raise InputError(
                f"query {self._template.query.name}: a pattern under NOT has more than "
                f"{MOST_LISTED:,} matches, each of which must be compared with the events around "
                "it. Make the window shorter, or compare the events under NOT with one another "
                "(x.ref = y.ref), which leaves fewer."
            )
        match = np.repeat(np.arange(len(starts)), counts)
        place = np.arange(len(match)) - np.repeat(np.cumsum(counts) - counts, counts)
        columns = [rows[BEGINS_AT][match], rows[ENDS_AT][match], counts[match] - place]
        self._pieces.append(np.stack(columns + [read.rows(match, place) for read in self._reads]))

    def table(self) -> Ints:
        """Return the table of the matches, ordered by their first events."""
        if not self._pieces:
            return np.zeros((LISTED_EVENTS + len(self._reads), 0), np.int64)
        table = np.concatenate(self._pieces, axis=1)
        order = np.argsort(table[LISTED_FIRST], kind="stable")
        return np.asarray(table[:, order], np.int64)


def joined(tables: Sequence[Ints]) -> Ints:
    """Return tables side by side, extended by -1 to the height of the highest one."""
    height = max(map(len, tables))
    return np.concatenate(
        [np.pad(one, ((0, height - len(one)), (0, 0)), constant_values=-1) for one in tables],
        axis=1,
    )


class _Read:
    """The events of listed matches for one register."""

    def __init__(self, register: Register, negative: MatchTemplate) -> None:
        self._kind = register.kind
        self._is_bound = np.array([s.variable in register.variables for s in negative.states])
        self.is_each = register.kind == RegisterKind.EACH

    def begin(self, starts: Ints, path: NDArray[Any]) -> None:
        """Take matches whose rows and states `path` has, from `starts` on."""
        is_bound = self._is_bound[path[:, 1]]
        self._events = path[is_bound, 0].astype(np.int64)
        before = np.concatenate([[0], np.cumsum(is_bound)])
        self._starts = before[starts]
        self.counts = before[np.append(starts[1:], len(path))] - self._starts

    def rows(self, match: Ints, place: Ints) -> Ints:
        """Return the row of the event for each of some matches, `place` times after the first."""
        counts = self.counts[match]
        if self._kind == RegisterKind.FIRST:
            place = np.zeros_like(place)
        elif self._kind == RegisterKind.LATEST:
            place = counts - 1
        at = self._starts[match] + np.minimum(place, counts - 1)
        events = np.append(self._events, -1)  # the last one is read if there is none
        return np.where(counts > 0, events[np.where(counts > 0, at, -1)], -1)
