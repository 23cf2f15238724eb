# cython: infer_types=True
"""The loop over a batch's events, the end of timestamps, and the end of windows.

For each event: what the events before its timestamp added is stored, windows close and open, and
the event acts on the lanes of its class's steps. The loop stops at an event that needs something
from the caller, before that event changes anything.

Simultaneous events do not precede one another: all of them read the lanes from before their
timestamp. So their contributions are kept apart, and stored once no further event can have that
timestamp. An event that NOT forbids empties only lanes of earlier trends.
"""

from __future__ import annotations

from math import fabs

import cython

from elsinore.trends.engine.constants import FOREVER, LEAF_ROWS, LIMIT, NEVER, UNKNOWN, Index
from elsinore.trends.engine.numbers import add_lanes, clear, take_least
from elsinore.trends.engine.ranges import note_matches, sort_leaf
from elsinore.trends.engine.recurrence import act, carry, touch
from elsinore.trends.engine.rows import (
    drop_rows,
    empty_lane,
    empty_row_lanes,
    has_row_room,
    make_scaled,
    store_rows,
)
from elsinore.trends.engine.sharing.bursts import break_bursts, end_bursts, note_event, split
from elsinore.trends.engine.sharing.edges import take_compared
from elsinore.trends.engine.sharing.graphlets import store_graphlets, take, take_row
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Batch, Program
from elsinore.trends.engine.windows import close_windows, first_to_end_after, move_windows


@cython.ccall
@cython.exceptval(check=False)
def process(program: Program, store: Store, batch: Batch, begin: Index) -> Index:
    """Process the events from `begin` on; return the first that cannot be, or their number.

    An event cannot be processed if its class is unknown, if it is earlier than its key's last one,
    or if there may be too little room for rows, or for the totals of windows that it closes.
    """
    event: Index = begin - 1
    with cython.nogil:
        while event + 1 < batch.codes.shape[0]:
            event += 1
            code: cython.longlong = batch.codes[event]
            known: Index = -1 if code < 0 else program.known[code]
            if known == UNKNOWN:
                return event
            if batch.keys[event] < 0 or (known < 0 and program.contiguous_blocks == 0):
                continue
            slot: Index = 0 if store.one_slot else batch.slots[event]
            time: cython.longlong = batch.times[event]
            if program.row_blocks > 0 and not has_row_room(program, store, slot):
                store.needs_rows = True
                return event
            if store.one_slot and store.slots[0].key != batch.keys[event]:
                if not has_room(store):
                    return event
                if store.slots[0].key >= 0:
                    finish(program, store, 0)
            if time != store.slots[slot].time or store.ordered:
                if time < store.slots[slot].time:
                    return event
                if time >= store.slots[slot].edge and not has_room(store):
                    return event
                store_moment(program, store, slot)
                store.slots[slot].time = time
                store.slots[slot].moment += 1
                if time >= store.slots[slot].edge:
                    end_bursts(program, store, slot)
                    move_windows(program, store, slot, time)
                    store.slots[slot].key = batch.keys[event]
                    store.slots[slot].group = batch.groups[event]
            if program.contiguous_blocks > 0:
                break_runs(program, store, slot)
            if known >= 0:
                store.matched += 1
                act_on_class(program, store, batch, event, slot, known)
                if store.slots[slot].pending and program.contiguous_blocks == 0:
                    event = take_row(program, store, batch, event, slot, known)
        return batch.codes.shape[0]


@cython.inline
@cython.nogil
def has_room(store: Store) -> cython.bint:
    """Return whether there is room for the totals of all open windows of a slot."""
    return store.total_count + store.most_totals <= store.totals.shape[0]


