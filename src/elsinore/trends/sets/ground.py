"""What the events of one key in one window allow the runs of a template: begin, go on, end.

Moments number the different times of the window's events; events of one moment do not precede one
another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from elsinore.model.evaluate import is_true
from elsinore.plan.between import PREVIOUS
from elsinore.plan.guarded import Move
from elsinore.plan.guards import Ways
from elsinore.trends.sets.automaton import Automaton, Run

BEFORE_ALL = -1  # before the first moment


class Place(NamedTuple):
    """An event: its moment and its row."""

    moment: int
    row: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """The events of one key in one window.

    `moments` holds the rows of each moment, `rows` the values by attribute and row; `codes` are the
    classes by row.
    """

    moments: Sequence[Sequence[int]]
    codes: Sequence[int]
    rows: Mapping[str, Sequence[Any]]


class Ground:
    """A template among the events of a stretch, its negative matches known.

    `latest[n][m]` is the latest moment in which a match of negative n begins that has ended before
    moment m, or `BEFORE_ALL`; no other match of n need be known, for if any match lies between two
    events this one does.
    """

    def __init__(
        self, automaton: Automaton, stretch: Stretch, latest: Sequence[Sequence[int]]
    ) -> None:
        self.automaton = automaton
        self.stretch = stretch
        self._latest = latest

    def arrivals(self, moment: int) -> Iterator[Arrival]:
        """Yield the events of a moment that some state may take."""
        for row in self.stretch.moments[moment]:
            states = self.automaton.fitting(self.stretch.codes[row])
            if states:
                yield Arrival(self, Place(moment, row), states)

    def is_free(self, ways: Ways, before: int, after: int) -> bool:
        """Return whether in some way no negative match lies strictly between two moments."""
        return any(all(self._latest[n][after] <= before for n in way) for way in ways)

    def holds(self, condition: int, earlier: int, later: int) -> bool:
        """Return whether a condition holds between the events of two rows."""
        rows = self.stretch.rows
        return is_true(
            self.automaton.template.conditions[condition],
            lambda read: rows[read.name or ""][earlier if read.variable == PREVIOUS else later],
        )

    def sides(self, run: Run, moment: int) -> frozenset[int]:
        """Return the sides of AND of which a run is a trend if it ends in a moment; none: of none.

        Without AND there is but side 0.
        """
        return frozenset(
            end.side
            for end in self.automaton.ends[run.state]
            if self.is_free(end.ways, moment, len(self.stretch.moments))
        )


class Arrival:
    """An event that comes, and what it does to the runs before it."""

    def __init__(self, ground: Ground, place: Place, states: frozenset[int]) -> None:
        self.place = place
        self._ground = ground
        self._states = states
        self._known: dict[tuple[int, int], bool] = {}

    def begun(self) -> frozenset[Run]:
        """Return the runs that begin with the event."""
        automaton = self._ground.automaton
        return frozenset(
            automaton.entered(None, start.target, self.place.row)
            for start in automaton.template.starts
            if start.target in self._states
            and self._ground.is_free(start.ways, BEFORE_ALL, self.place.moment)
        )

    def extended(self, run: Run, last: Place) -> tuple[Run, ...]:
        """Return what a run becomes, whose last event is `last` and strictly earlier."""
        return tuple(
            self._ground.automaton.entered(run, move.target, self.place.row)
            for move in self.moves(run, last)
            if self._ground.is_free(move.ways, last.moment, self.place.moment)
        )

    def moves(self, run: Run, last: Place) -> Iterator[Move]:
        """Yield the moves of a run for which the event fits, whatever NOT says of those between."""
        for move in self._ground.automaton.moves[run.state]:
            anchored = ((run.bound[anchor], condition) for anchor, condition in move.checks)
            if (
                move.target in self._states
                and all(self._holds(condition, last.row) for condition in move.conditions)
                and all(row is None or self._holds(condition, row) for row, condition in anchored)
            ):
                yield move

    def _holds(self, condition: int, earlier: int) -> bool:
        if (condition, earlier) not in self._known:
            self._known[condition, earlier] = self._ground.holds(condition, earlier, self.place.row)
        return self._known[condition, earlier]
