"""Stretches of time that a key's events are spread over partitions by.

Where results are of windows, what is in one says nothing of another. Windows of a key may then be
worked on in different partitions, however many of the events are that key's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elsinore.model.window import Window

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stretches:
    """Equal stretches of time, of `length` ticks, one of which begins at `origin`.

    A window is of the stretch in which it begins. A key's windows of stretch n are worked on n
    partitions after the one of its first, round and round. An event goes wherever windows are that
    hold it, which is to the stretch that it lies in and the one before at most: no window is longer
    than a stretch.
    """

    length: int
    origin: int
    windows: tuple[Window, ...]

    @property
    def crossing(self) -> bool:
        """Whether windows may go on in the next stretch."""
        return any(
            window.overlap > 1
            or self.length % window.step
            or (window.origin - self.origin) % window.step
            for window in self.windows
        )

    def numbers(self, times: Ints) -> Ints:
        """Return the stretch that each time lies in.

        >>> Stretches(10, 5, ()).numbers(np.array([4, 5, 14, 15])).tolist()
        [-1, 0, 0, 1]
        """
        return (times - self.origin) // self.length

    def of_windows(self, window: Window, indices: Ints) -> Ints:
        """Return the stretch of each window, given by its index."""
        return self.numbers(window.origin + window.step * indices)

    def bound(self, times: Ints, partitions: int) -> tuple[Ints, Ints]:
        """Return rows, some of them twice, and how many partitions after the key's first each goes.

        >>> Stretches(10, 0, (Window(10, 5),)).bound(np.array([3, 12, 27]), 4)
        (array([0, 1, 2, 0, 1]), array([0, 1, 2, 3, 0]))
        """
        rows = np.arange(len(times))
        numbers = self.numbers(times)
        if self.crossing:
            first = numbers
            for window in self.windows:
                opened = (times - window.origin - window.within) // window.step + 1
                first = np.minimum(first, self.of_windows(window, opened))
            before = np.flatnonzero(first < numbers)
            if partitions > 1:
                rows = np.concatenate((rows, before))
                numbers = np.concatenate((numbers, numbers[before] - 1))
        return rows, numbers % partitions
