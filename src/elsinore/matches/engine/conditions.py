"""Conditions between the events of a match, evaluated by a small stack machine.

Values are doubles; null is NaN, truth 1 and falsehood 0. Integers, times, durations and texts are
compared as 64-bit integers on a stack of their own, where the least is null. The instructions are
those of `elsinore.matches.program.Code`.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.tables import NULL as _NULL

if cython.compiled:
    from cython.cimports.elsinore.matches.engine.tables import Match, Program, Values
    from cython.cimports.libc.math import floor, fmod, isinf, isnan, log2
else:
    from math import floor, fmod, isinf, isnan, log2

    from elsinore.matches.engine.tables import Match, Program, Values

NULL = cython.declare(cython.longlong, _NULL)
GREATEST = cython.declare(cython.longlong, 2**63 - 1)
NAN = cython.declare(cython.double, float("nan"))
INFINITY = cython.declare(cython.double, float("inf"))
LIMIT = cython.declare(cython.double, 2.0**63)
HALF = cython.declare(cython.double, 2.0**32)
FACTOR = cython.declare(cython.longlong, 2**32)
EXACT = cython.declare(cython.double, 2.0**53)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def all_hold(
    program: Program,
    values: Values,
    match: Match,
    listed: cython.int,
    listed_end: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
    before: cython.longlong,
    final: cython.longlong,
) -> cython.bint:
    """Return whether the conditions of a range of `lists` are all true.

    `current` and `previous` are rows of events; `before` and `final` rows of the registers.
    """
    place: cython.int
    for place in range(listed, listed_end):
        number: cython.int = program.lists[place]
        if program.conditions[number].comparison != 0:
            if not comparison_holds(program, values, match, number, current, previous, before):
                return False
        elif value_of(program, values, match, number, current, previous, before, final) != 1.0:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def comparison_holds(
    program: Program,
    values: Values,
    match: Match,
    number: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
    before: cython.longlong,
) -> cython.bint:
    """Return whether an attribute of an event compares with one of an event before it, shifted.

    It does if the register that should have that event holds none: the condition does not apply.
    """
    code: cython.int = program.conditions[number].comparison
    column: cython.int = program.conditions[number].current
    other_column: cython.int = program.conditions[number].other
    register: cython.int = program.conditions[number].register
    if register >= 0:
        previous = match.held[before, register]
        if previous < 0:
            return True
    if not program.conditions[number].is_whole:
        other: cython.double = values.doubles[other_column, previous]
        other += program.conditions[number].double_shift
        value: cython.double = values.doubles[column, current]
        return not isnan(value) and not isnan(other) and compare(code, value, other)
    left: cython.longlong = values.integers[column, current]
    right: cython.longlong = values.integers[other_column, previous]
    if left == NULL or right == NULL:  # noqa: PLR1714 - compiled
        return False
    shift: cython.longlong = program.conditions[number].shift
    if shift > 0 and right > GREATEST - shift:  # beyond all integers
        left, right = 0, 1
    elif shift < 0 and right < -GREATEST - shift:
        left, right = 1, 0
    else:
        right += shift
    return compare_wholes(code, left, right) == 1.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def value_of(
    program: Program,
    values: Values,
    match: Match,
    number: cython.int,
    current: cython.longlong,
    previous: cython.longlong,
    before: cython.longlong,
    final: cython.longlong,
) -> cython.double:
    """Return the value of a condition: 1 if it is true, NaN if it is unknown."""
    top: cython.int = -1
    whole: cython.int = -1
    line: cython.int
    row: cython.longlong
    for line in range(program.conditions[number].code, program.conditions[number].code_end):
        op: cython.int = program.code[line].code
        a: cython.int = program.code[line].a
        b: cython.int = program.code[line].b
        c: cython.int = program.code[line].c
        registers: cython.longlong = before if a == 2 else final
        if op == 0:
            top += 1
            match.stack[top] = program.constants[a]
        elif op <= 2:
            if a == 0:
                row = current
            elif a == 1:
                row = previous
            else:
                row = match.held[registers, b]
            if op == 1:
                top += 1
                match.stack[top] = values.doubles[c, row] if row >= 0 else NAN
            else:
                whole += 1
                match.whole_stack[whole] = values.integers[c, row] if row >= 0 else NULL
        elif op == 3:
            whole += 1
            match.whole_stack[whole] = program.wholes[a]
        elif op == 4:
            top += 1
            match.stack[top] = match.numbers[registers, b]
        elif op <= 7:
            row = match.held[final if op == 7 else before, a]
            if (row >= 0) == (op == 6):
                return 1.0
        elif op <= 12:
            match.stack[top] = of_one(op, match.stack[top])
        elif op == 13:
            top += 1
            match.stack[top] = 1.0 if match.whole_stack[whole] == NULL else 0.0
            whole -= 1
        elif op < 27:
            top -= 1
            match.stack[top] = of_two(op, match.stack[top], match.stack[top + 1])
        else:
            match.top = top
            match.whole = whole
            compute_whole(program, match, line, registers)
            top = match.top
            whole = match.whole
    return match.stack[0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compute_whole(
    program: Program, match: Match, line: cython.int, registers: cython.longlong
) -> cython.void:
    """Run an instruction that compares or computes integers; `registers` is a row of registers."""
    op: cython.int = program.code[line].code
    b: cython.int = program.code[line].b
    top: cython.int = match.top
    whole: cython.int = match.whole
    if op < 33:
        whole -= 2
        top += 1
        match.stack[top] = compare_wholes(
            op - 6, match.whole_stack[whole + 1], match.whole_stack[whole + 2]
        )
    elif op == 33:
        whole += 1
        match.whole_stack[whole] = cython.cast(cython.longlong, match.numbers[registers, b])
    elif op == 34:
        whole += 1
        match.whole_stack[whole] = summed(
            program, match.numbers[registers, b], match.numbers[registers, program.code[line].c]
        )
    elif op == 36:
        top += 1
        match.stack[top] = to_double(match.whole_stack[whole])
        whole -= 1
    elif op <= 38:
        match.whole_stack[whole] = whole_of_one(program, op, match.whole_stack[whole])
    elif op == 39:
        match.whole_stack[whole] = scaled(
            program, program.code[line].a, match.whole_stack[whole], match.stack[top]
        )
        top -= 1
    else:
        whole -= 1
        match.whole_stack[whole] = computed(
            program, op, match.whole_stack[whole], match.whole_stack[whole + 1]
        )
    match.top = top
    match.whole = whole


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def to_double(value: cython.longlong) -> cython.double:
    """Return an integer as a double."""
    if value == NULL:
        return NAN
    return cython.cast(cython.double, value)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def of_one(op: cython.int, value: cython.double) -> cython.double:
    """Return the value of an operator of one double."""
    if op == 8:  # NOT
        return 1.0 - value
    if op == 9:
        return -value
    if op == 10:
        return -value if value < 0 else value
    if op == 11:
        if value == INFINITY:
            return value
        return log2(value) if value > 0 else NAN
    return 1.0 if isnan(value) else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def of_two(op: cython.int, one: cython.double, other: cython.double) -> cython.double:
    """Return the value of an operator of two doubles, in three-valued logic."""
    if op == 14:  # AND
        if one == 0.0 or other == 0.0:
            return 0.0
        return one + other - 1.0  # 1 if both are, NaN if one is unknown
    if op == 15:  # OR
        if one == 1.0 or other == 1.0:
            return 1.0
        return one + other
    if op == 16:
        return one + other
    if op == 17:
        return one - other
    if op == 18:
        return one * other
    if isnan(one) or isnan(other):
        return NAN
    if op == 19:
        return one / other if other != 0.0 else NAN
    if op == 20:
        if other == 0.0 or isinf(one):
            return NAN
        return fmod(one, other)
    return 1.0 if compare(op, one, other) else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compare(op: cython.int, one: cython.double, other: cython.double) -> cython.bint:
    """Return whether a comparison of doubles holds."""
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compare_wholes(op: cython.int, one: cython.longlong, other: cython.longlong) -> cython.double:
    """Return whether a comparison of integers holds; NaN if one is null."""
    holds: cython.bint
    if one == NULL or other == NULL:  # noqa: PLR1714 - compiled
        return NAN
    if op == 21:
        holds = one < other
    elif op == 22:
        holds = one <= other
    elif op == 23:
        holds = one > other
    elif op == 24:
        holds = one >= other
    elif op == 25:
        holds = one == other
    else:
        holds = one != other
    return 1.0 if holds else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def beyond(program: Program) -> cython.longlong:
    """Note that an integer was beyond 64 bits; return null."""
    program.has_overflown = 1
    return NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def absolute(value: cython.longlong) -> cython.longlong:
    """Return an integer without its sign."""
    return -value if value < 0 else value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def whole_of_one(program: Program, op: cython.int, value: cython.longlong) -> cython.longlong:
    """Return the value of an operator of one integer."""
    if value == NULL:
        return value
    if op == 35:  # the code of an integer without a sign, as the integer
        if value > 0:
            return beyond(program)
        return (value - 1) ^ NULL
    return -value if op == 37 else absolute(value)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def computed(
    program: Program, op: cython.int, one: cython.longlong, other: cython.longlong
) -> cython.longlong:
    """Return a sum, difference, product, remainder or rounded quotient of two integers.

    A division by 0 is null, and so is what 64 bits do not hold (`beyond`).
    """
    if one == NULL or other == NULL:  # noqa: PLR1714 - compiled
        return NULL
    if op == 41:
        other = -other
    if op <= 41:
        if other > 0 and one > GREATEST - other:
            return beyond(program)
        if other < 0 and one < -GREATEST - other:
            return beyond(program)
        return one + other
    size: cython.longlong = absolute(one)
    by: cython.longlong = absolute(other)
    if op == 42:
        if size == 0 or by == 0:
            return 0
        return beyond(program) if size > GREATEST // by else one * other
    if by == 0:
        return NULL
    rest: cython.longlong = size % by
    if op == 43:
        return -rest if one < 0 else rest
    quotient: cython.longlong = size // by
    if rest >= by - rest:  # halves away from zero
        quotient += 1
    return quotient if (one < 0) == (other < 0) else -quotient


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def scaled(
    program: Program, divides: cython.int, count: cython.longlong, number: cython.double
) -> cython.longlong:
    """Return an integer times, or divided by, a double, rounded; halves away from zero."""
    if count == NULL or isnan(number) or (divides == 1 and number == 0.0):
        return NULL
    result: cython.double = to_double(count)
    result = result / number if divides == 1 else result * number
    if isnan(result):
        return NULL
    size: cython.double = -result if result < 0 else result
    if size >= LIMIT:
        return beyond(program)
    whole: cython.double = floor(size)
    rounded: cython.longlong = cython.cast(cython.longlong, whole)
    if size - whole >= 0.5:
        rounded += 1
    return -rounded if result < 0 else rounded


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def summed(program: Program, low: cython.double, high: cython.double) -> cython.longlong:
    """Return the sum whose halves were added up; null if there was nothing to add."""
    if isnan(low):
        return NULL
    if low > EXACT or low < -EXACT or (not isnan(high) and (high > EXACT or high < -EXACT)):
        return beyond(program)  # of more than two million events: the halves are not exact
    if isnan(high):
        return cython.cast(cython.longlong, low)
    carry: cython.double = floor(low / HALF)
    upper: cython.double = high + carry
    if upper >= 2147483648.0 or upper < -2147483648.0:
        return beyond(program)
    lower: cython.longlong = cython.cast(cython.longlong, low - carry * HALF)
    total: cython.longlong = cython.cast(cython.longlong, upper) * FACTOR + lower
    return beyond(program) if total == NULL else total
