"""Running a unit in threads, each with a separate operator.

Kernels release Python's lock. The shares of threads are independent of one another
(`elsinore.local.shares`), so the operators together have the outputs of a single operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from threading import Event

import pyarrow as pa

from elsinore.local.shares import Share, Shares
from elsinore.operators import Operator, OperatorStatistics
from elsinore.threads import cores, in_threads

MOST_THREADS = 2**8 - 1  # threads, whose numbers are bytes
LEAST_EVENTS = 2**17  # events of a thread below which another operator makes a run slower


def threads_for(events: int, most: int | None) -> int:
    """Return the number of threads for a number of events; at most `most`, None: all cores.

    >>> threads_for(10**7, 2), threads_for(1000, None)
    (2, 1)
    """
    return max(1, min(cores() if most is None else most, events // LEAST_EVENTS, MOST_THREADS))


def outputs_of(
    operator: Operator,
    shares: Iterable[Share],
    is_over: Callable[[], bool] = bool,  # bool() is False
) -> Iterator[pa.RecordBatch]:
    """Yield the outputs of an operator over share after share, until `is_over`."""
    for share in shares:
        for batch in share:
            yield from operator.process(batch)
            if is_over():
                break
        if is_over():
            break
        yield from operator.close()


def run_in_threads(
    shares: Shares, new_operator: Callable[[], Operator], rows: int
) -> tuple[list[pa.RecordBatch], OperatorStatistics]:
    """Run one operator per thread over shares; return all outputs and the total statistics.

    Threads take share after share, and create the batches of a share while they read it. The shares
    have `rows` rows in total, including irrelevant ones. Operators exist at the same time, so their
    memory is summed. Threads only wait for one another at the end.
    """
    has_failed = Event()

    def work(
        shares_of_thread: Iterable[Share],
    ) -> tuple[list[pa.RecordBatch], OperatorStatistics] | None:
        if has_failed.is_set():
            return None
        operator = new_operator()
        outputs = list(outputs_of(operator, shares_of_thread, has_failed.is_set))
        return outputs, operator.statistics

    def fail() -> None:
        has_failed.set()
        shares.stop()

    results = in_threads(
        [partial(work, shares_of_thread) for shares_of_thread in shares.by_thread], fail
    )
    finished = [result for result in results if result is not None]
    total = finished[0][1]
    for _, statistics in finished[1:]:
        total = total.added(statistics)
    state_bytes = sum(operator_statistics.state_bytes for _, operator_statistics in finished)
    total = replace(total, events=rows, state_bytes=state_bytes)
    return [output for outputs, _ in finished for output in outputs], total
