"""What became of each sharing group, for an operator's statistics."""

from __future__ import annotations

import time
from collections.abc import Sequence

from elsinore.plan import TrendUnit
from elsinore.trends.lazy.arrays import (
    BURSTS,
    DECISIONS,
    MERGES,
    SHARED,
    SNAPSHOTS,
    SPLITS,
    Bursts,
    Groups,
)
from elsinore.trends.lazy.groups import Group
from elsinore.trends.lazy.kernels import decide_often
from elsinore.trends.statistics import BurstRecord, SharingStatistics

REPLAYED = 2**12  # decisions made again to tell how long they take


def measure(
    unit: TrendUnit, told: Sequence[Group], groups: Groups, bursts: Bursts
) -> list[SharingStatistics]:
    """Return the statistics of each group so far.

    A burst is one graphlet where it is shared, and one for each query where it is not. Decisions
    are too short to time one by one: so many are made again, for nothing, and timed together.
    """
    took = _decision_seconds(groups, bursts) if bursts.counts[:, DECISIONS].any() else 0.0
    found = []
    for number, group in enumerate(told):
        counts = bursts.counts[number].tolist()
        alone = counts[BURSTS] - counts[SHARED]
        found.append(
            SharingStatistics(
                name=f"{group.label.type}+",
                queries=tuple(unit.templates[query].query.name for query in group.queries),
                bursts=counts[BURSTS],
                graphlets=counts[SHARED] + alone * len(group.queries),
                shared_graphlets=counts[SHARED],
                splits=counts[SPLITS],
                merges=counts[MERGES],
                graphlet_snapshots=counts[SNAPSHOTS],
                decisions=counts[DECISIONS],
                decision_seconds=took * counts[DECISIONS],
                most_propagated=int(counts[SHARED] > 0),
            )
        )
    for row in range(int(bursts.recorded[0])):
        queries = len(told[bursts.group[row]].queries)
        found[bursts.group[row]].records.append(
            BurstRecord(
                time=int(bursts.time[row]),
                events=int(bursts.events[row]),
                queries=queries,
                shared=queries if bursts.was_shared[row] else 0,
                benefit=float(bursts.benefit[row]),
            )
        )
    return found


def _decision_seconds(groups: Groups, bursts: Bursts) -> float:
    """Return how long one decision takes."""
    decide_often(bursts, groups, 1)
    start = time.perf_counter()
    decide_often(bursts, groups, REPLAYED)
    return (time.perf_counter() - start) / REPLAYED