@cython.inline
@cython.nogil
def act_on_class(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, known: Index
) -> cython.void:
    """Apply an event to the lanes of its class."""
    store.seen[known] = 1
    break_bursts(program, store, slot, known)
    for at in range(program.classes[known].resets, program.classes[known].resets_end):
        mark_emptied(program, store, slot, at)
    for at in range(program.classes[known].steps, program.classes[known].steps_end):
        if program.steps[at].carries:
            carry(program, store, batch, event, slot, at)
        else:
            act(program, store, batch, event, slot, at, 0, program.steps[at].lanes)
    for at in range(program.classes[known].sections, program.classes[known].sections_end):
        note_event(program, store, slot, at, batch.has_great)
        act_on_section(program, store, batch, event, slot, at)


@cython.inline
@cython.nogil
def act_on_section(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, section: Index
) -> cython.void:
    """Add an event to the shared graphlet of a set, and apply it to lanes that do not share."""
    number: Index = program.sections[section].number
    at: Index
    begin: Index
    if not store.graphlets[slot, number].sharing:
        for span in range(program.sections[section].spans, program.sections[section].spans_end):
            at = program.spans[span].step
            act(program, store, batch, event, slot, at, 0, program.steps[at].lanes)
        return
    if program.sets[number].readers < program.sets[number].readers_end:
        if not take_compared(program, store, batch, event, slot, section):
            split(program, store, slot, number)
        return
    take(program, store, batch, event, slot, section)
    if store.graphlets[slot, number].alone == 0:
        return
    first: Index = program.sets[number].cohorts
    for span in range(program.sections[section].spans, program.sections[section].spans_end):
        at = program.spans[span].step
        end: Index = program.spans[span].members_end
        begin = program.spans[span].members
        while begin < end:
            last: Index = begin
            while last < end and store.shares[slot, first + program.members[last]] == 0:
                last += 1
            if last > begin:
                lane: Index = begin - program.spans[span].members
                lane *= program.spans[span].overlap
                lanes: Index = (last - begin) * program.spans[span].overlap
                act(program, store, batch, event, slot, at, lane, lanes)
            begin = last + 1


@cython.nogil
def break_runs(program: Program, store: Store, slot: Index) -> cython.void:
    """End the CONTIGUOUS trends that an event of any class interrupts."""
    for block in range(program.blocks.shape[0]):
        if not program.blocks[block].is_contiguous:
            continue
        if program.blocks[block].rows >= 0:
            touch(store, slot, block, 0, 1)
            continue
        width: Index = program.blocks[block].width
        touch(store, slot, block, 0, width)
        for lane in range(width):
            store.emptied[slot, program.blocks[block].flag + lane] = 1


@cython.nogil
def finish(program: Program, store: Store, slot: Index) -> cython.void:
    """Store a slot's latest timestamp, close all its windows and free it for another key."""
    store_moment(program, store, slot)
    end_bursts(program, store, slot)
    for kind in range(program.kinds.shape[0]):
        close_windows(program, store, slot, kind, store.last[slot, kind] + 1)
    store.slots[slot].key = -1
    store.slots[slot].time = NEVER
    store.slots[slot].edge = NEVER
    store.slots[slot].scaled = 0


@cython.ccall
@cython.exceptval(check=False)
def close(program: Program, store: Store, until: cython.longlong, begin: Index) -> Index:
    """Close the windows of all slots that end by a time, from slot `begin` on; FOREVER: all.

    Return the first slot for which there may be too little room, or the number of slots.
    """
    with cython.nogil:
        for slot in range(begin, store.slots.shape[0]):
            if store.slots[slot].key < 0:
                continue
            if not has_room(store):
                return slot
            if program.row_blocks > 0 and not has_row_room(program, store, slot):
                store.needs_rows = True
                return slot
            if until == FOREVER:
                finish(program, store, slot)
                continue
            if store.slots[slot].time < until:
                store_moment(program, store, slot)
            if store.slots[slot].edge <= until:
                end_bursts(program, store, slot)
            for kind in range(program.kinds.shape[0]):
                close_windows(program, store, slot, kind, first_to_end_after(program, kind, until))
        return store.slots.shape[0]


