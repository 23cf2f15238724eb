# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Windows of a key, one after another: each event's predecessors added up by an index.

For an event that may take state p, whose trends start with it or follow those in the states before
p, or follow an event of p itself whose value is up to its own,

    x = start(p) + sum of the totals of the states before p + sum of the x of such events of p

is the number of trends that end in it (COGRA's recurrence with an edge predicate: HAMLET, Section
3.1). The last sum is read off a Fenwick tree over the ranks that values have in the window, in
O(log n) for n events, and x entered there.

A number is a double as long as the totals stay below THRESHOLD, and then a double with an exponent
(`elsinore.numeric.extended`), from the event on at which that is passed.

The ranks in a window of a few events are found by sorting their values. In one of many a bit is set
for each value, and the rank of a value is how many bits are set below it.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.numeric.extended import normalise
from elsinore.trends.core.arrays import FOREVER, Codes, Doubles, Ints
from elsinore.trends.hamlet.forms import plus
from elsinore.trends.hamlet.layout import Words
from elsinore.trends.index.words import (
    ACCEPTING,
    BEFORE,
    BELOW,
    COMPARED,
    CURRENT,
    EQUAL,
    INVERTED,
    NONE,
    ORIGIN,
    PREVIOUS,
    QUERY_WORDS,
    START,
    STATE_WORDS,
    STATES,
    STEP,
    VALUES,
    WITHIN,
)
from elsinore.trends.keyed import Flags
from elsinore.trends.wide import wide_kernel

FEW = 24  # values that are sorted by insertion
CLEARED = 32  # words of marks that may be cleared for each event of a window


@wide_kernel
def _sort_few(values: Ints, begin: int, end: int) -> None:
    """Sort a few values."""
    for place in range(begin + 1, end):
        value = values[place]
        hole = place
        while hole > begin and values[hole - 1] > value:
            values[hole] = values[hole - 1]
            hole -= 1
        values[hole] = value


@wide_kernel
def _below(values: Ints, begin: int, end: int, value: int) -> int:
    """Return how many of some sorted values are below one, without a branch."""
    low, left = begin, end - begin
    while left > 1:
        half = left >> 1
        low = low + half if values[low + half - 1] < value else low
        left -= half
    return low - begin + (1 if left == 1 and values[low] < value else 0)


