"""Moments: which sets their events enter, which bursts they complete."""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.core.arrays import FOREVER, Codes, Ints
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.layout import (
    AFTER,
    BREAKS,
    CHANGED,
    EDGE,
    KEY,
    PHASE,
    ROW,
    Actions,
    Events,
    Graphs,
    Keys,
    Mode,
    Program,
    Records,
    Work,
)
from elsinore.trends.hamlet.states import apply, gather, touch


@kernel
def count_entries(actions: Actions, classes: Codes, sets: int) -> Ints:
    """Return where the list of each set's rows begins."""
    sizes = np.zeros(sets + 1, dtype=np.int64)
    for row in range(classes.shape[0]):
        number = classes[row]
        if number >= 0:
            for e in range(actions.classes[number].enters, actions.classes[number + 1].enters):
                sizes[actions.entries[e].entered + 1] += 1
    return np.cumsum(sizes)


@kernel
def list_entries(
    actions: Actions, classes: Codes, times: Ints, lists: Ints, listed: Records
) -> None:
    """Write the rows that enter each set, in order, with their entries."""
    place = lists.copy()
    for row in range(classes.shape[0]):
        number = classes[row]
        if number >= 0:
            for e in range(actions.classes[number].enters, actions.classes[number + 1].enters):
                at = place[actions.entries[e].entered]
                listed[at].row = row
                listed[at].entry = e
                listed[at].time = times[row]
                place[actions.entries[e].entered] += 1


@wide_kernel(linked=True)
def pass_moments(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    keys: Keys,
    mode: Mode,
    at: Ints,
) -> bool:
    """Pass a key's moments that complete no burst; return whether there is one that does.

    At the key's end is one more.
    """
    row, end, classes = at[ROW], keys.starts[at[KEY] + 1], keys.classes
    while row <= end:
        time = events.times[row] if row < end else last_time(keys, at[KEY])
        after = row + 1
        if mode.by_time and row < end:
            while after < end and events.times[after] == time:
                after += 1
        breaks = False
        for r in range(row, min(after, end)):
            kind = classes[r]
            if kind >= 0:
                breaks |= actions.classes[kind].breaks != actions.classes[kind + 1].breaks
        if breaks or time >= work.edge[0]:
            at[ROW], at[AFTER], at[BREAKS], at[PHASE] = row, after, breaks, EDGE
            return True
        if row == end:
            break
        enter_moment(program, actions, work, graphs, events, classes, row, after)
        if work.touched[-1] > 0:
            apply(program, work)
        row = after
    return False


@wide_kernel(linked=True)
def last_time(keys: Keys, key: int) -> int:
    """Return when a key's last moment is: where it stays, at an edge of windows, else FOREVER."""
    return keys.until[key] if keys.stays else FOREVER


@wide_kernel(linked=True)
def enter_moment(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    classes: Codes,
    row: int,
    after: int,
) -> None:
    """Let the events of a moment enter coarse states and bursts."""
    for r in range(row, after):
        kind = classes[r]
        if kind < 0:
            continue
        for i in range(actions.classes[kind].coarse, actions.classes[kind + 1].coarse):
            touch(program, work, graphs, events, actions.lists[i], r)
        for i in range(actions.classes[kind].enters, actions.classes[kind + 1].enters):
            work.bursts[actions.entries[i].entered].high += 1


@wide_kernel(linked=True)
def completed(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    classes: Codes,
    row: int,
    after: int,
    phase: int,
) -> int:
    """Queue the sets whose bursts are complete, with their inputs; return how many they are.

    EDGE: all sets; otherwise those whose bursts the events of a moment complete. The inputs of all
    are worked out before any burst is processed: the events of a moment do not precede each other.
    """
    count = 0
    if phase == EDGE:
        for number in range(work.queue.shape[0]):
            if work.bursts[number].low != work.bursts[number].high:
                work.queue[count] = number
                count += 1
    else:
        for r in range(row, after):
            kind = classes[r]
            if kind < 0:
                continue
            for i in range(actions.classes[kind].breaks, actions.classes[kind + 1].breaks):
                number = actions.lists[i]
                queued = work.bursts[number].low == work.bursts[number].high
                for q in range(count):
                    queued |= work.queue[q] == number
                if not queued:
                    work.queue[count] = number
                    count += 1
    for q in range(count):
        _update_inputs(program, work, graphs, work.queue[q])
    return count


@wide_kernel(linked=True)
def _update_inputs(program: Program, work: Work, graphs: Graphs, number: int) -> None:
    """Work out what comes into a set's members, where it has changed."""
    changed = False
    for m in range(program.sets[number].members, program.sets[number + 1].members):
        if work.flags[program.members[m].member].dirty != 0:
            gather(program, work, graphs, program.members[m].member)
            work.flags[program.members[m].member].dirty = 0
            changed = True
    work.counts[number, CHANGED] += changed
