# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""What an event does in one window of a key where trends go on step by step: NEXT and CONTIGUOUS.

Under these strategies an event goes on with determined trends: under CONTIGUOUS with those that end
in the moment before, under NEXT with those that no event has gone on with yet. So each state keeps
few sums: one where no move out of it asks for something, else one for each event that may still be
followed, in a list. All of it is kept for several queries of one shape side by side, the lanes
(`elsinore.trends.graph.steps` says where).

What an event finds goes through scratch, a row of sums for each state. An event that is a moment of
its own acts at once; others wait, their sums beside those that are kept, until the moment is over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.graph.entries import (
    begin_entry,
    free_all,
    mark_lanes,
    take_entries,
)
from elsinore.trends.graph.interpret import BEGINS
from elsinore.trends.graph.layout import Stream
from elsinore.trends.graph.records import (
    ADDED,
    ALIVE,
    ALL,
    APART,
    ASKED,
    BEFORE,
    END,
    EXTREMES,
    FIELDS,
    HOW,
    INTO,
    KEPT,
    LARGE,
    MOVE,
    NONE,
    NOTHING,
    NOWHERE,
    NUMBER,
    SERIAL,
    SOME,
    START,
    STATE,
    TAKEN,
    TOGETHER,
    TOO_LARGE,
    Events,
)
from elsinore.trends.graph.sums import addend, rank_of
from elsinore.trends.keyed import Doubles, Ints


@kernel(borrows=True, inline=True)
def act_alone(header: Any, ints: Ints, doubles: Doubles, events: Events, at: int) -> bool:
    """Let an event that is a moment of its own act; return whether its numbers are small enough.

    at: where the words of its class are, of which no two entries read one state.
    """
    found = False
    for entry in range(at + 2, at + 2 + 2 * ints[at], 2):
        place, lanes = ints[entry], ints[entry + 1]
        if lanes == ALL:
            outcome = _extend_all(header, ints, doubles, events, place)
        else:
            outcome = extend(header, ints, doubles, events, place, lanes)
        if outcome == TOO_LARGE:
            return False
        found |= outcome == SOME
    if found:
        for entry in range(at + 2, at + 2 + 2 * ints[at], 2):
            if ints[at] == 1 or _finds(header, doubles, ints[ints[entry] + NUMBER]):
                _keep(header, ints, doubles, ints[entry])
    ints[header.slot_ints + SERIAL] += header.contiguous
    return True


@kernel(borrows=True, inline=True)
def _extend_all(header: Any, ints: Ints, doubles: Doubles, events: Events, place: int) -> int:
    """Do what `extend` does where all lanes are one list, and none waits.

    This is what most events do, in a single loop over the lanes. It is copied into the sweep.
    """
    base, contiguous = header.slot_ints, header.contiguous
    _begin_scratch(header, ints, doubles, place)
    serial, at = ints[base + SERIAL], place + STATE
    for _ in range(ints[place + INTO]):
        source = ints[at + BEFORE]
        if ints[base + ALIVE + source] == serial:
            if ints[at + HOW] == TOGETHER:
                _take_all(header, ints, doubles, place, source)
                if not contiguous:
                    ints[base + ALIVE + source] = 0
            else:
                take_entries(header, ints, doubles, events.compared, at, place, ALL)
        at += MOVE + ints[at + ASKED] * BEGINS
    return _outcome(header, ints, doubles, events, place)


@kernel(borrows=True, inline=True)
def _begin_scratch(header: Any, ints: Ints, doubles: Doubles, place: int) -> None:
    """Let scratch be of the trends that begin with an event, in all lanes."""
    width, several, ranks = header.width, header.lanes, header.ranks
    scratch = ints[place + NUMBER] * width
    rank_scratch = header.scratch + ints[place + NUMBER] * ranks
    started = np.float64(ints[place + START])
    for cell in range(width):
        doubles[scratch + cell] = started if cell < several else 0.0
    for rank in range(ranks):
        ints[rank_scratch + rank] = FOREVER


