"""How probable it is that none of some clauses comes true.

A *clause* is a sequence of events, each with the times between which it is to lie, that comes true
where all do and their times ascend. Of some clauses none is to come true: this is told by giving
one event after the other each of its times. Clauses without a common event are independent, and
what is known of some clauses is not computed again.

At worst that is every case by itself: whether one of any pairs of events comes true is as hard to
tell as to count the independent sets of a bipartite graph. There is a limit therefore; where
clauses are all sequences of one event of some and one of others, the cases are few.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

Times = Sequence[tuple[int, float]]  # an event's possible times, ascending, and how probable
Clause = tuple[tuple[int, int, int], ...]  # event, later than, earlier than

MOST_CASES = 200_000  # clauses and times of an event, that are gone through for a match
MOST_KNOWN = 500_000  # sets of clauses that are remembered


class TooManyCases(Exception):  # noqa: N818 - it is data for an error
    """More than `MOST_CASES` cases would have to be gone through."""


class Clauses:
    """Clauses of events whose times are known; `left` is how many cases may be gone through yet.

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
        """Count cases that are gone through; raise TooManyCases where they are too many."""
        self.left -= cases
        if self.left < 0:
            raise TooManyCases

    def chance_of_none(self, clauses: Iterable[Clause]) -> float:
        """Return the probability that none of some clauses comes true."""
        chance = 1.0
        for part in connected(clauses):
            if chance > 0.0:
                chance *= self._chance(frozenset(part))
        return chance

    def _chance(self, clauses: frozenset[Clause]) -> float:
        """Return the same of clauses that are connected by their events."""
        if clauses in self._known:
            return self._known[clauses]
        # events of the longest clauses first: what begins chains, not what ends them
        event = min(clauses, key=lambda clause: (-len(clause), clause))[0][0]
        foreign, mine = [], []
        for clause in clauses:
            place = next((n for n, part in enumerate(clause) if part[0] == event), -1)
            if place < 0:
                foreign.append(clause)
            else:
                mine.append((place, clause))
        times = self.times(event)
        self.count(len(times) * len(clauses))
        chances: dict[frozenset[Clause], float] = {}
        for time, odds in times:
            left = self._after(mine, time)
            if left is not None:
                kept = widest(left.union(foreign))
                chances[kept] = chances.get(kept, 0.0) + odds
        chance = sum(odds * self.chance_of_none(kept) for kept, odds in chances.items())
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[clauses] = chance
        return chance

    def _after(self, clauses: list[tuple[int, Clause]], time: int) -> set[Clause] | None:
        """Return what is left of clauses whose events at some places are put at a time.

        None where one has come true: nothing of it is left.
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
        """Return a clause with bounds that are times of its events; None where it cannot be true.

        Clauses that ask for the same times of an event are alike then.
        """
        made = []
        for event, after, before in parts:
            times = [time for time, _ in self.times(event) if after < time < before]
            if not times:
                return None
            made.append((event, times[0] - 1, times[-1] + 1))
        return tuple(made)


def connected(clauses: Iterable[Clause]) -> list[list[Clause]]:
    """Return clauses in parts that have no event in common.

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
    """Leave out clauses that come true only where another of the same events does.

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
        for alike in of_events.values()
        for clause in alike
        if not any(
            wider != clause
            and all(
                after <= a and b <= before
                for (_, after, before), (_, a, b) in zip(wider, clause, strict=True)
            )
            for wider in alike
        )
    )
