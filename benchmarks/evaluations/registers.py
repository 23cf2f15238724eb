# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Registers as a match grows by an event, and matches as they are given out."""

from __future__ import annotations

import numpy as np

from benchmarks.evaluations.arrays import Given, Registers, Rules, Values
from benchmarks.evaluations.foreign import call_at
from benchmarks.evaluations.kernels import kernel
from elsinore.matches.arrays import Doubles, Ints, Shorts

EVENTS, NUMBERS = 1, 2  # places in the header of `tables` (`benchmarks.evaluations.tables.Header`)
UPDATE_AT, SUM_AT, INIT_AT, FAILED = 13, 16, 19, 20
FOUND, FILLED, STATUS, LIMIT, WITH_PATHS, WINDOW, GUARD, COUNTED = 3, 4, 5, 6, 7, 1, 15, 16
DONE, FULL, TOO_MANY, LIMITED = 0, 1, 2, 3
AT, STATE = 0, 1  # columns of `path`
# Rows of `found` [row, match]: first and last row, window, where the path begins; then the events
# of the registers. `counted` [register, match] are their numbers.
FIRST_ROW, LAST_ROW, IN_WINDOW, PATH_AT, BOUND = range(5)

USER = 7  # `elsinore.matches.registers.RegisterKind`
_NULL = np.int64(np.iinfo(np.int64).min)


@kernel(inline=True)
def begin_registers(tables: Ints, registers: Registers) -> None:
    """Set row 0 of the registers: no event, nothing counted; the sum of nothing is null.

    None is of an aggregate that the user defines.
    """
    for register in range(tables[EVENTS]):
        registers.bound_rows[0, register] = -1
    for register in range(tables[NUMBERS]):
        registers.numbers[0, register] = 0.0
    listed = tables[SUM_AT]
    for place in range(listed + 1, listed + 1 + tables[listed]):
        registers.numbers[0, tables[place]] = np.nan


@kernel
def clear_registers(tables: Ints, rules: Rules, registers: Registers) -> None:
    """Set row 0 of the registers as `begin_registers` does, and those of users' aggregates."""
    begin_registers(tables, registers)
    listed = tables[INIT_AT]
    for place in range(listed + 1, listed + 1 + tables[listed], 2):
        registers.numbers[0, tables[place]] = rules.constants[tables[place + 1]]


@kernel
def copy_registers(source: int, target: int, registers: Registers) -> None:
    """Copy a row of the registers."""
    for register in range(registers.bound_rows.shape[1]):
        registers.bound_rows[target, register] = registers.bound_rows[source, register]
    for register in range(registers.numbers.shape[1]):
        registers.numbers[target, register] = registers.numbers[source, register]


@kernel(inline=True)
def select(
    tables: Ints, state: int, row: int, step: int, values: Values, registers: Registers
) -> None:
    """Set row `step` of the registers: those of the row before, and the event `row` in `state`."""
    for register in range(tables[EVENTS]):
        registers.bound_rows[step, register] = registers.bound_rows[step - 1, register]
    for register in range(tables[NUMBERS]):
        registers.numbers[step, register] = registers.numbers[step - 1, register]
    listed = tables[tables[UPDATE_AT] + state]
    for place in range(listed + 1, listed + 1 + tables[listed], 4):
        kind, register = tables[place], tables[place + 1]
        column, is_whole = tables[place + 2], tables[place + 3]
        if kind == USER:
            step_aggregate(tables, column, register, row, step, values.doubles, registers.numbers)
        else:
            take_in(kind, register, column, is_whole, row, step, values, registers)


@kernel(inline=True)
def take_in(
    kind: int,
    register: int,
    column: int,
    is_whole: int,
    row: int,
    step: int,
    values: Values,
    registers: Registers,
) -> None:
    """Take the event `row` into one register, in row `step`; `kind` is a `RegisterKind`."""
    if kind <= 3:
        registers.bound_rows[step, register] = event_after(
            kind, column, is_whole, row, registers.bound_rows[step, register], values
        )
    else:
        registers.numbers[step, register] = number_after(
            kind, column, is_whole, row, registers.numbers[step, register], values
        )


@kernel(inline=True)
def event_after(
    kind: int, column: int, is_whole: int, row: int, before: int, values: Values
) -> int:
    """Return the event that a register holds after `row`, where it held `before` (-1: none)."""
    if kind == 1 or (kind == 0 and before < 0):
        return row
    if kind >= 2 and _is_better(kind, column, is_whole, row, before, values):
        return row
    return before


