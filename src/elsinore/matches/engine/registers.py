"""What a partial match remembers of its events, and matches as they are returned."""

from __future__ import annotations

from math import isnan
from math import pow as power

import cython

from elsinore.matches.engine.codes import (
    BEGINS_AT,
    BOUND,
    ENDS_AT,
    IN_WINDOW,
    PATH,
    Formula,
    Status,
)
from elsinore.matches.engine.foreign import call_step
from elsinore.matches.engine.tables import Graph, Match, Output, Program, Values
from elsinore.matches.registers import RegisterKind
from elsinore.operators.conditions.tables import NULL as _NULL

NULL = cython.declare(cython.longlong, _NULL)
STEPPED = cython.declare(cython.longlong, 0)  # how a call of an aggregate ends
ASK_PYTHON = cython.declare(cython.longlong, 2)
NOTHING = cython.declare(cython.double, float("nan"))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin_registers(program: Program, match: Match) -> cython.void:
    """Set row 0 of the registers: no event, nothing counted, aggregates of nothing."""
    register: cython.Py_ssize_t
    for register in range(match.held.shape[1]):
        match.held[0, register] = -1
    for register in range(match.numbers.shape[1]):
        match.numbers[0, register] = 0.0
    for register in range(program.initials.shape[0]):
        match.numbers[0, program.initials[register].register] = program.initials[register].value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def select(
    program: Program,
    values: Values,
    match: Match,
    state: cython.int,
    row: cython.longlong,
    step: cython.int,
) -> cython.void:
    """Set row `step` of the registers: those of the row before, and an event in a state."""
    register: cython.Py_ssize_t
    update: cython.int
    for register in range(match.held.shape[1]):
        match.held[step, register] = match.held[step - 1, register]
    for register in range(match.numbers.shape[1]):
        match.numbers[step, register] = match.numbers[step - 1, register]
    for update in range(program.states[state].updates, program.states[state].updates_end):
        kind: cython.int = program.updates[update].kind
        place: cython.int = program.updates[update].register
        if program.updates[update].width:
            take_over(program, match, update, step)
        if kind <= RegisterKind.GREATEST:
            match.held[step, place] = event_after(
                program, values, update, row, match.held[step, place]
            )
        elif kind in (RegisterKind.LAG, RegisterKind.MOVED):
            continue
        elif kind == RegisterKind.NTH:
            if match.held[step, place] < 0 <= match.held[step - 1, program.updates[update].source]:
                match.held[step, place] = row
        elif kind == RegisterKind.USER:
            step_aggregate(program, values, match, program.updates[update].column, place, row, step)
        else:
            match.numbers[step, place] = number_after(
                program, values, update, row, match.numbers[step, place]
            )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_over(program: Program, match: Match, update: cython.int, step: cython.int) -> cython.void:
    """Set a register to what its source was before this step, or before the first event."""
    kind: cython.int = program.updates[update].kind
    place: cython.int = program.updates[update].register
    source: cython.int = program.updates[update].source
    before: cython.int = 0 if source == place else step - 1
    if kind <= RegisterKind.GREATEST or kind == RegisterKind.LAG:
        match.held[step, place] = match.held[before, source]
        return
    number: cython.int
    for number in range(program.updates[update].width):
        match.numbers[step, place + number] = match.numbers[before, source + number]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step_aggregate(
    program: Program,
    values: Values,
    match: Match,
    aggregate: cython.int,
    place: cython.int,
    row: cython.longlong,
    step: cython.int,
) -> cython.void:
    """Step an aggregate of the user's, or a variance, by an event, unless an argument is null.

    Its registers, from `place` on, are its value, its state and its arguments. An argument of -1 is
    the row.
    """
    argument: cython.int
    first: cython.int = program.aggregates[aggregate].arguments
    target: cython.int = place + program.aggregates[aggregate].place - first
    for argument in range(first, program.aggregates[aggregate].arguments_end):
        column: cython.int = program.arguments[argument]
        value: cython.double = (
            values.doubles[column, row] if column >= 0 else cython.cast(cython.double, row)
        )
        if isnan(value):
            return
        match.numbers[step, target + argument] = value
    formula: cython.int = program.aggregates[aggregate].formula
    if formula != Formula.CALL:
        step_variance(match, formula, step, place, match.numbers[step, target + first])
        return
    status: cython.longlong = call_step(
        program.aggregates[aggregate].address, match.numbers, step, place
    )
    if status == ASK_PYTHON:
        status = call_step(program.aggregates[aggregate].python_address, match.numbers, step, place)
    if status != STEPPED:
        program.failed_row = row


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step_variance(
    match: Match,
    formula: cython.int,
    step: cython.longlong,
    place: cython.int,
    value: cython.double,
) -> cython.void:
    """Step a variance or a standard deviation by a value.

    After its own value, a register has the count, the mean and the sum of squared distances from it
    (Welford's recurrence; `elsinore.matches.aggregates` has the same in Python).
    """
    count: cython.double = match.numbers[step, place + 1] + 1.0
    distance: cython.double = value - match.numbers[step, place + 2]
    mean: cython.double = match.numbers[step, place + 2] + distance / count
    squares: cython.double = match.numbers[step, place + 3] + distance * (value - mean)
    match.numbers[step, place + 1] = count
    match.numbers[step, place + 2] = mean
    match.numbers[step, place + 3] = squares
    if formula == Formula.VARIANCE or formula == Formula.STDDEV:  # noqa: PLR1714 - compiled
        count -= 1.0  # of a sample
    result: cython.double = squares / count if count > 0.0 else NOTHING
    if formula == Formula.STDDEV_POP or formula == Formula.STDDEV:  # noqa: PLR1714 - compiled
        result = power(result, 0.5)
    match.numbers[step, place] = result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def event_after(
    program: Program,
    values: Values,
    update: cython.int,
    row: cython.longlong,
    before: cython.longlong,
) -> cython.longlong:
    """Return the event that a register has after `row`, if it had `before` (-1: none)."""
    kind: cython.int = program.updates[update].kind
    if kind == RegisterKind.LATEST:
        return row
    if kind == RegisterKind.FIRST:
        return row if before < 0 else before
    column: cython.int = program.updates[update].column
    if program.updates[update].is_whole:
        whole: cython.longlong = values.integers[column, row]
        if whole == NULL:
            return before
        if before < 0:
            return row
        if kind == RegisterKind.LEAST:
            return row if whole < values.integers[column, before] else before
        return row if whole > values.integers[column, before] else before
    value: cython.double = values.doubles[column, row]
    if isnan(value):
        return before
    if before < 0:
        return row
    if kind == RegisterKind.LEAST:
        return row if value < values.doubles[column, before] else before
    return row if value > values.doubles[column, before] else before


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def number_after(
    program: Program,
    values: Values,
    update: cython.int,
    row: cython.longlong,
    before: cython.double,
) -> cython.double:
    """Return the number that a register has after `row`, if it had `before`."""
    kind: cython.int = program.updates[update].kind
    column: cython.int = program.updates[update].column
    if kind == RegisterKind.COUNT:
        return before + 1.0
    if kind == RegisterKind.PRESENT and program.updates[update].is_whole:
        return before + 1.0 if values.integers[column, row] != NULL else before
    value: cython.double = values.doubles[column, row]
    if isnan(value):
        return before
    if kind == RegisterKind.PRESENT:
        return before + 1.0
    return value if isnan(before) else before + value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def give_out(
    graph: Graph,
    match: Match,
    output: Output,
    window: cython.longlong,
) -> cython.void:
    """Write a match down; the output's status says if there is no room, or enough of them."""
    steps: cython.int = match.depth + 1 if output.wants_paths else 0
    if not has_room(output, steps):
        return
    begin_output(match, output, match.frames[match.depth].row, window)
    write_path(graph, match, output, steps)
    end_output(output)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def give_out_leaf(
    program: Program,
    values: Values,
    graph: Graph,
    match: Match,
    output: Output,
    node: cython.int,
    window: cython.longlong,
) -> cython.void:
    """Write down the match that ends with a node behind the partial match, as `give_out` does."""
    if not has_room(output, match.depth + 2 if output.wants_paths else 0):
        return
    row: cython.longlong = graph.events[graph.nodes[node].event].row
    state: cython.int = graph.nodes[node].state
    number: cython.int = output.count
    begin_output(match, output, row, window)
    update: cython.int
    for update in range(program.states[state].updates, program.states[state].updates_end):
        place: cython.int = program.updates[update].register
        if program.updates[update].kind <= RegisterKind.GREATEST:
            output.found[BOUND + place, number] = event_after(
                program, values, update, row, output.found[BOUND + place, number]
            )
        else:
            output.counted[place, number] = number_after(
                program, values, update, row, output.counted[place, number]
            )
    if output.wants_paths:
        write_path(graph, match, output, match.depth + 1)
        output.paths[output.filled, 0] = cython.cast(cython.int, row)
        output.paths[output.filled, 1] = state
        output.filled += 1
    end_output(output)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_room(output: Output, steps: cython.int) -> cython.bint:
    """Return whether there is room for a match of so many steps; set the status if not."""
    if output.in_window >= output.guard:
        output.status = Status.TOO_MANY
        return False
    if output.count >= output.found.shape[1] or output.filled + steps > output.paths.shape[0]:
        output.status = Status.FULL
        return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin_output(
    match: Match, output: Output, last: cython.longlong, window: cython.longlong
) -> cython.void:
    """Write down where a match begins and ends, and the registers of the partial match."""
    number: cython.int = output.count
    output.found[BEGINS_AT, number] = match.frames[0].row
    output.found[ENDS_AT, number] = last
    output.found[IN_WINDOW, number] = window
    if output.wants_paths:
        output.found[PATH, number] = output.filled
    register: cython.Py_ssize_t
    for register in range(match.held.shape[1]):
        output.found[BOUND + register, number] = match.held[match.depth + 1, register]
    for register in range(match.numbers.shape[1]):
        output.counted[register, number] = match.numbers[match.depth + 1, register]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def write_path(graph: Graph, match: Match, output: Output, steps: cython.int) -> cython.void:
    """Write down the first events of a match and their states."""
    step: cython.int
    for step in range(steps):
        output.paths[output.filled + step, 0] = cython.cast(cython.int, match.frames[step].row)
        output.paths[output.filled + step, 1] = graph.nodes[match.frames[step].node].state
    output.filled += steps


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def end_output(output: Output) -> cython.void:
    """Count a match that is written down."""
    output.count += 1
    output.in_window += 1
    if output.count >= output.limit:
        output.status = Status.LIMITED
