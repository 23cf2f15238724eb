"""Windows of a key: opened when they are wanted, closed with their results."""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.core.arrays import BEFORE_ALL, FOREVER
from elsinore.trends.core.extended import normalise
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.core.window_times import end_of, next_edge, windows_at
from elsinore.trends.hamlet.forms import plus
from elsinore.trends.hamlet.graphs import clear_holder, earliest_start, sweep
from elsinore.trends.hamlet.layout import (
    CHANGED,
    COUNTS,
    DEAD,
    EMPTY,
    EXPECTED,
    IF_MANY,
    INPUT,
    NOW,
    PLAIN,
    REACHED,
    SHARED,
    Events,
    Graphs,
    Out,
    Program,
    Work,
)
from elsinore.trends.hamlet.states import refresh
from elsinore.trends.hamlet.storage import graph_of


@wide_kernel(linked=True)
def most_at_once(program: Program) -> int:
    """Return how many results windows can give that are open at once."""
    most = 0
    for kind in range(program.kinds.shape[0] - 1):
        this, after = program.kinds[kind], program.kinds[kind + 1]
        most += this.overlap * (after.kind_queries - this.kind_queries)
    return most


@wide_kernel(linked=True)
def has_room(program: Program, out: Out) -> bool:
    """Return whether there is room for the results of all windows that can be open at once."""
    return out.used[0] + most_at_once(program) <= out.place.shape[0]


@kernel
def with_room(program: Program, out: Out) -> Out:
    """Return the results with room for those of all windows that can be open at once."""
    most, count = most_at_once(program), out.place.shape[0]
    size = 2 * count + most + 64
    place = np.zeros((size, 3), dtype=np.int64)
    cells = np.zeros((size, out.cells.shape[1]))
    powers = np.zeros((size, out.cells.shape[1]), dtype=np.int32)
    extremes = np.full((size, out.extremes.shape[1]), FOREVER)
    place[:count] = out.place
    cells[:count] = out.cells
    powers[:count] = out.powers
    extremes[:count] = out.extremes
    return Out(out.used, place, cells, powers, extremes, out.record, out.benefit, out.sharers)


@wide_kernel(linked=True)
def is_held(program: Program, work: Work, number: int) -> bool:
    """Return whether the events that a set has now are of an open window."""
    for k in range(program.sets[number].set_kinds, program.sets[number + 1].set_kinds):
        kind = program.lists[k]
        begin = program.kinds[kind].openings
        for opening in range(begin, begin + program.kinds[kind].overlap):
            if work.opened[opening] != 0.0:
                return True
    return False


@wide_kernel(linked=True)
def _give_out(
    program: Program, work: Work, graphs: Graphs, kind: int, window: int, key: int, out: Out
) -> None:
    """Give out what a key has in one window."""
    lane = window % program.kinds[kind].overlap
    for k in range(program.kinds[kind].kind_queries, program.kinds[kind + 1].kind_queries):
        query = program.lists[k]
        has_trends = False
        for e in range(program.queries[query].ends, program.queries[query + 1].ends):
            state = program.lists[e]
            if work.flags[state].stale != 0:
                refresh(program, work, graphs, state)
            has_trends |= (
                work.cells[NOW, program.fields[program.states[state].field].address + lane] != 0.0
            )
        if not has_trends:
            continue
        at = out.used[0]
        out.used[0] += 1
        out.place[at, 0] = query
        out.place[at, 1] = key
        out.place[at, 2] = window
        for f in range(program.queries[query].fields):
            total, power = 0.0, 0
            for e in range(program.queries[query].ends, program.queries[query + 1].ends):
                cell = program.fields[program.states[program.lists[e]].field + f].address + lane
                total, power = plus(total, power, work.cells[NOW, cell], work.powers[NOW, cell])
            total, power = normalise(total, power)
            out.cells[at, f] = total
            out.powers[at, f] = power
        for x in range(program.queries[query].extremes):
            for e in range(program.queries[query].ends, program.queries[query + 1].ends):
                state = program.lists[e]
                if (
                    work.cells[NOW, program.fields[program.states[state].field].address + lane]
                    != 0.0
                ):
                    place = program.extremes[program.states[state].extreme + x].least + lane
                    out.extremes[at, x] = min(out.extremes[at, x], work.least[NOW, place])


