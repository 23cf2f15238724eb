"""What a template is as it runs, and what the events of one key in one window allow it.

Runs begin, go on and end with events. Moments number the different times of the window's events;
events of one moment do not precede one another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from elsinore.automata.nfa import closure
from elsinore.model.evaluate import is_true
from elsinore.plan.between import PREVIOUS
from elsinore.plan.classes import Classes
from elsinore.plan.guarded import End, GuardedTemplate, Move
from elsinore.plan.guards import Ways

BEFORE_ALL = -1  # before the first moment


class Run(NamedTuple):
    """Where an assignment of a trend's variables stands.

    `bound[a]` is the row of the event bound to anchor a; None where there is none, or none that
    matters any more.
    """

    state: int
    bound: tuple[int | None, ...]


class Automaton:
    """A template by state, and the automata of what it has under NOT.

    Runs that differ only in what no later check asks for have the same future: an anchor is
    forgotten where no state that can be reached looks at it.
    """

    def __init__(self, template: GuardedTemplate, classes: Classes) -> None:
        self.template = template
        self.negatives = tuple(Automaton(negative, classes) for negative in template.negatives)
        self.moves: list[list[Move]] = [[] for _ in template.states]
        for move in template.moves:
            self.moves[move.source].append(move)
        self.ends: list[list[End]] = [[] for _ in template.states]
        for end in template.ends:
            self.ends[end.source].append(end)
        self._classes = classes
        self._fitting: dict[int, frozenset[int]] = {}
        self._kept = [_kept(template, anchor) for anchor in range(len(template.anchors))]

    def fitting(self, code: int) -> frozenset[int]:
        """Return the states that an event of a class may take; below 0 there is none."""
        if code not in self._fitting:
            self._fitting[code] = (
                frozenset() if code < 0 else self.template.fits(*self._classes.decode(code))
            )
        return self._fitting[code]

    def entered(self, before: Run | None, state: int, row: int) -> Run:
        """Return the run that takes an event into a state; `before` is None where it begins."""
        bound: list[int | None] = [None] * len(self._kept)
        if before is not None:
            bound[:] = before.bound
        anchor = self.template.states[state].anchor
        if anchor is not None:
            bound[anchor] = row
        kept_after = zip(bound, self._kept, strict=True)
        return Run(state, tuple(event if state in kept else None for event, kept in kept_after))


def _kept(template: GuardedTemplate, anchor: int) -> frozenset[int]:
    """Return the states from which some check of an anchor can be reached."""
    asking = {
        move.source
        for move in template.moves
        if any(condition == anchor for condition, _ in move.checks)
    }
    return closure(asking, ((move.target, move.source) for move in template.moves))


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
            and not self._ground.is_free(move.unless, last.moment, self.place.moment)
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


def ground_of(automaton: Automaton, stretch: Stretch) -> Ground:
    """Return a template's ground in a stretch, the matches of its negatives searched first."""
    latest = [latest_beginnings(ground_of(negative, stretch)) for negative in automaton.negatives]
    return Ground(automaton, stretch, latest)


def latest_beginnings(ground: Ground) -> list[int]:
    """Return for each moment, and for the end, when the latest match begins that has ended by then.

    The end's is the last; `BEFORE_ALL` stands for none. Whatever the query's strategy, any later
    event may go on with a run. For each run at each event it is enough to
    know the latest moment in which it may have begun: polynomial in the number of events.
    """
    latest = [BEFORE_ALL]
    earlier: list[tuple[Place, dict[Run, int]]] = []
    for moment in range(len(ground.stretch.moments)):
        arrivals_so_far: list[tuple[Place, dict[Run, int]]] = []
        for arrival in ground.arrivals(moment):
            begins: dict[Run, int] = dict.fromkeys(arrival.begun(), moment)
            for last, runs in earlier:
                for run, first in runs.items():
                    for target in arrival.extended(run, last):
                        begins[target] = max(first, begins.get(target, BEFORE_ALL))
            if begins:
                arrivals_so_far.append((arrival.place, begins))
        earlier += arrivals_so_far
        ended = [
            first
            for _, begins in arrivals_so_far
            for run, first in begins.items()
            if ground.sides(run, moment)
        ]
        latest.append(max([latest[-1], *ended]))
    return latest
