"""What is shared, told: the lines and the plain data of `explain`, with what a sample showed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from elsinore.operators import Sample
from elsinore.plan.explain.text import MOST_NAMES
from elsinore.trends.shared import Units, apart, counted, shared_patterns
from elsinore.trends.statistics import SharingStatistics, TrendStatistics
from elsinore.words import count, listed

MOST_PAIRS = 20  # pairs of queries that are told for one reason; the rest is counted
MOST_BLOCKS = 5  # lists of names that are told for one reason


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBursts:
    """What became of one sharing set's bursts in a sample (HAMLET, Section 4).

    `events` are those of all its bursts, `shared_events` those of the `shared` ones.
    """

    pattern: str  # the Kleene sub-pattern, such as Travel+
    queries: tuple[str, ...]
    bursts: int
    shared: int
    events: int
    shared_events: int
    graphlet_snapshots: int
    event_snapshots: int


@dataclass(frozen=True, slots=True)
class SharedSample:
    """What was shared in a run over the first `events` of `total` events."""

    events: int
    total: int
    sets: tuple[SharedBursts, ...]


def shown(sample: Sample | None) -> SharedSample | None:
    """Return what a sample showed of bursts that several queries could share."""
    if sample is None:
        return None
    sets = (
        _shared_bursts(shared)
        for one in sample.statistics
        if isinstance(one, TrendStatistics)
        for shared in one.sharing
        if len(shared.queries) > 1
    )
    return SharedSample(sample.events, sample.total, tuple(sets))


def _shared_bursts(found: SharingStatistics) -> SharedBursts:
    shared = [record for record in found.records if record.shared > 1]
    return SharedBursts(
        pattern=found.name,
        queries=found.queries,
        bursts=found.bursts,
        shared=found.shared_graphlets,
        events=sum(record.events for record in found.records),
        shared_events=sum(record.events for record in shared),
        graphlet_snapshots=found.graphlet_snapshots,
        event_snapshots=found.event_snapshots,
    )


def sharing_text(units: Units, sample: SharedSample | None) -> list[str]:
    """Return lines on what is shared and what not; none where there is nothing to tell."""
    told, pairs = shared_patterns(units), apart(units)
    if sample is None and not told and not pairs:
        return []
    if sample is None:
        lines = ["", "Sharing of bursts"]
    else:
        over = "all" if sample.events == sample.total else f"the first {sample.events:,} of"
        lines = ["", f"Sharing of bursts, over {over} {count(sample.total, 'event')}"]
    sampled = () if sample is None else sample.sets
    for found in sampled:
        lines += _set_lines(found)
    known = {found.queries for found in sampled}
    for one in told:
        if one.queries not in known or one.merged:
            lines.append(f"  {one.pattern} of {listed(one.queries, MOST_NAMES)}, {one.how}")
    lines += [
        f"  {listed(names, MOST_NAMES)} go by an index over their events; where a run "
        "records, or is to share always or never, by the shared graph."
        for names in counted(units)
    ]
    for several in pairs:
        blocks = listed([block.words() for block in several.blocks], MOST_BLOCKS)
        lines.append(f"  Not {blocks}: {several.why}.")
    return lines


def _set_lines(found: SharedBursts) -> list[str]:
    lines = [f"  {found.pattern} of {listed(found.queries, MOST_NAMES)}"]
    if found.bursts == 0:
        return [*lines, "    no bursts"]
    share, weight = found.shared / found.bursts, found.shared_events / max(found.events, 1)
    lines.append(
        f"    {share:.0%} of {count(found.bursts, 'weighed burst')} shared, with {weight:.0%} of "
        f"their {count(found.events, 'event')}"
    )
    lines.append(
        f"    {count(found.graphlet_snapshots, 'snapshot', 'snapshots')} of graphlets, "
        f"{found.event_snapshots:,} of events"
    )
    return lines


def sharing_facts(units: Units, sample: SharedSample | None) -> dict[str, Any]:
    """Return what there is to tell of sharing, as plain data; `sampled` only with a sample."""
    told: dict[str, Any] = {
        "sets": [
            {"pattern": one.pattern, "queries": list(one.queries), "how": one.how}
            for one in shared_patterns(units)
        ],
        "apart": [
            {
                "pairs": [list(pair) for pair in itertools.islice(one.pairs(), MOST_PAIRS)],
                "count": one.count,
                "why": one.why,
            }
            for one in apart(units)
        ],
    }
    if by_index := counted(units):
        told["counted"] = [list(names) for names in by_index]
    if sample is not None:
        told["sampled"] = {
            "events": sample.events,
            "total": sample.total,
            "sets": [_set_facts(found) for found in sample.sets],
        }
    return told


def _set_facts(found: SharedBursts) -> dict[str, Any]:
    return {
        "pattern": found.pattern,
        "queries": list(found.queries),
        "bursts": found.bursts,
        "shared_bursts": found.shared,
        "events": found.events,
        "shared_events": found.shared_events,
        "graphlet_snapshots": found.graphlet_snapshots,
        "event_snapshots": found.event_snapshots,
    }
