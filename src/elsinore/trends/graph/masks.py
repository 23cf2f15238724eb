"""Trends of an ambiguous pattern: a sequence of events is one trend, however it can be read.

The sequences of events that end with event e and may stand in just the states of a *mask* (bits)
are one entry: their number, sums and extremes. An event extends every sequence that ends earlier;
the mask that comes of it follows from the one before and the two events:

    next(m) = all q such that a move p -> q holds between the events for some p in m.

Each sequence is in one entry, so none is counted twice. Masks whose moves ask for nothing need no
single event: all sequences of a mask are extended at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.core.pairs import pairs
from elsinore.trends.graph.guards import all_hold, threshold
from elsinore.trends.graph.interpret import CHUNK, Conditions
from elsinore.trends.graph.layout import (
    ANY,
    CONDITIONS,
    CONTIGUOUS,
    END,
    GUARD,
    NEXT,
    ONWARD,
    REFUSED,
    SIDE,
    SIDES,
    START,
    STRATEGY,
    TARGET,
    Program,
    Stream,
    Stretch,
)
from elsinore.trends.graph.sums import (
    TOTAL,
    Sums,
    add_to,
    clear,
    contribute,
    empty_sums,
    put,
)
from elsinore.trends.keyed import Ints

MASKS, ENTRIES, EVENTS, PRESENT = 0, 1, 2, 3  # places in `Sets.counts`

# columns of `Sets.masks`
MASK = 0  # bits of states
STAMP = 1  # the event that last made an entry of it
SLOT = 2  # that entry

# columns of `Sets.events`
ROW, MOMENT = 0, 1
FIRST, LAST = 2, 3  # its entries lie side by side
ALIVE = 4  # bits of the states from which it may be extended still
EXTENDED = 5  # bits of the states from which this moment has extended it

AT_MASKS = 4  # rows of `Sets.sums`: the total, sums by sides of AND (bits), by mask, by entry

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class Sets(NamedTuple):
    """Events of a window and, for each, its sequences by mask. Masks keep their number for good."""

    table: Ints  # open addressing: number of a mask or -1; its length is a power of two
    masks: Ints  # [number, column]; sums over all earlier sequences
    numbers: Ints  # [entry] -> number of its mask
    events: Ints  # [event, column]
    after: Ints  # [event, state] -> bits of what it becomes
    sums: Sums
    counts: Ints


@kernel
def new_sets(program: Program, room: int) -> Sets:
    """Return room for so many masks, entries and events."""
    fields, extremes = program.linear.shape[1], program.extreme.shape[1]
    size = 4
    while size < 4 * room:
        size *= 2
    return Sets(
        np.full(size, -1, dtype=np.int64),
        np.zeros((room, 3), dtype=np.int64),
        np.zeros(room, dtype=np.int64),
        np.zeros((room, 6), dtype=np.int64),
        np.zeros((CHUNK, 64), dtype=np.int64),
        empty_sums(AT_MASKS + 2 * room, fields, extremes),
        np.zeros(4, dtype=np.int64),
    )


@kernel
def _is_full(sets: Sets) -> bool:
    return (
        sets.counts[MASKS] + 2 >= len(sets.masks)
        or sets.counts[ENTRIES] + 2 >= len(sets.numbers)
        or sets.counts[EVENTS] + 2 >= len(sets.events)
    )


@kernel
def _free_place(sets: Sets, mask: int) -> int:
    """Return where a mask stands in the table, or would."""
    size = len(sets.table) - 1
    mixed = np.uint64(mask) * _SPREAD
    place = np.int64((mixed >> np.uint64(32)) & np.uint64(size))
    while sets.table[place] >= 0 and sets.masks[sets.table[place], MASK] != mask:
        place = (place + 1) & size
    return place


@kernel
def _entry(sets: Sets, mask: int) -> int:
    """Return the entry of a mask at the present event, a new one of nothing if need be."""
    place = _free_place(sets, mask)
    number = sets.table[place]
    if number < 0:
        number = sets.counts[MASKS]
        sets.counts[MASKS] += 1
        sets.table[place] = number
        sets.masks[number, MASK] = mask
        sets.masks[number, STAMP] = -1
        clear(sets.sums, AT_MASKS + number)
    if sets.masks[number, STAMP] != sets.counts[PRESENT]:
        entry = sets.counts[ENTRIES]
        sets.counts[ENTRIES] += 1
        sets.masks[number, STAMP] = sets.counts[PRESENT]
        sets.masks[number, SLOT] = entry
        sets.numbers[entry] = number
        clear(sets.sums, AT_MASKS + len(sets.masks) + entry)
    return sets.masks[number, SLOT]


@kernel
def _after(sets: Sets, mask: int) -> int:
    """Return what a mask becomes, given what each of its states does."""
    found = np.int64(0)
    state = 0
    while mask:
        if mask & 1:
            found |= sets.after[0, state]
        mask >>= 1
        state += 1
    return found


@kernel
def count_sequences(
    program: Program, conditions: Conditions, stream: Stream, stretch: Stretch, sets: Sets
) -> bool:
    """Leave the sums over all trends of a window in row `TOTAL`; return whether there was room.

    With two sides the one field is the number of pairs of different trends.
    """
    automata = len(program.automata) - 1
    own = program.automata[-2]
    strategy = program.shape[STRATEGY]
    looked_at = np.int64(0)
    for kind in range(len(program.steps)):
        looked_at |= program.steps[kind, -1]
    kept = looked_at if strategy == NEXT else np.int64(-1)
    sets.counts[ENTRIES] = 0
    sets.counts[EVENTS] = 0
    for number in range(sets.counts[MASKS]):
        clear(sets.sums, AT_MASKS + number)
    for side in range(AT_MASKS):
        clear(sets.sums, side)
    begin = 0  # events that are past
    for moment in range(stretch.moments):
        earlier, entries = sets.counts[EVENTS], sets.counts[ENTRIES]
        for row in range(stretch.begins[moment], stretch.begins[moment + 1]):
            kind = stream.classes[row]
            if kind < 0:
                continue
            place = kind * automata + automata - 1
            if program.fits[place] == program.fits[place + 1]:
                continue
            sets.counts[PRESENT] += 1
            if _is_full(sets):
                return False
            first = sets.counts[ENTRIES]
            starts = np.int64(0)
            for at in range(program.fits[place], program.fits[place + 1]):
                state = program.lists[at]
                start = program.state[state, START]
                if start != REFUSED and threshold(program, stretch, start, moment) < 0:
                    starts |= np.int64(1) << (state - own)
            if starts:
                begun = AT_MASKS + len(sets.masks) + _entry(sets, starts)
                sets.sums.cells[begun, 0] += 1.0
            asking = program.steps[kind, -1]
            if strategy == ANY and not _extend_pools(program, sets, kind, asking):
                return False
            if asking:
                for event in range(begin, earlier, CHUNK):
                    count = min(earlier - event, CHUNK)
                    if not _extend_events(
                        program, conditions, stretch, sets, kind, event, count, moment, row
                    ):
                        return False
            if sets.counts[ENTRIES] > first:
                _end(program, stream, stretch, sets, kept, first, moment, row)
        if strategy == NEXT:
            begin = 0
            _bury(sets, earlier)
        elif strategy == CONTIGUOUS:
            begin = earlier
        else:
            for entry in range(entries, sets.counts[ENTRIES]):
                pool = AT_MASKS + sets.numbers[entry]
                add_to(sets.sums, pool, AT_MASKS + len(sets.masks) + entry)
            if looked_at == 0:
                sets.counts[ENTRIES] = 0
                sets.counts[EVENTS] = 0
    _sum_up(program, sets)
    return True


@kernel
def _extend_pools(program: Program, sets: Sets, kind: int, asking: int) -> bool:
    """Extend the sequences whose moves ask for nothing; return whether there was room."""
    for state in range(program.steps.shape[1] - 1):
        sets.after[0, state] = program.steps[kind, state]
    number = 0
    while number < sets.counts[MASKS]:
        mask = sets.masks[number, MASK]
        if mask & asking == 0 and sets.sums.cells[AT_MASKS + number, 0] != 0.0:
            after = _after(sets, mask)
            if after:
                if _is_full(sets):
                    return False
                extended = AT_MASKS + len(sets.masks) + _entry(sets, after)
                add_to(sets.sums, extended, AT_MASKS + number)
        number += 1
    return True


@kernel
def _extend_events(
    program: Program,
    conditions: Conditions,
    stretch: Stretch,
    sets: Sets,
    kind: int,
    first: int,
    count: int,
    moment: int,
    row: int,
) -> bool:
    """Extend the sequences that end with some earlier events, as far as pools do not.

    Return whether there was room.
    """
    pools = program.shape[STRATEGY] == ANY
    asking = program.steps[kind, -1]
    states = program.steps.shape[1] - 1
    events, after = sets.events, sets.after
    own = program.automata[-2]
    automata = len(program.automata) - 1
    place = kind * automata + automata - 1
    fitting = np.int64(0)
    for at in range(program.fits[place], program.fits[place + 1]):
        fitting |= np.int64(1) << (program.lists[at] - own)
    for state in range(states):
        for event in range(count):
            after[event, state] = program.steps[kind, state]
        for at in range(program.state[own + state, ONWARD], program.state[own + state + 1, ONWARD]):
            move = program.lists[at]
            target = np.int64(1) << (program.move[move, TARGET] - own)
            if not target & fitting:
                continue
            low = threshold(program, stretch, program.move[move, GUARD], moment)
            asked, end = program.move[move, CONDITIONS], program.move[move + 1, CONDITIONS]
            chosen = all_hold(conditions, program.lists, asked, end, events, first, count, row)
            for event in range(count):
                if chosen[event] and low <= events[first + event, MOMENT]:
                    after[event, state] |= target
    entries = AT_MASKS + len(sets.masks)
    for event in range(count):
        alive = events[first + event, ALIVE]
        if alive & asking == 0:
            continue
        for state in range(states):
            if (alive >> state) & 1 and after[event, state]:
                events[first + event, EXTENDED] |= np.int64(1) << state
        for entry in range(events[first + event, FIRST], events[first + event, LAST]):
            mask = sets.masks[sets.numbers[entry], MASK]
            if pools and mask & asking == 0:
                continue
            found = np.int64(0)
            for state in range(states):
                if (mask & alive) >> state & 1:
                    found |= after[event, state]
            if found:
                if _is_full(sets):
                    return False
                add_to(sets.sums, entries + _entry(sets, found), entries + entry)
    return True


@kernel
def _end(
    program: Program,
    stream: Stream,
    stretch: Stretch,
    sets: Sets,
    kept: int,
    first: int,
    moment: int,
    row: int,
) -> None:
    """Finish the entries of an event, those from `first` on.

    `kept`: bits of the states from which it may be extended.
    """
    own = program.automata[-2]
    alive = np.int64(0)
    for entry in range(first, sets.counts[ENTRIES]):
        mask = sets.masks[sets.numbers[entry], MASK]
        alive |= mask
        sides = 0
        lowest = -1
        for state in range(program.steps.shape[1] - 1):
            if (mask >> state) & 1 == 0:
                continue
            if lowest < 0:
                lowest = state  # all variables of a type contribute alike
            end = program.state[own + state, END]
            if end != REFUSED and threshold(program, stretch, end, stretch.moments) <= moment:
                sides |= 1 << program.state[own + state, SIDE]
        place = AT_MASKS + len(sets.masks) + entry
        contribute(program, stream, own + lowest, row, sets.sums, place)
        if sides:
            add_to(sets.sums, sides, place)
    event = sets.counts[EVENTS]
    sets.counts[EVENTS] += 1
    sets.events[event, ROW] = row
    sets.events[event, MOMENT] = moment
    sets.events[event, FIRST] = first
    sets.events[event, LAST] = sets.counts[ENTRIES]
    sets.events[event, ALIVE] = alive & kept
    sets.events[event, EXTENDED] = 0


@kernel
def _bury(sets: Sets, earlier: int) -> None:
    """Take from earlier events the runs that this moment went on with, and what has none left."""
    left = 0
    for event in range(sets.counts[EVENTS]):
        alive = sets.events[event, ALIVE]
        if event < earlier:
            alive &= ~sets.events[event, EXTENDED]
        if alive:
            sets.events[left, ROW] = sets.events[event, ROW]
            sets.events[left, MOMENT] = sets.events[event, MOMENT]
            sets.events[left, FIRST] = sets.events[event, FIRST]
            sets.events[left, LAST] = sets.events[event, LAST]
            sets.events[left, ALIVE] = alive
            sets.events[left, EXTENDED] = 0
            left += 1
    sets.counts[EVENTS] = left


@kernel
def _sum_up(program: Program, sets: Sets) -> None:
    if program.shape[SIDES] == 1:
        put(sets.sums, TOTAL, sets.sums, 1)
        return
    cells, powers = sets.sums.cells, sets.sums.powers
    one, one_power = cells[1, 0], powers[1, 0]
    other, other_power = cells[2, 0], powers[2, 0]
    both, both_power = cells[3, 0], powers[3, 0]
    cell, power = pairs(one, one_power, other, other_power, both, both_power)
    cells[TOTAL, 0] = cell
    powers[TOTAL, 0] = power
