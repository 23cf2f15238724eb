# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The search over all keys of a batch (`keyed`): their windows and beginnings of matches.

`keys` [key] says where its rows begin and end, which is the first new one, and the times that were
(`PASSED`) and are (`REACHED`) known to be over: no event at or before them comes any more.

A window relative to the match, of `progress[WITHIN]` time units, begins with its first event. With
SLIDE a match is given out for each window that holds it. A match is given out when its last event
is new; where its end is a NOT, when its window has passed.
"""

from __future__ import annotations

from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Ints, Shorts
from elsinore.matches.counting import completions
from elsinore.matches.keyed import (
    END_ROW,
    FIRST_ROW,
    NEW_ROW,
    PASSED,
    REACHED,
    first_at,
    first_window,
)
from elsinore.matches.reach import ALIVE, ANY, NEXT_AT, ROW, TAKES, WHEN, gather
from elsinore.matches.search import (
    BEGIN,
    DEPTH,
    DONE,
    EDGE_AT,
    END_AT,
    EVENTS,
    EXACT,
    FIRST,
    FOUND,
    FRESH,
    FROM,
    GUARD,
    HIGHEST,
    LAST,
    LIMITED,
    LOWEST,
    MOMENT,
    ORIGIN,
    SEGMENT,
    SLIDE,
    STATES,
    STATUS,
    STRATEGY,
    TIME,
    TOO_MANY,
    UNTO,
    WAYS_TO,
    WINDOW,
    WITHIN,
    are_neighbours,
    matches_from,
)
from elsinore.matches.search import COUNTED as GIVEN
from elsinore.matches.search import FILLED as PATHS_FILLED
from elsinore.matches.select import begin_registers, clear_registers

DEFERRED, DUPLICATES = 4, 28  # places in the header of `tables`
NO_WINDOW = -1  # in progress[WITHIN]: the whole stream is one window
FIRST_CALL = -(2**62)  # in progress[WINDOW], progress[BEGIN]: at a key's beginning


@kernel(borrows=True)
def scan(
    tables: Ints,
    constants: Doubles | None,
    doubles: Doubles,
    integers: Ints,
    negatives: Ints | None,
    keys: Ints,
    events: Ints,
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
    """Search from where `progress` says; stop where a match finds no room, and at the end."""
    begin_registers(tables, held, numbers)
    if constants is not None:
        clear_registers(tables, constants, held, numbers)
    count = progress[EVENTS]  # of the key, below 0: they are not looked at yet
    while progress[SEGMENT] < len(keys):
        key = progress[SEGMENT]
        if count < 0:
            progress[FIRST], progress[FRESH] = keys[key, FIRST_ROW], keys[key, NEW_ROW]
            if tables[DEFERRED] == 1:
                progress[FRESH] = 0
            count = 0
            if progress[FRESH] < keys[key, END_ROW]:
                count = gather(
                    tables, integers, keys[key, FIRST_ROW], keys[key, END_ROW], progress[FRESH],
                    events,
                )  # fmt: skip
            if count > 0 and events[count - 1, ROW] < progress[FRESH]:
                count = 0
            progress[EVENTS] = count
        if not next_window(tables, integers, keys, events, count, progress):
            progress[SEGMENT] += 1
            progress[WINDOW], progress[BEGIN] = FIRST_CALL, FIRST_CALL
            progress[FROM], progress[LAST], progress[WAYS_TO] = 0, 0, -1
            count = -1
            continue
        is_new = progress[DEPTH] < 0  # no match of the window was given out yet
        until = progress[LAST]
        if tables[STRATEGY] == ANY and progress[WAYS_TO] < until:
            until = ways_until(integers, events, count, progress)
            completions(
                tables, constants, doubles, integers, negatives, events, progress[BEGIN],
                until, progress, ways, held, numbers, stack, whole_stack,
            )  # fmt: skip
            progress[WAYS_TO] = until
        given = progress[GIVEN]
        if progress[EXACT] == 1 and is_new and is_too_many(tables, events, progress, ways):
            if progress[WAYS_TO] == progress[LAST]:
                return
            completions(
                tables, constants, doubles, integers, negatives, events, progress[BEGIN],
                progress[LAST], progress, ways, held, numbers, stack, whole_stack,
            )  # fmt: skip
            progress[WAYS_TO], progress[STATUS], progress[GIVEN] = progress[LAST], DONE, given
            if is_too_many(tables, events, progress, ways):
                return
        while progress[BEGIN] <= progress[UNTO]:
            if events[progress[BEGIN], ALIVE] & tables[tables[NEXT_AT]] != 0:
                before, filled = progress[FOUND], progress[PATHS_FILLED]
                given = progress[GIVEN]
                matches_from(
                    tables, constants, doubles, integers, negatives, events, progress[BEGIN],
                    progress[LAST], progress, ways, path, held, numbers, stack, whole_stack, found,
                    counted, paths,
                )  # fmt: skip
                if progress[STATUS] != DONE:
                    if tables[DUPLICATES] == 1 and progress[STATUS] != LIMITED:
                        # those of one event are never given out apart: all of them another time
                        progress[FOUND], progress[PATHS_FILLED] = before, filled
                        progress[GIVEN], progress[DEPTH] = given, -1
                    return
            progress[BEGIN] += 1


@kernel(borrows=True)
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


@kernel(borrows=True)
def next_window(
    tables: Ints, integers: Ints, keys: Ints, events: Ints, count: int, progress: Ints
) -> bool:
    """Set the window that is searched next; return whether there is one.

    Sets FROM and LAST, its first and last events; BEGIN and UNTO, the events that matches begin
    with; LOWEST and HIGHEST, the first moment (below 0: it depends on the match) and the last row
    where a NOT is looked for. A window that is under way is not left.
    """
    if count == 0:
        return False
    key = progress[SEGMENT]
    deferred = tables[DEFERRED] == 1
    within, slide = progress[WITHIN], progress[SLIDE]
    is_first = progress[BEGIN] == FIRST_CALL
    if not is_first and progress[BEGIN] <= progress[UNTO]:
        return True
    progress[GIVEN] = 0
    if slide == 0 and within == NO_WINDOW:
        if not is_first or (deferred and keys[key, REACHED] != 2**63 - 1):
            return False
        progress[BEGIN], progress[UNTO], progress[LAST] = 0, count - 1, count - 1
        progress[LOWEST], progress[HIGHEST], progress[WINDOW] = 0, keys[key, END_ROW] - 1, 0
        return True
    if slide == 0:
        begin = 0 if is_first else progress[BEGIN]
        progress[WINDOW], progress[LOWEST] = 0, -1
        last, begins = progress[LAST], tables[tables[NEXT_AT]]
        while begin < count:
            time = integers[TIME, events[begin, ROW]]
            if deferred and time + within >= keys[key, REACHED]:
                return False
            if events[begin, ALIVE] & begins == 0:
                begin += 1
                continue
            last = max(last, begin)
            while last + 1 < count and integers[TIME, events[last + 1, ROW]] - time <= within:
                last += 1
            wanted = events[last, ROW] >= progress[FRESH]
            if deferred:
                wanted = time + within >= keys[key, PASSED]
            if wanted:
                progress[BEGIN], progress[UNTO], progress[LAST] = begin, begin, last
                if deferred:
                    end = keys[key, END_ROW]
                    row = first_at(integers, events[last, ROW], end, time + within + 1)
                    progress[HIGHEST] = row - 1
                return True
            begin += 1
        return False
    origin = progress[ORIGIN]
    first = progress[FROM]
    if is_first:
        number = first_window(integers[TIME, events[0, ROW]], within, slide, origin)
    else:
        number = progress[WINDOW] + 1
    while True:
        start = origin + number * slide
        while first < count and integers[TIME, events[first, ROW]] < start:
            first += 1
        if first == count or (deferred and start + within > keys[key, REACHED]):
            return False
        time = integers[TIME, events[first, ROW]]
        if time >= start + within:  # nothing in it: go on to the first window that has the event
            number = first_window(time, within, slide, origin)
            continue
        last = first
        while last + 1 < count and integers[TIME, events[last + 1, ROW]] < start + within:
            last += 1
        wanted = events[last, ROW] >= progress[FRESH]
        if deferred:
            wanted = start + within > keys[key, PASSED]
        if wanted:
            break
        number += 1
    low = first_at(integers, progress[FIRST], keys[key, END_ROW], start)
    progress[WINDOW], progress[LOWEST] = number, integers[MOMENT, low]
    progress[HIGHEST] = first_at(integers, low, keys[key, END_ROW], start + within) - 1
    progress[FROM], progress[BEGIN], progress[UNTO], progress[LAST] = first, first, last, last
    progress[WAYS_TO] = -1
    return True


@kernel(borrows=True)
def is_too_many(tables: Ints, events: Ints, progress: Ints, ways: Doubles) -> bool:
    """Return whether more matches begin in the window than may be given out."""
    if tables[STRATEGY] != ANY:
        return False
    total = float(progress[GIVEN])
    for at in range(progress[BEGIN], progress[UNTO] + 1):
        listed = events[at, TAKES]
        for place in range(listed + 1, listed + 1 + tables[listed]):
            if tables[tables[EDGE_AT] + tables[place]] >= 0:
                total += ways[at, tables[place]]
    if total <= progress[GUARD]:
        return False
    progress[STATUS] = TOO_MANY
    progress[GIVEN] = int(min(total, 9.0e18))
    return True


@kernel(borrows=True)
def latest_beginnings(
    tables: Ints,
    constants: Doubles,
    doubles: Doubles,
    integers: Ints,
    negatives: Ints,
    keys: Ints,
    events: Ints,
    latest: Doubles,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
    pattern: int,
    inner: Ints,
    within: int,
) -> None:
    """Fill `negatives[pattern]`: the latest moment at which a match began that ended by each row.

    `tables` is of a pattern under NOT whose conditions look no farther than to neighbours; `inner`
    are the patterns under NOT in it. `latest` [event, state] is working room. Matches longer than
    `within` time units lie in no window (below 0: there is no bound).
    """
    for key in range(len(keys)):
        begin_row, end_row = keys[key, FIRST_ROW], keys[key, END_ROW]
        count = gather(tables, integers, begin_row, end_row, begin_row, events)
        row, best = begin_row, -1
        earliest = 0
        for at in range(count):
            current, moment = events[at, ROW], events[at, WHEN]
            while row < current:
                negatives[pattern, row] = best
                row += 1
            while (
                within >= 0
                and integers[TIME, current] - integers[TIME, events[earliest, ROW]] > within
            ):
                earliest += 1
            listed = events[at, TAKES]
            for state in range(tables[STATES]):
                latest[at, state] = -1.0
            for place in range(listed + 1, listed + 1 + tables[listed]):
                state = tables[place]
                began = -1.0
                if tables[tables[EDGE_AT] + state] >= 0:
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
                            tables, edge, constants, doubles, integers, inner, current,
                            events[before, ROW], begin_row, held, numbers, stack, whole_stack,
                        ):  # fmt: skip
                            began = latest[before, source]
                latest[at, state] = began
                if tables[tables[END_AT] + state] > -2:
                    best = max(best, int(began))
        while row < end_row:
            negatives[pattern, row] = best
            row += 1
