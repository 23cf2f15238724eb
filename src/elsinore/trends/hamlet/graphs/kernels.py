"""The shared graph of one set: making, widening, splitting and sweeping it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.typed import List

from elsinore.trends.hamlet.forms.kernels import plus, times
from elsinore.trends.hamlet.layout import (
    BIG,
    COLUMNS,
    DEAD,
    EMPTY,
    FOREVER,
    INFO,
    LATEST,
    NEVER,
    OLD,
    SHARED,
    SNAPSHOT,
    UNTIL,
    WIDTH,
    Codes,
    Doubles,
    Events,
    Graph,
    Ints,
    Program,
)


@njit(cache=True, nogil=True)
def empty_graph(
    width: int, values: int, carried: int, cells: int, extremes: int, holders: int
) -> Graph:
    """Return a graph without columns, its index without ranks."""
    info = np.zeros(INFO, dtype=np.int64)
    info[WIDTH] = width
    info[LATEST] = -1
    return Graph(
        info,
        np.zeros((width, cells)),
        np.zeros((width, cells), dtype=np.int32),
        np.full((width, extremes), FOREVER),
        np.zeros((1, values * width)),
        np.zeros((1, values * width), dtype=np.int32),
        np.full((1, carried * width), FOREVER),
        np.zeros(0, dtype=np.int64),
        np.full(width, np.int64(DEAD)),
        np.full(holders, np.int64(EMPTY)),
    )


@njit(cache=True, nogil=True)
def new_graphs(program: Program) -> Any:
    """Return an empty graph for each set."""
    graphs = List()
    for number in range(program.sets.shape[0] - 1):
        one, after = program.sets[number], program.sets[number + 1]
        graphs.append(
            empty_graph(
                4,
                one.values,
                one.carried,
                after.set_cell - one.set_cell,
                after.set_least - one.set_least,
                after.holders - one.holders,
            )
        )
    return graphs


@njit(cache=True, nogil=True)
def widened(graph: Graph, values: int, carried: int, wide: int) -> Graph:
    """Return the graph with room for `wide` columns."""
    width = graph.info[WIDTH]
    used = graph.table.shape[0]
    table = np.zeros((wide, graph.table.shape[1]))
    table_powers = np.zeros((wide, graph.table.shape[1]), dtype=np.int32)
    table_least = np.full((wide, graph.table_least.shape[1]), FOREVER)
    table[:used] = graph.table
    table_powers[:used] = graph.table_powers
    table_least[:used] = graph.table_least
    count = graph.rows.shape[0]
    rows = np.zeros((count, values * wide))
    row_powers = np.zeros((count, values * wide), dtype=np.int32)
    row_least = np.full((count, carried * wide), FOREVER)
    for part in range(values):
        begin, old = part * wide, part * width
        rows[:, begin : begin + width] = graph.rows[:, old : old + width]
        row_powers[:, begin : begin + width] = graph.row_powers[:, old : old + width]
    for part in range(carried):
        begin, old = part * wide, part * width
        row_least[:, begin : begin + width] = graph.row_least[:, old : old + width]
    holder = np.full(wide, np.int64(DEAD))
    holder[:width] = graph.holder
    graph.info[WIDTH] = wide
    return Graph(
        graph.info,
        table,
        table_powers,
        table_least,
        rows,
        row_powers,
        row_least,
        graph.keys,
        holder,
        graph.column,
    )


@njit(cache=True, nogil=True)
def value_of(
    program: Program,
    graph: Graph,
    number: int,
    rows: Doubles,
    powers: Codes,
    row: int,
    state: int,
    lane: int,
    entry: int,
) -> tuple[float, int]:
    """Return a form's value for a holder: the row times the snapshot table.

    entry: the field, counted from the state's number of trends.
    """
    first = program.states[state].field
    base = program.sets[number].set_cell
    trends = program.fields[first].address - base + lane
    cell = program.fields[first + entry].address - base + lane
    slot = program.fields[first + entry].slot
    width = graph.info[WIDTH]
    total, power = 0.0, 0
    for j in range(graph.info[COLUMNS]):
        if rows[row, j] == 0.0 or graph.holder[j] != SNAPSHOT:
            continue
        known = graph.table[j, cell]
        if known != 0.0:
            part, exponent = times(rows[row, j], powers[row, j], known, graph.table_powers[j, cell])
            total, power = plus(total, power, part, exponent)
        if slot > 0:
            at = slot * width + j
            known = graph.table[j, trends]
            if known != 0.0 and rows[row, at] != 0.0:
                part, exponent = times(
                    rows[row, at], powers[row, at], known, graph.table_powers[j, trends]
                )
                total, power = plus(total, power, part, exponent)
    return total, power


@njit(cache=True, nogil=True)
def least_of(
    program: Program,
    graph: Graph,
    number: int,
    rows: Doubles,
    least: Ints,
    row: int,
    state: int,
    lane: int,
    entry: int,
) -> int:
    """Return a form's extreme for a holder: the least over the snapshots it reaches."""
    trends = program.fields[program.states[state].field].address
    trends += lane - program.sets[number].set_cell
    first = program.states[state].extreme
    place = program.extremes[first + entry].least - program.sets[number].set_least + lane
    slot = program.extremes[first + entry].extreme_slot
    width = graph.info[WIDTH]
    best = FOREVER
    for j in range(graph.info[COLUMNS]):
        if rows[row, j] == 0.0 or graph.holder[j] != SNAPSHOT or graph.table[j, trends] == 0.0:
            continue
        best = min(best, graph.table_least[j, place])
        if slot >= 0:
            best = min(best, least[row, slot * width + j])
    return best


