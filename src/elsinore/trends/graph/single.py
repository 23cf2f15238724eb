# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""What an event does in one window of a key in a state of one lane, as it comes.

It does what `elsinore.trends.graph.acts` does where an event is a moment of its own and goes on in
one state, and states have one lane: most events of most queries. The number of trends then goes
through no memory, and beside it there is one row of scratch. All of it is copied into the sweep,
once for numbers of trends alone: calling it takes longer than what it does. One NEXT query takes
0.77 times what it does by way of `acts`.
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


@kernel(borrows=True, inline=True)
def act_in_one_lane(
    header: Any, ints: Ints, doubles: Doubles, events: Events, place: int, row: int, slot: Slot
) -> bool:
    """Let an event act in the state at a place; return whether the numbers are small enough."""
    for field in range(1, slot.fields):
        doubles[field] = 0.0
    for rank in range(slot.extremes):
        ints[header.scratch + rank] = FOREVER
    header.row = row
    number = _number_before(header, ints, doubles, events.compared, place, row, slot)
    ints[slot.ints + SERIAL] += slot.contiguous
    small = number < LARGE
    if number != 0.0:
        if slot.fields + slot.extremes > 1:
            _contribute(header, ints, doubles, events.added, place, row, number)
        for field in range(1, slot.fields):
            small &= abs(doubles[field]) < LARGE
        _end(header, ints, doubles, place, slot, number)
        _keep(header, ints, doubles, events.compared, place, slot, number)
    return small


@kernel(borrows=True, inline=True)
def _add(header: Any, ints: Ints, doubles: Doubles, slot: Slot, sums: int, extremes: int) -> None:
    """Add to scratch what stands somewhere, but for the number of trends."""
    for field in range(1, slot.fields):
        doubles[field] += doubles[sums + field]
    for rank in range(slot.extremes):
        least = min(ints[header.scratch + rank], ints[extremes + rank])
        ints[header.scratch + rank] = least


@kernel(borrows=True, inline=True)
def _number_before(
    header: Any, ints: Ints, doubles: Doubles, compared: Compared, place: int, row: int, slot: Slot
) -> float:
    """Return how many trends an event ends in the state at a place, and take those before it."""
    number, at = np.float64(ints[place + START]), place + STATE
    alive, serial = slot.ints + ALIVE, ints[slot.ints + SERIAL]
    for _ in range(ints[place + INTO]):
        source = ints[at + BEFORE]
        if ints[alive + source] == serial:
            if ints[at + HOW] == TOGETHER:
                sums = slot.sums + header.width + ints[at + FROM] * slot.fields
                ranks = alive + 4 * header.states + header.ranks + ints[at + FROM] * slot.extremes
                number += doubles[sums]
                _add(header, ints, doubles, slot, sums, ranks)
                if slot.contiguous == 0:
                    ints[alive + source] = 0
            else:
                link = alive + header.states + source
                number += _number_of_entries(header, ints, doubles, compared, at, link, row, slot)
        at += MOVE + ints[at + ASKED] * BEGINS
    return number


@kernel(borrows=True, inline=True)
def _contribute(
    header: Any, ints: Ints, doubles: Doubles, added: Added, place: int, row: int, number: float
) -> None:
    """Add to scratch what an event contributes in a state, once for each trend."""
    at = ints[place + ADDED]
    for _ in range(ints[place + FIELDS]):
        value = addend_at(added, header.rows, row, ints[at + 1])
        if value != 0.0:
            doubles[ints[at]] += contributed(number, value)
        at += 2
    for _ in range(ints[place + EXTREMES]):
        rank = header.scratch + ints[at]
        ints[rank] = min(ints[rank], rank_at(added, header.rows, row, ints[at + 1]))
        at += 2


@kernel(borrows=True, inline=True)
def _end(header: Any, ints: Ints, doubles: Doubles, place: int, slot: Slot, number: float) -> None:
    """Add the trends that end in a state to the totals of the queries that they are trends of."""
    ends = ints[place + END]
    if ends == ALL:
        _end_one(header, ints, doubles, slot, np.int64(0), number)
    elif ends != NONE:
        for at in range(ends + 1, ends + 1 + 2 * ints[ends], 2):
            _end_one(header, ints, doubles, slot, ints[at], number)


