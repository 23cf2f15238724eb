# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Checks by kernels: conditions, NOT, and whether a complete path is a match.

Kernels are passed the `tables` of a template (`benchmarks.evaluations.tables`); `rules`, `values`,
`registers` and `given` (`elsinore.matches.arrays`); `path` [step], the partial match, with its
registers in row step + 1; `progress`, what a search keeps between calls. A *moment* is the number
of a time among the key's times: simultaneous events have one moment.
"""

from __future__ import annotations

import numpy as np

from benchmarks.evaluations.arrays import Registers, Rules, Values
from benchmarks.evaluations.interpret import value_of
from benchmarks.evaluations.kernels import kernel
from benchmarks.evaluations.rows import first_at
from elsinore.matches.arrays import Ints

# Places in the header of `tables` (`benchmarks.evaluations.tables.Header`).
STATES, STRATEGY = 0, 3
EDGE_AT, NEAR_AT, CHECK_AT, LATE_AT, WAY_AT, END_AT, FINAL_AT, CODE_AT = 7, 8, 9, 10, 11, 12, 14, 15
ENDS_AT, HAS_LATE, FAILED = 17, 18, 20
UNLESS_AT = 34
PAIR_AT, LOOKS_AT = 25, 27

TIME, MOMENT = 0, 2  # rows of `integers`
# Columns of `path`: row, state and edge of the step, its place in `events`; then what comes next:
# the event and the state of it to look at, and the moment that events may not pass; the step to go
# back to; the next event that may end a match at once.
AT, STATE, EDGE, PLACE, EVENT, CHOICE, UNTIL, BACK, LEAF = range(9)
PATH_COLUMNS = 9
NEAR, FAR = 1, 2  # what an edge has in LOOKS_AT

# Entries of `progress`.
(
    SEGMENT, WINDOW, BEGIN, FOUND, FILLED, STATUS, LIMIT, WITH_PATHS, FRESH, LOWEST, HIGHEST,
    FIRST, WITHIN, SLIDE, ORIGIN, GUARD, COUNTED, STEPS, EXACT, FROM, UNTO, LAST, WAYS_TO, EVENTS,
    DEPTH, STAGE, BEGIN_CHOICE, BUDGET, ALL_ROWS, PAUSE_AT,
) = range(30)  # fmt: skip
PROGRESS = 30
LT, LE, GT, GE = 21, 22, 23, 24  # `elsinore.operators.conditions.code.Code`
NULL = np.int64(np.iinfo(np.int64).min)
DONE, FULL, TOO_MANY, LIMITED, TOO_LONG, DEEP, BROKEN, PAUSED = range(8)
NOTHING, NO_STEP = np.int64(-1), np.int64(0)  # as variables: literals are types of their own
PAUSE_STEPS = 20_000_000  # events tried, some two seconds, before Python looks for Ctrl-C


@kernel
def last_before(integers: Ints, row: int, first: int) -> int:
    """Return the last row, from `first` on, of a moment before that of `row`; -1: there is none."""
    moment = integers[MOMENT, row]
    while row >= first and integers[MOMENT, row] == moment:
        row -= 1
    return row if row >= first else -1


@kernel
def is_free(tables: Ints, way: int, negatives: Ints, moment: int, before: int) -> bool:
    """Return whether some way has no match that begins after `moment` and ends by `before`.

    `before` is a row, or below 0 where there is none.
    """
    if way < 0 or before < 0:
        return True
    at = way + 1
    while at <= way + tables[way]:
        count = tables[at]
        free = True
        for place in range(at + 1, at + 1 + count):
            if negatives[tables[place], before] > moment:
                free = False
        if free:
            return True
        at += count + 1
    return False


@kernel
def all_hold(
    tables: Ints,
    listed: int,
    rules: Rules,
    values: Values,
    current: int,
    previous: int,
    before: int,
    final: int,
    registers: Registers,
) -> bool:
    """Return whether all conditions of a list are true (see `value_of`)."""
    for place in range(listed + 1, listed + 1 + tables[listed]):
        value = value_of(
            tables, tables[tables[CODE_AT] + tables[place]], rules, values, current, previous,
            before, final, registers,
        )  # fmt: skip
        if value != 1.0:
            return False
    return True


@kernel
def in_order(code: int, first: float, second: float) -> bool:
    """Return whether two numbers compare as a `Code` says: LT, LE, GT or GE."""
    if code == LT:
        return first < second
    if code == LE:
        return first <= second
    if code == GT:
        return first > second
    return first >= second


@kernel
def pair_holds(tables: Ints, pair: int, values: Values, current: int, previous: int) -> bool:
    """Return whether an attribute of one event compares with one of the event before it.

    `tables[pair]`: the comparison as a `Code`, whether it is of integers, the two rows. Null is not
    a number, the least integer.
    """
    code, mine, other = tables[pair], tables[pair + 2], tables[pair + 3]
    if tables[pair + 1] == 1:
        first, second = values.integers[mine, current], values.integers[other, previous]
        if first == NULL or second == NULL:  # noqa: PLR1714 - compiled
            return False
        return in_order(code, first, second)
    return in_order(code, values.doubles[mine, current], values.doubles[other, previous])


@kernel
def are_neighbours(
    tables: Ints,
    edge: int,
    rules: Rules,
    values: Values,
    current: int,
    previous: int,
    first: int,
    registers: Registers,
) -> bool:
    """Return whether row `current` may follow `previous` by an edge: NOT, conditions on the two."""
    way = tables[tables[WAY_AT] + edge]
    if way >= 0 and not is_free(
        tables, way, rules.negatives, values.integers[MOMENT, previous],
        last_before(values.integers, current, first),
    ):  # fmt: skip
        return False
    unless = tables[tables[UNLESS_AT] + edge]
    if tables[unless] > 0 and is_free(
        tables, unless, rules.negatives, values.integers[MOMENT, previous],
        last_before(values.integers, current, first),
    ):  # fmt: skip
        return False
    listed = tables[tables[NEAR_AT] + edge]
    for place in range(listed + 1, listed + 1 + tables[listed]):
        pair = tables[tables[PAIR_AT] + tables[place]]
        if pair >= 0:
            if not pair_holds(tables, pair, values, current, previous):
                return False
        else:
            value = value_of(
                tables, tables[tables[CODE_AT] + tables[place]], rules, values, current, previous,
                NO_STEP, NO_STEP, registers,
            )  # fmt: skip
            if value != 1.0:
                return False
    return True


@kernel(inline=True)
def is_match(
    tables: Ints,
    rules: Rules,
    values: Values,
    progress: Ints,
    path: Ints,
    depth: int,
    registers: Registers,
) -> bool:
    """Return whether a path that ends where a match may end is one.

    What is left to look at: NOT at the beginning and at the end, conditions of the whole.
    """
    last = path[depth, AT]
    if not begins_freely(tables, values.integers, rules.negatives, progress, path, last):
        return False
    way = tables[tables[END_AT] + path[depth, STATE]]
    if way >= 0 and not is_free(
        tables, way, rules.negatives, values.integers[MOMENT, last], progress[HIGHEST]
    ):
        return False
    if tables[tables[FINAL_AT]] > 0 and not all_hold(
        tables, tables[FINAL_AT], rules, values, last, NOTHING, depth, depth + 1, registers
    ):
        return False
    if tables[HAS_LATE] == 1:
        return late_hold(tables, rules, values, path, depth, registers)
    return True


@kernel
def begins_freely(
    tables: Ints, integers: Ints, negatives: Ints, progress: Ints, path: Ints, last: int
) -> bool:
    """Return whether NOT at the beginning lets a match begin that ends with row `last`."""
    way = tables[tables[WAY_AT] + path[0, EDGE]]
    if way < 0:
        return True
    lowest = progress[LOWEST]
    if lowest < 0:  # the window ends with the match
        start = integers[TIME, last] - progress[WITHIN]
        lowest = integers[MOMENT, first_at(integers, progress[FIRST], last, start)]
    before = last_before(integers, path[0, AT], progress[FIRST])
    return is_free(tables, way, negatives, lowest - 1, before)


@kernel
def late_hold(
    tables: Ints, rules: Rules, values: Values, path: Ints, depth: int, registers: Registers
) -> bool:
    """Return whether the conditions of a path's steps hold that ask for the whole match."""
    for step in range(depth + 1):
        listed = tables[tables[LATE_AT] + path[step, EDGE]]
        if tables[listed] > 0 and not all_hold(
            tables, listed, rules, values, path[step, AT], path[step - 1, AT] if step else NOTHING,
            step, depth + 1, registers,
        ):  # fmt: skip
            return False
    return True
