# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The events of intermediate matches: those on a path of neighbours from an event to an end.

A row in collapsed form begins with one event of a window. What may follow one another there is told
by conditions on neighbours and by NOT, so the matches are paths, and an event is in a set where one
leads to it from the beginning, and on to where a match may end. Conditions that look farther back
are *postponed* (SASE++, Sections 5.1 and 5.2): they are left to whoever expands the row, but for
those that read no earlier event than the first, which is the same in all of a row's matches.

Where all that an edge asks is one comparison of an attribute with one of the event before, an event
may follow some of those before it if it may follow the one with the least value, or the greatest:
that is kept as a window is gone through, behind the room of expressions in `stack` and
`whole_stack`, edge by edge; behind these `whole_stack` has what each edge asks.

What kernels are passed beside what those of `elsinore.matches.search` are: `rows` [row, column];
`known` [condition], 1 where it is looked at here; `marks` [event of the window, state], working
room with one row more than the longest window has events; `listed`, what is given out.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.matches.arrays import Bytes, Doubles, Ints
from elsinore.matches.interpret import STACK, value_of
from elsinore.matches.keyed import first_at
from elsinore.matches.search import (
    CHECK_AT,
    CODE_AT,
    EDGE_AT,
    END_AT,
    FAILED,
    LE,
    MOMENT,
    NEAR_AT,
    NO_STEP,
    NOTHING,
    NULL,
    PAIR_AT,
    STATES,
    TIME,
    WAY_AT,
    all_hold,
    are_neighbours,
    in_order,
    is_free,
    last_before,
)
from elsinore.matches.select import step_aggregate

CLASS_AT = 5  # a place in the header of `tables`
CLASS = 1  # a row of `integers`
# Columns of `rows`: the first event, the window, the last event in it, the first row of the key.
BEGINS, WINDOW, ENDS, KEY_FIRST = range(4)
# What is kept between calls: the next row, how many events were given out, and the window.
NEXT_ROW, FILLED, WITHIN, SLIDE, ORIGIN = range(5)
PROGRESS = 5
REACHED, ON_PATH = 1, 2  # in `marks`
NEVER_ENDS = -2  # in END_AT
SINGLE = 1  # row of the registers that hold the first event where they are known
NOTHING_ASKED, MORE_ASKED = -2, -1  # of an edge
LATER, BEFORE = np.int64(2), np.int64(3)  # rows of an edge's comparison: see `pair_holds`


@kernel(borrows=True)
def asked_of(tables: Ints, edge: int, known: Bytes) -> int:
    """Return what an edge asks of two neighbours: nothing, more, or where its one comparison is."""
    near, way = tables[tables[NEAR_AT] + edge], tables[tables[WAY_AT] + edge]
    if tables[near] > 1 or way >= 0:
        return MORE_ASKED
    checks = tables[tables[CHECK_AT] + edge]
    for place in range(checks + 1, checks + 1 + tables[checks]):
        if known[tables[place]] == 1:
            return MORE_ASKED
    if tables[near] == 0:
        return NOTHING_ASKED
    return tables[tables[PAIR_AT] + tables[near + 1]]  # MORE_ASKED where it is no such comparison


@kernel(borrows=True)
def keep_better(
    tables: Ints,
    pair: int,
    edge: int,
    side: int,
    row: int,
    doubles: Doubles,
    integers: Ints,
    stack: Doubles,
    whole_stack: Ints,
) -> None:
    """Keep an edge's value of an event, LATER or BEFORE, if more events compare with it."""
    is_greatest = (tables[pair] <= LE) == (side == BEFORE)
    place, column = STACK + edge, tables[pair + side]
    if tables[pair + 1] == 1:
        whole, best = integers[column, row], whole_stack[place]
        if whole != NULL and (best == NULL or (whole > best) == is_greatest):
            whole_stack[place] = whole
        return
    value = doubles[column, row]
    if not np.isnan(value) and (np.isnan(stack[place]) or (value > stack[place]) == is_greatest):
        stack[place] = value


@kernel(borrows=True)
def keep_best(
    tables: Ints,
    state: int,
    side: int,
    row: int,
    doubles: Doubles,
    integers: Ints,
    stack: Doubles,
    whole_stack: Ints,
) -> None:
    """Keep values of an event in a state, for edges that leave it (BEFORE) or enter it (LATER)."""
    states = tables[STATES]
    for other in range(states):
        source, target = (state, other) if side == BEFORE else (other, state)
        edge = tables[tables[EDGE_AT] + (source + 1) * states + target]
        pair = whole_stack[len(stack) + edge] if edge >= 0 else MORE_ASKED
        if pair >= 0:
            keep_better(tables, pair, edge, side, row, doubles, integers, stack, whole_stack)


