"""The probability that a match's events follow one another and that no gap is broken.

This is the general algorithm, for what a recurrence over single events cannot compute: NOT of
several events, whose order is uncertain too, and NOT beside events that are a set.

A match is a sequence of *stages*, sets of events, mostly of one. Its *gaps*, numbered from 0, lie
before the first stage, between neighbours, after the last one. A *chain* is a sequence of events
that a NOT forbids in a gap: it breaks the gap if all its events lie there, in this order. The
stages are processed one after the other with all their possible times; when the bounds of a gap are
known, its chains become clauses, none of which may be true (`elsinore.matches.clauses`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from elsinore.matches.clauses import Clause, Clauses, connected, widest

Chain = tuple[int, ...]  # events
# The first time of the match if the window depends on it, the last time of the stage before, the
# first and the last time of the present stage, and clauses.
Case = tuple[int, int, int, int, frozenset[Clause]]

FAR = 2**62  # later than all times


@dataclass(frozen=True, slots=True)
class Frame:
    """The window of a match: its first and last time, or its length if it begins with the match."""

    first: int = -FAR
    last: int = FAR
    within: int | None = None


def chance_of(
    stages: Sequence[Sequence[int]],
    chains: Mapping[int, Iterable[Chain]],
    frame: Frame,
    clauses: Clauses,
) -> float:
    """Return the probability that stages follow one another in the window and no gap is broken.

    `chains` are those that would break a gap, by its number; none has an event of `stages`.
    Raises TooManyCases.

    >>> half = [(1, 0.5), (3, 0.5)]
    >>> times = {0: [(0, 1.0)], 1: half, 2: [(2, 1.0)], 3: [(4, 1.0)]}
    >>> clauses = Clauses(times.__getitem__)
    >>> chance_of([[0], [3]], {1: [(1, 2)]}, Frame(), clauses)  # 1 is before 2 in half of it
    0.5
    """
    return _Elimination(stages, chains, frame, clauses).chance()


class _Elimination:
    def __init__(
        self,
        stages: Sequence[Sequence[int]],
        chains: Mapping[int, Iterable[Chain]],
        frame: Frame,
        clauses: Clauses,
    ) -> None:
        self._stages = stages
        self._frame = frame
        self._clauses = clauses
        final = len(stages) - 1
        # the stage after which the bounds of a gap are known, and its chains
        self._closed: dict[int, list[tuple[int, Chain]]] = defaultdict(list)
        self._turns: dict[int, int] = {}  # the last stage that closes a gap for an event
        for gap, listed in chains.items():
            stage = min(gap, final) if gap or frame.within is None else final
            for chain in listed:
                self._closed[stage].append((gap, chain))
                for event in chain:
                    self._turns[event] = max(self._turns.get(event, stage), stage)

    def chance(self) -> float:
        cases: dict[Case, float] = {(0, -FAR, FAR, -FAR, frozenset()): 1.0}
        for number, stage in enumerate(self._stages):
            for event in stage:
                cases = self._follow(cases, event, number)
            cases = self._close(cases, number)
        return sum(cases.values())

    def _follow(self, cases: dict[Case, float], event: int, stage: int) -> dict[Case, float]:
        """Give an event of a stage each of its times that are later than the stage before."""
        frame, following = self._frame, dict[Case, float]()
        times = self._clauses.times(event)
        times = [pair for pair in times if frame.first <= pair[0] <= frame.last]
        self._clauses.count(len(cases) * len(times))
        for (opening, after, first, last, clauses), chance in cases.items():
            latest = FAR
            if frame.within is not None and stage > 0:
                latest = opening + frame.within
            for time, odds in times:
                if after < time <= latest:
                    case = (opening, after, min(first, time), max(last, time), clauses)
                    following[case] = following.get(case, 0.0) + chance * odds
        return following

    def _close(self, cases: dict[Case, float], stage: int) -> dict[Case, float]:
        """End a stage: chains of gaps whose bounds are known now become clauses.

        The probability that none is true is taken at once if they share no event with later gaps.
        """
        closed = dict[Case, float]()
        within = self._frame.within
        for (opening, after, first, last, clauses), chance in cases.items():
            begin, end = opening, self._frame.last
            if within is not None:
                begin = first if stage == 0 else opening
                end = begin + within
                if last > end:
                    continue
            with_new = set(clauses)
            for gap, chain in self._closed[stage]:
                if gap == 0:
                    bounds = (self._frame.first - 1, first)
                    if within is not None:
                        bounds = (last - within - 1, begin)
                elif gap > stage:
                    bounds = (last, end + 1)
                else:
                    bounds = (after, first)
                clause = self._clauses.snapped((event, *bounds) for event in chain)
                if clause is not None:
                    with_new.add(clause)
            waiting: set[Clause] = set()
            free = chance
            for part in connected(widest(with_new)):
                if any(self._turns[event] > stage for clause in part for event, _, _ in clause):
                    waiting.update(part)
                else:
                    free *= self._clauses.chance_of_none(part)
            if free > 0.0:
                is_over = stage == len(self._stages) - 1  # nothing reads its times any more
                times = (0, 0) if is_over else (begin, last)
                case = (*times, FAR, -FAR, frozenset(waiting))
                closed[case] = closed.get(case, 0.0) + free
        return closed
