"""What each thread takes of a unit's events: some windows, or some keys.

Windows that no other crosses are cut off where they stand, and results are those of one thread to
the last bit, variances aside: each thread has its own values to work them out from. Keys have to be
picked out, row by row. They know nothing of one another either, but sums of a group's keys may
differ in their last bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.local.events import Events
from elsinore.model.window import Window, last_window, window_start
from elsinore.operators import kind_for
from elsinore.plan.panes import common_borders

STRETCH = 2**18  # rows for each thread that are made ready at once
KEPT = 2**22  # the same of those that are kept: fewer are put together more often
EVEN = 1.1  # the longest share of windows is at most so many times as long as it would be at best


def shares_of(events: Events, threads: int, *, by_windows: bool) -> list[Iterable[pa.RecordBatch]]:
    """Return the batches that each of so many threads is given, or fewer; made as they are read.

    `by_windows`: events are in time order, and memory suffices for all keys in each thread.
    """
    unit, rows, keys = events.unit, len(events.times), events.keys.count
    kind = kind_for(unit)
    kept = kind.keeps_batches(unit)
    windows = kind.windows(unit)
    if threads > 1 and by_windows and not isinstance(windows, str):
        spans = whole_windows(events.times, windows, threads)
        if len(spans) > 1:
            return [
                itertools.starmap(events.batch, stretches(*span, keys, kept=kept)) for span in spans
            ]
    threads = min(threads, keys)
    if threads > 1:
        events = events.kept(threads)
        owners = events.owners(threads)
        ranges = stretches(0, rows, keys, threads, kept=kept)
        return [
            itertools.starmap(partial(events.share, owners, threads, thread), ranges)
            for thread in range(threads)
        ]
    to_the_end = kept and isinstance(windows, str)  # what is put together then comes in one piece
    ranges = [(0, rows)] if to_the_end else stretches(0, rows, keys, kept=kept)
    return [itertools.starmap(events.batch, ranges)]


def whole_windows(
    times: NDArray[np.int64], windows: Sequence[Window], threads: int
) -> list[tuple[int, int]]:
    """Return a range of rows for each thread, about as long, that no window crosses.

    One range of all where there are none. times: ascending.

    >>> whole_windows(np.arange(12), [Window(3)], 2), whole_windows(np.arange(12), [Window(10)], 2)
    ([(0, 6), (6, 12)], [(0, 12)])
    """
    rows = len(times)
    found = common_borders(windows)
    if found is None:
        return [(0, rows)]
    length, origin = found
    cuts = [0]
    for thread in range(1, threads):
        middle = rows * thread // threads
        before = window_start(last_window(int(times[middle]), length, origin), length, origin)
        borders = [edge for edge in (before, before + length) if times[0] < edge <= times[-1]]
        begins = np.searchsorted(times, np.array(borders, np.int64))
        cuts.append(int(begins[np.abs(begins - middle).argmin()]) if borders else 0)
    cuts.append(rows)
    spans = list(itertools.pairwise(cuts))
    even = max(end - begin for begin, end in spans) * threads <= EVEN * rows
    return spans if even else [(0, rows)]


def stretches(
    begin: int, end: int, keys: int, threads: int = 1, *, kept: bool = False
) -> list[tuple[int, int]]:
    """Return the ranges of rows that operators are given in turn; `kept`: who go on reading them.

    What a thread makes of one stays near the processor, in memory that serves again; where there
    are more keys than rows in it, what is done for all keys at once would take longer than they do.

    >>> stretches(0, 10, 3), stretches(5, 2**19 + 5, 3), stretches(0, 2**19, 3, 2)
    ([(0, 10)], [(5, 262149), (262149, 524293)], [(0, 524288)])
    """
    rows = end - begin
    count = max(1, -(-rows // (threads * (KEPT if kept else max(STRETCH, keys)))))
    return [(begin + rows * n // count, begin + rows * (n + 1) // count) for n in range(count)]
