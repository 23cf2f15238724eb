"""Complete bursts: processed for each holder alone, or as a graphlet of the shared graph."""

from __future__ import annotations

import numpy as np

from elsinore.numeric.extended import THRESHOLD, scale
from elsinore.trends.hamlet.edges import compare, first_scratch, insert_everywhere
from elsinore.trends.hamlet.forms import (
    add_row,
    clear_row,
    insert,
    least_row,
    plus,
    sum_before,
    times,
)
from elsinore.trends.hamlet.graphs import (
    clear_holder,
    least_of,
    split,
    sweep,
    value_of,
)
from elsinore.trends.hamlet.layout import (
    BEFORE,
    BIG,
    COLUMNS,
    DEAD,
    DIFFERS,
    EBBS,
    EMPTY,
    EVENT_SNAPSHOTS,
    FOREVER,
    GRAPHLET_SNAPSHOTS,
    INPUT,
    LATEST,
    MIXED,
    MOST,
    MUST,
    NOTHING,
    NOW,
    OLD,
    PLAIN,
    SHARED,
    SNAPSHOT,
    TOTAL,
    WIDTH,
    Actions,
    Doubles,
    Events,
    Graph,
    Graphs,
    Mode,
    Program,
    Words,
    Work,
)
from elsinore.trends.hamlet.optimizer import has, has_others, relation_of, takes
from elsinore.trends.hamlet.states import contribute, contribution, own_rank
from elsinore.trends.hamlet.storage import graph_of
from elsinore.trends.wide import wide_kernel


@wide_kernel
def alone(
    program: Program,
    actions: Actions,
    work: Work,
    events: Events,
    mode: Mode,
    number: int,
    low: int,
    high: int,
    shared: Words,
    some_share: bool,
) -> None:
    """Process a burst for each holder that does not share it (HAMLET, Equations 1 to 3).

    Where no predicate tells predecessors apart, an event's count is what went before plus what came
    in: x = inputs + cells, and cells += x.
    """
    begin, end = program.sets[number].set_cell, program.sets[number + 1].set_cell
    counts = program.sets[number + 1].holders - program.sets[number].holders
    simple = program.sets[number].values == 1 and program.sets[number].carried == 0
    cells, powers = work.cells[NOW], work.powers[NOW]
    inputs, input_powers = work.cells[INPUT], work.powers[INPUT]
    i = low
    while i < high:
        time = events.times[events.listed[i].row]
        j = i + 1
        if mode.by_time:
            while j < high and events.times[events.listed[j].row] == time:
                j += 1
        if (
            simple
            and j == i + 1
            and not some_share
            and actions.entries[events.listed[i].entry].everyone != 0
        ):
            # in place, because every holder stands for itself
            for cell in range(begin, begin + counts):
                x, x_power = plus(cells[cell], powers[cell], inputs[cell], input_powers[cell])
                cells[cell], powers[cell] = plus(cells[cell], powers[cell], x, x_power)
            i = j
            continue
        source = NOW
        if j > i + 1:
            source = BEFORE
            for cell in range(begin, end):
                work.cells[BEFORE, cell] = work.cells[NOW, cell]
                work.powers[BEFORE, cell] = work.powers[NOW, cell]
            for x in range(program.sets[number].set_least, program.sets[number + 1].set_least):
                work.least[BEFORE, x] = work.least[NOW, x]
        for e in range(i, j):
            entry, row = events.listed[e].entry, events.listed[e].row
            if some_share and not has_others(actions, entry, shared):
                continue
            for t in range(actions.entries[entry].takers, actions.entries[entry + 1].takers):
                member = actions.lists[t]
                if some_share and has(shared, program.members[member].group):
                    continue
                state = program.members[member].member
                if simple:
                    cell = program.fields[program.states[state].field].address
                    for _ in range(program.kinds[program.states[state].window].overlap):
                        x, x_power = plus(
                            work.cells[source, cell],
                            work.powers[source, cell],
                            inputs[cell],
                            input_powers[cell],
                        )
                        cells[cell], powers[cell] = plus(cells[cell], powers[cell], x, x_power)
                        cell += 1
                else:
                    _take(program, work, events, state, row, source)
        i = j


