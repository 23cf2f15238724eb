# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""SKIP TILL ANY MATCH without ties or conditions between events: each step leads to a match.

As in `elsinore.matches.chains`, an event that may follow a match can stand in one state only, and
`Header.MOVES_AT` tells which. The events of a window are gone through once from its end. That
counts the ways to complete a match after each event and state, and links each to the next event
that may follow and from which a match is completed: those that end it at once, and those after
which it goes on. From a beginning the links are followed depth first; nothing is looked at in vain.

`room`, `ints`, `reals` and `shorts` are the header and the arenas of `elsinore.matches.linked`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Ints, Shorts
from elsinore.matches.keyed import END_ROW, FIRST_ROW, NEW_ROW
from elsinore.matches.linked import AT, BOUND, ENDER, ENDING, GOING, MOVES, PENDING, ROW, STATE
from elsinore.matches.reach import CLASS
from elsinore.matches.search import (
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
    FIRST_ROW as FIRST_EVENT,
)
from elsinore.matches.select import (
    LAST_ROW,
    PATH_AT,
    SUM_AT,
    UPDATE_AT,
    event_after,
    number_after,
)

MOVES_AT = 31  # a place in the header of `tables`
NO_STATE = np.int64(-1)  # as a variable: literals are types of their own


@kernel(borrows=True)
def select_any(
    tables: Ints,
    doubles: Doubles,
    integers: Ints,
    keys: Ints,
    progress: Ints,
    room: Any,
    ints: Ints,
    reals: Doubles,
    shorts: Shorts,
) -> None:
    """Search from where `progress` says; stop where a match finds no room, and at the end.

    There is room for the longest key's events and one more; the rest as for
    `elsinore.matches.scan.scan`.
    """
    within = progress[WITHIN]
    begin_path(tables, room, ints, reals)
    while progress[SEGMENT] < len(keys):
        key = progress[SEGMENT]
        fresh = keys[key, NEW_ROW]
        if progress[EVENTS] < 0:
            progress[EVENTS] = 0
            if fresh < keys[key, END_ROW]:
                progress[EVENTS] = gather(
                    tables, integers, keys[key, FIRST_ROW], keys[key, END_ROW], room, shorts
                )
            progress[BEGIN], progress[LAST], progress[WAYS_TO], progress[GIVEN] = 0, 0, -1, 0
            progress[WINDOW], progress[DEPTH] = 0, -1
        count = progress[EVENTS]
        for begin in range(progress[BEGIN], count):
            if tables[shorts[room.links + MOVES * room.event + begin]] < 0:
                continue
            progress[BEGIN] = begin
            if progress[DEPTH] < 0:
                row, last = shorts[room.links + ROW * room.event + begin], count - 1
                if within >= 0:
                    last = max(progress[LAST], begin)
                    until = integers[TIME, row] + within
                    while (
                        last + 1 < count
                        and integers[TIME, shorts[room.links + ROW * room.event + last + 1]]
                        <= until
                    ):
                        last += 1
                    progress[LAST], progress[GIVEN] = last, 0
                if shorts[room.links + ROW * room.event + last] < fresh:
                    continue
                if progress[WAYS_TO] != last:
                    link(tables, begin, last, fresh, room, reals, shorts)
                    counts_to = begin if within >= 0 else last
                    if progress[EXACT] == 1 and is_too_many(
                        tables, begin, counts_to, fresh, progress, room, reals, shorts
                    ):
                        return
                    progress[WAYS_TO] = last
                elif (
                    within >= 0
                    and progress[EXACT] == 1
                    and is_too_many(tables, begin, begin, fresh, progress, room, reals, shorts)
                ):
                    return
                if ways_from(tables, begin, fresh, room, reals, shorts) == 0.0:
                    continue
            descend(
                tables, doubles, integers, begin, fresh, progress, room, ints, reals, shorts
            )  # fmt: skip
            if progress[STATUS] != DONE:
                return
        progress[SEGMENT] += 1
        progress[EVENTS] = -1


@kernel(borrows=True)
def begin_path(tables: Ints, room: Any, ints: Ints, reals: Doubles) -> None:
    """Set the registers before the first event: no event, nothing counted, the sum of nothing."""
    for register in range(room.register):
        ints[room.held + register] = -1
    for register in range(room.number):
        reals[room.numbers + register] = 0.0
    listed = tables[SUM_AT]
    for place in range(listed + 1, listed + 1 + tables[listed]):
        reals[room.numbers + tables[place]] = np.nan


