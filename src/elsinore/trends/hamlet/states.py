"""States: what comes into them, what an event adds, cells brought up to date."""

from __future__ import annotations

from elsinore.trends.core.addends import NOTHING, addend, rank_of
from elsinore.trends.core.arrays import FOREVER, Ints
from elsinore.trends.core.recurrence import gained_extended, least_reached
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.forms import plus
from elsinore.trends.hamlet.graphs import least_of, value_of
from elsinore.trends.hamlet.layout import (
    ADDED,
    INPUT,
    NOW,
    SHARED,
    TOTAL,
    WIDTH,
    Events,
    Graphs,
    Program,
    Rows,
    Shape,
    Work,
)
from elsinore.trends.hamlet.storage import graph_of


@wide_kernel(linked=True)
def refresh(program: Program, work: Work, graphs: Graphs, state: int) -> None:
    """Bring the cells of a fine node up to what its graph says."""
    work.flags[state].stale = 0
    number = program.states[state].home
    graph = graph_of(program, graphs, number)
    width = graph.info[WIDTH]
    first = program.states[state].field
    for lane in range(program.kinds[program.states[state].window].overlap):
        holder = program.fields[first].address - program.sets[number].set_cell + lane
        column = graph.column[holder]
        for f in range(program.states[state + 1].field - first):
            value, power = 0.0, 0
            if column >= 0:
                value = graph.rows.numbers[f * width + column]
                power = graph.rows.powers[f * width + column]
            elif column == SHARED:
                value, power = value_of(program, graph, number, graph.rows, TOTAL, state, lane, f)
            work.cells[NOW, program.fields[first + f].address + lane] = value
            work.powers[NOW, program.fields[first + f].address + lane] = power
        for x in range(program.states[state + 1].extreme - program.states[state].extreme):
            best = FOREVER
            if column >= 0:
                best = graph.rows.least[x * width + column]
            elif column == SHARED:
                best = least_of(program, graph, number, graph.rows, TOTAL, state, lane, x)
            work.least[NOW, program.extremes[program.states[state].extreme + x].least + lane] = best


@wide_kernel(linked=True)
def gather(program: Program, work: Work, graphs: Graphs, state: int) -> None:
    """Add up what comes to a state from the start and from the other states right before it.

    The sums are the state's in the row INPUT.
    """
    begin, end = program.states[state].preds, program.states[state + 1].preds
    for p in range(begin, end):
        if work.flags[program.lists[p]].stale != 0:
            refresh(program, work, graphs, program.lists[p])
    kind = program.states[state].window
    first = program.states[state].field
    for lane in range(program.kinds[kind].overlap):
        for f in range(program.states[state + 1].field - first):
            total, power = 0.0, 0
            if f == 0 and program.states[state].start != 0:
                total = work.opened[program.kinds[kind].openings + lane]
            for p in range(begin, end):
                cell = program.fields[program.states[program.lists[p]].field + f].address + lane
                total, power = plus(total, power, work.cells[NOW, cell], work.powers[NOW, cell])
            cell = program.fields[first + f].address + lane
            work.cells[INPUT, cell] = total
            work.powers[INPUT, cell] = power
        for x in range(program.states[state + 1].extreme - program.states[state].extreme):
            best = FOREVER
            for p in range(begin, end):
                pred = program.lists[p]
                trends = work.cells[NOW, program.fields[program.states[pred].field].address + lane]
                place = program.extremes[program.states[pred].extreme + x].least + lane
                best = least_reached(best, work.least[NOW, place], trends)
            work.least[INPUT, program.extremes[program.states[state].extreme + x].least + lane] = (
                best
            )


@wide_kernel(linked=True)
def contribute(
    events: Events,
    row: int,
    form: Rows,
    at: int,
    unit: Rows,
    what: Ints,
    ranked: Ints,
    shape: Shape,
) -> None:
    """Add an event's own values to its sums and extremes: a_j += v * c_j, b_j = min(b_j, own)."""
    width, numbers, powers = shape.width, form.numbers, form.powers
    begin, begin_least = at * shape.values * width, at * shape.carried * width
    for v in range(1, shape.values):
        for c in range(shape.first, shape.columns):
            trends, place = begin + c, begin + v * width + c
            if numbers[trends] == 0.0 or what[v * width + c] == NOTHING:
                continue
            added = addend(events, row, what[v * width + c])
            if added != 0.0:
                numbers[place], powers[place] = gained_extended(
                    numbers[place], powers[place], numbers[trends], powers[trends], added
                )
    for x in range(shape.carried):
        for c in range(shape.first, shape.columns):
            place = begin_least + x * width + c
            if numbers[begin + c] == 0.0:
                form.least[place] = FOREVER
            else:
                rank = rank_of(events, row, ranked[x * width + c])
                form.least[place] = min(form.least[place], unit.least[x * width + c], rank)


