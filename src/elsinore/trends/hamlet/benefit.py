"""What sharing a burst costs and saves (HAMLET, Section 4.1)."""

from __future__ import annotations

import json
import math
from dataclasses import astuple, dataclass
from functools import cache
from importlib.resources import files
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


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
    price = cost.coefficients
    return (
        price.fixed
        + (price.event + price.form * burst.forms) * burst.b
        + price.insert * burst.b * math.log2(max(burst.g, 1.0))
        + price.scan * burst.b * burst.n * burst.propagated
        + price.propagate * burst.b * burst.depth * burst.propagated
        + price.snapshot * burst.created * k * burst.g * burst.p
        + price.evaluate * burst.created * k * burst.propagated
        + price.collapse * k
    )


def separate(cost: CostModel, burst: BurstStatistics, k: float) -> float:
    """Return what it costs to process a burst for each of k queries alone.

    >>> separate(PaperCost(logarithm=False), BurstStatistics(
    ...     b=4, g=4, n=7, p=2, created=1, propagated=1), 2)
    56.0
    """
    price = cost.coefficients
    return (
        price.alone_insert * k * burst.b * math.log2(max(burst.g, 1.0))
        + price.alone_scan * k * burst.b * burst.n
        + price.alone_propagate * k * burst.b * burst.depth
        + price.alone_query * k
        + price.alone_event * burst.b
    )


def benefit(cost: CostModel, burst: BurstStatistics, k: float) -> float:
    """Return what sharing a burst among k queries saves; positive means share (Definition 12)."""
    return separate(cost, burst, k) - shared(cost, burst, k)


def as_array(prices: Coefficients) -> NDArray[np.float64]:
    """Return prices as the kernels read them."""
    return np.array(astuple(prices))
