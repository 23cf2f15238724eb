# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The search for matches: from each event that may begin one, depth first (SASE++, Section 5.1).

Under SKIP TILL ANY MATCH the window's events are first looked at from its end (`counting`): what
cannot be completed is never entered, so that, where conditions are on neighbours alone, each step
leads on to a match. Conditions that look farther back are looked at as the match grows.

What kernels here are passed: the `tables` of a template (`elsinore.matches.tables`); `rules`, None
where no condition is interpreted and there is no NOT: what is for them is then not compiled;
`values`, `registers` and `given` (`elsinore.matches.arrays`); the `relevant` events of a key;
`path` [step], the match under way, with its registers in row step + 1; `progress`, what a search
keeps between calls. A *moment* is the number of a time among the key's times: simultaneous events
have one moment.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.matches.arrays import Given, Ints, Registers, Relevant, Rules, Values
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
DUPLICATES, UNLESS_AT = 28, 34
PAIR_AT, LEAF_AT, LOOKS_AT = 25, 26, 27

TIME, MOMENT = 0, 2  # rows of `integers`
# Columns of `path`: row, state and edge of the step, its place in `events`; then what comes next:
# the event and the state of it to look at, and the moment that events may not pass; the step to go
# back to; the next event that may end a match at once.
AT, STATE, EDGE, PLACE, EVENT, CHOICE, UNTIL, BACK, LEAF = range(9)
PATH_COLUMNS = 9
# what is next for the last step of a path; as variables: a name of a linked kernel has one type
MADE, LEAVES, GROW = np.int64(0), np.int64(1), np.int64(2)
NEAR, FAR = 1, 2  # what an edge has in LOOKS_AT

# Entries of `progress`.
(
    SEGMENT, WINDOW, BEGIN, FOUND, FILLED, STATUS, LIMIT, WITH_PATHS, FRESH, LOWEST, HIGHEST,
    FIRST, WITHIN, SLIDE, ORIGIN, GUARD, COUNTED, STEPS, EXACT, FROM, UNTO, LAST, WAYS_TO, EVENTS,
    DEPTH, STAGE, BEGIN_CHOICE, BUDGET, ALL_ROWS, PAUSE_AT,
) = range(30)  # fmt: skip
PROGRESS = 30
LT, LE, GT, GE = 21, 22, 23, 24  # `elsinore.matches.program.Code`
NULL = np.int64(np.iinfo(np.int64).min)
DONE, FULL, TOO_MANY, LIMITED, TOO_LONG, DEEP, BROKEN, PAUSED = range(8)
NOTHING, NO_STEP = np.int64(-1), np.int64(0)  # as variables: literals are types of their own
PAUSE_STEPS = 20_000_000  # events tried, some two seconds, before Python looks for Ctrl-C


@kernel(borrows=True, linked=True)
def last_before(integers: Ints, row: int, first: int) -> int:
    """Return the last row, from `first` on, of a moment before that of `row`; -1: there is none."""
    moment = integers[MOMENT, row]
    while row >= first and integers[MOMENT, row] == moment:
        row -= 1
    return row if row >= first else -1


@kernel(borrows=True, linked=True)
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


@kernel(borrows=True, linked=True)
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


@kernel(borrows=True, linked=True)
def in_order(code: int, first: float, second: float) -> bool:
    """Return whether two numbers compare as a `Code` says: LT, LE, GT or GE."""
    if code == LT:
        return first < second
    if code == LE:
        return first <= second
    if code == GT:
        return first > second
    return first >= second


@kernel(borrows=True, linked=True)
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


@kernel(borrows=True, linked=True)
def are_neighbours(
    tables: Ints,
    edge: int,
    rules: Rules | None,
    values: Values,
    current: int,
    previous: int,
    first: int,
    registers: Registers,
) -> bool:
    """Return whether row `current` may follow `previous` by an edge: NOT, conditions on the two."""
    if rules is not None:
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
        elif rules is not None:
            value = value_of(
                tables, tables[tables[CODE_AT] + tables[place]], rules, values, current, previous,
                NO_STEP, NO_STEP, registers,
            )  # fmt: skip
            if value != 1.0:
                return False
    return True


