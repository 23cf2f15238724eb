# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""What an event does in one window of a key where trends are only counted, in one lane.

It does what `elsinore.trends.graph.acts` does where an event is a moment of its own and goes on in
one state: most events of most queries. A slot has then one number for each state, and an entry one
number, so that nothing goes through scratch. All of it is copied into the sweep: calling it takes
longer than what it does.
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
    ENTRY,
    FOLLOWING,
    HOW,
    INTO,
    KEPT,
    LARGE,
    MOVE,
    NONE,
    NUMBER,
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
    state, serial, at = ints[place + NUMBER], ints[base + SERIAL], place + STATE
    number = np.float64(ints[place + START])
    for _ in range(ints[place + INTO]):
        source = ints[at + BEFORE]
        if ints[base + ALIVE + source] == serial:
            if ints[at + HOW] == TOGETHER:
                number += doubles[sums + 1 + source]
                if contiguous == 0:
                    ints[base + ALIVE + source] = 0
            else:
                link = base + ALIVE + header.states + source
                number += _count_entries(header, ints, doubles, compared, at, link, row, contiguous)
        at += MOVE + ints[at + ASKED] * BEGINS
    serial += contiguous
    ints[base + SERIAL] = serial
    if number != 0.0:
        fresh = ints[base + ALIVE + state] != serial
        if ints[place + END] == ALL:
            doubles[sums] += number
        if ints[place + KEPT] == TOGETHER:
            kept = 0.0 if fresh else doubles[sums + 1 + state]
            doubles[sums + 1 + state] = kept + number
            ints[base + ALIVE + state] = serial
        elif ints[place + KEPT] == APART:
            link = base + ALIVE + header.states + state
            ints[base + ALIVE + state] = serial
            if fresh and ints[link] != NONE:
                free_all(header, ints, link)
            _begin_entry(header, ints, doubles, link, row, number)
    return number < LARGE


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
        header.unused = ints[at_entries + entry * ENTRY + FOLLOWING]
    here = at_entries + entry * ENTRY
    ints[here + ROW] = row
    ints[here + FOLLOWING] = ints[link]
    ints[link] = entry
    doubles[header.double_entries + 2 * entry] = number
    doubles[header.double_entries + 2 * entry + 1] = 0.0


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
    asked, form, number = ints[move + ASKED], move + MOVE, 0.0
    plain = asked == 1 and ints[form + FORM] == BY_CODE
    code, left, allowed = np.int64(0), np.int64(0), np.int64(0)
    if plain:
        right = ints[form + RIGHT] * header.rows + row
        left, code, allowed = (
            ints[form + LEFT] * header.rows,
            compared.codes[right],
            ints[form + ALLOWED],
        )
        if compared.known[right] == 0:
            allowed = 0
    entry = ints[link]
    while entry != NONE:
        here = at_entries + entry * ENTRY
        following = ints[here + FOLLOWING]
        holds = True
        if plain:
            before = left + ints[here + ROW]
            earlier = compared.codes[before]
            outcome = LESS if earlier < code else EQUAL if earlier == code else GREATER
            holds = (outcome & allowed) != 0 and compared.known[before] != 0
        elif asked != 0:
            header.row = row
            holds = holds_between(header, ints, compared, move, ints[here + ROW])
        if holds:
            number += doubles[at_sums + 2 * entry]
        if not holds or contiguous != 0:
            link = here + FOLLOWING
        else:
            ints[link] = following
            ints[here + FOLLOWING] = unused
            unused = entry
        entry = following
    header.unused = unused
    return number
