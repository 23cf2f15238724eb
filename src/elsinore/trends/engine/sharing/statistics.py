"""What became of the bursts of an operator's sharing sets, in the terms of HAMLET, Section 6.2."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from elsinore.plan import TrendUnit
from elsinore.trends.engine.sharing.optimizer import decide_often
from elsinore.trends.engine.sharing.sets import SharingSet
from elsinore.trends.engine.store import RECORD, Store
from elsinore.trends.engine.tables import Program
from elsinore.trends.statistics import BurstRecord, SharingStatistics

COUNTED = (
    *("bursts", "graphlets", "splits", "merges"),
    *("graphlet_snapshots", "event_snapshots", "most_propagated"),
)
DECISIONS = 1_000  # by which it is measured how long one takes


class SharingCounts:
    """Reads an operator's counts, and keeps its records of bursts if they are wanted."""

    def __init__(self, unit: TrendUnit, sets: Sequence[SharingSet], *, record: bool) -> None:
        self._unit, self._sets, self._record = unit, sets, record
        self._rows = np.zeros(0, RECORD)
        self._seconds: float | None = None  # that a decision takes

    def make_room(self, store: Store, events: int) -> None:
        """Have room for the records of all bursts that can end while so many events act."""
        if self._record and self._sets:
            self._take_records(store)
            store.have_records((events + len(store.slots)) * len(self._sets))

    def _take_records(self, store: Store) -> None:
        rows = np.asarray(store.records)[: store.record_count]
        self._rows = np.concatenate((self._rows, rows.astype(RECORD)))
        store.record_count = 0

    def saved(self, store: Store) -> NDArray[np.uint8]:
        """Return the records so far as bytes."""
        self._take_records(store)
        return np.frombuffer(self._rows.tobytes(), np.uint8)

    def load(self, saved: NDArray[np.uint8]) -> None:
        """Take up what `saved` returned."""
        self._rows = np.frombuffer(saved.tobytes(), RECORD)

    def statistics(self, program: Program, store: Store) -> list[SharingStatistics]:
        """Return what became of the sets of at least two queries."""
        self._take_records(store)
        names = [member.query.name for member in self._unit.members]
        counts = np.asarray(store.counts)
        return [
            SharingStatistics(
                name=sharing_set.pattern,
                queries=tuple(names[query] for query in sharing_set.queries),
                shared_graphlets=int(counts["shared"][number]),
                decisions=int(counts["considered"][number]),
                decision_seconds=self._decision_seconds(program, store, number),
                records=self._records(number, len(sharing_set.queries)),
                **{name: int(counts[name][number]) for name in COUNTED},
            )
            for number, sharing_set in enumerate(self._sets)
            if len(sharing_set.queries) > 1
        ]

    def _records(self, number: int, queries: int) -> list[BurstRecord]:
        names = ("time", "events", "benefit", "key")
        return [
            BurstRecord(
                queries=queries, shared=int(row["queries"]), **{n: row[n].item() for n in names}
            )
            for row in self._rows[self._rows["number"] == number]
        ]

    def _decision_seconds(self, program: Program, store: Store, number: int) -> float:
        """Return how long all decisions took: their number times what one takes, measured once."""
        decisions = int(np.asarray(store.counts)["considered"][number])
        if decisions == 0:
            return 0.0
        if self._seconds is None:
            begin = time.perf_counter()
            decide_often(program, store, DECISIONS)
            self._seconds = (time.perf_counter() - begin) / DECISIONS
        return decisions * self._seconds
