# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Ranks of a window's events in the order of the columns that they are compared by.

The different values of a column are ranked from 0 on; what precedes an event by a condition is then
a range of ranks. Rows are ranked once for all windows that lie among them, and sorted once even if
windows that overlap are ranked one after another.
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
    CUT_READ,
    CUT_READS_AT,
    CUTS,
    CUTS_AT,
    ENTERS,
    FROM_ON,
    HIGH,
    IS_HIGH,
    KEPT,
    KEYS,
    KNOWN,
    LOW,
    OF_TREE,
    OPERATOR,
    RANKED_BEFORE,
    RANKS,
    READERS,
    ROOM,
    SHIFT,
    SIZE,
    SORTED,
    SORTED_FIRST,
    SORTED_HALF,
    SORTED_HIGH,
    SORTED_LOW,
    TREE,
    TREES,
    TREES_AT,
    TURNED,
    UP_TO,
)
from elsinore.trends.keyed import Ints

FEW = 48  # numbers that are sorted by insertion
MANY = 2**14  # numbers of which the first three bytes that differ leave few in disorder
ALL_DIGITS = np.int64(4)  # bytes that are sorted at once, at most
_MOVES = 8  # places that numbers are moved by insertion on the average, at most
_INDEX = np.int64(2**32 - 1)  # the half of a sorted word that tells the place of its number
_SIGN = np.int64(-(2**63))
_GREATEST = np.int64(2**63 - 1)


@kernel(borrows=True)
def rank_rows(words: Ints, work: Ints, classes: Ints, axes: Axes, low: int, high: int) -> None:
    """Rank rows `low` to `high` - 1 for each tree, and find the ranges that its reads ask for.

    Rows that were ranked last stay sorted, by numbers that rows keep wherever they lie: those
    before `low` are let go of, and what is new is sorted and merged with the others.
    """
    place = words[SORTED]
    number = work[place + SORTED_FIRST]  # of row 0
    begin = low
    if work[place + SORTED_LOW] <= number + low and work[place + SORTED_HIGH] <= number + high:
        begin = max(low, work[place + SORTED_HIGH] - number)
    room, keys = words[ROOM], words[KEYS]
    for at in range(words[TREES]):
        tree = words[TREES_AT] + at * TREE
        if words[tree + AXIS] == RANKED_BEFORE:
            continue
        if begin == low:
            work[words[tree + KEPT]] = 0
        ranks = words[tree + RANKS] - low
        for row in range(low, high):
            work[ranks + row] = -1
        new = _gathered(words, work, classes, axes, tree, begin, high)
        order = _sorted(work, keys, room, new)
        different = _merge(words, work, tree, order, new, number, low)
        work[words[tree + SIZE]] = different
        reads = words[tree + OF_TREE]
        if words[reads] != 0:
            firsts = keys + 2 * room
            _list_firsts(words, work, tree, firsts, number)
            for read_at in range(reads + 1, reads + 1 + words[reads]):
                read = words[CUT_READS_AT] + words[read_at] * CUT_READ
                _cut_out(words, work, classes, axes, read, firsts, different, low, high)
    work[place + SORTED_LOW], work[place + SORTED_HIGH] = number + low, number + high
    work[place + SORTED_HALF] ^= 1


@kernel(borrows=True)
def _merge(words: Ints, work: Ints, tree: int, order: int, new: int, number: int, low: int) -> int:
    """Put new rows, of which `order` lists the places, among a tree's sorted ones; rank them all.

    Rows before `low` are left out. number: of row 0. Returns how many ranks there are.
    """
    room, keys, kept = words[ROOM], words[KEYS], words[tree + KEPT]
    old, first = _half(words, work, tree, 0), _half(words, work, tree, 1)
    put, span = first, room + 1
    end, ranks = old + work[kept], words[tree + RANKS] - low
    rank, last = np.int64(-1), np.int64(0)
    for listed in range(new + 1):
        key, row = _GREATEST, np.int64(0)
        if listed < new:
            index = work[order + listed] & _INDEX
            key, row = work[keys + index], work[keys + room + index]
        while old < end and work[old] <= key:
            # without a branch for those that are gone: it could not be foretold
            entry, numbered = work[old], work[old + span]
            stays = numbered >= number + low
            work[put], work[put + span] = entry, numbered
            rank += stays & ((rank < 0) | (entry != last))
            last = entry if stays else last
            work[ranks + numbered - number if stays else put + stays] = rank if stays else entry
            put += stays
            old += 1
        if listed < new:
            rank += (rank < 0) | (key != last)
            last = key
            work[put], work[put + span] = key, number + row
            work[ranks + row] = rank
            put += 1
    work[kept] = put - first
    return rank + 1


@kernel(borrows=True)
def _half(words: Ints, work: Ints, tree: int, other: int) -> int:
    """Return where the half is that a tree's sorted rows are in; with 1 the other half."""
    half = work[words[SORTED] + SORTED_HALF] ^ other
    return words[tree + KEPT] + 1 + 2 * (words[ROOM] + 1) * half


@kernel(borrows=True)
def _list_firsts(words: Ints, work: Ints, tree: int, firsts: int, number: int) -> None:
    """List a row of each rank of a tree; number: of row 0."""
    begin, span = _half(words, work, tree, 1), words[ROOM] + 1
    different = 0
    for entry in range(begin, begin + work[words[tree + KEPT]]):
        if entry == begin or work[entry] != work[entry - 1]:
            work[firsts + different] = work[entry + span] - number
            different += 1


