# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Moments of several events: what they do waits beside what is kept, until the moment is over."""

from __future__ import annotations

from typing import Any

from elsinore.kernels import kernel
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.graph.acts import extend
from elsinore.trends.graph.entries import begin_entry, end_entries, free_all, prepend
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
            begin_entry(header, ints, doubles, base + ALIVE + 3 * states + state, place)
            continue
        several, offset = ints[place + LANES], ints[place + OFFSET]
        sums = header.slot_doubles + header.width + (header.cells + offset) * fields
        ranks = base + ALIVE + 4 * states + header.ranks + (header.cells + offset) * extremes
        for cell in range(several * fields):
            before = doubles[sums + cell] if grown else 0.0
            doubles[sums + cell] = before + doubles[offset * fields + cell]
        for rank in range(several * extremes):
            before_rank = ints[ranks + rank] if grown else FOREVER
            found_rank = ints[header.scratch + offset * extremes + rank]
            ints[ranks + rank] = min(before_rank, found_rank)
    header.waits = 0
    return True


@kernel(borrows=True, linked=True)
def end_moment(header: Any, ints: Ints, doubles: Doubles) -> None:
    """Let what waits in a slot act: what events went on with ends, then their own begin."""
    states, base = header.states, header.slot_ints
    mark = ints[base + SERIAL] + header.contiguous
    for state in range(states):
        flags = ints[base + ALIVE + 2 * states + state]
        link, waiting = base + ALIVE + states + state, base + ALIVE + 3 * states + state
        if flags == 0:
            continue
        ints[base + ALIVE + 2 * states + state] = 0
        place = ints[PLACES + state]
        if flags & TAKEN:
            end_entries(header, ints, doubles, link, ints[place + LANES])
            _end_sums(header, ints, doubles, place)
        if flags & GROWN == 0:
            continue
        fresh = ints[base + ALIVE + state] != mark
        ints[base + ALIVE + state] = mark
        if fresh:
            free_all(header, ints, link)
        if ints[waiting] != NONE:
            prepend(header, ints, waiting, link)
        else:
            _grow_sums(header, ints, doubles, place, fresh)
    ints[base + SERIAL] = mark


@kernel(borrows=True, linked=True)
def _end_sums(header: Any, ints: Ints, doubles: Doubles, place: int) -> None:
    """Take the trends of the lanes that are marked from what is kept together of a state."""
    several, offset = ints[place + LANES], ints[place + OFFSET]
    kept = header.slot_doubles + header.width
    sums, marks = kept + offset * header.fields, kept + 2 * header.cells * header.fields + offset
    ranks = header.slot_ints + ALIVE + 4 * header.states + header.ranks + offset * header.extremes
    for lane in range(several):
        if doubles[marks + lane] != 0.0:
            doubles[marks + lane] = 0.0
            for cell in range(lane, several * header.fields, several):
                doubles[sums + cell] = 0.0
            for rank in range(lane, several * header.extremes, several):
                ints[ranks + rank] = FOREVER


@kernel(borrows=True, linked=True)
def _grow_sums(header: Any, ints: Ints, doubles: Doubles, place: int, fresh: bool) -> None:
    """Add what waits in a state to what is kept together of it, or put it in its place."""
    several, offset = ints[place + LANES], ints[place + OFFSET]
    sums = header.slot_doubles + header.width + offset * header.fields
    ranks = header.slot_ints + ALIVE + 4 * header.states + header.ranks + offset * header.extremes
    more, more_ranks = sums + header.cells * header.fields, ranks + header.cells * header.extremes
    for cell in range(several * header.fields):
        before = 0.0 if fresh else doubles[sums + cell]
        doubles[sums + cell] = before + doubles[more + cell]
    for rank in range(several * header.extremes):
        before_rank = FOREVER if fresh else ints[ranks + rank]
        ints[ranks + rank] = min(before_rank, ints[more_ranks + rank])