@kernel(borrows=True, inline=True)
def _end_one(
    header: Any, ints: Ints, doubles: Doubles, slot: Slot, query: int, number: float
) -> None:
    """Add trends to the totals of a query."""
    doubles[slot.sums + query] += number
    for field in range(1, slot.fields):
        doubles[slot.sums + query + field * header.lanes] += doubles[field]
    for rank in range(slot.extremes):
        total = slot.ints + ALIVE + 4 * header.states + query + rank * header.lanes
        ints[total] = min(ints[total], ints[header.scratch + rank])


@kernel(borrows=True, inline=True)
def _keep(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    compared: Compared,
    place: int,
    slot: Slot,
    number: float,
) -> None:
    """Keep the trends that end in an event, where others may go on with them."""
    alive, serial = slot.ints + ALIVE + ints[place + NUMBER], ints[slot.ints + SERIAL]
    if ints[place + KEPT] == TOGETHER:
        fresh = ints[alive] != serial
        ints[alive] = serial
        _keep_together(header, ints, doubles, place, slot, number, fresh)
    elif ints[place + KEPT] == APART:
        link = alive + header.states
        if ints[alive] != serial and ints[link] != NONE:
            free_all(header, ints, link)
        ints[alive] = serial
        entry = _begin_entry(header, ints, doubles, link, slot, number)
        hold_attributes(header, ints, compared, place, entry)


@kernel(borrows=True, inline=True)
def _keep_together(
    header: Any, ints: Ints, doubles: Doubles, place: int, slot: Slot, number: float, fresh: bool
) -> None:
    """Put trends beside those that are kept of a state; fresh: none are."""
    sums = slot.sums + header.width + ints[place + OFFSET] * slot.fields
    ranks = slot.ints + ALIVE + 4 * header.states + header.ranks
    ranks += ints[place + OFFSET] * slot.extremes
    doubles[sums] = number + (0.0 if fresh else doubles[sums])
    for field in range(1, slot.fields):
        doubles[sums + field] = doubles[field] + (0.0 if fresh else doubles[sums + field])
    for rank in range(slot.extremes):
        before = FOREVER if fresh else ints[ranks + rank]
        ints[ranks + rank] = min(before, ints[header.scratch + rank])


@kernel(borrows=True, inline=True)
def _begin_entry(
    header: Any, ints: Ints, doubles: Doubles, link: int, slot: Slot, number: float
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
    doubles[sums] = number
    for field in range(1, slot.fields):
        doubles[sums + field] = doubles[field]
    doubles[sums + slot.fields] = 0.0
    for rank in range(slot.extremes):
        ints[here + ENTRY + rank] = ints[header.scratch + rank]
    return here


@kernel(borrows=True, inline=True)
def _number_of_entries(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    compared: Compared,
    move: int,
    link: int,
    row: int,
    slot: Slot,
) -> float:
    """Return how many trends end in events of a list that a move's conditions hold of.

    Under NEXT these events leave the list. Mostly there is one condition, or none. Where entries
    stand in order, one that it does not hold of ends the search, if it has a value.
    """
    at_entries, at_sums, unused = header.int_entries, header.double_entries, header.unused
    plain, left, code, allowed = _comparison(header, ints, compared, move, row)
    number, entry = 0.0, ints[link]
    while entry != NONE:
        here = at_entries + entry * header.int_entry
        following, holds = ints[here + FOLLOWING], True
        if plain:
            holds = holds_by_code(ints, here + left, code, allowed)
        elif ints[move + ASKED] != 0:
            holds = holds_between(header, ints, compared, move, here)
        if holds:
            number += doubles[at_sums + entry * header.double_entry]
            _add(header, ints, doubles, slot, at_sums + entry * header.double_entry, here + ENTRY)
        elif ints[move + SORTED] != 0 and ints[here + left + 1] != 0:
            break
        if holds and slot.contiguous == 0:
            ints[link], ints[here + FOLLOWING], unused = following, unused, entry
        else:
            link = here + FOLLOWING
        entry = following
    header.unused = unused
    return number


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
