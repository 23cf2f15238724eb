"""The graphs of all sets in three arrays: made, found and given more room.

A graph's parts lie one after another in a block. A graph that needs more room gets a new block at
the end; where the arrays end, the blocks in use move together into longer ones.

Nothing that makes arrays may call what is compiled without reference counts and gets arrays from
it: nobody would have counted them.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.core.arrays import FOREVER, Ints
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.forms import add_both, begin_row
from elsinore.trends.hamlet.layout import (
    ALIVE,
    AT,
    AT_INTS,
    BIG,
    COLUMNS,
    DEAD,
    DOUBLES_USED,
    EMPTY,
    FORMS,
    INFO,
    INTS_USED,
    LATEST,
    PEAK,
    ROWS,
    ROWS_STAY,
    TOTAL,
    WIDTH,
    Graph,
    Graphs,
    Program,
    Rows,
    Shape,
)

FIRST_WIDTH = 4
_BYTES, _BYTES_OF_INT = 12, 8  # of a double with its exponent, and of an integer


@wide_kernel(linked=True)
def _cells(program: Program, number: int) -> tuple[int, int, int]:
    """Return the cells, extremes and holders of a set."""
    this, after = program.sets[number], program.sets[number + 1]
    return (
        after.set_cell - this.set_cell,
        after.set_least - this.set_least,
        after.holders - this.holders,
    )


@wide_kernel(linked=True)
def _size(program: Program, number: int, width: int, rows: int, forms: int) -> tuple[int, int]:
    """Return how many numbers, and how many integers, a graph takes."""
    cells, extremes, holders = _cells(program, number)
    values, carried = program.sets[number].values, program.sets[number].carried
    return (
        width * (cells + values * (rows + 1 + forms)),
        2 * (holders + rows) + width * (extremes + carried * (rows + 2 + forms) + values + 3),
    )


@wide_kernel(linked=True)
def graph_at(program: Program, graphs: Graphs, number: int, info: Ints) -> Graph:
    """Return the graph of a set that lies where `info` says."""
    width, rows, forms = info[WIDTH], info[ROWS], info[FORMS]
    cells, extremes, holders = _cells(program, number)
    wide = program.sets[number].values * width
    wide_least = program.sets[number].carried * width
    table = info[AT]
    row = table + width * cells
    unit = row + rows * wide
    form = unit + wide
    end = form + forms * wide
    column = info[AT_INTS]
    chosen = column + holders
    keys = chosen + holders
    used = keys + rows
    table_least = used + rows
    row_least = table_least + width * extremes
    unit_least = row_least + rows * wide_least
    form_least = unit_least + wide_least
    what = form_least + forms * wide_least
    ranked = what + wide
    group = ranked + wide_least
    holder = group + width
    kept = holder + width
    doubles, codes, ints = graphs.doubles, graphs.codes, graphs.ints
    return Graph(
        info,
        doubles[table:row].reshape((width, cells)),
        codes[table:row].reshape((width, cells)),
        ints[table_least:row_least].reshape((width, extremes)),
        Rows(doubles[row:unit], codes[row:unit], ints[row_least:unit_least], width),
        ints[keys : used - 1],
        ints[used : table_least - 1],
        ints[holder:kept],
        ints[column:chosen],
        Rows(doubles[unit:form], codes[unit:form], ints[unit_least:form_least], width),
        Rows(doubles[form:end], codes[form:end], ints[form_least:what], width),
        ints[what:ranked],
        ints[ranked:group],
        ints[group:holder],
        ints[kept : kept + width],
        ints[chosen:keys],
    )


@wide_kernel(linked=True)
def graph_of(program: Program, graphs: Graphs, number: int) -> Graph:
    """Return the graph of a set, as long as it gets no more room."""
    return graph_at(program, graphs, number, graphs.info[number])


@wide_kernel(linked=True)
def shape_of(program: Program, graph: Graph, number: int) -> Shape:
    """Return what the rows of a set's graph are like at present."""
    return Shape(
        program.sets[number].values,
        program.sets[number].carried,
        graph.info[WIDTH],
        graph.info[ALIVE],
        graph.info[COLUMNS],
        graph.info[BIG] != 0,
    )


@wide_kernel(linked=True)
def conditions_of(program: Program, number: int) -> int:
    """Return in how many ways a set's events are compared."""
    return program.sets[number + 1].conditions - program.sets[number].conditions


@wide_kernel(linked=True)
def span_of(program: Program, info: Ints, number: int) -> int:
    """Return how many ranks each condition of a set has in an index that is as `info` says."""
    return (info[ROWS] - 1) // conditions_of(program, number)


@wide_kernel(linked=True)
def is_used(graph: Graph, row: int) -> bool:
    """Return whether a row of a graph is the total or an index's, and not room for more."""
    return row == TOTAL or graph.used[row - 1] != 0


@wide_kernel(linked=True)
def clear(graph: Graph, shape: Shape) -> None:
    """Make a graph one without columns, its index without ranks."""
    graph.table[:] = 0.0
    graph.table_powers[:] = 0
    graph.table_least[:] = FOREVER
    graph.used[:] = 0
    begin_row(graph.rows, TOTAL, shape)
    graph.holder[:] = DEAD
    graph.info[COLUMNS] = 0
    graph.info[ALIVE] = 0
    graph.info[LATEST] = -1


@wide_kernel(linked=True)
def _begin(program: Program, graphs: Graphs, number: int) -> None:
    graph = graph_of(program, graphs, number)
    clear(graph, shape_of(program, graph, number))
    graph.column[:] = EMPTY