@wide_kernel(linked=True)
def _close(program: Program, work: Work, graphs: Graphs, kind: int, lane: int) -> None:
    """Empty a window."""
    for s in range(program.kinds[kind].kind_states, program.kinds[kind + 1].kind_states):
        _empty_lane(program, work, graphs, program.lists[s], lane)
    work.opened[program.kinds[kind].openings + lane] = 0.0


@wide_kernel(linked=True)
def _learn(program: Program, work: Work, kind: int, lane: int) -> None:
    """Take note of how a window went that closes: what came into each set's members."""
    opening = program.kinds[kind].openings + lane
    for number in range(program.sets.shape[0] - 1):
        members, reached = 0, 0
        for m in range(program.sets[number].members, program.sets[number + 1].members):
            state = program.members[m].member
            if program.states[state].window == kind:
                members += 1
                cell = program.fields[program.states[state].field].address + lane
                reached += work.cells[INPUT, cell] != 0.0
        if members > 0:
            counts = work.counts[number]
            counts[EXPECTED] = counts[CHANGED] - counts[COUNTS + opening]
            counts[REACHED] = reached / members


@wide_kernel(linked=True)
def _empty_lane(program: Program, work: Work, graphs: Graphs, state: int, lane: int) -> None:
    number = program.states[state].home
    for f in range(program.states[state].field, program.states[state + 1].field):
        work.cells[NOW, program.fields[f].address + lane] = 0.0
        work.powers[NOW, program.fields[f].address + lane] = 0
    for e in range(program.states[state].extreme, program.states[state + 1].extreme):
        work.least[NOW, program.extremes[e].least + lane] = FOREVER
    if number < 0:
        return
    work.flags[state].dirty = 1
    if program.sets[number].adjacent == PLAIN:
        return
    graph = graph_of(program, graphs, number)
    base = program.sets[number].set_cell
    holder = program.fields[program.states[state].field].address - base + lane
    if graph.column[holder] >= 0:
        graph.holder[graph.column[holder]] = DEAD
    elif graph.column[holder] == SHARED:
        clear_holder(program, graph, number, state, lane)
    graph.column[holder] = EMPTY


@wide_kernel(linked=True)
def advance(
    program: Program,
    work: Work,
    graphs: Graphs,
    events: Events,
    time: int,
    key: int,
    done: int,
    until: int,
    out: Out,
) -> None:
    """Close the windows that end at or before a time, and open those that hold it.

    All are opened that were not given out, also those that end after `until`: a burst is counted
    with all of its windows. At FOREVER all are closed. `out` has room.
    """
    edge = FOREVER
    closed = False
    for kind in range(program.kinds.shape[0] - 1):
        within, step = program.kinds[kind].within, program.kinds[kind].step
        origin = program.kinds[kind].origin
        first, last = -BEFORE_ALL, BEFORE_ALL
        if time != FOREVER:
            first, last = windows_at(within, step, origin, time)
            edge = min(edge, next_edge(within, step, origin, first, last))
        for window in range(work.open[kind].first, work.open[kind].last + 1):
            if window < first:
                lane = window % program.kinds[kind].overlap
                is_whole = end_of(within, step, origin, window) <= until
                if is_whole and window == work.open[kind].first:  # the oldest saw most
                    _learn(program, work, kind, lane)
                if work.opened[program.kinds[kind].openings + lane] != 0.0:
                    if is_whole:
                        _give_out(program, work, graphs, kind, window, key, out)
                    _close(program, work, graphs, kind, lane)
                closed = True
        opened = False
        for window in range(max(first, work.open[kind].last + 1), last + 1):
            if end_of(within, step, origin, window) > done:
                opening = program.kinds[kind].openings + window % program.kinds[kind].overlap
                work.opened[opening] = 1.0
                for number in range(program.sets.shape[0] - 1):
                    work.counts[number, COUNTS + opening] = work.counts[number, CHANGED]
                opened = True
        work.open[kind].first = first
        work.open[kind].last = last
        if opened:
            for s in range(program.kinds[kind].kind_states, program.kinds[kind + 1].kind_states):
                work.flags[program.lists[s]].dirty = 1
    work.edge[0] = edge
    for number in range(program.sets.shape[0] - 1):
        work.weight[program.sets[number].groups] = -1.0
        if program.sets[number].adjacent != PLAIN and closed:
            sweep(program, graphs, number, IF_MANY)
        if time != FOREVER:
            earliest = earliest_start(program, number, time)
            while (
                work.bursts[number].oldest < work.bursts[number].high
                and events.listed[work.bursts[number].oldest].time < earliest
            ):
                work.bursts[number].oldest += 1
