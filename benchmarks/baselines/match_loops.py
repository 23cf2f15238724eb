"""The baseline for matches of SEQ(A a, B+ b, C c): a loop for this pattern, compiled by Numba.

Types are small integers, events are sorted by key, and the state is a few local variables. It
supports no other pattern, condition or aggregate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

A, B, C = 0, 1, 2


@njit(nogil=True)  # type: ignore[untyped-decorator]
def contiguous(
    keys: Any, times: Any, types: Any, values: Any, within: int, rising: bool, rows: Any, count: Any
) -> int:
    """Fill rows of (a, c) and numbers of b of matches without gaps; return their number."""
    found = 0
    for begin in range(len(keys)):
        if types[begin] != A:
            continue
        at = begin + 1
        while (
            at < len(keys)
            and keys[at] == keys[begin]
            and types[at] == B
            and (not rising or at == begin + 1 or values[at] > values[at - 1])
        ):
            at += 1
        if (
            at > begin + 1
            and at < len(keys)
            and keys[at] == keys[begin]
            and types[at] == C
            and times[at] - times[begin] <= within
        ):
            rows[found, 0], rows[found, 1], count[found] = begin, at, at - begin - 1
            found += 1
    return found


@njit(nogil=True)  # type: ignore[untyped-decorator]
def next_match(
    keys: Any, times: Any, types: Any, values: Any, within: int, rising: bool, rows: Any, count: Any
) -> int:
    """The same, skipping until the next event that extends the match."""
    found = 0
    for begin in range(len(keys)):
        if types[begin] != A:
            continue
        last, length = -1, 0
        at = begin + 1
        while at < len(keys) and keys[at] == keys[begin] and times[at] - times[begin] <= within:
            if types[at] == B and (not rising or length == 0 or values[at] > values[last]):
                last, length = at, length + 1
            elif types[at] == C and length > 0:
                rows[found, 0], rows[found, 1], count[found] = begin, at, length
                found += 1
                break
            at += 1
    return found


@njit(nogil=True)  # type: ignore[untyped-decorator]
def any_match(
    keys: Any, times: Any, types: Any, values: Any, within: int, rows: Any, count: Any, sums: Any
) -> int:
    """The same for all subsequences, with the sum of b.v; depth first over B events."""
    found = 0
    stack = np.zeros(1000, dtype=np.int64)
    total = np.zeros(1001)
    for begin in range(len(keys)):
        if types[begin] != A:
            continue
        end = begin + 1
        while end < len(keys) and keys[end] == keys[begin] and times[end] - times[begin] <= within:
            end += 1
        depth, at = 0, begin + 1
        while True:
            while at < end and types[at] != B:
                at += 1
            if at == end:
                if depth == 0:
                    break
                depth -= 1
                at = stack[depth] + 1
                continue
            stack[depth] = at
            total[depth + 1] = total[depth] + values[at]
            depth += 1
            for last in range(at + 1, end):
                if types[last] == C:
                    rows[found, 0], rows[found, 1] = begin, last
                    count[found], sums[found] = depth, total[depth]
                    found += 1
            at += 1
    return found


@njit(nogil=True)  # type: ignore[untyped-decorator]
def collapsed(
    keys: Any, times: Any, types: Any, within: int, rows: Any, count: Any, ends: Any
) -> int:
    """For each A: how many B, and how many C (`ends`), are in any match of it; the last such B."""
    found = 0
    for begin in range(len(keys)):
        if types[begin] != A:
            continue
        bs, before, cs, last, latest = 0, 0, 0, -1, -1
        at = begin + 1
        while at < len(keys) and keys[at] == keys[begin] and times[at] - times[begin] <= within:
            if types[at] == B:
                before += 1
                latest = at
            elif types[at] == C and before > 0:
                cs += 1
                bs, last = before, latest
            at += 1
        if cs > 0:
            rows[found, 0], rows[found, 1] = begin, last
            count[found], ends[found] = bs, cs
            found += 1
    return found


def by_hand(
    table: pa.Table, strategy: str, within: int, *, rising: bool = False, room: int
) -> pa.Table:
    """Return key, a.v, the number of b, c.v (and the mean of b.v for `any`) of all matches.

    within: in microseconds; room: the maximum number of matches.
    """
    codes = table.column("key").to_numpy()
    order = np.argsort(codes, kind="stable")
    keys = codes[order]
    times = table.column("time").cast(pa.int64()).to_numpy()[order]
    names = table.column("type").combine_chunks().dictionary_encode()
    known = names.dictionary.to_pylist()
    numbers = np.array(["ABC".find(name) for name in known], dtype=np.int8)
    types = numbers[names.indices.to_numpy()][order]
    values = table.column("v").to_numpy()[order]
    rows: NDArray[np.int64] = np.empty((room, 2), dtype=np.int64)
    count = np.empty(room, dtype=np.int64)
    columns: dict[str, Any] = {}
    if strategy == "any":
        sums = np.empty(room)
        found = any_match(keys, times, types, values, within, rows, count, sums)
        columns["m"] = sums[:found] / count[:found]
    elif strategy == "collapsed":
        ends = np.empty(room, dtype=np.int64)
        found = collapsed(keys, times, types, within, rows, count, ends)
        columns["m"] = ends[:found]
    else:
        loop = contiguous if strategy == "contiguous" else next_match
        found = loop(keys, times, types, values, within, rising, rows, count)
    first, last = rows[:found, 0], rows[:found, 1]
    return pa.table(
        {"key": keys[first], "a": values[first], "n": count[:found], "c": values[last], **columns}
    )