@kernel
def new_graphs(program: Program) -> Graphs:
    """Return an empty graph for each set."""
    sets = program.sets.shape[0] - 1
    info = np.zeros((sets, INFO), dtype=np.int64)
    at, at_ints = np.int64(0), np.int64(0)
    for number in range(sets):
        info[number, WIDTH] = FIRST_WIDTH
        info[number, ROWS] = 1
        info[number, FORMS] = 1
        info[number, AT] = at
        info[number, AT_INTS] = at_ints
        doubles, ints = _size(program, number, FIRST_WIDTH, 1, 1)
        at += doubles
        at_ints += ints
    graphs = Graphs(
        info,
        np.array([at, at_ints, _BYTES * at + _BYTES_OF_INT * at_ints]),
        np.zeros(at),
        np.zeros(at, dtype=np.int32),
        np.zeros(at_ints, dtype=np.int64),
    )
    for number in range(sets):
        _begin(program, graphs, number)
    return graphs


@wide_kernel(linked=True)
def _move(program: Program, graphs: Graphs, longer: Graphs, leaves: int) -> None:
    """Move all blocks but that of one set into longer arrays, one after another."""
    info, used = graphs.info, graphs.used
    used[:PEAK] = 0
    for number in range(info.shape[0]):
        if number == leaves:
            continue
        size, size_ints = _size(
            program, number, info[number, WIDTH], info[number, ROWS], info[number, FORMS]
        )
        old, old_ints = info[number, AT], info[number, AT_INTS]
        for i in range(size):
            longer.doubles[used[DOUBLES_USED] + i] = graphs.doubles[old + i]
            longer.codes[used[DOUBLES_USED] + i] = graphs.codes[old + i]
        for i in range(size_ints):
            longer.ints[used[INTS_USED] + i] = graphs.ints[old_ints + i]
        info[number, AT] = used[DOUBLES_USED]
        info[number, AT_INTS] = used[INTS_USED]
        used[DOUBLES_USED] += size
        used[INTS_USED] += size_ints


@wide_kernel(linked=True)
def _settle(
    program: Program, graphs: Graphs, number: int, before: Graphs, info: Ints, index: int
) -> None:
    """Make the graph in a new block the one that lay in `before` as `info` said.

    Of its rows the total is taken, and the others if they are to stay.
    """
    old, new = graph_at(program, before, number, info), graph_of(program, graphs, number)
    columns, latest, alive = info[COLUMNS], info[LATEST], info[ALIVE]
    clear(new, shape_of(program, new, number))
    new.info[COLUMNS] = columns
    new.info[LATEST] = latest
    new.info[ALIVE] = alive
    for holder in range(new.column.shape[0]):
        new.column[holder] = old.column[holder]
    for j in range(columns):
        new.holder[j] = old.holder[j]
        for cell in range(new.table.shape[1]):
            new.table[j, cell] = old.table[j, cell]
            new.table_powers[j, cell] = old.table_powers[j, cell]
        for cell in range(new.table_least.shape[1]):
            new.table_least[j, cell] = old.table_least[j, cell]
    if index == ROWS_STAY:
        for i in range(new.keys.shape[0]):
            new.keys[i] = old.keys[i]
    shape = shape_of(program, new, number)
    for row in range(info[ROWS] if index == ROWS_STAY else 1):
        if is_used(old, row):
            if row > 0:
                new.used[row - 1] = 1
                begin_row(new.rows, row, shape)
            add_both(new.rows, row, old.rows, row, shape)


@kernel
def with_block(
    program: Program, graphs: Graphs, number: int, width: int, rows: int, forms: int, index: int
) -> Graphs:
    """Move a set's graph into a block for one of that size; return where the graphs are now.

    `index`: whether of its rows not only the total stays; then as many as there are are wanted.
    """
    before, info, used = graphs, graphs.info, graphs.used
    old = info[number].copy()
    doubles, ints = _size(program, number, width, rows, forms)
    if (
        used[DOUBLES_USED] + doubles > graphs.doubles.shape[0]
        or used[INTS_USED] + ints > graphs.ints.shape[0]
    ):
        needed, needed_ints = np.int64(0), np.int64(0)
        for any_set in range(info.shape[0]):
            size, size_ints = _size(
                program, any_set, info[any_set, WIDTH], info[any_set, ROWS], info[any_set, FORMS]
            )
            needed += size
            needed_ints += size_ints
        graphs = Graphs(
            info,
            used,
            np.empty(2 * needed + doubles),
            np.empty(2 * needed + doubles, dtype=np.int32),
            np.empty(2 * needed_ints + ints, dtype=np.int64),
        )
        _move(program, before, graphs, number)
        most_bytes = _BYTES * (before.doubles.shape[0] + graphs.doubles.shape[0])
        most_bytes += _BYTES_OF_INT * (before.ints.shape[0] + graphs.ints.shape[0])
        used[PEAK] = max(used[PEAK], most_bytes)
    info[number, AT] = used[DOUBLES_USED]
    info[number, AT_INTS] = used[INTS_USED]
    info[number, WIDTH] = width
    info[number, ROWS] = rows
    info[number, FORMS] = forms
    used[DOUBLES_USED] += doubles
    used[INTS_USED] += ints
    _settle(program, graphs, number, before, old, index)
    return graphs


@kernel
def widened(program: Program, graphs: Graphs, number: int, columns: int, forms: int) -> Graphs:
    """Return the graphs, that of a set with room for so many columns, and forms of a moment."""
    width, there = graphs.info[number, WIDTH], graphs.info[number, FORMS]
    if columns <= width and forms <= there:
        return graphs
    if columns > width:
        width = max(columns, min(2 * width, columns + 64))
    rows = graphs.info[number, ROWS]
    return with_block(program, graphs, number, width, rows, max(forms, there), ROWS_STAY)
