# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""SKIP TILL ANY MATCH without ties or conditions between events: each step leads to a match.

As in `elsinore.matches.chains`, an event that may follow a match can stand in one state only, and
`Header.MOVES_AT` tells which. The events of a window are gone through once from its end. That
counts the ways to complete a match after each event and state, and how many partial matches these
go through, and links each to the next event that leads on. What an event adds to each register of
numbers is worked out once, when it is gathered.

Then matches grow breadth first (`spread`): each state has a list of the partial matches that stand
in it, column by column, and an event appends a list, with what it adds, to that of the state it
leads to; where a match ends there, what was appended is given out, column by column too. So the
work on a match is a few additions in a row. Where these lists would be too long, the links are
followed depth first until they are not. Either way nothing is looked at in vain. Matches
come in no order that means anything.

`room`, `ints`, `reals` and `shorts` are the header and the arenas of `elsinore.matches.linked`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Ints, Shorts, Values
from elsinore.matches.keyed import END_ROW, FIRST_ROW, NEW_ROW
from elsinore.matches.linked import AT, BOUND, GOING, MOVES, NEXT, ROW, STATE
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
    FRESH,
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
MOVES_AT, HOLDS_AT, ADDS_AT, ADDEND_AT, KEPT_AT = 31, 33, 34, 35, 36
SUM = 6  # `elsinore.matches.registers.RegisterKind`


@kernel(borrows=True)
def select_any(
    tables: Ints,
    values: Values,
    keys: Ints,
    progress: Ints,
    room: Any,
    ints: Ints,
    reals: Doubles,
    shorts: Shorts,
) -> None:
    """Search from where `progress` says; stop where a match finds no room, and at the end.

    There is room for the longest key's events and one more; the rest as for
    `elsinore.matches.scan.scan`. The path has progress[DEPTH] + 1 steps. A stop comes before an
    event is taken: it is then taken anew.
    """
    size, states, following = room.event, tables[STATES], room.links + NEXT * room.event
    looks = 0.0
    begin_path(tables, room, ints, reals)
    while progress[SEGMENT] < len(keys) and progress[STATUS] == DONE:
        fresh = progress[FRESH] = keys[progress[SEGMENT], NEW_ROW]
        if progress[EVENTS] < 0:
            begin_key(tables, values, keys, progress, room, reals, shorts)
        depth, state, step = progress[DEPTH], -1, 0
        if depth >= 0:
            step = room.path + room.entry * depth
            state, at = ints[step + STATE], ints[step + GOING]
            if at == size:  # back to what comes instead of the last step
                progress[DEPTH] = depth - 1
                if depth == 0:
                    progress[BEGIN] += 1
                continue
        else:
            looks = 0.0
            at = next_beginning(tables, values.integers, fresh, progress, room, reals, shorts)
            if at < 0:
                if progress[STATUS] == DONE:
                    progress[SEGMENT] += 1
                    progress[EVENTS] = -1
                continue
        target = tables[shorts[room.links + MOVES * size + at] + 1 + state]
        row, place = shorts[room.links + ROW * size + at], at * states + target
        total = 1.0 if tables[tables[END_AT] + target] > -2 and row >= fresh else 0.0
        is_all = reals[room.partials + place] + 1.0 < room.partial
        is_all = is_all and total + reals[room.ways + place] < room.partial
        if is_all:
            total += reals[room.ways + place]
        looks += 1.0 + total
        filled, match = progress[FILLED], progress[FOUND]
        if looks > progress[BUDGET]:
            progress[STATUS] = TOO_LONG
        elif not is_all and depth + 2 >= room.depth:
            progress[STATUS] = DEEP
        elif match + total > room.match or not spread(
            tables, values, at, state, is_all, progress, room, ints, reals, shorts
        ):
            progress[STATUS] = FULL
            progress[FILLED], progress[FOUND] = filled, match
        else:
            first = row if depth < 0 else ints[room.path + AT]
            fill(
                ints, room.found + FIRST_EVENT * room.match + match, progress[FOUND] - match, first
            )
            progress[GIVEN] += progress[FOUND] - match
            if depth >= 0:
                ints[step + GOING] = shorts[following + state * size + at]
            elif is_all:
                progress[BEGIN] += 1
            if not is_all:
                progress[DEPTH] = depth + 1
                step = room.path + room.entry * (depth + 1)
                ints[step + AT], ints[step + STATE] = row, target
                ints[step + GOING] = shorts[following + target * size + at]
                keep_step(target, depth + 1, room, ints, reals)
            if progress[FOUND] >= progress[WANTED]:
                progress[STATUS] = LIMITED
                if progress[FOUND] > progress[WANTED]:
                    progress[FOUND] = progress[WANTED]
                    progress[FILLED] = ints[room.found + PATH_AT * room.match + progress[FOUND]]


