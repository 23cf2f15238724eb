"""Queries of the shared path that an index sums up for, as long as they are few.

The shared graph holds an event's sums for all queries as forms over snapshots, and makes room for a
burst before it knows that it pays. An index keeps plain numbers and sorts what queries compare once
for all of them (`elsinore.plan.joined`): up to some queries that costs less, whatever the bursts.
Where they add up more than their trends, its numbers have exponents, and they are fewer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from elsinore.plan import Path, Sharing, TrendUnit
from elsinore.plan.guarded import guarded_template
from elsinore.plan.sharing import aggregated

MOST_WINDOWS = 16  # open at once: each is worked on by itself
# (query, open window): 50 queries with thresholds that differ take 1.15 times what bursts do, 20
# take 0.78
MOST_LANES = 32
# Lanes that add up more than trends: that many, and half as many as count beside them. One query
# took 0.3 to 0.8 times what bursts did, 0.5 to 1.2 times in two windows at once; two took 0.4 to
# 0.9, three up to 1.1, eight up to 2.7.
MOST_SUMMING, MOST_ALONE = 4, 2
_WAY = "an index over its own events"


def is_counted(
    unit: TrendUnit, sharing: Sharing = Sharing.DYNAMIC, *, record: bool = False
) -> bool:
    """Return whether an index runs the queries of a unit of the shared path.

    They compare events with those before them, and are few; a single query shares with nobody,
    whatever it compares. Whoever records several queries' bursts or says how to share them asks for
    the shared graph.
    """
    if unit.path is not Path.SHARED:
        return False
    windows = [template.query.window for template in unit.templates]
    overlaps = [1 if window is None else window.overlap for window in windows]
    if max(overlaps) > MOST_WINDOWS:
        return False
    summing = sum(
        overlap
        for template, overlap in zip(unit.templates, overlaps, strict=True)
        if not aggregated(template.aggregation).counts
    )
    alone = MOST_ALONE if max(overlaps) == 1 else 0
    if summing > min(MOST_SUMMING, alone + (sum(overlaps) - summing) // 2):
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
