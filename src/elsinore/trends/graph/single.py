# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""What an event does in one window of a key in a state of one lane, as it comes.

It does what `elsinore.trends.graph.acts` does where an event is a moment of its own and goes on in
one state, and states have one lane: most events of most queries. The number of trends, the next two
fields and the first extreme then go through no memory, and beside them there is one row of scratch.
All of it is copied into the sweep, once for numbers of trends alone: calling it takes longer than
what it does. One NEXT query takes 0.77 times what it does by way of `acts`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.core.addends import addend_at, rank_at
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.core.recurrence import contributed
from elsinore.trends.graph.entries import (
    free_all,
    hold_attributes,
    holds_between,
    holds_by_code,
)
from elsinore.trends.graph.interpret import (
    ALLOWED,
    BEGINS,
    LEFT,
    RIGHT,
)
from elsinore.trends.graph.records import (
    ADDED,
    ALIVE,
    ALL,
    APART,
    ASKED,
    BEFORE,
    END,
    ENTRY,
    EXTREMES,
    FIELDS,
    FOLLOWING,
    FROM,
    HOW,
    INTO,
    KEPT,
    LARGE,
    MOVE,
    NONE,
    NUMBER,
    OFFSET,
    SERIAL,
    SORTED,
    START,
    STATE,
    TOGETHER,
    Added,
    Compared,
    Events,
)
from elsinore.trends.keyed import Doubles, Ints


class Slot(NamedTuple):
    """Where a slot's integers and sums begin, whether it is CONTIGUOUS, what there is in a row.

    fields, extremes: of each lane; for numbers of trends alone they are constants, 1 and 0.
    """

    ints: int
    sums: int
    contiguous: int
    fields: int
    extremes: int


class Found(NamedTuple):
    """Sums over trends: their number, the next two fields, the first extreme.

    They are the machine's own numbers; fields and extremes beyond these are in scratch.
    """

    number: float
    first: float
    second: float
    least: int


@kernel(borrows=True, inline=True)
def act_in_one_lane(
    header: Any, ints: Ints, doubles: Doubles, events: Events, place: int, row: int, slot: Slot
) -> bool:
    """Let an event act in the state at a place; return whether the numbers are small enough."""
    for field in range(3, slot.fields):
        doubles[field] = 0.0
    for rank in range(1, slot.extremes):
        ints[header.scratch + rank] = FOREVER
    header.row = row
    found = _found_before(header, ints, doubles, events.compared, place, row, slot)
    ints[slot.ints + SERIAL] += slot.contiguous
    small = found.number < LARGE
    if found.number != 0.0:
        if slot.fields + slot.extremes > 1:
            found = _contribute(header, ints, doubles, events.added, place, row, found)
        small &= abs(found.first) < LARGE
        small &= abs(found.second) < LARGE
        for field in range(3, slot.fields):
            small &= abs(doubles[field]) < LARGE
        _end(header, ints, doubles, place, slot, found)
        _keep(header, ints, doubles, events.compared, place, slot, found)
    return small


@kernel(borrows=True, inline=True)
def _with(
    header: Any, ints: Ints, doubles: Doubles, slot: Slot, found: Found, sums: int, extremes: int
) -> Found:
    """Return what was found with what stands somewhere."""
    first, second, least = found.first, found.second, found.least
    if slot.fields > 1:
        first += doubles[sums + 1]
    if slot.fields > 2:
        second += doubles[sums + 2]
    for field in range(3, slot.fields):
        doubles[field] += doubles[sums + field]
    if slot.extremes > 0:
        least = min(least, ints[extremes])
    for rank in range(1, slot.extremes):
        both = min(ints[header.scratch + rank], ints[extremes + rank])
        ints[header.scratch + rank] = both
    return Found(found.number + doubles[sums], first, second, least)


