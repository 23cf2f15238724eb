# cython: infer_types=True
"""The registers of a partial match, and how matches are written."""

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
    Index,
    Status,
)
from elsinore.matches.engine.foreign import call_step
from elsinore.matches.engine.tables import Program, Search
from elsinore.matches.registers import RegisterKind
from elsinore.operators.conditions.tables import NULL as _NULL

NULL = cython.declare(cython.longlong, _NULL)
STEPPED = cython.declare(cython.longlong, 0)  # how a call of an aggregate ends
ASK_PYTHON = cython.declare(cython.longlong, 2)
NOTHING = cython.declare(cython.double, float("nan"))


@cython.nogil
def begin_registers(program: Program, search: Search) -> cython.void:
    """Set row 0 of the registers: no event, nothing counted, aggregates of nothing."""
    for register in range(search.bound_rows.shape[1]):
        search.bound_rows[0, register] = -1
    for register in range(search.numbers.shape[1]):
        search.numbers[0, register] = 0.0
    for register in range(program.initials.shape[0]):
        search.numbers[0, program.initials[register].register] = program.initials[register].value


@cython.nogil
def copy_registers(search: Search, source: Index, target: Index) -> cython.void:
    """Copy a row of the registers."""
    for register in range(search.bound_rows.shape[1]):
        search.bound_rows[target, register] = search.bound_rows[source, register]
    for register in range(search.numbers.shape[1]):
        search.numbers[target, register] = search.numbers[source, register]


@cython.nogil
def select(program: Program, search: Search, state: Index, row: Index, step: Index) -> cython.void:
    """Set row `step` of the registers: those of the row before, and an event in a state."""
    copy_registers(search, step - 1, step)
    for update in range(program.states[state].updates, program.states[state].updates_end):
        kind: Index = program.updates[update].kind
        place: Index = program.updates[update].register
        if program.updates[update].width:
            take_over(program, search, update, step)
        if kind <= RegisterKind.GREATEST:
            search.bound_rows[step, place] = event_after(
                program, search, update, row, search.bound_rows[step, place]
            )
        elif kind in (RegisterKind.LAG, RegisterKind.MOVED):
            continue
        elif kind == RegisterKind.NTH:
            if (
                search.bound_rows[step, place]
                < 0
                <= search.bound_rows[step - 1, program.updates[update].source]
            ):
                search.bound_rows[step, place] = row
        elif kind == RegisterKind.USER:
            step_aggregate(program, search, program.updates[update].column, place, row, step)
        else:
            search.numbers[step, place] = number_after(
                program, search, update, row, search.numbers[step, place]
            )


@cython.nogil
def take_over(program: Program, search: Search, update: Index, step: Index) -> cython.void:
    """Set a register to the value of its source before this step, or before the first event."""
    kind: Index = program.updates[update].kind
    place: Index = program.updates[update].register
    source: Index = program.updates[update].source
    before: Index = 0 if source == place else step - 1
    if kind <= RegisterKind.GREATEST or kind == RegisterKind.LAG:
        search.bound_rows[step, place] = search.bound_rows[before, source]
        return
    for number in range(program.updates[update].width):
        search.numbers[step, place + number] = search.numbers[before, source + number]


@cython.nogil
def step_aggregate(
    program: Program, search: Search, aggregate: Index, place: Index, row: Index, step: Index
) -> cython.void:
    """Step a user's aggregate, or a variance, by an event, unless an argument is null.

    Its registers, from `place` on, are its value, its state and its arguments. An argument of -1 is
    the row.
    """
    first: Index = program.aggregates[aggregate].arguments
    target: Index = place + program.aggregates[aggregate].place - first
    for argument in range(first, program.aggregates[aggregate].arguments_end):
        column: Index = program.arguments[argument]
        value: cython.double = (
            search.values.doubles[column, row] if column >= 0 else cython.cast(cython.double, row)
        )
        if isnan(value):
            return
        search.numbers[step, target + argument] = value
    formula: Index = program.aggregates[aggregate].formula
    if formula != Formula.CALL:
        step_variance(search, formula, step, place, search.numbers[step, target + first])
        return
    status: cython.longlong = call_step(
        program.aggregates[aggregate].address, search.numbers, step, place
    )
    if status == ASK_PYTHON:
        status = call_step(
            program.aggregates[aggregate].python_address, search.numbers, step, place
        )
    if status != STEPPED:
        program.failed_row = row


