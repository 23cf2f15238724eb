"""Numbers of the classes of events, and the states of a template that events of a class fit."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from elsinore.arrow import to_arrow, to_numpy
from elsinore.matches.arrays import Bools, Ints
from elsinore.matches.template import MatchTemplate
from elsinore.model.expression import Expression
from elsinore.plan.classes import Classes

NO_CLASS = -1  # in place of a number


class EventClasses:
    """The classes of the events so far, numbered from 0 as they occur.

    `meanings` has the type and the true predicates of each class, by its number.
    """

    def __init__(self, classes: Classes) -> None:
        self._classes = classes
        self.meanings: list[tuple[str, frozenset[Expression]]] = []
        self._numbers: dict[int, int] = {}

    def numbers(self, codes: Ints) -> Ints:
        """Return the numbers of the classes of events, NO_CLASS for codes below 0."""
        encoded = to_arrow(codes).dictionary_encode()
        numbers = [self._number(code) for code in encoded.dictionary.to_pylist()]
        return np.take(np.array(numbers, np.int64), to_numpy(encoded.indices))

    def _number(self, code: int) -> int:
        if code < 0:
            return NO_CLASS
        if code not in self._numbers:
            self._numbers[code] = len(self.meanings)
            self.meanings.append(self._classes.decode(code))
        return self._numbers[code]


class ClassStates:
    """The states of a template that events of each class fit."""

    def __init__(self, template: MatchTemplate, classes: EventClasses) -> None:
        self._states = template.states
        self._meanings = classes.meanings
        self._by_class: list[tuple[int, ...]] = []

    @property
    def by_class(self) -> list[tuple[int, ...]]:
        """The states that events of each class fit, by the class's number."""
        for kind, true in self._meanings[len(self._by_class) :]:
            fitting = (n for n, s in enumerate(self._states) if s.type == kind and s.needs <= true)
            self._by_class.append(tuple(fitting))
        return self._by_class

    def fits(self, classes: Ints, states: Collection[int] | None = None) -> Bools:
        """Return which events fit some of `states`, None: of all; classes below 0 fit none."""
        fitting = [
            bool(fit if states is None else set(fit).intersection(states)) for fit in self.by_class
        ]
        return np.take(np.array([*fitting, False], np.bool_), classes)

    def by_state(self, classes: Ints) -> Bools:
        """Return which events fit which states: [state, event]."""
        fitting = np.zeros((len(self._states), len(self.by_class) + 1), np.bool_)
        for number, states in enumerate(self.by_class):
            fitting[list(states), number] = True
        return np.take(fitting, classes, axis=1)
