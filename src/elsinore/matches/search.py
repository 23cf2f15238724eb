# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The search for matches: from each event that may begin one, depth first (SASE++, Section 5.1).

Under SKIP TILL ANY MATCH the window's events are first looked at from its end (`counting`): what
cannot be completed is never entered, so that, where conditions are on neighbours alone, each step
leads on to a match. Conditions that look farther back are looked at as the match grows.

What kernels here are passed: `tables` and `constants` of a template (`elsinore.matches.tables`);
`doubles` and `integers`, the attributes of all events [row of the layout, event], with time, class
and moment in the first rows of integers; `negatives` [pattern, event], the latest moment at which a
match of a pattern under NOT began that ended by that event; `events`, the relevant ones of a key;
`ways` [event, state], see `counting`; `held` and `numbers`, the registers [step + 1, register];
`path` [step], the match under way; `stack` and `whole_stack`, working room; `progress`, what a
search keeps between calls. A *moment* is the number of a time among the key's times: simultaneous
events have one moment. `constants` and `negatives` are None where no condition is interpreted and
there is no NOT: what is for them is then not compiled.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Ints, Shorts
from elsinore.matches.interpret import value_of
from elsinore.matches.keyed import first_at
from elsinore.matches.reach import (
    ALIVE,
    ANY,
    CONTIGUOUS,
    LAST_BIT,
    MASK,
    NEXT,
    NEXT_AT,
    ROW,
    TAKES,
    WHEN,
)
from elsinore.matches.select import give_out, give_out_with, select

# Places in the header of `tables` (`elsinore.matches.tables.Header`).
STATES, STRATEGY = 0, 3
EDGE_AT, NEAR_AT, CHECK_AT, LATE_AT, WAY_AT, END_AT, FINAL_AT, CODE_AT = 7, 8, 9, 10, 11, 12, 14, 15
ENDS_AT, HAS_LATE, FAILED = 17, 18, 20
PAIR_AT, LEAF_AT, LOOKS_AT = 25, 26, 27

TIME, MOMENT = 0, 2  # rows of `integers`
# Columns of `path`: row, state and edge of the step, its place in `events`; then what comes next:
# the event and the state of it to look at, and the moment that events may not pass; the step to go
# back to; the next event that may end a match at once.
AT, STATE, EDGE, PLACE, EVENT, CHOICE, UNTIL, BACK, LEAF = range(9)
PATH_COLUMNS = 9
MADE, LEAVES, GROW = range(3)  # what is next for the last step of a path
NEAR, FAR = 1, 2  # what an edge has in LOOKS_AT

# Entries of `progress`.
(
    SEGMENT, WINDOW, BEGIN, FOUND, FILLED, STATUS, LIMIT, WITH_PATHS, FRESH, LOWEST, HIGHEST,
    FIRST, WITHIN, SLIDE, ORIGIN, GUARD, COUNTED, STEPS, EXACT, FROM, UNTO, LAST, WAYS_TO, EVENTS,
    DEPTH, STAGE, BEGIN_CHOICE, BUDGET,
) = range(28)  # fmt: skip
PROGRESS = 28
LT, LE, GT, GE = 21, 22, 23, 24  # `elsinore.matches.program.Code`
NULL = np.int64(np.iinfo(np.int64).min)
DONE, FULL, TOO_MANY, LIMITED, TOO_LONG, DEEP, BROKEN = range(7)
NOTHING, NO_STEP = np.int64(-1), np.int64(0)  # as variables: literals are types of their own
STEP_LIMIT = 4_000_000_000  # events tried from one beginning before a search is given up


@kernel(borrows=True)
def last_before(integers: Ints, row: int, first: int) -> int:
    """Return the last row, from `first` on, of a moment before that of `row`; -1: there is none."""
    moment = integers[MOMENT, row]
    while row >= first and integers[MOMENT, row] == moment:
        row -= 1
    return row if row >= first else -1


@kernel(borrows=True)
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


@kernel(borrows=True)
def all_hold(
    tables: Ints,
    listed: int,
    constants: Doubles,
    doubles: Doubles,
    integers: Ints,
    current: int,
    previous: int,
    before: int,
    final: int,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
) -> bool:
    """Return whether all conditions of a list are true (see `value_of`)."""
    for place in range(listed + 1, listed + 1 + tables[listed]):
        value = value_of(
            tables, tables[tables[CODE_AT] + tables[place]], constants, doubles, integers, current,
            previous, before, final, held, numbers, stack, whole_stack,
        )  # fmt: skip
        if value != 1.0:
            return False
    return True


