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
from elsinore.trends.core.addends import addend_at, rank_at
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.core.recurrence import contributed, least_reached
from elsinore.trends.graph.entries import (
    begin_entry,
    end_entries,
    end_marked,
    end_some,
    free_all,
    mark_lanes,
    prepend,
    take_entries,
)
from elsinore.trends.graph.interpret import BEGINS
from elsinore.trends.graph.records import (
    ADDED,
    ALIVE,
    ALL,
    APART,
    ASKED,
    BEFORE,
    CLASS,
    END,
    EXTREMES,
    FIELDS,
    FROM,
    GROWN,
    HOW,
    INTO,
    KEPT,
    LANES,
    LARGE,
    MOVE,
    NONE,
    NOTHING,
    NOWHERE,
    NUMBER,
    OFFSET,
    PLACES,
    SERIAL,
    SOME,
    START,
    STATE,
    TAKEN,
    TAKES,
    TOGETHER,
    TOO_LARGE,
    Added,
    Compared,
    Events,
    add_all,
    add_or_put,
    add_some,
)
from elsinore.trends.keyed import Doubles, Ints


@kernel(borrows=True, inline=True)
def act_alone(header: Any, ints: Ints, doubles: Doubles, events: Events, at: int) -> bool:
    """Let an event that is a moment of its own act; return whether its numbers are small enough.

    at: where the words of its class are, of which no two entries read one state.
    """
    found = False
    first, last = at + CLASS, at + CLASS + 2 * ints[at + TAKES]
    for entry in range(first, last, 2):
        place, lanes = ints[entry], ints[entry + 1]
        if lanes == ALL:
            outcome = _extend_all(header, ints, doubles, events, place)
        else:
            outcome = extend(header, ints, doubles, events, place, lanes)
        if outcome == TOO_LARGE:
            return False
        found |= outcome == SOME
    if found:
        for entry in range(first, last, 2):
            if ints[at + TAKES] == 1 or _finds(header, ints, doubles, ints[entry]):
                _keep(header, ints, doubles, events.compared, ints[entry])
    ints[header.slot_ints + SERIAL] += header.contiguous
    return True


@kernel(borrows=True, inline=True)
def _extend_all(header: Any, ints: Ints, doubles: Doubles, events: Events, place: int) -> int:
    """Do what `extend` does where all lanes are one list, and none waits.

    This is what most events do, in a single loop over the lanes. It is copied into the sweep: four
    CONTIGUOUS queries take 0.75 times what they do by `extend`, and 48 as long.
    """
    base, contiguous = header.slot_ints, header.contiguous
    _begin_scratch(header, ints, doubles, place)
    serial, at = ints[base + SERIAL], place + STATE
    for _ in range(ints[place + INTO]):
        source = ints[at + BEFORE]
        if ints[base + ALIVE + source] == serial:
            if ints[at + HOW] == TOGETHER:
                _take_all(header, ints, doubles, place, at)
                if not contiguous:
                    ints[base + ALIVE + source] = 0
            else:
                take_entries(header, ints, doubles, events.compared, at, place, ALL)
        at += MOVE + ints[at + ASKED] * BEGINS
    return _outcome(header, ints, doubles, events, place)


@kernel(borrows=True, inline=True)
def _begin_scratch(header: Any, ints: Ints, doubles: Doubles, place: int) -> None:
    """Let scratch be of the trends that begin with an event, in all lanes."""
    several, offset = ints[place + LANES], ints[place + OFFSET]
    scratch = offset * header.fields
    rank_scratch = header.scratch + offset * header.extremes
    started = np.float64(ints[place + START])
    for cell in range(several * header.fields):
        doubles[scratch + cell] = started if cell < several else 0.0
    for rank in range(several * header.extremes):
        ints[rank_scratch + rank] = FOREVER


@kernel(borrows=True, inline=True)
def _take_all(header: Any, ints: Ints, doubles: Doubles, place: int, move: int) -> None:
    """Add to scratch what is kept together of the state before a move, in all lanes."""
    kept = header.slot_doubles + header.width + ints[move + FROM] * header.fields
    ranks = header.slot_ints + ALIVE + 4 * header.states + header.ranks
    add_all(header, ints, doubles, place, move, kept, ranks + ints[move + FROM] * header.extremes)


@kernel(borrows=True, inline=True)
def _outcome(header: Any, ints: Ints, doubles: Doubles, events: Events, place: int) -> int:
    """Let an event add to the trends in scratch, and these to the totals; return what they are."""
    if not _finds(header, ints, doubles, place):
        return NOTHING
    if ints[place + FIELDS] + ints[place + EXTREMES] > 0:
        _contribute(header, ints, doubles, events.added, place)
    scratch = ints[place + OFFSET] * header.fields
    for cell in range(scratch, scratch + ints[place + LANES] * header.fields):
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
    several, offset = ints[place + LANES], ints[place + OFFSET]
    scratch, rank_scratch = offset * header.fields, header.scratch + offset * header.extremes
    for cell in range(scratch, scratch + several * header.fields):
        doubles[cell] = 0.0
    for rank in range(rank_scratch, rank_scratch + several * header.extremes):
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
                _take(header, ints, doubles, at, place, lanes)
            else:
                take_entries(header, ints, doubles, events.compared, at, place, lanes)
        at += MOVE + ints[at + ASKED] * BEGINS
    return _outcome(header, ints, doubles, events, place)


