"""Graphlets: the events of a burst as forms over snapshots, in the shared graph of a set."""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.core.addends import NOTHING
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.edges import compare, insert_everywhere, leave_out, note_size
from elsinore.trends.hamlet.forms import (
    add_both,
    add_row,
    clear_row,
    insert,
    is_reached,
    sum_before,
    sum_past,
)
from elsinore.trends.hamlet.layout import (
    BIG,
    CHOSEN,
    COLUMNS,
    END,
    EVENT_SNAPSHOTS,
    GRAPHLET_SNAPSHOTS,
    INPUT,
    LATEST,
    MIXED,
    MOST,
    PLAIN,
    PRESENT,
    SNAPSHOT,
    TOTAL,
    WIDTH,
    Actions,
    Events,
    Graph,
    Graphs,
    Mode,
    Program,
    Words,
    Work,
)
from elsinore.trends.hamlet.masks import any_of, relation_of
from elsinore.trends.hamlet.seats import end_of_moment, longest_moment
from elsinore.trends.hamlet.snapshots import collapse, enter_all, snapshot_event, snapshot_inputs
from elsinore.trends.hamlet.states import contribute
from elsinore.trends.hamlet.storage import graph_of, shape_of, widened

MOST_SNAPSHOTS = 512  # of one plain graphlet; a longer burst is cut, which costs one snapshot


@wide_kernel(linked=True)
def graphlet(
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
) -> int:
    """Process a burst in the graph: forms over snapshots, and columns of holders on their own.

    The graph has room for a snapshot, for those that events create, and for a moment's events.
    Returns where in the burst it stopped: that of a MIXED set where there is no such room any more.
    """
    kind, values = program.sets[number].adjacent, program.sets[number].values
    current, previous = program.sets[number].current, program.sets[number].previous
    flip = -1 if program.sets[number].inverted != 0 else 0  # ~value is value ^ -1
    counts, shares = work.counts[number], any_of(shared)
    graph = graph_of(program, graphs, number)
    if snapshot_inputs(program, work, graph, number, shared, kind == PLAIN):
        counts[GRAPHLET_SNAPSHOTS] += 1
    own_columns = _come_in(program, work, graph, number)
    form, rows, info, past = graph.form, graph.rows, graph.info, graph.info[PRESENT]
    new_keys = graph.keys[past : info[END]]
    forms = values > 1 or program.sets[number].carried > 0
    i, last_entry, relation = np.int64(low), np.int64(-1), np.int64(0)
    while i < high:
        j = end_of_moment(events, mode.by_time, i, high)
        if kind == MIXED and info[COLUMNS] + j - i > info[WIDTH]:
            break
        for e in range(i, j):
            at, row, entry = e - i, events.listed[e].row, events.listed[e].entry
            shape = shape_of(program, graph, number)
            clear_row(form, at, shape)
            if entry != last_entry:
                last_entry = entry
                relation = relation_of(actions, entry, shared) if shares else 0
            if relation == 0 and own_columns == 0:
                continue
            if kind == MIXED:
                counts[EVENT_SNAPSHOTS] += _compare(
                    program, actions, graph, events, number, row, entry, relation, at, shared
                )
                continue
            if kind == PLAIN:
                add_both(form, at, rows, TOTAL, shape)
            elif events.known[current, row] != 0:
                value = events.compared[current, row] ^ flip
                sum_past(form, at, kind, value, graph.keys, rows, 1, info, shape)
                sum_before(form, at, kind, value, new_keys, rows, 1 + past, shape)
            add_row(form, at, graph.unit, TOTAL, shape)
            if relation != 2 or actions.entries[entry].everyone == 0:
                leave_out(actions, graph, entry, relation, at, shape)
            if forms:
                contribute(events, row, form, at, graph.unit, graph.what, graph.ranked, shape)
            if relation == 1:
                counts[EVENT_SNAPSHOTS] += snapshot_event(
                    program, actions, graph, number, entry, at, at, 0, shared
                )
            if values > 1:
                note_size(info, form, at, shape)
        for e in range(i, j):
            at, row, shape = e - i, events.listed[e].row, shape_of(program, graph, number)
            if not is_reached(form, at, shape):  # no trend ends in the event
                continue
            add_both(rows, TOTAL, form, at, shape)
            if kind == MIXED:
                insert_everywhere(program, graph, events, number, row, at)
            elif kind != PLAIN and events.known[previous, row] != 0:
                value = events.compared[previous, row] ^ flip
                insert(kind, value, new_keys, rows, 1 + past, form, at, shape)
            note_size(info, rows, TOTAL, shape)
        i = j
    counts[MOST] = max(counts[MOST], np.float64(info[COLUMNS] - own_columns))
    return i


