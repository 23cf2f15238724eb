"""Events compared with those before them in several ways at once (HAMLET, Definition 9).

Queries whose conditions on edges differ share a graph that has an index for each condition. An
event has a form for each, the sum over the predecessors that the condition leaves. Where the forms
agree, and they do where all conditions hold for the same events, the event has that form for all;
where they do not, the event is a snapshot, whose value for a query is the form of its condition.
"""

from __future__ import annotations

import numpy as np

from elsinore.numeric.extended import THRESHOLD
from elsinore.trends.core.arrays import Ints
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.forms import (
    add_both,
    add_row,
    clear_column,
    clear_row,
    insert,
    sum_before,
    sum_past,
)
from elsinore.trends.hamlet.layout import (
    BIG,
    COLUMNS,
    END,
    FORMS,
    PLAIN,
    PRESENT,
    ROWS,
    SNAPSHOT,
    TOTAL,
    WIDTH,
    Actions,
    Events,
    Graph,
    Program,
    Rows,
    Shape,
)
from elsinore.trends.hamlet.masks import takes
from elsinore.trends.hamlet.states import contribute
from elsinore.trends.hamlet.storage import conditions_of, shape_of, span_of


@wide_kernel(linked=True)
def first_scratch(program: Program, graph: Graph, number: int) -> int:
    """Return the row of forms where those of an event begin, one for each condition."""
    conditions = conditions_of(program, number)
    return graph.info[FORMS] - conditions


@wide_kernel(linked=True)
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
) -> tuple[int, int]:
    """Make an event's form, in row `at`: of each column by the condition of its holder.

    relation: whether none (0), some (1) or all (2) of those who share take it. Returns the row of
    the form over snapshots of the first condition, and how many rows on that of the next one is: 0
    where they do not differ between conditions.
    """
    scratch = first_scratch(program, graph, number)
    conditions = graph.info[FORMS] - scratch
    for condition in range(conditions):
        _add_up(program, graph, events, number, condition, row, scratch + condition)
    differs = relation != 0 and _differ(program, graph, number, scratch)
    shape, form = shape_of(program, graph, number), graph.form
    values, carried, width = shape.values, shape.carried, shape.width
    clear_row(form, at, shape)
    for column in range(shape.first, shape.columns):
        of = scratch
        if graph.holder[column] >= 0:
            member = program.lists[program.sets[number].holders + graph.holder[column]]
            of += program.members[member].condition
        for v in range(values):
            place, source = (at * values + v) * width + column, (of * values + v) * width + column
            form.numbers[place] = form.numbers[source]
            form.powers[place] = form.powers[source]
        for x in range(carried):
            place, source = (at * carried + x) * width + column, (of * carried + x) * width + column
            form.least[place] = form.least[source]
    _complete(program, actions, graph, events, number, row, entry, relation, at)
    if not differs:
        return at, 0
    for to in range(scratch, scratch + conditions):
        _complete(program, actions, graph, events, number, row, entry, relation, to)
    return scratch, 1


@wide_kernel(linked=True)
def _add_up(
    program: Program, graph: Graph, events: Events, number: int, condition: int, row: int, to: int
) -> None:
    """Add up the forms of an event's predecessors by one condition."""
    shape = shape_of(program, graph, number)
    clear_row(graph.form, to, shape)
    place = program.sets[number].conditions + condition
    kind = program.conditions[place].compared
    if kind == PLAIN:
        add_both(graph.form, to, graph.rows, TOTAL, shape)
        return
    current = program.conditions[place].current
    if events.known[current, row] == 0:
        return
    value = events.compared[current, row]
    if program.conditions[place].inverted != 0:
        value = ~value
    span = (graph.info[ROWS] - 1) // (graph.info[FORMS] - first_scratch(program, graph, number))
    begin, end = condition * span, condition * span + graph.info[END]
    middle, form, rows = begin + graph.info[PRESENT], graph.form, graph.rows
    sum_past(form, to, kind, value, graph.keys[begin:middle], rows, 1 + begin, graph.info, shape)
    sum_before(form, to, kind, value, graph.keys[middle:end], rows, 1 + middle, shape)


@wide_kernel(linked=True)
def _differ(program: Program, graph: Graph, number: int, scratch: int) -> bool:
    """Return whether the forms of an event over snapshots differ between conditions."""
    values, carried = program.sets[number].values, program.sets[number].carried
    width = graph.info[WIDTH]
    numbers, powers, least = graph.form.numbers, graph.form.powers, graph.form.least
    for column in range(graph.info[COLUMNS]):
        if graph.holder[column] != SNAPSHOT:
            continue
        for v in range(values):
            one = (scratch * values + v) * width + column
            for other in range(one + values * width, numbers.shape[0], values * width):
                if numbers[one] != numbers[other]:
                    return True
                if powers[one] != powers[other]:
                    return True
        for x in range(carried):
            one = (scratch * carried + x) * width + column
            for other in range(one + carried * width, least.shape[0], carried * width):
                if least[one] != least[other]:
                    return True
    return False


@wide_kernel(linked=True)
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
    shape, form = shape_of(program, graph, number), graph.form
    add_row(form, to, graph.unit, TOTAL, shape)
    leave_out(actions, graph, entry, relation, to, shape)
    if shape.values > 1 or shape.carried > 0:
        contribute(events, row, form, to, graph.unit, graph.what, graph.ranked, shape)
    note_size(graph.info, form, to, shape)


@wide_kernel(linked=True)
def leave_out(
    actions: Actions, graph: Graph, entry: int, relation: int, to: int, shape: Shape
) -> None:
    """Make a form 0 in the columns of those who do not take the event."""
    for column in range(shape.columns):
        group = graph.group[column]
        taken = takes(actions, entry, group) if group >= 0 else relation != 0
        if not taken:
            clear_column(graph.form, to, column, shape)


@wide_kernel(linked=True)
def note_size(info: Ints, rows: Rows, row: int, shape: Shape) -> None:
    """Say in BIG that numbers have exponents from now on, where one of a row needs one."""
    if shape.big:
        return
    numbers, powers = rows.numbers, rows.powers
    first, columns = np.uint64(shape.first), np.uint64(shape.columns)
    big = False
    for v in range(row * shape.values, (row + 1) * shape.values):
        begin = np.uint64(v * shape.width)
        for j in range(first, columns):
            big |= (abs(numbers[begin + j]) >= THRESHOLD) | (powers[begin + j] > 0)
    if big:
        info[BIG] = 1


@wide_kernel(linked=True)
def insert_everywhere(
    program: Program, graph: Graph, events: Events, number: int, row: int, at: int
) -> None:
    """Enter an event's form into the index of each condition."""
    conditions = conditions_of(program, number)
    span = span_of(program, graph.info, number)
    shape = shape_of(program, graph, number)
    for condition in range(conditions):
        place = program.sets[number].conditions + condition
        kind, previous = program.conditions[place].compared, program.conditions[place].previous
        if kind == PLAIN or events.known[previous, row] == 0:
            continue
        value = events.compared[previous, row]
        low, high = condition * span + graph.info[PRESENT], condition * span + graph.info[END]
        insert(
            kind,
            ~value if program.conditions[place].inverted != 0 else value,
            graph.keys[low:high],
            graph.rows,
            1 + low,
            graph.form,
            at,
            shape,
        )
