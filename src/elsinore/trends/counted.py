"""Queries of the shared path that an index sums up for, as long as they are few.

The shared graph holds an event's sums for all queries as forms over snapshots, and makes room for a
burst before it knows that it pays. An index keeps plain numbers and sorts what queries compare once
for all of them (`elsinore.plan.joined`): up to some queries that costs less, whatever the bursts.
Where they add up more than their trends, its numbers have exponents, and they are fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from elsinore.model.window import overlap_of
from elsinore.plan import Path, Sharing, TrendUnit
from elsinore.plan.assembly import guarded_template
from elsinore.plan.joined import joined
from elsinore.plan.paths import Routed, patterns_of
from elsinore.plan.sharing import aggregated
from elsinore.plan.trends import trend_unit
from elsinore.plan.unit import Partition

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
    overlaps = [overlap_of(template.query.window) for template in unit.templates]
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
    if len(overlaps) == 1:
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
        why = tuple(f"{_WAY}: {reason.partition(': ')[2]}" for reason in unit.why)
        unit.kept["guarded"] = replace(
            unit, path=Path.GRAPH, templates=(), guarded=guarded, why=why
        )
    return cast("TrendUnit", unit.kept["guarded"])


def run_together(
    units: Sequence[tuple[Partition, TrendUnit]], sharing: Sharing, *, record: bool
) -> list[tuple[int, ...]]:
    """Return which units of a plan are run as one, by their places, in the order of the first.

    Those are queries of the shared path that an index runs, and those of the graph path that take
    the stream apart alike, where they have states or orders of events in common.
    """
    ways = {(key, unit.path): place for place, (key, unit) in enumerate(units)}
    by_first: dict[int, tuple[int, ...]] = {place: (place,) for place in range(len(units))}
    for (key, path), place in ways.items():
        beside = ways.get((key, Path.GRAPH))
        if path is not Path.SHARED or beside is None:
            continue
        here, there = units[place][1], units[beside][1]
        if is_counted(here, sharing, record=record) and _have_in_common(here, there):
            pair = sorted((place, beside))
            by_first[pair[0]] = tuple(pair)
            del by_first[pair[1]]
    return list(by_first.values())


def _have_in_common(counted: TrendUnit, unit: TrendUnit) -> bool:
    """Return whether an index keeps something for queries of both, a unit of the graph path's."""
    first = as_guarded(counted).guarded
    of_unit = [part for template in unit.guarded for part in patterns_of(template)]
    groups = joined([*first, *of_unit])
    return any(group.queries[0] < len(first) <= group.queries[-1] for group in groups)


def as_one(units: Sequence[TrendUnit]) -> TrendUnit:
    """Return the unit of all queries of some that an index runs, one unit's after another's."""
    guarded = [as_run(unit) for unit in units]
    return trend_unit(
        [
            Routed(Path.GRAPH, why, template)
            for unit in guarded
            for why, template in zip(unit.why, unit.guarded, strict=True)
        ]
    )


def as_run(unit: TrendUnit, sharing: Sharing = Sharing.DYNAMIC) -> TrendUnit:
    """Return a unit in the form in which a run goes over it that records nothing."""
    return as_guarded(unit) if is_counted(unit, sharing) else unit
