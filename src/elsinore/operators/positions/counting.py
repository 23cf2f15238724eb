"""Mapping events to positions that count the events of their key, for count windows.

An event's position is the number of earlier events of its key, of any type. Simultaneous events
have the same position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_numpy
from elsinore.model.window import Window


@dataclass(frozen=True, slots=True)
class EventCount:
    """Windows of numbers of events."""

    def window(self, window: Window, *, is_relative: bool) -> Window:
        """Return a window of events as a window of positions.

        If it is relative to a match, the positions of n events differ by less than n.
        """
        return Window(
            within=window.within - 1 if is_relative else window.within,
            slide=window.slide,
            original=window,
        )


class Counters:
    """The number of events of each key, and the time and position of its latest event.

    >>> counters = Counters(ordered=False)
    >>> counters.positions(np.array([0, 0, 1, 0]), np.array([5, 5, 6, 7])).tolist()
    [0, 0, 0, 2]
    >>> counters.positions(np.array([0, 0]), np.array([7, 8])).tolist()
    [2, 4]
    """

    def __init__(self, *, ordered: bool) -> None:
        """Create counters; `ordered`: events of one key and time are ordered by their rows."""
        self._ordered = ordered
        self._counts = np.zeros(0, np.int64)
        self._times = np.zeros(0, np.int64)
        self._latest = np.full(0, -1, np.int64)

    @property
    def latest(self) -> NDArray[np.int64]:
        """The position of the latest event by the key's code."""
        return self._latest

    def positions(self, keys: NDArray[Any], times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the events of a batch; return their positions. Codes below 0 mean no key."""
        positions = np.full(len(keys), -1, np.int64)
        rows = np.argsort(keys, kind="stable")
        rows = rows[np.searchsorted(keys[rows], 0) :]
        if not len(rows):
            return positions
        by_key, at = keys[rows], times[rows]
        self._grow(int(by_key[-1]) + 1)
        begins = np.flatnonzero(np.diff(by_key, prepend=-1))
        sizes = np.diff(np.append(begins, len(rows)))
        codes = by_key[begins]
        event_positions = np.arange(len(rows)) - np.repeat(begins, sizes) + self._counts[by_key]
        if not self._ordered:
            is_new = np.diff(at, prepend=at[0]) != 0
            is_new[begins] = True
            continues = (self._latest[codes] >= 0) & (self._times[codes] == at[begins])
            event_positions[begins] = np.where(
                continues, self._latest[codes], event_positions[begins]
            )
            event_positions = event_positions[
                np.maximum.accumulate(np.where(is_new, np.arange(len(rows)), 0))
            ]
        positions[rows] = event_positions
        self._counts[codes] += sizes
        ends = begins + sizes - 1
        self._times[codes], self._latest[codes] = at[ends], event_positions[ends]
        return positions

    def _grow(self, size: int) -> None:
        if size > len(self._counts):
            added = max(size, 2 * len(self._counts)) - len(self._counts)
            self._counts = np.append(self._counts, np.zeros(added, np.int64))
            self._times = np.append(self._times, np.zeros(added, np.int64))
            self._latest = np.append(self._latest, np.full(added, -1, np.int64))

    def table(self) -> pa.Table:
        """Return the counters as a table."""
        return pa.table({"count": self._counts, "time": self._times, "latest": self._latest})

    def load(self, table: pa.Table) -> None:
        """Continue with the counters of a table."""
        self._counts, self._times, self._latest = (
            np.array(to_numpy(table.column(name)), np.int64) for name in ("count", "time", "latest")
        )
