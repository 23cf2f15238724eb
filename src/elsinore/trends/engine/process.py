"""The loop over a batch's events, and the end of windows.

For each event: what the events before its timestamp added is stored, windows close and open, and
the event acts on the lanes of its class's steps. The loop stops, before it changes anything, at an
event that needs something from the caller.
"""

from __future__ import annotations

import cython

from elsinore.trends.engine.anchors import carry
from elsinore.trends.engine.constants import FOREVER, NEVER, UNKNOWN, Index
from elsinore.trends.engine.memory import has_row_room
from elsinore.trends.engine.moments import empty, store_moment
from elsinore.trends.engine.recurrence import act
from elsinore.trends.engine.rows import drop_rows
from elsinore.trends.engine.sharing.bursts import (
    break_bursts,
    end_bursts,
    note_event,
    split,
)
from elsinore.trends.engine.sharing.edges import take_compared
from elsinore.trends.engine.sharing.graphlets import take, take_row
from elsinore.trends.engine.store import Store, touch
from elsinore.trends.engine.tables import Batch, Program
from elsinore.trends.engine.windows import close_windows, first_to_end_after, move_windows


@cython.ccall
@cython.exceptval(check=False)
def process(program: Program, store: Store, batch: Batch, begin: Index) -> Index:
    """Let events act from `begin` on; return the first one that cannot, or their number.

    An event cannot act if its class is unknown, if it is earlier than its key's last one, or if
    there may be too little room for the totals of windows that it closes, or for rows.
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
                let_act(program, store, batch, event, slot, known)
                if store.slots[slot].pending and program.contiguous_blocks == 0:
                    event = take_row(program, store, batch, event, slot, known)
        return batch.codes.shape[0]


@cython.inline
@cython.nogil
def has_room(store: Store) -> cython.bint:
    """Return whether there is room for the totals of all windows of a slot."""
    return store.total_count + store.most_totals <= store.totals.shape[0]


@cython.inline
@cython.nogil
def let_act(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, known: Index
) -> cython.void:
    """Let an event act on the lanes that its class acts on."""
    at: Index
    store.seen[known] = 1
    break_bursts(program, store, slot, known)
    for at in range(program.classes[known].resets, program.classes[known].resets_end):
        empty(program, store, slot, at)
    for at in range(program.classes[known].steps, program.classes[known].steps_end):
        if program.steps[at].carries:
            carry(program, store, batch, event, slot, at)
        else:
            act(program, store, batch, event, slot, at, 0, program.steps[at].lanes)
    for at in range(program.classes[known].sections, program.classes[known].sections_end):
        note_event(program, store, slot, at, batch.has_great)
        let_section_act(program, store, batch, event, slot, at)


@cython.inline
@cython.nogil
def let_section_act(
    program: Program, store: Store, batch: Batch, event: Index, slot: Index, section: Index
) -> cython.void:
    """Let an event join the shared graphlet of a set, and act on the lanes that do not share it."""
    number: Index = program.sections[section].number
    at: Index
    span: Index
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
    """Let an event, whatever it is, come between those of CONTIGUOUS trends."""
    block: Index
    lane: Index
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
    """Store a slot's latest timestamp, close all its windows and make it ready for another key."""
    kind: Index
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

    Return the slot for whose totals there may be too little room, or the number of slots.
    """
    slot: Index
    kind: Index
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
    """Store the latest timestamp of all slots, whose windows stay open."""
    slot: Index
    for slot in range(store.slots.shape[0]):
        store_moment(program, store, slot)


def free_slot(program: Program, store: Store, slot: Index) -> None:
    """Free the rows of a slot of which nothing is open."""
    block: Index
    for block in range(program.blocks.shape[0]):
        if program.blocks[block].rows >= 0:
            drop_rows(program, store, slot, block)
