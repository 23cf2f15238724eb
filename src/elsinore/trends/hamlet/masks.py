"""Masks of groups: who takes an event, and of those who share all, some or none."""

from __future__ import annotations

import numpy as np

from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.layout import Actions, Events, Words


@wide_kernel(linked=True)
def has(mask: Words, group: int) -> bool:
    """Return whether a mask has the bit of a group."""
    return (mask[group >> 6] >> np.uint64(group & 63)) & np.uint64(1) != 0


@wide_kernel(linked=True)
def takes(actions: Actions, entry: int, group: int) -> bool:
    """Return whether a group takes an entry's events."""
    word = actions.mask[actions.entries[entry].masks + (group >> 6)]
    return (word >> np.uint64(group & 63)) & np.uint64(1) != 0


@wide_kernel(linked=True)
def relation_of(actions: Actions, entry: int, shared: Words) -> int:
    """Return whether none (0), some (1) or all (2) of the groups that share take an event."""
    base = actions.entries[entry].masks
    some = False
    every = True
    for w in range(shared.shape[0]):
        taken = actions.mask[base + w] & shared[w]
        some |= taken != 0
        every &= taken == shared[w]
    return (2 if every else 1) if some else 0


@wide_kernel(linked=True)
def any_of(mask: Words) -> bool:
    """Return whether a mask has a bit."""
    bits = np.uint64(0)
    for w in range(mask.shape[0]):
        bits |= mask[w]
    return bits != 0


@wide_kernel(linked=True)
def snapshots_at_events(
    actions: Actions, events: Events, low: int, high: int, shared: Words
) -> int:
    """Return how many events of a burst some of those who share take, and others do not."""
    snapshots = 0
    if not any_of(shared):
        return snapshots
    last = np.int64(-1)
    differs = False
    for i in range(low, high):
        entry = events.listed[i].entry
        if entry != last:
            last = entry
            differs = relation_of(actions, entry, shared) == 1
        snapshots += differs
    return snapshots


@wide_kernel(linked=True)
def has_others(actions: Actions, entry: int, shared: Words) -> bool:
    """Return whether groups that do not share take an event."""
    base = actions.entries[entry].masks
    bits = np.uint64(0)
    for w in range(shared.shape[0]):
        bits |= actions.mask[base + w] & ~shared[w]
    return bits != 0