@kernel(inline=True)
def number_after(
    kind: int, column: int, is_whole: int, row: int, before: float, values: Values
) -> float:
    """Return the number that a register holds after `row`, where it held `before`."""
    if kind == 4:
        return before + 1.0
    if kind == 5 and is_whole == 1:
        return before + (1.0 if values.integers[column, row] != _NULL else 0.0)
    value = values.doubles[column, row]
    if kind == 5:
        return before + (0.0 if np.isnan(value) else 1.0)
    if np.isnan(value):
        return before
    return value if np.isnan(before) else before + value


@kernel
def step_aggregate(
    tables: Ints,
    listed: int,
    register: int,
    row: int,
    step: int,
    doubles: Doubles,
    numbers: Doubles,
) -> None:
    """Step a user's aggregate by an event, unless a value is null; FAILED tells where it failed.

    `tables[listed]`: how many doubles its state and its arguments take, the function's address, the
    rows of the arguments, of which -1 stands for the event's row. The register holds its value, its
    state, its arguments.
    """
    arguments = register + 1 + tables[listed]
    for number in range(tables[listed + 1]):
        column = tables[listed + 4 + number]
        value = doubles[column, row] if column >= 0 else float(row)
        if np.isnan(value):
            return
        numbers[step, arguments + number] = value
    pointer = numbers.ctypes.data + 8 * (step * numbers.shape[1] + register)
    status = call_at(tables[listed + 2], pointer)
    if status == 2:  # compiled code asks Python (`elsinore.matches.stepping`)
        status = call_at(tables[listed + 3], pointer)
    if status != 0:
        tables[FAILED] = row + 1


@kernel
def _is_better(kind: int, column: int, is_whole: int, row: int, best: int, values: Values) -> bool:
    """Return whether an event's value is less (kind 2) or greater (3) than the best so far."""
    if is_whole == 1:
        value = values.integers[column, row]
        if value == _NULL:
            return False
        if best < 0:
            return True
        return (
            value < values.integers[column, best]
            if kind == 2
            else value > values.integers[column, best]
        )
    number = values.doubles[column, row]
    if np.isnan(number):
        return False
    if best < 0:
        return True
    return (
        number < values.doubles[column, best]
        if kind == 2
        else number > values.doubles[column, best]
    )


@kernel(inline=True)
def give_out(
    tables: Ints, progress: Ints, path: Ints, depth: int, registers: Registers, given: Given
) -> None:
    """Write a match down; progress[STATUS] says where there is no room, or enough of them."""
    steps = depth + 1 if progress[WITH_PATHS] else 0
    if progress[COUNTED] >= progress[GUARD]:
        progress[STATUS] = TOO_MANY
    elif progress[FOUND] >= given.found.shape[1] or progress[FILLED] + steps > len(given.paths):
        progress[STATUS] = FULL
    else:
        _write_ends(progress, path[0, AT], path[depth, AT], given.found)
        _write_registers(tables, progress, depth + 1, registers, given)
        _write_path(progress, path, steps, given.paths)
        _count_match(progress)


@kernel(inline=True)
def _write_ends(progress: Ints, first: int, last: int, found: Ints) -> None:
    """Write down the rows that a match begins and ends with, its window, where its path begins."""
    number = progress[FOUND]
    found[FIRST_ROW, number], found[LAST_ROW, number] = first, last
    found[IN_WINDOW, number], found[PATH_AT, number] = progress[WINDOW], progress[FILLED]


@kernel(inline=True)
def _write_registers(
    tables: Ints, progress: Ints, step: int, registers: Registers, given: Given
) -> None:
    """Write down what the registers hold in row `step`."""
    number = progress[FOUND]
    for register in range(tables[EVENTS]):
        given.found[BOUND + register, number] = registers.bound_rows[step, register]
    for register in range(tables[NUMBERS]):
        given.counted[register, number] = registers.numbers[step, register]


@kernel(inline=True)
def _write_path(progress: Ints, path: Ints, steps: int, paths: Shorts) -> None:
    """Write down the first steps of a path."""
    filled = progress[FILLED]
    for step in range(steps):
        paths[filled + step, 0] = path[step, AT]
        paths[filled + step, 1] = path[step, STATE]
    progress[FILLED] = filled + steps


@kernel(inline=True)
def _count_match(progress: Ints) -> None:
    """Count a match that is written down; progress[STATUS] says where there are enough of them."""
    progress[FOUND] += 1
    progress[COUNTED] += 1
    if progress[FOUND] >= progress[LIMIT]:
        progress[STATUS] = LIMITED
