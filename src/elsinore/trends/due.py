"""Which windows of keys are due, which rows these hold, and which the open ones still need."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.model.window import Window
from elsinore.trends.arrangement import ArrivalOrder, Chosen, KeyOrder
from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.keyed import Ints
from elsinore.trends.rows import EncodedRows

FEW_ROWS = 2**17  # that are picked in the order of keys; more lie too far apart for that
_FOREVER, _NEVER = int(FOREVER), int(NEVER)


class Due(NamedTuple):
    """For each key that has rows, what is due and what is left.

    `done`, `ready`: windows that end at or before them are given out already, or due; `starts`:
    where among the rows of due windows each key's begin. Both choices of rows are key after key.
    """

    keys: Ints
    groups: NDArray[np.int32]
    done: Ints
    ready: Ints
    starts: Ints
    wanted: Chosen  # rows that a window may hold that is due
    kept: Chosen  # rows that an open window may hold
    left: NDArray[np.bool_]  # [key] whether any is kept


def due_of_one(
    rows: EncodedRows,
    windows: Collection[Window],
    done: int,
    until: int | None,
    *,
    everything: bool,
    ends: bool,
) -> Due:
    """Return what is due where all rows are of one key.

    That is what ends at or before `until` or the last event, or everything. ends: every query has
    a window, so that rows are let go of before the end.
    """
    times = rows.column("time")
    ready, end, needed = _FOREVER, _FOREVER, _FOREVER
    if not everything:
        ready = max(int(times[-1]), _NEVER if until is None else until)
        end = max((one.bounds(one.first(ready) - 1)[1] for one in windows), default=_NEVER)
        needed = min(one.bounds(one.first(ready))[0] for one in windows) if ends else _NEVER
    wanted, gone = int(times.searchsorted(end)), int(times.searchsorted(needed))
    return Due(
        keys=rows.column("key")[:1].astype(np.int64),
        groups=rows.column("group")[:1],
        done=np.array([done]),
        ready=np.array([ready]),
        starts=np.array([0, wanted]),
        wanted=slice(0, wanted),
        kept=slice(gone, None),
        left=np.array([gone < len(times)]),
    )


def due_of_keys(
    rows: EncodedRows,
    windows: Collection[Window],
    done: Mapping[int, int],
    until: int | None,
    *,
    everything: bool,
    ends: bool,
    current: int | None,
) -> Due:
    """Return what is due of each key, as of one.

    current: of all keys but this everything is due, and rows of a key stand together; None: there
    is no such key.
    """
    ordered = KeyOrder if rows.count <= FEW_ROWS else ArrivalOrder
    order = ordered(rows.column("key"), together=current is not None)
    times = order.column(rows.column("time"))
    ready = ready_of(order.keys, order.last(times), until, everything=everything, current=current)
    end, needed = bounds_of(windows, ready, ends=ends)
    wanted, counts = order.in_order(times < order.of_rows(end))
    kept, left = order.in_order(times >= order.of_rows(needed))
    return Due(
        keys=order.keys,
        groups=order.first(rows.column("group")),
        done=done_of(done, order.keys),
        ready=ready,
        starts=np.concatenate(([0], np.cumsum(counts))),
        wanted=wanted,
        kept=kept,
        left=left > 0,
    )


def ready_of(
    keys: Ints, last: Ints, until: int | None, *, everything: bool, current: int | None
) -> Ints:
    """Return for each key by when windows end that are due: its last event or `until`.

    FOREVER: all are. current: as for `due_of_keys`.

    >>> last = np.array([17, 12])
    >>> ready_of(np.array([3, 4]), last, 15, everything=False, current=None)
    array([17, 15])
    """
    if everything:
        return np.full(len(keys), FOREVER)
    ready = last if until is None else np.maximum(last, until)
    return ready if current is None else np.where(keys == current, ready, FOREVER)


def done_of(done: Mapping[int, int], keys: Ints) -> Ints:
    """Return for each key what windows end by that are given out; NEVER: none is.

    >>> done_of({3: 17}, np.array([3, 4])) == [17, NEVER]
    array([ True,  True])
    """
    return np.array([done.get(key, NEVER) for key in keys.tolist()], dtype=np.int64)


def bounds_of(windows: Collection[Window], ready: Ints, *, ends: bool) -> tuple[Ints, Ints]:
    """Return for each key the end of its last window that is ready, the start of the first open.

    ready: windows that end by then are; FOREVER: all are. ends: every query has a window.

    >>> bounds_of([Window(10, 5)], np.array([17]), ends=True)
    (array([15]), array([10]))
    """
    over = ready == FOREVER
    bound = np.where(over, 0, ready)
    end, needed = np.full(len(ready), NEVER), np.full(len(ready), FOREVER if ends else NEVER)
    for window in windows:
        first = window.first(bound)
        end = np.maximum(end, window.bounds(first - 1)[1])
        needed = np.minimum(needed, window.bounds(first)[0])
    end[over] = needed[over] = FOREVER
    return end, needed
