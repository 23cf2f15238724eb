"""Runs: where the assignments of a trend's variables stand in a guarded template, and their steps.

Timestamps of a window are numbered as *moments*; events of one moment do not precede one another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from elsinore.automata.nfa import closure
from elsinore.automata.positions import Ways
from elsinore.model.evaluate import is_true
from elsinore.model.expression import attributes
from elsinore.plan.classes import Classes
from elsinore.plan.template import START, End, Template
from elsinore.trends.exact_sums import CACHED, EventValues

BEFORE_ALL = -1  # before the first moment


class Run(NamedTuple):
    """Where an assignment of a trend's variables stands.

    `bound[a]` is the row of the event bound to anchor a; None for none, or none that later
    conditions read.
    """

    state: int
    bound: tuple[int | None, ...]


class Step(NamedTuple):
    """A move (`elsinore.plan.template.Move`) with numbers for its conditions and anchors."""

    target: int
    ways: Ways
    unless: Ways
    conditions: tuple[int, ...]
    checks: tuple[tuple[int, int], ...]


class Event(NamedTuple):
    """An event: its moment, its row, and the states that it may take."""

    moment: int
    row: int
    states: frozenset[int] = frozenset()


NO_EVENT = Event(BEFORE_ALL, -1)  # before the first event of a run


class Gap(NamedTuple):
    """What lies strictly between two moments: no match of a NOT may lie there.

    `around` has the states and rows of the events before and after it, if any.
    """

    before: int
    after: int
    around: tuple[tuple[int, int], ...]


class Automaton:
    """A guarded template by state, with the automata of its negative patterns.

    Two runs that differ only in anchors that no later condition reads have the same future: an
    anchor is dropped in states from which no check of it can be reached.
    """

    def __init__(self, template: Template, classes: Classes) -> None:
        self.template = template
        self.negatives = tuple(Automaton(negative, classes) for negative in template.negatives)
        self.steps: list[list[Step]] = [[] for _ in (*template.states, START)]
        self.begin = Run(START, (None,) * len(template.anchors))
        self.conditions = template.conditions
        number = {condition: place for place, condition in enumerate(self.conditions)}
        anchors = {anchor: place for place, anchor in enumerate(template.anchors)}
        self._anchors = [anchors.get(state.variable) for state in template.states]
        for move in template.moves:
            reads = move.reads
            conditions = tuple(number[condition] for condition in reads.conditions)
            checks = tuple((anchors[anchor], number[check]) for anchor, check in reads.checks)
            step = Step(move.target, reads.free, reads.unless, conditions, checks)
            self.steps[move.source].append(step)  # those from START are the last
        self.ends: list[list[End]] = [[] for _ in template.states]
        for end in template.ends:
            self.ends[end.source].append(end)
        self._classes = classes
        self.fitting = cache(self._fitting)
        backward = [(step.target, step.source) for step in template.steps]
        self._read_in = [  # for each anchor, the states from which a check of it can be reached
            closure(
                {s.source for s in template.steps if any(of == anchor for of, _ in s.reads.checks)},
                backward,
            )
            for anchor in template.anchors
        ]

    def _fitting(self, code: int) -> frozenset[int]:
        """Return the states that an event of a class may take; none for a class below 0."""
        return frozenset() if code < 0 else self.template.fits(*self._classes.decode(code))

    def entered(self, before: Run, state: int, row: int) -> Run:
        """Return the run in which an event takes a state."""
        bound, anchor = list(before.bound), self._anchors[state]
        if anchor is not None:
            bound[anchor] = row
        readers = zip(bound, self._read_in, strict=True)
        return Run(state, tuple(event if state in states else None for event, states in readers))


class WindowRuns:
    """The runs of a template over the events of a key in a window, with its negative matches."""

    def __init__(
        self,
        automaton: Automaton,
        moments: Sequence[Sequence[int]],
        codes: Sequence[int],
        values: EventValues,
    ) -> None:
        """Search the matches of negatives; moments: the rows of each, codes: the classes by row."""
        self.automaton = automaton
        self.template = automaton.template
        self.moments = moments
        self._codes = codes
        self._values = values
        # (condition, earlier row, later row) -> whether it holds: many runs ask the same
        self.holds = lru_cache(CACHED)(
            lambda condition, *rows: values.holds(automaton.conditions[condition], *rows)
        )
        # When the latest match of a negative begins that has ended before a moment: if any match
        # lies between two events, this one does. Of related negatives all events are needed.
        self._latest: dict[int, Sequence[int]] = {}
        self._related: dict[int, Sequence[Event]] = {}
        for number, negative in enumerate(automaton.negatives):
            window = WindowRuns(negative, moments, codes, values)
            if negative.template.related:
                moments_of = range(len(moments))
                self._related[number] = [e for m in moments_of for e in window.events(m)]
            else:
                self._latest[number] = window.latest_beginnings()

    def events(self, moment: int) -> Iterator[Event]:
        """Yield the events of a moment that some state may take."""
        for row in self.moments[moment]:
            states = self.automaton.fitting(self._codes[row])
            if states:
                yield Event(moment, row, states)

    def extended(self, run: Run, last: Event, event: Event) -> tuple[Run, ...]:
        """Return the runs in which an event extends a run whose last event is `last`."""
        runs = []
        for step in self.automaton.steps[run.state]:
            if step.target not in event.states or not all(
                self.holds(condition, last.row, event.row) for condition in step.conditions
            ):
                continue
            anchored = ((run.bound[anchor], condition) for anchor, condition in step.checks)
            if any(row is not None and not self.holds(c, row, event.row) for row, c in anchored):
                continue
            around = (step.target, event.row)
            gap = Gap(last.moment, event.moment, (*_place(run, last), around))
            if self._is_free(step.ways, gap) and not self._is_free(step.unless, gap):
                runs.append(self.automaton.entered(run, step.target, event.row))
        return tuple(runs)

    def sides(self, run: Run, last: Event) -> frozenset[int]:
        """Return the sides of AND of which a run that ends with an event is a trend.

        Without AND, there is only side 0.
        """
        gap = Gap(last.moment, len(self.moments), _place(run, last))
        return frozenset(
            end.side for end in self.automaton.ends[run.state] if self._is_free(end.ways, gap)
        )

    def _is_free(self, ways: Ways, gap: Gap) -> bool:
        """Return whether some way has no negative match strictly within a gap."""
        return any(not any(self._is_forbidden(n, gap) for n in way) for way in ways)

    def _is_forbidden(self, negative: int, gap: Gap) -> bool:
        if negative in self._latest:
            return self._latest[negative][gap.after] > gap.before
        return any(
            gap.before < event.moment < gap.after and self._relates(negative, gap, event.row)
            for event in self._related[negative]
        )

    def _relates(self, negative: int, gap: Gap, forbidden: int) -> bool:
        """Return whether an event satisfies the conditions that relate it to those around a gap.

        A condition on a variable that is not around the gap does not apply.
        """
        template = self.template.negatives[negative]
        around = [(self.template.states[state], row) for state, row in gap.around]
        around.append((template.states[0], forbidden))
        rows = {state.type: row for state, row in reversed(around)}
        rows |= {state.variable: row for state, row in around}
        return all(
            is_true(
                condition, lambda read: self._values.compared[read.name or ""][rows[read.variable]]
            )
            for condition in template.related
            if all(read.variable in rows for read in attributes(condition))
        )

    def latest_beginnings(self) -> list[int]:
        """Return for each moment, and the end, when the latest match began that ended before it.

        `BEFORE_ALL` stands for none. Whatever the query's strategy, any later event may extend a
        run. It is enough to know the latest moment in which each run at each event may have begun:
        this takes polynomial time.
        """
        latest = [BEFORE_ALL]
        earlier: list[tuple[Event, dict[Run, int]]] = []
        for moment in range(len(self.moments)):
            present: list[tuple[Event, dict[Run, int]]] = []
            for event in self.events(moment):
                begun = self.extended(self.automaton.begin, NO_EVENT, event)
                begins: dict[Run, int] = dict.fromkeys(begun, moment)
                for last, runs in earlier:
                    for run, first in runs.items():
                        for target in self.extended(run, last, event):
                            begins[target] = max(first, begins.get(target, BEFORE_ALL))
                if begins:
                    present.append((event, begins))
            earlier += present
            ended = [
                first
                for event, begins in present
                for run, first in begins.items()
                if self.sides(run, event)
            ]
            latest.append(max([latest[-1], *ended]))
        return latest


def _place(run: Run, last: Event) -> tuple[tuple[int, int], ...]:
    """Return the state and row of a run's last event, if it has one."""
    return ((run.state, last.row),) if run.state != START else ()