@kernel(borrows=True)
def in_order(code: int, first: float, second: float) -> bool:
    """Return whether two numbers compare as a `Code` says: LT, LE, GT or GE."""
    if code == LT:
        return first < second
    if code == LE:
        return first <= second
    if code == GT:
        return first > second
    return first >= second


@kernel(borrows=True)
def pair_holds(
    tables: Ints, pair: int, doubles: Doubles, integers: Ints, current: int, previous: int
) -> bool:
    """Return whether an attribute of one event compares with one of the event before it.

    `tables[pair]`: the comparison as a `Code`, whether it is of integers, the two rows. Null is not
    a number, the least integer.
    """
    code, mine, other = tables[pair], tables[pair + 2], tables[pair + 3]
    if tables[pair + 1] == 1:
        first, second = integers[mine, current], integers[other, previous]
        if first == NULL or second == NULL:  # noqa: PLR1714 - compiled
            return False
        return in_order(code, first, second)
    return in_order(code, doubles[mine, current], doubles[other, previous])


@kernel(borrows=True)
def are_neighbours(
    tables: Ints,
    edge: int,
    constants: Doubles | None,
    doubles: Doubles,
    integers: Ints,
    negatives: Ints | None,
    current: int,
    previous: int,
    first: int,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
) -> bool:
    """Return whether row `current` may follow `previous` by an edge: NOT, conditions on the two."""
    if negatives is not None:
        way = tables[tables[WAY_AT] + edge]
        if way >= 0 and not is_free(
            tables, way, negatives, integers[MOMENT, previous],
            last_before(integers, current, first),
        ):  # fmt: skip
            return False
    listed = tables[tables[NEAR_AT] + edge]
    for place in range(listed + 1, listed + 1 + tables[listed]):
        pair = tables[tables[PAIR_AT] + tables[place]]
        if pair >= 0:
            if not pair_holds(tables, pair, doubles, integers, current, previous):
                return False
        elif constants is not None:
            value = value_of(
                tables, tables[tables[CODE_AT] + tables[place]], constants, doubles, integers,
                current, previous, NO_STEP, NO_STEP, held, numbers, stack, whole_stack,
            )  # fmt: skip
            if value != 1.0:
                return False
    return True


@kernel(inline=True, borrows=True)
def is_match(
    tables: Ints,
    constants: Doubles | None,
    doubles: Doubles,
    integers: Ints,
    negatives: Ints | None,
    progress: Ints,
    path: Ints,
    depth: int,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
) -> bool:
    """Return whether a path that ends where a match may end is one.

    What is left to look at: NOT at the beginning and at the end, conditions of the whole.
    """
    last = path[depth, AT]
    if negatives is not None:
        if not begins_freely(tables, integers, negatives, progress, path, last):
            return False
        way = tables[tables[END_AT] + path[depth, STATE]]
        if way >= 0 and not is_free(
            tables, way, negatives, integers[MOMENT, last], progress[HIGHEST]
        ):
            return False
    if constants is not None:
        if tables[tables[FINAL_AT]] > 0 and not all_hold(
            tables, tables[FINAL_AT], constants, doubles, integers, last, NOTHING, depth, depth + 1,
            held, numbers, stack, whole_stack,
        ):  # fmt: skip
            return False
        if tables[HAS_LATE] == 1:
            return late_hold(
                tables, constants, doubles, integers, path, depth, held, numbers, stack, whole_stack
            )
    return True


@kernel(borrows=True)
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


@kernel(borrows=True)
def late_hold(
    tables: Ints,
    constants: Doubles,
    doubles: Doubles,
    integers: Ints,
    path: Ints,
    depth: int,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
) -> bool:
    """Return whether the conditions of a path's steps hold that ask for the whole match."""
    for step in range(depth + 1):
        listed = tables[tables[LATE_AT] + path[step, EDGE]]
        if tables[listed] > 0 and not all_hold(
            tables, listed, constants, doubles, integers, path[step, AT],
            path[step - 1, AT] if step else NOTHING, step, depth + 1, held, numbers, stack,
            whole_stack,
        ):  # fmt: skip
            return False
    return True


