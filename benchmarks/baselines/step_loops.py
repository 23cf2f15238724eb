"""The baseline under NEXT and CONTIGUOUS: a loop compiled by Numba.

It counts the trends of `SEQ(A, B+, C)` by key, events of a key being of different times: those that
end with an A and may be followed, and those that end with a B, in a list if neighbours must rise.
Or it sums up what their B events have too.
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


def summed(
    table: pa.Table, contiguous: bool, rising: bool
) -> dict[int, tuple[float, float, float, float]]:
    """Return by key the number of trends, and of `v` of their B events sum, average and greatest.

    Keys without trends are left out; keys are small numbers.
    """
    kinds, keys = codes(table, ("A", "B", "C")), table["key"].combine_chunks().to_numpy()
    values = table["v"].combine_chunks().to_numpy()
    totals = _summed(keys, kinds, values, int(keys.max()) + 1, contiguous, rising)
    return {
        key: (number, total, total / events, most)
        for key, (number, events, total, most) in enumerate(totals.tolist())
        if number
    }


@njit(nogil=True)
def _summed(keys, kinds, values, count, contiguous, rising):
    totals, begun = np.zeros((count, 4)), np.zeros(count)
    totals[:, 3] = -np.inf
    top = np.full(count, -1)
    before, trends = np.full(len(keys), -1), np.empty((len(keys), 4))
    for row in range(len(keys)):
        key, kind = keys[row], kinds[row]
        if kind == 0:
            begun[key] = 1.0 if contiguous else begun[key] + 1.0
        elif kind == 1:
            number, place, value = begun[key], top[key], values[row]
            events, total, most = 0.0, 0.0, value
            begun[key] = 0.0
            while place >= 0 and (not rising or values[place] <= value):
                number += trends[place, 0]
                events += trends[place, 1]
                total += trends[place, 2]
                most = max(most, trends[place, 3])
                place = before[place]
            if contiguous:
                place = -1
            if number > 0.0:
                trends[row, 0] = number
                trends[row, 1] = events + number
                trends[row, 2] = total + number * value
                trends[row, 3] = most
                before[row] = place
                place = row
            top[key] = place
        elif kind == 2:
            place = top[key]
            while place >= 0:
                for field in range(3):
                    totals[key, field] += trends[place, field]
                totals[key, 3] = max(totals[key, 3], trends[place, 3])
                place = before[place]
        if (kind == 0 and contiguous) or kind == 2:
            top[key] = -1
        if contiguous and kind >= 2:
            begun[key], top[key] = 0.0, -1
    return totals