def store_all_moments(program: Program, store: Store) -> None:
    """Store the latest timestamp of all slots, without closing windows."""
    slot: Index
    for slot in range(store.slots.shape[0]):
        store_moment(program, store, slot)


def free_slot(program: Program, store: Store, slot: Index) -> None:
    """Free the rows of a slot without open windows."""
    block: Index
    for block in range(program.blocks.shape[0]):
        if program.blocks[block].rows >= 0:
            drop_rows(program, store, slot, block)


@cython.nogil
def store_moment(program: Program, store: Store, slot: Index) -> cython.void:
    """Store what the events of a slot's latest timestamp emptied and added."""
    if store.slots[slot].pending:
        store_graphlets(program, store, slot)
    for place in range(store.slots[slot].touched):
        block: Index = store.touched[slot, place]
        begin: Index = store.ranges[slot, block].begin
        end: Index = store.ranges[slot, block].end
        store.ranges[slot, block].begin = 0
        store.ranges[slot, block].end = 0
        if program.blocks[block].flag >= 0:
            empty_marked(program, store, slot, block, begin, end)
        store_sums(program, store, slot, block, begin, end)
        note_matches(program, store, slot, block)
        rows: Index = program.blocks[block].rows
        if rows >= 0:
            store_rows(program, store, slot, block)
            if program.blocks[block].has_runs and store.leaves[slot, rows].count >= LEAF_ROWS:
                sort_leaf(program, store, slot, block)
    store.slots[slot].touched = 0


@cython.nogil
def mark_emptied(program: Program, store: Store, slot: Index, at: Index) -> cython.void:
    """Mark the lanes of a reset, to be emptied when the timestamp is stored."""
    block: Index = program.resets[at].block
    begin: Index = program.resets[at].lane
    end: Index = begin + program.resets[at].lanes
    for lane in range(begin, end):
        store.emptied[slot, program.blocks[block].flag + lane] = 1
    touch(store, slot, block, begin, end)


@cython.nogil
def empty_marked(
    program: Program, store: Store, slot: Index, block: Index, begin: Index, end: Index
) -> cython.void:
    """Empty the lanes that events of the timestamp marked."""
    emptied: Index = 0
    for lane in range(begin, end):
        emptied += store.emptied[slot, program.blocks[block].flag + lane]
    has_rows: cython.bint = program.blocks[block].rows >= 0
    if has_rows and emptied == program.blocks[block].width:
        drop_rows(program, store, slot, block)
        has_rows = False
    for lane in range(begin, end):
        flag: Index = program.blocks[block].flag + lane
        if store.emptied[slot, flag]:
            store.emptied[slot, flag] = 0
            if has_rows:
                empty_row_lanes(program, store, slot, block, lane, lane + 1, 1)
            empty_lane(program, store, slot, block, lane)


@cython.inline
@cython.nogil
def store_sums(
    program: Program, store: Store, slot: Index, block: Index, begin: Index, end: Index
) -> cython.void:
    """Add what the events of the timestamp added to lanes of a block."""
    for row in range(program.blocks[block].sums):
        first: Index = program.blocks[block].cell + row * program.blocks[block].width + begin
        last: Index = first + end - begin
        if store.slots[slot].scaled:
            add_lanes(store.stored, slot, first, store.added, slot, first, 0, end - begin)
            clear(store.added, slot, first, last, True)
            continue
        passed: cython.bint = False
        for cell in range(first, last):
            store.stored.cells[slot, cell] += store.added.cells[slot, cell]
            store.added.cells[slot, cell] = 0.0
            passed |= not fabs(store.stored.cells[slot, cell]) < LIMIT
        if passed:
            make_scaled(program, store, slot)
    for row in range(program.blocks[block].extremes):
        first = program.blocks[block].extreme + row * program.blocks[block].width + begin
        take_least(store.stored, slot, first, store.added, slot, first, end - begin)
        for cell in range(first, first + end - begin):
            store.added.extremes[slot, cell] = FOREVER
