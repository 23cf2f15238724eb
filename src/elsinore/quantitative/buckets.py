"""The buckets of exponential histograms, changed in place behind states that are values.

A query may hold a histogram at several live split points, and each may go on from it. A state
(`Histogram`) is a number of pushes to the same buckets. The newest state's buckets are changed in
place; where an older one is read again, its pushes are repeated on a copy of what was before them.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

LEAST_ROOM, MOST_ROOM = 32, 1024  # marks that are noted before buckets are copied
START, COUNT, RING = range(3)  # columns
NO_LIMIT = 4_611_686_018_427_387_904  # 2**62, beyond all numbers of values


class Buckets:
    """The buckets of a window's last values, by their widths: 1, 2, 4, ... events.

    size: of the window; most_single, most_wider: how many buckets of one event there may be, and
    how many of a greater width; number: of values so far; total: of events in all buckets; widest:
    the number of the greatest width of a bucket, -1 without buckets. rings, array: by width, where
    the oldest bucket is in the ring, how many there are (`START`, `COUNT`), and the ring from
    `RING` on: the places of buckets' last events.
    """

    def __init__(self, size: int, most_single: int, most_wider: int) -> None:
        self.size = min(size, NO_LIMIT)
        self.most_single, self.most_wider = min(most_single, NO_LIMIT), min(most_wider, NO_LIMIT)
        self.number, self.total, self.widest = 0, 0, -1
        self.array = self.rings = np.zeros((4, RING + 4), np.int64)

    def copy(self) -> Buckets:
        """Return the same buckets, which change apart from these."""
        copy: Buckets = Buckets(self.size, self.most_single, self.most_wider)
        copy.number, copy.total, copy.widest = self.number, self.total, self.widest
        copy.array = copy.rings = self.array.copy()
        return copy

    def to_tuple(self) -> tuple[int, int, tuple[tuple[int, int], ...]]:
        """Return the number of values, that of events, and the buckets from the newest on."""
        buckets: list[tuple[int, int]] = []
        for width, (start, count, *ring) in enumerate(self.array.tolist()):
            ages = range(count - 1, -1, -1)
            buckets += [(ring[(start + age) % len(ring)], 1 << width) for age in ages]
        return self.number, self.total, tuple(buckets)


@cython.cfunc
def _append(buckets: Buckets, width: cython.Py_ssize_t, place: cython.longlong) -> cython.int:
    """Add the newest bucket of a width."""
    widths: cython.Py_ssize_t = buckets.rings.shape[0]
    room: cython.Py_ssize_t = buckets.rings.shape[1] - RING
    if width >= widths:
        array = np.zeros((2 * width, RING + room), np.int64)
        array[:widths] = buckets.array
        buckets.array = buckets.rings = array
    elif buckets.rings[width, COUNT] == room:
        array = np.zeros((widths, RING + 2 * room), np.int64)
        array[:, COUNT] = buckets.array[:, COUNT]
        for row, before in enumerate(buckets.array):  # the oldest first
            array[row, RING : RING + room] = np.roll(before[RING:], -before[START])
        buckets.array = buckets.rings = array
        room *= 2
    last: cython.longlong = buckets.rings[width, START] + buckets.rings[width, COUNT]
    buckets.rings[width, RING + (last & (room - 1))] = place
    buckets.rings[width, COUNT] += 1
    buckets.widest = max(buckets.widest, width)
    return 0


@cython.cfunc
def _without_oldest(buckets: Buckets, width: cython.Py_ssize_t) -> cython.longlong:
    """Remove the oldest bucket of a width; return its place."""
    start: cython.longlong = buckets.rings[width, START]
    place: cython.longlong = buckets.rings[width, RING + start]
    room: cython.Py_ssize_t = buckets.rings.shape[1] - RING
    buckets.rings[width, START] = (start + 1) & (room - 1)
    buckets.rings[width, COUNT] -= 1
    return place


@cython.cfunc
def _take(buckets: Buckets, mark: cython.bint) -> cython.int:
    """Take a value, an event if `mark` is true."""
    width: cython.Py_ssize_t = buckets.widest
    one: cython.longlong = 1
    buckets.number += 1
    if width >= 0:
        place: cython.longlong = buckets.rings[width, RING + buckets.rings[width, START]]
        if place <= buckets.number - buckets.size:
            _without_oldest(buckets, width)
            buckets.total -= one << width
            while buckets.widest >= 0 and not buckets.rings[buckets.widest, COUNT]:
                buckets.widest -= 1
    if not mark:
        return 0
    buckets.total += 1
    most: cython.longlong = buckets.most_single
    width = 0
    _append(buckets, 0, buckets.number)
    while buckets.rings[width, COUNT] > most:
        # the two oldest of the width become one, as new as the newer
        _without_oldest(buckets, width)
        place = _without_oldest(buckets, width)
        width += 1
        _append(buckets, width, place)
        most = buckets.most_wider
    return 0


class Pushes:
    """Pushes to the same buckets.

    before, after: the buckets before them and after them; marks, count: what was pushed, and how
    many; where there is no room for more marks, `after` does not change any more.
    """

    def __init__(self, before: Buckets, after: Buckets, room: int) -> None:
        self.before, self.after = before, after
        self.marks, self.count = np.zeros(room, np.uint8), 0


class Histogram:
    """A state of an exponential histogram; it is never changed.

    pushes, at: the buckets after so many pushes; estimate: the number of events.

    >>> one = Histogram(3, 2, 1).push(1)
    >>> two, other = one.push(1), one.push(0)
    >>> one.value(), two.value(), other.value(), two.push(0).push(0).value()
    (1, 2, 1, 1)
    >>> two.to_tuple()
    (2, 2, ((2, 1), (1, 1)))
    """

    def __init__(self, size: int, most_single: int, most_wider: int) -> None:
        empty = Buckets(size, most_single, most_wider)
        self.pushes, self.at, self.estimate = Pushes(empty, empty, 0), 0, 0

    def push(self, mark: object) -> Histogram:
        """Return the state after one more value, an event if `mark` is true."""
        event: cython.bint = bool(mark)
        pushes: Pushes = _pushes_of(self)
        _take(pushes.after, event)
        pushes.marks[pushes.count] = event
        pushes.count += 1
        newer: Histogram = Histogram.__new__(Histogram)
        newer.pushes, newer.at = pushes, pushes.count
        newer.estimate = _estimate(pushes.after)
        return newer

    def value(self) -> int:
        """Return the number of events; half of the oldest bucket's count."""
        return self.estimate

    def to_tuple(self) -> tuple[int, int, tuple[tuple[int, int], ...]]:
        """Return the number of values, that of events, and the buckets from the newest on."""
        return _buckets_of(self).to_tuple()

    def restored(self, saved: Any) -> Histogram:
        """Return the state of a tuple. Raises ValueError for what is no state of this window."""
        number, total, pairs = saved
        buckets: Buckets = self.pushes.before.copy()
        if not 0 <= number < NO_LIMIT or total != sum(width for _, width in pairs):
            raise ValueError("the buckets do not have the window's events")
        before = number - buckets.size
        for place, width in reversed(pairs):
            if not before < place <= number or not 0 < width < NO_LIMIT or width & (width - 1):
                raise ValueError("the buckets do not fit the window")
            _append(buckets, width.bit_length() - 1, place)
            before = place
        buckets.number, buckets.total = number, total
        if buckets.to_tuple() != saved:
            raise ValueError("the buckets are not in the order of their widths")
        state: Histogram = Histogram.__new__(Histogram)
        state.pushes, state.at = Pushes(buckets, buckets, 0), 0
        state.estimate = _estimate(buckets)
        return state

    def __reduce__(self) -> tuple[Any, ...]:
        buckets: Buckets = self.pushes.before
        arguments = buckets.size, buckets.most_single, buckets.most_wider
        return _of_tuple, (*arguments, self.to_tuple())


