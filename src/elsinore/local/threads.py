# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The keys of a unit spread over threads: each has an operator of its own, and part of the events.

Kernels let other threads run. Keys know nothing of one another, so what the operators give out
together is what one would have given out; sums of a group's keys may differ in their last bit.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.kernels import enter, kernel
from elsinore.operators import Operator, OperatorStatistics

# the columns that all batches have
ALWAYS = ("key", "group", "time", "class")
STRETCH = 2**18  # rows that are made ready at once
KEPT = 2**22  # rows at once of those that are kept: fewer are put together more often
NOBODY = np.uint16(2**16 - 1)  # has rows of no interest
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


def stretches(
    rows: int, keys: int, threads: int = 1, *, kept: bool = False
) -> list[tuple[int, int]]:
    """Return the ranges of rows that operators are given in turn; `kept`: who go on reading them.

    What is made of one stays near the processor, in memory that serves again; where there are more
    keys than rows in it, what is done for all keys at once would take longer than the rows.

    >>> stretches(10, 3), stretches(10, 3, 2)
    ([(0, 10)], [(0, 5), (5, 10)])
    """
    count = max(threads, -(-rows // (KEPT if kept else max(STRETCH, keys))))
    return [(rows * n // count, rows * (n + 1) // count) for n in range(count)]


def run_in_threads(
    batch_of_rows: Callable[[int, int], pa.RecordBatch],
    ranges: Sequence[tuple[int, int]],
    new_operator: Callable[[], Operator],
    threads: int,
    *,
    keeps_all: bool,
) -> tuple[list[pa.RecordBatch], OperatorStatistics]:
    """Return what operators give out that run over all events, and their statistics.

    `batch_of_rows(begin, end)` makes the batch of some rows, in any thread. Operators held their
    memory at the same time, so it is added up. With `keeps_all` they are given events of no
    interest too.

    Each thread lets its operator take its share of one range after another. Whoever comes to a
    range that is not dealt yet deals the next that nobody has begun with: so threads wait for one
    another only where all that is left is being dealt, and one whose processor is taken away, or
    whose keys have more to do, deals less.
    """
    dealt = [Future[dict[int, pa.RecordBatch]]() for _ in ranges]  # [range][thread] -> its share
    not_begun = itertools.count()
    failed = Event()

    def deal_next() -> bool:
        number = next(not_begun)
        if number < len(ranges):
            try:
                shares = deal(batch_of_rows(*ranges[number]), threads, keeps_all=keeps_all)
                dealt[number].set_result(dict(enumerate(shares)))
            except BaseException as error:
                dealt[number].set_exception(error)
        return number < len(ranges)

    def work(number: int) -> tuple[list[pa.RecordBatch], OperatorStatistics]:
        operator, outputs = new_operator(), list[pa.RecordBatch]()
        for of_range in dealt:
            while not of_range.done() and deal_next():
                pass
            outputs += operator.process(of_range.result().pop(number))
            if failed.is_set():
                return outputs, operator.statistics
        outputs += operator.close()
        return outputs, operator.statistics

    def work_or_fail(number: int) -> tuple[list[pa.RecordBatch], OperatorStatistics]:
        try:
            return work(number)
        except BaseException:
            failed.set()
            raise

    with ThreadPoolExecutor(threads, thread_name_prefix="elsinore") as pool:
        try:
            running = [pool.submit(work_or_fail, number) for number in range(threads)]
            wait(running)
        except BaseException:  # Ctrl-C: threads end with the range that they are at
            failed.set()
            raise
    raise_first(one.exception() for one in running)
    done = [one.result() for one in running]
    together = done[0][1]
    for _, statistics in done[1:]:
        together = together.added(statistics)
    rows = ranges[-1][1]
    together = replace(together, events=rows, state_bytes=sum(one.state_bytes for _, one in done))
    return [output for outputs, _ in done for output in outputs], together


def raise_first(errors: Iterable[BaseException | None]) -> None:
    """Raise the first error there is, if any.

    >>> raise_first([None, ValueError("no number")])
    Traceback (most recent call last):
        ...
    ValueError: no number
    """
    for error in errors:
        if error is not None:
            raise error


def deal(batch: pa.RecordBatch, threads: int, *, keeps_all: bool) -> list[pa.RecordBatch]:
    """Return the rows of a batch by the remainders of their keys when divided by `threads`.

    The keys of a share, apart by `threads`, are numbered one after another. Rows that belong to no
    key, which have the key -1, keep it; they are in the first share. Without `keeps_all` rows of no
    interest, of a class below 0, are in none.
    """
    rows = batch.num_rows
    given = [np.asarray(batch.column(name).to_numpy()) for name in ALWAYS]
    taken = [_room(rows + 1, column.dtype) for column in given]
    places = _room(rows + 1 if batch.num_columns > len(ALWAYS) else 0, np.int64)
    share_of, ends = _room(rows, np.uint16), np.empty(threads + 1, dtype=np.int64)
    arguments: tuple[Any, ...] = (*given, *taken, places, share_of, ends, keeps_all)
    enter(deal_rows, 2e-6 * rows, *arguments)
    begins = [0, *ends[:threads].tolist()]
    count = begins[-1]
    columns = {name: pa.array(column[:count]) for name, column in zip(ALWAYS, taken, strict=True)}
    if len(places):
        others = batch.drop_columns([*ALWAYS]).take(pa.array(places[:count]))
        columns |= dict(zip(others.schema.names, others.columns, strict=True))
    together = pa.RecordBatch.from_pydict({name: columns[name] for name in batch.schema.names})
    return [together.slice(begin, end - begin) for begin, end in itertools.pairwise(begins)]


def _room(count: int, dtype: npt.DTypeLike) -> NDArray[Any]:
    """Return an array to be written, of Arrow's memory: that serves again across threads.

    What one thread allocates and another frees goes back to the system otherwise, page by page.
    """
    kind = np.dtype(dtype)
    return np.frombuffer(pa.allocate_buffer(count * kind.itemsize), dtype=kind)


@kernel
def deal_rows(
    keys: NDArray[np.int32],
    groups: NDArray[np.int32],
    times: NDArray[np.int64],
    codes: NDArray[np.int64],
    to_keys: NDArray[np.int32],
    to_groups: NDArray[np.int32],
    to_times: NDArray[np.int64],
    to_codes: NDArray[np.int64],
    places: NDArray[np.int64],
    share_of: NDArray[np.uint16],
    ends: NDArray[np.int64],
    keeps_all: bool,
) -> None:
    """Put the rows of each thread's keys behind those of the thread before it.

    ends: [thread], and one more; where its rows end. places: which rows they are, if it has room
    for them. share_of: [row], to work with. keeps_all: whether rows of no interest go too. What is
    written to has room for one row more.

    Two threads' rows are put down in a pass: where the next of each goes is then in registers, and
    no branch or store is guessed wrong, whatever the order of keys. A key is divided by multiplying
    doubles: half a step above a whole number, rounding does not matter.
    """
    threads = len(ends) - 1
    part = 1.0 / threads
    for row in range(len(keys)):
        key = max(keys[row], np.int32(0))
        share = key - threads * np.int64((key + 0.5) * part)
        share_of[row] = share if keeps_all or codes[row] >= 0 else NOBODY
    wanted = len(places) > 0
    begin = np.int64(0)
    for first in range(0, threads, 2):
        near, far = np.uint16(first), np.uint16(first + 1)
        ones, twos = np.int64(0), np.int64(0)
        for row in range(len(keys)):
            ones += np.int64(share_of[row] == near)
            twos += np.int64(share_of[row] == far)
        one, two = np.uint64(begin), np.uint64(begin + ones)
        begin += ones + twos
        ends[first], ends[first + 1] = begin - twos, begin
        for row in range(len(keys)):
            share = share_of[row] - near
            to = one if share == 0 else two  # rows of others where the next of `two` goes
            one += np.uint64(share == 0)
            two += np.uint64(share == 1)
            to_keys[to] = min(keys[row], np.int32((keys[row] + 0.5) * part))
            to_groups[to] = groups[row]
            to_times[to] = times[row]
            to_codes[to] = codes[row]
            if wanted:
                places[to] = row