@kernel(borrows=True, linked=True)
def begin_key(
    tables: Ints,
    values: Values,
    keys: Ints,
    progress: Ints,
    room: Any,
    reals: Doubles,
    shorts: Shorts,
) -> None:
    """Gather the events of a key, and begin with the first of them."""
    progress[EVENTS] = 0
    if progress[FRESH] < keys[progress[SEGMENT], END_ROW]:
        gather(tables, values, keys, progress, room, reals, shorts)
    progress[BEGIN], progress[LAST], progress[WAYS_TO], progress[GIVEN] = 0, 0, -1, 0
    progress[WINDOW], progress[DEPTH] = 0, -1


@kernel(borrows=True, linked=True)
def next_beginning(
    tables: Ints,
    integers: Ints,
    fresh: int,
    progress: Ints,
    room: Any,
    reals: Doubles,
    shorts: Shorts,
) -> int:
    """Return the next event, from progress[BEGIN] on, that begins a match, its window linked.

    -1: there is none, or, as progress[STATUS] tells, there are too many matches.
    """
    within, rows, count = progress[WITHIN], room.links + ROW * room.event, progress[EVENTS]
    for begin in range(progress[BEGIN], count):
        if tables[shorts[room.links + MOVES * room.event + begin]] < 0:
            continue
        progress[BEGIN] = begin
        last = count - 1
        if within >= 0:
            last = max(progress[LAST], begin)
            until = integers[TIME, shorts[rows + begin]] + within
            while last + 1 < count and integers[TIME, shorts[rows + last + 1]] <= until:
                last += 1
            progress[LAST], progress[GIVEN] = last, 0
        if shorts[rows + last] < fresh:
            continue
        is_linked = progress[WAYS_TO] == last
        if not is_linked:
            link(tables, begin, last, fresh, room, reals, shorts)
            progress[WAYS_TO] = last
        if progress[EXACT] == 1 and (within >= 0 or not is_linked):
            total = float(progress[GIVEN])
            for at in range(begin, begin + 1 if within >= 0 else last + 1):
                total += ways_from(tables, at, fresh, room, reals, shorts)
            if total > progress[MOST]:
                progress[STATUS] = TOO_MANY
                progress[GIVEN] = int(min(total, 9.0e18))
                return -1
        if ways_from(tables, begin, fresh, room, reals, shorts) > 0.0:
            return begin
    progress[BEGIN] = count
    return -1


@kernel(borrows=True, linked=True)
def begin_path(tables: Ints, room: Any, ints: Ints, reals: Doubles) -> None:
    """Set the registers before the first event: no event, nothing counted, the sum of nothing."""
    for register in range(room.register):
        ints[room.held + register] = -1
    for register in range(room.number):
        is_sum = tables[tables[ADDEND_AT] + 3 * register] == SUM
        reals[room.numbers + register] = np.nan if is_sum else 0.0


@kernel(borrows=True, linked=True)
def gather(
    tables: Ints,
    values: Values,
    keys: Ints,
    progress: Ints,
    room: Any,
    reals: Doubles,
    shorts: Shorts,
) -> None:
    """Fill `links` and `addends` for the relevant events of a key; progress[EVENTS] counts them."""
    begin, end = keys[progress[SEGMENT], FIRST_ROW], keys[progress[SEGMENT], END_ROW]
    width, moves = tables[STATES] + 2, tables[MOVES_AT]
    size, rows, places = room.event, room.links + ROW * room.event, room.links + MOVES * room.event
    states, following = tables[STATES], room.links + NEXT * size
    count = 0
    for row in range(begin, end):
        place = moves + values.integers[CLASS, row] * width
        if tables[place + width - 1] == 0:
            continue
        shorts[rows + count], shorts[places + count] = row, place
        for register in range(room.number):
            kind = tables[ADDEND_AT] + 3 * register
            before = np.nan if tables[kind] == SUM else 0.0
            reals[room.addends + count * room.number + register] = number_after(
                tables[kind], tables[kind + 1], tables[kind + 2], row, before, values
            )
        for state in range(states):  # of those that nothing follows `link` says no more
            place = count * states + state
            reals[room.ways + place], reals[room.partials + place] = 0.0, 0.0
            shorts[following + state * size + count] = size
        count += 1
    progress[EVENTS] = count