@wide_kernel
def _take(
    program: Program,
    work: Work,
    events: Events,
    state: int,
    row: int,
    source: int,
) -> None:
    """Let an event take a fine node on its own, with sums and extremes."""
    first = program.states[state].field
    for lane in range(program.kinds[program.states[state].window].overlap):
        trends = program.fields[first].address + lane
        count, count_power = plus(
            work.cells[source, trends],
            work.powers[source, trends],
            work.cells[INPUT, trends],
            work.powers[INPUT, trends],
        )
        if count == 0.0:
            continue
        for e in range(program.states[state].extreme, program.states[state + 1].extreme):
            place = program.extremes[e].least + lane
            best = min(work.least[INPUT, place], own_rank(events, row, program.extremes[e].ranked))
            if work.cells[source, trends] != 0.0:
                best = min(best, work.least[source, place])
            work.least[NOW, place] = min(work.least[NOW, place], best)
        for f in range(first + 1, program.states[state + 1].field):
            cell = program.fields[f].address + lane
            value, power = plus(
                work.cells[source, cell],
                work.powers[source, cell],
                work.cells[INPUT, cell],
                work.powers[INPUT, cell],
            )
            own = contribution(events, row, program.fields[f].what)
            if own != 0.0:
                part, exponent = scale(count, count_power, own)
                value, power = plus(value, power, part, exponent)
            work.cells[NOW, cell], work.powers[NOW, cell] = plus(
                work.cells[NOW, cell], work.powers[NOW, cell], value, power
            )
        work.cells[NOW, trends], work.powers[NOW, trends] = plus(
            work.cells[NOW, trends], work.powers[NOW, trends], count, count_power
        )


@wide_kernel
def double(
    program: Program,
    work: Work,
    number: int,
    events: Events,
    by_time: bool,
    low: int,
    high: int,
    shared: Words,
) -> None:
    """Process a plain shared burst that all who share take whole, COUNT(*) alone: one snapshot.

    After an event the sum of the coefficients is twice what it was and one; after m events of one
    moment, m + 1 times that and m.
    """
    total, power = 0.0, 0
    i = low
    while i < high:
        j = i + 1
        if by_time:
            time = events.times[events.listed[i].row]
            while j < high and events.times[events.listed[j].row] == time:
                j += 1
        x, x_power = plus(total, power, 1.0, 0)
        if j - i > 1:
            x, x_power = scale(x, x_power, np.float64(j - i))
        total, power = plus(total, power, x, x_power)
        i = j
    for m in range(program.sets[number].members, program.sets[number + 1].members):
        if not has(shared, program.members[m].group):
            continue
        state = program.members[m].member
        cell = program.fields[program.states[state].field].address
        for _ in range(program.kinds[program.states[state].window].overlap):
            x, x_power = plus(
                work.cells[NOW, cell],
                work.powers[NOW, cell],
                work.cells[INPUT, cell],
                work.powers[INPUT, cell],
            )
            if x != 0.0:
                x, x_power = times(x, x_power, total, power)
                work.cells[NOW, cell], work.powers[NOW, cell] = plus(
                    work.cells[NOW, cell], work.powers[NOW, cell], x, x_power
                )
            cell += 1


