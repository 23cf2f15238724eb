"""Which queries share a burst (HAMLET, Section 4.3).

A plan shares one set of queries and processes each other query alone. There are exponentially many;
two principles leave one query to classify after another. `optimizer.kernels.decide` does the same
with bit masks; it looks at about 16 of a burst's events, and counts no more than 7 that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from oracles.costs import BurstStatistics, CostModel, separate, shared


@dataclass(frozen=True, slots=True)
class SharingPlan:
    """The queries that share a burst, and those that do not."""

    shared: tuple[str, ...]
    alone: tuple[str, ...]

    def __str__(self) -> str:
        groups = [" ".join(self.shared)] if self.shared else []
        return "".join(f"({group})" for group in (*groups, *self.alone))


Cost = Callable[[SharingPlan], float]


def search_space(queries: Sequence[str]) -> Iterator[SharingPlan]:
    """Yield all plans, those that share most first (HAMLET, Figure 7).

    >>> len(list(search_space("1234")))
    12
    """
    for size in range(len(queries), 1, -1):
        for chosen in combinations(queries, size):
            yield SharingPlan(chosen, tuple(q for q in queries if q not in chosen))
    yield SharingPlan((), tuple(queries))


def considered(queries: Sequence[str], created: Mapping[str, int]) -> Iterator[SharingPlan]:
    """Yield the plans that the snapshot-driven principle leaves (Theorem 4.1).

    Queries that create no snapshots in the burst are shared with one another in all of them.
    """
    free = {query for query in queries if created.get(query, 0) == 0}
    for plan in search_space(queries):
        if free <= set(plan.shared):
            yield plan


def choose(queries: Sequence[str], created: Mapping[str, int], cost: Cost) -> SharingPlan:
    """Return the best plan: each query that creates snapshots is classified by itself.

    (The benefit-driven principle, Theorem 4.2.) In O(m) for m such queries. Nothing is shared
    where that costs less.
    """
    chosen = [query for query in queries if created.get(query, 0) == 0]
    base = tuple(chosen)
    for query in queries:
        if query in base:
            continue
        with_it = SharingPlan(tuple(q for q in queries if q in {*base, query}), ())
        without = SharingPlan(base, (query,))
        if cost(with_it) < cost(without):
            chosen.append(query)
    together = tuple(query for query in queries if query in chosen)
    rest = tuple(query for query in queries if query not in chosen)
    plan = SharingPlan(together, rest)
    nothing = SharingPlan((), tuple(queries))
    return plan if cost(plan) < cost(nothing) else nothing


def cost_of(
    model: CostModel,
    burst: BurstStatistics,
    created: Mapping[str, int],
    holders: Mapping[str, int] | None = None,
) -> Cost:
    """Return the cost of plans for a burst: that of sharing plus that of the queries alone.

    `burst` tells of it without snapshots at events; `created` says at how many events each query
    makes one. Where several do, they are taken to do so at the same events, and one snapshot holds
    for all. `holders` counts the queries that each name stands for, with their windows; else it is
    one.
    """

    def count(queries: Sequence[str]) -> int:
        return sum(1 if holders is None else holders[query] for query in queries)

    def cost(plan: SharingPlan) -> float:
        if not plan.shared:
            return separate(model, burst, count(plan.alone))
        more = max(created.get(query, 0) for query in plan.shared)
        told = BurstStatistics(
            b=burst.b,
            g=burst.g,
            n=burst.n,
            p=burst.p,
            created=burst.created + more,
            propagated=burst.propagated + more,
            depth=burst.depth,
            forms=burst.forms,
        )
        # what a burst costs alone whoever processes it, sharing it saves
        rest = separate(model, burst, count(plan.alone)) - separate(model, burst, 0)
        return shared(model, told, count(plan.shared)) + rest

    return cost
