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

What kernels are passed beside what those of `elsinore.matches.search` are: `sets`, the rows;
`listed`, what is given out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.matches.arrays import Bytes, Doubles, Ints, Registers, Rules, Values
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


class Sets(NamedTuple):
    """The rows whose sets of events are looked for, and working room."""

    rows: Ints  # [row, column]
    known: Bytes  # [condition], 1 where it is looked at here
    marks: Bytes  # [event of the window, state], a row more than the longest window has events


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
    values: Values,
    rules: Rules,
) -> None:
    """Keep an edge's value of an event, LATER or BEFORE, if more events compare with it."""
    is_greatest = (tables[pair] <= LE) == (side == BEFORE)
    place, column = STACK + edge, tables[pair + side]
    if tables[pair + 1] == 1:
        whole, best = values.integers[column, row], rules.whole_stack[place]
        if whole != NULL and (best == NULL or (whole > best) == is_greatest):
            rules.whole_stack[place] = whole
        return
    value = values.doubles[column, row]
    if not np.isnan(value) and (
        np.isnan(rules.stack[place]) or (value > rules.stack[place]) == is_greatest
    ):
        rules.stack[place] = value


@kernel(borrows=True)
def keep_best(
    tables: Ints,
    state: int,
    side: int,
    row: int,
    values: Values,
    rules: Rules,
) -> None:
    """Keep values of an event in a state, for edges that leave it (BEFORE) or enter it (LATER)."""
    states = tables[STATES]
    for other in range(states):
        source, target = (state, other) if side == BEFORE else (other, state)
        edge = tables[tables[EDGE_AT] + (source + 1) * states + target]
        pair = rules.whole_stack[len(rules.stack) + edge] if edge >= 0 else MORE_ASKED
        if pair >= 0:
            keep_better(tables, pair, edge, side, row, values, rules)


@kernel(borrows=True)
def compares_with_best(
    tables: Ints,
    pair: int,
    edge: int,
    side: int,
    row: int,
    values: Values,
    rules: Rules,
) -> bool:
    """Return whether an event compares with a value that was kept, of events on `side` of it."""
    place, column = STACK + edge, tables[pair + LATER + BEFORE - side]
    if tables[pair + 1] == 1:
        whole, best = values.integers[column, row], rules.whole_stack[place]
        if whole == NULL or best == NULL:  # noqa: PLR1714 - compiled
            return False
        if side == BEFORE:
            return in_order(tables[pair], whole, best)
        return in_order(tables[pair], best, whole)
    if side == BEFORE:
        return in_order(tables[pair], values.doubles[column, row], rules.stack[place])
    return in_order(tables[pair], rules.stack[place], values.doubles[column, row])


@kernel(borrows=True)
def forget_best(stack: Doubles, whole_stack: Ints) -> None:
    """Keep no value of any edge."""
    for place in range(STACK, len(stack)):
        stack[place], whole_stack[place] = np.nan, NULL


@kernel(borrows=True)
def may_follow(
    tables: Ints,
    edge: int,
    rules: Rules,
    values: Values,
    known: Bytes,
    current: int,
    previous: int,
    first: int,
    registers: Registers,
) -> bool:
    """Return whether an event may follow another by an edge, as far as is known."""
    if not are_neighbours(tables, edge, rules, values, current, previous, first, registers):
        return False
    checks = tables[tables[CHECK_AT] + edge]
    for place in range(checks + 1, checks + 1 + tables[checks]):
        if known[tables[place]] == 1:
            value = value_of(
                tables, tables[tables[CODE_AT] + tables[place]], rules, values, current, previous,
                SINGLE, SINGLE, registers,
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
    rules: Rules,
    values: Values,
    sets: Sets,
    state: int,
    progress: Ints,
    registers: Registers,
    listed: Ints,
) -> None:
    """Fill `listed` [n] with row, event and state of what is on the paths of rows in `state`.

    It stops where there is no room for a row; called again it goes on with that.
    """
    asks = len(rules.stack)
    for edge in range(asks - STACK):
        rules.whole_stack[asks + edge] = asked_of(tables, edge, sets.known)
    checks = tables[tables[CHECK_AT] + tables[tables[EDGE_AT] + state]]
    while progress[NEXT_ROW] < len(sets.rows):
        begin, end = sets.rows[progress[NEXT_ROW], BEGINS], sets.rows[progress[NEXT_ROW], ENDS]
        if progress[FILLED] + (end + 1 - begin) * tables[STATES] > len(listed):
            break
        if all_hold(tables, checks, rules, values, begin, NOTHING, NO_STEP, NO_STEP, registers):
            for register in range(registers.held.shape[1]):
                registers.held[SINGLE, register] = begin
            mark_reached(tables, rules, values, sets, state, progress, registers)
            mark_paths(tables, rules, values, sets, state, progress, registers)
            if sets.marks[0, state] == ON_PATH:
                put_paths(tables, sets, progress, listed)
        progress[NEXT_ROW] += 1


