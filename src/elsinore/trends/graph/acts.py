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

from typing import Any, NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.core.arrays import FOREVER
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
from elsinore.trends.graph.layout import Stream
from elsinore.trends.graph.sums import addend, rank_of
from elsinore.trends.keyed import Doubles, Flags, Ints

_SIZES = "states lanes width ranks"  # width: sums of all lanes; ranks: their extremes
_WINDOWS = "contiguous overlap within every origin"  # overlap: open at once; the rest as `Wanted`
# of scratch for extremes; of slots, what one takes, and whether with room for what waits
_PLACES = "scratch int_slots double_slots int_slot double_slot tail"
_ENTRIES = "int_entries double_entries room entries unused"  # of which `entries` were begun
_NOW = "slot_ints slot_doubles row rows waits"  # the slot acted on; the event, and if it waits
_SWEEP = "at_keys first_key keys at given"  # which keys; the next event, the totals given out
HEADER = np.dtype(
    [
        (name, np.int64)
        for names in (_SIZES, _WINDOWS, _PLACES, _ENTRIES, _NOW, _SWEEP)
        for name in names.split()
    ]
)

# a state's words: whether trends start in it, the lanes whose trends end in it or NONE, how they
# are kept, how many moves lead into it, and what an event adds: how many fields, how many extremes,
# and where they stand
NUMBER, START, END, KEPT, FIELDS, EXTREMES, ADDED, INTO, STATE = range(9)
# a move: the state before, how its trends are kept, how many conditions, each a row of forms
BEFORE, HOW, ASKED, MOVE = range(4)
NOWHERE, TOGETHER, APART = 0, 1, 2  # how the trends that end in a state are kept
ALL = 0  # in place of a list of lanes

# what a slot has beside a number for each state: what marks sums that are there. Under CONTIGUOUS
# it rises with each moment, so that nothing needs to be cleared
SERIAL, ALIVE = 0, 1
TAKEN, GROWN = 1, 2  # what waits in a state for the moment to be over: ends, beginnings

ROW, FOLLOWING, ENTRY = 0, 1, 2  # words of an entry: the event, the next entry or NONE; extremes
NONE = -1

NOTHING, SOME, TOO_LARGE = 0, 1, 2  # what a state found: no trends, some, numbers too large
LARGE = 2.0**900  # no step of plain doubles leads from below this to infinity


class Compared(NamedTuple):
    """The columns that conditions read, one after another: attribute * rows + row.

    See `Conditions`; the header tells the number of rows.
    """

    codes: Ints
    numbers: Doubles
    known: Flags


class Events(NamedTuple):
    """What is read of events beside their class, key and time."""

    compared: Compared
    stream: Stream


@kernel(borrows=True, linked=True)
def go_to(header: Any, slot: int) -> None:
    """Make a slot the one that is acted on."""
    header.slot_ints = header.int_slots + slot * header.int_slot
    header.slot_doubles = header.double_slots + slot * header.double_slot


@kernel(borrows=True, inline=True)
def act_alone(header: Any, ints: Ints, doubles: Doubles, events: Events, at: int) -> bool:
    """Let an event that is a moment of its own act; return whether its numbers are small enough.

    at: where the words of its class are, of which no two entries read one state.
    """
    if header.width == 1 and header.ranks == 0 and ints[at] == 1:
        return _count(header, ints, doubles, events.compared, ints[at + 2])
    found = False
    for entry in range(at + 2, at + 2 + 2 * ints[at], 2):
        place, lanes = ints[entry], ints[entry + 1]
        if lanes == ALL and header.ranks == 0:
            outcome = _extend_all(header, ints, doubles, events, place)
        else:
            outcome = _extend(header, ints, doubles, events, place, lanes)
        if outcome == TOO_LARGE:
            return False
        found |= outcome == SOME
    if found:
        for entry in range(at + 2, at + 2 + 2 * ints[at], 2):
            if ints[at] == 1 or _finds(header, doubles, ints[ints[entry] + NUMBER]):
                _keep(header, ints, doubles, ints[entry])
    ints[header.slot_ints + SERIAL] += header.contiguous
    return True


