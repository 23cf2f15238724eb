# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Running the code of a condition on the events of a match."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.evaluations.arrays import Registers, Rules, Values
from benchmarks.evaluations.kernels import kernel
from benchmarks.evaluations.whole_arithmetic import computed, scaled, summed, with_sign
from elsinore.matches.arrays import Ints

WHOLES_AT = 6  # the place in the header of `tables` of where integer constants are
STACK = 256  # a condition is at most 200 operators deep

_NULL = np.int64(np.iinfo(np.int64).min)


@kernel
def value_of(
    tables: Ints,
    at: int,
    rules: Rules,
    values: Values,
    current: int,
    previous: int,
    before: int,
    final: int,
    registers: Registers,
) -> float:
    """Return the value of the expression whose code begins at `tables[at]`.

    `current` and `previous` are rows of events; `before` and `final` rows of the registers.
    """
    stack, wholes = rules.stack, rules.whole_stack
    bound_rows, numbers = registers.bound_rows, registers.numbers
    top = -1  # of the stack of doubles
    whole = -1  # of the stack of integers
    for line in range(at + 1, at + 1 + tables[at], 4):
        op, a, b, c = tables[line], tables[line + 1], tables[line + 2], tables[line + 3]
        if op == 0:
            top += 1
            stack[top] = rules.constants[a]
        elif op == 1:
            row = row_of(a, b, current, previous, before, final, bound_rows)
            top += 1
            stack[top] = values.doubles[c, row] if row >= 0 else np.nan
        elif op == 2:
            row = row_of(a, b, current, previous, before, final, bound_rows)
            whole += 1
            wholes[whole] = values.integers[c, row] if row >= 0 else _NULL
        elif op == 3:
            whole += 1
            wholes[whole] = tables[tables[WHOLES_AT] + a]
        elif op == 4:
            top += 1
            stack[top] = numbers[before, b] if a == 2 else numbers[final, b]
        elif op <= 7:
            is_bound = bound_rows[final if op == 7 else before, a] >= 0
            if is_bound == (op == 6):
                return 1.0
        elif op <= 12:
            stack[top] = _of_one(op, stack[top])
        elif op == 13:
            top += 1
            stack[top] = 1.0 if wholes[whole] == _NULL else 0.0
            whole -= 1
        elif op < 27:
            top -= 1
            stack[top] = _binary(op, stack[top], stack[top + 1])
        elif op >= 33:
            if op == 33:
                whole += 1
                wholes[whole] = int(numbers[before, b] if a == 2 else numbers[final, b])
            elif op == 34:
                whole += 1
                at_row = before if a == 2 else final
                wholes[whole] = summed(tables, numbers[at_row, b], numbers[at_row, c])
            elif op == 52:
                chosen = numbers[before, b] if a == 2 else numbers[final, b]
                whole += 1
                wholes[whole] = _NULL if np.isnan(chosen) else values.integers[c, int(chosen)]
            elif op == 36:
                top += 1
                stack[top] = np.nan if wholes[whole] == _NULL else float(wholes[whole])
                whole -= 1
            elif op <= 38:
                wholes[whole] = _of_one_whole(tables, op, wholes[whole])
            elif op == 39:
                wholes[whole] = scaled(tables, a, wholes[whole], stack[top])
                top -= 1
            else:
                whole -= 1
                wholes[whole] = computed(tables, op, wholes[whole], wholes[whole + 1])
        else:
            whole -= 2
            top += 1
            stack[top] = _compare_wholes(op - 6, wholes[whole + 1], wholes[whole + 2])
    return stack[0]


@kernel(inline=True)
def row_of(
    moment: int,
    register: int,
    current: int,
    previous: int,
    before: int,
    final: int,
    bound_rows: Ints,
) -> int:
    """Return the row of the event that an operand is read from; below 0: of none.

    `moment` is a `elsinore.matches.registers.Moment`.
    """
    if moment == 0:
        return current
    if moment == 1:
        return previous
    return bound_rows[before if moment == 2 else final, register]


@kernel
def _of_one(op: int, value: float) -> float:
    """Return the value of an operator of one double."""
    if op == 8:  # NOT
        return 1.0 - value
    if op == 9:
        return -value
    if op == 10:
        return abs(value)
    if op == 11:
        return math.log2(value) if value > 0 else np.nan
    return 1.0 if math.isnan(value) else 0.0


@kernel
def _of_one_whole(tables: Ints, op: int, value: int) -> int:
    """Return the value of an operator of one integer."""
    if op == 35:
        return with_sign(tables, value)
    if value == _NULL:
        return value
    return -value if op == 37 else abs(value)


@kernel
def _compare_wholes(op: int, one: int, other: int) -> float:
    """Return whether a comparison of integers holds; NaN if one is null."""
    if one == _NULL or other == _NULL:  # noqa: PLR1714 - compiled
        return np.nan
    return 1.0 if _compare(op, one, other) else 0.0


@kernel
def _binary(op: int, one: float, other: float) -> float:
    """Return the value of an operator of two doubles, in three-valued logic."""
    if op == 14:  # AND
        if one == 0.0 or other == 0.0:
            return 0.0
        return one + other - 1.0  # 1 where both are, NaN where one is unknown
    if op == 15:  # OR
        if one == 1.0 or other == 1.0:
            return 1.0
        return one + other  # 0 where both are
    if op == 16:
        return one + other
    if op == 17:
        return one - other
    if op == 18:
        return one * other
    if math.isnan(one) or math.isnan(other):
        return np.nan
    if op == 19:
        return one / other if other != 0.0 else np.nan
    if op == 20:
        return np.fmod(one, other) if other != 0.0 and not math.isinf(one) else np.nan
    return 1.0 if _compare(op, one, other) else 0.0


@kernel
def _compare(op: int, one: float, other: float) -> bool:
    if op == 21:
        return one < other
    if op == 22:
        return one <= other
    if op == 23:
        return one > other
    if op == 24:
        return one >= other
    if op == 25:
        return one == other
    return one != other
