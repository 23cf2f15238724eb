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
    GROWN,
    KEPT,
    NONE,
    NOTHING,
    NOWHERE,
    NUMBER,
    SERIAL,
    TAKEN,
    TOO_LARGE,
    Events,
)
from elsinore.trends.keyed import Doubles, Ints


@kernel(borrows=True, linked=True)
def act_together(header: Any, ints: Ints, doubles: Doubles, events: Events, at: int) -> bool:
    """Let an event wait for its moment to be over; return whether its numbers are small enough.

    at: where the words of its class are.
    """
    states, width, ranks = header.states, header.width, header.ranks
    base = header.slot_ints
    header.waits = 1
    for entry in range(at + 2, at + 2 + 2 * ints[at], 2):
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
            begin_entry(header, ints, doubles, base + ALIVE + 3 * states + state, state)
            continue
        sums = header.slot_doubles + (1 + states + state) * width
        extremes = base + ALIVE + 4 * states + (1 + states + state) * ranks
        for cell in range(width):
            before = doubles[sums + cell] if grown else 0.0
            doubles[sums + cell] = before + doubles[state * width + cell]
        for rank in range(ranks):
            before_rank = ints[extremes + rank] if grown else FOREVER
            ints[extremes + rank] = min(before_rank, ints[header.scratch + state * ranks + rank])
    header.waits = 0
    return True


@kernel(borrows=True, linked=True)
def end_moment(header: Any, ints: Ints, doubles: Doubles) -> None:
    """Let what waits in a slot act: what events went on with ends, then their own begin."""
    states, several, width, ranks = header.states, header.lanes, header.width, header.ranks
    base = header.slot_ints
    slot_sums = header.slot_doubles
    mark = ints[base + SERIAL] + header.contiguous
    for state in range(states):
        flags = ints[base + ALIVE + 2 * states + state]
        link, waiting = base + ALIVE + states + state, base + ALIVE + 3 * states + state
        if flags == 0:
            continue
        ints[base + ALIVE + 2 * states + state] = 0
        sums = slot_sums + (1 + state) * width
        extremes = base + ALIVE + 4 * states + (1 + state) * ranks
        if flags & TAKEN:
            end_entries(header, ints, doubles, link)
            marks = slot_sums + (1 + 2 * states) * width + state * several
            for lane in range(several):
                if doubles[marks + lane] != 0.0:
                    doubles[marks + lane] = 0.0
                    for cell in range(lane, width, several):
                        doubles[sums + cell] = 0.0
                    for rank in range(lane, ranks, several):
                        ints[extremes + rank] = FOREVER
        if flags & GROWN == 0:
            continue
        fresh = ints[base + ALIVE + state] != mark
        ints[base + ALIVE + state] = mark
        if fresh:
            free_all(header, ints, link)
        if ints[waiting] != NONE:
            prepend(header, ints, waiting, link)
            continue
        more, more_extremes = sums + states * width, extremes + states * ranks
        for cell in range(width):
            before = 0.0 if fresh else doubles[sums + cell]
            doubles[sums + cell] = before + doubles[more + cell]
        for rank in range(ranks):
            before_rank = FOREVER if fresh else ints[extremes + rank]
            ints[extremes + rank] = min(before_rank, ints[more_extremes + rank])
    ints[base + SERIAL] = mark
