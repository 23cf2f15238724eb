# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The windows of keys that hold events, and what is given out of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels import enter, kernel
from elsinore.model.window import Window
from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.core.search import below
from elsinore.trends.core.window_times import first_window, start_of
from elsinore.trends.keyed import Ints

_FEW = 2**10  # windows for which there is room at first


class Keys(NamedTuple):
    """Which windows of which events are wanted; see `KeyedEvents`."""

    starts: Ints
    done: Ints
    until: Ints
    times: Ints
    by_time: bool  # else each event is a moment of its own


class Wanted(NamedTuple):
    """The windows [origin + k * step, ... + within) for every k; within FOREVER: one for all."""

    within: int
    step: int
    origin: int


def wanted_of(window: Window | None) -> Wanted:
    """Return the windows of a query."""
    if window is None:
        return Wanted(int(FOREVER), 1, 0)
    return Wanted(window.within, window.step, window.origin)


class Windows(NamedTuple):
    """The windows of keys that hold events, and these events' rows."""

    key: Ints
    window: Ints
    low: Ints
    high: Ints  # the row after the last
    longest: int  # rows


def windows(keys: Keys, wanted: Wanted) -> Windows:
    """Return the windows that end after `done` and at or before `until`, key after key."""
    room, count = 0, _FEW
    while count > room:
        room = count
        columns = np.empty((4, room), dtype=np.int64)
        count, longest = enter(find_windows, 1e-5 * len(keys.times), keys, wanted, columns)
    key, window, low, high = columns[:, :count]
    return Windows(key, window, low, high, longest)


@kernel
def find_windows(keys: Keys, wanted: Wanted, columns: Ints) -> tuple[int, int]:
    """Fill the columns of `Windows`; return how many there are and the most rows of one.

    Where there are more windows than room, the first are filled in.
    """
    count = 0
    longest = np.int64(0)
    within, step, origin = wanted.within, wanted.step, wanted.origin
    for key in range(len(keys.starts) - 1):
        low, stop = keys.starts[key], keys.starts[key + 1]
        high = low
        done, until = keys.done[key], keys.until[key]
        index = np.int64(0)
        if low == stop or done == FOREVER:
            continue
        if within == FOREVER:
            if until != FOREVER:
                continue
        else:
            index = first_window(keys.times[low], within, step, origin)
            if done != NEVER:
                index = max(index, first_window(done, within, step, origin))
        while low < stop:
            if within == FOREVER:
                high = stop
            else:
                start = start_of(int(index), step, origin)
                end = start + within
                if until != FOREVER and end > until:
                    break
                while low < stop and keys.times[low] < start:
                    low += 1
                if low == stop:
                    break
                if keys.times[low] >= end:
                    index = max(index + 1, first_window(keys.times[low], within, step, origin))
                    continue
                high = row_at(keys.times, max(high, low), stop, end)
            if count < columns.shape[1]:
                columns[0, count], columns[1, count] = key, index
                columns[2, count], columns[3, count] = low, high
            longest = max(longest, high - low)
            count += 1
            index += 1
            if within == FOREVER:
                break
    return count, longest


@kernel(linked=True)
def row_at(times: Ints, low: int, high: int, time: int) -> int:
    """Return the first of rows `low` to `high` - 1 that is not before a time, or `high`.

    It takes steps as many as the logarithm of how far that is.
    """
    step = np.int64(1)
    while low + step <= high and times[low + step - 1] < time:
        low += step
        step += step
    return below(times, low, min(high, low + step - 1), time)