@kernel(borrows=True)
def mark_reached(
    tables: Ints,
    rules: Rules,
    values: Values,
    sets: Sets,
    state: int,
    progress: Ints,
    registers: Registers,
) -> None:
    """Mark the events, by state, that a path leads to from a row's first event in a state."""
    begin, marks, integers = sets.rows[progress[NEXT_ROW], BEGINS], sets.marks, values.integers
    size = sets.rows[progress[NEXT_ROW], ENDS] - begin + 1
    for at in range(size + 1):  # row `size` says which states were reached at moments before
        for other in range(tables[STATES]):
            marks[at, other] = 0
    marks[0, state] = REACHED
    done = 0
    forget_best(rules.stack, rules.whole_stack)
    for at in range(1, size):
        while integers[MOMENT, begin + done] < integers[MOMENT, begin + at]:
            pass_by(tables, rules, values, marks, BEFORE, begin, done, size)
            done += 1
        number = integers[CLASS, begin + at]
        takes = tables[tables[CLASS_AT] + number] if number >= 0 else -1
        if takes < 0:
            continue
        for place in range(takes + 1, takes + 1 + tables[takes]):
            target = tables[place]
            if has_beside(
                tables, rules, values, sets, progress, registers, BEFORE, at, target, done
            ):
                marks[at, target] = REACHED


@kernel(borrows=True)
def mark_paths(
    tables: Ints,
    rules: Rules,
    values: Values,
    sets: Sets,
    state: int,
    progress: Ints,
    registers: Registers,
) -> None:
    """Mark those of the events reached, by state, that a path leads from to where a match ends."""
    row, marks, integers = progress[NEXT_ROW], sets.marks, values.integers
    begin, start = sets.rows[row, BEGINS], tables[tables[EDGE_AT] + state]
    size = sets.rows[row, ENDS] - begin + 1
    for other in range(tables[STATES]):
        marks[size, other] = 0  # row `size` says which states are on a path at later moments
    done = size - 1
    forget_best(rules.stack, rules.whole_stack)
    for at in range(size - 1, -1, -1):
        while integers[MOMENT, begin + done] > integers[MOMENT, begin + at]:
            pass_by(tables, rules, values, marks, LATER, begin, done, size)
            done -= 1
        for source in range(tables[STATES]):
            if marks[at, source] == 0:
                continue
            if may_end(
                tables, integers, rules.negatives, sets.rows, row, progress, start, source,
                begin + at,
            ) or has_beside(
                tables, rules, values, sets, progress, registers, LATER, at, source, done
            ):  # fmt: skip
                marks[at, source] = ON_PATH


@kernel(borrows=True)
def pass_by(
    tables: Ints,
    rules: Rules,
    values: Values,
    marks: Bytes,
    side: int,
    begin: int,
    at: int,
    size: int,
) -> None:
    """Let an event's marks count for events of later moments (BEFORE) or earlier ones (LATER)."""
    mark = REACHED if side == BEFORE else ON_PATH
    for state in range(tables[STATES]):
        if marks[at, state] == mark:
            marks[size, state] = mark
            keep_best(tables, state, side, begin + at, values, rules)


@kernel(borrows=True)
def has_beside(
    tables: Ints,
    rules: Rules,
    values: Values,
    sets: Sets,
    progress: Ints,
    registers: Registers,
    side: int,
    at: int,
    state: int,
    done: int,
) -> bool:
    """Return whether a marked event may stand beside event `at` of a row, if that is in a state.

    BEFORE: one that is reached, among those before event `done`. LATER: one on a path, among those
    behind it.
    """
    row, marks, is_before = progress[NEXT_ROW], sets.marks, side == BEFORE
    begin, first = sets.rows[row, BEGINS], sets.rows[row, KEY_FIRST]
    size = sets.rows[row, ENDS] - begin + 1
    mark = REACHED if is_before else ON_PATH
    stop, step = (-1, -1) if is_before else (size, 1)
    for other in range(tables[STATES]):
        source, target = (other, state) if is_before else (state, other)
        edge = tables[tables[EDGE_AT] + (source + 1) * tables[STATES] + target]
        if edge < 0 or marks[size, other] == 0:
            continue
        pair = rules.whole_stack[len(rules.stack) + edge]
        if pair == NOTHING_ASKED:
            return True
        if pair >= 0 and compares_with_best(tables, pair, edge, side, begin + at, values, rules):
            return True
        if pair != MORE_ASKED:
            continue
        for place in range(done + step, stop, step):
            if marks[place, other] != mark:
                continue
            current, previous = (at, place) if is_before else (place, at)
            if may_follow(
                tables, edge, rules, values, sets.known, begin + current, begin + previous, first,
                registers,
            ):  # fmt: skip
                return True
    return False


@kernel(borrows=True)
def put_paths(tables: Ints, sets: Sets, progress: Ints, listed: Ints) -> None:
    """Write down a row's events that are on a path, by state."""
    row, filled = progress[NEXT_ROW], progress[FILLED]
    begin = sets.rows[row, BEGINS]
    for at in range(sets.rows[row, ENDS] - begin + 1):
        for state in range(tables[STATES]):
            if sets.marks[at, state] == ON_PATH:
                listed[filled, 0], listed[filled, 1], listed[filled, 2] = row, begin + at, state
                filled += 1
    progress[FILLED] = filled


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
