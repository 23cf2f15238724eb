"""The keys of a unit spread over threads: each has an operator of its own, and part of the events.

Kernels let other threads run. Keys know nothing of one another, so what the operators give out
together is what one would have given out; sums of a group's keys may differ in their last bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from threading import Event

import pyarrow as pa

from elsinore.operators import Operator, OperatorStatistics

STRETCH = 2**18  # rows for each thread that are made ready at once
KEPT = 2**22  # the same of those that are kept: fewer are put together more often
MOST = 2**8 - 1  # threads, whose numbers are bytes
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
    return max(1, min(cores() if most is None else most, keys, events // WORTH, MOST))


def stretches(
    rows: int, keys: int, threads: int = 1, *, kept: bool = False
) -> list[tuple[int, int]]:
    """Return the ranges of rows that operators are given in turn; `kept`: who go on reading them.

    What a thread makes of one stays near the processor, in memory that serves again; where there
    are more keys than rows in it, what is done for all keys at once would take longer than they do.

    >>> stretches(10, 3), stretches(2**19, 3), stretches(2**19, 3, 2)
    ([(0, 10)], [(0, 262144), (262144, 524288)], [(0, 524288)])
    """
    count = max(1, -(-rows // (threads * (KEPT if kept else max(STRETCH, keys)))))
    return [(rows * n // count, rows * (n + 1) // count) for n in range(count)]


def run_in_threads(
    share_of: Callable[[int, int, int], pa.RecordBatch],
    ranges: Sequence[tuple[int, int]],
    new_operator: Callable[[], Operator],
    threads: int,
) -> tuple[list[pa.RecordBatch], OperatorStatistics]:
    """Return what operators give out that run over all events, and their statistics.

    `share_of(begin, end, thread)` makes the batch of what a thread has of some rows, in that
    thread. Operators held their memory at the same time, so it is added up. Threads wait for one
    another at the end alone.
    """
    failed = Event()

    def work(number: int) -> tuple[list[pa.RecordBatch], OperatorStatistics]:
        operator, outputs = new_operator(), list[pa.RecordBatch]()
        for begin, end in ranges:
            outputs += operator.process(share_of(begin, end, number))
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
