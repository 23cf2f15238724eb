"""The matches of a pattern under NOT of several events whose conditions relate it to the match.

`SEQ(A a, NOT SEQ(X+ x, Y y), B b) WHERE x.ref = a.id AND y.ref = b.id`: the matches of `SEQ(X+ x,
Y y)` are listed once for each batch, in the order of their first events, and compared with the
partial matches whose gaps they lie in.

A match takes as many columns of the table as it has events for the variable that is repeated most.
A column has the first and the last row of the match, the number of columns from here on that are
of the match, and the row of the event for each register that the conditions read (-1: none). A
register of each event (`RegisterKind.EACH`) has one after the other, then the last one again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.matches.arrays import Ints
from elsinore.matches.engine import tables as tb
from elsinore.matches.engine.codes import BEGINS_AT, ENDS_AT, LISTED_EVENTS, LISTED_FIRST, PATH
from elsinore.matches.registers import Register, RegisterKind
from elsinore.matches.template import MatchTemplate

MOST_LISTED = 5_000_000  # columns of the table
NONE_LISTED = np.zeros((0, 0), np.int64)


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

    def put(self, output: tb.Output) -> None:
        """Add the matches in an output, with their paths. Raises InputError if there are many."""
        found = np.asarray(output.found)[:, : output.count]
        starts, path = found[PATH], np.asarray(output.paths)[: output.filled]
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
        columns = [found[BEGINS_AT][match], found[ENDS_AT][match], counts[match] - place]
        self._pieces.append(np.stack(columns + [read.rows(match, place) for read in self._reads]))

    def table(self) -> Ints:
        """Return the table of the matches, ordered by their first events."""
        if not self._pieces:
            return np.zeros((LISTED_EVENTS + len(self._reads), 0), np.int64)
        table = np.concatenate(self._pieces, axis=1)
        order = np.argsort(table[LISTED_FIRST], kind="stable")
        return np.asarray(table[:, order], np.int64)


def joined(tables: Sequence[Ints]) -> Ints:
    """Return tables side by side, all as high as the highest."""
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
        self.is_each = register.kind is RegisterKind.EACH

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
        if self._kind is RegisterKind.FIRST:
            place = np.zeros_like(place)
        elif self._kind is RegisterKind.LATEST:
            place = counts - 1
        at = self._starts[match] + np.minimum(place, counts - 1)
        events = np.append(self._events, -1)  # the last one is read where there is none
        return np.where(counts > 0, events[np.where(counts > 0, at, -1)], -1)