@wide_kernel
def _snapshot_inputs(
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


@wide_kernel
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
            if graph.column[holder] == SHARED or work.cells[INPUT, first + lane] != 0.0:
                graph.chosen[holder] = columns + needed
                needed += 1
    return needed


@wide_kernel
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


@wide_kernel
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
    plain = program.sets[number].adjacent == PLAIN
    mixed = program.sets[number].adjacent == MIXED
    values, carried = program.sets[number].values, program.sets[number].carried
    counts = work.counts[number]
    graph = graph_of(program, graphs, number)
    if _snapshot_inputs(program, work, graph, number, shared, plain):
        counts[GRAPHLET_SNAPSHOTS] += 1
    width = graph.info[WIDTH]
    base = program.sets[number].set_cell
    # what comes in at every event: to a holder's own column its inputs, to the latest snapshot 1
    unit, unit_powers, unit_least = graph.unit, graph.unit_powers, graph.unit_least
    what, ranked, group = graph.what, graph.ranked, graph.group
    unit[:] = 0.0
    unit_powers[:] = 0
    unit_least[:] = FOREVER
    what[:] = NOTHING
    ranked[:] = -1
    group[:] = -1
    own_columns = 0
    for j in range(width):
        holder = graph.holder[j] if j < graph.info[COLUMNS] else SNAPSHOT
        if holder < 0:
            for v in range(values):
                what[v * width + j] = program.slot_what[number, v]
            for x in range(carried):
                ranked[x * width + j] = program.slot_ranked[number, x]
            continue
        own_columns += 1
        member = program.lists[program.sets[number].holders + holder]
        state = program.members[member].member
        first = program.states[state].field
        lane = holder - (program.fields[first].address - base)
        group[j] = program.members[member].group
        for f in range(program.states[state + 1].field - first):
            cell = program.fields[first + f].address + lane
            unit[f * width + j] = work.cells[INPUT, cell]
            unit_powers[f * width + j] = work.powers[INPUT, cell]
            what[f * width + j] = program.fields[first + f].what
            if work.powers[INPUT, cell] > 0:
                graph.info[BIG] = 1
        for x in range(program.states[state + 1].extreme - program.states[state].extreme):
            place = program.extremes[program.states[state].extreme + x].least + lane
            unit_least[x * width + j] = work.least[INPUT, place]
            ranked[x * width + j] = program.extremes[program.states[state].extreme + x].ranked
    if graph.info[LATEST] >= 0:
        unit[graph.info[LATEST]] = 1.0
    shares = False
    for w in range(shared.shape[0]):
        shares |= shared[w] != 0
    current, previous = program.sets[number].current, program.sets[number].previous
    kind = program.sets[number].adjacent
    inverted = program.sets[number].inverted != 0
    form, form_powers, form_least = graph.form, graph.form_powers, graph.form_least
    rows, row_powers, row_least = graph.rows, graph.row_powers, graph.row_least
    old = graph.info[OLD]
    old_keys, new_keys = graph.keys[:old], graph.keys[old:]
    i = np.int64(low)
    last_entry, relation = np.int64(-1), np.int64(0)
    while i < high:
        time = events.times[events.listed[i].row]
        j = i + 1
        if mode.by_time:
            while j < high and events.times[events.listed[j].row] == time:
                j += 1
        if mixed and graph.info[COLUMNS] + j - i > width:
            break
        for e in range(i, j):
            at = e - i
            row, entry = events.listed[e].row, events.listed[e].entry
            columns = graph.info[COLUMNS]
            big = graph.info[BIG] != 0
            clear_row(form, form_powers, form_least, at, values, carried, width, columns)
            if entry != last_entry:
                last_entry = entry
                relation = relation_of(actions, entry, shared) if shares else 0
            if relation == 0 and own_columns == 0:
                continue
            if mixed:
                compare(program, actions, graph, events, number, row, entry, relation, at)
                if relation == 1 or graph.info[DIFFERS] != 0:
                    first_form, step = at, 0
                    if graph.info[DIFFERS] != 0:
                        first_form, step = first_scratch(program, graph, number), 1
                    _snapshot_event(
                        program,
                        actions,
                        graph,
                        number,
                        entry,
                        at,
                        first_form,
                        step,
                        shared,
                        counts,
                    )
                continue
            if plain:
                add_row(form, form_powers, at, rows, row_powers, TOTAL, values, width, columns, big)
                least_row(form_least, at, row_least, TOTAL, carried, width, columns)
            elif events.known[current, row] != 0:
                value = events.compared[current, row]
                if inverted:
                    value = ~value
                for index in range(2):
                    if index == 0 and old == 0:
                        continue
                    sum_before(
                        form,
                        form_powers,
                        form_least,
                        at,
                        kind,
                        value,
                        old_keys if index == 0 else new_keys,
                        1 if index == 0 else 1 + old,
                        rows,
                        row_powers,
                        row_least,
                        values,
                        carried,
                        width,
                        columns,
                        big,
                    )
            add_row(form, form_powers, at, unit, unit_powers, TOTAL, values, width, columns, big)
            if relation != 2 or actions.entries[entry].everyone == 0:
                for c in range(columns):
                    taken = takes(actions, entry, group[c]) if group[c] >= 0 else relation != 0
                    if not taken:
                        for v in range(values):
                            form[(at * values + v) * width + c] = 0.0
                            form_powers[(at * values + v) * width + c] = 0
                        for x in range(carried):
                            form_least[(at * carried + x) * width + c] = FOREVER
            if values > 1 or carried > 0:
                contribute(
                    events,
                    row,
                    form,
                    form_powers,
                    form_least,
                    at,
                    unit_least,
                    what,
                    ranked,
                    values,
                    carried,
                    width,
                    columns,
                )
            if relation == 1:
                _snapshot_event(program, actions, graph, number, entry, at, at, 0, shared, counts)
            if not big and values > 1:
                for c in range(at * values * width, (at + 1) * values * width):
                    if abs(form[c]) >= THRESHOLD or form_powers[c] > 0:
                        graph.info[BIG] = 1
                        break
        columns = graph.info[COLUMNS]
        for e in range(i, j):
            at = e - i
            row = events.listed[e].row
            ends = False
            for c in range(columns):
                ends |= form[at * values * width + c] != 0.0
            if not ends:  # no trend ends in the event
                continue
            big = graph.info[BIG] != 0
            add_row(rows, row_powers, TOTAL, form, form_powers, at, values, width, columns, big)
            least_row(row_least, TOTAL, form_least, at, carried, width, columns)
            if mixed:
                insert_everywhere(program, graph, events, number, row, at)
            elif not plain and events.known[previous, row] != 0:
                value = events.compared[previous, row]
                insert(
                    kind,
                    ~value if inverted else value,
                    new_keys,
                    1 + old,
                    rows,
                    row_powers,
                    row_least,
                    form,
                    form_powers,
                    form_least,
                    at,
                    values,
                    carried,
                    width,
                    columns,
                    big,
                )
            if not big:
                for v in range(values):
                    for c in range(v * width, v * width + columns):
                        if abs(rows[c]) >= THRESHOLD:
                            graph.info[BIG] = 1
        i = j
    counts[MOST] = max(counts[MOST], np.float64(graph.info[COLUMNS] - own_columns))
    return i


@wide_kernel
def _snapshot_event(
    program: Program,
    actions: Actions,
    graph: Graph,
    number: int,
    entry: int,
    at: int,
    first_form: int,
    step: int,
    shared: Words,
    counts: Doubles,
) -> None:
    """Create a snapshot for an event that is not to all who share what it is to one (Definition 9).

    Some do not take it, or it has other predecessors for some. Its value for those who take it is
    the event's form, evaluated: of who compares by condition c, row `first_form + c * step`. The
    event is then that snapshot.
    """
    form, powers, least = graph.form, graph.form_powers, graph.form_least
    values, carried = program.sets[number].values, program.sets[number].carried
    width = graph.info[WIDTH]
    base = program.sets[number].set_cell
    base_least = program.sets[number].set_least
    new = graph.info[COLUMNS]
    found = False
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
                value, power = value_of(program, graph, number, form, powers, mine, state, lane, f)
                if f == 0:
                    if value == 0.0:
                        break
                    found = True
                cell = program.fields[first + f].address + lane - base
                graph.table[new, cell] = value
                graph.table_powers[new, cell] = power
            for x in range(program.states[state + 1].extreme - program.states[state].extreme):
                place = (
                    program.extremes[program.states[state].extreme + x].least + lane - base_least
                )
                graph.table_least[new, place] = least_of(
                    program, graph, number, form, least, mine, state, lane, x
                )
    for c in range(new):
        if graph.holder[c] < 0:
            for v in range(values):
                form[(at * values + v) * width + c] = 0.0
                powers[(at * values + v) * width + c] = 0
            for x in range(carried):
                least[(at * carried + x) * width + c] = FOREVER
    if found:
        # forms of the moment so far know nothing of the new column
        for other in range(at + 1):
            for v in range(values):
                form[(other * values + v) * width + new] = 0.0
                powers[(other * values + v) * width + new] = 0
            for x in range(carried):
                least[(other * carried + x) * width + new] = FOREVER
        graph.holder[new] = SNAPSHOT
        graph.info[COLUMNS] = new + 1
        form[at * values * width + new] = 1.0
        counts[EVENT_SNAPSHOTS] += 1


@wide_kernel
def enter_all(program: Program, graphs: Graphs, number: int) -> None:
    """Let all holders of a plain set go through snapshots."""
    graph_of(program, graphs, number).column[:] = SHARED


@wide_kernel
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
                value, power = value_of(
                    program, graph, number, graph.rows, graph.row_powers, TOTAL, state, lane, f
                )
                cell = program.fields[first + f].address + lane
                work.cells[NOW, cell], work.powers[NOW, cell] = plus(
                    work.cells[NOW, cell], work.powers[NOW, cell], value, power
                )
            for x in range(program.states[state + 1].extreme - program.states[state].extreme):
                best = least_of(
                    program, graph, number, graph.rows, graph.row_least, TOTAL, state, lane, x
                )
                place = program.extremes[program.states[state].extreme + x].least + lane
                work.least[NOW, place] = min(work.least[NOW, place], best)
    columns = graph.info[COLUMNS]
    graph.table[:columns] = 0.0
    graph.table_powers[:columns] = 0
    graph.table_least[:columns] = FOREVER
    graph.rows[:] = 0.0  # a plain set has no index
    graph.row_powers[:] = 0
    graph.row_least[:] = FOREVER
    graph.holder[:columns] = DEAD
    graph.column[:] = EMPTY
    graph.info[COLUMNS] = 0
    graph.info[LATEST] = -1
    graph.info[BIG] = 0
