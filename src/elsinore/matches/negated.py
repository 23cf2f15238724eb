"""Matches of events with uncertain times of patterns with NOT, and how probable they are.

The matches of the pattern without its NOTs are found first: each is at least as probable as with
them. Then the confidence of each match is computed with them: by a recurrence if the NOTs are of
single events (`elsinore.matches.engine.gaps`), else case by case (`elsinore.matches.entangled`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from elsinore.matches.arrays import Doubles, Ints
from elsinore.matches.classes import ClassStates
from elsinore.matches.engine.codes import CLASS, TIME
from elsinore.matches.engine.gaps import TOO_MANY, Gaps, fill_chances
from elsinore.matches.engine.pattern import structs
from elsinore.matches.engine.possible import PossibleTimes
from elsinore.matches.entangled import Entangled
from elsinore.matches.found import Found
from elsinore.matches.keyed import FIRST_ROW
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.query import longest
from elsinore.matches.template import START, MatchTemplate
from elsinore.matches.uncertain import MOST_SUMMED, UncertainSearch, at_most_one
from elsinore.plan.guards import FREE, NO_WAY, Ways


class NegatedSearch(UncertainSearch):
    """The search of one query with NOT."""

    def __init__(self, template: MatchTemplate, layout: Layout) -> None:
        plain = replace(
            template,
            edges=tuple(replace(edge, ways=FREE, unless=NO_WAY) for edge in template.edges),
            ends=tuple(replace(end, ways=FREE) for end in template.ends),
            negatives=(),
        )
        super().__init__(plain, layout)
        self.wants_paths = self.waits = True
        self._entangled = Entangled(template, layout)
        self._forbidden = [ClassStates(n, layout.classes) for n in template.negatives]
        sets: dict[Ways, int] = {FREE: -1}
        states = len(template.states)
        self._ways = np.full((states + 2, states), -1, dtype=np.int32)
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

    def matches(
        self, operands: Operands, keys: Ints, *, window: tuple[int, int, int], limit: int
    ) -> Iterator[Found]:
        """Yield the matches that are probable enough whose windows have passed by now, in pieces.

        See `elsinore.matches.query.QuerySearch`. Raises InputError if the events that may break a
        match make too many cases.
        """
        possible = self.possible(operands)
        chances_of = self._by_recurrence(operands, keys, possible, window)
        by_elimination = self._entangled.begin(operands, keys, possible, window)
        for piece in super().matches(operands, keys, window=window, limit=limit):
            if self._is_simple:
                chances = chances_of(piece)
                for number in np.flatnonzero(chances == TOO_MANY):
                    chances[number] = by_elimination(piece, int(number))
            else:
                chances = np.array([by_elimination(piece, n) for n in range(len(piece))])
            if self.register >= 0:
                piece.numbers[:, self.register] = at_most_one(chances)
            kept = np.flatnonzero((chances > 0.0) & (chances >= self.threshold))
            if len(kept):
                yield piece.take(kept)

    def _by_recurrence(
        self, operands: Operands, keys: Ints, possible: PossibleTimes, window: tuple[int, int, int]
    ) -> Callable[[Found], Doubles]:
        """Return what computes the confidences of matches if NOT is of single events."""
        classes = operands.wholes[CLASS]
        forbidden = [states.fits(classes) for states in self._forbidden]
        breaks = np.zeros((len(self._patterns), len(classes)), dtype=np.uint8)
        for number, patterns in enumerate(self._patterns):
            breaks[number] = np.any([forbidden[pattern] for pattern in patterns], axis=0)
        integers = np.ascontiguousarray(operands.wholes)
        gaps = Gaps(possible, integers, structs(keys), breaks, self._ways, window)
        gaps.longest = int((operands.wholes[self.high] - operands.wholes[TIME]).max(initial=0))
        gaps.budget = MOST_SUMMED

        def chances_of(piece: Found) -> Doubles:
            key_of = np.searchsorted(keys[:, FIRST_ROW], piece.first, side="right") - 1
            chances = np.empty(len(piece), dtype=np.float64)
            gaps.put_matches(piece.paths, longest(keys), int(np.diff(piece.starts).max()))
            starts, windows = map(np.ascontiguousarray, (piece.starts, piece.window))
            fill_chances(gaps, starts, windows, key_of, chances)
            if gaps.summed > gaps.budget:
                raise self._too_long()
            return chances

        return chances_of


def _is_of_single_events(negative: MatchTemplate) -> bool:
    return all(edge.source == START for edge in negative.edges)
