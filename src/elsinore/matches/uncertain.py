"""The search for the matches of a query among events with uncertain times."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.matches.arrays import Doubles, Ints, Keys, MatchBatch
from elsinore.matches.cases import CaseConfidences, needs_cases, shortened
from elsinore.matches.engine.codes import CLASS, TIME
from elsinore.matches.engine.pattern import Limits, Work
from elsinore.matches.engine.possible import NEAR, PossibleTimes, Worlds
from elsinore.matches.engine.worlds import BY_CASES
from elsinore.matches.operands import Laws, Layout, Operands
from elsinore.matches.query import ANY_NUMBER, GUARD, QuerySearch, longest
from elsinore.matches.template import MatchTemplate, WindowSpan
from elsinore.plan.modes import HIGH, Uncertainty
from elsinore.structs import empty

MOST_POINTS = 100_000  # possible times of one event
MOST_IN_ALL = 20_000_000  # possible times of the events of a batch together: 320 MB
MOST_SUMMED = 10_000_000_000  # possible times that a call may sum up, in about 20 seconds
ROUNDING = 1e-12  # of the threshold: sums of doubles are not exact


class UncertainSearch(QuerySearch):
    """The search for the matches of one query among events with uncertain times.

    If the query waits, matches are returned when their window has ended: until then an event may
    arrive that belongs to their row in collapsed form, or that a NOT forbids.
    """

    def __init__(self, template: MatchTemplate, layout: Layout) -> None:
        super().__init__(template, layout)
        assert template.uncertain is not None
        self._uncertainty: Uncertainty = template.uncertain
        self.high = layout.whole(HIGH)
        self.threshold = (template.query.confidence or 0.0) * (1.0 - ROUNDING)
        names = list(template.sets)
        self._sets = np.array(
            [names.index(s.variable) if s.variable in names else -1 for s in template.states],
            dtype=np.int32,
        )
        self._meanings = layout.classes.meanings
        self._cases: CaseConfidences | None = None
        self._has_gaps = 0
        if template.is_unsure:
            self.wants_paths = True
            self._cases = CaseConfidences(
                template, [self._chains_of(negative, layout) for negative in template.negatives]
            )
            self._has_gaps = -1 if needs_cases(template) else 1

    def _chains_of(self, negative: MatchTemplate, layout: Layout) -> UncertainSearch:
        """Return the search for the possible matches of a pattern under NOT."""
        search = UncertainSearch(shortened(negative, self.template), layout)
        search.wants_paths, search.threshold = True, 0.0
        search.window = WindowSpan(self.window.within)  # a chain lies in the window of a match
        return search

    def matches(self, operands: Operands, keys: Keys, limit: int) -> Iterator[MatchBatch]:
        """Yield the matches that are due and reach the threshold, in batches.

        Matches are due if they have a new event; if they wait, when their window has ended. Raises
        InputError if that takes too many steps, or there are too many matches.
        """
        if self.template.waits:  # later events may make some of them improbable
            limit = ANY_NUMBER
        is_limited = limit < ANY_NUMBER or self.template.query.limit is not None
        worlds = self._worlds(operands, keys)
        confidence_of = None
        if self._cases is not None:
            confidence_of = self._cases.begin(operands, keys, worlds.possible)
        limits = Limits(Work(MOST_SUMMED), limit, ANY_NUMBER if is_limited else GUARD)
        for batch in self.batches(operands, keys, limits, worlds):
            probable = batch if confidence_of is None else self._by_cases(batch, confidence_of)
            if worlds.register >= 0:
                chances = probable.numbers[:, worlds.register]
                np.minimum(chances, 1.0, out=chances)  # rounding may have exceeded it
            if len(probable):
                yield probable

    def _by_cases(
        self, batch: MatchBatch, confidence_of: Callable[[MatchBatch, int], float]
    ) -> MatchBatch:
        """Return the matches that reach the threshold; compute confidences that are unknown."""
        chances = batch.numbers[:, self.pattern.confidence]
        for number in np.flatnonzero(chances == BY_CASES).tolist():
            chances[number] = confidence_of(batch, number)
        return batch.take(np.flatnonzero((chances > 0.0) & (chances >= self.threshold)))

    def _worlds(self, operands: Operands, keys: Keys) -> Worlds:
        """Return the state with which the search computes confidences."""
        worlds = Worlds(self.possible(operands), self._sets, bool(self.template.sets))
        low, high = operands.wholes[TIME], operands.wholes[self.high]
        worlds.longest = int((high - low).max(initial=0))
        worlds.high, worlds.has_gaps = self.high, self._has_gaps
        worlds.within = self.window.within if self.window.slide == 0 else -1
        worlds.near = empty(NEAR, longest(keys))
        worlds.threshold, worlds.register = self.threshold, self.pattern.confidence
        return worlds

    def possible(self, operands: Operands) -> PossibleTimes:
        """Return the possible times of all events (`possible_times`)."""
        laws = operands.laws or self._laws(operands.wholes[CLASS])
        low, high = operands.wholes[TIME], operands.wholes[self.high]
        return PossibleTimes(*possible_times(low, high, self._uncertainty.step, laws))

    def _laws(self, classes: Ints) -> Laws:
        """Return the distributions of the events' times, by their types."""
        uncertainty = self._uncertainty
        of_type = [uncertainty.weights, *(weights for _, weights in uncertainty.by_type)]
        sizes = np.array([len(weights) for weights in of_type])
        names = [name for name, _ in uncertainty.by_type]
        kind_of_class = [names.index(t) + 1 if t in names else 0 for t, _ in self._meanings]
        kinds = np.array([*kind_of_class, 0])[classes]  # the last one: without a class
        flat: Doubles = np.array([weight for weights in of_type for weight in weights], float)
        return Laws((np.cumsum(sizes) - sizes)[kinds], sizes[kinds], flat)

    def too_many(self, count: int) -> InputError:  # noqa: ARG002 - one limit, whatever the number
        """Return the error that too many matches begin with one event."""
        return InputError(
            f"query {self.template.query.name}: more than {GUARD:,} matches begin with one "
            "event. Ask for those that are more probable (CONFIDENCE >= ...), for some of them "
            "with LIMIT, or make the window shorter."
        )

    def too_long(self) -> InputError:
        """Return the error that confidences took too many steps."""
        return InputError(
            f"query {self.template.query.name}: more than {MOST_SUMMED:,} possible times of "
            "events were summed up for its matches. Let times be farther apart (time_step, "
            "--time-step), ask for matches that are more probable (CONFIDENCE >= ...), or add "
            "conditions between neighbours. Intervals longer than the window cost most."
        )


