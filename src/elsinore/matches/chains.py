# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Matches that grow in one way only: SKIP TILL NEXT MATCH and CONTIGUOUS without ties.

Where no two events of a key are simultaneous, and an event that may follow a match can stand in one
state only, a match that has begun is extended by one event after the other: there is nothing to
come back to. `Header.MOVES_AT` of the tables has, for each class of events, the state that it
begins a match in, the one it leads to from each state (-1: none), and whether there are any. NOT,
and conditions that look farther than to the event before, are for `elsinore.matches.search`.

From each beginning the relevant events are looked at one by one, as far as its match goes. Where
that adds up to many looks, a key's events are linked, from the last one backwards and state by
state: to the next event that may follow, and to the first at which a match may be complete. Then
what is skipped is not looked at again from each beginning, and beginnings that lead nowhere in
their window are not followed: long windows take no longer than short ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Ints, Shorts, Values
from elsinore.matches.keyed import END_ROW, FIRST_ROW, NEW_ROW
from elsinore.matches.linked import BOUND, MOVES, ROW
from elsinore.matches.reach import CLASS, CONTIGUOUS, IS_PLAIN
from elsinore.matches.search import (
    BEGIN,
    DONE,
    EDGE_AT,
    END_AT,
    ENDS_AT,
    EVENTS,
    FILLED,
    FOUND,
    FULL,
    LIMITED,
    NEAR_AT,
    NOTHING,
    PAIR_AT,
    SEGMENT,
    STATES,
    STATUS,
    STRATEGY,
    TIME,
    TOO_MANY,
    WINDOW,
    WITH_PATHS,
    WITHIN,
    pair_holds,
)
from elsinore.matches.search import COUNTED as GIVEN
from elsinore.matches.search import GUARD as MOST
from elsinore.matches.search import LIMIT as WANTED
from elsinore.matches.select import FIRST_ROW as FIRST_EVENT
from elsinore.matches.select import LAST_ROW, PATH_AT, UPDATE_AT, event_after, number_after
from elsinore.matches.subsets import begin_path

MOVES_AT, ENDS_ONLY = 31, 32  # places in the header of `tables`
# Entries of `progress` that `elsinore.matches.search` has for other things.
LINKED, LOOKS, PATIENCE = 25, 17, 27
# Rows of `links` [row, event] behind ROW and MOVES: of a step of the match under way the row and
# the state; of an event, by state, the next one that may follow, and after these the first at which
# a match may be complete.
STEP_ROW, STEP_STATE, FOLLOWER = 2, 3, 4
LOOKS_EACH = 16  # at most, on average over a key's events, before they are linked