@kernel(borrows=True, linked=True)
def _end(header: Any, ints: Ints, doubles: Doubles, place: int) -> None:
    """Add what scratch has of a state to the totals of the queries whose trends end in it."""
    several, queries, ends = ints[place + LANES], header.lanes, ints[place + END]
    scratch = ints[place + OFFSET] * header.fields
    rank_scratch = header.scratch + ints[place + OFFSET] * header.extremes
    ranks = header.slot_ints + ALIVE + 4 * header.states
    if ends == ALL:
        for cell in range(header.width):
            doubles[header.slot_doubles + cell] += doubles[scratch + cell]
        for rank in range(header.ranks):
            ints[ranks + rank] = min(ints[ranks + rank], ints[rank_scratch + rank])
        return
    for at in range(ends + 1, ends + 1 + 2 * ints[ends], 2):
        total, lane = header.slot_doubles + ints[at], scratch + ints[at + 1]
        for field in range(header.fields):
            doubles[total + field * queries] += doubles[lane + field * several]
        least, rank = ranks + ints[at], rank_scratch + ints[at + 1]
        for extreme in range(header.extremes):
            found = min(ints[least + extreme * queries], ints[rank + extreme * several])
            ints[least + extreme * queries] = found


@kernel(borrows=True, linked=True)
def _finds(header: Any, ints: Ints, doubles: Doubles, place: int) -> bool:
    """Return whether scratch has trends of a state."""
    first = ints[place + OFFSET] * header.fields
    for cell in range(first, first + ints[place + LANES]):  # noqa: SIM110  (compiled as it stands)
        if doubles[cell] != 0.0:
            return True
    return False


@kernel(borrows=True, linked=True)
def _take(header: Any, ints: Ints, doubles: Doubles, move: int, place: int, lanes: int) -> None:
    """Add to scratch what is kept together of the state before a move; under NEXT it ends there."""
    states, source = header.states, ints[move + BEFORE]
    base, kept = header.slot_ints, header.slot_doubles + header.width
    sums = kept + ints[move + FROM] * header.fields
    ranks = base + ALIVE + 4 * states + header.ranks + ints[move + FROM] * header.extremes
    ends = not header.contiguous and header.waits == 0
    if lanes == ALL:
        _take_all(header, ints, doubles, place, move)
        if ends:
            ints[base + ALIVE + source] = 0
    else:
        add_some(header, ints, doubles, place, move, lanes, sums, ranks)
        if ends:
            end_some(header, ints, doubles, move, lanes, sums, ranks)
    if header.waits != 0 and not header.contiguous:
        marks = kept + 2 * header.cells * header.fields + ints[move + FROM]
        mark_lanes(ints, doubles, move, lanes, marks)
        ints[base + ALIVE + 2 * states + source] |= TAKEN


@kernel(borrows=True, inline=True)
def _contribute(header: Any, ints: Ints, doubles: Doubles, added: Added, place: int) -> None:
    """Add to scratch what an event contributes in a state, once for each trend."""
    several = ints[place + LANES]
    scratch = ints[place + OFFSET] * header.fields
    extremes = header.scratch + ints[place + OFFSET] * header.extremes
    at = ints[place + ADDED]
    for _ in range(ints[place + FIELDS]):
        field = scratch + ints[at] * several
        value = addend_at(added, header.rows, header.row, ints[at + 1])
        at += 2
        if value != 0.0:
            for lane in range(several):
                doubles[field + lane] += contributed(doubles[scratch + lane], value)
    for _ in range(ints[place + EXTREMES]):
        extreme = extremes + ints[at] * several
        rank = rank_at(added, header.rows, header.row, ints[at + 1])
        at += 2
        for lane in range(several):
            least = least_reached(ints[extreme + lane], rank, doubles[scratch + lane])
            ints[extreme + lane] = least


@kernel(borrows=True, linked=True)
def _keep(header: Any, ints: Ints, doubles: Doubles, compared: Compared, place: int) -> None:
    """Let later moments find what scratch has of a state."""
    state, kept = ints[place + NUMBER], ints[place + KEPT]
    if kept == NOWHERE:
        return
    states, several, offset = header.states, ints[place + LANES], ints[place + OFFSET]
    base = header.slot_ints
    mark = ints[base + SERIAL] + header.contiguous
    fresh = ints[base + ALIVE + state] != mark
    ints[base + ALIVE + state] = mark
    if kept == APART:
        link = base + ALIVE + states + state
        if fresh:
            free_all(header, ints, link)
        begin_entry(header, ints, doubles, compared, link, place)
        return
    sums = header.slot_doubles + header.width + offset * header.fields
    extremes = base + ALIVE + 4 * states + header.ranks + offset * header.extremes
    scratch, rank_scratch = offset * header.fields, header.scratch + offset * header.extremes
    add_or_put(header, ints, doubles, fresh, several, sums, scratch, extremes, rank_scratch)


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