@kernel(borrows=True)
def _gathered(
    words: Ints, work: Ints, classes: Ints, axes: Axes, tree: int, low: int, high: int
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
        if there != 0:
            work[keys + count] = axes.codes[column, row] ^ turn
            work[rows + count] = row
            count += 1
    return count


@kernel(borrows=True)
def _sorted(work: Ints, keys: int, room: int, count: int) -> int:
    """Sort the places of numbers; return where they are listed, each the lower half of a word.

    Behind the numbers and their rows there is room for two such lists and for counts of digits.
    Numbers are sorted by the first few bytes from the first bit on that is not the same in all of
    them, and by insertion where these agree. If that leaves much to do, all bytes are sorted.
    """
    order = keys + 2 * room
    if count <= FEW:
        for place in range(count):
            work[order + place] = place
        _insert(work, keys, order, count, count * count)
        return order
    spread = np.int64(0)
    for place in range(keys + 1, keys + count):
        spread |= work[place] ^ work[keys]
    digits = ALL_DIGITS - (count <= MANY)
    bit = 64
    while bit > 8 * digits and (spread >> (bit - 1)) & 1 == 0:
        bit -= 1
    other = order + room
    for place in range(count):
        index = np.int64(place)
        work[order + place] = (((work[keys + place] ^ _SIGN) >> (bit - 8 * digits)) << 32) | index
    if _by_digits(work, order, other, room, count, digits):
        order, other = other, order
    if _insert(work, keys, order, count, _MOVES * count):
        return order
    for shift in range(0, 64, 32):
        for place in range(order, order + count):
            index = work[place] & _INDEX
            work[place] = (((work[keys + index] ^ _SIGN) >> shift) << 32) | index
        if _by_digits(work, order, other, room, count, ALL_DIGITS):
            order, other = other, order
    return order


@kernel(borrows=True)
def _by_digits(work: Ints, order: int, other: int, room: int, count: int, digits: int) -> bool:
    """Sort words by digits of their upper half, the least one first; return whether in `other`.

    Digits that are all the same are passed over.
    """
    counts = max(order, other) + room
    for place in range(counts, counts + 256 * digits):
        work[place] = 0
    for place in range(order, order + count):
        key = work[place] >> 32
        for digit in range(digits):
            work[counts + 256 * digit + ((key >> (8 * digit)) & 255)] += 1
    moved = False
    for digit in range(digits):
        first, shift = counts + 256 * digit, 32 + 8 * digit
        if work[first + ((work[order] >> shift) & 255)] == count:
            continue
        total = np.int64(other)
        for place in range(first, first + 256):
            total, work[place] = total + work[place], total
        for place in range(order, order + count):
            key = work[place]
            bucket = first + ((key >> shift) & 255)
            work[work[bucket]] = key
            work[bucket] += 1
        order, other = other, order
        moved = not moved
    return moved


@kernel(borrows=True)
def _insert(work: Ints, keys: int, order: int, count: int, moves: int) -> bool:
    """Sort places by their numbers, by insertion; return whether so many moves were enough."""
    if count == 0:
        return True
    last = work[keys + (work[order] & _INDEX)]
    for place in range(order + 1, order + count):
        word = work[place]
        key = work[keys + (word & _INDEX)]
        if key >= last:
            last = key
            continue
        hole = place
        while hole > order and work[keys + (work[hole - 1] & _INDEX)] > key:
            work[hole] = work[hole - 1]
            hole -= 1
        work[hole] = word
        moves -= place - hole
        if moves < 0:
            return False
    return True


@kernel(borrows=True)
def _cut_out(
    words: Ints,
    work: Ints,
    classes: Ints,
    axes: Axes,
    read: int,
    rows: int,
    different: int,
    low: int,
    high: int,
) -> None:
    """Find for each event that makes a read the ranges of ranks that lie between its cuts.

    rows: where a row of each rank is. Ranges may be empty, or end before they begin; no two of an
    event have a rank in common.
    """
    room, parts = words[ROOM], words[read + CUTS]
    for row in range(low, high):
        kind = classes[row]
        if kind < 0 or words[words[read + READERS] + kind] == 0:
            continue
        for part in range(words[parts]):
            cuts = words[parts + 1 + part]
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
            work[words[read + LOW] + 2 * part * room + row - low] = first
            work[words[read + HIGH] + 2 * part * room + row - low] = last
        if words[parts] > 1:
            _set_apart(work, words[read + LOW] + row - low, room, words[parts])


@kernel(borrows=True)
def _set_apart(work: Ints, place: int, room: int, parts: int) -> None:
    """Make ranges ones that have no rank in common: all that lies in any, in ascending order.

    Each begins and ends at two places, `room` apart; the next one's lie as far behind.
    """
    stride = 2 * room
    for part in range(1, parts):
        first, last = work[place + part * stride], work[place + part * stride + room]
        hole = part
        while hole > 0 and work[place + (hole - 1) * stride] > first:
            hole -= 1
            work[place + (hole + 1) * stride] = work[place + hole * stride]
            work[place + (hole + 1) * stride + room] = work[place + hole * stride + room]
        work[place + hole * stride] = first
        work[place + hole * stride + room] = last
    reach = np.int64(0)
    for begin in range(place, place + parts * stride, stride):
        work[begin] = max(work[begin], reach)
        reach = max(reach, work[begin + room])


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
