"""Events compared with those before them in several ways at once (HAMLET, Definition 9).

Queries whose conditions on edges differ share a graph that has an index for each condition. An
event has a form for each, the sum over the predecessors that the condition leaves. Where the forms
agree, and they do where all conditions hold for the same events, the event has that form for all;
where they do not, the event is a snapshot, whose value for a query is the form of its condition.
"""

from __future__ import annotations

from elsinore.numeric.extended import THRESHOLD
from elsinore.trends.hamlet.forms import add_row, clear_row, insert, least_row, sum_before
from elsinore.trends.hamlet.layout import (
    BIG,
    COLUMNS,
    DIFFERS,
    FOREVER,
    FORMS,
    OLD,
    PLAIN,
    ROWS,
    SNAPSHOT,
    TOTAL,
    WIDTH,
    Actions,
    Events,
    Graph,
    Program,
)
from elsinore.trends.hamlet.optimizer import takes
from elsinore.trends.hamlet.states import contribute
from elsinore.trends.wide import wide_kernel


@wide_kernel
def first_scratch(program: Program, graph: Graph, number: int) -> int:
    """Return the row of forms where those of an event begin, one for each condition."""
    conditions = program.sets[number + 1].conditions - program.sets[number].conditions
    return graph.info[FORMS] - conditions


@wide_kernel
def compare(
    program: Program,
    actions: Actions,
    graph: Graph,
    events: Events,
    number: int,
    row: int,
    entry: int,
    relation: int,
    at: int,
) -> None:
    """Make an event's form, in row `at`: of each column by the condition of its holder.

    relation: whether none (0), some (1) or all (2) of those who share take it. DIFFERS says whether
    the forms over snapshots differ between conditions; they are then in the rows of each.
    """
    scratch = first_scratch(program, graph, number)
    conditions = graph.info[FORMS] - scratch
    for condition in range(conditions):
        _add_up(program, graph, events, number, condition, row, scratch + condition)
    graph.info[DIFFERS] = relation != 0 and _differ(program, graph, number, scratch)
    values, carried = program.sets[number].values, program.sets[number].carried
    width, columns = graph.info[WIDTH], graph.info[COLUMNS]
    clear_row(graph.form, graph.form_powers, graph.form_least, at, values, carried, width, columns)
    for column in range(columns):
        of = scratch
        if graph.holder[column] >= 0:
            member = program.lists[program.sets[number].holders + graph.holder[column]]
            of += program.members[member].condition
        for v in range(values):
            place, source = (at * values + v) * width + column, (of * values + v) * width + column
            graph.form[place] = graph.form[source]
            graph.form_powers[place] = graph.form_powers[source]
        for x in range(carried):
            place, source = (at * carried + x) * width + column, (of * carried + x) * width + column
            graph.form_least[place] = graph.form_least[source]
    _complete(program, actions, graph, events, number, row, entry, relation, at)
    if graph.info[DIFFERS] != 0:
        for to in range(scratch, scratch + conditions):
            _complete(program, actions, graph, events, number, row, entry, relation, to)


@wide_kernel
def _add_up(
    program: Program, graph: Graph, events: Events, number: int, condition: int, row: int, to: int
) -> None:
    """Add up the forms of an event's predecessors by one condition."""
    values, carried = program.sets[number].values, program.sets[number].carried
    width, columns, big = graph.info[WIDTH], graph.info[COLUMNS], graph.info[BIG] != 0
    form, powers, least = graph.form, graph.form_powers, graph.form_least
    rows, row_powers, row_least = graph.rows, graph.row_powers, graph.row_least
    clear_row(form, powers, least, to, values, carried, width, columns)
    place = program.sets[number].conditions + condition
    kind = program.conditions[place].compared
    if kind == PLAIN:
        add_row(form, powers, to, rows, row_powers, TOTAL, values, width, columns, big)
        least_row(least, to, row_least, TOTAL, carried, width, columns)
        return
    current = program.conditions[place].current
    if events.known[current, row] == 0:
        return
    value = events.compared[current, row]
    if program.conditions[place].inverted != 0:
        value = ~value
    span = (graph.info[ROWS] - 1) // (graph.info[FORMS] - first_scratch(program, graph, number))
    begin, middle = condition * span, condition * span + graph.info[OLD]
    for index in range(2):
        low, high = (begin, middle) if index == 0 else (middle, begin + span)
        if low == high:
            continue
        sum_before(
            form,
            powers,
            least,
            to,
            kind,
            value,
            graph.keys[low:high],
            1 + low,
            rows,
            row_powers,
            row_least,
            values,
            carried,
            width,
            columns,
            big,
        )


