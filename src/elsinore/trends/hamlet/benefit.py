# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""What sharing a burst costs and saves (HAMLET, Section 4.1).

The formula stands here once: the optimizer asks its kernels, and whoever has statistics of a burst
`shared`, `separate` and `benefit`, which ask them too.
"""

from __future__ import annotations

import json
import math
from dataclasses import astuple, dataclass
from functools import cache
from importlib.resources import files
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from elsinore.trends.core.arrays import Doubles
from elsinore.trends.wide import wide_kernel

# prices as the kernels read them: the fields of `Coefficients`, in turn
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """Prices of what a burst asks for: sharing it, and processing it for each query alone."""

    fixed: float = 0.0  # each shared burst
    event: float = 0.0  # b
    form: float = 0.0  # b, where events need forms only to be shared
    insert: float = 0.0  # b * log2(g)
    scan: float = 0.0  # b * n * s_p
    propagate: float = 0.0  # b * depth * s_p
    snapshot: float = 0.0  # s_c * k * g * p
    evaluate: float = 0.0  # s_c * k * s_p
    collapse: float = 0.0  # k
    alone_insert: float = 0.0  # k * b * log2(g)
    alone_scan: float = 0.0  # k * b * n
    alone_propagate: float = 0.0  # k * b * depth
    alone_query: float = 0.0  # k
    alone_event: float = 0.0  # b


class CostModel(Protocol):
    """Prices of shared and separate processing; `shared` and `separate` say what for."""

    @property
    def coefficients(self) -> Coefficients:
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
    def coefficients(self) -> Coefficients:
        """The prices: 1 for each operation that the paper counts."""
        insert = 1.0 if self.logarithm else 0.0
        return Coefficients(
            insert=insert, scan=1.0, snapshot=1.0, alone_insert=insert, alone_scan=1.0
        )


@dataclass(frozen=True, slots=True)
class CalibratedCost:
    """The same structure with prices in nanoseconds, measured by `benchmarks/calibrate.py`.

    A sum over predecessors reads `depth` numbers here, and not n; a snapshot is evaluated from the
    s_p snapshots before it, and not from g events.
    """

    @property
    def coefficients(self) -> Coefficients:
        """The prices, in nanoseconds."""
        return _measured()


@cache
def _measured() -> Coefficients:
    text = files("elsinore.trends.hamlet").joinpath("coefficients.json").read_text("utf-8")
    return Coefficients(**json.loads(text))


def shared(cost: CostModel, burst: BurstStatistics, k: float) -> float:
    """Return what it costs to share a burst among k queries.

    >>> shared(PaperCost(logarithm=False), BurstStatistics(
    ...     b=4, g=4, n=7, p=2, created=1, propagated=1), 2)
    44.0
    """
    return shared_cost(
        as_array(cost.coefficients),
        float(burst.b),
        float(burst.g * burst.p),
        _inserting(burst),
        float(burst.n),
        float(k),
        float(burst.created),
        float(burst.propagated),
        float(burst.depth),
        burst.forms,
    )


def separate(cost: CostModel, burst: BurstStatistics, k: float) -> float:
    """Return what it costs to process a burst for each of k queries alone.

    >>> separate(PaperCost(logarithm=False), BurstStatistics(
    ...     b=4, g=4, n=7, p=2, created=1, propagated=1), 2)
    56.0
    """
    prices = as_array(cost.coefficients)
    events = float(burst.b), _inserting(burst), float(burst.n)
    return separate_cost(prices, *events, float(k), float(burst.depth))


def benefit(cost: CostModel, burst: BurstStatistics, k: float) -> float:
    """Return what sharing a burst among k queries saves; positive means share (Definition 12)."""
    return separate(cost, burst, k) - shared(cost, burst, k)


def as_array(prices: Coefficients) -> NDArray[np.float64]:
    """Return prices as the kernels read them."""
    return np.array(astuple(prices))


def _inserting(burst: BurstStatistics) -> float:
    return burst.b * math.log2(max(burst.g, 1.0))


@wide_kernel
def shared_cost(
    cost: Doubles,
    b: float,
    read: float,
    inserting: float,
    n: float,
    k: float,
    created: float,
    propagated: float,
    depth: float,
    forms: bool,
) -> float:
    """Return what it costs to share a burst of b events among k queries.

    read: g * p, what a snapshot is made of; inserting: b * log2(g); cost: the prices.
    """
    return (
        cost[FIXED]
        + (cost[EVENT] + cost[FORM] * forms) * b
        + cost[INSERT] * inserting
        + cost[SCAN] * b * n * propagated
        + cost[PROPAGATE] * b * depth * propagated
        + cost[SNAPSHOT] * created * k * read
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
