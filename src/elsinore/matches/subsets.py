# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""SKIP TILL ANY MATCH without ties or conditions between events: each step leads to a match.

As in `elsinore.matches.chains`, an event that may follow a match can stand in one state only, and
`Header.MOVES_AT` tells which. The events of a window are gone through once from its end. That
counts the ways to complete a match after each event and state, links each to the next event that
may follow and after which a match goes on, and lists, state by state, the events that end a match
at once: those that end the matches of a path stand together at the end of such a list, so that
these matches are written down column by column. From a beginning the links are followed depth
first; nothing is looked at in vain. What an event adds to each register of numbers is worked out
once, when it is gathered.

`room`, `ints`, `reals` and `shorts` are the header and the arenas of `elsinore.matches.linked`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Ints, Shorts
from elsinore.matches.keyed import END_ROW, FIRST_ROW, NEW_ROW
from elsinore.matches.linked import (
    AT,
    BOUND,
    ENDER,
    ENDING,
    GOING,
    MOVES,
    PENDING,
    ROW,
    STATE,
)
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
from elsinore.matches.select import FIRST_ROW as FIRST_EVENT
from elsinore.matches.select import LAST_ROW, PATH_AT, event_after, number_after

# Places in the header of `tables` (`elsinore.matches.tables.Header`).
MOVES_AT, HOLDS_AT, ADDS_AT, ADDEND_AT, KEPT_AT, ENDERS_ADD = 31, 33, 34, 35, 36, 37
NEXT_TO = np.int64(1)  # as a variable: literals are types of their own
SUM = 6  # `elsinore.matches.registers.RegisterKind`


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
                    tables, doubles, integers, keys[key, FIRST_ROW], keys[key, END_ROW], room,
                    reals, shorts,
                )  # fmt: skip
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
        is_sum = tables[tables[ADDEND_AT] + 3 * register] == SUM
        reals[room.numbers + register] = np.nan if is_sum else 0.0


@kernel(borrows=True)
def gather(
    tables: Ints,
    doubles: Doubles,
    integers: Ints,
    begin: int,
    end: int,
    room: Any,
    reals: Doubles,
    shorts: Shorts,
) -> int:
    """Fill `addends`, `links` and `ways` for the relevant events; return how many there are."""
    width, moves = tables[STATES] + 2, tables[MOVES_AT]
    size, rows, places = room.event, room.links + ROW * room.event, room.links + MOVES * room.event
    enders, goers = room.links + ENDER * size, room.links + (ENDER + tables[STATES]) * size
    count = 0
    for row in range(begin, end):
        place = moves + integers[CLASS, row] * width
        if tables[place + width - 1] == 0:
            continue
        shorts[rows + count], shorts[places + count] = row, place
        for register in range(room.number):
            kind = tables[ADDEND_AT] + 3 * register
            before = np.nan if tables[kind] == SUM else 0.0
            reals[room.addends + count * room.number + register] = number_after(
                tables[kind], tables[kind + 1], tables[kind + 2], row, before, doubles, integers
            )
        for state in range(tables[STATES]):  # of those that nothing follows `link` says no more
            reals[room.ways + count * tables[STATES] + state] = 0.0
            shorts[enders + state * size + count], shorts[goers + state * size + count] = size, -1
        count += 1
    return count


