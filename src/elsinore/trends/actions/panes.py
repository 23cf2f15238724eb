"""How events of trend queries are combined by panes, as drivers ask for it."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from elsinore.model.window import overlap_of
from elsinore.operators.panes import ActionSize, Combiner, Folder
from elsinore.plan import TrendUnit
from elsinore.trends.actions.combining import Actions
from elsinore.trends.actions.fold import Fold
from elsinore.trends.actions.shape import ActionShape, pane_numbers


class TrendPanes:
    """The actions of panes on the sums of a unit's states, and their fold."""

    def __init__(self, unit: TrendUnit) -> None:
        self._unit = unit
        self._shape = ActionShape(unit)

    @property
    def size(self) -> ActionSize:
        """What an action's price depends on."""
        merged = self._unit.merged
        touched: Counter[str] = Counter()
        for node in merged.nodes:
            for name in {edge.type for edge in node.edges}:
                touched[name] += len(node.linear) + len(node.extremes)
        return ActionSize(
            rows=self._shape.rows,
            open_windows=sum(map(overlap_of, merged.windows)),
            sums=self._shape.cells + self._shape.extremes,
            touched=max(touched.values(), default=0),
            bytes=self._shape.bytes,
        )

    def numbers(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the pane that each time is in; 0 where no query has windows."""
        return pane_numbers(self._unit, times)

    def combiner(self, *, ordered: bool) -> Combiner:
        """Return what computes actions."""
        return Actions(self._shape, ordered=ordered)

    def folder(self, *, ordered: bool, last_time: int | None = None) -> Folder:
        """Return what folds them."""
        return Fold(self._shape, ordered=ordered, last_time=last_time)
