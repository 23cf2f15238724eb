# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Closing windows of one key by an index, in one call over the rows where they wait.

What a call is told is one array of words: where rows, sums and room for totals are, which seldom
move, and which windows are due.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import kernel
from elsinore.kernels.arrow import array_at
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.core.window_times import first_window, start_of
from elsinore.trends.graph.layout import Stream
from elsinore.trends.graph.sums import Fields, Sums, empty_sums
from elsinore.trends.graph.windows import Keys, Wanted, Windows, find_windows, row_at
from elsinore.trends.index.axes import Axes
from elsinore.trends.index.layout import BY_TIME, OVERLAP, ROOM, SORTED, SORTED_FIRST
from elsinore.trends.index.windows import sum_windows
from elsinore.trends.keyed import Ints

# words that every close tells: the rows that wait, from the first to the one behind the last, and
# the number of row 0; windows that end by then are given out, or due now; the key's group
BEGIN, END, NUMBER, DONE, UNTIL, GROUP, OF_CLOSE = range(7)
# what a call tells: how many totals were given, how many rows no open window needs
GIVEN, GONE = range(OF_CLOSE, OF_CLOSE + 2)
# where totals are put: the next row, how many have room, and the columns of each type
PLACE, PLACES, WHOLES, NUMBERS, CODES = range(GONE + 1, GONE + 6)
# the queries' window; events of one moment that there is room for; how many finals there are, sums
# and extremes in a row of totals
WITHIN, STEP, ORIGIN, MOMENT, FINALS, FIELDS, EXTREMES = range(CODES + 1, CODES + 8)
# tables: the address, and how many rows and columns
TABLE = 3
QUERIES, TIMES, CLASSES, CODED, KNOWN = range(EXTREMES + 1, EXTREMES + 1 + 5 * TABLE, TABLE)
VALUES, PRESENT, ORDERS, ORDERED = range(KNOWN + TABLE, KNOWN + 5 * TABLE, TABLE)
LINEAR, EXTREME = range(ORDERED + TABLE, ORDERED + 3 * TABLE, TABLE)
SUM_CELLS, SUM_POWERS, SUM_EXTREMES, CALL = range(EXTREME + TABLE, EXTREME + 5 * TABLE, TABLE)

# words of a query: its number, its final; then which sums and which extremes are its own, or -1
QUERY, FINAL, OWN = range(3)

CLOSED, MORE_PLACES, OTHER_INDEX = np.int64(0), np.int64(1), np.int64(2)  # how a call ends

MOST_ROOM = 4  # times the rows that there are: an index with more room is made anew, ...
FEW_ROWS = 2**12  # ... unless it is for so few
_FEW = np.int64(2**6)  # windows for which there is room at first


@kernel
def close_windows(call: Ints, words: Ints, work: Ints) -> int:
    """Give out the totals of the windows that are due; return how it ended.

    Due is what ends after DONE and at or before UNTIL, or the last row, which UNTIL then is.
    MORE_PLACES: there is no room for as many totals as GIVEN; OTHER_INDEX: the index has not the
    room for such rows, or far too much. Nothing is done then.
    """
    times = _table_at(call, TIMES, np.int64)[0]
    until = call[UNTIL] = max(call[UNTIL], times[call[END] - 1])
    starts, done, due = np.empty(2, np.int64), np.empty(1, np.int64), np.empty(1, np.int64)
    starts[0], starts[1], done[0], due[0] = call[BEGIN], call[END], call[DONE], until
    by_time = words[BY_TIME] != 0
    keys = Keys(starts, done, due, times, by_time)
    wanted = Wanted(call[WITHIN], call[STEP], call[ORIGIN])
    room, count, longest = np.int64(0), _FEW, np.int64(0)
    columns = np.empty((4, _FEW), dtype=np.int64)
    while count > room:
        room = count
        columns = np.empty((4, room), dtype=np.int64)
        count, longest = find_windows(keys, wanted, columns)
    held = Windows(
        columns[0, :count], columns[1, :count], columns[2, :count], columns[3, :count], longest
    )
    if count != 0:
        rows = longest * (1 + (words[OVERLAP] != 0))
        if not rows <= words[ROOM] <= max(MOST_ROOM * rows, FEW_ROWS):
            return OTHER_INDEX
        if by_time and _longest_moment(times, held.low[0], held.high[count - 1]) > call[MOMENT]:
            return OTHER_INDEX
        queries = _table_at(call, QUERIES, np.int64)
        call[GIVEN] = count * len(queries)
        if call[PLACE] + call[GIVEN] > call[PLACES]:
            return MORE_PLACES
        work[words[SORTED] + SORTED_FIRST] = call[NUMBER]
        totals = empty_sums(count * call[FINALS], call[LINEAR + 2], call[EXTREME + 2])
        _sum_up(call, words, work, times, held, totals)
        call[GIVEN] = _give(call, queries, held.window, totals)
    else:
        call[GIVEN] = 0
    call[GONE] = _before(call, times, until)
    return CLOSED