@wide_kernel(linked=True)
def with_input(work: Work, row: int, cell: int) -> tuple[float, int]:
    """Return the sum of what a cell holds in a row and of what comes into it."""
    return plus(
        work.cells[row, cell],
        work.powers[row, cell],
        work.cells[INPUT, cell],
        work.powers[INPUT, cell],
    )


@wide_kernel(linked=True)
def add_to_cell(work: Work, row: int, cell: int, value: float, power: int) -> None:
    """Add a number to what a cell holds in a row."""
    value, power = plus(work.cells[row, cell], work.powers[row, cell], value, power)
    work.cells[row, cell] = value
    work.powers[row, cell] = power


@wide_kernel(linked=True)
def take(
    program: Program, work: Work, events: Events, state: int, row: int, before: int, to: int
) -> None:
    """Let an event take a state: add to row `to` the sums of the trends that it ends.

    They go on with what comes in and with what row `before` holds of the state itself; with INPUT
    for that row, with what comes in alone.
    """
    first = program.states[state].field
    for lane in range(program.kinds[program.states[state].window].overlap):
        trends = program.fields[first].address + lane
        count, count_power = work.cells[INPUT, trends], work.powers[INPUT, trends]
        if before != INPUT:
            count, count_power = with_input(work, before, trends)
        if count == 0.0:
            continue
        for e in range(program.states[state].extreme, program.states[state + 1].extreme):
            place = program.extremes[e].least + lane
            best = min(work.least[INPUT, place], rank_of(events, row, program.extremes[e].ranked))
            best = least_reached(best, work.least[before, place], work.cells[before, trends])
            work.least[to, place] = min(work.least[to, place], best)
        for f in range(first + 1, program.states[state + 1].field):
            cell = program.fields[f].address + lane
            value, power = work.cells[INPUT, cell], work.powers[INPUT, cell]
            if before != INPUT:
                value, power = with_input(work, before, cell)
            added = addend(events, row, program.fields[f].what)
            if added != 0.0:
                value, power = gained_extended(value, power, count, count_power, added)
            add_to_cell(work, to, cell, value, power)
        add_to_cell(work, to, trends, count, count_power)


@wide_kernel(linked=True)
def touch(
    program: Program, work: Work, graphs: Graphs, events: Events, state: int, row: int
) -> None:
    """Let an event take a coarse state; what it adds waits for the end of the moment."""
    gather(program, work, graphs, state)
    if work.flags[state].is_touched == 0:
        work.flags[state].is_touched = 1
        work.touched[work.touched[-1]] = state
        work.touched[-1] += 1
    take(program, work, events, state, row, INPUT, ADDED)


@wide_kernel(linked=True)
def apply(program: Program, work: Work) -> None:
    """Add to the coarse states what the present moment's events brought."""
    for i in range(work.touched[-1]):
        state = work.touched[i]
        work.flags[state].is_touched = 0
        lanes = program.kinds[program.states[state].window].overlap
        for f in range(program.states[state].field, program.states[state + 1].field):
            for cell in range(program.fields[f].address, program.fields[f].address + lanes):
                add_to_cell(work, NOW, cell, work.cells[ADDED, cell], work.powers[ADDED, cell])
                work.cells[ADDED, cell] = 0.0
                work.powers[ADDED, cell] = 0
        for e in range(program.states[state].extreme, program.states[state + 1].extreme):
            for place in range(program.extremes[e].least, program.extremes[e].least + lanes):
                work.least[NOW, place] = min(work.least[NOW, place], work.least[ADDED, place])
                work.least[ADDED, place] = FOREVER
        for n in range(program.states[state].succs, program.states[state + 1].succs):
            work.flags[program.lists[n]].dirty = 1
    work.touched[-1] = 0