@kernel(borrows=True, inline=True)
def _take_all(header: Any, ints: Ints, doubles: Doubles, place: int, source: int) -> None:
    """Add to scratch what is kept together of a state, in all lanes."""
    width, ranks = header.width, header.ranks
    scratch, kept = ints[place + NUMBER] * width, header.slot_doubles + (1 + source) * width
    rank_scratch = header.scratch + ints[place + NUMBER] * ranks
    extremes = header.slot_ints + ALIVE + 4 * header.states + (1 + source) * ranks
    for cell in range(width):
        doubles[scratch + cell] += doubles[kept + cell]
    for rank in range(ranks):
        extreme = min(ints[rank_scratch + rank], ints[extremes + rank])
        ints[rank_scratch + rank] = extreme


@kernel(borrows=True, inline=True)
def _outcome(header: Any, ints: Ints, doubles: Doubles, events: Events, place: int) -> int:
    """Let an event add to the trends in scratch, and these to the totals; return what they are."""
    if not _finds(header, doubles, ints[place + NUMBER]):
        return NOTHING
    if ints[place + FIELDS] + ints[place + EXTREMES] > 0:
        _contribute(header, ints, doubles, events.stream, place)
    scratch = ints[place + NUMBER] * header.width
    for cell in range(scratch, scratch + header.width):
        if not abs(doubles[cell]) < LARGE:
            return TOO_LARGE
    if ints[place + END] != NONE:
        _end(header, ints, doubles, place)
    return SOME


@kernel(borrows=True, linked=True)
def extend(
    header: Any, ints: Ints, doubles: Doubles, events: Events, place: int, lanes: int
) -> int:
    """Sum up in scratch the trends that end with an event in a state: NOTHING, SOME or TOO_LARGE.

    They are taken from where they were, or that is noted where the event `waits`.
    """
    width, several = header.width, header.lanes
    ranks = header.ranks
    scratch = ints[place + NUMBER] * width
    rank_scratch = header.scratch + ints[place + NUMBER] * ranks
    for cell in range(scratch, scratch + width):
        doubles[cell] = 0.0
    for rank in range(rank_scratch, rank_scratch + ranks):
        ints[rank] = FOREVER
    if ints[place + START]:
        if lanes == ALL:
            for cell in range(scratch, scratch + several):
                doubles[cell] = 1.0
        else:
            for lane in range(lanes + 1, lanes + 1 + ints[lanes]):
                doubles[scratch + ints[lane]] = 1.0
    base = header.slot_ints
    serial = ints[base + SERIAL]
    at = place + STATE
    for _ in range(ints[place + INTO]):
        if ints[base + ALIVE + ints[at + BEFORE]] == serial:
            if ints[at + HOW] == TOGETHER:
                _take(header, ints, doubles, ints[at + BEFORE], place, lanes)
            else:
                take_entries(header, ints, doubles, events.compared, at, place, lanes)
        at += MOVE + ints[at + ASKED] * BEGINS
    return _outcome(header, ints, doubles, events, place)


@kernel(borrows=True, linked=True)
def _end(header: Any, ints: Ints, doubles: Doubles, place: int) -> None:
    """Add what scratch has of a state to the totals of the lanes whose trends end in it."""
    width, ranks, several = header.width, header.ranks, header.lanes
    scratch, lanes = ints[place + NUMBER] * width, ints[place + END]
    rank_scratch = header.scratch + ints[place + NUMBER] * ranks
    extremes = header.slot_ints + ALIVE + 4 * header.states
    if lanes == ALL:
        for cell in range(width):
            doubles[header.slot_doubles + cell] += doubles[scratch + cell]
        for rank in range(ranks):
            ints[extremes + rank] = min(ints[extremes + rank], ints[rank_scratch + rank])
        return
    for at in range(lanes + 1, lanes + 1 + ints[lanes]):
        for cell in range(ints[at], width, several):
            doubles[header.slot_doubles + cell] += doubles[scratch + cell]
        for rank in range(ints[at], ranks, several):
            ints[extremes + rank] = min(ints[extremes + rank], ints[rank_scratch + rank])


@kernel(borrows=True, linked=True)
def _finds(header: Any, doubles: Doubles, state: int) -> bool:
    """Return whether scratch has trends of a state."""
    first = state * header.width
    for cell in range(first, first + header.lanes):  # noqa: SIM110  (compiled as it stands)
        if doubles[cell] != 0.0:
            return True
    return False


