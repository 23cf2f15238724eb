"""What became of each sharing group, for an operator's statistics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np

from elsinore.kernels import Store, compiling, enter, is_compiled
from elsinore.plan import TrendUnit
from elsinore.trends.sharing.bursts import decide_often
from elsinore.trends.sharing.groups import Group
from elsinore.trends.statistics import BurstRecord, SharingStatistics
from elsinore.trends.sums.entry import arrive_sharing
from elsinore.trends.sums.store import DECIDED

REPLAYED = 2**12  # decisions made again to tell how long they take
REPLAYED_PLAIN = 2**5  # in plain Python
_PLAIN_SECONDS = 1e-5  # a decision there


def measure(unit: TrendUnit, groups: Sequence[Group], store: Store) -> list[SharingStatistics]:
    """Return the statistics of each group so far.

    A burst is one graphlet where it is shared, and one for each query where it is not; its parts
    are what a snapshot is propagated through. Decisions
    are too short to time one by one: so many are made again, for nothing, and timed together.
    """
    counts = {name: store[name].tolist() for name in DECIDED}
    took = _decision_seconds(store) if any(counts["decisions"]) else 0.0
    asleep = int(np.sum(store["asleep"]))  # events that are yet to come, or never will
    statistics = []
    for number, group in enumerate(groups):
        bursts, shared = counts["bursts"][number], counts["shared_bursts"][number]
        decisions = counts["decisions"][number]
        statistics.append(
            SharingStatistics(
                name=f"{group.type}+",
                queries=tuple(unit.templates[query].query.name for query in group.queries),
                bursts=bursts,
                graphlets=shared + (bursts - shared) * len(group.queries),
                shared_graphlets=shared,
                splits=counts["splits"][number],
                merges=counts["merges"][number],
                graphlet_snapshots=counts["snapshots"][number],
                event_snapshots=counts["event_snapshots"][number],
                parted_bursts=counts["parted_bursts"][number],
                unweighed=counts["unweighed"][number] - asleep,
                decisions=decisions,
                decision_seconds=took * decisions,
                most_propagated=max(counts["most_parts"][number], int(shared > 0)),
            )
        )
    names = ("group", "time", "events", "shared", "benefit", "key")
    columns = (store[f"record_{name}"][: store["records"]].tolist() for name in names)
    for of, began, events, was_shared, benefit, key in zip(*columns, strict=True):
        queries = len(groups[of].queries)
        statistics[of].records.append(
            BurstRecord(
                time=began,
                events=events,
                queries=queries,
                shared=queries if was_shared else 0,
                benefit=benefit,
                key=key,
                mask=was_shared,
            )
        )
    return statistics


def _decision_seconds(store: Store) -> float:
    """Return how long one decision takes: what is known stays as it is."""
    names = (*DECIDED, "benefits", "regret", "wanted")
    before = {name: store[name].copy() for name in names}
    compiled = is_compiled(arrive_sharing)
    times = REPLAYED if compiled else REPLAYED_PLAIN
    with compiling() if compiled else nullcontext():
        header, ints, doubles = store.arguments
        enter(decide_often, _PLAIN_SECONDS, header, ints, doubles, 1)
        start = time.perf_counter()
        enter(decide_often, _PLAIN_SECONDS * times, header, ints, doubles, times)
        took = (time.perf_counter() - start) / times
    for name, known in before.items():
        store[name] = known
    return took
