"""Which windows of keys are due, which rows these hold, and which the open ones still need."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.model.window import Window
from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.keyed import Codes, Ints
from elsinore.trends.rows.arrangement import ArrivalOrder, Chosen, KeyOrder, these
from elsinore.trends.rows.encoded import Rows
from elsinore.trends.rows.staying import Staying

FEW_ROWS = 2**17  # that are picked in the order of keys; more lie too far apart for that
_FOREVER, _NEVER = int(FOREVER), int(NEVER)


class Due(NamedTuple):
    """For each key that has rows, what is due and what is left.

    `done`, `ready`: windows that end at or before them are given out already, or due; `until`: as
    `ready`, but of the keys that are `staying` up to where their events act. `starts`: where among
    the wanted rows each key's begin; both choices of rows are key after key. `slots`: [row] -> key,
    where all rows are wanted as they came; then `starts` says nothing.
    """

    keys: Ints
    groups: NDArray[np.int32]
    done: Ints
    ready: Ints
    until: Ints
    starts: Ints
    wanted: Chosen  # rows that a window may hold that is due, and that have not acted
    kept: Chosen  # rows that an open window may hold
    left: NDArray[np.bool_]  # [key] whether any is kept
    staying: frozenset[int] = frozenset()  # see `elsinore.trends.rows.staying`
    slots: Codes | None = None

    @property
    def key_of_rows(self) -> NDArray[Any]:
        """The place of each wanted row's key."""
        if self.slots is not None:
            return self.slots
        return np.repeat(np.arange(len(self.keys)), np.diff(self.starts))


def due_of_one(
    rows: Rows,
    windows: Collection[Window],
    done: int,
    until: int | None,
    *,
    everything: bool,
    ends: bool,
) -> Due:
    """Return what is due where all rows are of one key.

    That is what ends at or before `until` or the last event, or everything, and after what is
    `done`. ends: every query has a window, so that rows are let go of before the end.
    """
    times = rows.column("time")
    ready, end, needed = _FOREVER, _FOREVER, _FOREVER
    if not everything:
        ready = max(int(times[-1]), done, _NEVER if until is None else until)
        end = max((window.bounds(window.first(ready) - 1)[1] for window in windows), default=_NEVER)
        needed = (
            min(window.bounds(window.first(ready))[0] for window in windows) if ends else _NEVER
        )
    wanted, gone = int(times.searchsorted(end)), int(times.searchsorted(needed))
    return Due(
        keys=rows.column("key")[:1].astype(np.int64),
        groups=rows.column("group")[:1],
        done=np.array([done]),
        ready=np.array([ready]),
        until=np.array([ready]),
        starts=np.array([0, wanted]),
        wanted=slice(0, wanted),
        kept=slice(gone, None),
        left=np.array([gone < len(times)]),
    )


def due_of_keys(
    rows: Rows,
    windows: Collection[Window],
    done: Mapping[int, int],
    until: int | None,
    *,
    everything: bool,
    ends: bool,
    current: int | None,
    staying: Staying | None,
) -> Due:
    """Return what is due of each key, as of one.

    current: of all keys but this everything is due, and rows of a key stand together; None: there
    is no such key. staying: chooses keys that are kept; None: none is.
    """
    ordered = KeyOrder if staying is not None or rows.count <= FEW_ROWS else ArrivalOrder
    order = ordered(rows.column("key"), together=current is not None)
    times, over = order.column(rows.column("time")), done_of(done, order.keys)
    last = np.maximum(order.last(times), over)
    ready = ready_of(order.keys, last, until, everything=everything, current=current)
    end, needed = bounds_of(windows, ready, ends=ends)
    due_rows, needs = times < order.of_rows(end), times >= order.of_rows(needed)
    acts, stays = ready, frozenset[int]()
    if staying is not None and isinstance(order, KeyOrder):
        acts, stays = staying.choose(order, times, ready, due_rows, needs)
    wanted, counts = order.in_order(due_rows)
    kept, left = order.in_order(needs)
    return Due(
        keys=order.keys,
        groups=order.first(rows.column("group")),
        done=over,
        ready=ready,
        until=acts,
        starts=np.concatenate(([0], np.cumsum(counts))),
        wanted=wanted,
        kept=kept,
        left=left > 0,
        staying=stays,
    )


def due_as_they_came(
    rows: Rows,
    windows: Collection[Window],
    done: Mapping[int, int],
    until: int | None,
    last: Ints,
    *,
    everything: bool,
    ends: bool,
) -> Due:
    """Return what is due of each key, and all rows as they came.

    last: [key] -> the time of its last row.
    """
    order = ArrivalOrder(rows.column("key"))
    over = done_of(done, order.keys)
    latest = np.maximum(last[order.keys], over)
    ready = ready_of(order.keys, latest, until, everything=everything, current=None)
    _, needed = bounds_of(windows, ready, ends=ends)
    needs = rows.column("time") >= order.of_rows(needed)
    return Due(
        keys=order.keys,
        groups=order.first(rows.column("group")),
        done=over,
        ready=ready,
        until=ready,
        starts=np.zeros(0, dtype=np.int64),
        wanted=slice(None),
        kept=these(needs),
        left=order.count(needs) > 0,
        slots=order.slots,
    )


def ready_of(
    keys: Ints, last: Ints, until: int | None, *, everything: bool, current: int | None
) -> Ints:
    """Return for each key by when windows end that are due: its last event or `until`.

    last: of each key, or what is done where that is later. FOREVER: all are. current: as for
    `due_of_keys`.

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
