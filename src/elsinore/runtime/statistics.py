"""Adding up what several operators of one unit counted, such as those of Spark's partitions."""

from __future__ import annotations

from elsinore.trends import OperatorStatistics, SharingStatistics


def added(one: OperatorStatistics, other: OperatorStatistics) -> OperatorStatistics:
    """Return what two operators of one unit did together.

    Counts and times are added. `state_bytes` is the greater one: what a single operator held at
    most. So is `classes`, as both may have seen the same. A sharing set is told by its sub-pattern
    and queries; its records are put in the order of their times.

    >>> added(OperatorStatistics(events=2, state_bytes=80), OperatorStatistics(events=3)).events
    5
    """
    return OperatorStatistics(
        events=one.events + other.events,
        matched=one.matched + other.matched,
        classes=max(one.classes, other.classes),
        totals=one.totals + other.totals,
        state_bytes=max(one.state_bytes, other.state_bytes),
        sharing=_added_sets(one.sharing, other.sharing),
    )


def _added_sets(
    ones: list[SharingStatistics], others: list[SharingStatistics]
) -> list[SharingStatistics]:
    found: dict[tuple[str, tuple[str, ...]], SharingStatistics] = {}
    for shared in (*ones, *others):
        place = (shared.name, shared.queries)
        found[place] = _added_set(found[place], shared) if place in found else shared
    return list(found.values())


def _added_set(one: SharingStatistics, other: SharingStatistics) -> SharingStatistics:
    return SharingStatistics(
        name=one.name,
        queries=one.queries,
        bursts=one.bursts + other.bursts,
        graphlets=one.graphlets + other.graphlets,
        shared_graphlets=one.shared_graphlets + other.shared_graphlets,
        splits=one.splits + other.splits,
        merges=one.merges + other.merges,
        graphlet_snapshots=one.graphlet_snapshots + other.graphlet_snapshots,
        event_snapshots=one.event_snapshots + other.event_snapshots,
        most_propagated=max(one.most_propagated, other.most_propagated),
        decisions=one.decisions + other.decisions,
        decision_seconds=one.decision_seconds + other.decision_seconds,
        records=sorted(one.records + other.records, key=lambda record: record.time),
    )
