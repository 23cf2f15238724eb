"""Key after key, moment after moment: coarse states, bursts, windows."""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.hamlet.bursts import (
    alone,
    collapse,
    double,
    enter_all,
    graphlet,
    join,
    leaving,
)
from elsinore.trends.hamlet.graphs import next_epoch, sweep
from elsinore.trends.hamlet.layout import (
    ALWAYS,
    BEFORE_ALL,
    BURSTS,
    CHOSEN,
    COLUMNS,
    CYCLES,
    DECISIONS,
    DYNAMIC,
    FOREVER,
    GRAPHLET_SNAPSHOTS,
    GRAPHLETS,
    LAST_SHARED,
    MERGES,
    MOST,
    MUST,
    NEVER,
    PLAIN,
    ROWS,
    SHARED_GRAPHLETS,
    SPLITS,
    UNTIL,
    Actions,
    Codes,
    Events,
    Graphs,
    Ints,
    Mode,
    Out,
    Program,
    Records,
    Words,
    Work,
)
from elsinore.trends.hamlet.optimizer import (
    any_of,
    cycles,
    decide,
    has,
    has_others,
    relation_of,
    snapshots_at_events,
    weigh,
)
from elsinore.trends.hamlet.states import apply, gather, touch
from elsinore.trends.hamlet.storage import widened
from elsinore.trends.hamlet.windows import advance, with_room
from elsinore.trends.wide import wide_kernel

EDGE, BROKEN, INSIDE = 0, 1, 2  # why bursts are complete: see `run`
MOST_SNAPSHOTS = 512  # of one plain graphlet; a longer burst is cut, which costs one snapshot
MOST_CELLS = 2**27  # of an index before its snapshots are given up for columns of the holders


@wide_kernel
def _feed(program: Program, work: Work, number: int) -> None:
    """Mark the fine nodes that read a set's members as changed."""
    for m in range(program.sets[number].members, program.sets[number + 1].members):
        state = program.members[m].member
        for n in range(program.states[state].succs, program.states[state + 1].succs):
            work.flags[program.lists[n]].dirty = 1


@wide_kernel
def _update_inputs(program: Program, work: Work, graphs: Graphs, number: int) -> None:
    """Work out what comes into a set's members, where it has changed."""
    for m in range(program.sets[number].members, program.sets[number + 1].members):
        if work.flags[program.members[m].member].dirty != 0:
            gather(program, work, graphs, program.members[m].member)
            work.flags[program.members[m].member].dirty = 0


@kernel
def _room(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    mode: Mode,
    number: int,
    low: int,
    high: int,
    shared: Words,
    key_end: int,
) -> Graphs:
    """Make an ordered set's graph ready for a burst.

    Its columns never outgrow its holders unless everything is to be shared, and then not memory:
    where they would, all holders go on in columns of their own.
    """
    info = graphs.info[number]
    snapshots = snapshots_at_events(actions, events, low, high, shared)
    if info[UNTIL] <= low:
        graphs = next_epoch(program, graphs, events, number, low, key_end)
    holders = program.sets[number + 1].holders - program.sets[number].holders
    for attempt in range(2):
        columns = info[COLUMNS] + 1 + snapshots
        if (mode.sharing != DYNAMIC or columns <= max(holders, 2)) and (
            columns * info[ROWS] * program.sets[number].values <= MOST_CELLS
        ):
            break
        if attempt == 0:
            sweep(program, graphs, number, MUST)
        else:
            shared[:] = np.uint64(0)
            snapshots = 0
    needed = info[COLUMNS] + leaving(program, work, graphs, number, shared)
    graphs = widened(program, graphs, number, needed, 1)
    splits = join(program, work, graphs, number, shared)
    work.counts[number, SPLITS] += splits > 0
    if info[UNTIL] <= low:  # all was dead and is swept away
        graphs = next_epoch(program, graphs, events, number, low, key_end)
    for m in range(program.sets[number].members, program.sets[number + 1].members):
        work.flags[program.members[m].member].stale = 1
    moment = longest_moment(events, mode.by_time, low, high)
    return widened(program, graphs, number, info[COLUMNS] + 1 + snapshots, moment)