@kernel(linked=True)
def _table_at(call: Ints, place: int, kind: type[np.generic]) -> NDArray[Any]:
    """Return the table that words of a call tell of from a place on."""
    rows, columns = call[place + 1], call[place + 2]
    return array_at(call[place], rows * columns, kind).reshape((rows, columns))


@kernel(linked=True)
def _sum_up(call: Ints, words: Ints, work: Ints, times: Ints, held: Windows, totals: Sums) -> None:
    """Fill rows of totals for each window."""
    stream = Stream(
        _table_at(call, CLASSES, np.int64)[0],
        _table_at(call, VALUES, np.float64),
        _table_at(call, PRESENT, np.uint8),
        _table_at(call, ORDERS, np.int64),
        _table_at(call, ORDERED, np.uint8),
    )
    axes = Axes(
        _table_at(call, CODED, np.int64),
        np.empty((0, 0)),
        _table_at(call, KNOWN, np.uint8),
        times,
    )
    sums = Sums(
        _table_at(call, SUM_CELLS, np.float64),
        _table_at(call, SUM_POWERS, np.int32),
        _table_at(call, SUM_EXTREMES, np.int64),
    )
    fields = Fields(_table_at(call, LINEAR, np.int64), _table_at(call, EXTREME, np.int64))
    sum_windows(words, work, fields, stream, axes, held, sums, totals)


@kernel(linked=True)
def _give(call: Ints, queries: Ints, windows: Ints, totals: Sums) -> int:
    """Put the totals of windows that hold a trend, query after query; return how many there are."""
    place, room, finals = call[PLACE], call[PLACES], call[FINALS]
    fields, extremes = call[FIELDS], call[EXTREMES]
    wholes = array_at(call[WHOLES], (1 + extremes) * room, np.int64)
    numbers = array_at(call[NUMBERS], fields * room, np.float64)
    codes = array_at(call[CODES], (2 + fields) * room, np.int32)
    for query in range(len(queries)):
        for window in range(len(windows)):
            row = window * finals + queries[query, FINAL]
            own = queries[query, OWN]
            if totals.cells[row, own] == 0.0:
                continue
            codes[place], codes[room + place] = queries[query, QUERY], call[GROUP]
            wholes[place] = windows[window]
            for field in range(fields):
                own = queries[query, OWN + field]
                numbers[field * room + place] = totals.cells[row, own] if own >= 0 else 0.0
                codes[(2 + field) * room + place] = totals.powers[row, own] if own >= 0 else 0
            for extreme in range(extremes):
                own = queries[query, OWN + fields + extreme]
                value = totals.extremes[row, own] if own >= 0 else FOREVER
                wholes[(1 + extreme) * room + place] = value
            place += 1
    return place - call[PLACE]


@kernel(linked=True)
def _longest_moment(times: Ints, low: int, high: int) -> int:
    """Return the most rows that are of one time."""
    longest, count = 0, 0
    for row in range(low, high):
        count = count + 1 if row > low and times[row] == times[row - 1] else 1
        longest = max(longest, count)
    return longest


@kernel(linked=True)
def _before(call: Ints, times: Ints, until: int) -> int:
    """Return how many rows are in no window that ends after a time; FOREVER: all are."""
    begin, end = call[BEGIN], call[END]
    if until == FOREVER:
        return end - begin
    if call[WITHIN] == FOREVER:
        return 0
    first = first_window(until, call[WITHIN], call[STEP], call[ORIGIN])
    return row_at(times, begin, end, start_of(first, call[STEP], call[ORIGIN])) - begin
