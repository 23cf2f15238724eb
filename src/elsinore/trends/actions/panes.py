"""How keys of trend queries are cut by panes, as drivers ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.operators.panes import Action, ActionPart, ActionSize
from elsinore.plan import TrendUnit
from elsinore.trends.actions.action import ActionShape, PaneActions, pane_of
from elsinore.trends.actions.fold import Fold


class TrendPanes:
    """The actions of panes on the sums of a unit's states, and their fold."""

    def __init__(self, unit: TrendUnit) -> None:
        self._unit = unit
        self._shape = ActionShape(unit)

    @property
    def size(self) -> ActionSize:
        """What an action's price depends on."""
        merged = self._unit.merged
        return ActionSize(
            rows=self._shape.rows,
            open_windows=sum(1 if w is None else w.overlap for w in merged.windows),
            sums=self._shape.cells + self._shape.extremes,
            nodes=len(merged.nodes),
        )

    @property
    def parts(self) -> Sequence[ActionPart]:
        """The arrays of a pane's action: mantissas, exponents, extremes, shifts."""
        rows, cells = self._shape.rows, self._shape.cells
        return (
            ActionPart("cells", np.float64, (rows, cells)),
            ActionPart("powers", np.int32, (rows, cells)),
            ActionPart("extremes", np.int64, (rows, self._shape.extremes)),
            ActionPart("shifts", np.float64, (len(self._unit.squared),)),
        )

    def length(self, span: int) -> tuple[int, int]:
        """Return the length and the origin of panes; `span` where no query has windows."""
        return pane_of(self._unit, span)

    def actions(self, *, ordered: bool) -> PaneActions:
        """Return what computes actions."""
        return PaneActions(self._unit, ordered=ordered)

    def fold(self, panes: NDArray[Any], action: Action) -> pa.Table:
        """Return a key's totals, its group's code 0, from its panes' actions."""
        cells, powers, extremes, shifts = action
        return Fold(self._unit).totals(panes, cells, powers, extremes, shifts)
