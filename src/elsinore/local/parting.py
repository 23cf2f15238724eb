"""Batches that are made once and parted by keys, for threads that each have some of the keys.

Whoever is in want of its part of a batch makes the next that nobody has begun, so that no thread
waits for another while there is something to make, and one that gets on faster makes more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Condition

import pyarrow as pa

SPARE = 4  # batches, beyond one for each thread, that may be there before all have the first


class Parting:
    """Ranges of rows, each parted for all threads by the one that comes to it first.

    `part(begin, end)` returns the part of each thread. Some threads' parts wait until they take
    them: so no more than SPARE and one for each thread are begun before the slowest has come to
    them. With fewer, a thread that gets on faster for a while waits for the others.

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
        self._begun = 0
        self._stopped = False
        self._taken = [0] * threads  # parts, by each of the threads
        self._parts: list[dict[int, pa.RecordBatch]] = [{} for _ in range(threads)]
        self._changed = Condition()

    def parts(self, thread: int) -> Iterator[pa.RecordBatch]:
        """Return a thread's parts of all ranges, in turn; none after a `stop`."""
        for number in range(len(self._ranges)):
            mine = self._take(thread, number)
            if mine is None:
                return
            yield mine

    def stop(self) -> None:
        """Let nobody wait any more: some thread does not go on."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _take(self, thread: int, number: int) -> pa.RecordBatch | None:
        """Return a thread's part of a range; make others meanwhile, where it is not there yet."""
        while True:
            with self._changed:
                while not (self._stopped or number in self._parts[thread] or self._may_begin()):
                    self._changed.wait()
                if self._stopped:
                    return None
                if number in self._parts[thread]:
                    self._taken[thread] += 1
                    self._changed.notify_all()  # others may begin more
                    return self._parts[thread].pop(number)
                begun = self._begun
                self._begun += 1
            parts = self._part(*self._ranges[begun])
            with self._changed:
                for of_thread, part in zip(self._parts, parts, strict=True):
                    of_thread[begun] = part
                self._changed.notify_all()

    def _may_begin(self) -> bool:
        """Return whether there is a range that may be begun."""
        ahead = min(self._taken) + len(self._parts) + SPARE
        return self._begun < min(len(self._ranges), ahead)
