# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The events of intermediate matches: those on a path of neighbours from an event to an end.

A row in collapsed form begins with one event of a window. What may follow one another there is told
by conditions on neighbours and by NOT, so the matches are paths, and an event is in a set where one
leads to it from the beginning, and on to where a match may end. Conditions that look farther back
are *postponed* (SASE++, Sections 5.1 and 5.2): they are left to whoever expands the row, but for
those that read no earlier event than the first, which is the same in all of a row's matches.

What kernels are passed beside what those of `elsinore.matches.search` are: `rows` [row, column];
`known` [condition], 1 where it is looked at here; `marks` [event of the window, state], working
room with one row more than the longest window has events; `listed`, what is given out.
"""

from __future__ import annotations

from elsinore.kernels import kernel
from elsinore.matches.arrays import Bytes, Doubles, Ints
from elsinore.matches.interpret import value_of
from elsinore.matches.keyed import first_at
from elsinore.matches.search import (
    CHECK_AT,
    CODE_AT,
    EDGE_AT,
    END_AT,
    FAILED,
    MOMENT,
    NEAR_AT,
    NO_STEP,
    NOTHING,
    STATES,
    TIME,
    WAY_AT,
    all_hold,
    are_neighbours,
    is_free,
    last_before,
)
from elsinore.matches.select import step_aggregate

CLASS_AT = 5  # a place in the header of `tables`
CLASS = 1  # a row of `integers`
# Columns of `rows`: the first event, the window, the last event in it, the first row of the key.
BEGINS, WINDOW, ENDS, KEY_FIRST = range(4)
ROW_COLUMNS = 4
# What is kept between calls: the next row, how many events were given out, and the window.
NEXT_ROW, FILLED, WITHIN, SLIDE, ORIGIN = range(5)
PROGRESS = 5
REACHED, ON_PATH = 1, 2  # in `marks`
NEVER_ENDS = -2  # in END_AT
SINGLE = 1  # row of the registers that hold the first event where they are known


@kernel(borrows=True)
def is_simple(tables: Ints, edge: int, known: Bytes) -> bool:
    """Return whether any two events may follow one another by an edge."""
    if tables[tables[tables[NEAR_AT] + edge]] > 0 or tables[tables[WAY_AT] + edge] >= 0:
        return False
    checks = tables[tables[CHECK_AT] + edge]
    for place in range(checks + 1, checks + 1 + tables[checks]):
        if known[tables[place]] == 1:
            return False
    return True


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
        for at in range(1, size):
            current = begin + at
            while integers[MOMENT, begin + done] < integers[MOMENT, current]:
                for other in range(states):
                    marks[size, other] |= marks[done, other]
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
                    if is_simple(tables, edge, known):
                        marks[at, target] = REACHED
                        break
                    for before in range(done - 1, -1, -1):
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
        for at in range(size - 1, -1, -1):
            current = begin + at
            while integers[MOMENT, begin + done] > integers[MOMENT, current]:
                for other in range(states):
                    marks[size, other] |= marks[done, other] & ON_PATH
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
                    if is_simple(tables, edge, known):
                        marks[at, source] = ON_PATH
                        break
                    for later in range(done + 1, size):
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
