"""A guarded template made ready to run: moves by state, states by class, anchors worth keeping."""

from __future__ import annotations

from typing import NamedTuple

from elsinore.automata.nfa import closure
from elsinore.plan.classes import Classes
from elsinore.plan.guarded import End, GuardedTemplate, Move


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
        asked = zip(bound, self._kept, strict=True)
        return Run(state, tuple(event if state in kept else None for event, kept in asked))


def _kept(template: GuardedTemplate, anchor: int) -> frozenset[int]:
    """Return the states from which some check of an anchor can be reached."""
    asking = {
        move.source for move in template.moves if any(one == anchor for one, _ in move.checks)
    }
    return closure(asking, ((move.target, move.source) for move in template.moves))
