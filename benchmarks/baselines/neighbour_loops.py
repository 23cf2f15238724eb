"""The baselines for comparisons of neighbours: loops compiled by Numba.

`rising` counts the trends of `SEQ(A, B+, C)` with `b[i].v >= b[i-1].v` for each key and tumbling
window: the events of a key one after another, their values ranked by sorting, a Fenwick tree over
the ranks. `pairs` counts those of `SEQ(A, B+)`, the events of a window one with another: what is
without an index.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]
_UP = 2.0**-256


def codes(table: pa.Table, names: tuple[str, ...]) -> Ints:
    """Return the index of each event's type in a list of names; its length for other types."""
    kinds = table["type"].combine_chunks().dictionary_encode()
    place = [names.index(k) if k in names else len(names) for k in kinds.dictionary.to_pylist()]
    return np.array(place)[kinds.indices.to_numpy()]


def rising(table: pa.Table, within: int) -> dict[tuple[int, int], float]:
    """Return the number of trends by key and window, those without any left out.

    within: of the windows, in microseconds; keys are small numbers.
    """
    times = table["time"].combine_chunks().cast(pa.int64()).to_numpy()
    kinds, keys = codes(table, ("A", "B", "C")), table["key"].combine_chunks().to_numpy()
    values = table["v"].combine_chunks().to_numpy()
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    windows = times[order] // within
    rows = _rising(keys[order], windows, kinds[order], values[order])
    return {(int(key), int(window)): count for key, window, count in rows if count}


@njit(nogil=True)
def _rising(keys, windows, kinds, values):
    found = []
    begin = 0
    while begin < len(keys):
        end = begin
        while end < len(keys) and keys[end] == keys[begin] and windows[end] == windows[begin]:
            end += 1
        order = np.argsort(values[begin:end])
        ranks = np.empty(end - begin, np.int64)
        rank = 0
        for place in range(end - begin):
            if place and values[begin + order[place]] != values[begin + order[place - 1]]:
                rank += 1
            ranks[order[place]] = rank
        tree = np.zeros(rank + 2)
        begun, ending, whole = 0.0, 0.0, 0.0
        for row in range(begin, end):
            kind = kinds[row]
            if kind == 0:
                begun += 1.0
            elif kind == 1:
                trends = begun
                at = ranks[row - begin] + 1
                while at > 0:
                    trends += tree[at]
                    at &= at - 1
                at = ranks[row - begin] + 1
                while at < len(tree):
                    tree[at] += trends
                    at += at & -at
                ending += trends
            elif kind == 2:
                whole += ending
        found.append((keys[begin], windows[begin], whole))
        begin = end
    return found


def pairs(table: pa.Table, width: float, forbids: bool) -> float:
    """Return the binary logarithm of the number of trends of all events.

    A B follows an A, and a B up to `width` below or above it; or with `forbids` a B not above it
    and an A or B since which no C has come.
    """
    values = table["v"].combine_chunks().to_numpy()
    total, power = _pairs(codes(table, ("A", "B", "C")), values, width, forbids)
    return float(np.log2(total) + 256 * power)


@njit(nogil=True)
def _pairs(kinds, values, width, forbids):
    trends = np.zeros(len(kinds))
    total, begun, one, power, first = 0.0, 0.0, 1.0, 0, 0
    for row in range(len(kinds)):
        if kinds[row] == 0:
            begun += one
        elif kinds[row] == 2 and forbids:
            begun, first = 0.0, row
        elif kinds[row] == 1:
            number = begun
            for before in range(first, row):
                apart = values[row] - values[before]
                if (apart >= 0.0) if forbids else abs(apart) <= width:
                    number += trends[before]
            trends[row] = number
            total += number
            if number > 1e150:
                trends[: row + 1] *= _UP
                total *= _UP
                begun *= _UP
                one *= _UP
                power += 1
    return total, power
