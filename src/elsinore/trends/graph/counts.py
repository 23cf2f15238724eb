# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""What an event does in one window of a key where trends are only counted, in states of one lane.

It does what `elsinore.trends.graph.acts` does where an event is a moment of its own and goes on in
one state: most events of most queries. What is kept of it, together or in an entry, is then
one number, so that nothing goes through scratch. All of it is copied into the sweep: calling it
takes longer than what it does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.graph.entries import free_all, holds_between
from elsinore.trends.graph.interpret import (
    ALLOWED,
    BEGINS,
    BY_CODE,
    EQUAL,
    FORM,
    GREATER,
    LEFT,
    LESS,
    RIGHT,
)
from elsinore.trends.graph.records import (
    ALIVE,
    ALL,
    APART,
    ASKED,
    BEFORE,
    END,
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
    ROW,
    SERIAL,
    START,
    STATE,
    TOGETHER,
    Compared,
)
from elsinore.trends.keyed import Doubles, Ints


@kernel(borrows=True, inline=True)
def count_alone(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    compared: Compared,
    place: int,
    row: int,
    base: int,
    sums: int,
    contiguous: int,
) -> bool:
    """Let an event act in the state at a place; return whether the numbers are small enough.

    base, sums: where the slot's integers and sums begin.
    """
    number = _count_before(header, ints, doubles, compared, place, row, base, sums, contiguous)
    ints[base + SERIAL] += contiguous
    if number != 0.0:
        if ints[place + END] == ALL:
            doubles[sums] += number
        elif ints[place + END] != NONE:
            ends = ints[place + END]
            for at in range(ends + 1, ends + 1 + 2 * ints[ends], 2):
                doubles[sums + ints[at]] += number
        _keep_number(header, ints, doubles, place, row, base, sums, number)
    return number < LARGE


@kernel(borrows=True, inline=True)
def _count_before(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    compared: Compared,
    place: int,
    row: int,
    base: int,
    sums: int,
    contiguous: int,
) -> float:
    """Return how many trends an event ends in the state at a place, and take those before it."""
    number, serial, at = np.float64(ints[place + START]), ints[base + SERIAL], place + STATE
    for _ in range(ints[place + INTO]):
        source = ints[at + BEFORE]
        if ints[base + ALIVE + source] == serial:
            if ints[at + HOW] == TOGETHER:
                number += doubles[sums + header.width + ints[at + FROM]]
                if contiguous == 0:
                    ints[base + ALIVE + source] = 0
            else:
                link = base + ALIVE + header.states + source
                number += _count_entries(header, ints, doubles, compared, at, link, row, contiguous)
        at += MOVE + ints[at + ASKED] * BEGINS
    return number


@kernel(borrows=True, inline=True)
def _keep_number(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    place: int,
    row: int,
    base: int,
    sums: int,
    number: float,
) -> None:
    """Keep the number of trends that end in an event, where others may go on with them."""
    alive, serial = base + ALIVE + ints[place + NUMBER], ints[base + SERIAL]
    if ints[place + KEPT] == TOGETHER:
        together = sums + header.width + ints[place + OFFSET]
        kept = doubles[together] if ints[alive] == serial else 0.0
        doubles[together] = kept + number
        ints[alive] = serial
    elif ints[place + KEPT] == APART:
        link = alive + header.states
        if ints[alive] != serial and ints[link] != NONE:
            free_all(header, ints, link)
        ints[alive] = serial
        _begin_entry(header, ints, doubles, link, row, number)


@kernel(borrows=True, inline=True)
def _begin_entry(
    header: Any, ints: Ints, doubles: Doubles, link: int, row: int, number: float
) -> None:
    """Put an event with a number of trends into a list; there is room for it."""
    entry, at_entries = header.unused, header.int_entries
    if entry == NONE:
        entry = header.entries
        header.entries += 1
    else:
        header.unused = ints[at_entries + entry * header.int_entry + FOLLOWING]
    here = at_entries + entry * header.int_entry
    ints[here + ROW] = row
    ints[here + FOLLOWING] = ints[link]
    ints[link] = entry
    sums = header.double_entries + entry * header.double_entry
    doubles[sums] = number
    doubles[sums + 1] = 0.0


@kernel(borrows=True, inline=True)
def _count_entries(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    compared: Compared,
    move: int,
    link: int,
    row: int,
    contiguous: int,
) -> float:
    """Return how many trends end in events of a list that a move's conditions hold of.

    Under NEXT these events leave the list. Mostly there is one condition, or none.
    """
    at_entries, at_sums, unused = header.int_entries, header.double_entries, header.unused
    plain, left, code, allowed = _comparison(header, ints, compared, move, row)
    number, entry = 0.0, ints[link]
    while entry != NONE:
        here = at_entries + entry * header.int_entry
        following, holds = ints[here + FOLLOWING], True
        if plain:
            holds = _holds_by_code(compared, left + ints[here + ROW], code, allowed)
        elif ints[move + ASKED] != 0:
            header.row = row
            holds = holds_between(header, ints, compared, move, ints[here + ROW])
        if holds:
            number += doubles[at_sums + entry * header.double_entry]
        if holds and contiguous == 0:
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
    """Return whether a move has one condition, of codes, and if so what an event is compared with.

    That is where the codes of earlier events begin, the event's code, and what may come out.
    """
    form = move + MOVE
    if ints[move + ASKED] != 1 or ints[form + FORM] != BY_CODE:
        return False, np.int64(0), np.int64(0), np.int64(0)
    right = ints[form + RIGHT] * header.rows + row
    allowed = ints[form + ALLOWED] if compared.known[right] != 0 else np.int64(0)
    return True, ints[form + LEFT] * header.rows, compared.codes[right], allowed


@kernel(borrows=True, inline=True)
def _holds_by_code(compared: Compared, before: int, code: int, allowed: int) -> bool:
    """Return whether the code at a place is below, equal to or above another, as is allowed."""
    earlier = compared.codes[before]
    outcome = LESS if earlier < code else EQUAL if earlier == code else GREATER
    return (outcome & allowed) != 0 and compared.known[before] != 0
