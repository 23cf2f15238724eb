"""Runs: where the assignments of a trend's variables stand in a guarded template."""

from __future__ import annotations

from typing import NamedTuple

from elsinore.automata.nfa import closure
from elsinore.automata.positions import Ways
from elsinore.plan.classes import Classes
from elsinore.plan.guarded import End, GuardedTemplate


class Run(NamedTuple):
    """Where an assignment of a trend's variables stands.

    `bound[a]` is the row of the event bound to anchor a; None where there is none, or none that
    matters any more.
    """

    state: int
    bound: tuple[int | None, ...]


class Step(NamedTuple):
    """A move (`elsinore.plan.guarded.Move`) that has numbers for its conditions and anchors."""

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


class Gap(NamedTuple):
    """What lies strictly between two moments: nothing may match there that NOT forbids.

    `around` has the states and rows of the events before and after it, as far as there are any.
    """

    before: int
    after: int
    around: tuple[tuple[int, int], ...]


class Automaton:
    """A template by state, and the automata of what it has under NOT.

    Runs that differ only in what no later check asks for have the same future: an anchor is
    forgotten where no state that can be reached looks at it.
    """

    def __init__(self, template: GuardedTemplate, classes: Classes) -> None:
        self.template = template
        self.negatives = tuple(Automaton(negative, classes) for negative in template.negatives)
        self.steps: list[list[Step]] = [[] for _ in template.states]
        self.conditions = template.conditions
        number = {condition: place for place, condition in enumerate(self.conditions)}
        anchors = {anchor: place for place, anchor in enumerate(template.anchors)}
        self._anchors = [anchors.get(state.variable) for state in template.states]
        for move in template.moves:
            conditions = tuple(number[condition] for condition in move.conditions)
            checks = tuple((anchors[anchor], number[check]) for anchor, check in move.checks)
            step = Step(move.target, move.ways, move.unless, conditions, checks)
            self.steps[move.source].append(step)
        self.ends: list[list[End]] = [[] for _ in template.states]
        for end in template.ends:
            self.ends[end.source].append(end)
        self._classes = classes
        self._fitting: dict[int, frozenset[int]] = {}
        backward = [(move.target, move.source) for move in template.moves]
        self._asking = [  # for each anchor, the states from which a check of it can be reached
            closure(
                {m.source for m in template.moves if any(of == anchor for of, _ in m.checks)},
                backward,
            )
            for anchor in template.anchors
        ]

    def fitting(self, code: int) -> frozenset[int]:
        """Return the states that an event of a class may take; below 0 there is none."""
        if code not in self._fitting:
            self._fitting[code] = (
                frozenset() if code < 0 else self.template.fits(*self._classes.decode(code))
            )
        return self._fitting[code]

    def entered(self, before: Run | None, state: int, row: int) -> Run:
        """Return the run that takes an event into a state; `before` is None where it begins."""
        bound: list[int | None] = [None] * len(self._asking)
        if before is not None:
            bound[:] = before.bound
        anchor = self._anchors[state]
        if anchor is not None:
            bound[anchor] = row
        asking = zip(bound, self._asking, strict=True)
        return Run(state, tuple(event if state in states else None for event, states in asking))
