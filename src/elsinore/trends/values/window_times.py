# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Which windows hold a time, and when the next one begins or ends.

Windows are [origin + k * step, ... + within) for every k; within FOREVER: one for the whole stream.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.model import window
from elsinore.trends.values.arrays import FOREVER

ONLY = np.int64(0)  # the window of the whole stream

first_window = kernel(borrows=True, inline=True)(window.first_window)
last_window = kernel(borrows=True, inline=True)(window.last_window)
start_of = kernel(borrows=True, inline=True)(window.window_start)


@kernel(borrows=True, inline=True)
def windows_at(within: int, step: int, origin: int, time: int) -> tuple[int, int]:
    """Return the first and the last window that hold a time; none if first > last."""
    if within == FOREVER:
        return ONLY, ONLY
    return first_window(time, within, step, origin), last_window(time, step, origin)


@kernel(borrows=True, inline=True)
def end_of(within: int, step: int, origin: int, number: int) -> int:
    """Return when a window ends: the first time that it does not hold."""
    return FOREVER if within == FOREVER else start_of(number, step, origin) + within


@kernel(borrows=True, inline=True)
def next_edge(within: int, step: int, origin: int, first: int, last: int) -> int:
    """Return when a window begins or ends next after a time that `first` to `last` hold."""
    if within == FOREVER:
        return FOREVER
    edge = start_of(last + 1, step, origin)
    return min(edge, end_of(within, step, origin, first)) if first <= last else edge
