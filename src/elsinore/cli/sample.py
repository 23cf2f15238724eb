"""A trial run over the first events, for sharing in `explain`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_arrow, to_numpy
from elsinore.cli.job import Job
from elsinore.model.clock import ROWS
from elsinore.operators import Sample
from elsinore.runtime.sql import evaluate_sql
from elsinore.runtime.times import to_ticks


def sample_statistics(job: Job, table: pa.Table, most: int) -> Sample:
    """Run a job over the first `most` events by time; return its statistics.

    Unusable events are ignored.
    """
    first = first_events(job, table, most)
    results = job.workload.run(
        first,
        **job.times.arguments,
        type=job.type,
        order_by=job.order_by,
        rejects=True,
        sharing=job.sharing,
        granularity=job.granularity,
        record=True,
    )
    return Sample(first.num_rows, table.num_rows, results.statistics)


def first_events(job: Job, table: pa.Table, most: int) -> pa.Table:
    """Return the first `most` events by time, in their original order."""
    if table.num_rows <= most:
        return table
    if job.time == ROWS:
        return table.slice(0, most)
    micros, _ = to_ticks(evaluate_sql(job.time, table, "time"), job.times.unit)
    first = pc.sort_indices(micros).slice(0, most)  # nulls come last
    return table.take(to_arrow(np.sort(to_numpy(first))))