@kernel(borrows=True, linked=True)
def link(
    tables: Ints, begin: int, last: int, fresh: int, room: Any, reals: Doubles, shorts: Shorts
) -> None:
    """Fill `ways`, `partials` and the links of events `begin` to `last`, the window's end.

    ways [event, state]: how many matches end after the event, if it stands in the state; partials:
    how many partial matches these grow through that something follows.
    """
    states, ends, leaves = tables[STATES], tables[END_AT], tables[ENDS_AT]
    size, following = room.event, room.links + NEXT * room.event
    for state in range(states):
        place = last * states + state
        reals[room.ways + place], reals[room.partials + place] = 0.0, 0.0
        shorts[following + state * size + last] = size
    for later in range(last, begin, -1):
        ways, partials = room.ways + later * states, room.partials + later * states
        move = shorts[room.links + MOVES * size + later] + 1
        is_fresh = shorts[room.links + ROW * size + later] >= fresh
        for state in range(states):
            if tables[leaves + state] == 1:
                continue
            target, place = tables[move + state], following + state * size + later
            total, spread, goes_on = reals[ways + state], reals[partials + state], shorts[place]
            if target >= 0:
                more = reals[ways + target]
                if tables[ends + target] > -2 and is_fresh:
                    more += 1.0
                if more > 0.0:
                    total += more
                    goes_on = later
                    if tables[leaves + target] == 0:
                        spread += 1.0 + reals[partials + target]
            reals[ways - states + state], reals[partials - states + state] = total, spread
            shorts[place - 1] = goes_on


@kernel(borrows=True, linked=True)
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


@kernel(borrows=True, linked=True)
def keep_step(state: int, depth: int, room: Any, ints: Ints, reals: Doubles) -> None:
    """Take the registers of a step from what stands first in the list of its state."""
    first, many, few = ints[room.begins + state + 1], room.number, room.register
    for register in range(many):
        place = room.sums + ((state + 1) * many + register) * room.partial + first
        reals[room.numbers + (depth + 1) * many + register] = reals[place]
    for register in range(few):
        place = room.holds + ((state + 1) * few + register) * room.partial + first
        ints[room.held + (depth + 1) * few + register] = ints[place]


@kernel(borrows=True, linked=True)
def spread(
    tables: Ints,
    values: Values,
    at: int,
    state: int,
    goes_on: bool,
    progress: Ints,
    room: Any,
    ints: Ints,
    reals: Doubles,
    shorts: Shorts,
) -> bool:
    """Give out the matches that go on from the path, which stands in a state, with an event.

    All of them, or, unless it `goes_on`, the one that ends there; there is room for so many.
    Returns whether there was room for their paths. List n + 1 is that of state n.
    """
    size, width, states, most = room.event, room.match, tables[STATES], room.number
    ends, wide = tables[END_AT], room.partial
    begins, filled, depth, fresh = room.begins, room.filled, progress[DEPTH], progress[FRESH]
    holds = room.register if tables[tables[KEPT_AT]] > 0 else 0
    begin_lists(states, state + 1, depth, holds, room, ints, reals)
    is_first, begun = True, state + 1
    while at < size:
        row, move = shorts[room.links + ROW * size + at], shorts[room.links + MOVES * size + at]
        for number in range(states + 1):
            ints[room.until + number] = ints[filled + number]
        for number in range(states + 1):
            count = ints[room.until + number] - ints[begins + number]
            target = tables[move + number]
            if count == 0 or target < 0:
                continue
            is_match = tables[ends + target] > -2 and row >= fresh
            if not is_match and not reals[room.ways + at * states + target] > 0.0:
                continue
            source, to = ints[begins + number], ints[filled + target + 1]
            ints[filled + target + 1] = to + count
            adds = tables[ADDS_AT] + target * most
            column = room.counted + progress[FOUND]
            for register in range(most):
                taken = room.sums + (number * most + register) * wide + source
                given = room.sums + ((target + 1) * most + register) * wide + to
                addend = np.nan
                if tables[adds + register] == 1:
                    addend = reals[room.addends + at * most + register]
                append(reals, taken, given, count, addend)
                if is_match:
                    copy(reals, given, column, count)
                column += width
            if holds > 0:
                for register in range(holds):
                    taken = room.holds + (number * holds + register) * wide + source
                    given = room.holds + ((target + 1) * holds + register) * wide + to
                    copy(ints, taken, given, count)
                hold(tables, values, row, target, to, count, room, ints)
            if progress[WITH_PATHS] == 1:
                origins = room.origins + 2 * ((target + 1) * wide + to)
                put_origins(shorts, origins, -1 if is_first else number * wide + source, at, count)
            if is_match:
                match = progress[FOUND]
                column = room.found + LAST_ROW * width + match
                fill(ints, column, count, row)
                for register in range(holds):
                    taken = room.holds + ((target + 1) * holds + register) * wide + to
                    column = room.found + (BOUND + register) * width + match
                    copy(ints, taken, column, count)
                if progress[WITH_PATHS] == 1 and not write_paths(
                    (target + 1) * wide + to, count, depth, progress, room, ints, shorts
                ):
                    return False
                progress[FOUND] = match + count
        if not goes_on:
            break
        if is_first:
            is_first = False
            ints[begins + begun] = 1
        at = next_to_spread(tables, at, room, ints, shorts)
    if is_first:
        ints[begins + begun] = 1
    return True