@kernel(borrows=True, linked=True)
def _count(header: Any, ints: Ints, doubles: Doubles, compared: Compared, place: int) -> bool:
    """Do what `act_alone` does where trends are counted in one lane, and go on in one state."""
    base, sums, contiguous = header.slot_ints, header.slot_doubles, header.contiguous
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
                number += _count_entries(header, ints, doubles, compared, at)
        at += MOVE + ints[at + ASKED] * BEGINS
    ints[base + SERIAL] = serial + contiguous
    if number == 0.0:
        return True
    if ints[place + END] == ALL:
        doubles[sums] += number
    if ints[place + KEPT] == TOGETHER:
        if ints[base + ALIVE + state] == serial + contiguous:
            number += doubles[sums + 1 + state]
        doubles[sums + 1 + state] = number
        ints[base + ALIVE + state] = serial + contiguous
    elif ints[place + KEPT] == APART:
        doubles[state] = number
        ints[base + SERIAL] = serial
        _keep(header, ints, doubles, place)
        ints[base + SERIAL] = serial + contiguous
    return bool(number < LARGE)


@kernel(borrows=True, linked=True)
def _count_entries(
    header: Any, ints: Ints, doubles: Doubles, compared: Compared, move: int
) -> float:
    """Return how many trends end in events of a state that a move's conditions hold of, in a lane.

    Under NEXT these events leave the list.
    """
    link = header.slot_ints + ALIVE + header.states + ints[move + BEFORE]
    asked, contiguous = ints[move + ASKED] * BEGINS, header.contiguous
    number = 0.0
    entry = ints[link]
    while entry != NONE:
        here = header.int_entries + entry * ENTRY
        following = ints[here + FOLLOWING]
        holds = True
        for form in range(move + MOVE, move + MOVE + asked, BEGINS):
            holds &= _holds(header, ints, form, compared, ints[here + ROW])
        if holds:
            number += doubles[header.double_entries + 2 * entry]
        if not holds or contiguous != 0:
            link = here + FOLLOWING
        else:
            ints[link] = following
            _free(header, ints, entry)
        entry = following
    return number


@kernel(borrows=True, linked=True)
def _extend_all(header: Any, ints: Ints, doubles: Doubles, events: Events, place: int) -> int:
    """Do what `_extend` does where all lanes are one list, there are no extremes, and none waits.

    This is what most events do, in a single loop over the lanes.
    """
    width, base, sums, several = header.width, header.slot_ints, header.slot_doubles, header.lanes
    contiguous = header.contiguous
    scratch = ints[place + NUMBER] * width
    for cell in range(width):
        doubles[scratch + cell] = np.float64(ints[place + START]) if cell < several else 0.0
    serial, at = ints[base + SERIAL], place + STATE
    for _ in range(ints[place + INTO]):
        source = ints[at + BEFORE]
        if ints[base + ALIVE + source] == serial:
            if ints[at + HOW] == TOGETHER:
                for cell in range(width):
                    doubles[scratch + cell] += doubles[sums + (1 + source) * width + cell]
                if not contiguous:
                    ints[base + ALIVE + source] = 0
            else:
                _take_entries(header, ints, doubles, events.compared, at, place, ALL)
        at += MOVE + ints[at + ASKED] * BEGINS
    if not _finds(header, doubles, ints[place + NUMBER]):
        return NOTHING
    if ints[place + FIELDS] > 0:
        _contribute(header, ints, doubles, events.stream, place)
    for cell in range(width):
        if not abs(doubles[scratch + cell]) < LARGE:
            return TOO_LARGE
    if ints[place + END] != NONE:
        _end(header, ints, doubles, place)
    return SOME