@kernel(borrows=True)
def compares_with_best(
    tables: Ints,
    pair: int,
    edge: int,
    side: int,
    row: int,
    doubles: Doubles,
    integers: Ints,
    stack: Doubles,
    whole_stack: Ints,
) -> bool:
    """Return whether an event compares with a value that was kept, of events on `side` of it."""
    place, column = STACK + edge, tables[pair + LATER + BEFORE - side]
    if tables[pair + 1] == 1:
        whole, best = integers[column, row], whole_stack[place]
        if whole == NULL or best == NULL:  # noqa: PLR1714 - compiled
            return False
        if side == BEFORE:
            return in_order(tables[pair], whole, best)
        return in_order(tables[pair], best, whole)
    if side == BEFORE:
        return in_order(tables[pair], doubles[column, row], stack[place])
    return in_order(tables[pair], stack[place], doubles[column, row])


@kernel(borrows=True)
def forget_best(stack: Doubles, whole_stack: Ints) -> None:
    """Keep no value of any edge."""
    for place in range(STACK, len(stack)):
        stack[place], whole_stack[place] = np.nan, NULL


@kernel(borrows=True)
def may_follow(
    tables: Ints,
    edge: int,
    constants: Doubles,
    doubles: Doubles,
    integers: Ints,
    negatives: Ints,
    known: Bytes,
    current: int,
    previous: int,
    first: int,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
) -> bool:
    """Return whether an event may follow another by an edge, as far as is known."""
    if not are_neighbours(
        tables, edge, constants, doubles, integers, negatives, current, previous, first, held,
        numbers, stack, whole_stack,
    ):  # fmt: skip
        return False
    checks = tables[tables[CHECK_AT] + edge]
    for place in range(checks + 1, checks + 1 + tables[checks]):
        if known[tables[place]] == 1:
            value = value_of(
                tables, tables[tables[CODE_AT] + tables[place]], constants, doubles, integers,
                current, previous, SINGLE, SINGLE, held, numbers, stack, whole_stack,
            )  # fmt: skip
            if value != 1.0:
                return False
    return True


@kernel(borrows=True)
def may_end(
    tables: Ints,
    integers: Ints,
    negatives: Ints,
    rows: Ints,
    row: int,
    progress: Ints,
    edge: int,
    state: int,
    last: int,
) -> bool:
    """Return whether a match may end with an event: NOT at its beginning and at its end."""
    if tables[tables[END_AT] + state] == NEVER_ENDS:
        return False
    begin, first = rows[row, BEGINS], rows[row, KEY_FIRST]
    way = tables[tables[WAY_AT] + edge]
    if way >= 0:
        lowest = 0
        if progress[SLIDE] > 0:
            start = progress[ORIGIN] + rows[row, WINDOW] * progress[SLIDE]
            lowest = integers[MOMENT, first_at(integers, first, last, start)]
        elif progress[WITHIN] >= 0:
            start = integers[TIME, last] - progress[WITHIN]
            lowest = integers[MOMENT, first_at(integers, first, last, start)]
        if not is_free(tables, way, negatives, lowest - 1, last_before(integers, begin, first)):
            return False
    way = tables[tables[END_AT] + state]
    return way < 0 or is_free(tables, way, negatives, integers[MOMENT, last], rows[row, ENDS])


