"""Conditions between two events, interpreted in SQL's three-valued logic.

A condition is a short program for a stack of values, each a double or an integer that may be
unknown; truth values are the integers 0 and 1. Most conditions compare an attribute of the one
event with one of the other: these have a form of their own that needs no stack. A condition is
looked at for many previous events at once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.keyed import Doubles, Flags, Ints

# what an instruction does; its operands are explained where they are read below
LOAD_NUMBER, LOAD_CODE, NUMBER, CODE, UNKNOWN = 0, 1, 2, 3, 4
IS_UNKNOWN, NOT, NEGATE, MAGNITUDE, LOGARITHM = 5, 6, 7, 8, 9
CODE_AS_NUMBER, NUMBER_AS_CODE, MAGNITUDE_OF_CODE = 10, 11, 12
LAST_OF_ONE = MAGNITUDE_OF_CODE  # the operations that follow take two values
COMPARE_NUMBERS, COMPARE_CODES, AND, OR = 13, 14, 15, 16
PLUS, MINUS, TIMES, DIVIDE, REMAINDER = 17, 18, 19, 20, 21
# of integers; results beyond 64 bits set `Conditions.overflowed`
PLUS_CODES, MINUS_CODES, TIMES_CODES, REMAINDER_OF_CODES, SHARE_CODES, SCALE_CODE = (
    22, 23, 24, 25, 26, 27,
)  # fmt: skip

# outcomes of a comparison; what an operator allows is the sum of some of them
LESS, EQUAL, GREATER = 1, 2, 4

OTHERWISE, BY_CODE = 0, 1  # how a condition is looked at
PREVIOUS_EVENT, CURRENT_EVENT = 0, 1  # where an operand is read from


# columns of `Conditions.forms`
FORM = 0  # OTHERWISE or BY_CODE
ALLOWED = 1  # outcomes of its comparison that make it true
LEFT, RIGHT = 2, 3  # the attributes compared: the previous event's, the current one's
BEGINS = 4  # first instruction

# columns of `Conditions.program`
OPERATION = 0
OPERAND = 1  # attribute, outcomes allowed, or a constant
EVENT = 2  # PREVIOUS_EVENT or CURRENT_EVENT


LIMIT = 9223372036854775808.0  # 2**63: doubles below it fit in 64 bits
LEAST, GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
CHUNK = 256  # events that a condition is looked at for at once


class Conditions(NamedTuple):
    """Conditions, and the columns they read."""

    forms: Ints  # [condition + 1, column]
    program: Ints  # [instruction, column]
    constants: Doubles  # [instruction]
    compared: Ints  # [attribute, row]; see `KeyedEvents`
    known: Flags
    numbers: Doubles
    stack: Doubles  # [value, event] room for the values of one condition, as doubles,
    codes: Ints  # [value, event] as integers,
    is_known: Flags  # [value, event] and whether they are known
    chosen: Flags  # [event]
    overflowed: Flags  # [0]: whether an integer went beyond 64 bits; what was chosen is then wrong


@kernel
def choose(
    conditions: Conditions, condition: int, events: Ints, first: int, count: int, row: int
) -> None:
    """Keep of the events `first`, `first + 1`, ... chosen those between which and a row it holds.

    events: [event, 0] -> row; of them there are `count`, at most `CHUNK`.
    """
    form = conditions.forms[condition]
    if form[FORM] == BY_CODE:
        _compare(conditions, form, events, first, count, row)
    else:
        _interpret(conditions, condition, events, first, count, row)


@kernel
def _compare(
    conditions: Conditions, form: Ints, events: Ints, first: int, count: int, row: int
) -> None:
    """Do what `choose` does where attributes of the two events are compared."""
    below, same, above = form[ALLOWED] & LESS, form[ALLOWED] & EQUAL, form[ALLOWED] & GREATER
    below, same, above = np.int64(below != 0), np.int64(same != 0), np.int64(above != 0)
    if conditions.known[form[RIGHT], row] == 0:
        below, same, above = np.int64(0), np.int64(0), np.int64(0)
    values = conditions.compared
    other, left, begin = values[form[RIGHT], row], np.uint64(form[LEFT]), np.uint64(first)
    row_of, known, chosen = np.uint64(0), conditions.known, conditions.chosen
    for event in range(np.uint64(count)):  # without a branch: which way it goes is anybody's guess
        earlier = np.uint64(events[begin + event, row_of])
        value = values[left, earlier]
        holds = below * np.int64(value < other) + same * np.int64(value == other)
        holds += above * np.int64(value > other)
        chosen[event] &= np.uint8(holds) & known[left, earlier]


@kernel
def _interpret(
    conditions: Conditions, condition: int, events: Ints, first: int, count: int, row: int
) -> None:
    """Keep chosen where a condition's program ends with the truth value true.

    The same values as `elsinore.model.evaluate`.
    """
    top = -1  # the value on top
    for at in range(conditions.forms[condition, BEGINS], conditions.forms[condition + 1, BEGINS]):
        operation = conditions.program[at, OPERATION]
        if operation <= UNKNOWN:
            top += 1
            _load(conditions, at, top, events, first, count, row)
        elif operation <= LAST_OF_ONE:
            for event in range(count):
                _apply_to_one(conditions, operation, top, event)
        else:
            top -= 1
            operand = conditions.program[at, OPERAND]
            for event in range(count):
                if operation in (AND, OR):
                    _connect(conditions, operation, top, event)
                else:
                    _apply_to_two(conditions, operation, operand, top, event)
    for event in range(count):
        if conditions.is_known[top, event] == 0 or conditions.codes[top, event] == 0:
            conditions.chosen[event] = 0


@kernel
def _load(
    conditions: Conditions, at: int, top: int, events: Ints, first: int, count: int, row: int
) -> None:
    """Put a constant, or an attribute of each event, on top of the values."""
    operation, operand = conditions.program[at, OPERATION], conditions.program[at, OPERAND]
    previous = conditions.program[at, EVENT] == PREVIOUS_EVENT
    for event in range(count):
        conditions.is_known[top, event] = 1
        place = events[first + event, 0] if previous else row
        if operation == LOAD_NUMBER:
            conditions.is_known[top, event] = conditions.known[operand, place]
            conditions.stack[top, event] = conditions.numbers[operand, place]
        elif operation == LOAD_CODE:
            conditions.is_known[top, event] = conditions.known[operand, place]
            conditions.codes[top, event] = conditions.compared[operand, place]
        elif operation == NUMBER:
            conditions.stack[top, event] = conditions.constants[at]
        elif operation == CODE:
            conditions.codes[top, event] = operand
        else:
            conditions.is_known[top, event] = 0


@kernel
def _apply_to_one(conditions: Conditions, operation: int, top: int, event: int) -> None:
    """Replace the value on top by that of an operator of one value."""
    stack, codes, known = conditions.stack, conditions.codes, conditions.is_known
    if operation == IS_UNKNOWN:
        codes[top, event] = 1 - known[top, event]
        known[top, event] = 1
    elif operation == NOT:
        codes[top, event] = 1 - codes[top, event]
    elif operation == NEGATE:
        stack[top, event] = -stack[top, event]
    elif operation == MAGNITUDE:
        stack[top, event] = abs(stack[top, event])
    elif operation == CODE_AS_NUMBER:
        stack[top, event] = float(codes[top, event])
    elif operation == NUMBER_AS_CODE:
        if known[top, event]:
            codes[top, event] = np.int64(stack[top, event])
    elif operation == MAGNITUDE_OF_CODE:
        if known[top, event] and codes[top, event] == LEAST:
            _overflow(conditions, top, event)
        codes[top, event] = abs(codes[top, event])
    elif known[top, event] and stack[top, event] > 0.0:
        stack[top, event] = math.log2(stack[top, event])
    else:
        known[top, event] = 0


@kernel
def _connect(conditions: Conditions, operation: int, top: int, event: int) -> None:
    """Replace two truth values by their AND or OR, in three-valued logic."""
    codes, known = conditions.codes, conditions.is_known
    both = known[top, event] & known[top + 1, event]
    decisive = 1 if operation == OR else 0
    settled = (known[top, event] == 1 and codes[top, event] == decisive) or (
        known[top + 1, event] == 1 and codes[top + 1, event] == decisive
    )
    codes[top, event] = decisive if settled else 1 - decisive
    known[top, event] = 1 if settled else both


@kernel
def _apply_to_two(
    conditions: Conditions, operation: int, operand: int, top: int, event: int
) -> None:
    """Replace two values by that of an operator; unknown if one is."""
    stack, codes, known = conditions.stack, conditions.codes, conditions.is_known
    known[top, event] &= known[top + 1, event]
    if known[top, event] == 0:
        return
    if operation == COMPARE_CODES:
        code, with_code = codes[top, event], codes[top + 1, event]
        outcome = LESS if code < with_code else EQUAL if code == with_code else GREATER
        codes[top, event] = 1 if operand & outcome else 0
    elif operation == COMPARE_NUMBERS:
        number, other = stack[top, event], stack[top + 1, event]
        outcome = LESS if number < other else EQUAL if number == other else GREATER
        codes[top, event] = 1 if operand & outcome else 0
    elif operation == SCALE_CODE:
        value = _scaled(operand, float(codes[top, event]), stack[top + 1, event])
        if abs(value) < LIMIT:
            codes[top, event] = _rounded(value)
        elif math.isnan(value):
            known[top, event] = 0
        else:
            _overflow(conditions, top, event)
    elif operation >= PLUS_CODES:
        with_code = codes[top + 1, event]
        if operation >= REMAINDER_OF_CODES and with_code == 0:
            known[top, event] = 0
        elif _fits(operation, codes[top, event], with_code):
            codes[top, event] = _computed_code(operation, codes[top, event], with_code)
        else:
            _overflow(conditions, top, event)
    else:
        value = _computed(operation, stack[top, event], stack[top + 1, event])
        stack[top, event] = value
        known[top, event] = 0 if value != value else 1  # noqa: PLR0124  (NaN)


@kernel
def _overflow(conditions: Conditions, top: int, event: int) -> None:
    """Note that a value is beyond 64 bits, if the event is still chosen; it is unknown."""
    conditions.is_known[top, event] = 0
    if conditions.chosen[event]:
        conditions.overflowed[0] = 1


@kernel
def _fits(operation: int, one: int, other: int) -> bool:
    """Return whether `_computed_code` has a result of 64 bits, other than the least integer."""
    if operation == PLUS_CODES:
        return one <= GREATEST - other if other > 0 else one > LEAST - other
    if operation == MINUS_CODES:
        return one > LEAST + other if other > 0 else one <= GREATEST + other
    if one == LEAST or other == LEAST:  # noqa: PLR1714 - compiled
        return False
    if operation == TIMES_CODES:
        return one == 0 or other == 0 or abs(one) <= GREATEST // abs(other)
    return True


@kernel
def _computed_code(operation: int, one: int, other: int) -> int:
    """Return a sum, product or the like of integers; a quotient rounded, halves away from zero."""
    if operation == PLUS_CODES:
        return one + other
    if operation == MINUS_CODES:
        return one - other
    if operation == TIMES_CODES:
        return one * other
    size, by = abs(one), abs(other)
    rest = size % by
    if operation == REMAINDER_OF_CODES:
        return -rest if one < 0 else rest
    quotient = size // by
    if rest >= by - rest:
        quotient += 1
    return quotient if (one < 0) == (other < 0) else -quotient


@kernel
def _scaled(operand: int, value: float, by: float) -> float:
    """Return a product, or a quotient, which is NaN if `by` is 0."""
    if operand == 0:
        return value * by
    return value / by if by != 0.0 else np.nan


@kernel
def _rounded(value: float) -> int:
    """Return the nearest integer, halves away from zero."""
    size = abs(value)
    whole = math.floor(size)
    nearest = np.int64(whole) + (1 if size - whole >= 0.5 else 0)
    return -nearest if value < 0 else nearest


@kernel
def _computed(operation: int, one: float, other: float) -> float:
    """Return a sum, product or the like; NaN where it has no value."""
    if operation == PLUS:
        return one + other
    if operation == MINUS:
        return one - other
    if operation == TIMES:
        return one * other
    if other == 0.0:
        return np.nan
    if operation == DIVIDE:
        return one / other
    return np.nan if math.isinf(one) else np.fmod(one, other)
