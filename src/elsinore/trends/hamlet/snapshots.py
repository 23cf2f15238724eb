"""Snapshots: at the start of a graphlet, at an event, and what they come to at its end."""

from __future__ import annotations

from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.forms import begin_row, clear_column, plus
from elsinore.trends.hamlet.graphs import least_of, value_of
from elsinore.trends.hamlet.layout import (
    BIG,
    COLUMNS,
    DEAD,
    EMPTY,
    INPUT,
    LATEST,
    NOW,
    SHARED,
    SNAPSHOT,
    TOTAL,
    Actions,
    Graph,
    Graphs,
    Program,
    Words,
    Work,
)
from elsinore.trends.hamlet.masks import has
from elsinore.trends.hamlet.states import add_to_cell
from elsinore.trends.hamlet.storage import graph_of, shape_of


@wide_kernel(linked=True)
def snapshot_inputs(
    program: Program,
    work: Work,
    graph: Graph,
    number: int,
    shared: Words,
    plain: bool,
) -> bool:
    """Create the snapshot at the start of a graphlet, if any value changed; return whether.

    Its value for a holder is what comes in from the start and the other states right before
    (Definition 8), for a plain set also the sum of the graphlets before.
    """
    base = program.sets[number].set_cell
    base_least = program.sets[number].set_least
    latest = graph.info[LATEST]
    new = graph.info[COLUMNS]
    changed = False
    nonzero = False
    for m in range(program.sets[number].members, program.sets[number + 1].members):
        if not has(shared, program.members[m].group):
            continue
        state = program.members[m].member
        first = program.states[state].field
        trends = program.fields[first].address
        for lane in range(program.kinds[program.states[state].window].overlap):
            if graph.column[trends - base + lane] != SHARED:
                continue
            for f in range(first, program.states[state + 1].field):
                cell = program.fields[f].address + lane
                value, power = work.cells[INPUT, cell], work.powers[INPUT, cell]
                if plain:
                    value, power = plus(value, power, work.cells[NOW, cell], work.powers[NOW, cell])
                graph.table[new, cell - base] = value
                graph.table_powers[new, cell - base] = power
                if f == first:
                    nonzero |= value != 0.0
                if latest < 0 or (
                    graph.table[latest, cell - base] != value
                    or graph.table_powers[latest, cell - base] != power
                ):
                    changed = True
            for e in range(program.states[state].extreme, program.states[state + 1].extreme):
                place = program.extremes[e].least + lane
                best = work.least[INPUT, place]
                if plain:
                    best = min(best, work.least[NOW, place])
                graph.table_least[new, place - base_least] = best
                if latest < 0 or graph.table_least[latest, place - base_least] != best:
                    changed = True
    if changed and nonzero:
        graph.holder[new] = SNAPSHOT
        graph.info[LATEST] = new
        graph.info[COLUMNS] = new + 1
        return True
    graph.table[new] = 0.0
    graph.table_powers[new] = 0
    graph.table_least[new] = FOREVER
    if not nonzero:
        graph.info[LATEST] = -1
    return False


@wide_kernel(linked=True)
def snapshot_event(
    program: Program,
    actions: Actions,
    graph: Graph,
    number: int,
    entry: int,
    at: int,
    first_form: int,
    step: int,
    shared: Words,
) -> int:
    """Create a snapshot for an event that is not to all who share what it is to one (Definition 9).

    Some do not take it, or it has other predecessors for some. Its value for those who take it is
    the event's form, evaluated: of who compares by condition c, row `first_form + c * step`. The
    event is then that snapshot. Returns how many there are, 0 where no trend ends in the event.
    """
    shape, form = shape_of(program, graph, number), graph.form
    base = program.sets[number].set_cell
    base_least = program.sets[number].set_least
    new = graph.info[COLUMNS]
    is_reached = False
    for t in range(actions.entries[entry].takers, actions.entries[entry + 1].takers):
        member = actions.lists[t]
        if not has(shared, program.members[member].group):
            continue
        state = program.members[member].member
        mine = first_form + step * program.members[member].condition
        first = program.states[state].field
        for lane in range(program.kinds[program.states[state].window].overlap):
            if graph.column[program.fields[first].address - base + lane] != SHARED:
                continue
            for f in range(program.states[state + 1].field - first):
                value, power = value_of(program, graph, number, form, mine, state, lane, f)
                if f == 0:
                    if value == 0.0:
                        break
                    is_reached = True
                cell = program.fields[first + f].address + lane - base
                graph.table[new, cell] = value
                graph.table_powers[new, cell] = power
            for x in range(program.states[state + 1].extreme - program.states[state].extreme):
                place = (
                    program.extremes[program.states[state].extreme + x].least + lane - base_least
                )
                best = least_of(program, graph, number, form, mine, state, lane, x)
                graph.table_least[new, place] = best
    for c in range(new):
        if graph.holder[c] < 0:
            clear_column(form, at, c, shape)
    if is_reached:
        for earlier in range(at + 1):  # forms of the moment so far know nothing of the new column
            clear_column(form, earlier, new, shape)
        graph.holder[new] = SNAPSHOT
        graph.info[COLUMNS] = new + 1
        form.numbers[at * shape.values * shape.width + new] = 1.0
    return 1 if is_reached else 0


@wide_kernel(linked=True)
def enter_all(program: Program, graphs: Graphs, number: int) -> None:
    """Let all holders of a plain set go through snapshots."""
    graph_of(program, graphs, number).column[:] = SHARED


@wide_kernel(linked=True)
def collapse(program: Program, work: Work, graphs: Graphs, number: int, shared: Words) -> None:
    """Add a plain graphlet's sum to the cells of those who shared it, and empty the graph."""
    graph = graph_of(program, graphs, number)
    for m in range(program.sets[number].members, program.sets[number + 1].members):
        if not has(shared, program.members[m].group):
            continue
        state = program.members[m].member
        first = program.states[state].field
        for lane in range(program.kinds[program.states[state].window].overlap):
            for f in range(program.states[state + 1].field - first):
                value, power = value_of(program, graph, number, graph.rows, TOTAL, state, lane, f)
                cell = program.fields[first + f].address + lane
                add_to_cell(work, NOW, cell, value, power)
            for x in range(program.states[state + 1].extreme - program.states[state].extreme):
                best = least_of(program, graph, number, graph.rows, TOTAL, state, lane, x)
                place = program.extremes[program.states[state].extreme + x].least + lane
                work.least[NOW, place] = min(work.least[NOW, place], best)
    columns = graph.info[COLUMNS]
    graph.table[:columns] = 0.0
    graph.table_powers[:columns] = 0
    graph.table_least[:columns] = FOREVER
    begin_row(graph.rows, TOTAL, shape_of(program, graph, number))  # a plain set has no index
    graph.holder[:columns] = DEAD
    graph.column[:] = EMPTY
    graph.info[COLUMNS] = 0
    graph.info[LATEST] = -1
    graph.info[BIG] = 0
