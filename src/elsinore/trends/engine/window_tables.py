"""The kinds of windows of a unit, and what is given out when one ends, as tables of structs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from elsinore.plan.merged import Place
from elsinore.trends.engine.constants import FOREVER
from elsinore.trends.engine.layout import Layout
from elsinore.trends.engine.updates import Updates

Rows = dict[str, list[Any]]  # of each table


def add_kinds(rows: Rows, updates: Updates, layout: Layout, *, has_windows: bool) -> None:
    """Add the kinds of windows, with their seeds and what is given out at their end.

    has_windows: not of a pane's action, whose rows are lanes in place of windows.
    """
    merged = updates.merged
    for kind, window in enumerate(updates.windows):
        times = (FOREVER, 1, 0)
        if window is not None and has_windows:
            times = (window.within, window.step, window.origin)
        seeds, ends = len(rows["seeds"]), len(rows["ends"])
        rows["seeds"] += [
            layout.cell_of(seed, 0) for seed in merged.seeds if updates.kind_of[seed] == kind
        ]
        for query, template in enumerate(updates.unit.templates):
            if template.query.window == window:
                _add_end(rows, updates, layout, query)
        cells = layout.kinds[kind]
        blocks = {
            layout.block_of[node] for node, of_node in enumerate(updates.kind_of) if of_node == kind
        }
        rows["kinds"].append(
            (
                *times,
                layout.overlaps[kind],
                cells.cell,
                cells.last_cell,
                cells.extreme,
                cells.last_extreme,
                seeds,
                len(rows["seeds"]),
                ends,
                len(rows["ends"]),
                min(blocks, default=0),
                max(blocks, default=-1) + 1,
                sum(layout.overlaps[:kind]),
            )
        )


def _add_end(rows: Rows, updates: Updates, layout: Layout, query: int) -> None:
    ends = updates.merged.ends[query]
    fields = _add_fields(rows, ends.linear, layout.cell_of)
    extremes = _add_fields(rows, ends.extremes, layout.extreme_of)
    rows["ends"].append((query, *fields, *extremes, int(ends.pairs)))


def _add_fields(
    rows: Rows, fields: Sequence[Sequence[Place]], cell_of: Callable[[int, int], int]
) -> tuple[int, int]:
    begin = len(rows["fields"])
    for places in fields:
        first = len(rows["places"])
        rows["places"] += [cell_of(node, number) for node, number in places]
        rows["fields"].append((first, len(rows["places"])))
    return begin, len(rows["fields"])