@kernel(inline=True, borrows=True)
def is_match(
    tables: Ints,
    rules: Rules | None,
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
    if rules is not None:
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


@kernel(borrows=True, linked=True)
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


@kernel(borrows=True, linked=True)
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


@kernel(borrows=True, linked=True)
def matches_from(
    tables: Ints,
    rules: Rules | None,
    values: Values,
    relevant: Relevant,
    progress: Ints,
    path: Ints,
    registers: Registers,
    given: Given,
) -> None:
    """Give out the matches from event progress[BEGIN] to at most progress[LAST].

    It stops where there is no room or enough was tried, as progress[STATUS] says; called again it
    goes on from there. It does not pause where the matches of one event are found anew after it.
    """
    steps, depth, stage = 0, progress[DEPTH], progress[STAGE]
    if depth < 0:
        progress[BEGIN_CHOICE] = 0
    while True:
        if depth < 0:
            if not begins(tables, rules, values, relevant, progress, path, registers):
                break
            depth, stage = 0, MADE
        if stage == MADE:
            steps += 1
            select(tables, path[depth, STATE], path[depth, AT], depth + 1, values, registers)
            if tables[FAILED] > 0:
                progress[STATUS] = BROKEN
            elif ends_match(tables, rules, values, progress, path, depth, registers):
                give_out(tables, progress, path, depth, registers, given)
            if progress[STATUS] != DONE:
                break
            look_ahead(tables, values.integers, relevant.events, progress, path, depth)
            stage = LEAVES
            if steps > progress[BUDGET]:
                progress[STATUS] = TOO_LONG
            elif depth + 2 >= len(path):
                progress[STATUS] = DEEP
            elif progress[STEPS] + steps > progress[PAUSE_AT] and tables[DUPLICATES] == 0:
                progress[STATUS] = PAUSED
            if progress[STATUS] != DONE:
                break
        if stage == LEAVES:
            leaves = tables[tables[LEAF_AT] + path[depth, STATE] + 1]
            at = path[depth, LEAF] if leaves != 0 else progress[LAST] + 1
            while at <= progress[LAST]:
                if relevant.events[at, ALIVE] & leaves != 0:
                    steps += give_leaves(
                        tables, values, relevant.events, at, progress, path, depth, registers, given
                    )
                    if progress[STATUS] != DONE:
                        break
                at += 1
            path[depth, LEAF] = at
            if progress[STATUS] != DONE:
                break
            stage = GROW
        if extend(tables, rules, values, relevant, progress, path, depth, registers):
            depth += 1
            stage = MADE
        else:
            depth = path[depth, BACK]
    progress[STEPS] += steps
    progress[DEPTH], progress[STAGE] = depth, stage


@kernel(borrows=True, linked=True)
def begins(
    tables: Ints,
    rules: Rules | None,
    values: Values,
    relevant: Relevant,
    progress: Ints,
    path: Ints,
    registers: Registers,
) -> bool:
    """Begin a path with event progress[BEGIN] in the next state it may begin in, if there is one.

    progress[BEGIN_CHOICE] is how many of the states that it takes were looked at.
    """
    events, begin = relevant.events, progress[BEGIN]
    row, listed = events[begin, ROW], events[begin, TAKES]
    while progress[BEGIN_CHOICE] < tables[listed]:
        state = tables[listed + 1 + progress[BEGIN_CHOICE]]
        progress[BEGIN_CHOICE] += 1
        edge = tables[tables[EDGE_AT] + state]
        if edge < 0 or (events[begin, ALIVE] >> min(state, LAST_BIT)) & 1 == 0:
            continue
        ending = relevant.ways[begin, tables[STATES] + state]  # of the first match, under ANY
        if tables[STRATEGY] == ANY and ending > progress[LAST]:
            continue
        if rules is not None and not all_hold(
            tables, tables[tables[CHECK_AT] + edge], rules, values, row, NOTHING, NO_STEP,
            NO_STEP, registers,
        ):  # fmt: skip
            continue
        path[0, AT], path[0, STATE], path[0, EDGE], path[0, PLACE] = row, state, edge, begin
        path[0, BACK] = -1
        return True
    return False


@kernel(inline=True, borrows=True)
def ends_match(
    tables: Ints,
    rules: Rules | None,
    values: Values,
    progress: Ints,
    path: Ints,
    depth: int,
    registers: Registers,
) -> bool:
    """Return whether a path is a match that ends with a new event."""
    return (
        tables[tables[END_AT] + path[depth, STATE]] > -2
        and path[depth, AT] >= progress[FRESH]
        and is_match(tables, rules, values, progress, path, depth, registers)
    )


@kernel(inline=True, borrows=True)
def look_ahead(
    tables: Ints, integers: Ints, events: Ints, progress: Ints, path: Ints, depth: int
) -> None:
    """Set where the events are that may follow the last step of a path: at moments after its own.

    CONTIGUOUS: at the next one.
    """
    row, place, last = path[depth, AT], path[depth, PLACE] + 1, progress[LAST]
    while place <= last and events[place, WHEN] == integers[MOMENT, row]:
        place += 1
    if tables[tables[ENDS_AT] + path[depth, STATE]] == 1:
        place = last + 1  # nothing follows
    path[depth, EVENT], path[depth, CHOICE], path[depth, UNTIL] = place, 0, -1
    path[depth, LEAF] = place
    if tables[STRATEGY] == CONTIGUOUS:
        path[depth, UNTIL] = integers[MOMENT, row] + 1


@kernel(inline=True, borrows=True)
def give_leaves(
    tables: Ints,
    values: Values,
    events: Ints,
    at: int,
    progress: Ints,
    path: Ints,
    depth: int,
    registers: Registers,
    given: Given,
) -> int:
    """Give out the matches that end at once with event `at` behind a path; return how many.

    Where there is no room for them, as progress[STATUS] says, none of them is given out.
    """
    leaves = tables[tables[LEAF_AT] + path[depth, STATE] + 1]
    listed, count = events[at, TAKES], 0
    steps = (depth + 2) * tables[listed] if progress[WITH_PATHS] else 0
    is_wide = progress[FOUND] + tables[listed] <= given.found.shape[1]
    if not is_wide or progress[FILLED] + steps > len(given.paths):
        progress[STATUS] = FULL
    for place in range(listed + 1, listed + 1 + tables[listed]):
        if progress[STATUS] != DONE or (leaves >> tables[place]) & 1 == 0:
            continue
        count += 1
        give_out_with(
            tables, progress, path, depth, events[at, ROW], tables[place], values, registers, given
        )
    return count


@kernel(inline=True, borrows=True)
def extend(
    tables: Ints,
    rules: Rules | None,
    values: Values,
    relevant: Relevant,
    progress: Ints,
    path: Ints,
    depth: int,
    registers: Registers,
) -> bool:
    """Put the next event that may follow behind a path; return whether there was one.

    NEXT: the first event that can follow, and those of its moment. CONTIGUOUS: the next moment's.
    States that end a match at once, `LEAVES`, have been given out before.
    """
    place, until, last = path[depth, EVENT], path[depth, UNTIL], progress[LAST]
    wanted = tables[tables[NEXT_AT] + path[depth, STATE] + 1]
    wanted &= ~tables[tables[LEAF_AT] + path[depth, STATE] + 1]
    # NEXT: what cannot be completed is not passed over where it can follow
    column = MASK if tables[STRATEGY] == NEXT else ALIVE
    while place <= last and (until < 0 or relevant.events[place, WHEN] <= until):
        if relevant.events[place, column] & wanted != 0:
            if goes_on_with(
                tables, rules, values, relevant, place, wanted, progress, path, depth, registers
            ):
                path[depth, EVENT] = place
                return True
            path[depth, CHOICE], until = 0, path[depth, UNTIL]
            if rules is not None and is_barred(
                tables, rules, values, relevant, place, wanted, progress, path, depth
            ):
                break
        place += 1
    path[depth, EVENT] = last + 1
    return False


@kernel(borrows=True, linked=True)
def is_barred(
    tables: Ints,
    rules: Rules,
    values: Values,
    relevant: Relevant,
    place: int,
    wanted: int,
    progress: Ints,
    path: Ints,
    depth: int,
) -> bool:
    """Return whether NOT forbids that event `place`, and so any later one, follows a path.

    What has ended before an event has ended before later ones. wanted: as for `goes_on_with`.
    """
    if len(rules.negatives) == 0:
        return False
    moment = values.integers[MOMENT, path[depth, AT]]
    before = last_before(values.integers, relevant.events[place, ROW], progress[FIRST])
    edges = tables[EDGE_AT] + (path[depth, STATE] + 1) * tables[STATES]
    for target in range(tables[STATES]):
        edge = tables[edges + target]
        if edge < 0 or (wanted >> min(target, LAST_BIT)) & 1 == 0:
            continue
        way = tables[tables[WAY_AT] + edge]
        if is_free(tables, way, rules.negatives, moment, before):
            return False
    return True


@kernel(inline=True, borrows=True)
def goes_on_with(
    tables: Ints,
    rules: Rules | None,
    values: Values,
    relevant: Relevant,
    place: int,
    wanted: int,
    progress: Ints,
    path: Ints,
    depth: int,
    registers: Registers,
) -> bool:
    """Put event `place` behind a path, in the next state that it may follow in, if there is one.

    wanted: the states that may be gone on with, as bits.
    """
    events, last = relevant.events, progress[LAST]
    choice, listed, is_any = path[depth, CHOICE], events[place, TAKES], tables[STRATEGY] == ANY
    while choice < tables[listed]:
        target = tables[listed + 1 + choice]
        choice += 1
        edge = tables[tables[EDGE_AT] + (path[depth, STATE] + 1) * tables[STATES] + target]
        is_wanted = edge >= 0 and (wanted >> min(target, LAST_BIT)) & 1 != 0
        if not is_wanted or (is_any and relevant.ways[place, tables[STATES] + target] > last):
            continue
        row = events[place, ROW]
        if not edge_holds(tables, rules, values, edge, row, progress, path, depth, registers):
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
    rules: Rules | None,
    values: Values,
    edge: int,
    current: int,
    progress: Ints,
    path: Ints,
    depth: int,
    registers: Registers,
) -> bool:
    """Return whether row `current` may follow a path by an edge."""
    # nothing is called that has nothing to look at
    looks, row = tables[tables[LOOKS_AT] + edge], path[depth, AT]
    if looks & NEAR != 0 and not are_neighbours(
        tables, edge, rules, values, current, row, progress[FIRST], registers
    ):
        return False
    if rules is not None and looks & FAR != 0:
        return all_hold(
            tables, tables[tables[CHECK_AT] + edge], rules, values, current, row, depth + 1,
            depth + 1, registers,
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