@wide_kernel
def _ones(word: int) -> int:
    """Return how many bits of a word are set (Warren, Hacker's Delight, Section 5-1)."""
    found = np.uint64(word)
    found = found - ((found >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    found = (found & pairs) + ((found >> np.uint64(2)) & pairs)
    found = (found + (found >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((found * np.uint64(0x0101010101010101)) >> np.uint64(56))


@wide_kernel
def _rank(
    values: Ints, begin: int, end: int, marks: Words, counted: Codes, value: int
) -> tuple[int, bool]:
    """Return how many values of a window are below one, and whether it is one of them."""
    if counted[0] < 0:  # nothing is marked
        rank = _below(values, begin, end, value)
        return rank, begin + rank < end and values[begin + rank] == value
    word, bit = marks[value >> 6], np.uint64(value & 63)
    below = word & ((np.uint64(1) << bit) - np.uint64(1))
    return counted[value >> 6] + _ones(below), (word >> bit) & np.uint64(1) != 0


@wide_kernel
def _read(sums: Doubles, powers: Codes, begin: int, rank: int, big: bool) -> tuple[float, int]:
    """Return the sum of the numbers of the first `rank` ranks in a tree."""
    total, power, at = 0.0, 0, rank
    if big:
        while at > 0:
            total, power = plus(total, power, sums[begin + at - 1], powers[begin + at - 1])
            at &= at - 1
        return total, power
    while at > 0:
        total += sums[np.uint64(begin + at - 1)]
        at &= at - 1
    return total, power


@wide_kernel
def _enter(
    sums: Doubles,
    powers: Codes,
    begin: int,
    end: int,
    rank: int,
    number: float,
    power: int,
    big: bool,
) -> None:
    """Add a number to a rank of a tree."""
    at = rank + 1
    size = end - begin
    if big:
        while at <= size:
            place = begin + at - 1
            sums[place], powers[place] = plus(sums[place], powers[place], number, power)
            at += at & -at
        return
    while at <= size:
        sums[np.uint64(begin + at - 1)] += number
        at += at & -at


@kernel
def rank_values(
    query: Ints,
    lists: Ints,
    classes: Ints,
    compared: Ints,
    known: Flags,
    low: int,
    high: int,
    values: Ints,
    ends: Ints,
    marks: Words,
    counted: Codes,
) -> None:
    """Rank the different values that events are compared by, state by state.

    The numbers of state p's are ends[p] to ends[p + 1] - 1; where nothing is marked its values are
    there, sorted. marks, counted: [state, value // 64] a bit for each value, and how many are set
    in the words before; -1 where nothing is marked.
    """
    end = 0
    words = (query[VALUES] + 63) >> 6
    marked = words > 0 and words <= CLEARED * (high - low)
    for state in range(query[STATES]):
        at = QUERY_WORDS + STATE_WORDS * state
        ends[state] = begin = end
        if query[at + COMPARED] == NONE:
            continue
        row = query[at + PREVIOUS]
        counted[state, 0] = -1
        if marked:
            marks[state, :words] = np.uint64(0)
        for event in range(low, high):
            kind = classes[event]
            if kind < 0 or known[row, event] == 0:
                continue
            for place in range(kind + 1, kind + 1 + lists[kind]):
                if lists[place] == state:
                    value = compared[row, event]
                    if query[at + INVERTED] != 0:
                        value = query[VALUES] - 1 - value
                    if marked:
                        marks[state, value >> 6] |= np.uint64(1) << np.uint64(value & 63)
                    else:
                        values[end] = value
                        end += 1
        if marked:
            for word in range(words):
                counted[state, word] = end - begin
                end += _ones(marks[state, word])
            continue
        if end - begin <= FEW:
            _sort_few(values, begin, end)
        else:
            values[begin:end] = np.sort(values[begin:end])
        different = begin
        for place in range(begin, end):
            if different == begin or values[place] != values[different - 1]:
                values[different] = values[place]
                different += 1
        end = different
    ends[query[STATES]] = end


@wide_kernel
def _find(
    query: Ints,
    at: int,
    compared: Ints,
    known: Flags,
    event: int,
    totals: Doubles,
    total_powers: Codes,
    values: Ints,
    begin: int,
    end: int,
    marks: Words,
    counted: Codes,
    sums: Doubles,
    powers: Codes,
    big: bool,
) -> tuple[float, int, int]:
    """Return how many trends end in an event that takes the state whose words are at `at`.

    Also returns how many values are below its own, -1 where it is none of `values`.
    """
    number, power = float(query[at + START]), 0
    before = query[at + BEFORE]
    for place in range(before + 1, before + 1 + query[before]):
        state = query[place]
        if big:
            number, power = plus(number, power, totals[state], total_powers[state])
        else:
            number += totals[state]
    how, row = query[at + COMPARED], query[at + CURRENT]
    if how == NONE or known[row, event] == 0:
        return number, power, -1
    value = compared[row, event]
    if query[at + INVERTED] != 0:
        value = query[VALUES] - 1 - value
    rank, there = _rank(values, begin, end, marks, counted, value)
    if how == EQUAL:
        if there:
            number, power = plus(number, power, sums[begin + rank], powers[begin + rank])
    else:
        upto = rank + 1 if there and how != BELOW else rank
        more, exponent = _read(sums, powers, begin, upto, big)
        if big:
            number, power = plus(number, power, more, exponent)
        else:
            number += more
    return number, power, rank if there else -1


@wide_kernel
def pass_events(
    query: Ints,
    lists: Ints,
    times: Ints,
    classes: Ints,
    compared: Ints,
    known: Flags,
    low: int,
    high: int,
    by_time: bool,
    values: Ints,
    ends: Ints,
    marks: Words,
    counted: Codes,
    sums: Doubles,
    powers: Codes,
    totals: Doubles,
    total_powers: Codes,
    found: Doubles,
    found_powers: Codes,
    found_ranks: Codes,
) -> None:
    """Add up the trends in a window, whose events are `low` to `high` - 1, state by state.

    found: of each event of a moment and state that it takes, the trends that end in it; found_ranks
    its rank, or -1.
    """
    states = query[STATES]
    for state in range(states):
        totals[state] = 0.0
        total_powers[state] = 0
    for place in range(ends[states]):
        sums[place] = 0.0
        powers[place] = 0
    big = False
    event = low
    while event < high:
        after = event + 1
        if by_time:
            while after < high and times[after] == times[event]:
                after += 1
        count = 0
        for row in range(event, after):
            kind = classes[row]
            if kind < 0:
                continue
            for place in range(kind + 1, kind + 1 + lists[kind]):
                state = lists[place]
                found[count], found_powers[count], found_ranks[count] = _find(
                    query,
                    QUERY_WORDS + STATE_WORDS * state,
                    compared,
                    known,
                    row,
                    totals,
                    total_powers,
                    values,
                    ends[state],
                    ends[state + 1],
                    marks[state],
                    counted[state],
                    sums,
                    powers,
                    big,
                )
                count += 1
        count = 0
        for row in range(event, after):
            kind = classes[row]
            if kind < 0:
                continue
            for place in range(kind + 1, kind + 1 + lists[kind]):
                state = lists[place]
                number, power, rank = found[count], found_powers[count], found_ranks[count]
                count += 1
                if number == 0.0:
                    continue
                totals[state], total_powers[state] = plus(
                    totals[state], total_powers[state], number, power
                )
                big |= total_powers[state] > 0
                at = QUERY_WORDS + STATE_WORDS * state
                how, read = query[at + COMPARED], query[at + PREVIOUS]
                if how == NONE or known[read, row] == 0:
                    continue
                begin, end = ends[state], ends[state + 1]
                if read != query[at + CURRENT]:
                    value = compared[read, row]
                    if query[at + INVERTED] != 0:
                        value = query[VALUES] - 1 - value
                    rank, _ = _rank(values, begin, end, marks[state], counted[state], value)
                if how == EQUAL:
                    sums[begin + rank], powers[begin + rank] = plus(
                        sums[begin + rank], powers[begin + rank], number, power
                    )
                else:
                    _enter(sums, powers, begin, end, rank, number, power, big)
        event = after


@wide_kernel
def first_window(query: Ints, time: int) -> int:
    """Return the first window that ends after a time."""
    if query[WITHIN] == FOREVER:
        return 0
    return (time - query[ORIGIN] - query[WITHIN]) // query[STEP] + 1


@kernel
def sum_windows(
    query: Ints,
    lists: Ints,
    starts: Ints,
    done: Ints,
    until: Ints,
    times: Ints,
    classes: Ints,
    compared: Ints,
    known: Flags,
    by_time: bool,
    places: Ints,
    cells: Doubles,
    cell_powers: Codes,
    values: Ints,
    marks: Words,
    counted: Codes,
    sums: Doubles,
    powers: Codes,
    found: Doubles,
    found_powers: Codes,
    found_ranks: Codes,
    at: Ints,
) -> int:
    """Sum up the windows of all keys that are wanted; return how many results there are.

    places, cells: [result] its key and window (2 * result, 2 * result + 1), and its number of
    trends. at: the key and window to go on with. It comes back, with as many results as there is
    room for, where there are more.
    """
    states = query[STATES]
    ends = np.zeros(states + 1, dtype=np.int64)
    totals, total_powers = np.zeros(states), np.zeros(states, dtype=np.int32)
    count, most = 0, cells.shape[0]
    accepting = query[ACCEPTING]
    while at[0] < starts.shape[0] - 1:
        key = at[0]
        low, end = starts[key], starts[key + 1]
        if low == end:
            at[0] += 1
            continue
        if at[1] == FOREVER:  # the key is begun
            at[1], at[2], at[3] = first_window(query, times[low]), low, low
        window, low, high = at[1], at[2], at[3]
        within = query[WITHIN]
        while low < end:
            opens = times[low] if within == FOREVER else query[ORIGIN] + window * query[STEP]
            closes = FOREVER if within == FOREVER else opens + within
            while low < end and times[low] < opens:
                low += 1
            if low == end or closes > until[key]:
                break
            if times[low] >= closes:
                window = max(window + 1, first_window(query, times[low]))
                continue
            high = max(high, low)
            while high < end and times[high] < closes:
                high += 1
            if closes > done[key]:
                if count == most:
                    at[1], at[2], at[3] = window, low, high
                    return count
                rank_values(
                    query, lists, classes, compared, known, low, high, values, ends, marks, counted
                )
                pass_events(
                    query,
                    lists,
                    times,
                    classes,
                    compared,
                    known,
                    low,
                    high,
                    by_time,
                    values,
                    ends,
                    marks,
                    counted,
                    sums,
                    powers,
                    totals,
                    total_powers,
                    found,
                    found_powers,
                    found_ranks,
                )
                number, power = 0.0, 0
                for place in range(accepting + 1, accepting + 1 + query[accepting]):
                    state = query[place]
                    number, power = plus(number, power, totals[state], total_powers[state])
                if number != 0.0:
                    places[2 * count], places[2 * count + 1] = key, window
                    cells[count], cell_powers[count] = normalise(number, power)
                    count += 1
            if within == FOREVER:
                break
            window += 1
        at[0], at[1] = key + 1, FOREVER
    return count
