"""Which states of a template events fit, by their classes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from elsinore.matches.arrays import Bools, Ints
from elsinore.matches.template import MatchTemplate
from elsinore.plan.classes import Classes


class ClassStates:
    """The states of a template that events of each class fit, for the classes seen so far.

    Classes are small numbers, below `size`; `taken` has the states of those that fit any.
    """

    def __init__(self, template: MatchTemplate, classes: Classes, size: int) -> None:
        self.size = size
        self.taken: dict[int, tuple[int, ...]] = {}
        self._classes = classes
        self._states = template.states

    def learn(self, codes: Sequence[int], numbers: Sequence[int]) -> None:
        """Add classes: their codes, and their numbers."""
        self.size = max(self.size, 1 + max(numbers, default=-1))
        for code, number in zip(codes, numbers, strict=True):
            kind, true = self._classes.decode(int(code))
            taken = [n for n, s in enumerate(self._states) if s.type == kind and s.needs <= true]
            if taken:
                self.taken[number] = tuple(taken)

    def fits(self, classes: Ints, states: Collection[int] | None = None) -> Bools:
        """Return which events fit some of `states`, None: of all; classes below 0 fit none."""
        fitting = np.zeros(1 + self.size, dtype=np.bool_)  # the first one of no class
        for number, taken in self.taken.items():
            fitting[1 + number] = states is None or not set(taken).isdisjoint(states)
        return np.take(fitting, classes + 1, mode="clip")

    def by_state(self, classes: Ints) -> Bools:
        """Return which events fit which states: [state, event]."""
        count = len(self._states)
        fitting = np.zeros((count, 1 + self.size), dtype=np.bool_)
        for number, taken in self.taken.items():
            fitting[list(taken), 1 + number] = True
        places = classes + 1
        fits = np.empty((count, len(classes)), dtype=np.bool_)
        for state in range(count):
            np.take(fitting[state], places, out=fits[state], mode="clip")
        return fits
