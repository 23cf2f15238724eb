"""The rival by hand under NEXT and CONTIGUOUS: a loop that Numba compiles.

It counts the trends of `SEQ(A, B+, C)` by key, events of a key being of different times: those that
end with an A and may be followed, and those that end with a B, in a list if neighbours must rise.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numba import njit

from benchmarks.baselines.neighbour_loops import codes


def stepped(table: pa.Table, contiguous: bool, rising: bool) -> dict[int, float]:
    """Return the number of trends by key, those without any left out; keys are small numbers.

    rising: `b[i].v >= b[i-1].v`.
    """
    kinds, keys = codes(table, ("A", "B", "C")), table["key"].combine_chunks().to_numpy()
    values = table["v"].combine_chunks().to_numpy()
    totals = _stepped(keys, kinds, values, int(keys.max()) + 1, contiguous, rising)
    return {key: count for key, count in enumerate(totals.tolist()) if count}


@njit(nogil=True)
def _stepped(keys, kinds, values, count, contiguous, rising):
    totals, begun = np.zeros(count), np.zeros(count)
    top = np.full(count, -1)  # of each key's B events that may be followed: the latest one
    before, trends = np.full(len(keys), -1), np.zeros(len(keys))
    for row in range(len(keys)):
        key, kind = keys[row], kinds[row]
        if kind == 0:
            begun[key] = 1.0 if contiguous else begun[key] + 1.0
        elif kind == 1:
            number, place = begun[key], top[key]
            begun[key] = 0.0
            # what is left is greater than what was put on it: the first that is too great ends it
            while place >= 0 and (not rising or values[place] <= values[row]):
                number += trends[place]
                place = before[place]
            if contiguous:
                place = -1
            if number > 0.0:
                trends[row] = number
                before[row] = place
                place = row
            top[key] = place
        elif kind == 2:
            place = top[key]
            while place >= 0:
                totals[key] += trends[place]
                place = before[place]
        if (kind == 0 and contiguous) or kind == 2:
            top[key] = -1
        if contiguous and kind >= 2:
            begun[key], top[key] = 0.0, -1
    return totals