@kernel(borrows=True, inline=True)
def _put(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    slot: Slot,
    found: Found,
    row: tuple[int, int, int],
    fresh: bool,
) -> None:
    """Add what was found to a row of sums, or put it there where the row is fresh.

    row: where its sums and its extremes begin, and how far each is from the next.
    """
    sums, extremes, apart = row
    doubles[sums] = found.number + (0.0 if fresh else doubles[sums])
    if slot.fields > 1:
        doubles[sums + apart] = found.first + (0.0 if fresh else doubles[sums + apart])
    if slot.fields > 2:
        doubles[sums + 2 * apart] = found.second + (0.0 if fresh else doubles[sums + 2 * apart])
    for field in range(3, slot.fields):
        at = sums + field * apart
        doubles[at] = doubles[field] + (0.0 if fresh else doubles[at])
    if slot.extremes > 0:
        ints[extremes] = min(found.least, FOREVER if fresh else ints[extremes])
    for rank in range(1, slot.extremes):
        at = extremes + rank * apart
        ints[at] = min(ints[header.scratch + rank], FOREVER if fresh else ints[at])


@kernel(borrows=True, inline=True)
def _found_before(
    header: Any, ints: Ints, doubles: Doubles, compared: Compared, place: int, row: int, slot: Slot
) -> Found:
    """Return the trends that an event ends in the state at a place, and take those before it."""
    found, at = Found(np.float64(ints[place + START]), 0.0, 0.0, FOREVER), place + STATE
    alive, serial = slot.ints + ALIVE, ints[slot.ints + SERIAL]
    for _ in range(ints[place + INTO]):
        source = ints[at + BEFORE]
        if ints[alive + source] == serial:
            if ints[at + HOW] == TOGETHER:
                sums = slot.sums + header.width + ints[at + FROM] * slot.fields
                ranks = alive + 4 * header.states + header.ranks + ints[at + FROM] * slot.extremes
                found = _with(header, ints, doubles, slot, found, sums, ranks)
                if slot.contiguous == 0:
                    ints[alive + source] = 0
            else:
                link = alive + header.states + source
                found = _with_entries(header, ints, doubles, compared, at, link, row, slot, found)
        at += MOVE + ints[at + ASKED] * BEGINS
    return found


@kernel(borrows=True, inline=True)
def _contribute(
    header: Any, ints: Ints, doubles: Doubles, added: Added, place: int, row: int, found: Found
) -> Found:
    """Return what was found with what an event contributes in a state, once for each trend."""
    number, first, second, least = found
    at = ints[place + ADDED]
    for _ in range(ints[place + FIELDS]):
        gain = contributed(number, addend_at(added, header.rows, row, ints[at + 1]))
        if ints[at] == 1:
            first += gain
        elif ints[at] == 2:
            second += gain
        else:
            doubles[ints[at]] += gain
        at += 2
    for _ in range(ints[place + EXTREMES]):
        rank = rank_at(added, header.rows, row, ints[at + 1])
        if ints[at] == 0:
            least = min(least, rank)
        else:
            ints[header.scratch + ints[at]] = min(ints[header.scratch + ints[at]], rank)
        at += 2
    return Found(number, first, second, least)


@kernel(borrows=True, inline=True)
def _end(header: Any, ints: Ints, doubles: Doubles, place: int, slot: Slot, found: Found) -> None:
    """Add the trends that end in a state to the totals of the queries that they are trends of."""
    ends = ints[place + END]
    if ends == ALL:
        _end_one(header, ints, doubles, slot, np.int64(0), found)
    elif ends != NONE:
        for at in range(ends + 1, ends + 1 + 2 * ints[ends], 2):
            _end_one(header, ints, doubles, slot, ints[at], found)


@kernel(borrows=True, inline=True)
def _end_one(
    header: Any, ints: Ints, doubles: Doubles, slot: Slot, query: int, found: Found
) -> None:
    """Add trends to the totals of a query."""
    ranks = slot.ints + ALIVE + 4 * header.states + query
    row = (slot.sums + query, ranks, header.lanes)
    _put(header, ints, doubles, slot, found, row, False)


