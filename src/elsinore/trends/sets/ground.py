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
from elsinore.model.expression import attributes
from elsinore.plan.between import PREVIOUS
from elsinore.plan.classes import Classes
from elsinore.plan.guarded import End, GuardedTemplate, Move, Start
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


class Gap(NamedTuple):
    """What lies strictly between two moments: nothing may match there that NOT forbids.

    `around` has the states and rows of the events before and after it, as far as there are any.
    """

    before: int
    after: int
    around: tuple[tuple[int, int], ...]


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
    events this one does. `related[n]` are the events of a negative that is related to the events
    around a gap; it has no matches by itself.
    """

    def __init__(
        self,
        automaton: Automaton,
        stretch: Stretch,
        latest: Sequence[Sequence[int]],
        related: Mapping[int, Sequence[Place]],
    ) -> None:
        self.automaton = automaton
        self.stretch = stretch
        self._latest = latest
        self._related = related

    def arrivals(self, moment: int) -> Iterator[Arrival]:
        """Yield the events of a moment that some state may take."""
        for row in self.stretch.moments[moment]:
            states = self.automaton.fitting(self.stretch.codes[row])
            if states:
                yield Arrival(self, Place(moment, row), states)

    def is_free(self, ways: Ways, gap: Gap) -> bool:
        """Return whether in some way no negative match lies strictly within a gap."""
        return any(not any(self._is_forbidden(n, gap) for n in way) for way in ways)

    def _is_forbidden(self, negative: int, gap: Gap) -> bool:
        if negative not in self._related:
            return self._latest[negative][gap.after] > gap.before
        return any(
            gap.before < place.moment < gap.after and self._relates(negative, gap, place.row)
            for place in self._related[negative]
        )

    def _relates(self, negative: int, gap: Gap, forbidden: int) -> bool:
        """Return whether an event fulfils the conditions that relate it to those around a gap.

        A condition on a variable that the gap does not have does not apply.
        """
        states = self.automaton.template.states
        template = self.automaton.template.negatives[negative]
        around = [(states[state], row) for state, row in gap.around]
        around.append((template.states[0], forbidden))
        rows = {state.type: row for state, row in reversed(around)}
        rows |= {state.variable: row for state, row in around}
        values = self.stretch.rows
        return all(
            is_true(condition, lambda read: values[read.name or ""][rows[read.variable]])
            for condition in template.related
            if all(read.variable in rows for read in attributes(condition))
        )

    def holds(self, condition: int, earlier: int, later: int) -> bool:
        """Return whether a condition holds between the events of two rows."""
        rows = self.stretch.rows
        return is_true(
            self.automaton.template.conditions[condition],
            lambda read: rows[read.name or ""][earlier if read.variable == PREVIOUS else later],
        )

    def sides(self, run: Run, last: Place) -> frozenset[int]:
        """Return the sides of AND of which a run is a trend if it ends with an event.

        Without AND there is side 0 alone.
        """
        gap = Gap(last.moment, len(self.stretch.moments), ((run.state, last.row),))
        return frozenset(
            end.side for end in self.automaton.ends[run.state] if self.is_free(end.ways, gap)
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
            and self._ground.is_free(start.ways, self._before(start))
        )

    def _before(self, start: Start) -> Gap:
        return Gap(BEFORE_ALL, self.place.moment, ((start.target, self.place.row),))

    def extended(self, run: Run, last: Place) -> tuple[Run, ...]:
        """Return the runs that the event makes of a run whose last event, `last`, is earlier."""
        return tuple(
            self._ground.automaton.entered(run, move.target, self.place.row)
            for move in self._moves(run, last)
            if self._ground.is_free(move.ways, gap := self._between(run, last, move))
            and not self._ground.is_free(move.unless, gap)
        )

    def _between(self, run: Run, last: Place, move: Move) -> Gap:
        around = (run.state, last.row), (move.target, self.place.row)
        return Gap(last.moment, self.place.moment, around)

    def _moves(self, run: Run, last: Place) -> Iterator[Move]:
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
    latest: list[list[int]] = []
    related: dict[int, list[Place]] = {}
    for number, negative in enumerate(automaton.negatives):
        ground = ground_of(negative, stretch)
        if negative.template.related:
            moments = range(len(stretch.moments))
            arrivals = (arrival for moment in moments for arrival in ground.arrivals(moment))
            related[number] = [arrival.place for arrival in arrivals]
        latest.append([] if number in related else latest_beginnings(ground))
    return Ground(automaton, stretch, latest, related)


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
            for place, begins in arrivals_so_far
            for run, first in begins.items()
            if ground.sides(run, place)
        ]
        latest.append(max([latest[-1], *ended]))
    return latest
