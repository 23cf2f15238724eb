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
    """Let events[rows] wait in `slots`; return the batch with those of no interest."""
    held.key[slots] = events.keys[rows]
    held.time[slots] = events.times[rows]
    held.group[slots] = events.groups[rows]
    held.code[slots] = events.classes[rows]
    held.values[slots] = events.values[:, rows].T
    held.present[slots] = events.present[:, rows].T
    held.orders[slots] = events.orders[:, rows].T
    held.ordered[slots] = events.ordered[:, rows].T
    codes = events.codes.copy()
    codes[rows] = -1
    return events._replace(codes=read_only(codes))


def release(held: Held, slots: Ints) -> Events:
    """Return the events that wait in `slots`, all of which have one; they wait no longer.

    Their `codes` are as the batch had them.
    """
    classes = read_only(held.code[slots])
    events = Events(
        times=read_only(held.time[slots]),
        keys=read_only(held.key[slots]),
        groups=read_only(held.group[slots]),
        classes=classes,
        codes=classes,
        values=np.ascontiguousarray(held.values[slots].T),
        present=np.ascontiguousarray(held.present[slots].T),
        orders=np.ascontiguousarray(held.orders[slots].T),
        ordered=np.ascontiguousarray(held.ordered[slots].T),
    )
    held.key[slots] = -1
    return events


def read_only(column: Column) -> Column:
    """Return a fresh column as Arrow's are, for which the kernels are compiled already."""
    column.flags.writeable = False
    return column
