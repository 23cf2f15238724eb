"""Keys whose open windows are kept from call to call: their events act when they come, and once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from elsinore.trends.core.arrays import Ints
from elsinore.trends.hamlet.layout import LISTED, Graphs, Records, Work
from elsinore.trends.keyed import KeyedEvents, WindowTotals, size_of


@dataclass(frozen=True, slots=True)
class KeptKey:
    """What is known of a key whose events before `until`, an edge of windows, have acted."""

    until: int
    work: Work
    graphs: Graphs
    past: Records  # of each set in turn, its events that open windows hold
    sizes: Ints  # [set] how many these are

    @property
    def bytes_held(self) -> int:
        """How much memory it takes."""
        return size_of(self.work, self.graphs, [self.past])


def room_after(past: KeptKey | None, lists: Ints) -> tuple[Ints, Ints, Records]:
    """Return where the lists of all sets begin, where what is new in them does, and the lists.

    lists: [set + 1] how the new entries would lie. Those of the past are entered before them.

    >>> room_after(None, np.array([0, 2, 3]))[:2]
    (array([0, 2, 3]), array([0, 2]))
    """
    if past is None:
        return lists, lists[:-1], np.empty(int(lists[-1]), dtype=LISTED)
    before = np.concatenate(([0], np.cumsum(past.sizes)))
    listed = np.empty(int(lists[-1] + before[-1]), dtype=LISTED)
    both, numbers, past_numbers = lists + before, _as_numbers(listed), _as_numbers(past.past)
    for place, begin, end in zip(both.tolist(), before.tolist(), before[1:].tolist(), strict=False):
        numbers[place : place + end - begin] = past_numbers[begin:end]
    return both, both[:-1] + past.sizes, listed


def past_of(lists: Ints, oldest: Ints, listed: Records) -> tuple[Records, Ints]:
    """Return the entries of all lists from the oldest of each on, and how many each has."""
    ends, numbers = lists[1:].tolist(), _as_numbers(listed)
    past = [numbers[begin:end] for begin, end in zip(oldest.tolist(), ends, strict=True)]
    together = np.concatenate([numbers[:0], *past])  # a unit may have no sets
    return together.view(LISTED).reshape(len(together)), lists[1:] - oldest


def _as_numbers(listed: Records) -> Ints:
    """Return the entries of lists as rows of whole numbers, which are copied much faster."""
    numbers: Ints = listed.view(np.int64).reshape(len(listed), LISTED.itemsize // 8)
    return numbers


def _places(begins: Ints, sizes: Ints) -> Ints:
    """Return the places of stretches that begin so and are so long.

    >>> _places(np.array([5, 9]), np.array([2, 1])).tolist()
    [5, 6, 9]
    """
    return np.repeat(begins - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))


def of_keys(events: KeyedEvents, keys: Sequence[int]) -> tuple[KeyedEvents, slice | Ints]:
    """Return the events of some keys, and their rows."""
    if len(keys) == len(events.done):
        return events, slice(None)
    starts, lengths = events.starts[:-1], np.diff(events.starts)
    rows: slice | Ints = slice(int(starts[keys[0]]), int(events.starts[keys[-1] + 1]))
    if len(keys) != keys[-1] + 1 - keys[0]:
        rows = _places(starts[keys], lengths[keys])
    of_them = replace(
        events.of_rows(rows),
        starts=np.concatenate(([0], np.cumsum(lengths[keys]))),
        done=events.done[keys],
        until=events.until[keys],
        keys=None if events.keys is None else events.keys[keys],
    )
    return of_them, rows


def together(parts: Sequence[tuple[Sequence[int], WindowTotals]]) -> WindowTotals:
    """Return the totals of several calls as of one, each of which is told with its keys' places."""
    if len(parts) == 1 and len(parts[0][0]) == 1 and parts[0][0][0] == 0:
        return parts[0][1]
    totals = [part for _, part in parts]
    keys = [np.array(places, dtype=np.int32)[part.key] for places, part in parts]
    return WindowTotals(
        query=np.concatenate([part.query for part in totals]),
        key=np.concatenate(keys),
        window=np.concatenate([part.window for part in totals]),
        cells=np.concatenate([part.cells for part in totals]),
        powers=np.concatenate([part.powers for part in totals]),
        extremes=np.concatenate([part.extremes for part in totals]),
    )