def possible_times(
    low: Ints, high: Ints, step: int, laws: Laws
) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """Return where the times of each event begin, these times, and their probabilities.

    If `laws` have no distribution for an event, its times are `step` apart and equally probable.
    Raises InputError if there are too many.

    >>> equal = Laws(np.array([0]), np.array([0]), np.array([]))
    >>> starts, points, odds = possible_times(np.array([0]), np.array([6]), 2, equal)
    >>> points.tolist(), odds.tolist()
    ([0, 2, 4, 6], [0.25, 0.25, 0.25, 0.25])
    """
    counts = np.where(laws.size > 0, np.where(high > low, laws.size, 1), (high - low) // step + 1)
    if counts.max(initial=0) > MOST_POINTS or counts.sum() > MOST_IN_ALL:
        raise InputError(
            f"An interval has {int(counts.max()):,} possible times, all intervals of a batch "
            f"{int(counts.sum()):,}. Let times be farther apart (time_step, --time-step)."
        )
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    number = np.arange(starts[-1]) - np.repeat(starts[:-1], counts)  # of a point in its interval
    count, of = np.repeat(counts, counts), np.repeat(laws.size, counts)
    apart = number * np.repeat(high - low, counts) // np.maximum(of - 1, 1)
    points = np.repeat(low, counts) + np.where(of > 0, apart, number * step)
    weights = np.append(laws.weights, 0.0)
    place = np.where(of > 0, np.repeat(laws.first, counts) + number, -1)
    weighted = np.where(count > 1, weights[place], 1.0)
    return starts, points, np.where(of > 0, weighted, 1.0 / count)