@kernel(borrows=True)
def follow(
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

    There is room for the longest key's events and one more (`elsinore.matches.linked`); the rest as
    for `elsinore.matches.scan.scan`.
    """
    moves = room.links + MOVES * room.event
    while progress[SEGMENT] < len(keys):
        key = progress[SEGMENT]
        fresh = keys[key, NEW_ROW]
        if progress[EVENTS] < 0:
            progress[EVENTS] = 0
            if fresh < keys[key, END_ROW]:
                progress[EVENTS] = gather(
                    tables, values.integers, keys[key, FIRST_ROW], keys[key, END_ROW], room, shorts
                )
            progress[BEGIN], progress[GIVEN], progress[WINDOW] = 0, 0, 0
            progress[LINKED], progress[LOOKS] = 0, 0
        count = progress[EVENTS]
        for begin in range(progress[BEGIN], count):
            if tables[shorts[moves + begin]] < 0:
                continue
            before, filled, given = progress[FOUND], progress[FILLED], progress[GIVEN]
            grow(tables, values, begin, count, fresh, progress, room, ints, reals, shorts)
            if progress[STATUS] != DONE:
                progress[BEGIN] = begin
                if progress[STATUS] == FULL:  # all from this beginning another time
                    progress[FOUND], progress[FILLED] = before, filled
                    progress[GIVEN] = given
                return
            if progress[LOOKS] > progress[PATIENCE] * count and progress[LINKED] == 0:
                link(tables, count, room, shorts)
                progress[LINKED] = 1
        progress[SEGMENT] += 1
        progress[EVENTS] = -1


@kernel(borrows=True, linked=True)
def gather(tables: Ints, integers: Ints, begin: int, end: int, room: Any, shorts: Shorts) -> int:
    """Fill rows and moves of `links` with the relevant events; return how many there are."""
    width, classes = tables[STATES] + 2, tables[MOVES_AT]
    rows, moves = room.links + ROW * room.event, room.links + MOVES * room.event
    count = 0
    for row in range(begin, end):
        place = classes + integers[CLASS, row] * width
        shorts[rows + count], shorts[moves + count] = row, place
        count += tables[place + width - 1]
    return count


@kernel(borrows=True, linked=True)
def link(tables: Ints, count: int, room: Any, shorts: Shorts) -> None:
    """Fill the other columns of `links` for the `count` events of a key."""
    states, ends = tables[STATES], tables[END_AT]
    passes, is_plain = tables[STRATEGY] != CONTIGUOUS, tables[IS_PLAIN] == 1
    size, rows, moves = room.event, room.links + ROW * room.event, room.links + MOVES * room.event
    followers = room.links + FOLLOWER * size
    complete = followers + states * size
    for state in range(states):
        (
            shorts[followers + state * size + count - 1],
            shorts[complete + state * size + count - 1],
        ) = -1, -1
    for at in range(count - 2, -1, -1):
        later = at + 1
        place = shorts[moves + later] + 1
        is_next = passes or shorts[rows + later] == shorts[rows + at] + 1
        for state in range(states):
            target = tables[place + state]
            follower = shorts[followers + state * size + later] if passes else -1
            done = shorts[complete + state * size + later] if passes else -1
            if target >= 0 and is_next:
                follower = later
                arrival = later
                if tables[ends + target] <= -2:
                    arrival = shorts[complete + target * size + later]
                if is_plain or done < 0 or 0 <= arrival < done:
                    done = arrival
            shorts[followers + state * size + at], shorts[complete + state * size + at] = (
                follower,
                done,
            )


@kernel(borrows=True, linked=True)
def grow(
    tables: Ints,
    values: Values,
    begin: int,
    count: int,
    fresh: int,
    progress: Ints,
    room: Any,
    ints: Ints,
    reals: Doubles,
    shorts: Shorts,
) -> None:
    """Give out the matches that begin with event `begin` and end at row `fresh` or later.

    What registers hold is worked out for matches only, in row 0 of `held` and `numbers`.
    """
    states, within = tables[STATES], progress[WITHIN]
    ends, leaves = tables[END_AT], tables[ENDS_AT]
    size, rows, moves = room.event, room.links + ROW * room.event, room.links + MOVES * room.event
    step_rows, step_states = room.links + STEP_ROW * size, room.links + STEP_STATE * size
    place, row, state = begin, shorts[rows + begin], tables[shorts[moves + begin]]
    time, steps, taken = values.integers[TIME, row], 0, 0
    if progress[LINKED] == 1 and tables[ends + state] <= -2:
        done = shorts[room.links + (FOLLOWER + states + state) * size + begin]
        if is_hopeless(tables, values.integers, done, fresh, within, time, room, shorts):
            return
    while True:
        shorts[step_rows + steps], shorts[step_states + steps] = row, state
        steps += 1
        if tables[ends + state] > -2 and row >= fresh:
            if taken == 0:
                begin_path(tables, room, ints, reals)
                progress[GIVEN] = 0 if within >= 0 else progress[GIVEN]
            for step in range(taken, steps):
                take_step(tables, values, step, room, ints, reals, shorts)
            taken = steps
            put_down(progress, steps, room, ints, reals, shorts)
            if progress[STATUS] != DONE:
                return
        if tables[leaves + state] == 1:
            return
        place = next_step(tables, values, state, place, row, time, count, progress, room, shorts)
        if place < 0:
            return
        row, state = shorts[rows + place], tables[shorts[moves + place] + 1 + state]


@kernel(inline=True, borrows=True)
def take_step(
    tables: Ints, values: Values, step: int, room: Any, ints: Ints, reals: Doubles, shorts: Shorts
) -> None:
    """Let the registers take in a step of the match under way."""
    row = shorts[room.links + STEP_ROW * room.event + step]
    listed = tables[tables[UPDATE_AT] + shorts[room.links + STEP_STATE * room.event + step]]
    for update in range(listed + 1, listed + 1 + tables[listed], 4):
        kind, register = tables[update], tables[update + 1]
        column, is_whole = tables[update + 2], tables[update + 3]
        if kind <= 3:
            at = room.held + register
            ints[at] = event_after(kind, column, is_whole, row, ints[at], values)
        else:
            at = room.numbers + register
            reals[at] = number_after(kind, column, is_whole, row, reals[at], values)


@kernel(inline=True, borrows=True)
def next_step(
    tables: Ints,
    values: Values,
    state: int,
    place: int,
    before: int,
    time: int,
    count: int,
    progress: Ints,
    room: Any,
    shorts: Shorts,
) -> int:
    """Return the next event that may follow row `before`, event `place`; -1: there is none.

    The match began at `time`.
    """
    within, is_contiguous = progress[WITHIN], tables[STRATEGY] == CONTIGUOUS
    rows, moves = room.links + ROW * room.event, room.links + MOVES * room.event
    goes_on = False
    while not goes_on:
        place = next_of_class(tables, state, place, before, count, progress, room, shorts)
        if place < 0:
            break
        row = shorts[rows + place]
        if within >= 0 and values.integers[TIME, row] - time > within:
            break
        target = tables[shorts[moves + place] + 1 + state]
        goes_on = tables[IS_PLAIN] == 1 or may_follow(tables, state, target, values, row, before)
        if is_contiguous:
            break
    return place if goes_on else NOTHING


@kernel(inline=True, borrows=True)
def next_of_class(
    tables: Ints,
    state: int,
    place: int,
    before: int,
    count: int,
    progress: Ints,
    room: Any,
    shorts: Shorts,
) -> int:
    """Return the first event behind event `place` whose class leads on from a state; -1: none."""
    if progress[LINKED] == 1:
        return np.int64(shorts[room.links + (FOLLOWER + state) * room.event + place])
    rows, moves = room.links + ROW * room.event, room.links + MOVES * room.event
    first = place + 1
    if tables[STRATEGY] == CONTIGUOUS:
        follows = first < count and shorts[rows + first] == before + 1
        progress[LOOKS] += follows
        leads_on = follows and tables[shorts[moves + first] + 1 + state] >= 0
        return first if leads_on else NOTHING
    after = first
    while after < count and tables[shorts[moves + after] + 1 + state] < 0:
        after += 1
    progress[LOOKS] += after + 1 - first
    return after if after < count else NOTHING


@kernel(borrows=True, linked=True)
def is_hopeless(
    tables: Ints,
    integers: Ints,
    done: int,
    fresh: int,
    within: int,
    time: int,
    room: Any,
    shorts: Shorts,
) -> bool:
    """Return whether no match that is wanted can be complete, if not before event `done`."""
    if done < 0:
        return True
    row = shorts[room.links + ROW * room.event + done]
    if tables[ENDS_ONLY] == 1 and tables[IS_PLAIN] == 1 and row < fresh:
        return True
    return within >= 0 and integers[TIME, row] - time > within


@kernel(borrows=True, linked=True)
def put_down(
    progress: Ints, steps: int, room: Any, ints: Ints, reals: Doubles, shorts: Shorts
) -> None:
    """Write down a match; progress[STATUS] says where there is no room, or enough of them."""
    number, filled, width = progress[FOUND], progress[FILLED], room.match
    step_rows = room.links + STEP_ROW * room.event
    step_states = room.links + STEP_STATE * room.event
    listed = steps if progress[WITH_PATHS] == 1 else 0
    if progress[GIVEN] >= progress[MOST]:
        progress[STATUS] = TOO_MANY
    elif number >= room.match or filled + listed > room.step:
        progress[STATUS] = FULL
    else:
        ints[room.found + FIRST_EVENT * width + number] = shorts[step_rows]
        ints[room.found + LAST_ROW * width + number] = shorts[step_rows + steps - 1]
        ints[room.found + PATH_AT * width + number] = filled
        for register in range(room.register):
            ints[room.found + (BOUND + register) * width + number] = ints[room.held + register]
        for register in range(room.number):
            reals[room.counted + register * width + number] = reals[room.numbers + register]
        for step in range(listed):
            shorts[room.paths + 2 * (filled + step)] = shorts[step_rows + step]
            shorts[room.paths + 2 * (filled + step) + 1] = shorts[step_states + step]
        progress[FILLED] = filled + listed
        progress[FOUND] = number + 1
        progress[GIVEN] += 1
        if number + 1 >= progress[WANTED]:
            progress[STATUS] = LIMITED


@kernel(inline=True, borrows=True)
def may_follow(
    tables: Ints, state: int, target: int, values: Values, row: int, before: int
) -> bool:
    """Return whether the comparisons with the event before hold for `row`."""
    edge = tables[tables[EDGE_AT] + (state + 1) * tables[STATES] + target]
    listed = tables[tables[NEAR_AT] + edge]
    for place in range(listed + 1, listed + 1 + tables[listed]):
        pair = tables[tables[PAIR_AT] + tables[place]]
        if not pair_holds(tables, pair, values, row, before):
            return False
    return True
