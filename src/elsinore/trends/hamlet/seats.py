"""Room in the graph for a burst: each holder's column, or its way through snapshots."""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.epochs import next_epoch
from elsinore.trends.hamlet.graphs import clear_holder, has_come, split, sweep
from elsinore.trends.hamlet.layout import (
    CHOSEN,
    COLUMNS,
    DYNAMIC,
    EBBS,
    EMPTY,
    FORMS,
    IF_SOME,
    INPUT,
    MIXED,
    MUST,
    ROWS,
    SHARED,
    SPLITS,
    UNTIL,
    WIDTH,
    Actions,
    Events,
    Graphs,
    Mode,
    Program,
    Words,
    Work,
)
from elsinore.trends.hamlet.masks import any_of, has, snapshots_at_events
from elsinore.trends.hamlet.storage import conditions_of, graph_of, widened

MIXED_SNAPSHOTS = 64  # of a burst that there is room for where events are compared in several ways
MOST_CELLS = 2**27  # of an index before its snapshots are given up for columns of the holders


@wide_kernel(linked=True)
def leaving(program: Program, work: Work, graphs: Graphs, number: int, shared: Words) -> int:
    """Say in `chosen` which holders of an ordered set get new columns; return how many."""
    graph = graph_of(program, graphs, number)
    graph.chosen[:] = -1
    base = program.sets[number].set_cell
    columns = graph.info[COLUMNS]
    ebbs = work.counts[number, EBBS] != 0.0
    needed = 0
    for m in range(program.sets[number].members, program.sets[number + 1].members):
        shares = has(shared, program.members[m].group)
        if shares and not ebbs:
            continue
        state = program.members[m].member
        kind = program.states[state].window
        first = program.fields[program.states[state].field].address
        for lane in range(program.kinds[kind].overlap):
            holder = first - base + lane
            if graph.column[holder] >= 0 or work.opened[program.kinds[kind].openings + lane] == 0.0:
                continue
            if shares and graph.column[holder] == SHARED:
                continue
            comes = work.cells[INPUT, first + lane] != 0.0
            if comes or (graph.column[holder] == SHARED and has_come(graph, holder)):
                graph.chosen[holder] = columns + needed
                needed += 1
    return needed


@wide_kernel(linked=True)
def join(program: Program, work: Work, graphs: Graphs, number: int, shared: Words) -> int:
    """Give each holder of an ordered set its way: through snapshots, or a column of its own.

    Holders that share no longer are split off: their values so far, one product of the index with
    the snapshot table. Returns how many were.
    """
    needed = leaving(program, work, graphs, number, shared)
    graph = graph_of(program, graphs, number)
    base = program.sets[number].set_cell
    splits = 0
    for m in range(program.sets[number].members, program.sets[number + 1].members):
        state = program.members[m].member
        kind = program.states[state].window
        first = program.fields[program.states[state].field].address
        joins = has(shared, program.members[m].group) and work.counts[number, EBBS] == 0.0
        for lane in range(program.kinds[kind].overlap):
            holder = first - base + lane
            if graph.chosen[holder] >= 0:
                splits += graph.column[holder] == SHARED
            elif (
                joins
                and graph.column[holder] < 0
                and work.opened[program.kinds[kind].openings + lane] != 0.0
            ):
                graph.column[holder] = SHARED
            elif not has(shared, program.members[m].group) and graph.column[holder] == SHARED:
                graph.column[holder] = EMPTY  # nothing has come into it
    if needed == 0:
        return 0
    if splits > 0:
        split(program, graph, number)
    for holder in range(graph.chosen.shape[0]):
        column = graph.chosen[holder]
        if column < 0:
            continue
        if graph.column[holder] == SHARED:
            member = program.lists[program.sets[number].holders + holder]
            state = program.members[member].member
            first = program.fields[program.states[state].field].address
            clear_holder(program, graph, number, state, holder - (first - base))
        graph.column[holder] = column
        graph.holder[column] = holder
    graph.info[COLUMNS] += needed
    if splits > 0:
        sweep(program, graphs, number, MUST)
    return splits


@wide_kernel(linked=True)
def has_seats(
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
    info, shared = graphs.info[number], work.masks[CHOSEN, : words_of(program, number)]
    if info[UNTIL] <= low or leaving(program, work, graphs, number, shared) > 0:
        return False
    moment = longest_moment(events, mode.by_time, low, high)
    columns = info[COLUMNS] + 1 + _snapshots(program, actions, events, number, low, high, shared)
    if program.sets[number].adjacent == MIXED:
        columns, moment = columns + moment, moment + _forms(program, number)
    holders = program.sets[number + 1].holders - program.sets[number].holders
    grows = mode.sharing == DYNAMIC and any_of(shared) and columns > max(holders, 2)
    return columns <= info[WIDTH] and not grows and info[FORMS] >= moment


@wide_kernel(linked=True)
def take_seats(program: Program, work: Work, graphs: Graphs, number: int) -> None:
    """Let all holders of an ordered set that share go through snapshots; its sums will change."""
    join(program, work, graphs, number, work.masks[CHOSEN, : words_of(program, number)])
    for m in range(program.sets[number].members, program.sets[number + 1].members):
        work.flags[program.members[m].member].stale = 1


@kernel
def with_seats(
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
    own_columns = leaving(program, work, graphs, number, shared)
    if info[COLUMNS] + own_columns + 1 + snapshots > info[WIDTH]:
        sweep(program, graphs, number, IF_SOME)  # rows are moved within them sooner than made wider
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


@wide_kernel(linked=True)
def _forms(program: Program, number: int) -> int:
    """Return how many forms an event needs beside its own, one for each way to compare it."""
    conditions = conditions_of(program, number)
    return conditions if conditions > 1 else 0


@wide_kernel(linked=True)
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


@wide_kernel(linked=True)
def longest_moment(events: Events, by_time: bool, low: int, high: int) -> int:
    """Return how many events of a burst are of one time, at most."""
    if not by_time:
        return 1
    longest, begin = 1, low
    while begin < high:
        end = end_of_moment(events, by_time, begin, high)
        longest, begin = max(longest, end - begin), end
    return longest


@wide_kernel(linked=True)
def end_of_moment(events: Events, by_time: bool, low: int, high: int) -> int:
    """Return where the moment of the event at `low` of the sets' lists ends, at most `high`."""
    end = low + 1
    if by_time:
        time = events.listed[low].time
        while end < high and events.listed[end].time == time:
            end += 1
    return end


@wide_kernel(linked=True)
def words_of(program: Program, number: int) -> int:
    """Return how many words a mask over a set's groups has."""
    return program.sets[number + 1].words - program.sets[number].words
