"""Events as kernels read them, and those that wait: the last one of each key."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from elsinore.trends.arrays import Codes, Doubles, Flags, Ints

Column = TypeVar("Column", Ints, Codes)


class Events(NamedTuple):
    """A batch's events; those of a key in time order."""

    times: Ints  # [event]
    keys: Codes
    groups: Codes
    classes: Ints  # their codes, as the batch has them
    codes: Ints  # their places in the table of known classes; below 0: of no interest
    values: Doubles  # [attribute, event] -> what SUM looks at, and where it is not null
    present: Flags
    orders: Ints  # [attribute, event] -> what MIN and MAX look at, and where it is not null
    ordered: Flags


class Held(NamedTuple):
    """The event of each key that waits, one row a slot; no rows where none ever waits."""

    key: Codes  # [slot] -> the key whose event it is, -1 where none waits
    time: Ints
    group: Codes
    code: Ints  # its class, as the batch had it
    values: Doubles  # [slot, attribute]
    present: Flags
    orders: Ints
    ordered: Flags
    row: Ints  # [slot] -> the key's last event in the batch that is looked at; -1 between batches


def new_held(slots: int, summed: int, ranked: int) -> Held:
    """Return that no event waits; summed, ranked: how many attributes events bring."""
    return Held(
        key=np.full(slots, -1, dtype=np.int32),
        time=np.zeros(slots, dtype=np.int64),
        group=np.zeros(slots, dtype=np.int32),
        code=np.zeros(slots, dtype=np.int64),
        values=np.zeros((slots, summed)),
        present=np.zeros((slots, summed), dtype=np.uint8),
        orders=np.zeros((slots, ranked), dtype=np.int64),
        ordered=np.zeros((slots, ranked), dtype=np.uint8),
        row=np.full(slots, -1, dtype=np.int64),
    )


def hold(held: Held, slots: Ints, events: Events, rows: Ints) -> Events:
    """Let events[rows] wait in `slots`, each the last one of its key that acts on something.

    Returns the batch without them.
    """
    into, out = _places(slots), _places(rows)
    held.key[into] = events.keys[out]
    held.time[into] = events.times[out]
    held.group[into] = events.groups[out]
    held.code[into] = events.classes[out]
    if held.values.shape[1]:
        held.values[into] = events.values[:, out].T
        held.present[into] = events.present[:, out].T
    if held.orders.shape[1]:
        held.orders[into] = events.orders[:, out].T
        held.ordered[into] = events.ordered[:, out].T
    if len(rows) == 1:  # nothing acts after it
        return events._replace(times=events.times[: rows[0]])
    codes = events.codes.copy()
    codes[out] = -1
    return events._replace(codes=read_only(codes))


def release(held: Held, slots: Ints) -> Events:
    """Return the events that wait in `slots`, all of which have one; they wait no longer.

    Their `codes` are as the batch had them.
    """
    out = _places(slots)
    classes = read_only(held.code[out].copy())
    events = Events(
        times=read_only(held.time[out].copy()),
        keys=read_only(held.key[out].copy()),
        groups=read_only(held.group[out].copy()),
        classes=classes,
        codes=classes,
        values=held.values[out].T.copy(),
        present=held.present[out].T.copy(),
        orders=held.orders[out].T.copy(),
        ordered=held.ordered[out].T.copy(),
    )
    held.key[out] = -1
    return events


def _places(places: Ints) -> Ints | slice:
    """Return an index; a single place as a slice, with which NumPy is much faster."""
    return slice(int(places[0]), int(places[0]) + 1) if len(places) == 1 else places


def read_only(column: Column) -> Column:
    """Return a fresh column as Arrow's are, for which the kernels are compiled already."""
    column.flags.writeable = False
    return column
