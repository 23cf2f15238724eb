"""Confidences the naive way: every possible world of a match's events is looked at, one by one.

What SASE++ without its dynamic programming does (Section 4: U to the power of the number of events
steps for a match), compiled by Numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True)  # type: ignore[untyped-decorator]
def confidences(lows: Any, highs: Any, starts: Any, within: int, found: Any) -> None:
    """Fill `found` with the probability that times ascend and last no longer than `within`.

    Match n has the events `starts[n]` to `starts[n + 1]` of `lows` and `highs`, each time from the
    one to the other, in steps of 1, as probable as the others.
    """
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
                if times[event] < highs[begin + event]:
                    times[event] += 1
                    break
                times[event] = lows[begin + event]
                event -= 1
        found[match] = good / worlds
