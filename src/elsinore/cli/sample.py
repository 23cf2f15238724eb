"""A trial run over the first events, for what `explain` tells of sharing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.cli.job import Job
from elsinore.plan.explain import Sample, SharedBursts
from elsinore.runtime.sql import evaluate_sql
from elsinore.runtime.times import to_microseconds
from elsinore.trends import SharingStatistics


def sampled(job: Job, table: pa.Table, most: int) -> Sample:
    """Run a job over the first `most` events by time; return what was shared.

    Events that cannot be used are passed over.
    """
    first = first_events(job, table, most)
    results = job.workload.run(
        first,
        time=job.time,
        type=job.type,
        time_unit=job.time_unit,
        order_by=job.order_by,
        rejects=True,
        sharing=job.sharing,
        granularity=job.granularity,
        record=True,
    )
    sets = [
        shared for one in results.statistics for shared in one.sharing if len(shared.queries) > 1
    ]
    return Sample(first.num_rows, table.num_rows, tuple(map(_shared_bursts, sets)))


def first_events(job: Job, table: pa.Table, most: int) -> pa.Table:
    """Return the first `most` events by time, in the order they stand in."""
    if table.num_rows <= most:
        return table
    micros, _ = to_microseconds(evaluate_sql(job.time, table, "time"), job.time_unit)
    first = pc.sort_indices(micros).slice(0, most)  # nulls come last
    return table.take(pa.array(np.sort(first.to_numpy())))


def _shared_bursts(found: SharingStatistics) -> SharedBursts:
    shared = [record for record in found.records if record.shared > 1]
    return SharedBursts(
        pattern=found.name,
        queries=found.queries,
        bursts=len(found.records),
        shared=len(shared),
        events=sum(record.events for record in found.records),
        shared_events=sum(record.events for record in shared),
        graphlet_snapshots=found.graphlet_snapshots,
        event_snapshots=found.event_snapshots,
    )