@kernel(borrows=True)
def link(
    tables: Ints, begin: int, last: int, fresh: int, room: Any, reals: Doubles, shorts: Shorts
) -> None:
    """Fill `ways` and the links of the events from `begin` to `last`, the window's end.

    ways [event, state]: how many matches end after the event, if it stands in the state.
    """
    states, ends, leaves = tables[STATES], tables[END_AT], tables[ENDS_AT]
    size, links, ways = room.event, room.links, room.ways + last * tables[STATES]
    across = states * size  # from a state's list of enders to its links, and on to its list
    for state in range(states):
        reals[ways + state] = 0.0
        place = links + (ENDER + state) * size + last
        shorts[place], shorts[place + across] = size, -1
    for later in range(last, begin, -1):
        ways = room.ways + (later - 1) * states
        move = shorts[links + MOVES * size + later] + 1
        is_fresh = shorts[links + ROW * size + later] >= fresh
        for state in range(states):
            if tables[leaves + state] == 1:
                continue
            target = tables[move + state]
            place = links + (ENDER + state) * size + later
            total, ender, goer = reals[ways + states + state], shorts[place], shorts[place + across]
            if target >= 0:
                more = reals[ways + states + target]
                if tables[ends + target] > -2 and is_fresh:
                    more += 1.0
                if more > 0.0:
                    total += more
                    if tables[leaves + target] == 1:
                        ender -= 1
                        shorts[links + (ENDER + 2 * states + state) * size + ender] = later
                    else:
                        goer = later
            reals[ways + state] = total
            shorts[place - 1], shorts[place - 1 + across] = ender, goer


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
    # Calls pass on some sixty words: what most steps do stands here, what few do is called.
    size, width, states, links = room.event, room.match, tables[STATES], room.links
    rows, moves, enders = links + ROW * size, links + MOVES * size, links + ENDER * size
    ends, adds, holds, kept = tables[END_AT], tables[ADDS_AT], tables[HOLDS_AT], tables[KEPT_AT]
    depth, looks, match, most = progress[DEPTH], 0, progress[FOUND], room.number
    until = min(width, progress[WANTED], match + progress[MOST] - progress[GIVEN])
    extra = tables[ENDERS_ADD] + tables[kept] + progress[WITH_PATHS] > 0
    while True:
        at, state = begin, -1
        step = room.path + room.entry * depth
        if depth >= 0:
            state, pending, place = ints[step + STATE], ints[step + PENDING], ints[step + ENDING]
            wanted = pending + size - place
            if wanted > 0:  # matches that a path is, or that end right behind it
                count = min(wanted, until - match)
                if progress[WITH_PATHS] == 1:
                    count = min(count, (room.step - progress[FILLED]) // (depth + 2))
                listed = enders + (2 * states + state) * size + place - pending
                last, counted = room.found + LAST_ROW * width + match, room.counted + match
                if pending == 1:
                    ints[last] = ints[step + AT]
                for number in range(pending, count):
                    ints[last + number] = shorts[rows + shorts[listed + number]]
                for register in range(most):
                    value = reals[room.numbers + (depth + 1) * most + register]
                    for place in range(counted, counted + count):
                        reals[place] = value
                    counted += width
                if extra:
                    complete(
                        tables, doubles, integers, depth, match, count, progress, room, ints, reals,
                        shorts,
                    )  # fmt: skip
                match += count
                if count > 0:
                    ints[step + PENDING], ints[step + ENDING] = 0, size - wanted + count
                if match >= progress[WANTED]:
                    progress[STATUS] = LIMITED
                    break
                if count < wanted:
                    progress[STATUS] = FULL
                    break
            at = ints[step + GOING]
            if at < 0:
                depth -= 1
                if depth < 0:
                    break
                continue
            looks += 1
            if depth + 3 >= room.depth or looks > progress[BUDGET]:
                progress[STATUS] = DEEP if depth + 3 >= room.depth else TOO_LONG
                break
            ints[step + GOING] = shorts[enders + (states + state) * size + at]
        depth += 1
        step += room.entry
        row, state = shorts[rows + at], tables[shorts[moves + at] + 1 + state]
        ints[step + AT], ints[step + STATE] = row, state
        ints[step + PENDING] = 1 if tables[ends + state] > -2 and row >= fresh else 0
        ints[step + ENDING] = shorts[enders + state * size + at]
        ints[step + GOING] = shorts[enders + (states + state) * size + at]
        numbers, addends = room.numbers + depth * most, room.addends + at * most
        for register in range(most):
            value = reals[numbers + register]
            if tables[adds + state * most + register] == 1:
                value = plus(value, reals[addends + register])
            reals[numbers + most + register] = value
        if tables[kept] > 0:
            held = room.held + depth * room.register
            for register in range(held, held + room.register):
                ints[register + room.register] = ints[register]
            if tables[tables[holds + state]] > 0:
                hold(tables, doubles, integers, row, state, ints, held + room.register, NEXT_TO)
    row = shorts[rows + begin]
    first = room.found + FIRST_EVENT * width
    for place in range(first + progress[FOUND], first + match):
        ints[place] = row
    progress[GIVEN] += match - progress[FOUND]
    progress[FOUND], progress[DEPTH] = match, depth
    if progress[STATUS] == FULL and progress[GIVEN] >= progress[MOST]:
        progress[STATUS] = TOO_MANY


@kernel(borrows=True)
def plus(before: float, addend: float) -> float:
    """Return a sum of numbers of which each may be null, not a number."""
    if np.isnan(addend):
        return before
    return addend if np.isnan(before) else before + addend


@kernel(borrows=True)
def hold(
    tables: Ints,
    doubles: Doubles,
    integers: Ints,
    row: int,
    state: int,
    ints: Ints,
    held: int,
    apart: int,
) -> None:
    """Take an event in a state into the registers of events that stand so many places apart."""
    listed = tables[tables[HOLDS_AT] + state]
    for update in range(listed + 1, listed + 1 + tables[listed], 4):
        place = held + tables[update + 1] * apart
        ints[place] = event_after(
            tables[update], tables[update + 2], tables[update + 3], row, ints[place], doubles,
            integers,
        )  # fmt: skip


@kernel(borrows=True)
def complete(
    tables: Ints,
    doubles: Doubles,
    integers: Ints,
    depth: int,
    match: int,
    count: int,
    progress: Ints,
    room: Any,
    ints: Ints,
    reals: Doubles,
    shorts: Shorts,
) -> None:
    """Put down what `descend` leaves out of the next matches: events, what ends them, paths."""
    step, size, width = room.path + room.entry * depth, room.event, room.match
    state, pending, place = ints[step + STATE], ints[step + PENDING], ints[step + ENDING]
    listed = room.links + (ENDER + 2 * tables[STATES] + state) * size + place - pending
    found, counted = room.found + match, room.counted + match
    held = room.held + (depth + 1) * room.register
    for number in range(count):
        row, at, target = ints[found + LAST_ROW * width], 0, -1
        for register in range(room.register):
            ints[found + (BOUND + register) * width] = ints[held + register]
        if number >= pending:
            at = shorts[listed + number]
            target = tables[shorts[room.links + MOVES * size + at] + 1 + state]
            for register in range(room.number):
                if tables[tables[ADDS_AT] + target * room.number + register] == 1:
                    value = counted + register * width
                    addend = reals[room.addends + at * room.number + register]
                    reals[value] = plus(reals[value], addend)
            hold(tables, doubles, integers, row, target, ints, found + BOUND * width, width)
        if progress[WITH_PATHS] == 1:
            filled = progress[FILLED]
            ints[found + PATH_AT * width] = filled
            for other in range(depth + 1):
                taken = room.path + room.entry * other
                shorts[room.paths + 2 * (filled + other)] = ints[taken + AT]
                shorts[room.paths + 2 * (filled + other) + 1] = ints[taken + STATE]
            filled += depth + 1
            if target >= 0:
                shorts[room.paths + 2 * filled] = row
                shorts[room.paths + 2 * filled + 1] = target
                filled += 1
            progress[FILLED] = filled
        found, counted = found + 1, counted + 1