@wide_kernel
def _differ(program: Program, graph: Graph, number: int, scratch: int) -> bool:
    """Return whether the forms of an event over snapshots differ between conditions."""
    values, carried = program.sets[number].values, program.sets[number].carried
    width = graph.info[WIDTH]
    for column in range(graph.info[COLUMNS]):
        if graph.holder[column] != SNAPSHOT:
            continue
        for v in range(values):
            one = (scratch * values + v) * width + column
            for other in range(one + values * width, graph.form.shape[0], values * width):
                if graph.form[one] != graph.form[other]:
                    return True
                if graph.form_powers[one] != graph.form_powers[other]:
                    return True
        for x in range(carried):
            one = (scratch * carried + x) * width + column
            for other in range(one + carried * width, graph.form_least.shape[0], carried * width):
                if graph.form_least[one] != graph.form_least[other]:
                    return True
    return False


@wide_kernel
def _complete(
    program: Program,
    actions: Actions,
    graph: Graph,
    events: Events,
    number: int,
    row: int,
    entry: int,
    relation: int,
    to: int,
) -> None:
    """Add to a form what comes in at each event and the event's own values, where it is taken."""
    values, carried = program.sets[number].values, program.sets[number].carried
    width, columns, big = graph.info[WIDTH], graph.info[COLUMNS], graph.info[BIG] != 0
    form, powers, least = graph.form, graph.form_powers, graph.form_least
    unit, unit_powers = graph.unit, graph.unit_powers
    add_row(form, powers, to, unit, unit_powers, TOTAL, values, width, columns, big)
    for column in range(columns):
        group = graph.group[column]
        taken = takes(actions, entry, group) if group >= 0 else relation != 0
        if taken:
            continue
        for v in range(values):
            form[(to * values + v) * width + column] = 0.0
            powers[(to * values + v) * width + column] = 0
        for x in range(carried):
            least[(to * carried + x) * width + column] = FOREVER
    if values > 1 or carried > 0:
        contribute(
            events,
            row,
            form,
            powers,
            least,
            to,
            graph.unit_least,
            graph.what,
            graph.ranked,
            values,
            carried,
            width,
            columns,
        )
    if not big:
        for place in range(to * values * width, (to + 1) * values * width):
            if abs(form[place]) >= THRESHOLD or powers[place] > 0:
                graph.info[BIG] = 1
                break


@wide_kernel
def insert_everywhere(
    program: Program, graph: Graph, events: Events, number: int, row: int, at: int
) -> None:
    """Enter an event's form into the index of each condition."""
    conditions = program.sets[number + 1].conditions - program.sets[number].conditions
    span, old = (graph.info[ROWS] - 1) // conditions, graph.info[OLD]
    for condition in range(conditions):
        place = program.sets[number].conditions + condition
        kind, previous = program.conditions[place].compared, program.conditions[place].previous
        if kind == PLAIN or events.known[previous, row] == 0:
            continue
        value = events.compared[previous, row]
        low = condition * span + old
        insert(
            kind,
            ~value if program.conditions[place].inverted != 0 else value,
            graph.keys[low : (condition + 1) * span],
            1 + low,
            graph.rows,
            graph.row_powers,
            graph.row_least,
            graph.form,
            graph.form_powers,
            graph.form_least,
            at,
            program.sets[number].values,
            program.sets[number].carried,
            graph.info[WIDTH],
            graph.info[COLUMNS],
            graph.info[BIG] != 0,
        )