@njit(cache=True, nogil=True)
def clear_holder(program: Program, graph: Graph, number: int, state: int, lane: int) -> None:
    """Make all snapshots 0 for a holder: it shares no longer."""
    columns = graph.info[COLUMNS]
    for f in range(program.states[state].field, program.states[state + 1].field):
        cell = program.fields[f].address + lane - program.sets[number].set_cell
        graph.table[:columns, cell] = 0.0
        graph.table_powers[:columns, cell] = 0
    for e in range(program.states[state].extreme, program.states[state + 1].extreme):
        place = program.extremes[e].least + lane - program.sets[number].set_least
        graph.table_least[:columns, place] = FOREVER


@njit(cache=True, nogil=True)
def split(program: Program, graph: Graph, number: int, chosen: Ints) -> None:
    """Write the values of shared holders into columns of their own: rows times snapshot table.

    chosen: [holder] -> the new column, or -1. A row of the index holds a sum of events' rows, and
    the product is linear, so the index itself is split and no event looked at again.
    """
    width = graph.info[WIDTH]
    base = program.sets[number].holders
    for row in range(graph.rows.shape[0]):
        empty = True
        for j in range(graph.info[COLUMNS]):
            if graph.rows[row, j] != 0.0:
                empty = False
                break
        if empty:
            continue
        for holder in range(chosen.shape[0]):
            column = chosen[holder]
            if column < 0:
                continue
            state = program.members[program.lists[base + holder]].member
            first = program.states[state].field
            lane = holder - (program.fields[first].address - program.sets[number].set_cell)
            for f in range(program.states[state + 1].field - first):
                value, power = value_of(
                    program, graph, number, graph.rows, graph.row_powers, row, state, lane, f
                )
                graph.rows[row, f * width + column] = value
                graph.row_powers[row, f * width + column] = power
                if power > 0:
                    graph.info[BIG] = 1
            for x in range(program.states[state + 1].extreme - program.states[state].extreme):
                graph.row_least[row, x * width + column] = least_of(
                    program, graph, number, graph.rows, graph.row_least, row, state, lane, x
                )


@njit(cache=True, nogil=True)
def _keep_columns(graph: Graph, values: int, carried: int, kept: Ints) -> None:
    """Keep the columns in `kept` (ascending) and none else."""
    width = graph.info[WIDTH]
    count = kept.shape[0]
    for row in range(graph.rows.shape[0]):
        for part in range(values):
            base = part * width
            for j in range(count):
                graph.rows[row, base + j] = graph.rows[row, base + kept[j]]
                graph.row_powers[row, base + j] = graph.row_powers[row, base + kept[j]]
            graph.rows[row, base + count : base + width] = 0.0
            graph.row_powers[row, base + count : base + width] = 0
        for part in range(carried):
            base = part * width
            for j in range(count):
                graph.row_least[row, base + j] = graph.row_least[row, base + kept[j]]
            graph.row_least[row, base + count : base + width] = FOREVER
    latest = -1
    for j in range(count):
        graph.table[j] = graph.table[kept[j]]
        graph.table_powers[j] = graph.table_powers[kept[j]]
        graph.table_least[j] = graph.table_least[kept[j]]
        graph.holder[j] = graph.holder[kept[j]]
        if graph.holder[j] >= 0:
            graph.column[graph.holder[j]] = j
        if graph.info[LATEST] == kept[j]:
            latest = j
    graph.table[count:] = 0.0
    graph.table_powers[count:] = 0
    graph.table_least[count:] = FOREVER
    graph.holder[count:] = DEAD
    graph.info[LATEST] = latest
    graph.info[COLUMNS] = count


