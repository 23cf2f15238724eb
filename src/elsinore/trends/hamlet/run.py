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
    BENEFIT,
    BURSTS,
    CHANGED,
    CHOSEN,
    COLUMNS,
    CYCLES,
    DECISIONS,
    DYNAMIC,
    EBBS,
    EXPECTED,
    FOREVER,
    FORMS,
    GRAPHLET_SNAPSHOTS,
    GRAPHLETS,
    LAST_SHARED,
    MERGES,
    MIXED,
    MOST,
    MUST,
    NEVER,
    PLAIN,
    ROWS,
    SHARED_GRAPHLETS,
    SPLITS,
    UNTIL,
    WIDTH,
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
    keep_to_it,
    look_ahead,
    relation_of,
    snapshots_at_events,
    weigh,
)
from elsinore.trends.hamlet.states import apply, gather, touch
from elsinore.trends.hamlet.storage import widened
from elsinore.trends.hamlet.windows import advance, has_room, with_room
from elsinore.trends.wide import wide_kernel

EDGE, BROKEN, INSIDE = 0, 1, 2  # why bursts are complete: see `run`
# where a run is: what comes next, the key, the moment's first row and that after it, whether it
# completes bursts, the phase, the place in the queue of complete bursts and how many they are
# and the first row of the burst, of which a part may be done
STEP, KEY, ROW, AFTER, BREAKS, PHASE, PLACE, COUNT, BEGAN, PLACES = range(10)
KEYS, MOMENTS, PHASES, BURSTS_OF_IT, MADE = range(5)
DONE, RESULTS, RECORDS, ROOM, GRAPHLETS_ROOM = range(5)  # why it stops: what needs room
MOST_SNAPSHOTS = 512  # of one plain graphlet; a longer burst is cut, which costs one snapshot
MIXED_SNAPSHOTS = 64  # of a burst that there is room for where events are compared in several ways
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
    changed = False
    for m in range(program.sets[number].members, program.sets[number + 1].members):
        if work.flags[program.members[m].member].dirty != 0:
            gather(program, work, graphs, program.members[m].member)
            work.flags[program.members[m].member].dirty = 0
            changed = True
    work.counts[number, CHANGED] += changed


@wide_kernel
def _words(program: Program, number: int) -> int:
    """Return how many words a mask over a set's groups has."""
    return program.sets[number + 1].words - program.sets[number].words


@wide_kernel
def _has_room(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    mode: Mode,
    number: int,
) -> bool:
    """Return whether an ordered set's graph is ready for a burst: no column is to be added."""
    low, high = work.bursts[number].low, work.bursts[number].high
    info, shared = graphs.info[number], work.masks[CHOSEN, : _words(program, number)]
    if info[UNTIL] <= low or leaving(program, work, graphs, number, shared) > 0:
        return False
    moment = longest_moment(events, mode.by_time, low, high)
    columns = info[COLUMNS] + 1 + _snapshots(program, actions, events, number, low, high, shared)
    if program.sets[number].adjacent == MIXED:
        columns, moment = columns + moment, moment + _forms(program, number)
    holders = program.sets[number + 1].holders - program.sets[number].holders
    grows = mode.sharing == DYNAMIC and any_of(shared) and columns > max(holders, 2)
    return columns <= info[WIDTH] and not grows and info[FORMS] >= moment


@wide_kernel
def _forms(program: Program, number: int) -> int:
    """Return how many forms an event needs beside its own, one for each way to compare it."""
    conditions = program.sets[number + 1].conditions - program.sets[number].conditions
    return conditions if conditions > 1 else 0


@wide_kernel
def _snapshots(
    program: Program,
    actions: Actions,
    events: Events,
    number: int,
    low: int,
    high: int,
    shared: Words,
) -> int:
    """Return how many snapshots the events of a burst create, or those that come first.

    Where events are compared in several ways that is known as they are; a graphlet stops there.
    """
    if program.sets[number].adjacent == MIXED:
        return min(high - low, MIXED_SNAPSHOTS)
    return snapshots_at_events(actions, events, low, high, shared)


