"""Epochs: consecutive windows whose deviations are from one shift (`elsinore.plan.aggregates`).

A value near all values of a window may be far from those of later windows, so each epoch has a
separate shift. An event adds a deviation for each of its epochs to the sums of the epoch's *turn*,
and a window reads the sums of its turn. No event is in two epochs of one turn: if up to n windows
contain a moment, n - 1 windows form an epoch, and there are two turns. Windows that do not overlap,
and the whole stream without WITHIN, are an epoch each, with one turn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elsinore.model.window import Numbers, Window, overlap_of

TURNS = 2  # at most: each costs two sums for every attribute with a variance


def turns_of(window: Window | None) -> int:
    """Return in how many epochs an event is at most.

    >>> [turns_of(window) for window in (None, Window(10), Window(10, 5), Window(10, 1))]
    [1, 1, 2, 2]
    """
    return min(overlap_of(window), TURNS)


def windows_in(window: Window | None) -> int:
    """Return how many windows make an epoch.

    >>> [windows_in(window) for window in (None, Window(10), Window(10, 5), Window(10, 1))]
    [1, 1, 1, 9]
    """
    later = overlap_of(window) - 1
    return max(1, -(-later // max(1, turns_of(window) - 1)))


def epoch_of(window: Window | None, index: Numbers) -> Numbers:
    """Return the epoch of a window, given by its index; that of all without WITHIN is 0."""
    return index - index if window is None else index // windows_in(window)


def turn_of(window: Window | None, index: Numbers) -> Numbers:
    """Return the turn of a window, given by its index.

    >>> [turn_of(Window(10, 4), index) for index in range(6)]
    [0, 0, 1, 1, 0, 0]
    """
    return epoch_of(window, index) % turns_of(window)


def epochs_at(
    window: Window | None, times: NDArray[np.int64], turn: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the epoch of a turn in which each time may be, and whether it is in it.

    >>> epochs, is_inside = epochs_at(Window(10, 4), np.array([3, 4, 8, 9]), 0)
    >>> epochs.tolist(), is_inside.tolist()
    ([0, 0, 0, 0], [True, True, True, True])
    """
    if window is None:
        return np.zeros(len(times), np.int64), np.ones(len(times), np.bool_)
    epochs = epoch_of(window, window.first(times))
    epochs = epochs + (turn - epochs) % turns_of(window)
    return epochs, epochs <= epoch_of(window, window.last(times))
