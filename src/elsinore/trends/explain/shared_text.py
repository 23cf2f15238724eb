"""What `explain` says about sharing, in lines and as plain data, with what a sample showed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from elsinore.operators import Sample
from elsinore.plan import Sharing
from elsinore.plan.explain.text import MOST_NAMES
from elsinore.trends.explain.shared import Units, shared_patterns
from elsinore.trends.explain.unshared import apart
from elsinore.trends.statistics import BurstRecord, SharingStatistics, TrendStatistics
from elsinore.words import count, listed

MOST_PAIRS = 20  # pairs of queries that are listed for one reason; the rest is counted
MOST_BLOCKS = 5  # lists of names that are shown for one reason


@dataclass(frozen=True, slots=True)
class Unshared:
    """Bursts that were not shared for one reason, and what sharing one was expected to save.

    `saving` is a mean, in nanoseconds; below 0 sharing would have cost so much more.
    """

    bursts: int
    saving: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBursts:
    """What became of one sharing set's bursts in a sample (HAMLET, Section 4).

    `events` are those of all its bursts, `shared_events` those of the `shared` ones. Of the others
    nothing was known (`unknown`) or to be decided; sharing would have been `dearer`; or it would
    have saved something, yet `too_little` to change over.
    """

    pattern: str  # the Kleene sub-pattern, such as Travel+
    queries: tuple[str, ...]
    bursts: int
    shared: int
    events: int
    shared_events: int
    graphlet_snapshots: int
    event_snapshots: int
    unknown: Unshared
    dearer: Unshared
    too_little: Unshared


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
        for statistics in sample.statistics
        if isinstance(statistics, TrendStatistics)
        for shared in statistics.sharing
        if len(shared.queries) > 1
    )
    return SharedSample(sample.events, sample.total, tuple(sets))


def _shared_bursts(counted: SharingStatistics) -> SharedBursts:
    shared = [record for record in counted.records if record.shared > 1]
    left = [record for record in counted.records if record.shared <= 1]
    return SharedBursts(
        pattern=counted.name,
        queries=counted.queries,
        bursts=counted.bursts,
        shared=counted.shared_graphlets,
        events=sum(record.events for record in counted.records),
        shared_events=sum(record.events for record in shared),
        graphlet_snapshots=counted.graphlet_snapshots,
        event_snapshots=counted.event_snapshots,
        unknown=_unshared([record for record in left if record.benefit == 0.0]),
        dearer=_unshared([record for record in left if record.benefit < 0.0]),
        too_little=_unshared([record for record in left if record.benefit > 0.0]),
    )


def _unshared(records: Sequence[BurstRecord]) -> Unshared:
    saving = sum(record.benefit for record in records) / max(len(records), 1)
    return Unshared(len(records), saving)


def sharing_text(
    units: Units, sample: SharedSample | None, sharing: Sharing = Sharing.DYNAMIC
) -> list[str]:
    """Return lines on what is shared and what is not; none if there is nothing to say."""
    patterns, pairs = shared_patterns(units, sharing), apart(units, sharing)
    sampled = () if sample is None else sample.sets
    if not (patterns or pairs or sampled):
        return []
    lines = ["", "Sharing"]
    if sample is not None and sampled:
        over = "all" if sample.events == sample.total else f"the first {sample.events:,} of"
        lines = ["", f"Sharing, over {over} {count(sample.total, 'event')}"]
    for bursts in sampled:
        lines += _set_lines(bursts, sharing)
    known = {bursts.queries for bursts in sampled}
    for shared in patterns:
        if shared.queries not in known or shared.merged:
            lines.append(
                f"  {shared.pattern} of {listed(shared.queries, MOST_NAMES)}, {shared.how}"
            )
    for several in pairs:
        blocks = ", nor of ".join(block.words() for block in several.blocks[:MOST_BLOCKS])
        if len(several.blocks) > MOST_BLOCKS:
            blocks += f", nor of {len(several.blocks) - MOST_BLOCKS:,} more such lists"
        lines.append(f"  No sharing of {blocks}: {several.why}.")
    return lines if len(lines) > 2 else []  # a heading alone says nothing


def _set_lines(bursts: SharedBursts, sharing: Sharing) -> list[str]:
    lines = [f"  {bursts.pattern} of {listed(bursts.queries, MOST_NAMES)}"]
    if bursts.bursts == 0:
        return [*lines, "    There were no bursts."]
    if bursts.shared:
        lines.append(
            f"    {bursts.shared:,} of {count(bursts.bursts, 'burst')} shared, with "
            f"{bursts.shared_events:,} of their {count(bursts.events, 'event')}."
        )
    else:
        lines.append(
            f"    They could share, but none of {count(bursts.bursts, 'burst')}, with "
            f"{count(bursts.events, 'event')}, was shared."
        )
    if bursts.shared:
        lines.append(
            f"    Snapshots: {bursts.graphlet_snapshots:,} of graphlets, where bursts begin or "
            f"end; {bursts.event_snapshots:,} of single events, where queries diverge."
        )
    return lines + [f"    {line}" for line in _why_unshared(bursts, sharing)]


def _why_unshared(bursts: SharedBursts, sharing: Sharing) -> list[str]:
    """Return why bursts were not shared, in lines."""
    if sharing is Sharing.NEVER:
        return ["Sharing is switched off (sharing: never)."]
    lines = []
    if bursts.dearer.bursts:
        lines.append(
            f"{count(bursts.dearer.bursts, 'burst')} not shared because sharing was expected to "
            f"cost {_nanoseconds(-bursts.dearer.saving)} more per burst than it would save."
        )
    if bursts.too_little.bursts:
        lines.append(
            f"{count(bursts.too_little.bursts, 'burst')} not shared yet: sharing was expected to "
            f"save {_nanoseconds(bursts.too_little.saving)} per burst, but the loss so far was "
            "less than the cost of switching over."
        )
    if bursts.unknown.bursts:
        lines.append(
            f"{count(bursts.unknown.bursts, 'burst')} not shared because "
            + (
                "each query adds up its own sums over the events that are compared."
                if "[i-1]" in bursts.pattern
                else "there was no earlier burst to judge by."
            )
        )
    return lines


def _nanoseconds(number: float) -> str:
    return f"{number:,.0f} ns" if number >= 10 else f"{number:.1f} ns"


def sharing_facts(
    units: Units, sample: SharedSample | None, sharing: Sharing = Sharing.DYNAMIC
) -> dict[str, Any]:
    """Return the facts about sharing, as plain data; `sampled` only with a sample."""
    facts: dict[str, Any] = {
        "mode": sharing.value,
        "sets": [
            {"pattern": entry.pattern, "queries": list(entry.queries), "how": entry.how}
            for entry in shared_patterns(units, sharing)
        ],
        "apart": [
            {
                "pairs": [list(pair) for pair in itertools.islice(entry.pairs(), MOST_PAIRS)],
                "count": entry.count,
                "why": entry.why,
            }
            for entry in apart(units, sharing)
        ],
    }
    if sample is not None:
        facts["sampled"] = {
            "events": sample.events,
            "total": sample.total,
            "sets": [_set_facts(bursts) for bursts in sample.sets],
        }
    return facts


def _set_facts(bursts: SharedBursts) -> dict[str, Any]:
    return {
        "pattern": bursts.pattern,
        "queries": list(bursts.queries),
        "bursts": bursts.bursts,
        "shared_bursts": bursts.shared,
        "events": bursts.events,
        "shared_events": bursts.shared_events,
        "graphlet_snapshots": bursts.graphlet_snapshots,
        "event_snapshots": bursts.event_snapshots,
        "not_shared": {
            "nothing_known": bursts.unknown.bursts,
            "dearer": bursts.dearer.bursts,
            "saving_too_little": bursts.too_little.bursts,
        },
    }
