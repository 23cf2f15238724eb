"""Matches of events with uncertain times under patterns with NOT, and how probable they are.

The matches of the pattern without its NOTs are found first: none of them is less probable than with
them. What they take off is computed match by match: by a recurrence where they are of single events
(`elsinore.matches.unbroken`), else case by case (`elsinore.matches.elimination`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from elsinore.kernels import enter
from elsinore.matches import unbroken as ub
from elsinore.matches.arrays import Doubles, Ints
from elsinore.matches.chances import PossibleTimes
from elsinore.matches.entangled import Entangled
from elsinore.matches.found import Found
from elsinore.matches.keyed import FIRST_ROW
from elsinore.matches.operands import CLASS, TIME, Layout, Operands
from elsinore.matches.query import longest
from elsinore.matches.tables import ClassStates
from elsinore.matches.template import START, MatchTemplate
from elsinore.matches.uncertain import (
    MOST_SUMMED,
    POINT_SECONDS,
    at_most_one,
    summed_up,
)
from elsinore.matches.waiting import WaitingSearch
from elsinore.plan.classes import Classes
from elsinore.plan.guards import FREE, Ways

LOOK_SECONDS = 1e-6  # what looking at an event beside a match takes in plain Python


class NegatedSearch(WaitingSearch):
    """The search of one query with NOT."""

    def __init__(
        self, template: MatchTemplate, classes: Classes, layout: Layout, size: int
    ) -> None:
        plain = replace(
            template,
            edges=tuple(replace(edge, ways=FREE) for edge in template.edges),
            ends=tuple(replace(end, ways=FREE) for end in template.ends),
            negatives=(),
        )
        super().__init__(plain, classes, layout, size)
        self.wants_paths = True
        self._entangled = Entangled(template, classes, layout, size)
        self._forbidden = [ClassStates(n, classes, size) for n in template.negatives]
        sets: dict[Ways, int] = {FREE: -1}
        states = len(template.states)
        self._ways = np.full((states + 2, states), -1, dtype=np.int64)
        places = [(edge.source - START, edge.target, edge.ways) for edge in template.edges]
        places += [(states + 1, end.state, end.ways) for end in template.ends]
        self._is_simple = not template.sets and not template.duplicates
        self._is_simple &= all(map(_is_of_single_events, template.negatives))
        self._is_simple &= all(len(ways) == 1 for _, _, ways in places)
        self._patterns: list[list[int]] = []
        if self._is_simple:
            for source, target, ways in places:
                self._ways[source, target] = sets.setdefault(ways, len(sets) - 1)
            self._patterns = [sorted(*ways) for ways, number in sets.items() if number >= 0]

    def learn(self, codes: list[int], numbers: list[int]) -> None:
        """Take in classes that came for the first time."""
        super().learn(codes, numbers)
        self._entangled.learn(codes, numbers)
        for states in self._forbidden:
            states.learn(codes, numbers)

    def matches(
        self, operands: Operands, keys: Ints, *, window: tuple[int, int, int], limit: int
    ) -> Iterator[Found]:
        """Yield the matches that are probable enough whose windows have passed by now, in pieces.

        See `elsinore.matches.query.QuerySearch`. Raises InputError where events that break a match
        leave too many cases to look at.
        """
        possible = self.possible(operands)
        chances_of = self._by_recurrence(operands, keys, possible, window)
        by_elimination = self._entangled.begin(operands, keys, possible, window)
        for piece in super().matches(operands, keys, window=window, limit=limit):
            if self._is_simple:
                chances = chances_of(piece)
                for number in np.flatnonzero(chances == ub.TOO_MANY):
                    chances[number] = by_elimination(piece, int(number))
            else:
                chances = np.array([by_elimination(piece, n) for n in range(len(piece))])
            if self.register >= 0:
                piece.numbers[:, self.register] = at_most_one(chances)
            kept = np.flatnonzero((chances > 0.0) & (chances >= self.threshold))
            if len(kept):
                yield piece.take(kept)

    def _by_recurrence(
        self,
        operands: Operands,
        keys: Ints,
        possible: tuple[Ints, Ints, Doubles],
        window: tuple[int, int, int],
    ) -> Callable[[Found], Doubles]:
        """Return what computes the confidences of matches where NOT is of single events."""
        starts, points, odds = possible
        times = PossibleTimes(starts, points, odds, summed_up(starts, odds))
        classes = operands.wholes[CLASS]
        forbidden = [states.at[classes] * (classes >= 0) > 0 for states in self._forbidden]
        breaks = np.zeros((len(self._patterns), len(classes)), dtype=np.uint8)
        for number, patterns in enumerate(self._patterns):
            breaks[number] = np.any([forbidden[pattern] for pattern in patterns], axis=0)
        frame = np.zeros(ub.FRAME, dtype=np.int64)
        frame[: ub.LONGEST] = window
        high = operands.wholes[self.high]
        frame[ub.MOST] = MOST_SUMMED
        frame[ub.LONGEST] = int((high - operands.wholes[TIME]).max(initial=0))
        mass = np.zeros((2, int(np.diff(starts).max(initial=0))), dtype=np.float64)

        def chances_of(piece: Found) -> Doubles:
            key_of = np.searchsorted(keys[:, FIRST_ROW], piece.first, side="right") - 1
            lengths = np.diff(piece.starts)
            chances = np.empty(len(piece), dtype=np.float64)
            matches = ub.Matches(piece.starts, piece.window, key_of, piece.paths)
            around = longest(keys) * int((lengths + 1).sum())
            seconds = LOOK_SECONDS * around + POINT_SECONDS * len(piece) * mass.shape[1] ** 2
            enter(
                ub.unbroken, seconds, matches, keys, operands.wholes, times,
                self._ways, breaks, frame, _room(longest(keys), int(lengths.max())), mass, chances,
            )  # fmt: skip
            if frame[ub.SUMMED] > frame[ub.MOST]:
                raise self._too_long()
            return chances

        return chances_of


def _is_of_single_events(negative: MatchTemplate) -> bool:
    return all(edge.source == START for edge in negative.edges)


def _room(rows: int, steps: int) -> Ints:
    """Return working room for matches of up to so many events in keys of so many rows."""
    gaps = steps + 1
    near, tied, choices = 2 * (rows + 1), 3 * ub.MOST_TIED, 2 * gaps * ub.MOST_TIED
    head = ub.GAPS_AT + 1
    room = np.zeros(head + gaps + near + tied + choices, dtype=np.int64)
    at = np.cumsum([head, gaps, near, tied])
    room[[ub.GAPS_AT, ub.NEAR_AT, ub.TIED_AT, ub.CHOICES_AT]] = at
    return room
