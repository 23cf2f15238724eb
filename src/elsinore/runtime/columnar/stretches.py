"""Spreading a key's events over partitions by stretches of time.

Windows are independent of one another, so windows of one key can be computed in different
partitions, which matters if most events have the same key.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elsinore.model.window import Window, last_window

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stretches:
    """Equal stretches of time, of `length` ticks, one of which begins at `origin`.

    A window belongs to the stretch in which it begins. A key's windows of stretch n are computed n
    partitions (modulo their number) after its first. An event is sent to the stretches of all
    windows that contain it: at most its stretch and the one before, as no window is longer than a
    stretch.
    """

    length: int
    origin: int
    windows: tuple[Window, ...]

    @property
    def crossing(self) -> bool:
        """Whether windows can extend into the next stretch."""
        return any(
            window.overlap > 1
            or self.length % window.step
            or (window.origin - self.origin) % window.step
            for window in self.windows
        )

    def numbers(self, times: Ints) -> Ints:
        """Return the number of the stretch that contains each time.

        >>> Stretches(10, 5, ()).numbers(np.array([4, 5, 14, 15])).tolist()
        [-1, 0, 0, 1]
        """
        return last_window(times, self.length, self.origin)

    def of_window_numbers(self, window: Window, indices: Ints) -> Ints:
        """Return the stretch of each window, identified by its index."""
        return self.numbers(window.bounds(indices)[0])

    def parts(self, starts: Ints, times: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the parts of keys' events: first rows, lengths, keys and stretches.

        Rows starts[key] to starts[key + 1] - 1 are a key's, in time order. Each stretch is a part;
        its first events are repeated as another part if windows of the stretch before contain them.

        >>> two = Stretches(10, 0, (Window(10, 5),))
        >>> for column in two.parts(np.array([0, 3, 4]), np.array([3, 12, 27, 18])):
        ...     print(column.tolist())
        [0, 1, 2, 3, 0, 1]
        [1, 1, 1, 1, 1, 1]
        [0, 0, 0, 1, 0, 0]
        [0, 1, 2, 1, -1, 0]
        """
        numbers = self.numbers(times)
        fresh = np.zeros(len(times), np.bool_)
        fresh[1:] = numbers[1:] != numbers[:-1]
        fresh[starts[:-1]] = True
        firsts = np.flatnonzero(fresh)
        lengths = np.diff(np.append(firsts, len(times)))
        key = np.searchsorted(starts, firsts, side="right") - 1
        stretch = numbers[firsts]
        if self.crossing:
            first = numbers
            for window in self.windows:
                first = np.minimum(first, self.of_window_numbers(window, window.first(times)))
            again = np.add.reduceat(first < numbers, firsts, dtype=np.int64)
            there = np.flatnonzero(again)
            firsts, key = np.append(firsts, firsts[there]), np.append(key, key[there])
            lengths = np.append(lengths, again[there])
            stretch = np.append(stretch, stretch[there] - 1)
        return firsts, lengths, key, stretch
