"""One match query over events with uncertain times: its working room, and the matches it finds."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.kernels import enter
from elsinore.matches import search as se
from elsinore.matches import worlds as wo
from elsinore.matches.arrays import Doubles, Ints
from elsinore.matches.chances import PossibleTimes, sum_up
from elsinore.matches.found import Found
from elsinore.matches.kernel_search import KernelSearch, patience
from elsinore.matches.operands import CLASS, TIME, Laws, Layout, Operands
from elsinore.matches.program import register_places
from elsinore.matches.query import ANY_NUMBER
from elsinore.matches.registers import RegisterKind
from elsinore.matches.template import MatchTemplate
from elsinore.plan.classes import Classes
from elsinore.plan.modes import HIGH, Uncertainty

MOST_POINTS = 100_000  # times that are possible for one event
MOST_IN_ALL = 20_000_000  # for the events of a batch together: 320 MB
POINT_SECONDS = 1e-6  # what summing up a possible time takes in plain Python
PLAIN_POINTS = 50_000  # possible times summed up before plain Python is given up
PAUSE_POINTS = 500_000_000  # and between two looks at whether the run is interrupted
MOST_SUMMED = 10_000_000_000  # and in a call altogether, about 20 seconds: then it is refused
ROUNDING = 1e-12  # of the threshold: sums of doubles are not exact


class UncertainSearch(KernelSearch):
    """The search of one query where times are uncertain."""

    def __init__(
        self, template: MatchTemplate, classes: Classes, layout: Layout, size: int
    ) -> None:
        super().__init__(template, classes, layout, size)
        assert template.uncertain is not None
        self._uncertainty: Uncertainty = template.uncertain
        self.high = layout.whole(HIGH)
        places = register_places(template.registers)
        kinds = [register.kind for register in template.registers]
        confidence = RegisterKind.CONFIDENCE
        self.threshold = (template.query.confidence or 0.0) * (1.0 - ROUNDING)
        self.register = places[kinds.index(confidence)] if confidence in kinds else -1
        names = list(template.sets)
        self._sets: Ints = np.array(
            [names.index(s.variable) if s.variable in names else -1 for s in template.states],
            dtype=np.int64,
        )
        self._classes = classes
        self._kinds = np.zeros(size + 1, dtype=np.int64)  # [class], the last one of no class

    def learn(self, codes: list[int], numbers: list[int]) -> None:
        """Take in classes that came for the first time."""
        super().learn(codes, numbers)
        names = [name for name, _ in self._uncertainty.by_type]
        if numbers and max(numbers) >= len(self._kinds) - 1:
            added = np.zeros(max(numbers) + 1, dtype=np.int64)
            self._kinds = np.concatenate([self._kinds, added])
        for code, number in zip(codes, numbers, strict=True):
            kind, _ = self._classes.decode(int(code))
            self._kinds[number] = names.index(kind) + 1 if kind in names else 0

    def matches(
        self, operands: Operands, keys: Ints, *, window: tuple[int, int, int], limit: int
    ) -> Iterator[Found]:
        """Yield the matches that are probable enough and hold a new event, in pieces."""
        low, high = operands.wholes[TIME], operands.wholes[self.high]
        starts, points, odds = self.possible(operands)
        room = self.room
        widest = int(np.diff(starts).max(initial=0))
        mass = np.zeros((len(room.path) + 1, widest), dtype=np.float64)
        sums, many = np.zeros(0, dtype=np.float64), widest
        if self.template.sets:
            sums, many = summed_up(starts, odds), widest * len(mass)
        work = np.zeros((2, many), dtype=np.float64)
        times = np.zeros((3, many if self.template.sets else 0), dtype=np.int64)
        progress = self._begun(window, limit)
        cursor = np.zeros(wo.CURSOR, dtype=np.int64)
        cursor[[wo.DEPTH, wo.REGISTER]] = -1, self.register
        cursor[wo.HAS_SETS] = int(bool(self.template.sets))
        cursor[wo.LONGEST] = int((high - low).max(initial=0))
        negatives = np.zeros((0, 0), dtype=np.int64)
        seen: set[tuple[int, bytes]] = set()
        seconds = patience(self.tables, keys)
        points_first = PLAIN_POINTS if math.isfinite(seconds) else PAUSE_POINTS
        progress[se.BUDGET] = min(points_first, MOST_SUMMED)
        times_of = PossibleTimes(starts, points, odds, sums)
        while True:
            worlds = wo.Worlds(cursor, self.threshold, times_of, mass, work, self._sets, times)
            enter(
                wo.scan_worlds, seconds, self.tables.integers, room.rules(self.tables, negatives),
                operands.values, keys, worlds, progress, room.path, room.registers, room.given,
            )  # fmt: skip
            seconds = math.inf  # what takes so long is compiled
            status, piece = self._taken(progress)
            if piece is not None:
                if self.register >= 0:
                    column = piece.numbers[:, self.register]
                    column[:] = at_most_one(column)
                yield self._new(piece, seen) if self.template.duplicates else piece
            if status in {se.DONE, se.LIMITED}:
                return
            if status == se.TOO_LONG:
                if progress[se.STEPS] >= MOST_SUMMED:
                    raise self._too_long()
                progress[se.BUDGET] = min(progress[se.STEPS] + PAUSE_POINTS, MOST_SUMMED)
                continue
            if status == se.DEEP:
                mass = np.concatenate([mass, np.zeros_like(mass)])
                if self.template.sets:
                    work = np.zeros((2, widest * len(mass)), dtype=np.float64)
                    times = np.zeros((3, widest * len(mass)), dtype=np.int64)
            self._make_way(status, progress, widen=piece is None)

    def possible(self, operands: Operands) -> tuple[Ints, Ints, NDArray[np.float64]]:
        """Return the possible times of all events (`possible_times`)."""
        laws = operands.laws or self._laws(operands.wholes[CLASS])
        low, high = operands.wholes[TIME], operands.wholes[self.high]
        return possible_times(low, high, self._uncertainty.step, laws)

    def _laws(self, classes: Ints) -> Laws:
        """Return how probable the times of events are, by their types."""
        known = self._uncertainty
        of_type = [known.weights, *(weights for _, weights in known.by_type)]
        sizes = np.array([len(weights) for weights in of_type])
        kinds = self._kinds[classes]
        flat: Doubles = np.array([weight for weights in of_type for weight in weights], float)
        return Laws((np.cumsum(sizes) - sizes)[kinds], sizes[kinds], flat)

    def _begun(self, window: tuple[int, int, int], limit: int) -> Ints:
        progress = np.zeros(se.PROGRESS, dtype=np.int64)
        progress[[se.WITHIN, se.SLIDE, se.ORIGIN]] = window
        progress[se.LIMIT], progress[se.WITH_PATHS] = limit, self.wants_paths
        limited = limit < ANY_NUMBER
        progress[se.GUARD] = ANY_NUMBER if limited else self.guard
        return progress

    def _new(self, piece: Found, seen: set[tuple[int, bytes]]) -> Found:
        """Leave out matches that bind the same events to the same variables as an earlier one.

        Such matches begin with one event, and those of one event are found one after another: only
        what begins with the last one is remembered in `seen`.
        """
        kept = []
        marks = list(self.marks(piece))
        for number, mark in enumerate(marks):
            if mark not in seen:
                seen.add(mark)
                kept.append(number)
        is_last = (piece.first == piece.first[-1]) & (piece.window == piece.window[-1])
        if not is_last.all():
            seen.intersection_update(marks[number] for number in np.flatnonzero(is_last))
        return piece.take(np.array(kept, dtype=np.int64))

    def too_many(self, count: int) -> InputError:  # noqa: ARG002 - one limit, whatever the number
        """Return the error that more matches begin with an event than may be returned."""
        return InputError(
            f"query {self.template.query.name}: more than {self.guard:,} matches begin with one "
            "event. Ask for those that are more probable (CONFIDENCE >= ...), for some of them "
            "with LIMIT, or make the window shorter."
        )

    def _too_long(self) -> InputError:
        return InputError(
            f"query {self.template.query.name}: more than {MOST_SUMMED:,} possible times of "
            "events were summed up for its matches. Let times be farther apart (time_step, "
            "--time-step), ask for matches that are more probable (CONFIDENCE >= ...), or add "
            "conditions between neighbours. Intervals longer than the window cost most."
        )


def at_most_one(chances: Doubles) -> Doubles:
    """Return probabilities, those that rounding has made a little greater than 1 as 1."""
    bounded: Doubles = np.minimum(chances, 1.0)
    return bounded


def summed_up(starts: Ints, odds: Doubles) -> Doubles:
    """Return the probabilities of possible times summed up (`elsinore.matches.chances`)."""
    sums = np.empty(len(odds) + len(starts) - 1, dtype=np.float64)
    enter(sum_up, POINT_SECONDS * len(sums), starts, odds, sums)
    return sums


def possible_times(
    low: Ints, high: Ints, step: int, laws: Laws
) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """Return where each event's times begin, these times, and how probable each is.

    Where `laws` do not say, times are `step` apart and equally probable. Raises InputError where
    they are too many to look at.

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