@kernel(borrows=True, inline=True)
def _keep(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    compared: Compared,
    place: int,
    slot: Slot,
    found: Found,
) -> None:
    """Keep the trends that end in an event, where others may go on with them."""
    alive, serial = slot.ints + ALIVE + ints[place + NUMBER], ints[slot.ints + SERIAL]
    if ints[place + KEPT] == TOGETHER:
        fresh = ints[alive] != serial
        ints[alive] = serial
        sums = slot.sums + header.width + ints[place + OFFSET] * slot.fields
        ranks = slot.ints + ALIVE + 4 * header.states + header.ranks
        ranks += ints[place + OFFSET] * slot.extremes
        _put(header, ints, doubles, slot, found, (sums, ranks, np.int64(1)), fresh)
    elif ints[place + KEPT] == APART:
        link = alive + header.states
        if ints[alive] != serial and ints[link] != NONE:
            free_all(header, ints, link)
        ints[alive] = serial
        entry = _begin_entry(header, ints, doubles, link, slot, found)
        hold_attributes(header, ints, compared, place, entry)


@kernel(borrows=True, inline=True)
def _begin_entry(
    header: Any, ints: Ints, doubles: Doubles, link: int, slot: Slot, found: Found
) -> int:
    """Put trends into a list as an entry, and return where; there is room for it."""
    entry, at_entries = header.unused, header.int_entries
    if entry == NONE:
        entry = header.entries
        header.entries += 1
    else:
        header.unused = ints[at_entries + entry * header.int_entry + FOLLOWING]
    here = at_entries + entry * header.int_entry
    ints[here + FOLLOWING] = ints[link]
    ints[link] = entry
    sums = header.double_entries + entry * header.double_entry
    _put(header, ints, doubles, slot, found, (sums, here + ENTRY, np.int64(1)), True)
    doubles[sums + slot.fields] = 0.0
    return here


@kernel(borrows=True, inline=True)
def _with_entries(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    compared: Compared,
    move: int,
    link: int,
    row: int,
    slot: Slot,
    found: Found,
) -> Found:
    """Return what was found with the events of a list that a move's conditions hold of.

    Under NEXT these events leave the list. Mostly there is one condition, or none. Where entries
    stand in order, one that it does not hold of ends the search, if it has a value.
    """
    at_entries, at_sums, unused = header.int_entries, header.double_entries, header.unused
    asked = _comparison(header, ints, compared, move, row)
    entry = ints[link]
    while entry != NONE:
        here = at_entries + entry * header.int_entry
        following = ints[here + FOLLOWING]
        holds = _holds(header, ints, compared, move, here, asked)
        if holds:
            sums = at_sums + entry * header.double_entry
            found = _with(header, ints, doubles, slot, found, sums, here + ENTRY)
        elif ints[move + SORTED] != 0 and ints[here + asked[1] + 1] != 0:
            break
        if holds and slot.contiguous == 0:
            ints[link], ints[here + FOLLOWING], unused = following, unused, entry
        else:
            link = here + FOLLOWING
        entry = following
    header.unused = unused
    return found


@kernel(borrows=True, inline=True)
def _holds(
    header: Any,
    ints: Ints,
    compared: Compared,
    move: int,
    entry: int,
    asked: tuple[bool, int, int, int],
) -> bool:
    """Return whether a move's conditions hold of the event of an entry; see `_comparison`."""
    plain, left, code, allowed = asked
    if plain:
        return holds_by_code(ints, entry + left, code, allowed)
    return ints[move + ASKED] == 0 or holds_between(header, ints, compared, move, entry)


@kernel(borrows=True, inline=True)
def _comparison(
    header: Any, ints: Ints, compared: Compared, move: int, row: int
) -> tuple[bool, int, int, int]:
    """Return whether a move has one condition, and if so what an event is compared with.

    That is where in an entry the earlier event's code is, the event's code, and what may come out.
    Where it has others, they are asked of `header.row`. Neighbours compared so take 0.87 times as
    long.
    """
    form = move + MOVE
    if ints[move + ASKED] != 1:
        return False, np.int64(0), np.int64(0), np.int64(0)
    right = ints[form + RIGHT] * header.rows + row
    allowed = ints[form + ALLOWED] if compared.known[right] != 0 else np.int64(0)
    return True, ints[form + LEFT], compared.codes[right], allowed
