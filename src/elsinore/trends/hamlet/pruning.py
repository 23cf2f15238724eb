"""Which queries share a burst (HAMLET, Section 4.3).

A plan shares one set of queries and processes each other query alone. There are exponentially many;
two principles leave one query to classify after another. The kernel does the same with bit masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from elsinore.trends.hamlet.benefit import BurstStatistics, CostModel, separate, shared


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


def cost_of(model: CostModel, burst: BurstStatistics, created: Mapping[str, int]) -> Cost:
    """Return the cost of plans for a burst: that of sharing plus that of the queries alone.

    `burst` tells of it without snapshots at events; `created` says how many each query adds.
    """

    def cost(plan: SharingPlan) -> float:
        more = sum(created.get(query, 0) for query in plan.shared)
        told = BurstStatistics(
            b=burst.b,
            g=burst.g,
            n=burst.n,
            p=burst.p,
            created=burst.created + more,
            propagated=burst.propagated + more,
            depth=burst.depth,
            forms=burst.forms or more > 0,
        )
        together = shared(model, told, len(plan.shared)) if plan.shared else 0.0
        return together + separate(model, burst, len(plan.alone))

    return cost