@kernel(borrows=True, linked=True)
def _extend(
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
                _take_entries(header, ints, doubles, events.compared, at, place, lanes)
        at += MOVE + ints[at + ASKED] * BEGINS
    if not _finds(header, doubles, ints[place + NUMBER]):
        return NOTHING
    if ints[place + FIELDS] + ints[place + EXTREMES] > 0:
        _contribute(header, ints, doubles, events.stream, place)
    for cell in range(scratch, scratch + width):
        if not abs(doubles[cell]) < LARGE:
            return TOO_LARGE
    if ints[place + END] != NONE:
        _end(header, ints, doubles, place)
    return SOME


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
        _mark(ints, doubles, lanes, marks, several)
        ints[base + ALIVE + 2 * states + source] |= TAKEN


@kernel(borrows=True, linked=True)
def _mark(ints: Ints, doubles: Doubles, lanes: int, marks: int, several: int) -> None:
    """Note which lanes' trends end where they are when the moment is over."""
    if lanes == ALL:
        for lane in range(several):
            doubles[marks + lane] = 1.0
    else:
        for at in range(lanes + 1, lanes + 1 + ints[lanes]):
            doubles[marks + ints[at]] = 1.0


@kernel(borrows=True, linked=True)
def _take_entries(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    compared: Compared,
    move: int,
    place: int,
    lanes: int,
) -> None:
    """Add to scratch what ends in events of a state that a move's conditions hold of; see `_take`.

    What every lane has gone on with leaves the list.
    """
    states, several, width, ranks = header.states, header.lanes, header.width, header.ranks
    base = header.slot_ints
    link = base + ALIVE + states + ints[move + BEFORE]  # the word that leads to the entry
    scratch = ints[place + NUMBER] * width
    rank_scratch = header.scratch + ints[place + NUMBER] * ranks
    forms = move + MOVE
    asked = ints[move + ASKED] * BEGINS
    contiguous = header.contiguous != 0
    entry = ints[link]
    while entry != NONE:
        here = header.int_entries + entry * (ENTRY + ranks)
        sums = header.double_entries + entry * (width + several)
        following = ints[here + FOLLOWING]
        holds = True
        for form in range(forms, forms + asked, BEGINS):
            if not _holds(header, ints, form, compared, ints[here + ROW]):
                holds = False
                break
        left = not holds or contiguous or header.waits != 0
        if holds and lanes == ALL:
            for cell in range(width):
                doubles[scratch + cell] += doubles[sums + cell]
            for rank in range(ranks):
                extreme = ints[here + ENTRY + rank]
                ints[rank_scratch + rank] = min(ints[rank_scratch + rank], extreme)
        elif holds:
            for at in range(lanes + 1, lanes + 1 + ints[lanes]):
                for cell in range(ints[at], width, several):
                    doubles[scratch + cell] += doubles[sums + cell]
                for rank in range(ints[at], ranks, several):
                    extreme = ints[here + ENTRY + rank]
                    ints[rank_scratch + rank] = min(ints[rank_scratch + rank], extreme)
        if holds and not contiguous:
            if header.waits != 0:
                _mark(ints, doubles, lanes, sums + width, several)
                ints[base + ALIVE + 2 * states + ints[move + BEFORE]] |= TAKEN
            elif lanes != ALL:
                _mark(ints, doubles, lanes, sums + width, several)
                left = _end_lanes(header, ints, doubles, entry)
        if left:
            link = here + FOLLOWING
        else:
            ints[link] = following
            _free(header, ints, entry)
        entry = following


@kernel(borrows=True, linked=True)
def _end_lanes(header: Any, ints: Ints, doubles: Doubles, entry: int) -> bool:
    """Take from an entry the trends of the lanes that are marked; return whether any are left."""
    several, width, ranks = header.lanes, header.width, header.ranks
    sums = header.double_entries + entry * (width + several)
    extremes = header.int_entries + entry * (ENTRY + ranks) + ENTRY
    left = False
    for lane in range(several):
        if doubles[sums + width + lane] != 0.0:
            doubles[sums + width + lane] = 0.0
            for cell in range(lane, width, several):
                doubles[sums + cell] = 0.0
            for rank in range(lane, ranks, several):
                ints[extremes + rank] = FOREVER
        elif doubles[sums + lane] != 0.0:
            left = True
    return left


@kernel(borrows=True, linked=True)
def _free(header: Any, ints: Ints, entry: int) -> None:
    ints[header.int_entries + entry * (ENTRY + header.ranks) + FOLLOWING] = header.unused
    header.unused = entry


@kernel(borrows=True, linked=True)
def _free_all(header: Any, ints: Ints, link: int) -> None:
    """Free a list of entries."""
    entry = ints[link]
    while entry != NONE:
        following = ints[header.int_entries + entry * (ENTRY + header.ranks) + FOLLOWING]
        _free(header, ints, entry)
        entry = following
    ints[link] = NONE


@kernel(borrows=True, linked=True)
def _holds(header: Any, ints: Ints, form: int, compared: Compared, earlier: int) -> bool:
    """Return whether a comparison of two attributes holds between an earlier event and this one."""
    left = ints[form + LEFT] * header.rows + earlier
    right = ints[form + RIGHT] * header.rows + header.row
    if compared.known[left] == 0 or compared.known[right] == 0:
        return False
    below, same, above = False, False, False
    if ints[form + FORM] == BY_CODE:
        code, with_code = compared.codes[left], compared.codes[right]
        below, same, above = code < with_code, code == with_code, code > with_code
    else:
        number, other = compared.numbers[left], compared.numbers[right]
        below, same, above = number < other, number == other, number > other
    allowed = ints[form + ALLOWED]
    return bool(
        (below and allowed & LESS) or (same and allowed & EQUAL) or (above and allowed & GREATER)
    )


@kernel(borrows=True, linked=True)
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
            _free_all(header, ints, link)
        _begin_entry(header, ints, doubles, link, state)
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


@kernel(borrows=True, linked=True)
def _begin_entry(header: Any, ints: Ints, doubles: Doubles, link: int, state: int) -> None:
    """Put scratch's sums of a state into a list as an entry; there is room for it."""
    several, width, ranks = header.lanes, header.width, header.ranks
    entry = header.unused
    if entry == NONE:
        entry = header.entries
        header.entries += 1
    else:
        header.unused = ints[header.int_entries + entry * (ENTRY + ranks) + FOLLOWING]
    here = header.int_entries + entry * (ENTRY + ranks)
    sums = header.double_entries + entry * (width + several)
    ints[here + ROW] = header.row
    ints[here + FOLLOWING] = ints[link]
    ints[link] = entry
    for cell in range(width):
        doubles[sums + cell] = doubles[state * width + cell]
    for lane in range(several):
        doubles[sums + width + lane] = 0.0
    for rank in range(ranks):
        ints[here + ENTRY + rank] = ints[header.scratch + state * ranks + rank]


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
        found = _extend(header, ints, doubles, events, place, ints[entry + 1])
        if found == TOO_LARGE:
            return False
        if found == NOTHING or ints[place + KEPT] == NOWHERE:
            continue
        state, flags = ints[place + NUMBER], base + ALIVE + 2 * states
        grown = ints[flags + state] & GROWN
        ints[flags + state] |= GROWN
        if ints[place + KEPT] == APART:
            _begin_entry(header, ints, doubles, base + ALIVE + 3 * states + state, state)
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
            _end_entries(header, ints, doubles, link)
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
            _free_all(header, ints, link)
        if ints[waiting] != NONE:
            _append(header, ints, waiting, link)
            continue
        more, more_extremes = sums + states * width, extremes + states * ranks
        for cell in range(width):
            before = 0.0 if fresh else doubles[sums + cell]
            doubles[sums + cell] = before + doubles[more + cell]
        for rank in range(ranks):
            before_rank = FOREVER if fresh else ints[extremes + rank]
            ints[extremes + rank] = min(before_rank, ints[more_extremes + rank])
    ints[base + SERIAL] = mark


@kernel(borrows=True, linked=True)
def _end_entries(header: Any, ints: Ints, doubles: Doubles, link: int) -> None:
    """Take the trends that are marked from a list of entries; those without any leave it."""
    while ints[link] != NONE:
        entry = ints[link]
        if _end_lanes(header, ints, doubles, entry):
            link = header.int_entries + entry * (ENTRY + header.ranks) + FOLLOWING
        else:
            ints[link] = ints[header.int_entries + entry * (ENTRY + header.ranks) + FOLLOWING]
            _free(header, ints, entry)


@kernel(borrows=True, linked=True)
def _append(header: Any, ints: Ints, waiting: int, link: int) -> None:
    """Put all of a list of entries before another."""
    last = waiting
    while ints[last] != NONE:
        last = header.int_entries + ints[last] * (ENTRY + header.ranks) + FOLLOWING
    ints[last] = ints[link]
    ints[link] = ints[waiting]
    ints[waiting] = NONE


@kernel(borrows=True, linked=True)
def begin_window(header: Any, ints: Ints, doubles: Doubles) -> None:
    """Make a slot one of a window without trends."""
    states = header.states
    base = header.slot_ints
    ints[base + SERIAL] = 1
    for state in range(states):
        ints[base + ALIVE + state] = 0
        ints[base + ALIVE + states + state] = NONE
        if header.tail != 0:
            ints[base + ALIVE + 2 * states + state] = 0
            ints[base + ALIVE + 3 * states + state] = NONE
    total = header.slot_doubles
    for cell in range(total, total + header.width):
        doubles[cell] = 0.0
    marks = total + (1 + 2 * states) * header.width
    for mark in range(marks, marks + header.tail * states * header.lanes):
        doubles[mark] = 0.0
    total = base + ALIVE + 4 * states
    for rank in range(total, total + header.ranks):
        ints[rank] = FOREVER


@kernel(borrows=True, linked=True)
def end_window(header: Any, ints: Ints, doubles: Doubles) -> bool:
    """Free what a slot's window keeps but for its totals; return whether these hold trends."""
    states = header.states
    base = header.slot_ints
    for state in range(states):
        _free_all(header, ints, base + ALIVE + states + state)
        if header.tail != 0:
            _free_all(header, ints, base + ALIVE + 3 * states + state)
    total = header.slot_doubles
    for cell in range(total, total + header.lanes):  # noqa: SIM110  (compiled as it stands)
        if doubles[cell] != 0.0:
            return True
    return False