@kernel(borrows=True, linked=True)
def _take(header: Any, ints: Ints, doubles: Doubles, source: int, place: int, lanes: int) -> None:
    """Add to scratch what is kept together in a state; under NEXT it ends there."""
    states, several, width, ranks = header.states, header.lanes, header.width, header.ranks
    base = header.slot_ints
    sums = header.slot_doubles + (1 + source) * width
    extremes = base + ALIVE + 4 * states + (1 + source) * ranks
    scratch = ints[place + NUMBER] * width
    rank_scratch = header.scratch + ints[place + NUMBER] * ranks
    ends = not header.contiguous and header.waits == 0
    if lanes == ALL:
        for cell in range(width):
            doubles[scratch + cell] += doubles[sums + cell]
        for rank in range(ranks):
            ints[rank_scratch + rank] = min(ints[rank_scratch + rank], ints[extremes + rank])
        if ends:
            ints[base + ALIVE + source] = 0
    else:
        for at in range(lanes + 1, lanes + 1 + ints[lanes]):
            for cell in range(ints[at], width, several):
                doubles[scratch + cell] += doubles[sums + cell]
                if ends:
                    doubles[sums + cell] = 0.0
            for rank in range(ints[at], ranks, several):
                ints[rank_scratch + rank] = min(ints[rank_scratch + rank], ints[extremes + rank])
                if ends:
                    ints[extremes + rank] = FOREVER
    if header.waits != 0 and not header.contiguous:
        marks = header.slot_doubles
        marks += (1 + 2 * states) * width + source * several
        mark_lanes(ints, doubles, lanes, marks, several)
        ints[base + ALIVE + 2 * states + source] |= TAKEN


@kernel(borrows=True, inline=True)
def _contribute(header: Any, ints: Ints, doubles: Doubles, stream: Stream, place: int) -> None:
    """Add to scratch what an event contributes in a state, once for each trend."""
    several = header.lanes
    scratch = ints[place + NUMBER] * header.width
    extremes = header.scratch + ints[place + NUMBER] * header.ranks
    at = ints[place + ADDED]
    for _ in range(ints[place + FIELDS]):
        field, value = scratch + ints[at] * several, addend(stream, header.row, ints[at + 1])
        at += 2
        if not np.isnan(value):
            for lane in range(several):
                doubles[field + lane] += doubles[scratch + lane] * value
    for _ in range(ints[place + EXTREMES]):
        extreme, rank = extremes + ints[at] * several, rank_of(stream, header.row, ints[at + 1])
        at += 2
        for lane in range(several):
            if doubles[scratch + lane] != 0.0:
                ints[extreme + lane] = min(ints[extreme + lane], rank)


@kernel(borrows=True, linked=True)
def _keep(header: Any, ints: Ints, doubles: Doubles, place: int) -> None:
    """Let later moments find what scratch has of a state."""
    state, kept = ints[place + NUMBER], ints[place + KEPT]
    if kept == NOWHERE:
        return
    states, width, ranks = header.states, header.width, header.ranks
    base = header.slot_ints
    mark = ints[base + SERIAL] + header.contiguous
    fresh = ints[base + ALIVE + state] != mark
    ints[base + ALIVE + state] = mark
    if kept == APART:
        link = base + ALIVE + states + state
        if fresh:
            free_all(header, ints, link)
        begin_entry(header, ints, doubles, link, state)
        return
    sums = header.slot_doubles + (1 + state) * width
    extremes = base + ALIVE + 4 * states + (1 + state) * ranks
    scratch, rank_scratch = state * width, header.scratch + state * ranks
    if fresh:
        for cell in range(width):
            doubles[sums + cell] = doubles[scratch + cell]
        for rank in range(ranks):
            ints[extremes + rank] = ints[rank_scratch + rank]
    else:
        for cell in range(width):
            doubles[sums + cell] += doubles[scratch + cell]
        for rank in range(ranks):
            ints[extremes + rank] = min(ints[extremes + rank], ints[rank_scratch + rank])
