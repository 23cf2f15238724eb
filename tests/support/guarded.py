"""A slow interpreter of guarded templates: it builds every run and evaluates every guard.

It uses templates and no patterns; `oracles.reference`, which finds the same trends, uses patterns
and no templates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from elsinore.automata.positions import Ways
from elsinore.model import Expression
from elsinore.model.evaluate import is_true
from elsinore.plan.between import PREVIOUS
from elsinore.plan.template import Move, Template
from oracles.reference import ReferenceEvent

# A trend with its variables: places in the stream, each with what it is bound to.
Bound = tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class _Run:
    """A partial run: its steps, its current state, the event of each of its anchors."""

    steps: Bound
    state: int
    anchored: dict[str, int] = field(default_factory=dict)


class Interpreter:
    """The trends of a guarded template among a few events, under SKIP TILL ANY MATCH."""

    def __init__(
        self, template: Template, events: Sequence[ReferenceEvent], *, ordered: bool = False
    ) -> None:
        self._template = template
        self._events = events
        self._ordered = ordered
        self._matches = [
            {
                (bound[0][0], bound[-1][0])
                for bound in Interpreter(negative, events, ordered=ordered).trends(0)
            }
            for negative in template.negatives
        ]

    def trends(self, side: int) -> set[Bound]:
        """Return the trends of one side of AND, with all their assignments of variables."""
        return {
            run.steps
            for run in self._runs()
            for end in self._template.ends
            if end.side == side
            and end.source == run.state
            and self._free(end.ways, run.steps[-1][0], None)
        }

    def _runs(self) -> Iterator[_Run]:
        for start in self._template.starts:
            for place in range(len(self._events)):
                if self._fits(place, start.target) and self._free(start.reads.free, None, place):
                    yield from self._onward(self._enter((), {}, place, start.target))

    def _onward(self, run: _Run) -> Iterator[_Run]:
        yield run
        before = run.steps[-1][0]
        for move in self._template.steps:
            for place in range(len(self._events)):
                if (
                    move.source == run.state
                    and self._later(before, place)
                    and self._fits(place, move.target)
                    and self._free(move.reads.free, before, place)
                    and self._related(move, run, place)
                ):
                    yield from self._onward(
                        self._enter(run.steps, run.anchored, place, move.target)
                    )

    def _enter(self, steps: Bound, anchored: dict[str, int], place: int, state: int) -> _Run:
        entered = self._template.states[state]
        is_anchor = entered.variable in self._template.anchors
        anchor = {entered.variable: place} if is_anchor else {}
        return _Run((*steps, (place, entered.variable)), state, anchored | anchor)

    def _fits(self, place: int, state: int) -> bool:
        state_spec, event = self._template.states[state], self._events[place]
        return event.type == state_spec.type and all(
            is_true(need, lambda read: event.value(read.name)) for need in state_spec.needs
        )

    def _related(self, move: Move, run: _Run, place: int) -> bool:
        conditions = [(run.steps[-1][0], condition) for condition in move.reads.conditions]
        conditions += [
            (run.anchored[anchor], condition)
            for anchor, condition in move.reads.checks
            if anchor in run.anchored
        ]
        return all(self._holds(condition, earlier, place) for earlier, condition in conditions)

    def _holds(self, condition: Expression, earlier: int, later: int) -> bool:
        events = {True: self._events[earlier], False: self._events[later]}
        return is_true(condition, lambda read: events[read.variable == PREVIOUS].value(read.name))

    def _free(self, ways: Ways, before: int | None, after: int | None) -> bool:
        return any(
            not any(
                self._later(before, first_row) and self._later(last, after)
                for number in way
                for first_row, last in self._matches[number]
            )
            for way in ways
        )

    def _later(self, before: int | None, after: int | None) -> bool:
        """Return whether an event precedes another; None is before or after all events."""
        if before is None or after is None:
            return True
        if self._ordered:
            return before < after
        return self._events[before].time < self._events[after].time
