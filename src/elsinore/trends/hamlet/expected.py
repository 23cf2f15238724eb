"""What sharing is expected to save: for how many holders, at how many snapshots, and till when."""

from __future__ import annotations

import numpy as np

from elsinore.trends.benefit import SPLIT, SPLIT_FORM, changes
from elsinore.trends.core.arrays import Codes, Doubles
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.graphs import earliest_start, is_plain
from elsinore.trends.hamlet.layout import (
    BENEFIT,
    COLUMNS,
    EBBS,
    END,
    EXPECTED,
    FIRST,
    INPUT,
    PLAIN,
    REACHED,
    REGRET,
    SHARED,
    SNAPSHOT,
    STANDING,
    Actions,
    Events,
    Graph,
    Graphs,
    Program,
    Words,
    Work,
)
from elsinore.trends.hamlet.storage import conditions_of, graph_of, shape_of


@wide_kernel(linked=True)
def weigh(program: Program, work: Work, graphs: Graphs, number: int) -> None:
    """Work out for how many holders of each group of a set sharing saves a column of their own.

    In a plain set that is each one whose window is open. In others nothing is done for a holder as
    long as nothing has come into it: then it counts in so far as something is expected to come, by
    how the last window went that closed. Holders that have a column keep it. STANDING: how many
    snapshots are expected to stand, on the average over a window.
    """
    graph, counts = graph_of(program, graphs, number), work.counts[number]
    begin, base = program.sets[number].groups, program.sets[number].set_cell
    work.weight[begin : program.sets[number + 1].groups] = 0.0
    plain = program.sets[number].adjacent == PLAIN
    waits = 1.0  # what a holder counts that nothing has come into
    for turn in range(2):
        opened, reached = 0, 0
        for h in range(graph.column.shape[0]):
            member = program.lists[program.sets[number].holders + h]
            state = program.members[member].member
            lane = h - (program.fields[program.states[state].field].address - base)
            opening = program.kinds[program.states[state].window].openings + lane
            if work.opened[opening] == 0.0:
                continue
            opened += 1
            if graph.column[h] >= 0:
                reached += 1
            elif plain or work.cells[INPUT, base + h] != 0.0:
                reached += 1
                work.weight[begin + program.members[member].group] += turn
            else:
                work.weight[begin + program.members[member].group] += turn * waits
        if turn == 0 and reached < opened:
            expected = 0.5 * counts[REACHED] * opened  # on the average over a window
            waits = min(max((expected - reached) / (opened - reached), 0.0), 1.0)
        if opened > 0:
            lanes = opened * 1.0 / (program.sets[number + 1].members - program.sets[number].members)
            counts[STANDING] = counts[EXPECTED] * (1.0 - 0.5 / max(lanes, 1.0))


@wide_kernel(linked=True)
def look_ahead(
    program: Program,
    actions: Actions,
    work: Work,
    events: Events,
    classes: Codes,
    number: int,
) -> None:
    """Say how many snapshots the first window is going to have, as no window has shown it yet.

    That is how often, before a window has passed, something comes into the set between its events.
    """
    low, expected = work.bursts[number].low, 1.0
    start = events.listed[low].time
    for i in range(low + 1, events.lists[number + 1]):
        row, before = events.listed[i].row, events.listed[i - 1].row
        if row == before + 1:
            continue
        time = events.listed[i].time
        if time < start or earliest_start(program, number, time) > start:  # or of another key
            break
        fed = False
        for r in range(before + 1, row):
            if classes[r] >= 0 and not fed:
                fed = _feeds(program, actions, classes[r], number)
        expected += fed
    work.counts[number, EXPECTED] = expected


@wide_kernel(linked=True)
def _feeds(program: Program, actions: Actions, kind: int, number: int) -> bool:
    """Return whether events of a class take a state right before a member of a set."""
    for c in range(actions.classes[kind].coarse, actions.classes[kind + 1].coarse):
        state = actions.lists[c]
        for n in range(program.states[state].succs, program.states[state + 1].succs):
            if program.states[program.lists[n]].home == number:
                return True
    return False


@wide_kernel(linked=True)
def is_shared(graph: Graph) -> bool:
    """Return whether some holder goes through snapshots."""
    for h in range(graph.column.shape[0]):  # noqa: SIM110  (compiled as it stands)
        if graph.column[h] == SHARED:
            return True
    return False


@wide_kernel(linked=True)
def keep_to_it(
    program: Program,
    work: Work,
    graphs: Graphs,
    cost: Doubles,
    number: int,
    shared: Words,
) -> None:
    """Change from sharing to not sharing, or back, only where that pays for a split as well.

    A split evaluates all snapshots for all holders in each row of the index: as a product of plain
    numbers, or as forms where they are more than that. Sharing is not given
    up before it has lost as much; until then nobody else begins to share (EBBS). This is for
    holders that all take the same events; others may come and go, as snapshots at events are dear.
    """
    if program.sets[number + 1].groups - program.sets[number].groups > 1:
        return
    counts, graph = work.counts[number], graph_of(program, graphs, number)
    if not is_shared(graph):
        return
    benefit = counts[BENEFIT]
    holders, standing = work.weight[program.sets[number].groups], 1
    for j in range(graph.info[COLUMNS]):
        standing += graph.holder[j] == SNAPSHOT
    conditions = conditions_of(program, number)
    rows = np.float64(1 + conditions * (graph.info[END] - graph.info[FIRST]))
    shape = shape_of(program, graph, number)
    times = cost[SPLIT] if is_plain(shape) else cost[SPLIT_FORM] * shape.values
    price = times * rows * holders * standing
    change, counts[REGRET] = changes(counts[REGRET], benefit, True, price)
    if benefit <= 0.0 and not change:
        shared[:] = ~np.uint64(0)
        counts[EBBS] = 1.0
