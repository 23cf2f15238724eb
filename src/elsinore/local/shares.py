"""Dividing a unit's events among threads: by windows, or by keys.

By windows: the rows are cut at times that no window crosses, into several shares per thread.
Threads take the next share when they finish one, as cores are not equally fast. A thread's operator
is closed after each share and reused for the next. Results equal those of one thread to the last
bit, except variances, which are computed from values of each share.

By keys: each thread selects the rows of its keys. Sums over a group's keys may differ in the last
bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.local.events import Events, split_by_thread
from elsinore.local.parting import Parting
from elsinore.model.window import Window, common_borders, last_window, window_start
from elsinore.operators import kind_for
from elsinore.threads import nothing

STRETCH = 2**18  # rows of a batch
COMBINED_ROWS = 2**22  # rows of a batch for operators that keep batches, to combine fewer
TURNS = 8  # maximum of equal shares per thread
SHARE = 2**19  # least rows of an equal share; closing the operator costs too much for fewer
LAST = 2**17  # least rows of the last shares, which are few
EVEN = 1.1  # accepted ratio of the slowest thread's time to the ideal time


Share = Iterable[pa.RecordBatch]  # created when read; no window extends beyond them


@dataclass(frozen=True, slots=True)
class Shares:
    """The shares of each thread's operator; threads may take shares dynamically."""

    by_thread: Sequence[Iterable[Share]]
    stop: Callable[[], None] = nothing  # called if a thread fails


def shares_of(events: Events, threads: int, *, by_windows: bool) -> Shares:
    """Return the shares of up to `threads` threads.

    `by_windows`: events are in time order, and memory suffices for all keys in each thread.
    """
    unit, rows, keys = events.unit, len(events.times), events.keys.count
    kind = kind_for(unit)
    keeps_batches = kind.keeps_batches(unit)
    windows = kind.windows(unit)
    if threads > 1 and by_windows and not isinstance(windows, str):
        spans = whole_windows(events.times, windows, threads)
        if len(spans) > 1:
            left = iter(spans)  # idle threads take the next one

            def share(span: tuple[int, int]) -> Share:
                return itertools.starmap(
                    events.batch, stretches(*span, keys, keeps_batches=keeps_batches)
                )

            return Shares([map(share, left) for _ in range(threads)])
    threads = min(threads, keys)
    if threads > 1:

        def part(begin: int, end: int) -> list[pa.RecordBatch]:
            return split_by_thread(events.batch(begin, end), threads, keeps_all=unit.keeps_all)

        parting = Parting(part, stretches(0, rows, keys), threads)
        parts = [parting.parts(thread) for thread in range(threads)]
        return Shares(
            [
                [combine_batches(thread_batches) if keeps_batches else thread_batches]
                for thread_batches in parts
            ],
            parting.stop,
        )
    to_the_end = keeps_batches and isinstance(
        windows, str
    )  # combined batches are then in one piece
    ranges = [(0, rows)] if to_the_end else stretches(0, rows, keys, keeps_batches=keeps_batches)
    return Shares([[itertools.starmap(events.batch, ranges)]])


def combine_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Combine batches into ones of at least COMBINED_ROWS rows, except the last."""
    waiting, rows = list[pa.RecordBatch](), 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= COMBINED_ROWS:
            yield pa.concat_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.concat_batches(waiting)


def whole_windows(
    times: NDArray[np.int64], windows: Sequence[Window], threads: int
) -> list[tuple[int, int]]:
    """Return ranges of rows that no window crosses, for threads that take them in turn.

    Ranges shrink toward the end, so that threads finish together. If windows are too long for that,
    ranges have similar sizes, as many as keep all threads busy; if that is impossible too, there is
    one range. `times` is ascending.

    >>> whole_windows(np.arange(12), [Window(3)], 2), whole_windows(np.arange(12), [Window(10)], 2)
    ([(0, 6), (6, 12)], [(0, 12)])
    """
    rows, borders = len(times), common_borders(windows)
    if borders is not None:
        turns = max(1, min(TURNS, rows // (threads * SHARE)))
        several = shrinking(rows, threads), *_even(rows, threads, turns)
        for spans in (_cut(times, *borders, middles) for middles in several):
            if _longest(spans, threads) * threads <= EVEN * rows:
                return spans
    return [(0, rows)]


def shrinking(rows: int, threads: int) -> list[int]:
    """Return the ends of shares, each half of a thread's equal share of the remaining rows.

    >>> shrinking(2**20, 2), shrinking(2**17, 2)
    ([262144, 458752, 606208, 737280, 868352, 999424], [])
    """
    cuts, begin = list[int](), 0
    while (begin := begin + max(LAST, (rows - begin) // (2 * threads))) < rows:
        cuts.append(begin)
    return cuts


def _even(rows: int, threads: int, turns: int) -> Iterator[list[int]]:
    """Yield the ends of `turns` equal shares per thread; then of half as many, and so on."""
    while turns:
        count = threads * turns
        yield [rows * number // count for number in range(1, count)]
        turns //= 2


def _cut(
    times: NDArray[np.int64], length: int, origin: int, middles: Sequence[int]
) -> list[tuple[int, int]]:
    """Return ranges of rows that end at the borders of windows nearest to the rows `middles`."""
    cuts = {0, len(times)}
    for middle in middles:
        before = window_start(last_window(int(times[middle]), length, origin), length, origin)
        borders = [edge for edge in (before, before + length) if times[0] < edge <= times[-1]]
        begins = np.searchsorted(times, np.array(borders, np.int64))
        if borders:
            cuts.add(int(begins[np.abs(begins - middle).argmin()]))
    return list(itertools.pairwise(sorted(cuts)))


def _longest(spans: Sequence[tuple[int, int]], threads: int) -> int:
    """Return the greatest number of rows of a thread if threads take ranges in turn."""
    rows_by_thread = [0] * threads
    for begin, end in spans:
        rows_by_thread[rows_by_thread.index(min(rows_by_thread))] += end - begin
    return max(rows_by_thread)


def stretches(
    begin: int, end: int, keys: int, *, keeps_batches: bool = False
) -> list[tuple[int, int]]:
    """Return the ranges of rows for successive batches.

    A batch is small enough for the processor's cache, and its memory is reused. With many keys,
    batches are larger, as operators have a cost per key for each batch. `keeps_batches`: operators
    still read a batch after the next one.

    >>> stretches(0, 10, 3), stretches(5, 2**19 + 5, 3), stretches(0, 2**19, 2**19)
    ([(0, 10)], [(5, 262149), (262149, 524293)], [(0, 524288)])
    """
    rows = end - begin
    count = max(1, -(-rows // (COMBINED_ROWS if keeps_batches else max(STRETCH, keys))))
    return [(begin + rows * n // count, begin + rows * (n + 1) // count) for n in range(count)]