@wide_kernel
def longest_moment(events: Events, by_time: bool, low: int, high: int) -> int:
    """Return how many events of a burst are of one time, at most."""
    if not by_time:
        return 1
    longest, begin = 1, low
    for i in range(low + 1, high):
        if events.times[events.listed[i].row] != events.times[events.listed[begin].row]:
            begin = i
        longest = max(longest, i + 1 - begin)
    return longest


@wide_kernel
def _piece(
    actions: Actions, events: Events, by_time: bool, low: int, high: int, shared: Words
) -> tuple[int, int]:
    """Return where to cut a plain burst from `low` on, and the snapshots at events before that."""
    end, within = np.int64(low), np.int64(0)
    while end < high:
        taken = relation_of(actions, events.listed[end].entry, shared) == 1
        if taken and within == MOST_SNAPSHOTS:
            row, before = events.listed[end].row, events.listed[end - 1].row
            if not by_time or events.times[row] != events.times[before]:
                break
            within -= 1  # a moment is not cut: `within` may be passed
            high = end + 1
            while (
                high < events.listed.shape[0]
                and events.times[events.listed[high].row] == (events.times[row])
            ):
                high += 1
        within += taken
        end += 1
    return end, within


@kernel
def _process(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    mode: Mode,
    number: int,
    out: Out,
    key_end: int,
) -> Graphs:
    """Decide who shares the complete burst of a set, and process it. Inputs are up to date.

    Where no predicate tells predecessors apart a graphlet is summed up at once, so nothing is left
    to split or to merge. Else holders that share no longer are split off first. `out` has room for
    a record.
    """
    low, high = work.bursts[number].low, work.bursts[number].high
    work.bursts[number].low = high
    counts = work.counts[number]
    plain = program.sets[number].adjacent == PLAIN
    words = program.sets[number + 1].words - program.sets[number].words
    shared = work.masks[CHOSEN, :words]
    shared[:] = np.uint64(0)
    benefit = 0.0
    counts[BURSTS] += 1
    if mode.sharing == ALWAYS:
        shared[:] = ~np.uint64(0)
    elif mode.sharing == DYNAMIC:
        began = cycles()
        if work.weight[program.sets[number].groups] < 0 or not plain:
            weigh(program, work, graphs, number)
        benefit = decide(program, actions, work, graphs, events, mode, number, low, high, shared)
        counts[DECISIONS] += 1
        counts[CYCLES] += np.float64(cycles() - began)
    groups = program.sets[number + 1].groups - program.sets[number].groups
    if groups & 63:  # no bits beyond the groups
        shared[words - 1] &= (np.uint64(1) << np.uint64(groups & 63)) - np.uint64(1)
    share = any_of(shared)
    others = plain and not share
    uniform = share and plain
    if uniform:
        uniform = program.sets[number].values == 1 and program.sets[number].carried == 0
        last = np.int64(-1)
        for i in range(low, high):
            entry = events.listed[i].entry
            if entry != last:
                last = entry
                uniform = uniform and relation_of(actions, entry, shared) == 2
                others = others or has_others(actions, entry, shared)
    if uniform:
        double(program, work, number, events, mode.by_time, low, high, shared)
        counts[GRAPHLET_SNAPSHOTS] += 1
        counts[MOST] = max(counts[MOST], 1.0)
    elif share or not plain:
        begin, end = np.int64(low), np.int64(high)
        if not plain:
            graphs = _room(
                program, actions, work, graphs, events, mode, number, low, high, shared, key_end
            )
            share = any_of(shared)
        while begin < high:
            if plain:
                end, snapshots = _piece(actions, events, mode.by_time, begin, high, shared)
                moment = longest_moment(events, mode.by_time, begin, end)
                graphs = widened(program, graphs, number, 1 + snapshots, moment)
                enter_all(program, graphs, number)
            graphlet(program, actions, work, graphs, events, mode, number, begin, end, shared)
            if plain:
                collapse(program, work, graphs, number, shared)
            begin = end
    if others:
        alone(program, actions, work, events, mode, number, low, high, shared, share)
    if program.sets[number].feeds != 0:
        _feed(program, work, number)
    members = program.sets[number + 1].members - program.sets[number].members
    inside = members if share else np.int64(0)
    if share and mode.sharing == DYNAMIC:
        for m in range(program.sets[number].members, program.sets[number + 1].members):
            if not has(shared, program.members[m].group):
                inside -= 1
    counts[GRAPHLETS] += share + members - inside
    counts[SHARED_GRAPHLETS] += share
    if plain and counts[BURSTS] > 1:
        counts[SPLITS] += counts[LAST_SHARED] != 0.0 and not share
        counts[MERGES] += counts[LAST_SHARED] == 0.0 and share
    counts[LAST_SHARED] = share
    if mode.record:
        time = events.times[events.listed[low].row]
        _record(out, number, time, high - low, members, inside, benefit)
    return graphs


