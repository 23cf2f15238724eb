"""Buckets in Spark's state store: one value of bytes each, read and written once per micro-batch.

`BucketRun` runs a bucket in a micro-batch; `BucketProcessor` connects it to `transformWithState`.
There are no timers: tasks send the times they have read to all buckets (`Tick`), so results are
returned in the micro-batch in which the watermark passes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from elsinore.operators import BurstCounts, kind_for
from elsinore.runtime.chunks import plain, same_floats
from elsinore.runtime.columnar.hashing import hash_rows
from elsinore.runtime.live import Bucket, PassSetup, Watermark, bursts_since
from elsinore.spark.live.rows import (
    ASIDE,
    COUNTS,
    EARLY,
    EARLY_PARTIAL,
    PARTIAL,
    RESULT,
    Answer,
    BucketCounts,
    BucketName,
    Tick,
    to_bytes,
)
from elsinore.spark.live.rows import (
    REJECTS as REJECTS_KIND,
)
from elsinore.spark.live.tasks import StreamPlan, loaded_plan


def needs_merging(setup: PassSetup) -> bool:
    """Return whether partial outputs of a group from several buckets have to be added up."""
    first = setup.units[0]
    return bool(first.equivalence) and any(kind_for(unit).adds_up(unit) for unit in setup.units)


@dataclass(frozen=True, slots=True)
class BucketState:
    """The saved state of a bucket: its clock (`Watermark.saved`, as JSON) and `Bucket.save`."""

    clock: str
    blob: bytes


class BucketRun:
    """A bucket in one micro-batch."""

    def __init__(self, plan: StreamPlan, name: BucketName, state: BucketState | None) -> None:
        self._plan, self._name = plan, name
        self._place, self._setup = plan.pass_of(name)
        self._bucket = (
            Bucket(self._setup)
            if state is None
            else Bucket.load(self._setup, state.blob, drop=True)
        )
        self._watermark = self._new_watermark()
        if state is not None:
            self._watermark.restore(json.loads(state.clock))

    def run(self, blobs: list[bytes], ticks: list[Tick]) -> tuple[list[Answer], BucketState]:
        """Process the events and ticks of a micro-batch; return final rows and the new state."""
        answers: list[Answer] = []
        bursts_before = _bursts(self._bucket)
        late = self._bucket.add_packed(pa.array(blobs, pa.binary())) if blobs else None
        now = max((tick.now for tick in ticks), default=0.0)
        for tick in ticks:
            for partition in tick.expected:
                self._watermark.expect(partition, now)
            for partition, greatest in tick.greatest.items():
                self._watermark.observe(greatest, partition, now=now)
        until = self._watermark.at(now)
        ends = any(tick.end for tick in ticks)
        if ends:
            answers += self._finished(self._bucket.end(), RESULT, PARTIAL)
        elif until is not None:
            answers += self._finished(self._bucket.advance(until), RESULT, PARTIAL)
            if any(tick.early for tick in ticks):
                answers += self._finished(self._bucket.early(), EARLY, EARLY_PARTIAL)
        sharing = bursts_since(bursts_before, _bursts(self._bucket))
        last_time = self._watermark.greatest
        if ends:  # a restart begins with empty state
            self._bucket = Bucket(self._setup)
            self._watermark = self._new_watermark()
        blob = self._bucket.save()
        counts = BucketCounts(
            watermark=until,
            greatest=last_time,
            events=sum(tick.events for tick in ticks),
            rejected=sum(tick.rejected for tick in ticks),
            task_late=sum(tick.late for tick in ticks),
            late=0 if late is None else late.num_rows,
            waiting=self._bucket.waiting,
            keys=self._bucket.keys,
            state_bytes=len(blob),
            lag=next((tick.lag for tick in ticks), None),
            ended=ends,
            sharing=sharing,
        )
        answers.append(self._answer(COUNTS, self._place, 0, counts.dump()))
        return answers, BucketState(json.dumps(self._watermark.saved()), blob)

    def _new_watermark(self) -> Watermark:
        plan = self._plan
        return Watermark(
            lateness=plan.lateness, idle_timeout=plan.idle_timeout, per_second=plan.per_second
        )

    def _finished(
        self, rows: Iterable[pa.RecordBatch], result: str, partial: str
    ) -> Iterator[Answer]:
        """Yield results, or partial outputs if those of other buckets have to be added."""
        if needs_merging(self._setup):
            for batch in rows:
                for share, part in self._by_group(batch):
                    blob = to_bytes([part], part.schema)
                    yield self._answer(partial, self._place, share, blob)
            return
        results = self._plan.results(self._name.generation, self._place)
        for number, table in results.finished(rows).items():
            yield self._answer(result, number, 0, to_bytes(table, table.schema))

    def _by_group(self, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the rows of each share of the groups."""
        columns = [
            same_floats(plain(rows.column(f"g{n}"))) for n in range(self._setup.group_columns)
        ]
        if not columns:
            yield 0, rows
            return
        count = self._plan.buckets[self._name.generation]
        shares = (hash_rows(columns, rows.num_rows) % np.uint64(count)).astype(int)
        for share in np.unique(shares).tolist():
            yield share, rows.filter(pa.array(shares == share))

    def _answer(self, kind: str, number: int, share: int, blob: bytes) -> Answer:
        return Answer(kind, self._name.generation, number, share, blob)


def _bursts(bucket: Bucket) -> list[BurstCounts]:
    """Return the bursts that queries could share so far."""
    return [bursts for statistics in bucket.statistics for bursts in statistics.shared_bursts]


class BucketProcessor(StatefulProcessor):
    """Runs buckets in `transformWithState`; the grouping key is a bucket's name."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state: the clock and the bytes of the bucket."""
        self._state = handle.getValueState("bucket", "clock string, blob binary")

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803, ARG002 - Spark's name
    ) -> Iterator[Row]:
        """Run the bucket over its rows of a micro-batch; yield rows of ANSWERS."""
        blobs, ticks = [], []
        for row in rows:
            if row.blob is not None:
                blobs.append(bytes(row.blob))
            else:
                ticks.append(Tick.load(row.tick))
        if key[0] == ASIDE:
            for blob in blobs:
                yield _row(Answer(REJECTS_KIND, 0, 0, 0, blob))
            return
        plan, name = loaded_plan(self._payload), BucketName.parse(key[0])
        if name.generation not in plan.generations:
            self._state.clear()
            return
        saved_state = self._state.get()
        state = None if saved_state is None else BucketState(saved_state[0], bytes(saved_state[1]))
        run = BucketRun(plan, name, state)
        answers, state = run.run(blobs, ticks)
        self._state.update((state.clock, state.blob))
        for answer in answers:
            yield _row(answer)


def _row(answer: Answer) -> Row:
    return Row(**answer._asdict())
