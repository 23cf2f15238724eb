# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""What sharing a burst saves, and when that is reason to change (HAMLET, Section 4.1).

The formula and the rule stand here once, for sums (`elsinore.trends.sharing`) and for the shared
graph of events (`elsinore.trends.hamlet`): these count what a burst does, `elsinore.trends.prices`
says what each of that costs, `benefit` puts it together, and `changes` decides.
"""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
from numpy.typing import NDArray

from elsinore.trends.core.arrays import Doubles
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.prices import GraphPrices

# prices as the kernels read them: the fields of `GraphPrices`, in turn
FIXED, EVENT, FORM, INSERT, SCAN, PROPAGATE, SNAPSHOT, EVALUATE, COLLAPSE = range(9)
ALONE_INSERT, ALONE_SCAN, ALONE_PROPAGATE, ALONE_QUERY, ALONE_EVENT, SPLIT, SPLIT_FORM = range(
    9, 16
)


def as_array(prices: GraphPrices) -> NDArray[np.float64]:
    """Return prices as the kernels read them."""
    return np.array(astuple(prices))


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