@kernel(borrows=True)
def gather(tables: Ints, integers: Ints, begin: int, end: int, room: Any, shorts: Shorts) -> int:
    """Fill rows and moves of `links` with the relevant events; return how many there are."""
    width, moves = tables[STATES] + 2, tables[MOVES_AT]
    rows, places = room.links + ROW * room.event, room.links + MOVES * room.event
    count = 0
    for row in range(begin, end):
        place = moves + integers[CLASS, row] * width
        shorts[rows + count], shorts[places + count] = row, place
        count += tables[place + width - 1]
    return count


@kernel(borrows=True)
def link(
    tables: Ints, begin: int, last: int, fresh: int, room: Any, reals: Doubles, shorts: Shorts
) -> None:
    """Fill `ways` and the links of the events from `begin` to `last`, the window's end.

    ways [event, state]: how many matches end after the event, if it stands in the state.
    """
    states, ends, leaves = tables[STATES], tables[END_AT], tables[ENDS_AT]
    size, links, ways = room.event, room.links, room.ways
    enders, goers = links + ENDER * size, links + (ENDER + states) * size
    for state in range(states):
        reals[ways + last * states + state] = 0.0
        shorts[enders + state * size + last], shorts[goers + state * size + last] = -1, -1
    for at in range(last - 1, begin - 1, -1):
        later = at + 1
        place = shorts[links + MOVES * size + later] + 1
        is_fresh = shorts[links + ROW * size + later] >= fresh
        for state in range(states):
            target = tables[place + state]
            total = reals[ways + later * states + state]
            ender, goer = (
                shorts[enders + state * size + later],
                shorts[goers + state * size + later],
            )
            if target >= 0:
                more = reals[ways + later * states + target]
                if tables[ends + target] > -2 and is_fresh:
                    more += 1.0
                if more > 0.0:
                    total += more
                    if tables[leaves + target] == 1:
                        ender = later
                    else:
                        goer = later
            reals[ways + at * states + state] = total
            shorts[enders + state * size + at], shorts[goers + state * size + at] = ender, goer


@kernel(borrows=True)
def ways_from(
    tables: Ints, begin: int, fresh: int, room: Any, reals: Doubles, shorts: Shorts
) -> float:
    """Return how many matches begin with an event."""
    state = tables[shorts[room.links + MOVES * room.event + begin]]
    if state < 0:
        return 0.0
    is_fresh = shorts[room.links + ROW * room.event + begin] >= fresh
    ends_here = tables[tables[END_AT] + state] > -2 and is_fresh
    return reals[room.ways + begin * tables[STATES] + state] + (1.0 if ends_here else 0.0)


@kernel(borrows=True)
def is_too_many(
    tables: Ints,
    begin: int,
    until: int,
    fresh: int,
    progress: Ints,
    room: Any,
    reals: Doubles,
    shorts: Shorts,
) -> bool:
    """Return whether more matches begin with events `begin` to `until` than may be given out."""
    total = float(progress[GIVEN])
    for at in range(begin, until + 1):
        total += ways_from(tables, at, fresh, room, reals, shorts)
    if total <= progress[MOST]:
        return False
    progress[STATUS] = TOO_MANY
    progress[GIVEN] = int(min(total, 9.0e18))
    return True


@kernel(borrows=True)
def descend(
    tables: Ints,
    doubles: Doubles,
    integers: Ints,
    begin: int,
    fresh: int,
    progress: Ints,
    room: Any,
    ints: Ints,
    reals: Doubles,
    shorts: Shorts,
) -> None:
    """Give out the matches that begin with an event, from where the path stands.

    progress[DEPTH] below 0: before the event itself, and when there are no more.
    """
    depth, looks, size = progress[DEPTH], 0, room.event
    enders = room.links + ENDER * size
    goers = enders + tables[STATES] * size
    while True:
        at, target = begin, tables[shorts[room.links + MOVES * size + begin]]
        step = room.path + room.entry * depth
        if depth >= 0:
            if ints[step + PENDING] == 1 or ints[step + ENDING] >= 0:
                give(tables, doubles, integers, depth, progress, room, ints, reals, shorts)
                if progress[STATUS] != DONE:
                    break
            at = np.int64(ints[step + GOING])
            if at < 0:
                depth -= 1
                if depth < 0:
                    break
                continue
            looks += 1
            if depth + 3 >= room.depth or looks > progress[BUDGET]:
                progress[STATUS] = DEEP if depth + 3 >= room.depth else TOO_LONG
                break
            state = ints[step + STATE]
            ints[step + GOING] = shorts[goers + state * size + at]
            target = tables[shorts[room.links + MOVES * size + at] + 1 + state]
        depth += 1
        step += room.entry
        row = shorts[room.links + ROW * size + at]
        ints[step + AT], ints[step + STATE] = row, target
        ends_here = tables[tables[END_AT] + target] > -2 and row >= fresh
        ints[step + PENDING] = 1 if ends_here else 0
        ints[step + ENDING] = shorts[enders + target * size + at]
        ints[step + GOING] = shorts[goers + target * size + at]
        held, numbers = room.held + depth * room.register, room.numbers + depth * room.number
        for register in range(held, held + room.register):
            ints[register + room.register] = ints[register]
        for register in range(numbers, numbers + room.number):
            reals[register + room.number] = reals[register]
        held, numbers = held + room.register, numbers + room.number
        take_in(tables, target, row, doubles, integers, ints, held, 1, reals, numbers, 1)
    progress[DEPTH] = depth