def _of_tuple(size: int, most_single: int, most_wider: int, saved: Any) -> Histogram:
    return Histogram(size, most_single, most_wider).restored(saved)


@cython.cfunc
def _estimate(buckets: Buckets) -> cython.longlong:
    """Return the number of events; half of the oldest bucket's count."""
    one: cython.longlong = 1
    if buckets.widest < 0:
        return 0
    return buckets.total - (one << buckets.widest) // 2


@cython.cfunc
def _buckets_of(state: Histogram) -> Buckets:
    """Return the buckets of a state, which must not be changed."""
    pushes: Pushes = state.pushes
    if state.at == pushes.count:
        return pushes.after
    buckets: Buckets = pushes.before.copy()
    number: cython.Py_ssize_t
    for number in range(state.at):
        _take(buckets, pushes.marks[number])
    state.pushes, state.at = Pushes(buckets, buckets, 0), 0  # it may be read again
    return buckets


@cython.cfunc
def _pushes_of(state: Histogram) -> Pushes:
    """Return the pushes that the next one to a state belongs to."""
    pushes: Pushes = state.pushes
    if state.at == pushes.count and pushes.count < pushes.marks.shape[0]:
        return pushes
    before: Buckets = _buckets_of(state)
    room = min(max(LEAST_ROOM, 2 * pushes.marks.shape[0]), MOST_ROOM)
    return Pushes(before, before.copy(), room)
