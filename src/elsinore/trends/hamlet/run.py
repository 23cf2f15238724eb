"""Key after key, moment after moment: coarse states, bursts, windows."""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.kernels.cycles import cycles
from elsinore.trends.core.arrays import BEFORE_ALL, FOREVER, NEVER, Ints
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.alone import double
from elsinore.trends.hamlet.decisions import choose, end_burst, is_uniform, with_records
from elsinore.trends.hamlet.graphlet import graphlet, plain_graphlets
from elsinore.trends.hamlet.layout import (
    AFTER,
    BEGAN,
    BREAKS,
    CHOSEN,
    COUNT,
    CYCLES,
    EDGE,
    GRAPHLET_SNAPSHOTS,
    INSIDE,
    KEY,
    MOST,
    PHASE,
    PLACE,
    PLACES,
    PLAIN,
    ROW,
    STEP,
    UNTIL,
    Actions,
    Events,
    Graphs,
    Keys,
    Mode,
    Out,
    Program,
    Work,
)
from elsinore.trends.hamlet.masks import any_of
from elsinore.trends.hamlet.moments import completed, enter_moment, last_time, pass_moments
from elsinore.trends.hamlet.seats import has_seats, take_seats, with_seats, words_of
from elsinore.trends.hamlet.states import apply
from elsinore.trends.hamlet.windows import advance, has_room, is_held, with_room

KEYS, MOMENTS, PHASES, BURSTS_OF_IT, MADE = range(5)
DONE, RESULTS, RECORDS, ROOM, GRAPHLETS_ROOM = range(5)  # why it stops: what needs room


@kernel
def run(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    keys: Keys,
    mode: Mode,
    out: Out,
) -> tuple[Out, Graphs]:
    """Process all keys, one after another (HAMLET, Algorithm 1, burst by burst).

    Of each moment, in this order: at a window's edge all bursts are processed, and windows closed
    and opened; bursts that its events complete are processed; the events enter coarse states and
    bursts; what is complete within the moment is processed, with inputs from before it; and last
    what the moment adds to coarse states is added.

    All of that is done without counting references; where arrays must grow it comes back here.
    """
    began = cycles()
    for number in range(program.sets.shape[0] - 1):
        graphs.info[number, UNTIL] = 0
        work.bursts[number].low = events.begins[number]
        work.bursts[number].high = events.begins[number]
        work.bursts[number].oldest = events.lists[number]
    at = np.zeros(PLACES, dtype=np.int64)
    at[KEY] = -1
    while True:
        why = _go_on(program, actions, work, graphs, events, keys, mode, out, at)
        if why == DONE:
            break
        if why == RESULTS:
            out = with_room(program, out)
        elif why == RECORDS:
            out = with_records(out, 1)
        else:
            number = work.queue[at[PLACE]]
            if why == ROOM:
                end = keys.starts[at[KEY] + 1]
                graphs = with_seats(program, actions, work, graphs, events, mode, number, end)
            else:
                graphs = plain_graphlets(program, actions, work, graphs, events, mode, number)
    out.used[2] = cycles() - began
    return out, graphs


@wide_kernel(linked=True)
def _go_on(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    keys: Keys,
    mode: Mode,
    out: Out,
    at: Ints,
) -> int:
    """Go on from where `at` says until all is done or something must get more room.

    Returns DONE, or what needs room; with that it goes on at the same place.
    """
    while True:
        step = at[STEP]
        if step == KEYS:
            if not _begin_key(work, keys, at):
                return DONE
        elif step == MOMENTS:
            has_moment = pass_moments(program, actions, work, graphs, events, keys, mode, at)
            at[STEP] = PHASES if has_moment else KEYS
        elif step == PHASES:
            _begin_phase(program, actions, work, graphs, events, keys, at)
        elif step == MADE:
            if not _end(program, actions, work, graphs, events, mode, out, at):
                return ROOM
            _count_again(work, events, keys, at, 1.0)
            at[PLACE] += 1
        elif at[PLACE] == at[COUNT]:
            if at[PHASE] == EDGE:
                if not has_room(program, out):
                    return RESULTS
                key, time = at[KEY], _time(events, keys, at)
                done, until = keys.done[key], FOREVER if keys.stays else keys.until[key]
                advance(program, work, graphs, events, time, key, done, until, out)
            at[PHASE] += 1
            at[STEP] = PHASES
        else:
            if mode.record and out.used[1] == out.record.shape[0]:
                return RECORDS
            number = work.queue[at[PLACE]]
            if not is_held(program, work, number):
                work.bursts[number].low = work.bursts[number].high
                at[PLACE] += 1
                continue
            at[STEP], at[BEGAN] = MADE, work.bursts[number].low
            _count_again(work, events, keys, at, -1.0)
            why = _begin(program, actions, work, graphs, events, keys, mode, at)
            if why != DONE:
                return why