@kernel(inline=True, borrows=True)
def take_in(
    tables: Ints,
    state: int,
    row: int,
    doubles: Doubles,
    integers: Ints,
    ints: Ints,
    held: int,
    held_by: int,
    reals: Doubles,
    numbers: int,
    numbers_by: int,
) -> None:
    """Take an event in a state into the registers that stand, some places apart, in two arenas."""
    listed = tables[tables[UPDATE_AT] + state]
    for update in range(listed + 1, listed + 1 + tables[listed], 4):
        kind, register = tables[update], tables[update + 1]
        column, is_whole = tables[update + 2], tables[update + 3]
        if kind <= 3:
            place = held + register * held_by
            ints[place] = event_after(kind, column, is_whole, row, ints[place], doubles, integers)
        else:
            place = numbers + register * numbers_by
            reals[place] = number_after(
                kind, column, is_whole, row, reals[place], doubles, integers
            )


@kernel(inline=True, borrows=True)
def give(
    tables: Ints,
    doubles: Doubles,
    integers: Ints,
    depth: int,
    progress: Ints,
    room: Any,
    ints: Ints,
    reals: Doubles,
    shorts: Shorts,
) -> None:
    """Write down the match that a path is, and those that end right behind it.

    `progress` says why not all of them.
    """
    path, size = room.path + room.entry * depth, room.event
    state, first = ints[path + STATE], ints[room.path + AT]
    pending, place = ints[path + PENDING], ints[path + ENDING]
    number, filled, width = progress[FOUND], progress[FILLED], room.match
    free = min(width - number, progress[MOST] - progress[GIVEN])
    if progress[WITH_PATHS] == 1:
        free = min(free, (room.step - filled) // (depth + 2))
    end = number + min(free, progress[WANTED] - number)
    held, numbers = (
        room.held + (depth + 1) * room.register,
        room.numbers + (depth + 1) * room.number,
    )
    rows, moves = room.links + ROW * size, room.links + MOVES * size
    nexts = room.links + (ENDER + state) * size
    listed = tables[UPDATE_AT]
    found, counted = room.found + number, room.counted + number
    while number < end and (pending == 1 or place >= 0):
        row, target = ints[path + AT], NO_STATE
        if pending == 1:
            pending = 0
        else:
            row, target = np.int64(shorts[rows + place]), tables[shorts[moves + place] + 1 + state]
            place = np.int64(shorts[nexts + place])
        ints[found + FIRST_EVENT * width], ints[found + LAST_ROW * width] = first, row
        for register in range(room.register):
            ints[found + (BOUND + register) * width] = ints[held + register]
        for register in range(room.number):
            reals[counted + register * width] = reals[numbers + register]
        if target >= 0 and tables[tables[listed + target]] > 0:
            take_in(
                tables, target, row, doubles, integers, ints, found + BOUND * width, width, reals,
                counted, width,
            )  # fmt: skip
        if progress[WITH_PATHS] == 1:
            ints[found + PATH_AT * width] = filled
            for step in range(depth + 1):
                taken = room.path + room.entry * step
                shorts[room.paths + 2 * (filled + step)] = ints[taken + AT]
                shorts[room.paths + 2 * (filled + step) + 1] = ints[taken + STATE]
            filled += depth + 1
            if target >= 0:
                shorts[room.paths + 2 * filled], shorts[room.paths + 2 * filled + 1] = row, target
                filled += 1
        number, found, counted = number + 1, found + 1, counted + 1
    progress[GIVEN] += number - progress[FOUND]
    progress[FOUND], progress[FILLED] = number, filled
    ints[path + PENDING], ints[path + ENDING] = pending, place
    if number >= progress[WANTED]:
        progress[STATUS] = LIMITED
    elif pending == 1 or place >= 0:
        progress[STATUS] = TOO_MANY if progress[GIVEN] >= progress[MOST] else FULL
