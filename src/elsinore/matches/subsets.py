# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""SKIP TILL ANY MATCH without ties or conditions between events: each step leads to a match.

As in `elsinore.matches.chains`, an event that may follow a match can stand in one state only, and
`Header.MOVES_AT` tells which. The events of a window are gone through once from its end. That
counts the ways to complete a match after each event and state, and links each to the next event
that may follow and from which a match is completed: those that end it at once, and those after
which it goes on. From a beginning the links are followed depth first; nothing is looked at in vain.
"""

from __future__ import annotations

from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Ints, Shorts
from elsinore.matches.chains import MOVES, ROW, gather
from elsinore.matches.keyed import END_ROW, FIRST_ROW, NEW_ROW
from elsinore.matches.search import (
    AT,
    BEGIN,
    BUDGET,
    DEEP,
    DEPTH,
    DONE,
    END_AT,
    ENDS_AT,
    EVENTS,
    EXACT,
    FILLED,
    FOUND,
    FULL,
    LAST,
    LIMITED,
    SEGMENT,
    STATE,
    STATES,
    STATUS,
    TIME,
    TOO_LONG,
    TOO_MANY,
    WAYS_TO,
    WINDOW,
    WITH_PATHS,
    WITHIN,
)
from elsinore.matches.search import COUNTED as GIVEN
from elsinore.matches.search import GUARD as MOST
from elsinore.matches.search import LIMIT as WANTED
from elsinore.matches.select import (
    BOUND,
    LAST_ROW,
    NUMBERS,
    PATH_AT,
    UPDATE_AT,
    begin_registers,
    event_after,
    give_out,
    number_after,
    select,
)
from elsinore.matches.select import EVENTS as BOUND_EVENTS
from elsinore.matches.select import FIRST_ROW as FIRST_EVENT

MOVES_AT = 31  # a place in the header of `tables`
# Columns of `path` [step], behind row and state: whether a match ends here that is not given out
# yet, the next event that ends a match, and the next after which it goes on.
PENDING, ENDING, GOING = range(2, 5)
ENDER = 2  # from here on rows of `links`: by state, links to events that end a match, and others


@kernel(borrows=True)
def select_any(
    tables: Ints,
    doubles: Doubles,
    integers: Ints,
    keys: Ints,
    progress: Ints,
    links: Shorts,
    ways: Doubles,
    path: Ints,
    held: Ints,
    numbers: Doubles,
    found: Ints,
    counted: Doubles,
    paths: Shorts,
) -> None:
    """Search from where `progress` says; stop where a match finds no room, and at the end.

    `links` has room for the longest key's events and one more, `ways` [event, state] as well; the
    rest as for `elsinore.matches.scan.scan`.
    """
    within = progress[WITHIN]
    begin_registers(tables, held, numbers)
    while progress[SEGMENT] < len(keys):
        key = progress[SEGMENT]
        fresh = keys[key, NEW_ROW]
        if progress[EVENTS] < 0:
            progress[EVENTS] = 0
            if fresh < keys[key, END_ROW]:
                progress[EVENTS] = gather(
                    tables, integers, keys[key, FIRST_ROW], keys[key, END_ROW], links
                )
            progress[BEGIN], progress[LAST], progress[WAYS_TO], progress[GIVEN] = 0, 0, -1, 0
            progress[WINDOW], progress[DEPTH] = 0, -1
        count = progress[EVENTS]
        for begin in range(progress[BEGIN], count):
            state = tables[links[MOVES, begin]]
            if state < 0:
                continue
            progress[BEGIN] = begin
            if progress[DEPTH] < 0:
                row, last = links[ROW, begin], count - 1
                if within >= 0:
                    last = max(progress[LAST], begin)
                    until = integers[TIME, row] + within
                    while last + 1 < count and integers[TIME, links[ROW, last + 1]] <= until:
                        last += 1
                    progress[LAST], progress[GIVEN] = last, 0
                if links[ROW, last] < fresh:
                    continue
                if progress[WAYS_TO] != last:
                    link(tables, begin, last, fresh, links, ways)
                    progress[WAYS_TO] = last
                    if progress[EXACT] == 1 and is_too_many(
                        tables, begin, begin if within >= 0 else last, fresh, progress, links, ways
                    ):
                        return
                elif (
                    within >= 0
                    and progress[EXACT] == 1
                    and is_too_many(tables, begin, begin, fresh, progress, links, ways)
                ):
                    return
                if ways_from(tables, begin, fresh, links, ways) == 0.0:
                    continue
                progress[DEPTH] = 0
                path[0, AT], path[0, STATE] = row, state
                enter_step(tables, 0, begin, state, row, fresh, links, path)
                select(tables, state, row, 1, doubles, integers, held, numbers)
            descend(
                tables, doubles, integers, fresh, progress, links, path, held, numbers, found,
                counted, paths,
            )  # fmt: skip
            if progress[STATUS] != DONE:
                return
        progress[SEGMENT] += 1
        progress[EVENTS] = -1


@kernel(borrows=True)
def link(tables: Ints, begin: int, last: int, fresh: int, links: Shorts, ways: Doubles) -> None:
    """Fill `ways` and the links of the events from `begin` to `last`, the window's end.

    ways [event, state]: how many matches end after the event, if it stands in the state.
    """
    states, ends, leaves = tables[STATES], tables[END_AT], tables[ENDS_AT]
    other = ENDER + states
    for state in range(states):
        ways[last, state] = 0.0
        links[ENDER + state, last], links[other + state, last] = -1, -1
    for at in range(last - 1, begin - 1, -1):
        later = at + 1
        place = links[MOVES, later] + 1
        is_fresh = links[ROW, later] >= fresh
        for state in range(states):
            target = tables[place + state]
            total = ways[later, state]
            ender, goer = links[ENDER + state, later], links[other + state, later]
            if target >= 0:
                more = ways[later, target]
                if tables[ends + target] > -2 and is_fresh:
                    more += 1.0
                if more > 0.0:
                    total += more
                    if tables[leaves + target] == 1:
                        ender = later
                    else:
                        goer = later
            ways[at, state] = total
            links[ENDER + state, at], links[other + state, at] = ender, goer


@kernel(borrows=True)
def ways_from(tables: Ints, begin: int, fresh: int, links: Shorts, ways: Doubles) -> float:
    """Return how many matches begin with an event."""
    state = tables[links[MOVES, begin]]
    if state < 0:
        return 0.0
    ends_here = tables[tables[END_AT] + state] > -2 and links[ROW, begin] >= fresh
    return ways[begin, state] + (1.0 if ends_here else 0.0)


@kernel(borrows=True)
def is_too_many(
    tables: Ints, begin: int, until: int, fresh: int, progress: Ints, links: Shorts, ways: Doubles
) -> bool:
    """Return whether more matches begin with events `begin` to `until` than may be given out."""
    total = float(progress[GIVEN])
    for at in range(begin, until + 1):
        total += ways_from(tables, at, fresh, links, ways)
    if total <= progress[MOST]:
        return False
    progress[STATUS] = TOO_MANY
    progress[GIVEN] = int(min(total, 9.0e18))
    return True


@kernel(inline=True, borrows=True)
def enter_step(
    tables: Ints,
    depth: int,
    at: int,
    state: int,
    row: int,
    fresh: int,
    links: Shorts,
    path: Ints,
) -> None:
    """Set what comes next behind step `depth` of a path, which is event `at`."""
    ends_here = tables[tables[END_AT] + state] > -2 and row >= fresh
    path[depth, PENDING] = 1 if ends_here else 0
    path[depth, ENDING] = links[ENDER + state, at]
    path[depth, GOING] = links[ENDER + tables[STATES] + state, at]


@kernel(inline=True, borrows=True)
def descend(
    tables: Ints,
    doubles: Doubles,
    integers: Ints,
    fresh: int,
    progress: Ints,
    links: Shorts,
    path: Ints,
    held: Ints,
    numbers: Doubles,
    found: Ints,
    counted: Doubles,
    paths: Shorts,
) -> None:
    """Give out the matches that go on from `path`; progress[DEPTH] below 0: there are no more."""
    depth, states, looks = progress[DEPTH], tables[STATES], 0
    while depth >= 0:
        state = path[depth, STATE]
        if path[depth, PENDING] == 1:
            give_out(tables, progress, path, depth, held, numbers, found, counted, paths)
            if progress[STATUS] != DONE:
                break
            path[depth, PENDING] = 0
        if path[depth, ENDING] >= 0:
            give_ends(
                tables, doubles, integers, depth, progress, links, path, held, numbers, found,
                counted, paths,
            )  # fmt: skip
            if progress[STATUS] != DONE:
                break
        at = path[depth, GOING]
        if at < 0:
            depth -= 1
            continue
        looks += 1
        if depth + 2 >= len(path) or looks > progress[BUDGET]:
            progress[STATUS] = DEEP if depth + 2 >= len(path) else TOO_LONG
            break
        path[depth, GOING] = links[ENDER + states + state, at]
        row, target = links[ROW, at], tables[links[MOVES, at] + 1 + state]
        depth += 1
        path[depth, AT], path[depth, STATE] = row, target
        enter_step(tables, depth, at, target, row, fresh, links, path)
        select(tables, target, row, depth + 1, doubles, integers, held, numbers)
    progress[DEPTH] = depth


@kernel(inline=True, borrows=True)
def give_ends(
    tables: Ints,
    doubles: Doubles,
    integers: Ints,
    depth: int,
    progress: Ints,
    links: Shorts,
    path: Ints,
    held: Ints,
    numbers: Doubles,
    found: Ints,
    counted: Doubles,
    paths: Shorts,
) -> None:
    """Write down the matches that end right behind a path; `progress` says why not all of them.

    Registers are those of the path, and what the last event does to them.
    """
    state, first, before = path[depth, STATE], path[0, AT], depth + 1
    place, number, filled = path[depth, ENDING], progress[FOUND], progress[FILLED]
    steps = depth + 2 if progress[WITH_PATHS] == 1 else 0
    room = min(found.shape[1] - number, progress[MOST] - progress[GIVEN])
    if steps > 0:
        room = min(room, (len(paths) - filled) // steps)
    end = number + min(room, progress[WANTED] - number)
    while place >= 0 and number < end:
        row, target = links[ROW, place], tables[links[MOVES, place] + 1 + state]
        found[FIRST_EVENT, number], found[LAST_ROW, number] = first, row
        for register in range(tables[BOUND_EVENTS]):
            found[BOUND + register, number] = held[before, register]
        for register in range(tables[NUMBERS]):
            counted[register, number] = numbers[before, register]
        listed = tables[tables[UPDATE_AT] + target]
        for update in range(listed + 1, listed + 1 + tables[listed], 4):
            kind, register = tables[update], tables[update + 1]
            column, is_whole = tables[update + 2], tables[update + 3]
            if kind <= 3:
                found[BOUND + register, number] = event_after(
                    kind, column, is_whole, row, held[before, register], doubles, integers
                )
            else:
                counted[register, number] = number_after(
                    kind, column, is_whole, row, numbers[before, register], doubles, integers
                )
        if steps > 0:
            found[PATH_AT, number] = filled
            for step in range(depth + 1):
                paths[filled + step, 0], paths[filled + step, 1] = path[step, AT], path[step, STATE]
            paths[filled + depth + 1, 0], paths[filled + depth + 1, 1] = row, target
            filled += steps
        number += 1
        place = links[ENDER + state, place]
    progress[GIVEN] += number - progress[FOUND]
    progress[FOUND], progress[FILLED], path[depth, ENDING] = number, filled, place
    if number >= progress[WANTED]:
        progress[STATUS] = LIMITED
    elif place >= 0:
        progress[STATUS] = TOO_MANY if progress[GIVEN] >= progress[MOST] else FULL