@wide_kernel(linked=True)
def _begin_key(work: Work, keys: Keys, at: Ints) -> bool:
    """Begin with the next key; return whether there is one."""
    at[KEY] += 1
    if at[KEY] == keys.starts.shape[0] - 1:
        return False
    at[ROW] = keys.starts[at[KEY]]
    if not keys.resumed:
        for kind in range(work.open.shape[0]):
            work.open[kind].first = 0
            work.open[kind].last = BEFORE_ALL
        work.edge[0] = NEVER
    at[STEP] = MOMENTS
    return True


@wide_kernel(linked=True)
def _count_again(work: Work, events: Events, keys: Keys, at: Ints, sign: float) -> None:
    """Add a set's counts, or take them off, if its burst was counted in an earlier call."""
    counted = keys.counted[at[KEY]]
    if counted != NEVER and events.times[events.listed[at[BEGAN]].row] < counted:
        number = work.queue[at[PLACE]]
        for count in range(CYCLES + 1):
            keys.again[number, count] += sign * work.counts[number, count]


@wide_kernel(linked=True)
def _time(events: Events, keys: Keys, at: Ints) -> int:
    """Return the time of the present moment, at a key's end what `last_time` says."""
    if at[ROW] < keys.starts[at[KEY] + 1]:
        return events.times[at[ROW]]
    return last_time(keys, at[KEY])


@wide_kernel(linked=True)
def _begin_phase(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    keys: Keys,
    at: Ints,
) -> None:
    """Begin a phase of a moment: queue the bursts that are complete; after the last go on."""
    phase, row, after = at[PHASE], at[ROW], at[AFTER]
    if phase > INSIDE:
        if work.touched[-1] > 0:
            apply(program, work)
        at[ROW], at[STEP] = after, MOMENTS
    else:
        if phase == INSIDE and row < keys.starts[at[KEY] + 1]:
            enter_moment(program, actions, work, graphs, events, keys.classes, row, after)
        breaks = at[BREAKS] != 0
        if phase == EDGE:
            breaks = _time(events, keys, at) >= work.edge[0]
        if breaks:
            classes = keys.classes
            at[COUNT] = completed(program, actions, work, graphs, classes, row, after, phase)
            at[PLACE], at[STEP] = 0, BURSTS_OF_IT
        else:
            at[PHASE] += 1


@wide_kernel(linked=True)
def _begin(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    keys: Keys,
    mode: Mode,
    at: Ints,
) -> int:
    """Decide who shares the next complete burst; return DONE, or what needs room for it."""
    number = work.queue[at[PLACE]]
    choose(program, actions, work, graphs, events, mode, keys.classes, number)
    shared = work.masks[CHOSEN, : words_of(program, number)]
    if program.sets[number].adjacent != PLAIN:
        if not has_seats(program, actions, work, graphs, events, mode, number):
            return ROOM
        take_seats(program, work, graphs, number)
    elif any_of(shared):
        if not is_uniform(program, actions, work, events, number):
            return GRAPHLETS_ROOM
        low, high = work.bursts[number].low, work.bursts[number].high
        double(program, work, number, events, mode.by_time, low, high, shared)
        work.counts[number, GRAPHLET_SNAPSHOTS] += 1
        work.counts[number, MOST] = max(work.counts[number, MOST], 1.0)
    return DONE


@wide_kernel(linked=True)
def _end(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    mode: Mode,
    out: Out,
    at: Ints,
) -> bool:
    """Process a burst that was decided on and has room; return whether it had enough."""
    number = work.queue[at[PLACE]]
    shared = work.masks[CHOSEN, : words_of(program, number)]
    low, high = work.bursts[number].low, work.bursts[number].high
    if program.sets[number].adjacent != PLAIN:
        low = graphlet(program, actions, work, graphs, events, mode, number, low, high, shared)
    else:
        low = high
    if low < high:
        work.bursts[number].low = low
        return False
    work.bursts[number].low = at[BEGAN]
    end_burst(program, actions, work, events, mode, number, out)
    at[STEP] = BURSTS_OF_IT
    return True
