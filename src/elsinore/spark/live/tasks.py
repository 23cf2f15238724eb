"""Tasks that read events and pack them for their buckets.

A `StreamPlan` describes a live stream to tasks, buckets and the sink. It is planned on the driver;
tasks and buckets receive it pickled.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.connectors.rejects import REJECTS, rejects_of
from elsinore.runtime.columnar import Packing
from elsinore.runtime.live import Admission, EventReader, PassResults, PassSetup, PlannedGeneration
from elsinore.spark.live.continuing import bucket_count
from elsinore.spark.live.rows import ASIDE, EVENTS, BucketName, Tick, to_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlan:
    """The plan of a live stream on Spark, for tasks, buckets and the sink.

    `generations` are by their numbers, which are unique in a checkpoint; the last one is the
    current workload's. `buckets` has the number of buckets of passes with a key, by generation.
    `lateness` and `ahead` are in ticks; `ahead` is how far a time may be ahead of the machine's
    clock (None: any distance). `idle_timeout` is in seconds, `per_second` the ticks of a second.
    `source` names the source of rejected records. `ended` are buckets of former generations, whose
    state is cleared. `query_names` includes former queries.
    """

    generations: Mapping[int, PlannedGeneration]
    buckets: Mapping[int, int]
    lateness: int
    per_second: int
    source: str
    idle_timeout: float | None = None
    ahead: int | None = None
    ended: tuple[str, ...] = ()
    query_names: frozenset[str] = frozenset()
    _results: dict[tuple[int, int], PassResults] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def results(self, generation: int, place: int) -> PassResults:
        """Return the `PassResults` of a generation's pass, created once in each process."""
        pass_results = self._results.get((generation, place))
        if pass_results is None:
            setup = self.generations[generation].setup
            pass_results = self._results[generation, place] = PassResults(
                setup.passes[place], setup.time
            )
        return pass_results

    def bucket_names(self, number: int) -> list[str]:
        """Return the names of a generation's buckets."""
        return [
            str(BucketName(number, key_of(planned_pass), bucket))
            for planned_pass in self.generations[number].setup.passes
            for bucket in range(bucket_count(planned_pass, self.buckets[number]))
        ]

    def pass_of(self, name: BucketName) -> tuple[int, PassSetup]:
        """Return the pass of a bucket, and its place in its generation."""
        passes = self.generations[name.generation].setup.passes
        return next(
            (n, planned_pass)
            for n, planned_pass in enumerate(passes)
            if key_of(planned_pass) == name.key
        )


def key_of(planned_pass: PassSetup) -> str:
    """Return the identifier of a pass, independent of the order of planning: its key."""
    return repr(planned_pass.units[0].partition)


@lru_cache(maxsize=4)
def loaded_plan(payload: bytes) -> StreamPlan:
    """Return a pickled plan, unpickled once in each worker."""
    plan: StreamPlan = pickle.loads(payload)
    return plan


@dataclass(slots=True)
class EventPacker:
    """Packs events that a task reads into rows of EVENTS.

        packer = EventPacker(plan)
        yield from packer.pack(table, partition)    # for each table
        yield from packer.ticks()                   # at the end of the task

    Late events, and those further ahead of the clock than allowed, are rejected. `wall` is the
    machine's clock in ticks since the epoch, `watermark` that before the micro-batch, in ticks.
    Both are recorded with the micro-batch; None means unknown.
    """

    plan: StreamPlan
    wall: int | None = None
    watermark: int | None = None
    tick: Tick = field(default_factory=Tick)
    _readers: dict[int, EventReader] = field(init=False)
    _usable: EventReader = field(init=False)

    def __post_init__(self) -> None:
        """Create a reader for each generation with open windows, and for the last one."""
        self._readers = {
            number: generation.setup.reader()
            for number, generation in self.plan.generations.items()
            if self.watermark is None or not generation.is_over(self.watermark)
        }
        self._usable = self._readers[max(self.plan.generations)]

    def pack(self, table: pa.Table, partition: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some events of a partition of the source."""
        if not table.num_rows:
            return
        reader = self._usable
        admission = reader.admit(
            reader.usable(table), watermark=self.watermark, latest=self._latest()
        )
        self._count(admission, table.num_rows, partition)
        for rejected in admission.rejected:
            yield self._set_aside(rejects_of(rejected, self.plan.source))
        usable = admission.events
        for number, reader in self._readers.items():
            generation, generation_events = self.plan.generations[number], usable
            if generation.begin is not None:
                generation_events = usable.filter(usable.times >= generation.begin)
            for planned_pass, travelling in zip(
                generation.setup.passes, reader.travelling(generation_events), strict=True
            ):
                yield from self._pack(number, planned_pass, travelling)

    def reject(self, rejects: pa.Table) -> pa.RecordBatch:
        """Return the row of records that the source rejects."""
        self.tick = replace(self.tick, rejected=self.tick.rejected + rejects.num_rows)
        return self._set_aside(rejects)

    def _set_aside(self, rejects: pa.Table) -> pa.RecordBatch:
        """Return the row of rejected records, in the columns of `connectors.rejects`."""
        blob = to_bytes(rejects, REJECTS)
        return _rows([ASIDE], pa.array([blob], pa.binary()), [None])

    def ticks(self) -> pa.RecordBatch:
        """Return the ticks of this task for all buckets."""
        names = [name for number in self._readers for name in self.plan.bucket_names(number)]
        names += self.plan.ended
        return _rows(names, pa.nulls(len(names), pa.binary()), [self.tick.dump()] * len(names))

    def _latest(self) -> int | None:
        """Return the time after which events are too far ahead of the clock; None: no limit."""
        if self.plan.ahead is None or self.wall is None:
            return None
        return self.wall + self.plan.ahead

    def _count(self, admission: Admission, rows: int, partition: str) -> None:
        tick, greatest = self.tick, dict(self.tick.greatest)
        if admission.greatest is not None:
            before = greatest.get(partition, admission.greatest)
            greatest[partition] = max(before, admission.greatest)
        self.tick = replace(
            tick,
            greatest=greatest,
            events=tick.events + rows,
            rejected=tick.rejected + admission.rejected_count,
            late=tick.late + admission.late_count,
        )

    def _pack(
        self, generation: int, planned_pass: PassSetup, events: pa.Table
    ) -> Iterator[pa.RecordBatch]:
        buckets = bucket_count(planned_pass, self.plan.buckets[generation])
        packing = Packing(layout=planned_pass.layout, partitions=buckets)
        key = key_of(planned_pass)
        names = np.array([str(BucketName(generation, key, number)) for number in range(buckets)])
        for batch in packing(events.combine_chunks().to_batches()):
            nonempty = batch.filter(pc.greater(pc.binary_length(batch["blob"]), 0))
            yield _rows(
                names[nonempty.column("pid").to_numpy()].tolist(),
                nonempty.column("blob"),
                [None] * nonempty.num_rows,
            )


def _rows(buckets: Sequence[str], blobs: pa.Array, ticks: Sequence[str | None]) -> pa.RecordBatch:
    columns = [pa.array(list(buckets), pa.string()), blobs, pa.array(list(ticks), pa.string())]
    return pa.RecordBatch.from_arrays(columns, schema=EVENTS)
