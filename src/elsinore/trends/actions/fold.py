"""The second stage: the actions of a key's panes in, in their order; totals of windows out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.model.window import Window
from elsinore.plan import TrendUnit
from elsinore.trends.actions.action import ActionShape
from elsinore.trends.actions.matrices import add_up, fold
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.partials import totals_fields
from elsinore.trends.spread import moved_by


class Fold:
    """Folds the panes of one key at a time."""

    def __init__(self, unit: TrendUnit) -> None:
        self.shape = ActionShape(unit)

    def totals(
        self,
        panes: NDArray[np.int64],
        cells: NDArray[np.float64],
        powers: NDArray[np.int32],
        extremes: NDArray[np.int64],
        shifts: NDArray[np.float64],
    ) -> pa.Table:
        """Return a key's totals, its group's code 0, from its panes' actions.

        `panes`: [pane] -> its first moment, ascending; panes without events are left out. The
        others are what `PaneActions.of` gives.
        """
        cells, powers, shift = self._with_one_shift(cells, powers, shifts)
        parts = [totals_fields(self.shape.unit, exact=False).empty_table()]
        for window in self.shape.unit.merged.windows:
            indices, first, last = _windows(window, panes)
            states = np.zeros((len(indices), self.shape.cells))
            states[:, self.shape.seeds] = 1.0
            state_powers = np.zeros(states.shape, dtype=np.int32)
            least = np.full((len(indices), self.shape.extremes), FOREVER)
            fold(
                self.shape.sources,
                first,
                last,
                cells,
                powers,
                extremes,
                states,
                state_powers,
                least,
            )
            for number, one in enumerate(self.shape.unit.templates):
                if one.query.window == window:
                    parts.append(self._fields(number, indices, states, state_powers, least, shift))
        return pa.concat_tables(parts)

    def _with_one_shift(
        self,
        cells: NDArray[np.float64],
        powers: NDArray[np.int32],
        shifts: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
        """Return actions whose deviations are from one shift for each attribute, and these."""
        target = np.median(shifts, axis=0)
        if (shifts == target).all():
            return cells, powers, target
        cells, powers = cells.copy(), powers.copy()
        for place, triple in self.shape.spreads:
            by = np.broadcast_to((shifts - target)[:, place, None], cells.shape[:2])
            sums = [(cells[:, :, cell], powers[:, :, cell]) for cell in triple]
            for cell, moved in zip(triple, moved_by(by, *sums), strict=False):
                cells[:, :, cell], powers[:, :, cell] = moved
        return cells, powers, target

    def _fields(
        self,
        query: int,
        indices: NDArray[np.int64],
        states: NDArray[np.float64],
        powers: NDArray[np.int32],
        least: NDArray[np.int64],
        shift: NDArray[np.float64],
    ) -> pa.Table:
        """Return a query's totals in the windows that hold a trend of it."""
        ends = self.shape.unit.merged.ends[query]
        schema = totals_fields(self.shape.unit, exact=False)
        count = len(indices)
        columns: dict[str, NDArray[Any]] = {name: np.zeros(count) for name in schema.names}
        columns |= {name: np.full(count, FOREVER) for name in schema.names if "extreme" in name}
        columns |= {f"shift{k}": np.full(count, value) for k, value in enumerate(shift)}
        columns |= {"query": np.full(count, query), "window": indices}
        for field, places in enumerate(ends.linear):
            at = np.array([self.shape.first_cell[node] + number for node, number in places])
            columns[f"cell{field}"], columns[f"power{field}"] = add_up(
                states, powers, at.astype(np.int64)
            )
        for field, places in enumerate(ends.extremes):
            at = np.array([self.shape.first_extreme[node] + number for node, number in places])
            if len(at):
                columns[f"extreme{field}"] = least[:, at].min(axis=1)
        arrays = [
            pa.array(columns[entry.name].astype(entry.type.to_pandas_dtype())) for entry in schema
        ]
        table = pa.Table.from_arrays(arrays, schema=schema)
        return table.filter(pa.array(columns["cell0"] != 0.0))


def _windows(
    window: Window | None, panes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of the windows that hold some of the panes, and which: [first, last)."""
    if window is None:
        return np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([len(panes)])
    opened = (panes - window.origin - window.within) // window.step + 1
    newest = (panes - window.origin) // window.step
    held = [opened + number for number in range(window.overlap)]
    indices = np.unique(np.concatenate([found[found <= newest] for found in held]))
    starts = window.origin + window.step * indices
    first = np.searchsorted(panes, starts).astype(np.int64)
    return indices, first, np.searchsorted(panes, starts + window.within).astype(np.int64)
