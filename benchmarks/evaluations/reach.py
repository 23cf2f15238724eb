# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The relevant events of a key, and which of them can be part of a complete match.

Sets of states are bits of an integer; the states from `LAST_BIT` on share the last one, so that a
set may have more in it than is true, never less.
"""

from __future__ import annotations

from benchmarks.evaluations.kernels import kernel
from elsinore.matches.arrays import Ints

STRATEGY, CLASS_AT = (
    3,
    5,
)  # places in the header of `tables` (`evaluations.tables.Header`)
NEXT_AT, BEFORE_AT, ENDING, IS_PLAIN = 21, 22, 23, 24
ANY, NEXT, CONTIGUOUS = 0, 1, 2
CLASS, MOMENT = 1, 2  # rows of `integers`
# Columns of `events`: row, moment, where its states are listed; the states it takes, and those of
# them from which a match can be completed, as bits.
ROW, WHEN, TAKES, MASK, ALIVE = range(5)
EVENT_COLUMNS = 5
LAST_BIT = 62


@kernel
def gather(tables: Ints, integers: Ints, begin: int, end: int, fresh: int, events: Ints) -> int:
    """Fill `events` with the rows that some state takes; return how many there are.

    Matches that are looked for end at row `fresh` or later.
    """
    count = 0
    classes = tables[CLASS_AT]
    for row in range(begin, end):
        number = integers[CLASS, row]
        if number < 0:
            continue
        listed = tables[classes + number]
        if tables[listed] > 0:
            events[count, ROW], events[count, WHEN] = row, integers[MOMENT, row]
            events[count, TAKES], events[count, MASK] = listed, tables[listed - 1]
            count += 1
    reach(tables, events, count, fresh)
    return count


@kernel
def reach(tables: Ints, events: Ints, count: int, fresh: int) -> None:
    """Fill column ALIVE, from the last event backwards.

    Conditions between events are taken to hold, but with NEXT, where there are none, the first
    event that can extend a match is the only one.
    """
    strategy, ending = tables[STRATEGY], tables[ENDING]
    is_next = strategy == NEXT and tables[IS_PLAIN] == 1
    open_states = 0  # those from which what comes later completes a match
    at, later = count - 1, -1
    while at >= 0:
        moment = events[at, WHEN]
        if strategy == CONTIGUOUS and later != moment + 1:
            open_states = 0
        gained, extended = 0, 0
        state_bits = open_states
        while at >= 0 and events[at, WHEN] == moment:
            states = state_bits
            if events[at, ROW] >= fresh:
                states |= ending
            states &= events[at, MASK]
            events[at, ALIVE] = states
            listed = events[at, TAKES]
            for place in range(listed + 1, listed + 1 + tables[listed]):
                bit = min(tables[place], LAST_BIT)
                before = tables[tables[BEFORE_AT] + bit]
                extended |= before
                if (states >> bit) & 1:
                    gained |= before
            at -= 1
        if strategy == CONTIGUOUS:
            open_states = gained
        elif is_next:
            open_states = (open_states & ~extended) | gained
        else:
            open_states |= gained
        later = moment
