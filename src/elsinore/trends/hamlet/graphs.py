"""The shared graph of one set: its values, splitting it, sweeping it."""

from __future__ import annotations

from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.core.extended import normalise
from elsinore.trends.core.recurrence import least_reached
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.core.window_times import first_window, start_of
from elsinore.trends.hamlet.forms import plus, times
from elsinore.trends.hamlet.layout import (
    ALIVE,
    BIG,
    COLUMNS,
    DEAD,
    ENDS,
    FIRST,
    LATEST,
    ROWS,
    SHARED,
    SNAPSHOT,
    UNTIL,
    WIDTH,
    Graph,
    Graphs,
    Program,
    Rows,
    Shape,
)
from elsinore.trends.hamlet.storage import clear, graph_of, is_used, shape_of

WIDE = 64  # columns that a graph without events keeps room for


@wide_kernel(linked=True)
def value_of(
    program: Program,
    graph: Graph,
    number: int,
    rows: Rows,
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
    begin = row * program.sets[number].values * width
    numbers, powers = rows.numbers, rows.powers
    total, power = 0.0, 0
    for j in range(graph.info[ALIVE], graph.info[COLUMNS]):
        if numbers[begin + j] == 0.0 or graph.holder[j] != SNAPSHOT:
            continue
        known = graph.table[j, cell]
        if known != 0.0:
            part, exponent = times(
                numbers[begin + j], powers[begin + j], known, graph.table_powers[j, cell]
            )
            total, power = plus(total, power, part, exponent)
        if slot > 0:
            at = begin + slot * width + j
            known = graph.table[j, trends]
            if known != 0.0 and numbers[at] != 0.0:
                part, exponent = times(
                    numbers[at], powers[at], known, graph.table_powers[j, trends]
                )
                total, power = plus(total, power, part, exponent)
    return total, power


@wide_kernel(linked=True)
def least_of(
    program: Program,
    graph: Graph,
    number: int,
    rows: Rows,
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
    begin = row * program.sets[number].values * width
    begin_least = row * program.sets[number].carried * width
    best = FOREVER
    for j in range(graph.info[ALIVE], graph.info[COLUMNS]):
        if rows.numbers[begin + j] == 0.0 or graph.holder[j] != SNAPSHOT:
            continue
        rank = graph.table_least[j, place]
        if slot >= 0:
            rank = min(rank, rows.least[begin_least + slot * width + j])
        best = least_reached(best, rank, graph.table[j, trends])
    return best


@wide_kernel(linked=True)
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


@wide_kernel(linked=True)
def split(program: Program, graph: Graph, number: int) -> None:
    """Write the values of shared holders into columns of their own: rows times snapshot table.

    The columns are those in `chosen`. A row of the index holds a sum of events' rows, and the
    product is linear, so the index itself is split and no event looked at again.
    """
    if is_plain(shape_of(program, graph, number)) and _has_plain_table(graph):
        _split_plain(graph)
        return
    width = graph.info[WIDTH]
    base = program.sets[number].holders
    values, carried = program.sets[number].values, program.sets[number].carried
    chosen, alive, columns = graph.chosen, graph.info[ALIVE], graph.info[COLUMNS]
    for row in range(graph.info[ROWS]):
        begin, begin_least = row * values * width, row * carried * width
        empty = True
        for j in range(alive, columns if is_used(graph, row) else 0):
            if graph.rows.numbers[begin + j] != 0.0:
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
                value, power = value_of(program, graph, number, graph.rows, row, state, lane, f)
                graph.rows.numbers[begin + f * width + column] = value
                graph.rows.powers[begin + f * width + column] = power
                if power > 0:
                    graph.info[BIG] = 1
            for x in range(program.states[state + 1].extreme - program.states[state].extreme):
                graph.rows.least[begin_least + x * width + column] = least_of(
                    program, graph, number, graph.rows, row, state, lane, x
                )


@wide_kernel(linked=True)
def is_plain(shape: Shape) -> bool:
    """Return whether a row is of one double for each column: a number of trends, no exponent."""
    return shape.values == 1 and shape.carried == 0 and not shape.big


@wide_kernel(linked=True)
def _has_plain_table(graph: Graph) -> bool:
    """Return whether no value of a snapshot has an exponent."""
    for j in range(graph.info[ALIVE], graph.info[COLUMNS]):
        for cell in range(graph.table_powers.shape[1]):
            if graph.table_powers[j, cell] != 0:
                return False
    return True


@wide_kernel(linked=True)
def _split_plain(graph: Graph) -> None:
    """Do what `split` does where rows and snapshots are plain numbers: four holders at a time."""
    chosen, of, count = graph.chosen, graph.kept, 0
    for holder in range(chosen.shape[0]):
        if chosen[holder] >= 0 and graph.column[holder] == SHARED:
            of[count] = holder
            count += 1
    while count & 3:  # the last one again
        of[count] = of[count - 1]
        count += 1
    numbers, powers, table, is_of = graph.rows.numbers, graph.rows.powers, graph.table, graph.holder
    first, columns = graph.info[ALIVE], graph.info[COLUMNS]
    for row in range(graph.info[ROWS]):
        if not is_used(graph, row):
            continue
        begin = row * graph.info[WIDTH]
        for i in range(0, count, 4):
            a, b, c, d = of[i], of[i + 1], of[i + 2], of[i + 3]
            totals = (0.0, 0.0, 0.0, 0.0)
            for j in range(first, columns):
                number = numbers[begin + j]
                if number != 0.0 and is_of[j] == SNAPSHOT:
                    totals = (
                        totals[0] + number * table[j, a],
                        totals[1] + number * table[j, b],
                        totals[2] + number * table[j, c],
                        totals[3] + number * table[j, d],
                    )
            for place in range(4):
                total, power = normalise(totals[place], 0)
                numbers[begin + chosen[of[i + place]]] = total
                powers[begin + chosen[of[i + place]]] = power
                if power > 0:
                    graph.info[BIG] = 1


@wide_kernel(linked=True)
def has_come(graph: Graph, holder: int) -> bool:
    """Return whether some snapshot is more than 0 for a holder."""
    for j in range(graph.info[ALIVE], graph.info[COLUMNS]):  # noqa: SIM110  (compiled as it stands)
        if graph.table[j, holder] != 0.0:
            return True
    return False


@wide_kernel(linked=True)
def _keep_columns(graph: Graph, values: int, carried: int, count: int) -> None:
    """Keep the first `count` columns in `kept` (ascending) and none else."""
    width, columns = graph.info[WIDTH], graph.info[COLUMNS]
    kept, rows, big = graph.kept, graph.rows, graph.info[BIG] != 0
    for row in range(graph.info[ROWS]):
        if not is_used(graph, row):
            continue
        for part in range(row * values, (row + 1) * values):
            base = part * width
            for j in range(count):
                rows.numbers[base + j] = rows.numbers[base + kept[j]]
            for j in range(base + count, base + columns):
                rows.numbers[j] = 0.0
            if big:
                for j in range(count):
                    rows.powers[base + j] = rows.powers[base + kept[j]]
                for j in range(base + count, base + columns):
                    rows.powers[j] = 0
        for part in range(row * carried, (row + 1) * carried):
            base = part * width
            for j in range(count):
                rows.least[base + j] = rows.least[base + kept[j]]
            for j in range(base + count, base + columns):
                rows.least[j] = FOREVER
    latest = -1
    for j in range(count):
        for cell in range(graph.table.shape[1]):
            graph.table[j, cell] = graph.table[kept[j], cell]
            graph.table_powers[j, cell] = graph.table_powers[kept[j], cell]
        for cell in range(graph.table_least.shape[1]):
            graph.table_least[j, cell] = graph.table_least[kept[j], cell]
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
    graph.info[ALIVE] = 0


@wide_kernel(linked=True)
def sweep(program: Program, graphs: Graphs, number: int, one_of: int) -> None:
    """Drop columns that no open holder needs, where these are more than one of so many.

    A snapshot is dead when it is 0 for every open holder: all events before the earliest open
    window stand on dead snapshots alone.
    """
    graph = graph_of(program, graphs, number)
    columns = graph.info[COLUMNS]
    holders = graph.column.shape[0]
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
            graph.kept[alive] = j
            alive += 1
    if one_of * (columns - alive) <= columns:
        graph.info[ALIVE] = graph.kept[0] if alive > 0 else 0
        return
    if alive > 0:
        _keep_columns(graph, program.sets[number].values, program.sets[number].carried, alive)
        return
    info = graph.info
    info[WIDTH] = min(info[WIDTH], WIDE)
    info[ROWS] = 1
    info[UNTIL] = 0
    info[BIG] = 0
    info[FIRST:ENDS] = 0
    graph = graph_of(program, graphs, number)
    clear(graph, shape_of(program, graph, number))


@wide_kernel(linked=True)
def earliest_start(program: Program, number: int, time: int) -> int:
    """Return the start of the earliest window of a set's that is open at a time."""
    earliest = FOREVER
    for k in range(program.sets[number].set_kinds, program.sets[number + 1].set_kinds):
        kind = program.kinds[program.lists[k]]
        if kind.within == FOREVER:
            return NEVER
        first = first_window(time, kind.within, kind.step, kind.origin)
        earliest = min(earliest, start_of(first, kind.step, kind.origin))
    return earliest
