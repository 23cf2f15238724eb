"""What it costs to share a burst, by its statistics: the paper's model and the calibrated one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from elsinore.trends.benefit import (
    FIXED,
    as_array,
    benefit,
    propagation_cost,
    separate_cost,
    snapshot_cost,
)
from elsinore.trends.prices import GraphPrices, measured


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

    ordered: bool = False  # where neighbours are compared

    @property
    def prices(self) -> GraphPrices:
        """The prices, in nanoseconds."""
        return measured().ordered if self.ordered else measured().graph


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


def _inserting(burst: BurstStatistics) -> float:
    return burst.b * math.log2(max(burst.g, 1.0))
