# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Ranks of a window's events in the order of the columns that they are compared by.

The different values of a column are ranked from 0 on; what precedes an event by a condition is then
a range of ranks. Rows are ranked once for all windows that lie among them.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.index.axes import Axes
from elsinore.trends.index.layout import (
    AFTER,
    AXIS,
    BEFORE,
    CUT,
    CUTS,
    CUTS_AT,
    DIGITS,
    ENTERS,
    FROM_ON,
    HIGH,
    IS_HIGH,
    KEYS,
    KNOWN,
    LOW,
    OF_TREE,
    OPERATOR,
    RANK,
    READ,
    READERS,
    READS_AT,
    ROOM,
    SHIFT,
    SIZES,
    SLOT,
    TREE,
    TREES,
    TREES_AT,
    TURNED,
    UP_TO,
)
from elsinore.trends.keyed import Ints

FEW = 96  # numbers that are sorted by insertion


@kernel(borrows=True)
def rank_rows(words: Ints, work: Ints, classes: Ints, axes: Axes, low: int, high: int) -> None:
    """Rank rows `low` to `high` - 1 for each tree, and find the ranges that its reads ask for."""
    for number in range(words[TREES]):
        tree = words[TREES_AT] + number * TREE
        ranks = words[RANK] + number * words[ROOM] - low
        count = _gathered(words, work, classes, axes, tree, ranks, low, high)
        keys = _sorted(work, words[KEYS], words[ROOM], count)
        rows = keys + words[ROOM]
        different = 0
        for place in range(count):
            key, row = work[keys + place], work[rows + place]
            if different == 0 or key != work[keys + different - 1]:
                work[keys + different] = key
                work[rows + different] = row
                different += 1
            work[ranks + row] = different - 1
        work[words[SIZES] + number] = different
        reads = words[tree + OF_TREE]
        for place in range(reads + 1, reads + 1 + words[reads]):
            _cut_out(words, work, classes, axes, words[place], rows, different, low, high)


@kernel(borrows=True)
def _gathered(
    words: Ints,
    work: Ints,
    classes: Ints,
    axes: Axes,
    tree: int,
    ranks: int,
    low: int,
    high: int,
) -> int:
    """List the rows that are entered in a tree with what they are in order by; return how many."""
    keys, rows = words[KEYS], words[KEYS] + words[ROOM]
    column, known = words[tree + AXIS], words[tree + KNOWN]
    turn = -words[tree + TURNED]  # all bits are turned round, or none
    enters = words[tree + ENTERS]
    count = 0
    for row in range(low, high):
        kind = classes[row]
        if kind < 0 or words[enters + kind] == 0:
            continue
        there = 1
        for place in range(known + 1, known + 1 + words[known]):
            there &= axes.known[words[place], row]
        if there == 0:
            work[ranks + row] = -1
            continue
        work[keys + count] = axes.codes[column, row] ^ turn
        work[rows + count] = row
        count += 1
    return count


@kernel(borrows=True)
def _sorted(work: Ints, keys: int, room: int, count: int) -> int:
    """Sort keys, each with its row, `room` places on; return where they are now.

    The room is for two such lists and for counts of digits: keys of 8 bytes are sorted by the
    least significant one first, and bytes that are all the same are passed over.
    """
    if count <= FEW:
        _insert(work, keys, room, count)
        return keys
    counts = keys + 4 * room
    for place in range(counts, counts + DIGITS):
        work[place] = 0
    top = np.uint64(1) << np.uint64(63)
    byte = np.uint64(255)
    for place in range(count):
        key = np.uint64(work[keys + place]) ^ top
        for digit in range(8):
            shifted = np.int64((key >> np.uint64(8 * digit)) & byte)
            work[counts + 256 * digit + shifted] += 1
    begin, other = keys, keys + 2 * room
    for digit in range(8):
        shift, first = np.uint64(8 * digit), counts + 256 * digit
        one = np.int64(((np.uint64(work[begin]) ^ top) >> shift) & byte)
        if work[first + one] == count:
            continue
        total = np.int64(0)
        for place in range(first, first + 256):
            total, work[place] = total + work[place], total
        for place in range(begin, begin + count):
            key = work[place]
            bucket = first + np.int64(((np.uint64(key) ^ top) >> shift) & byte)
            to = other + work[bucket]
            work[bucket] += 1
            work[to] = key
            work[to + room] = work[place + room]
        begin, other = other, begin
    return begin


@kernel(borrows=True)
def _insert(work: Ints, keys: int, room: int, count: int) -> None:
    """Sort a few keys, each with its row, by insertion."""
    for place in range(keys + 1, keys + count):
        key, row = work[place], work[place + room]
        hole = place
        while hole > keys and work[hole - 1] > key:
            work[hole] = work[hole - 1]
            work[hole + room] = work[hole - 1 + room]
            hole -= 1
        work[hole] = key
        work[hole + room] = row


@kernel(borrows=True)
def _cut_out(
    words: Ints,
    work: Ints,
    classes: Ints,
    axes: Axes,
    number: int,
    rows: int,
    different: int,
    low: int,
    high: int,
) -> None:
    """Find for each event that makes a read the range of ranks that lies between its cuts.

    rows: where a row of each rank is. A range may be empty, or end before it begins.
    """
    read = words[READS_AT] + number * READ
    lows = words[LOW] + words[read + SLOT] * words[ROOM] - low
    highs = words[HIGH] + words[read + SLOT] * words[ROOM] - low
    cuts = words[read + CUTS]
    for row in range(low, high):
        kind = classes[row]
        if kind < 0 or words[words[read + READERS] + kind] == 0:
            continue
        first, last = 0, different
        for place in range(cuts + 1, cuts + 1 + words[cuts]):
            cut = words[CUTS_AT] + words[place] * CUT
            found = _position(words, work, axes, cut, row, rows, different)
            if found < 0:
                last = 0
            elif words[cut + IS_HIGH] != 0:
                last = min(last, found)
            else:
                first = max(first, found)
        work[lows + row] = first
        work[highs + row] = last


@kernel(borrows=True)
def _position(
    words: Ints, work: Ints, axes: Axes, cut: int, row: int, rows: int, different: int
) -> int:
    """Return the first rank from which on a cut holds, or no longer does; -1: it is unknown."""
    before, after, shift = words[cut + BEFORE], words[cut + AFTER], words[cut + SHIFT]
    operator, is_high = words[cut + OPERATOR], words[cut + IS_HIGH] != 0
    if axes.known[after, row] == 0 or (shift >= 0 and axes.known[shift, row] == 0):
        return -1
    strict = operator not in (UP_TO, FROM_ON)
    least = operator >= FROM_ON  # whether the earlier one is to be greater
    begin, end = 0, different
    while begin < end:
        middle = (begin + end) >> 1
        earlier = work[rows + middle]
        if shift >= 0:
            value = axes.numbers[before, earlier] + axes.numbers[shift, row]
            bound = axes.numbers[after, row]
            holds = value != bound if strict else True
            holds &= value >= bound if least else value <= bound
        else:
            code, other = axes.codes[before, earlier], axes.codes[after, row]
            holds = code != other if strict else True
            holds &= code >= other if least else code <= other
        if holds == is_high:
            begin = middle + 1
        else:
            end = middle
    return begin