@njit(cache=True, nogil=True)
def sweep(program: Program, graphs: Any, number: int, must: int) -> None:
    """Drop columns that no open holder needs, when more than half are such or they `must` go (1).

    A snapshot is dead when it is 0 for every open holder: all events before the earliest open
    window stand on dead snapshots alone.
    """
    graph = graphs[number]
    columns = graph.info[COLUMNS]
    holders = graph.column.shape[0]
    kept = np.empty(columns, dtype=np.int64)
    alive = 0
    for j in range(columns):
        if graph.holder[j] == SNAPSHOT:
            used = False
            for h in range(holders):
                if graph.column[h] == SHARED and graph.table[j, h] != 0.0:
                    used = True
                    break
            if not used:
                graph.holder[j] = DEAD
                if graph.info[LATEST] == j:
                    graph.info[LATEST] = -1
        if graph.holder[j] != DEAD:
            kept[alive] = j
            alive += 1
    if alive == columns or (alive > 0 and must == 0 and 2 * alive >= columns):
        return
    values, carried = program.sets[number].values, program.sets[number].carried
    if alive > 0:
        _keep_columns(graph, values, carried, kept[:alive])
        return
    cells, extremes = graph.table.shape[1], graph.table_least.shape[1]
    fresh = empty_graph(min(graph.info[WIDTH], 64), values, carried, cells, extremes, holders)
    fresh.column[:] = graph.column
    graphs[number] = fresh


@njit(cache=True, nogil=True)
def earliest_start(program: Program, number: int, time: int) -> int:
    """Return the start of the earliest window of a set's that is open at a time."""
    earliest = FOREVER
    for k in range(program.sets[number].set_kinds, program.sets[number + 1].set_kinds):
        kind = program.kinds[program.lists[k]]
        if kind.within == FOREVER:
            return NEVER
        first = (time - kind.origin - kind.within) // kind.step + 1
        earliest = min(earliest, kind.origin + first * kind.step)
    return earliest


@njit(cache=True, nogil=True)
def next_epoch(
    program: Program, graph: Graph, events: Events, number: int, begin: int, key_end: int
) -> Graph:
    """Begin a new index: the present one becomes the old one, and the old one, all dead, goes.

    An epoch lasts until no window is open that was so at its first event. So two of them hold all
    events that matter, and the ranks of one are those of its own events' values. begin: where in
    the set's list it begins; key_end: the row after the key's last.
    """
    low, high = begin, events.lists[number + 1]
    while low < high:
        middle = (low + high) >> 1
        if events.listed[middle].row < key_end:
            low = middle + 1
        else:
            high = middle
    start = events.times[events.listed[begin].row]
    low, high = begin + 1, low
    while low < high:
        middle = (low + high) >> 1
        if earliest_start(program, number, events.times[events.listed[middle].row]) <= start:
            low = middle + 1
        else:
            high = middle
    graph.info[UNTIL] = low
    attribute = program.sets[number].previous
    inverted = program.sets[number].inverted != 0
    found = np.empty(low - begin, dtype=np.int64)
    count = 0
    for i in range(begin, low):
        row = events.listed[i].row
        if events.known[attribute, row] != 0:
            value = events.compared[attribute, row]
            found[count] = ~value if inverted else value
            count += 1
    found = np.sort(found[:count])
    different = 0
    for i in range(count):
        if i == 0 or found[i] != found[different - 1]:
            found[different] = found[i]
            different += 1
    old = graph.rows.shape[0] - 1 - graph.info[OLD]
    count = 1 + old + different
    keys = np.empty(count - 1, dtype=np.int64)
    keys[:old] = graph.keys[graph.info[OLD] :]
    keys[old:] = found[:different]
    rows = np.zeros((count, graph.rows.shape[1]))
    row_powers = np.zeros((count, graph.rows.shape[1]), dtype=np.int32)
    row_least = np.full((count, graph.row_least.shape[1]), FOREVER)
    rows[0] = graph.rows[0]
    row_powers[0] = graph.row_powers[0]
    row_least[0] = graph.row_least[0]
    rows[1 : 1 + old] = graph.rows[1 + graph.info[OLD] :]
    row_powers[1 : 1 + old] = graph.row_powers[1 + graph.info[OLD] :]
    row_least[1 : 1 + old] = graph.row_least[1 + graph.info[OLD] :]
    graph.info[OLD] = old
    return Graph(
        graph.info,
        graph.table,
        graph.table_powers,
        graph.table_least,
        rows,
        row_powers,
        row_least,
        keys,
        graph.holder,
        graph.column,
    )