@wide_kernel(linked=True)
def _compare(
    program: Program,
    actions: Actions,
    graph: Graph,
    events: Events,
    number: int,
    row: int,
    entry: int,
    relation: int,
    at: int,
    shared: Words,
) -> int:
    """Make the form of an event that is compared in several ways; return its snapshots, 0 or 1."""
    first_form, step = compare(program, actions, graph, events, number, row, entry, relation, at)
    if relation != 1 and step == 0:
        return 0
    return snapshot_event(program, actions, graph, number, entry, at, first_form, step, shared)


@wide_kernel(linked=True)
def _come_in(program: Program, work: Work, graph: Graph, number: int) -> int:
    """Say what comes in at every event of a graphlet; return how many columns are of one holder.

    That is to a holder's own column its inputs, to the latest snapshot 1.
    """
    width, base = graph.info[WIDTH], program.sets[number].set_cell
    unit, what, ranked = graph.unit, graph.what, graph.ranked
    unit.numbers[:] = 0.0
    unit.powers[:] = 0
    unit.least[:] = FOREVER
    what[:] = NOTHING
    ranked[:] = -1
    graph.group[:] = -1
    own_columns = 0
    for j in range(width):
        holder = graph.holder[j] if j < graph.info[COLUMNS] else SNAPSHOT
        if holder < 0:
            for v in range(program.sets[number].values):
                what[v * width + j] = program.slot_what[number, v]
            for x in range(program.sets[number].carried):
                ranked[x * width + j] = program.slot_ranked[number, x]
            continue
        own_columns += 1
        member = program.lists[program.sets[number].holders + holder]
        state = program.members[member].member
        first = program.states[state].field
        lane = holder - (program.fields[first].address - base)
        graph.group[j] = program.members[member].group
        for f in range(program.states[state + 1].field - first):
            cell = program.fields[first + f].address + lane
            unit.numbers[f * width + j] = work.cells[INPUT, cell]
            unit.powers[f * width + j] = work.powers[INPUT, cell]
            what[f * width + j] = program.fields[first + f].what
            if work.powers[INPUT, cell] > 0:
                graph.info[BIG] = 1
        for x in range(program.states[state + 1].extreme - program.states[state].extreme):
            place = program.extremes[program.states[state].extreme + x].least + lane
            unit.least[x * width + j] = work.least[INPUT, place]
            ranked[x * width + j] = program.extremes[program.states[state].extreme + x].ranked
    if graph.info[LATEST] >= 0:
        unit.numbers[graph.info[LATEST]] = 1.0
    return own_columns


@kernel
def plain_graphlets(
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


@wide_kernel(linked=True)
def _piece(
    actions: Actions, events: Events, by_time: bool, low: int, high: int, shared: Words
) -> tuple[int, int]:
    """Return where to cut a plain burst from `low` on, and the snapshots at events before that."""
    end, last, within = np.int64(low), high, np.int64(0)
    while end < high:
        taken = relation_of(actions, events.listed[end].entry, shared) == 1
        if taken and within == MOST_SNAPSHOTS:
            row, before = events.listed[end].row, events.listed[end - 1].row
            if not by_time or events.times[row] != events.times[before]:
                break
            within -= 1  # a moment is not cut: `within` may be passed
            high = end + 1
            while high < last and events.listed[high].time == events.times[row]:
                high += 1
        within += taken
        end += 1
    return end, within
