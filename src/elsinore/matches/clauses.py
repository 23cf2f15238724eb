"""The probability that the events of a match follow one another and that no gap is broken.

This is the general algorithm, for cases beyond a recurrence over single events: NOT of
several events, whose order is uncertain too, and NOT beside events that are a set.

A match is a sequence of *stages*, sets of events, mostly of one. Its *gaps*, numbered from 0, lie
before the first stage, between neighbours, after the last one. A *chain* is a sequence of events
that a NOT forbids in a gap: it breaks the gap if all its events lie there, in this order. The
stages are processed one after the other with all their possible times. When the bounds of a gap are
known, its chains become *clauses*: a clause is true if each of its events lies in an interval and
their times ascend, and none may be true.

The probability that no clause is true is computed by giving one event after the other each of its
times. Clauses without a common event are independent, and results for sets of clauses are
remembered. In the worst case every combination of times is a case of its own: whether one of
several pairs of events is true is as hard as counting the independent sets of a bipartite graph.
The number of cases is therefore limited. If all clauses are one event of one set followed by one of
another, there are few cases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

Times = Sequence[tuple[int, float]]  # an event's possible times, ascending, and how probable
Clause = tuple[tuple[int, int, int], ...]  # event, later than, earlier than

MOST_CASES = 200_000  # clauses and times of an event that are tried for a match
MOST_KNOWN = 500_000  # sets of clauses that are remembered


class TooManyCases(Exception):  # noqa: N818 - it is data for an error
    """More than `MOST_CASES` cases would have to be tried."""


class Clauses:
    """Computes probabilities of clauses; `left` is the number of cases that may yet be tried.

    >>> half = [(1, 0.5), (3, 0.5)]
    >>> clauses = Clauses({1: half, 2: [(2, 1.0)]}.__getitem__)
    >>> clauses.chance_of_none([((1, 0, 4), (2, 0, 4))])  # 1 is before 2 in half of the worlds
    0.5
    """

    def __init__(self, times: Callable[[int], Times]) -> None:
        self.times = times
        self.left = MOST_CASES
        self._known: dict[frozenset[Clause], float] = {}

    def count(self, cases: int) -> None:
        """Count cases; raise TooManyCases if none are left."""
        self.left -= cases
        if self.left < 0:
            raise TooManyCases

    def chance_of_none(self, clauses: Iterable[Clause]) -> float:
        """Return the probability that none of some clauses is true."""
        chance = 1.0
        for part in connected(clauses):
            if chance > 0.0:
                chance *= self._chance(frozenset(part))
        return chance

    def _chance(self, clauses: frozenset[Clause]) -> float:
        """Return the probability that no clause is true; they are connected by their events."""
        if clauses in self._known:
            return self._known[clauses]
        # events of the longest clauses first: those that begin chains, not those that end them
        event = min(clauses, key=lambda clause: (-len(clause), clause))[0][0]
        others, affected = [], []
        for clause in clauses:
            place = next((n for n, part in enumerate(clause) if part[0] == event), -1)
            if place < 0:
                others.append(clause)
            else:
                affected.append((place, clause))
        times = self.times(event)
        self.count(len(times) * len(clauses))
        chances: dict[frozenset[Clause], float] = {}
        for time, odds in times:
            left = self._after(affected, time)
            if left is not None:
                rest = widest(left.union(others))
                chances[rest] = chances.get(rest, 0.0) + odds
        chance = sum(odds * self.chance_of_none(rest) for rest, odds in chances.items())
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[clauses] = chance
        return chance

    def _after(self, clauses: list[tuple[int, Clause]], time: int) -> set[Clause] | None:
        """Return the remaining parts of clauses whose events at some places have a time.

        None if a clause is true.
        """
        left = set()
        for place, clause in clauses:
            if not clause[place][1] < time < clause[place][2]:
                continue
            if len(clause) == 1:
                return None
            narrowed = self.snapped(
                (event, after, min(before, time)) if number < place else
                (event, max(after, time), before)
                for number, (event, after, before) in enumerate(clause)
                if number != place
            )  # fmt: skip
            if narrowed is not None:
                left.add(narrowed)
        return left

    def snapped(self, parts: Iterable[tuple[int, int, int]]) -> Clause | None:
        """Return a clause whose bounds are moved to times of its events; None if it cannot be true.

        Clauses that allow the same times are equal then.
        """
        made = []
        for event, after, before in parts:
            times = [time for time, _ in self.times(event) if after < time < before]
            if not times:
                return None
            made.append((event, times[0] - 1, times[-1] + 1))
        return tuple(made)


def connected(clauses: Iterable[Clause]) -> list[list[Clause]]:
    """Return clauses in groups without common events.

    >>> connected([((7, 0, 5),), ((8, 2, 5),), ((7, 2, 9), (9, 2, 9))])
    [[((7, 0, 5),), ((7, 2, 9), (9, 2, 9))], [((8, 2, 5),)]]
    """
    parts: dict[int, list[Clause]] = {}
    for clause in clauses:
        joined = [clause]
        for part in {id(parts[e]): parts[e] for e, _, _ in clause if e in parts}.values():
            joined = part + joined
        for neighbour in joined:
            parts.update((event, joined) for event, _, _ in neighbour)
    return list({id(part): part for part in parts.values()}.values())


def widest(clauses: set[Clause]) -> frozenset[Clause]:
    """Remove clauses that are true only if another of the same events is.

    >>> sorted(widest({((7, 0, 5),), ((7, 2, 5),), ((8, 2, 5),)}))
    [((7, 0, 5),), ((8, 2, 5),)]
    """
    of_events: dict[tuple[int, ...], list[Clause]] = defaultdict(list)
    for clause in clauses:
        of_events[tuple(event for event, _, _ in clause)].append(clause)
    if len(of_events) == len(clauses):
        return frozenset(clauses)
    return frozenset(
        clause
        for equal in of_events.values()
        for clause in equal
        if not any(
            wider != clause
            and all(
                after <= a and b <= before
                for (_, after, before), (_, a, b) in zip(wider, clause, strict=True)
            )
            for wider in equal
        )
    )


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
                is_over = stage == len(self._stages) - 1  # its times are not read any more
                times = (0, 0) if is_over else (begin, last)
                case = (*times, FAR, -FAR, frozenset(waiting))
                closed[case] = closed.get(case, 0.0) + free
        return closed
