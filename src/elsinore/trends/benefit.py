# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""What sharing a burst saves, and when that is reason to change (HAMLET, Section 4.1).

The formula and the rule stand here once, for sums (`elsinore.trends.sharing`) and for the shared
graph of events (`elsinore.trends.hamlet`): these count what a burst does, `elsinore.trends.prices`
says what each of that costs, `benefit` puts it together, and `changes` decides.
Whoever has statistics of a burst asks `shared`, `separate` and `benefit_of`.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from elsinore.trends.core.arrays import Doubles
from elsinore.trends.prices import GraphPrices, measured
from elsinore.trends.wide import wide_kernel

# prices as the kernels read them: the fields of `GraphPrices`, in turn
FIXED, EVENT, FORM, INSERT, SCAN, PROPAGATE, SNAPSHOT, EVALUATE, COLLAPSE = range(9)
ALONE_INSERT, ALONE_SCAN, ALONE_PROPAGATE, ALONE_QUERY, ALONE_EVENT = range(9, 14)


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstStatistics:
    """What is known of a burst before it is processed; the symbols are those of HAMLET's Table 2.

    `depth` is how many numbers of an index one predecessor sum reads: 1 where a running total is
    kept, 1 + log2(n) of a Fenwick tree, times the sums that ride along.
    """

    b: float  # events in the burst
    g: float  # events in the graphlet
    n: float  # events in the window so far
    p: float  # predecessor types per type and query
    created: float  # s_c, snapshots created
    propagated: float  # s_p, snapshots propagated
    depth: float = 1.0
    forms: bool = False  # whether events need forms that they would not need alone


class CostModel(Protocol):
    """Prices of shared and separate processing; `shared` and `separate` say what for."""

    @property
    def prices(self) -> GraphPrices:
        """The prices, in any one unit."""


@dataclass(frozen=True, slots=True)
class PaperCost:
    """The paper's own model.

    Definition 12:  Shared     = s_c*k*g*p + b*(log2(g) + n*s_p)
                    Non-shared = k*b*(log2(g) + n)
    Definition 11, without `logarithm`, leaves log2(g) out; its t stands in the place of p.
    """

    logarithm: bool = True

    @property
    def prices(self) -> GraphPrices:
        """The prices: 1 for each operation that the paper counts."""
        insert = 1.0 if self.logarithm else 0.0
        return GraphPrices(
            insert=insert, scan=1.0, snapshot=1.0, alone_insert=insert, alone_scan=1.0
        )


@dataclass(frozen=True, slots=True)
class CalibratedCost:
    """The same structure with prices in nanoseconds, measured by `benchmarks/calibrate.py`.

    A sum over predecessors reads `depth` numbers here, and not n; a snapshot is evaluated from the
    s_p snapshots before it, and not from g events.
    """

    @property
    def prices(self) -> GraphPrices:
        """The prices, in nanoseconds."""
        return measured().graph


def shared(cost: CostModel, burst: BurstStatistics, k: float) -> float:
    """Return what it costs to share a burst among k queries.

    >>> shared(PaperCost(logarithm=False), BurstStatistics(
    ...     b=4, g=4, n=7, p=2, created=1, propagated=1), 2)
    44.0
    """
    return -benefit(0.0, *_sharing(cost, burst, k))


def separate(cost: CostModel, burst: BurstStatistics, k: float) -> float:
    """Return what it costs to process a burst for each of k queries alone.

    >>> separate(PaperCost(logarithm=False), BurstStatistics(
    ...     b=4, g=4, n=7, p=2, created=1, propagated=1), 2)
    56.0
    """
    prices = as_array(cost.prices)
    events = float(burst.b), _inserting(burst), float(burst.n)
    return separate_cost(prices, *events, float(k), float(burst.depth))


def benefit_of(cost: CostModel, burst: BurstStatistics, k: float) -> float:
    """Return what sharing a burst among k queries saves; positive means share (Definition 12)."""
    return benefit(separate(cost, burst, k), *_sharing(cost, burst, k))


def _sharing(cost: CostModel, burst: BurstStatistics, k: float) -> tuple[float, float, float]:
    """Return the parts of what it costs to share a burst, as `benefit` takes them."""
    prices, propagated = as_array(cost.prices), float(burst.propagated)
    events = float(burst.b), _inserting(burst), float(burst.n)
    read, created = float(burst.g * burst.p), float(burst.created)
    return (
        propagation_cost(prices, *events, propagated, float(burst.depth), burst.forms),
        snapshot_cost(prices, read, float(k), created, propagated),
        float(prices[FIXED]),
    )


def as_array(prices: GraphPrices) -> NDArray[np.float64]:
    """Return prices as the kernels read them."""
    return np.array(astuple(prices))


def _inserting(burst: BurstStatistics) -> float:
    return burst.b * math.log2(max(burst.g, 1.0))


@wide_kernel
def benefit(separate: float, propagation: float, snapshots: float, fixed: float) -> float:
    """Return what sharing a burst saves; positive means share (HAMLET, Definition 12).

    Shared     = snapshots + propagation + fixed
    Non-shared = separate

    separate: what it costs to process the burst for each query, or lane of sums, alone;
    propagation: what its events cost once for all, as forms over snapshots or as moves of clocks;
    snapshots: what it costs to make those, at events and at a graphlet's ends, and to look up their
    values; fixed: what each shared burst costs, whatever it is like.

    >>> benefit(200.0, 20.0, 5.0, 10.0)
    165.0
    """
    return separate - propagation - snapshots - fixed


@wide_kernel
def changes(regret: float, saved: float, shares: bool, price: float) -> tuple[bool, float]:
    """Return whether to change from sharing to not sharing, or back, and the regret from now on.

    Both are states with a price for going from one to the other. saved: the benefit of sharing the
    last burst, shared or not. What the present state has lost against the other one since the last
    change is its regret; where that is more than the price, the state changes. So `dynamic` loses
    little to either static mode, whatever the stream.

    >>> changes(5.0, 7.0, False, 10.0), changes(5.0, 7.0, True, 10.0)
    ((True, 0.0), (False, 0.0))
    """
    regret = max(0.0, regret - saved if shares else regret + saved)
    if regret > price:
        return True, 0.0
    return False, regret


@wide_kernel
def propagation_cost(
    cost: Doubles,
    b: float,
    inserting: float,
    n: float,
    propagated: float,
    depth: float,
    forms: bool,
) -> float:
    """Return what b events cost as forms over snapshots.

    inserting: b * log2(g); cost: the prices.
    """
    return (
        (cost[EVENT] + cost[FORM] * forms) * b
        + cost[INSERT] * inserting
        + cost[SCAN] * b * n * propagated
        + cost[PROPAGATE] * b * depth * propagated
    )


@wide_kernel
def snapshot_cost(cost: Doubles, read: float, k: float, created: float, propagated: float) -> float:
    """Return what the snapshots that a burst creates cost for k queries.

    read: g * p, what a snapshot is made of.
    """
    return (
        cost[SNAPSHOT] * created * k * read
        + cost[EVALUATE] * created * k * propagated
        + cost[COLLAPSE] * k
    )


@wide_kernel
def separate_cost(
    cost: Doubles, b: float, inserting: float, n: float, k: float, depth: float
) -> float:
    """Return what it costs to process a burst of b events for each of k queries alone."""
    return (
        cost[ALONE_INSERT] * k * inserting
        + cost[ALONE_SCAN] * k * b * n
        + cost[ALONE_PROPAGATE] * k * b * depth
        + cost[ALONE_QUERY] * k
        + cost[ALONE_EVENT] * b
    )
