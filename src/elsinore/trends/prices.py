"""The prices by which it is decided who shares a burst: one table, in nanoseconds.

`prices.json` has them for sums and for the shared graph of events. `benchmarks/calibrate.py`
measures and writes the graph's. What they add up to is in `elsinore.trends.benefit`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

TABLE = "prices.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SumPrices:
    """Prices of the steps on sums; only their ratios matter.

    A cell is a sum of a node in one of its open windows.
    """

    step: float = 0.0  # an event acts on the lanes of one shape
    cell: float = 0.0
    composed: float = 0.0  # of that, where single events in turn are one formula for each lane
    move: float = 0.0  # an event moves a clock
    move_addend: float = 0.0
    settle: float = 0.0  # a lane is brought up to date
    settle_cell: float = 0.0
    boundary: float = 0.0  # a burst begins and ends
    cut: float = 0.0  # a part is cut in two
    turn: float = 0.0  # parts are found that take an event unlike the one before it

    def eager(self, steps: float, cells: int) -> float:
        """Return what an event costs that acts on so many cells, in so many steps.

        >>> SumPrices(step=1, cell=1).eager(2, 5)
        7.0
        """
        return float(self.step * steps + self.cell * cells)

    def lazy(self, addends: int) -> float:
        """Return what an event costs that moves a clock with so many addends."""
        return self.move + self.move_addend * addends

    def settling(self, cells: float) -> float:
        """Return what it costs to bring a lane of so many cells up to date."""
        return self.settle + self.settle_cell * cells


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPrices:
    """Prices of what a burst asks for: sharing it, and processing it for each query alone.

    The symbols are those of HAMLET's Table 2; `depth`: how many numbers a predecessor sum reads.
    """

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
    split: float = 0.0  # rows of the index * k * s_p, once, where sharing ends; plain numbers
    split_form: float = 0.0  # the same, of each sum where rows have more, or exponents


@dataclass(frozen=True, slots=True)
class Prices:
    """All prices, as measured."""

    sums: SumPrices
    graph: GraphPrices  # where nothing is compared: a burst is one sum
    ordered: GraphPrices  # where neighbours are: an index, with a column for a snapshot or a query


@cache
def measured() -> Prices:
    """Return the table.

    >>> measured().sums.step > measured().sums.cell > 0
    True
    """
    table = json.loads(files("elsinore.trends").joinpath(TABLE).read_text("utf-8"))
    graph, ordered = (GraphPrices(**table[name]) for name in ("graph", "ordered"))
    return Prices(SumPrices(**table["sums"]), graph, ordered)