@kernel(borrows=True, linked=True)
def begin_lists(
    states: int, mine: int, depth: int, holds: int, room: Any, ints: Ints, reals: Doubles
) -> None:
    """Empty the lists of all states but list `mine`: the path is in it, with its registers."""
    many, wide = room.number, room.partial
    for number in range(states + 1):
        ints[room.begins + number], ints[room.filled + number] = 0, 0
    ints[room.filled + mine] = 1
    for register in range(many):
        value = reals[room.numbers + (depth + 1) * many + register]
        reals[room.sums + (mine * many + register) * wide] = value
    for register in range(holds):
        event = ints[room.held + (depth + 1) * room.register + register]
        ints[room.holds + (mine * room.register + register) * wide] = event


@kernel(inline=True, borrows=True)
def next_to_spread(tables: Ints, at: int, room: Any, ints: Ints, shorts: Shorts) -> int:
    """Return the next event that leads on from a list; empty those that nothing follows."""
    leaves, begins, filled = tables[ENDS_AT], room.begins, room.filled
    following = room.event
    for number in range(1, tables[STATES] + 1):
        if tables[leaves + number - 1] == 1:
            ints[filled + number] = ints[begins + number]
        if ints[filled + number] > ints[begins + number]:
            place = shorts[room.links + (NEXT + number - 1) * room.event + at]
            following = min(following, place)
    return following


@kernel(inline=True, borrows=True)
def put_origins(shorts: Shorts, to: int, source: int, at: int, count: int) -> None:
    """Write down which partial matches so many are made of, from `source` on, and the event."""
    for place in range(count):
        shorts[to + 2 * place] = source + place
        shorts[to + 2 * place + 1] = at


@kernel(borrows=True, linked=True)
def copy(numbers: Any, source: int, to: int, count: int) -> None:
    """Copy so many numbers."""
    taken, given = np.uint64(source), np.uint64(to)  # signed ones may count from the end
    for place in range(np.uint64(count)):
        numbers[given + place] = numbers[taken + place]


@kernel(borrows=True, linked=True)
def append(reals: Doubles, source: int, to: int, count: int, addend: float) -> None:
    """Copy so many sums, each with an addend; what is null, not a number, is not added."""
    if np.isnan(addend):
        copy(reals, source, to, count)
        return
    taken, given = np.uint64(source), np.uint64(to)
    for place in range(np.uint64(count)):
        number = reals[taken + place]
        reals[given + place] = addend if np.isnan(number) else number + addend


@kernel(borrows=True, linked=True)
def fill(ints: Ints, to: int, count: int, value: int) -> None:
    """Write a number so many times."""
    given = np.uint64(to)
    for place in range(np.uint64(count)):
        ints[given + place] = value


@kernel(borrows=True, linked=True)
def hold(
    tables: Ints,
    values: Values,
    row: int,
    state: int,
    begin: int,
    count: int,
    room: Any,
    ints: Ints,
) -> None:
    """Take an event into the registers of events of partial matches of the list of its state."""
    listed = tables[tables[HOLDS_AT] + state]
    for update in range(listed + 1, listed + 1 + tables[listed], 4):
        register = (state + 1) * room.register + tables[update + 1]
        first = room.holds + register * room.partial + begin
        for place in range(first, first + count):
            ints[place] = event_after(
                tables[update], tables[update + 2], tables[update + 3], row, ints[place], values
            )


@kernel(borrows=True, linked=True)
def write_paths(
    first: int, count: int, depth: int, progress: Ints, room: Any, ints: Ints, shorts: Shorts
) -> bool:
    """Write the paths of the next matches, the partial ones from `first` on, if there is room."""
    for number in range(count):
        filled = progress[FILLED]
        steps, partial = depth + 1, first + number
        while partial >= 0:
            steps += 1
            partial = shorts[room.origins + 2 * partial]
        if filled + steps > room.step:
            return False
        ints[room.found + PATH_AT * room.match + progress[FOUND] + number] = filled
        for step in range(depth + 1):
            taken = room.path + room.entry * step
            shorts[room.paths + 2 * (filled + step)] = ints[taken + AT]
            shorts[room.paths + 2 * (filled + step) + 1] = ints[taken + STATE]
        progress[FILLED] = filled + steps
        partial, place = first + number, room.paths + 2 * (filled + steps)
        while partial >= 0:
            place -= 2
            at = shorts[room.origins + 2 * partial + 1]
            shorts[place] = shorts[room.links + ROW * room.event + at]
            shorts[place + 1] = partial // room.partial - 1
            partial = shorts[room.origins + 2 * partial]
    return True
