"""Queries of the shared path that an index counts for, as long as they are few.

The shared graph holds an event's sums for all queries as forms over snapshots, and makes room for a
burst before it knows that it pays. An index keeps plain numbers and sorts what queries compare once
for all of them (`elsinore.plan.joined`): up to some queries that costs less, whatever the bursts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from elsinore.plan import Path, Sharing, TrendUnit
from elsinore.plan.guarded import guarded_template

MOST_WINDOWS = 16  # open at once: each is worked on by itself
# (query, open window): 50 queries with thresholds that differ take 1.15 times what bursts do, 20
# take 0.78
MOST_LANES = 32
_WAY = "an index over its own events"


def is_counted(
    unit: TrendUnit, sharing: Sharing = Sharing.DYNAMIC, *, record: bool = False
) -> bool:
    """Return whether an index runs the queries of a unit of the shared path.

    They only count trends, compare events with those before them, and are few; a single query
    shares with nobody, whatever it compares. Whoever records bursts or says how to share them
    asks for the shared graph.
    """
    if unit.path is not Path.SHARED:
        return False
    for template in unit.templates:
        if len(template.aggregation.linear) > 1 or template.aggregation.extremes:
            return False
    windows = [template.query.window for template in unit.templates]
    overlaps = [1 if window is None else window.overlap for window in windows]
    if max(overlaps) > MOST_WINDOWS:
        return False
    if len(windows) == 1:
        return True
    compare = all(
        any(move.adjacent is not None for move in template.transitions)
        for template in unit.templates
    )
    return compare and sum(overlaps) <= MOST_LANES and sharing is Sharing.DYNAMIC and not record


def as_guarded(unit: TrendUnit) -> TrendUnit:
    """Return a unit of the shared path with guarded templates for its queries."""
    if "guarded" not in unit.kept:
        guarded = tuple(guarded_template(template.query) for template in unit.templates)
        why = tuple(f"{_WAY}: {told.partition(': ')[2]}" for told in unit.why)
        unit.kept["guarded"] = replace(
            unit, path=Path.GRAPH, templates=(), guarded=guarded, why=why
        )
    return cast("TrendUnit", unit.kept["guarded"])


def as_run(unit: TrendUnit) -> TrendUnit:
    """Return a unit in the form in which a run goes over it that records nothing."""
    return as_guarded(unit) if is_counted(unit) else unit
