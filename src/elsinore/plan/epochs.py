"""From which value deviations are: one for each *epoch*, a stretch of windows that follow another.

A value that was near all others once may be far from those of later windows. Each epoch of windows
has a value of its own, therefore, and an event adds a deviation for each epoch that it is in:
that of an epoch goes to the sums of the epoch's *turn*, and a window reads those of its own. No
event is in two epochs of one turn: of windows of which up to n hold one moment, n - 1 make an
epoch where turns are two. Windows that do not overlap are an epoch each, and have one turn. So is
the whole stream, without WITHIN.
"""

from __future__ import annotations

from typing import NamedTuple

from elsinore.model.window import Numbers, Window, overlap_of

FOREVER = 2**63 - 1  # as a time, after all others
TURNS = 2  # at most: each costs two sums for every attribute whose variance is asked for


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


def epoch_in_turn(first: int, turn: int, turns: int) -> int:
    """Return the first epoch of a turn from one on. Engines compile it.

    >>> [epoch_in_turn(7, turn, 2) for turn in range(2)]
    [8, 7]
    """
    return first + (turn - first) % turns


class Epochs(NamedTuple):
    """Windows [origin + k*step, ... + within), of which so many make an epoch, in turns.

    within FOREVER: one for the whole stream, in an epoch of its own.
    """

    within: int
    step: int
    origin: int
    windows: int
    turns: int

    @classmethod
    def of(cls, window: Window | None) -> Epochs:
        """Return the epochs of a query with such windows."""
        if window is None:
            return cls(FOREVER, 0, -FOREVER, 1, 1)
        of_epochs = windows_in(window), turns_of(window)
        return cls(window.within, window.step, window.origin, *of_epochs)