@kernel(borrows=True)
def matches_from(
    tables: Ints,
    constants: Doubles | None,
    doubles: Doubles,
    integers: Ints,
    negatives: Ints | None,
    events: Ints,
    begin: int,
    last: int,
    progress: Ints,
    ways: Doubles,
    path: Ints,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
    found: Ints,
    counted: Doubles,
    paths: Shorts,
) -> None:
    """Give out the matches from event `begin` to at most event `last` into `found` and the rest.

    It stops where there is no room or enough was tried, as progress[STATUS] says; called again it
    goes on from there.
    """
    first_row = events[begin, ROW]
    listed = events[begin, TAKES]
    is_any = tables[STRATEGY] == ANY
    steps = 0
    depth, stage, choice = progress[DEPTH], progress[STAGE], progress[BEGIN_CHOICE]
    if depth < 0:
        choice = 0
    while True:
        if depth < 0:  # the next state that a match may begin with
            if choice == tables[listed]:
                break
            state = tables[listed + 1 + choice]
            choice += 1
            edge = tables[tables[EDGE_AT] + state]
            if edge < 0 or (is_any and ways[begin, tables[STATES] + state] > last):
                continue
            if (events[begin, ALIVE] >> min(state, LAST_BIT)) & 1 == 0:
                continue
            if constants is not None:
                checks = tables[tables[CHECK_AT] + edge]
                if tables[checks] > 0 and not all_hold(
                    tables, checks, constants, doubles, integers, first_row, NOTHING, NO_STEP,
                    NO_STEP, held, numbers, stack, whole_stack,
                ):  # fmt: skip
                    continue
            path[0, AT], path[0, STATE], path[0, EDGE], path[0, PLACE] = (
                first_row,
                state,
                edge,
                begin,
            )
            path[0, BACK] = -1
            depth, stage = 0, MADE
        state, row = path[depth, STATE], path[depth, AT]
        if stage == MADE:
            steps += 1
            select(tables, state, row, depth + 1, doubles, integers, held, numbers)
            if tables[FAILED] > 0:
                progress[STATUS] = BROKEN
                return
            if (
                tables[tables[END_AT] + state] > -2
                and row >= progress[FRESH]
                and is_match(
                    tables, constants, doubles, integers, negatives, progress, path, depth,
                    held, numbers, stack, whole_stack,
                )
            ):  # fmt: skip
                give_out(tables, progress, path, depth, held, numbers, found, counted, paths)
                if progress[STATUS] != DONE:
                    break
            place = path[depth, PLACE] + 1
            while place <= last and events[place, WHEN] == integers[MOMENT, row]:
                place += 1
            if tables[tables[ENDS_AT] + state] == 1:
                place = last + 1  # nothing follows
            path[depth, EVENT], path[depth, CHOICE], path[depth, UNTIL] = place, 0, -1
            path[depth, LEAF] = place
            if tables[STRATEGY] == CONTIGUOUS:
                path[depth, UNTIL] = integers[MOMENT, row] + 1
            stage = LEAVES
            if steps > progress[BUDGET] or depth + 2 >= len(path):
                progress[STATUS] = TOO_LONG if steps > progress[BUDGET] else DEEP
                break
        if stage == LEAVES:
            leaves = tables[tables[LEAF_AT] + state + 1]
            at = path[depth, LEAF]
            if leaves == 0:
                at = last + 1
            while at <= last:
                if events[at, ALIVE] & leaves != 0:
                    taken = events[at, TAKES]
                    steps_each = (depth + 2) * tables[taken] if progress[WITH_PATHS] else 0
                    if progress[FOUND] + tables[taken] > found.shape[1] or progress[
                        FILLED
                    ] + steps_each > len(paths):
                        progress[STATUS] = FULL
                    for other in range(taken + 1, taken + 1 + tables[taken]):
                        if progress[STATUS] != DONE or (leaves >> tables[other]) & 1 == 0:
                            continue
                        steps += 1
                        give_out_with(
                            tables, progress, path, depth, events[at, ROW], tables[other], doubles,
                            integers, held, numbers, found, counted, paths,
                        )  # fmt: skip
                    if progress[STATUS] != DONE:
                        break
                at += 1
            path[depth, LEAF] = at
            if progress[STATUS] != DONE:
                break
            stage = GROW
        if extend(
            tables, constants, doubles, integers, negatives, events, last, progress, ways,
            path, depth, held, numbers, stack, whole_stack,
        ):  # fmt: skip
            depth += 1
            stage = MADE
        else:
            depth = path[depth, BACK]
    progress[STEPS] += steps
    progress[DEPTH], progress[STAGE], progress[BEGIN_CHOICE] = depth, stage, choice