@wide_kernel
def _take_seats(program: Program, work: Work, graphs: Graphs, number: int) -> None:
    """Let all holders of an ordered set that share go through snapshots; its sums will change."""
    join(program, work, graphs, number, work.masks[CHOSEN, : _words(program, number)])
    for m in range(program.sets[number].members, program.sets[number + 1].members):
        work.flags[program.members[m].member].stale = 1


@kernel
def _room(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    mode: Mode,
    number: int,
    key_end: int,
) -> Graphs:
    """Make an ordered set's graph ready for a burst.

    Its columns never outgrow its holders unless everything is to be shared, and then not memory:
    where they would, all holders go on in columns of their own.
    """
    info = graphs.info[number]
    low, high = work.bursts[number].low, work.bursts[number].high
    words = program.sets[number + 1].words - program.sets[number].words
    shared = work.masks[CHOSEN, :words]
    snapshots = _snapshots(program, actions, events, number, low, high, shared)
    moment = longest_moment(events, mode.by_time, low, high)
    if program.sets[number].adjacent == MIXED:
        snapshots, moment = snapshots + moment, moment + _forms(program, number)
    if info[UNTIL] <= low:
        graphs = next_epoch(program, graphs, events, number, low, key_end)
    holders = program.sets[number + 1].holders - program.sets[number].holders
    for attempt in range(2):
        columns = info[COLUMNS] + 1 + snapshots
        limited = mode.sharing == DYNAMIC and any_of(shared)
        if (not limited or columns <= max(holders, 2)) and (
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


@wide_kernel
def _choose(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    mode: Mode,
    classes: Codes,
    number: int,
) -> None:
    """Decide who shares the complete burst of a set."""
    low, high = work.bursts[number].low, work.bursts[number].high
    counts, shared = work.counts[number], work.masks[CHOSEN, : _words(program, number)]
    shared[:] = np.uint64(0)
    counts[BURSTS] += 1
    counts[BENEFIT] = 0.0
    counts[EBBS] = 0.0
    if mode.sharing == ALWAYS:
        shared[:] = ~np.uint64(0)
    elif mode.sharing == DYNAMIC:
        began = cycles()
        plain = program.sets[number].adjacent == PLAIN
        if not plain and counts[EXPECTED] < 0.0:
            look_ahead(program, actions, work, events, classes, number)
        if work.weight[program.sets[number].groups] < 0 or not plain:
            weigh(program, work, graphs, number)
        counts[BENEFIT] = decide(
            program, actions, work, graphs, events, mode, number, low, high, shared
        )
        if not plain:
            keep_to_it(program, work, graphs, mode.cost, number, shared)
        counts[DECISIONS] += 1
        counts[CYCLES] += np.float64(cycles() - began)
    groups = program.sets[number + 1].groups - program.sets[number].groups
    if groups & 63:  # no bits beyond the groups
        shared[-1] &= (np.uint64(1) << np.uint64(groups & 63)) - np.uint64(1)


@wide_kernel
def _is_uniform(
    program: Program, actions: Actions, work: Work, events: Events, number: int
) -> bool:
    """Return whether all who share a plain burst take all of it, for COUNT(*) alone."""
    if program.sets[number].values != 1 or program.sets[number].carried != 0:
        return False
    shared, last = work.masks[CHOSEN, : _words(program, number)], np.int64(-1)
    for i in range(work.bursts[number].low, work.bursts[number].high):
        entry = events.listed[i].entry
        if entry != last:
            last = entry
            if relation_of(actions, entry, shared) != 2:
                return False
    return True


@kernel
def _plain_graphlets(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    mode: Mode,
    number: int,
) -> Graphs:
    """Process a plain burst through snapshots, in pieces that do not have too many.

    Where no predicate tells predecessors apart a graphlet is summed up at once, so nothing is left
    to split or to merge.
    """
    begin, high = work.bursts[number].low, work.bursts[number].high
    words = program.sets[number + 1].words - program.sets[number].words
    shared = work.masks[CHOSEN, :words]
    while begin < high:
        end, snapshots = _piece(actions, events, mode.by_time, begin, high, shared)
        moment = longest_moment(events, mode.by_time, begin, end)
        graphs = widened(program, graphs, number, 1 + snapshots, moment)
        enter_all(program, graphs, number)
        graphlet(program, actions, work, graphs, events, mode, number, begin, end, shared)
        collapse(program, work, graphs, number, shared)
        begin = end
    return graphs


@wide_kernel
def _end_burst(
    program: Program,
    actions: Actions,
    work: Work,
    events: Events,
    mode: Mode,
    number: int,
    out: Out,
) -> None:
    """Process a burst of a plain set for those who do not share it; take note of the burst.

    `out` has room for a record.
    """
    low, high = work.bursts[number].low, work.bursts[number].high
    work.bursts[number].low = high
    counts, shared = work.counts[number], work.masks[CHOSEN, : _words(program, number)]
    plain, share = program.sets[number].adjacent == PLAIN, any_of(shared)
    others = plain and not share
    if plain and share:
        last = np.int64(-1)
        for i in range(low, high):
            entry = events.listed[i].entry
            if entry != last:
                last = entry
                others = others or has_others(actions, entry, shared)
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
        _record(out, number, events.listed[low].row, high - low, members, inside, counts[BENEFIT])
        for w in range(shared.shape[0]):
            out.sharers[out.used[1] - 1, w] = shared[w]


@kernel
def _with_records(out: Out, more: int) -> Out:
    """Return the results with room for more records of bursts."""
    at = out.record.shape[0]
    if out.used[1] + more <= at:
        return out
    record = np.zeros((2 * at + more + 64, 5), dtype=np.int64)
    benefits = np.zeros(2 * at + more + 64)
    sharers = np.zeros((2 * at + more + 64, out.sharers.shape[1]), dtype=np.uint64)
    record[:at] = out.record
    benefits[:at] = out.benefit
    sharers[:at] = out.sharers
    return Out(out.used, out.place, out.cells, out.powers, out.extremes, record, benefits, sharers)


@wide_kernel
def _record(
    out: Out, number: int, row: int, length: int, queries: int, sharing: int, benefit: float
) -> None:
    """Keep what was decided for a burst."""
    at = out.used[1]
    out.used[1] += 1
    out.record[at, 0] = number
    out.record[at, 1] = row
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


@wide_kernel
def _enter_moment(
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


@wide_kernel
def _pass_moments(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    mode: Mode,
    end: int,
    classes: Codes,
    at: Ints,
) -> bool:
    """Pass a key's moments that complete no burst; return whether there is one that does.

    At the key's end is one more, at FOREVER.
    """
    row = at[ROW]
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
        if breaks or time >= work.edge[0]:
            at[ROW], at[AFTER], at[BREAKS], at[PHASE] = row, after, breaks, EDGE
            return True
        _enter_moment(program, actions, work, graphs, events, classes, row, after)
        if work.touched[-1] > 0:
            apply(program, work)
        row = after
    return False


@wide_kernel
def _go_on(
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
    at: Ints,
) -> int:
    """Go on from where `at` says until all is done or something must get more room.

    Returns DONE, or what needs room; with that it goes on at the same place.
    """
    while True:
        step = at[STEP]
        if step == KEYS:
            at[KEY] += 1
            if at[KEY] == starts.shape[0] - 1:
                return DONE
            at[ROW] = starts[at[KEY]]
            for kind in range(work.open.shape[0]):
                work.open[kind].first = 0
                work.open[kind].last = BEFORE_ALL
            work.edge[0] = NEVER
            at[STEP] = MOMENTS
            continue
        key, end = at[KEY], starts[at[KEY] + 1]
        if step == MOMENTS:
            found = _pass_moments(program, actions, work, graphs, events, mode, end, classes, at)
            at[STEP] = PHASES if found else KEYS
            continue
        row, phase = at[ROW], at[PHASE]
        time = events.times[row] if row < end else FOREVER
        if step == PHASES:
            if phase > INSIDE:
                if work.touched[-1] > 0:
                    apply(program, work)
                at[ROW], at[STEP] = at[AFTER], MOMENTS
                continue
            if phase == INSIDE and row < end:
                _enter_moment(program, actions, work, graphs, events, classes, row, at[AFTER])
            if time >= work.edge[0] if phase == EDGE else at[BREAKS] != 0:
                at[COUNT] = _completed(
                    program, actions, work, graphs, classes, row, at[AFTER], phase
                )
                at[PLACE], at[STEP] = 0, BURSTS_OF_IT
            else:
                at[PHASE] += 1
            continue
        if step == BURSTS_OF_IT and at[PLACE] == at[COUNT]:
            if phase == EDGE:
                if not has_room(program, out):
                    return RESULTS
                advance(program, work, graphs, events, time, key, done[key], until[key], out)
            at[PHASE] += 1
            at[STEP] = PHASES
            continue
        number = work.queue[at[PLACE]]
        plain = program.sets[number].adjacent == PLAIN
        if step == BURSTS_OF_IT:
            if mode.record and out.used[1] == out.record.shape[0]:
                return RECORDS
            _choose(program, actions, work, graphs, events, mode, classes, number)
            at[STEP] = MADE
            at[BEGAN] = work.bursts[number].low
            if not plain:
                if not _has_room(program, actions, work, graphs, events, mode, number):
                    return ROOM
                _take_seats(program, work, graphs, number)
            elif any_of(work.masks[CHOSEN, : _words(program, number)]):
                if not _is_uniform(program, actions, work, events, number):
                    return GRAPHLETS_ROOM
                low, high = work.bursts[number].low, work.bursts[number].high
                shared = work.masks[CHOSEN, : _words(program, number)]
                double(program, work, number, events, mode.by_time, low, high, shared)
                work.counts[number, GRAPHLET_SNAPSHOTS] += 1
                work.counts[number, MOST] = max(work.counts[number, MOST], 1.0)
            continue
        if not plain:  # MADE
            low, high = work.bursts[number].low, work.bursts[number].high
            shared = work.masks[CHOSEN, : _words(program, number)]
            low = graphlet(program, actions, work, graphs, events, mode, number, low, high, shared)
            if low < high:
                work.bursts[number].low = low
                return ROOM
            work.bursts[number].low = at[BEGAN]
        _end_burst(program, actions, work, events, mode, number, out)
        at[PLACE] += 1
        at[STEP] = BURSTS_OF_IT


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

    All of that is done without counting references; where arrays must grow it comes back here.
    """
    began = cycles()
    for number in range(program.sets.shape[0] - 1):
        work.bursts[number].low = events.lists[number]
        work.bursts[number].high = events.lists[number]
        work.bursts[number].oldest = events.lists[number]
    at = np.zeros(PLACES, dtype=np.int64)
    at[KEY] = -1
    while True:
        why = _go_on(
            program, actions, work, graphs, events, mode, starts, done, until, classes, out, at
        )
        if why == DONE:
            break
        if why == RESULTS:
            out = with_room(program, out)
        elif why == RECORDS:
            out = _with_records(out, 1)
        else:
            number = work.queue[at[PLACE]]
            if why == ROOM:
                end = starts[at[KEY] + 1]
                graphs = _room(program, actions, work, graphs, events, mode, number, end)
            else:
                graphs = _plain_graphlets(program, actions, work, graphs, events, mode, number)
    out.used[2] = cycles() - began
    return out