@cython.nogil
def step_variance(
    search: Search, formula: Index, step: cython.longlong, place: Index, value: cython.double
) -> cython.void:
    """Step a variance or a standard deviation by a value.

    After its own value, a register has the count, the mean and the sum of squared distances from it
    (Welford's recurrence; `elsinore.matches.aggregates` has the same in Python).
    """
    count: cython.double = search.numbers[step, place + 1] + 1.0
    distance: cython.double = value - search.numbers[step, place + 2]
    mean: cython.double = search.numbers[step, place + 2] + distance / count
    squares: cython.double = search.numbers[step, place + 3] + distance * (value - mean)
    search.numbers[step, place + 1] = count
    search.numbers[step, place + 2] = mean
    search.numbers[step, place + 3] = squares
    if formula == Formula.VARIANCE or formula == Formula.STDDEV:  # noqa: PLR1714 - compiled
        count -= 1.0  # of a sample
    result: cython.double = squares / count if count > 0.0 else NOTHING
    if formula == Formula.STDDEV_POP or formula == Formula.STDDEV:  # noqa: PLR1714 - compiled
        result = power(result, 0.5)
    search.numbers[step, place] = result


@cython.nogil
def event_after(
    program: Program, search: Search, update: Index, row: Index, before: cython.longlong
) -> cython.longlong:
    """Return the event in a register after `row`, if it was `before` (-1: none)."""
    kind: Index = program.updates[update].kind
    if kind == RegisterKind.LATEST:
        return row
    if kind == RegisterKind.FIRST:
        return row if before < 0 else before
    column: Index = program.updates[update].column
    if program.updates[update].is_whole:
        whole: cython.longlong = search.values.integers[column, row]
        if whole == NULL:
            return before
        if before < 0:
            return row
        if kind == RegisterKind.LEAST:
            return row if whole < search.values.integers[column, before] else before
        return row if whole > search.values.integers[column, before] else before
    value: cython.double = search.values.doubles[column, row]
    if isnan(value):
        return before
    if before < 0:
        return row
    if kind == RegisterKind.LEAST:
        return row if value < search.values.doubles[column, before] else before
    return row if value > search.values.doubles[column, before] else before


@cython.nogil
def number_after(
    program: Program, search: Search, update: Index, row: Index, before: cython.double
) -> cython.double:
    """Return the number in a register after `row`, if it was `before`."""
    kind: Index = program.updates[update].kind
    column: Index = program.updates[update].column
    if kind == RegisterKind.COUNT:
        return before + 1.0
    if kind == RegisterKind.PRESENT and program.updates[update].is_whole:
        return before + 1.0 if search.values.integers[column, row] != NULL else before
    value: cython.double = search.values.doubles[column, row]
    if isnan(value):
        return before
    if kind == RegisterKind.PRESENT:
        return before + 1.0
    return value if isnan(before) else before + value


@cython.nogil
def has_room(search: Search) -> cython.bint:
    """Return whether there is room for the match; set the status if not."""
    if search.in_window >= search.most:
        search.status = Status.TOO_MANY
        return False
    if search.count >= search.match_rows.shape[1] or (
        search.wants_paths and search.filled + search.depth >= search.match_paths.shape[0]
    ):
        search.status = Status.FULL
        return False
    return True


@cython.nogil
def write_match(search: Search) -> cython.void:
    """Write the match: its ends, registers and events.

    The status says if there is no room, or if matches are enough.
    """
    if not has_room(search):
        return
    number: Index = search.count
    search.match_rows[BEGINS_AT, number] = search.frames[0].row
    search.match_rows[ENDS_AT, number] = search.frames[search.depth].row
    search.match_rows[IN_WINDOW, number] = search.window_number
    for register in range(search.bound_rows.shape[1]):
        search.match_rows[BOUND + register, number] = search.bound_rows[search.depth + 1, register]
    for register in range(search.numbers.shape[1]):
        search.match_numbers[register, number] = search.numbers[search.depth + 1, register]
    if search.wants_paths:
        search.match_rows[PATH, number] = search.filled
        for step in range(search.depth + 1):
            search.match_paths[search.filled, 0] = cython.cast(cython.int, search.frames[step].row)
            search.match_paths[search.filled, 1] = search.nodes[search.frames[step].node].state
            search.filled += 1
    search.count += 1
    search.in_window += 1
    if search.count >= search.limit:
        search.status = Status.LIMITED
