# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Moments of several events: what they do waits beside what is kept, until the moment is over."""

from __future__ import annotations

from typing import Any

from elsinore.kernels import kernel
from elsinore.trends.graph.acts import extend
from elsinore.trends.graph.entries import begin_entry, end_entries, end_marked, free_all, prepend
from elsinore.trends.graph.records import (
    ALIVE,
    APART,
    CLASS,
    GROWN,
    KEPT,
    LANES,
    NONE,
    NOTHING,
    NOWHERE,
    NUMBER,
    OFFSET,
    PLACES,
    SERIAL,
    TAKEN,
    TAKES,
    TOO_LARGE,
    Events,
    add_or_put,
)
from elsinore.trends.keyed import Doubles, Ints


@kernel(borrows=True, linked=True)
def act_together(header: Any, ints: Ints, doubles: Doubles, events: Events, at: int) -> bool:
    """Let an event wait for its moment to be over; return whether its numbers are small enough.

    at: where the words of its class are.
    """
    states, fields, extremes = header.states, header.fields, header.extremes
    base = header.slot_ints
    header.waits = 1
    for entry in range(at + CLASS, at + CLASS + 2 * ints[at + TAKES], 2):
        place = ints[entry]
        found = extend(header, ints, doubles, events, place, ints[entry + 1])
        if found == TOO_LARGE:
            return False
        if found == NOTHING or ints[place + KEPT] == NOWHERE:
            continue
        state, flags = ints[place + NUMBER], base + ALIVE + 2 * states
        grown = ints[flags + state] & GROWN
        ints[flags + state] |= GROWN
        if ints[place + KEPT] == APART:
            link = base + ALIVE + 3 * states + state
            begin_entry(header, ints, doubles, events.compared, link, place)
            continue
        several, offset = ints[place + LANES], ints[place + OFFSET]
        sums = header.slot_doubles + header.width + (header.cells + offset) * fields
        ranks = base + ALIVE + 4 * states + header.ranks + (header.cells + offset) * extremes
        scratch, rank_scratch = offset * fields, header.scratch + offset * extremes
        add_or_put(header, ints, doubles, grown == 0, several, sums, scratch, ranks, rank_scratch)
    header.waits = 0
    return True


@kernel(borrows=True, linked=True)
def end_moment(header: Any, ints: Ints, doubles: Doubles) -> None:
    """Let what waits in a slot act: what events went on with ends, then their own begin."""
    states, base = header.states, header.slot_ints
    mark = ints[base + SERIAL] + header.contiguous
    kept, ranks = header.slot_doubles + header.width, base + ALIVE + 4 * states + header.ranks
    for state in range(states):
        flags = ints[base + ALIVE + 2 * states + state]
        link, waiting = base + ALIVE + states + state, base + ALIVE + 3 * states + state
        if flags == 0:
            continue
        ints[base + ALIVE + 2 * states + state] = 0
        place = ints[PLACES + state]
        several, offset = ints[place + LANES], ints[place + OFFSET]
        sums, extremes = kept + offset * header.fields, ranks + offset * header.extremes
        if flags & TAKEN:
            end_entries(header, ints, doubles, link, several)
            marks = kept + 2 * header.cells * header.fields + offset
            end_marked(header, ints, doubles, several, marks, sums, extremes)
        if flags & GROWN == 0:
            continue
        fresh = ints[base + ALIVE + state] != mark
        ints[base + ALIVE + state] = mark
        if fresh:
            free_all(header, ints, link)
        if ints[waiting] != NONE:
            prepend(header, ints, waiting, link)
        else:
            more = sums + header.cells * header.fields
            more_ranks = extremes + header.cells * header.extremes
            add_or_put(header, ints, doubles, fresh, several, sums, more, extremes, more_ranks)
    ints[base + SERIAL] = mark
