# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The search over all keys of a batch (`keyed`): their windows and beginnings of matches.

What kernels are passed is told in `elsinore.matches.search`, and `keys` in `windows`.
"""

from __future__ import annotations

from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Given, Ints, Registers, Relevant, Rules, Values
from elsinore.matches.counting import completions
from elsinore.matches.keyed import END_ROW, FIRST_ROW
from elsinore.matches.reach import ALIVE, ANY, NEXT_AT, ROW, TAKES, WHEN, gather
from elsinore.matches.search import (
    BEGIN,
    COUNTED,
    DEPTH,
    DONE,
    DUPLICATES,
    EDGE_AT,
    END_AT,
    EXACT,
    FILLED,
    FOUND,
    GUARD,
    LAST,
    LIMITED,
    MOMENT,
    NOTHING,
    PAUSE_AT,
    PAUSED,
    SEGMENT,
    SLIDE,
    STATES,
    STATUS,
    STEPS,
    STRATEGY,
    TIME,
    TOO_MANY,
    UNTO,
    WAY_AT,
    WAYS_TO,
    WITHIN,
    are_neighbours,
    is_free,
    last_before,
    matches_from,
)
from elsinore.matches.select import begin_registers, clear_registers
from elsinore.matches.windows import NO_WINDOW, events_of_key, leave_key, next_window


@kernel(borrows=True)
def scan(
    tables: Ints,
    rules: Rules | None,
    values: Values,
    keys: Ints,
    relevant: Relevant,
    progress: Ints,
    path: Ints,
    registers: Registers,
    given: Given,
) -> None:
    """Search from where `progress` says; stop where a match finds no room, and at the end."""
    begin_registers(tables, registers)
    if rules is not None:
        clear_registers(tables, rules, registers)
    events = relevant.events
    while progress[SEGMENT] < len(keys):
        count = events_of_key(tables, values.integers, keys, events, progress)
        if not next_window(tables, values.integers, keys, events, count, progress):
            leave_key(progress)
            continue
        is_new = progress[DEPTH] < 0  # no match of the window was given out yet
        if tables[STRATEGY] == ANY and progress[WAYS_TO] < progress[LAST]:
            until = ways_until(values.integers, events, count, progress)
            completions(tables, rules, values, relevant, until, progress, registers)
        many = progress[COUNTED]
        if progress[EXACT] == 1 and is_new and is_too_many(tables, relevant, progress):
            if progress[WAYS_TO] == progress[LAST]:
                return
            completions(tables, rules, values, relevant, progress[LAST], progress, registers)
            progress[STATUS], progress[COUNTED] = DONE, many
            if is_too_many(tables, relevant, progress):
                return
        while progress[BEGIN] <= progress[UNTO]:
            if events[progress[BEGIN], ALIVE] & tables[tables[NEXT_AT]] != 0:
                found, filled, many = progress[FOUND], progress[FILLED], progress[COUNTED]
                matches_from(tables, rules, values, relevant, progress, path, registers, given)
                if progress[STATUS] != DONE:
                    if tables[DUPLICATES] == 1 and progress[STATUS] != LIMITED:
                        # those of one event are never given out apart: all of them another time
                        progress[FOUND], progress[FILLED] = found, filled
                        progress[COUNTED], progress[DEPTH] = many, -1
                    return
            progress[BEGIN] += 1
            if progress[STEPS] > progress[PAUSE_AT]:
                progress[STATUS] = PAUSED
                return


@kernel(borrows=True, linked=True)
def ways_until(integers: Ints, events: Ints, count: int, progress: Ints) -> int:
    """Return the event to which ways are counted: the last of the window.

    Where windows relative to the match overlap it is one behind those of the next beginnings, so
    that ways need not be counted for each beginning.
    """
    until, begin = progress[LAST], progress[BEGIN]
    within, is_alone = progress[WITHIN], progress[WAYS_TO] < begin
    if progress[SLIDE] != 0 or within == NO_WINDOW or is_alone:
        return until
    latest = integers[TIME, events[begin, ROW]] + 2 * within
    while until + 1 < count and integers[TIME, events[until + 1, ROW]] <= latest:
        until += 1
    return until


@kernel(borrows=True, linked=True)
def is_too_many(tables: Ints, relevant: Relevant, progress: Ints) -> bool:
    """Return whether more matches begin in the window than may be given out."""
    if tables[STRATEGY] != ANY:
        return False
    total = float(progress[COUNTED])
    for at in range(progress[BEGIN], progress[UNTO] + 1):
        listed = relevant.events[at, TAKES]
        for place in range(listed + 1, listed + 1 + tables[listed]):
            if tables[tables[EDGE_AT] + tables[place]] >= 0:
                total += relevant.ways[at, tables[place]]
    if total <= progress[GUARD]:
        return False
    progress[STATUS] = TOO_MANY
    progress[COUNTED] = int(min(total, 9.0e18))
    return True


@kernel(borrows=True)
def latest_beginnings(
    tables: Ints,
    rules: Rules,
    values: Values,
    negatives: Ints,
    keys: Ints,
    events: Ints,
    latest: Doubles,
    registers: Registers,
    pattern: int,
    within: int,
) -> None:
    """Fill `negatives[pattern]`: the latest moment at which a match began that ended by each row.

    `tables` is of a pattern under NOT whose conditions look no farther than to neighbours; `rules`
    tell of the patterns under NOT in it. `latest` [event, state] is working room. Matches longer
    than `within` time units lie in no window (below 0: there is no bound). A NOT at the beginning
    or the end of the pattern is looked for among all rows of the key.
    """
    for key in range(len(keys)):
        begin_row, end_row = keys[key, FIRST_ROW], keys[key, END_ROW]
        count = gather(tables, values.integers, begin_row, end_row, begin_row, events)
        row, best, earliest = begin_row, -1, 0
        for at in range(count):
            current = events[at, ROW]
            while row < current:
                negatives[pattern, row] = best
                row += 1
            latest_time = values.integers[TIME, current]
            while (
                within >= 0 and latest_time - values.integers[TIME, events[earliest, ROW]] > within
            ):
                earliest += 1
            listed = events[at, TAKES]
            for state in range(tables[STATES]):
                latest[at, state] = -1.0
            for place in range(listed + 1, listed + 1 + tables[listed]):
                state = tables[place]
                began = latest_beginning(
                    tables, rules, values, events, latest, registers, at, earliest, state, begin_row
                )
                latest[at, state] = began
                is_short = began >= events[earliest, WHEN]
                if began > best and is_short and may_end(
                    tables, rules, values.integers, state, current, end_row
                ):  # fmt: skip
                    best = int(began)
        while row < end_row:
            negatives[pattern, row] = best
            row += 1


@kernel(borrows=True, linked=True)
def may_end(tables: Ints, rules: Rules, integers: Ints, state: int, row: int, end_row: int) -> bool:
    """Return whether a match of a pattern under NOT may end in a state with row `row`.

    A NOT at its end forbids matches from that row up to row `end_row`, where its window ends.
    """
    way = tables[tables[END_AT] + state]
    if way < 0:
        return way > -2
    return is_free(tables, way, rules.negatives, integers[MOMENT, row], end_row - 1)


@kernel(borrows=True, linked=True)
def latest_beginning(
    tables: Ints,
    rules: Rules,
    values: Values,
    events: Ints,
    latest: Doubles,
    registers: Registers,
    at: int,
    earliest: int,
    state: int,
    first: int,
) -> float:
    """Return the latest moment at which a path began that event `at` ends in a state; -1: none.

    The event before is `earliest` or later; the key's rows begin with `first`.
    """
    moment, began = events[at, WHEN], -1.0
    begin_edge = tables[tables[EDGE_AT] + state]
    if begin_edge >= 0 and is_free(
        tables, tables[tables[WAY_AT] + begin_edge], rules.negatives, NOTHING,
        last_before(values.integers, events[at, ROW], first),
    ):  # fmt: skip
        began = float(moment)
    for before in range(at - 1, earliest - 1, -1):
        if began == float(moment):
            break
        if events[before, WHEN] == moment:
            continue
        for source in range(tables[STATES]):
            if latest[before, source] <= began:
                continue
            edge = tables[tables[EDGE_AT] + (source + 1) * tables[STATES] + state]
            if edge >= 0 and are_neighbours(
                tables, edge, rules, values, events[at, ROW], events[before, ROW], first, registers
            ):
                began = latest[before, source]
    return began