@kernel(inline=True, borrows=True)
def extend(
    tables: Ints,
    constants: Doubles | None,
    doubles: Doubles,
    integers: Ints,
    negatives: Ints | None,
    events: Ints,
    last: int,
    progress: Ints,
    ways: Doubles,
    path: Ints,
    depth: int,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
) -> bool:
    """Put the next event that may follow behind a path; return whether there was one.

    NEXT: the first event that can follow, and those of its moment. CONTIGUOUS: the next moment's.
    States that end a match at once, `LEAVES`, have been given out before.
    """
    place, until = path[depth, EVENT], path[depth, UNTIL]
    wanted = tables[tables[NEXT_AT] + path[depth, STATE] + 1]
    wanted &= ~tables[tables[LEAF_AT] + path[depth, STATE] + 1]
    # NEXT: what cannot be completed is not passed over where it can follow
    column = MASK if tables[STRATEGY] == NEXT else ALIVE
    while place <= last and (until < 0 or events[place, WHEN] <= until):
        if events[place, column] & wanted != 0:
            if goes_on_with(
                tables, constants, doubles, integers, negatives, events, place, last, wanted,
                progress, ways, path, depth, held, numbers, stack, whole_stack,
            ):  # fmt: skip
                path[depth, EVENT] = place
                return True
            path[depth, CHOICE], until = 0, path[depth, UNTIL]
        place += 1
    path[depth, EVENT] = last + 1
    return False


@kernel(inline=True, borrows=True)
def goes_on_with(
    tables: Ints,
    constants: Doubles | None,
    doubles: Doubles,
    integers: Ints,
    negatives: Ints | None,
    events: Ints,
    place: int,
    last: int,
    wanted: int,
    progress: Ints,
    ways: Doubles,
    path: Ints,
    depth: int,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
) -> bool:
    """Put event `place` behind a path, in the next state that it may follow in, if there is one.

    wanted: the states that may be gone on with, as bits.
    """
    choice, listed, is_any = path[depth, CHOICE], events[place, TAKES], tables[STRATEGY] == ANY
    while choice < tables[listed]:
        target = tables[listed + 1 + choice]
        choice += 1
        edge = tables[tables[EDGE_AT] + (path[depth, STATE] + 1) * tables[STATES] + target]
        is_wanted = edge >= 0 and (wanted >> min(target, LAST_BIT)) & 1 != 0
        if not is_wanted or (is_any and ways[place, tables[STATES] + target] > last):
            continue
        if not edge_holds(
            tables, edge, constants, doubles, integers, negatives, events[place, ROW], progress,
            path, depth, held, numbers, stack, whole_stack,
        ):  # fmt: skip
            continue
        if tables[STRATEGY] == NEXT:
            path[depth, UNTIL] = events[place, WHEN]
        if (events[place, ALIVE] >> min(target, LAST_BIT)) & 1 != 0:
            path[depth, CHOICE] = choice
            put_behind(events, place, last, target, edge, choice == tables[listed], path, depth)
            return True
    return False


@kernel(inline=True, borrows=True)
def edge_holds(
    tables: Ints,
    edge: int,
    constants: Doubles | None,
    doubles: Doubles,
    integers: Ints,
    negatives: Ints | None,
    current: int,
    progress: Ints,
    path: Ints,
    depth: int,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
) -> bool:
    """Return whether row `current` may follow a path by an edge."""
    # arguments are many: nothing is called that has nothing to look at
    looks, row = tables[tables[LOOKS_AT] + edge], path[depth, AT]
    if looks & NEAR != 0 and not are_neighbours(
        tables, edge, constants, doubles, integers, negatives, current, row,
        progress[FIRST], held, numbers, stack, whole_stack,
    ):  # fmt: skip
        return False
    if constants is not None and looks & FAR != 0:
        return all_hold(
            tables, tables[tables[CHECK_AT] + edge], constants, doubles, integers, current, row,
            depth + 1, depth + 1, held, numbers, stack, whole_stack,
        )  # fmt: skip
    return True


@kernel(inline=True, borrows=True)
def put_behind(
    events: Ints,
    place: int,
    last: int,
    target: int,
    edge: int,
    is_latest: bool,
    path: Ints,
    depth: int,
) -> None:
    """Make event `place` a path's next step, in the state that an edge leads to.

    is_latest: whether the event has no other state to be looked at. Where nothing else may follow
    the step before, the way back leads past that.
    """
    until = path[depth, UNTIL]
    is_over = is_latest and (place == last or (until >= 0 and events[place + 1, WHEN] > until))
    path[depth + 1, AT], path[depth + 1, STATE] = events[place, ROW], target
    path[depth + 1, EDGE], path[depth + 1, PLACE] = edge, place
    path[depth + 1, BACK] = path[depth, BACK] if is_over else depth
