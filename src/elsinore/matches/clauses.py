"""The probability that none of several clauses is true.

A *clause* is a sequence of events, each with an interval of times. It is true if each event lies in
its interval and their times ascend. The probability that no clause is true is computed by giving
one event after the other each of its times. Clauses without a common event are independent, and
results for sets of clauses are remembered.

In the worst case every combination of times is a case of its own: whether one of several pairs of
events is true is as hard as counting the independent sets of a bipartite graph. The number of cases
is therefore limited. If all clauses are one event of one set followed by one of another, there are
few cases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

Times = Sequence[tuple[int, float]]  # an event's possible times, ascending, and how probable
Clause = tuple[tuple[int, int, int], ...]  # event, later than, earlier than

MOST_CASES = 200_000  # clauses and times of an event that are tried for a match
MOST_KNOWN = 500_000  # sets of clauses that are remembered


class TooManyCases(Exception):  # noqa: N818 - it is data for an error
    """More than `MOST_CASES` cases would have to be tried."""


class Clauses:
    """Clauses of events whose times are known; `left` is how many cases may yet be tried.

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
        """Count cases; raise TooManyCases if there are too many."""
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
        # events of the longest clauses first: what begins chains, not what ends them
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
                kept = widest(left.union(others))
                chances[kept] = chances.get(kept, 0.0) + odds
        chance = sum(odds * self.chance_of_none(kept) for kept, odds in chances.items())
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[clauses] = chance
        return chance

    def _after(self, clauses: list[tuple[int, Clause]], time: int) -> set[Clause] | None:
        """Return the rest of clauses whose events at some places have a time.

        None if one of them is true.
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
        """Return a clause whose bounds are times of its events; None if it cannot be true.

        Clauses with the same times of an event are equal then.
        """
        made = []
        for event, after, before in parts:
            times = [time for time, _ in self.times(event) if after < time < before]
            if not times:
                return None
            made.append((event, times[0] - 1, times[-1] + 1))
        return tuple(made)


def connected(clauses: Iterable[Clause]) -> list[list[Clause]]:
    """Return clauses in groups that have no event in common.

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
