"""The keys of a unit spread over threads: each has an operator of its own, and part of the events.

Kernels let other threads run. Keys know nothing of one another, so what the operators give out
together is what one would have given out; sums of a group's keys may differ in their last bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.kernels import enter, kernel
from elsinore.operators import Operator, OperatorStatistics

_ALWAYS = ("key", "group", "time", "class")  # the columns that all batches have
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

    def work(number: int) -> tuple[list[pa.RecordBatch], OperatorStatistics]:
        return _run(share_of(batch, number, threads), new_operator)

    with ThreadPoolExecutor(threads, thread_name_prefix="elsinore") as pool:
        done = list(pool.map(work, range(threads)))
    together = done[0][1]
    for _, statistics in done[1:]:
        together = together.added(statistics)
    together = replace(together, state_bytes=sum(one.state_bytes for _, one in done))
    return [output for outputs, _ in done for output in outputs], together


def share_of(batch: pa.RecordBatch, number: int, threads: int) -> pa.RecordBatch:
    """Return the rows of a batch whose keys leave a remainder when divided by `threads`.

    Their keys, apart by `threads`, are numbered one after another. Rows that belong to no key,
    which have the key -1, keep it.
    """
    rows = batch.num_rows
    given = [np.asarray(batch.column(name).to_numpy()) for name in _ALWAYS]
    taken = [np.empty(rows, dtype=column.dtype) for column in given]
    places = np.empty(rows if batch.num_columns > len(_ALWAYS) else 0, dtype=np.int64)
    seconds: float = 1e-6 * rows
    arguments: tuple[Any, ...] = (*given, *taken, places, number, threads)
    count: int = enter(pick, seconds, *arguments)
    columns = {name: pa.array(column[:count]) for name, column in zip(_ALWAYS, taken, strict=True)}
    if len(places):
        others = batch.drop_columns(list(_ALWAYS)).take(pa.array(places[:count]))
        columns |= dict(zip(others.schema.names, others.columns, strict=True))
    return pa.RecordBatch.from_pydict({name: columns[name] for name in batch.schema.names})


@kernel
def pick(
    keys: NDArray[np.int32],
    groups: NDArray[np.int32],
    times: NDArray[np.int64],
    codes: NDArray[np.int64],
    to_keys: NDArray[np.int32],
    to_groups: NDArray[np.int32],
    to_times: NDArray[np.int64],
    to_codes: NDArray[np.int64],
    places: NDArray[np.int64],
    number: int,
    threads: int,
) -> int:
    """Put the rows of a thread's keys one after another; return how many they are.

    places: which they are, if it has room for them. Rows without a key are the last thread's.
    """
    count = 0
    wanted = len(places) > 0
    for row in range(len(keys)):
        key = keys[row]
        to_keys[count] = key // threads
        to_groups[count] = groups[row]
        to_times[count] = times[row]
        to_codes[count] = codes[row]
        if wanted:
            places[count] = row
        count += key % threads == number
    return count


def _run(
    batch: pa.RecordBatch, new_operator: Callable[[], Operator]
) -> tuple[list[pa.RecordBatch], OperatorStatistics]:
    operator = new_operator()
    outputs = [*operator.process(batch), *operator.close()]
    return outputs, operator.statistics
