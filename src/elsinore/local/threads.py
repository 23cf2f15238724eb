"""The keys of a unit spread over threads: each has an operator of its own, and part of the events.

Kernels let other threads run. Keys know nothing of one another, so what the operators give out
together is what one would have given out; sums of a group's keys may differ in their last bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.operators import Operator, OperatorStatistics

WORTH = 2**17  # events of a thread below which starting another operator takes more than it gives


def cores() -> int:
    """Return how many threads can run at once in this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_for(events: int, keys: int, most: int | None) -> int:
    """Return over how many threads so many events are spread; `most` as told, None: all cores.

    >>> threads_for(10**7, 1000, 2), threads_for(10**7, 1, 8), threads_for(1000, 50, None)
    (2, 1, 1)
    """
    return max(1, min(cores() if most is None else most, keys, events // WORTH))


def run_in_threads(
    batch: pa.RecordBatch, new_operator: Callable[[], Operator], threads: int
) -> tuple[list[pa.RecordBatch], OperatorStatistics]:
    """Return what operators give out that run over a batch, all its keys' events; their statistics.

    Operators held their memory at the same time, so it is added up.
    """
    keys = batch.column("key").to_numpy()

    def work(number: int) -> tuple[list[pa.RecordBatch], OperatorStatistics]:
        rows = np.flatnonzero(keys % threads == number)
        return _run(_share(batch, keys, rows, threads), new_operator)

    with ThreadPoolExecutor(threads, thread_name_prefix="elsinore") as pool:
        done = list(pool.map(work, range(threads)))
    together = done[0][1]
    for _, statistics in done[1:]:
        together = together.added(statistics)
    together = replace(together, state_bytes=sum(one.state_bytes for _, one in done))
    return [output for outputs, _ in done for output in outputs], together


def _share(
    batch: pa.RecordBatch, keys: NDArray[np.int32], rows: NDArray[np.int64], threads: int
) -> pa.RecordBatch:
    """Return some rows of a batch; their keys, apart by `threads`, are numbered one after another.

    Rows that belong to no key, which have the key -1, keep it.
    """
    share = batch.take(pa.array(rows))
    place = batch.schema.get_field_index("key")
    return share.set_column(place, "key", pa.array(keys[rows] // np.int32(threads)))


def _run(
    batch: pa.RecordBatch, new_operator: Callable[[], Operator]
) -> tuple[list[pa.RecordBatch], OperatorStatistics]:
    operator = new_operator()
    outputs = [*operator.process(batch), *operator.close()]
    return outputs, operator.statistics