@kernel(borrows=True)
def intermediate(
    tables: Ints,
    constants: Doubles,
    doubles: Doubles,
    integers: Ints,
    negatives: Ints,
    rows: Ints,
    state: int,
    known: Bytes,
    progress: Ints,
    marks: Bytes,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
    listed: Ints,
) -> None:
    """Fill `listed` [n] with row, event and state of what is on the paths of rows in `state`.

    It stops where there is no room for a row; called again it goes on with that.
    """
    states = tables[STATES]
    start = tables[tables[EDGE_AT] + state]
    asks = len(stack)
    for edge in range(asks - STACK):
        whole_stack[asks + edge] = asked_of(tables, edge, known)
    row = progress[NEXT_ROW]
    while row < len(rows):
        begin, first = rows[row, BEGINS], rows[row, KEY_FIRST]
        size = rows[row, ENDS] - begin + 1
        if progress[FILLED] + size * states > len(listed):
            break
        row += 1
        checks = tables[tables[CHECK_AT] + start]
        if tables[checks] > 0 and not all_hold(
            tables, checks, constants, doubles, integers, begin, NOTHING, NO_STEP, NO_STEP, held,
            numbers, stack, whole_stack,
        ):  # fmt: skip
            continue
        for register in range(held.shape[1]):
            held[SINGLE, register] = begin
        for at in range(size + 1):
            for other in range(states):
                marks[at, other] = 0
        marks[0, state] = REACHED
        done = 0  # row `size` says which states were reached at moments before
        forget_best(stack, whole_stack)
        for at in range(1, size):
            current = begin + at
            while integers[MOMENT, begin + done] < integers[MOMENT, current]:
                for other in range(states):
                    if marks[done, other] == 0:
                        continue
                    marks[size, other] = REACHED
                    keep_best(
                        tables, other, BEFORE, begin + done, doubles, integers, stack, whole_stack
                    )
                done += 1
            number = integers[CLASS, current]
            takes = tables[tables[CLASS_AT] + number] if number >= 0 else -1
            if takes < 0:
                continue
            for place in range(takes + 1, takes + 1 + tables[takes]):
                target = tables[place]
                for source in range(states):
                    edge = tables[tables[EDGE_AT] + (source + 1) * states + target]
                    if edge < 0 or marks[size, source] == 0:
                        continue
                    pair = whole_stack[asks + edge]
                    if pair == NOTHING_ASKED:
                        marks[at, target] = REACHED
                        break
                    if pair >= 0 and compares_with_best(
                        tables, pair, edge, BEFORE, current, doubles, integers, stack, whole_stack
                    ):
                        marks[at, target] = REACHED
                        break
                    for before in range(done - 1 if pair == MORE_ASKED else -1, -1, -1):
                        if marks[before, source] == REACHED and may_follow(
                            tables, edge, constants, doubles, integers, negatives, known, current,
                            begin + before, first, held, numbers, stack, whole_stack,
                        ):  # fmt: skip
                            marks[at, target] = REACHED
                            break
                    if marks[at, target] == REACHED:
                        break
        for other in range(states):
            marks[size, other] = 0
        done = size - 1  # row `size` says which states are on a path at later moments
        forget_best(stack, whole_stack)
        for at in range(size - 1, -1, -1):
            current = begin + at
            while integers[MOMENT, begin + done] > integers[MOMENT, current]:
                for other in range(states):
                    if marks[done, other] != ON_PATH:
                        continue
                    marks[size, other] = ON_PATH
                    keep_best(
                        tables, other, LATER, begin + done, doubles, integers, stack, whole_stack
                    )
                done -= 1
            for source in range(states):
                if marks[at, source] == 0:
                    continue
                if may_end(
                    tables, integers, negatives, rows, row - 1, progress, start, source, current
                ):
                    marks[at, source] = ON_PATH
                    continue
                for target in range(states):
                    edge = tables[tables[EDGE_AT] + (source + 1) * states + target]
                    if edge < 0 or marks[size, target] == 0:
                        continue
                    pair = whole_stack[asks + edge]
                    if pair == NOTHING_ASKED:
                        marks[at, source] = ON_PATH
                        break
                    if pair >= 0 and compares_with_best(
                        tables, pair, edge, LATER, current, doubles, integers, stack, whole_stack
                    ):
                        marks[at, source] = ON_PATH
                        break
                    for later in range(done + 1, size if pair == MORE_ASKED else 0):
                        if marks[later, target] == ON_PATH and may_follow(
                            tables, edge, constants, doubles, integers, negatives, known,
                            begin + later, current, first, held, numbers, stack, whole_stack,
                        ):  # fmt: skip
                            marks[at, source] = ON_PATH
                            break
                    if marks[at, source] == ON_PATH:
                        break
        filled = progress[FILLED]
        if marks[0, state] == ON_PATH:
            for at in range(size):
                for other in range(states):
                    if marks[at, other] == ON_PATH:
                        listed[filled, 0] = row - 1
                        listed[filled, 1] = begin + at
                        listed[filled, 2] = other
                        filled += 1
        progress[FILLED] = filled
    progress[NEXT_ROW] = row


@kernel(borrows=True)
def step_sets(
    tables: Ints,
    listed: int,
    initial: Doubles,
    rows: Ints,
    events: Ints,
    doubles: Doubles,
    work: Doubles,
    found: Doubles,
) -> None:
    """Fill `found` [row] with a user's aggregate over the events of each row, which stand together.

    `initial` is its register with the state of no events, `work` [1, place] room for one.
    """
    before = -1
    for place in range(len(rows)):
        row = rows[place]
        if row != before:
            for number in range(len(initial)):
                work[0, number] = initial[number]
            before = row
        step_aggregate(tables, listed, 0, events[place], 0, doubles, work)
        if tables[FAILED] > 0:
            return
        found[row] = work[0, 0]