@kernel
def _with_records(out: Out, more: int) -> Out:
    """Return the results with room for more records of bursts."""
    at = out.record.shape[0]
    if out.used[1] + more <= at:
        return out
    record = np.zeros((2 * at + more + 64, 5), dtype=np.int64)
    benefits = np.zeros(2 * at + more + 64)
    record[:at] = out.record
    benefits[:at] = out.benefit
    return Out(out.used, out.place, out.cells, out.powers, out.extremes, record, benefits)


@wide_kernel
def _record(
    out: Out, number: int, time: int, length: int, queries: int, sharing: int, benefit: float
) -> None:
    """Keep what was decided for a burst."""
    at = out.used[1]
    out.used[1] += 1
    out.record[at, 0] = number
    out.record[at, 1] = time
    out.record[at, 2] = length
    out.record[at, 3] = queries
    out.record[at, 4] = sharing
    out.benefit[at] = benefit


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
def list_entries(actions: Actions, classes: Codes, lists: Ints, listed: Records) -> None:
    """Write the rows that enter each set, in order, with their entries."""
    place = lists.copy()
    for row in range(classes.shape[0]):
        number = classes[row]
        if number >= 0:
            for e in range(actions.classes[number].enters, actions.classes[number + 1].enters):
                at = place[actions.entries[e].entered]
                listed[at].row = row
                listed[at].entry = e
                place[actions.entries[e].entered] += 1


@wide_kernel
def _completed(
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


@kernel
def run(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    mode: Mode,
    starts: Ints,
    done: Ints,
    until: Ints,
    classes: Codes,
    out: Out,
) -> Out:
    """Process all keys, one after another (HAMLET, Algorithm 1, burst by burst).

    Of each moment, in this order: at a window's edge all bursts are processed, and windows closed
    and opened; bursts that its events complete are processed; the events enter coarse states and
    bursts; what is complete within the moment is processed, with inputs from before it; and last
    what the moment adds to coarse states is added.
    """
    sets = program.sets.shape[0] - 1
    began = cycles()
    for number in range(sets):
        work.bursts[number].low = events.lists[number]
        work.bursts[number].high = events.lists[number]
        work.bursts[number].oldest = events.lists[number]
    for key in range(starts.shape[0] - 1):
        row, end = starts[key], starts[key + 1]
        for kind in range(work.open.shape[0]):
            work.open[kind].first = 0
            work.open[kind].last = BEFORE_ALL
        work.edge[0] = NEVER
        while row <= end:
            time = events.times[row] if row < end else FOREVER
            after = row + 1
            if mode.by_time and row < end:
                while after < end and events.times[after] == time:
                    after += 1
            breaks = False
            for r in range(row, min(after, end)):
                kind = classes[r]
                if kind >= 0:
                    breaks |= actions.classes[kind].breaks != actions.classes[kind + 1].breaks
            for phase in range(EDGE, INSIDE + 1):
                if phase == INSIDE and row < end:
                    for r in range(row, after):
                        kind = classes[r]
                        if kind < 0:
                            continue
                        one, other = actions.classes[kind], actions.classes[kind + 1]
                        for i in range(one.coarse, other.coarse):
                            touch(program, work, graphs, events, actions.lists[i], r)
                        for i in range(one.enters, other.enters):
                            work.bursts[actions.entries[i].entered].high += 1
                if not (time >= work.edge[0] if phase == EDGE else breaks):
                    continue
                count = _completed(program, actions, work, graphs, classes, row, after, phase)
                if mode.record:
                    out = _with_records(out, count)
                for q in range(count):
                    graphs = _process(
                        program, actions, work, graphs, events, mode, work.queue[q], out, end
                    )
                if phase == EDGE:
                    out = with_room(program, out)
                    advance(program, work, graphs, events, time, key, done[key], until[key], out)
            if work.touched[-1] > 0:
                apply(program, work)
            row = after
    out.used[2] = cycles() - began
    return out
