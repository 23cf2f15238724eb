"""What `explain` says about sharing, in lines and as plain data, with what a sample showed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from elsinore.operators import Sample
from elsinore.plan import Sharing
from elsinore.plan.explain import MOST_NAMES
from elsinore.trends.shared import Block, Shared, Units, apart, burst_sets, lane_sets, merged_sets
from elsinore.trends.statistics import BurstRecord, SharingStatistics, TrendStatistics
from elsinore.words import count, listed

MOST_PAIRS = 20  # pairs of queries that are listed for one reason; the rest is counted
MOST_BLOCKS = 5  # lists of names that are shown for one reason
BURSTS = "burst by burst, where it pays"
MERGED = "kept once for all of them"  # they have states in common (`elsinore.plan.merged`)
LANES = "whose patterns have the same shape: they are processed side by side"


@dataclass(frozen=True, slots=True)
class SharedPattern:
    """Queries of a unit that share a Kleene sub-pattern, and how they do."""

    pattern: str
    queries: tuple[str, ...]
    how: str = BURSTS


def shared_patterns(units: Units, sharing: Sharing = Sharing.DYNAMIC) -> tuple[SharedPattern, ...]:
    """Return which queries may share which Kleene sub-patterns.

    Lanes are omitted if all their queries share bursts, and merged states if the same sub-pattern
    is already shared.
    """
    patterns: list[SharedPattern] = []
    for _, unit in units:
        names = [template.query.name for template in unit.members]
        bursts = [] if sharing is Sharing.NEVER else burst_sets(unit)
        bursts = [(pattern, queries) for pattern, queries in bursts if len(queries) > 1]
        merged: list[Shared] = []
        for pattern, queries in merged_sets(unit):
            known = (set(others) for name, others in (*bursts, *merged) if name == pattern)
            if not any(others.issuperset(queries) for others in known):
                merged.append((pattern, queries))
        lanes = [
            (pattern, queries)
            for pattern, queries in lane_sets(unit)
            if not any({*queries} <= {*others} for _, others in bursts)
        ]
        patterns += [
            SharedPattern(pattern, tuple(names[query] for query in queries), how)
            for how, sets in ((BURSTS, bursts), (MERGED, merged), (LANES, lanes))
            for pattern, queries in sets
        ]
    return tuple(patterns)


def _sampled_sets(sample: Sample | None) -> list[SharingStatistics]:
    """Return the statistics of sharing sets with several queries in a sample."""
    operators = sample.statistics if sample is not None else ()
    sets = [
        s for trends in operators if isinstance(trends, TrendStatistics) for s in trends.sharing
    ]
    return [sharing_set for sharing_set in sets if len(sharing_set.queries) > 1]


def _unshared(counted: SharingStatistics) -> dict[str, list[BurstRecord]]:
    """Return the bursts that were not shared, by the reason.

    Sharing was expected to cost more (`dearer`), or to save less than switching over costs, or no
    benefit was estimated.
    """
    left = [record for record in counted.records if record.shared <= 1]
    return {
        "dearer": [record for record in left if record.benefit < 0.0],
        "saving_too_little": [record for record in left if record.benefit > 0.0],
        "nothing_known": [record for record in left if record.benefit == 0.0],
    }


def _events(counted: SharingStatistics, *, shared: bool = False) -> int:
    """Return the number of events in all bursts of a sharing set, or in the shared ones."""
    return sum(r.events for r in counted.records if r.shared > 1 or not shared)


def sharing_text(
    units: Units, sample: Sample | None, sharing: Sharing = Sharing.DYNAMIC
) -> list[str]:
    """Return lines about what is shared and what is not; none if no queries could share."""
    patterns, pairs = shared_patterns(units, sharing), apart(units, sharing)
    sampled = _sampled_sets(sample)
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
        if shared.queries not in known or shared.how == MERGED:
            lines.append(
                f"  {shared.pattern} of {listed(shared.queries, MOST_NAMES)}, {shared.how}"
            )
    for several in pairs:
        blocks = ", nor of ".join(pairs_in_words(block) for block in several.blocks[:MOST_BLOCKS])
        if len(several.blocks) > MOST_BLOCKS:
            blocks += f", nor of {len(several.blocks) - MOST_BLOCKS:,} more such lists"
        lines.append(f"  No sharing of {blocks}: {several.why}.")
    return lines if len(lines) > 2 else []  # no heading without lines


def pairs_in_words(block: Block) -> str:
    """Return pairs of queries in words.

    >>> pairs_in_words(Block(("a", "b"), ("c",))), pairs_in_words(Block(("a", "b")))
    ('a and b with c', 'a with b')
    """
    if block.count == 1 and not block.right:
        return f"{block.left[0]} with {block.left[1]}"
    with_whom = listed(block.right, MOST_NAMES) if block.right else "one another"
    return f"{listed(block.left, MOST_NAMES)} with {with_whom}"


def _set_lines(counted: SharingStatistics, sharing: Sharing) -> list[str]:
    lines = [f"  {counted.name} of {listed(counted.queries, MOST_NAMES)}"]
    if counted.bursts == 0:
        return [*lines, "    There were no bursts."]
    if not counted.shared_graphlets:
        lines.append(
            f"    They could share, but none of {count(counted.bursts, 'burst')}, with "
            f"{count(_events(counted), 'event')}, was shared."
        )
    else:
        lines.append(
            f"    {counted.shared_graphlets:,} of {count(counted.bursts, 'burst')} shared, with "
            f"{_events(counted, shared=True):,} of their {count(_events(counted), 'event')}."
        )
        lines.append(
            f"    Snapshots: {counted.graphlet_snapshots:,} of graphlets, where bursts begin or "
            f"end; {counted.event_snapshots:,} of single events, where queries diverge."
        )
    return lines + [f"    {line}" for line in _why_unshared(counted, sharing)]


def _why_unshared(counted: SharingStatistics, sharing: Sharing) -> list[str]:
    """Return lines with the reasons for which bursts were not shared."""
    if sharing is Sharing.NEVER:
        return ["Sharing is switched off (sharing: never)."]
    known_nothing = "there was no earlier burst to judge by"
    if "[i-1]" in counted.name:
        known_nothing = "each query adds up its own sums over the events that are compared"
    texts = {
        "dearer": "not shared because sharing was expected to cost {} more per burst than it would "
        "save.",
        "saving_too_little": "not shared yet: sharing was expected to save {} per burst, but the "
        "loss so far was less than the cost of switching over.",
        "nothing_known": f"not shared because {known_nothing}.",
    }
    lines = []
    for reason, records in _unshared(counted).items():
        if records:
            saving = abs(sum(record.benefit for record in records)) / len(records)
            amount = f"{saving:,.{0 if saving >= 10 else 1}f} ns"
            bursts = count(len(records), "burst")
            lines.append(f"{bursts} {texts[reason].format(amount)}")
    return lines


def sharing_facts(
    units: Units, sample: Sample | None, sharing: Sharing = Sharing.DYNAMIC
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
            "sets": [_set_facts(counted) for counted in _sampled_sets(sample)],
        }
    return facts


def _set_facts(counted: SharingStatistics) -> dict[str, Any]:
    return {
        "pattern": counted.name,
        "queries": list(counted.queries),
        "bursts": counted.bursts,
        "shared_bursts": counted.shared_graphlets,
        "events": _events(counted),
        "shared_events": _events(counted, shared=True),
        "graphlet_snapshots": counted.graphlet_snapshots,
        "event_snapshots": counted.event_snapshots,
        "not_shared": {reason: len(records) for reason, records in _unshared(counted).items()},
    }
