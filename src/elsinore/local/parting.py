"""Batches that are created once and partitioned by key, for threads that process different keys.

A thread whose next part does not exist yet creates the next batch that no thread has started, so no
thread waits while a batch can be created, and faster threads create more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Condition

import pyarrow as pa

BATCHES_AHEAD = 4  # batches that may exist in addition to one per thread


class Parting:
    """Ranges of rows, each divided for all threads by the first thread that reaches it.

    `part(begin, end)` returns the part of each thread. Parts wait until their threads take them, so
    the number of begun ranges ahead of the slowest thread is limited to SPARE and one per thread.
    With a lower limit, a temporarily faster thread would wait for the others.

    >>> parting = Parting(lambda begin, end: ["even", "odd"], [(0, 5), (5, 9)], 2)
    >>> [list(parting.parts(thread)) for thread in range(2)]
    [['even', 'even'], ['odd', 'odd']]
    """

    def __init__(
        self,
        part: Callable[[int, int], Sequence[pa.RecordBatch]],
        ranges: Sequence[tuple[int, int]],
        threads: int,
    ) -> None:
        self._part = part
        self._ranges = ranges
        self._next_range = 0
        self._stopped = False
        self._parts_taken = [0] * threads  # parts, by each of the threads
        self._parts: list[dict[int, pa.RecordBatch]] = [{} for _ in range(threads)]
        self._changed = Condition()

    def parts(self, thread: int) -> Iterator[pa.RecordBatch]:
        """Yield a thread's parts of all ranges in order; none after a `stop`."""
        for number in range(len(self._ranges)):
            part = self._take(thread, number)
            if part is None:
                return
            yield part

    def stop(self) -> None:
        """Stop waiting threads, as a thread has failed."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _take(self, thread: int, number: int) -> pa.RecordBatch | None:
        """Return a thread's part of a range; create other ranges until it exists."""
        while True:
            with self._changed:
                while not (self._stopped or number in self._parts[thread] or self._may_begin()):
                    self._changed.wait()
                if self._stopped:
                    return None
                if number in self._parts[thread]:
                    self._parts_taken[thread] += 1
                    self._changed.notify_all()  # other threads may begin more
                    return self._parts[thread].pop(number)
                number_of_range = self._next_range
                self._next_range += 1
            parts = self._part(*self._ranges[number_of_range])
            with self._changed:
                for thread_parts, part in zip(self._parts, parts, strict=True):
                    thread_parts[number_of_range] = part
                self._changed.notify_all()

    def _may_begin(self) -> bool:
        """Return whether a further range may be begun."""
        ahead = min(self._parts_taken) + len(self._parts) + BATCHES_AHEAD
        return self._next_range < min(len(self._ranges), ahead)
