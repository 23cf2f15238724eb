"""Naive confidences: enumerating every possible world of a match's events.

This is SASE++ without its dynamic programming (Section 4: U to the power of the number of events
steps for a match), compiled by Numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

Times = npt.NDArray[np.int64]


def confidences(
    matches: pa.ChunkedArray, low: Times, high: Times, within: int, step: int = 1
) -> npt.NDArray[np.float64]:
    """Return the probabilities that the times of matches ascend, and are within a window.

    A match is a list of numbers of events; an event's times go from `low` to `high` in steps, all
    of them as probable.
    """
    lists = matches.combine_chunks()
    events = lists.values.to_numpy()
    found = np.zeros(len(lists))
    starts = lists.offsets.to_numpy().astype(np.int64)
    _count_worlds(low[events], high[events], starts, within, step, found)
    return found


@njit(nogil=True)  # type: ignore[untyped-decorator]
def _count_worlds(lows: Any, highs: Any, starts: Any, within: int, step: int, found: Any) -> None:
    """Fill `found`; match n has the events `starts[n]` to `starts[n + 1]` of `lows`, `highs`."""
    times = np.zeros(64, dtype=np.int64)
    for match in range(len(starts) - 1):
        begin, count = starts[match], starts[match + 1] - starts[match]
        good, worlds = 0, 0
        for event in range(count):
            times[event] = lows[begin + event]
        event = 0
        while event >= 0:
            worlds += 1
            ascends = times[count - 1] - times[0] <= within
            for place in range(1, count):
                if times[place] <= times[place - 1]:
                    ascends = False
            if ascends:
                good += 1
            event = count - 1  # the next world: count up, the last event's time fastest
            while event >= 0:
                if times[event] + step <= highs[begin + event]:
                    times[event] += step
                    break
                times[event] = lows[begin + event]
                event -= 1
        found[match] = good / worlds
