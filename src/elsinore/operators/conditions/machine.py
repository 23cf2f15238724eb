"""A stack machine that evaluates conditions between events (`elsinore.operators.conditions`).

Doubles and integers have separate stacks. True is 1, false 0, and unknown NaN.
"""

from __future__ import annotations

from math import floor, fmod, isinf, isnan, log2

import cython

from elsinore.operators.conditions.code import Code, Moment
from elsinore.operators.conditions.tables import NULL as _NULL
from elsinore.operators.conditions.tables import Columns, Conditions, Registers

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
    conditions: Conditions,
    listed: cython.int,
    listed_end: cython.int,
    events: Columns,
    current: cython.longlong,
    earlier: Columns,
    previous: cython.longlong,
    registers: Registers,
    before: cython.longlong,
    final: cython.longlong,
) -> cython.bint:
    """Return whether the conditions of a range of `lists` are all true.

    `current` is a row of `events`, `previous` one of `earlier`, the columns of the events before;
    `before` and `final` are rows of the registers.
    """
    place: cython.int
    for place in range(listed, listed_end):
        number: cython.int = conditions.lists[place]
        if conditions.conditions[number].comparison != 0:
            if not comparison_holds(
                conditions, number, events, current, earlier, previous, registers, before
            ):
                return False
        elif (
            value_of(
                conditions, number, events, current, earlier, previous, registers, before, final
            )
            != 1.0
        ):
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def comparison_holds(
    conditions: Conditions,
    number: cython.int,
    events: Columns,
    current: cython.longlong,
    earlier: Columns,
    previous: cython.longlong,
    registers: Registers,
    before: cython.longlong,
) -> cython.bint:
    """Return whether a comparison with an attribute of an earlier event, plus a shift, is true.

    Also true if the register of that event is empty: the condition does not apply.
    """
    code: cython.int = conditions.conditions[number].comparison
    column: cython.int = conditions.conditions[number].current
    earlier_column: cython.int = conditions.conditions[number].other
    register: cython.int = conditions.conditions[number].register
    if register >= 0:
        previous = registers.bound_rows[before, register]
        if previous < 0:
            return True
    if not conditions.conditions[number].is_whole:
        earlier_value: cython.double = earlier.doubles[earlier_column, previous]
        earlier_value += conditions.conditions[number].double_shift
        value: cython.double = events.doubles[column, current]
        return not isnan(value) and not isnan(earlier_value) and compare(code, value, earlier_value)
    left: cython.longlong = events.integers[column, current]
    right: cython.longlong = earlier.integers[earlier_column, previous]
    if left == NULL or right == NULL:  # noqa: PLR1714 - compiled
        return False
    shift: cython.longlong = conditions.conditions[number].shift
    if shift > 0 and right > GREATEST - shift:  # overflow
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
    conditions: Conditions,
    number: cython.int,
    events: Columns,
    current: cython.longlong,
    earlier: Columns,
    previous: cython.longlong,
    registers: Registers,
    before: cython.longlong,
    final: cython.longlong,
) -> cython.double:
    """Return the value of a condition: 1 if it is true, NaN if it is unknown."""
    top: cython.int = -1
    whole: cython.int = -1
    line: cython.int
    row: cython.longlong
    for line in range(conditions.conditions[number].code, conditions.conditions[number].code_end):
        op: cython.int = conditions.code[line].code
        a: cython.int = conditions.code[line].a
        b: cython.int = conditions.code[line].b
        c: cython.int = conditions.code[line].c
        at: cython.longlong = before if a == Moment.BEFORE else final
        if op == Code.CONSTANT:
            top += 1
            conditions.stack[top] = conditions.constants[a]
        elif op == Code.DOUBLE:
            top += 1
            if a == Moment.PREVIOUS:
                conditions.stack[top] = earlier.doubles[c, previous] if previous >= 0 else NAN
            else:
                row = current if a == Moment.CURRENT else registers.bound_rows[at, b]
                conditions.stack[top] = events.doubles[c, row] if row >= 0 else NAN
        elif op == Code.WHOLE:
            whole += 1
            if a == Moment.PREVIOUS:
                conditions.whole_stack[whole] = (
                    earlier.integers[c, previous] if previous >= 0 else NULL
                )
            else:
                row = current if a == Moment.CURRENT else registers.bound_rows[at, b]
                conditions.whole_stack[whole] = events.integers[c, row] if row >= 0 else NULL
        elif op == Code.WHOLE_CONSTANT:
            whole += 1
            conditions.whole_stack[whole] = conditions.wholes[a]
        elif op == Code.NUMBER:
            top += 1
            conditions.stack[top] = registers.numbers[at, b]
        elif op <= Code.BOUND_FINALLY:
            row = registers.bound_rows[final if op == Code.BOUND_FINALLY else before, a]
            if (row >= 0) == (op == Code.UNBOUND):
                return 1.0
        elif op <= Code.IS_NULL:
            conditions.stack[top] = unary(op, conditions.stack[top])
        elif op == Code.WHOLE_IS_NULL:
            top += 1
            conditions.stack[top] = 1.0 if conditions.whole_stack[whole] == NULL else 0.0
            whole -= 1
        elif op <= Code.NE:
            top -= 1
            conditions.stack[top] = binary(op, conditions.stack[top], conditions.stack[top + 1])
        elif op == Code.WHOLE_CHOSEN:
            whole += 1
            conditions.whole_stack[whole] = (
                NULL
                if isnan(registers.numbers[at, b])
                else events.integers[c, cython.cast(cython.longlong, registers.numbers[at, b])]
            )
        else:
            conditions.top = top
            conditions.whole = whole
            compute_whole(conditions, line, registers, at)
            top = conditions.top
            whole = conditions.whole
    return conditions.stack[0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compute_whole(
    conditions: Conditions, line: cython.int, registers: Registers, at: cython.longlong
) -> cython.void:
    """Run an instruction that compares or computes integers; `at` is a row of registers."""
    op: cython.int = conditions.code[line].code
    b: cython.int = conditions.code[line].b
    c: cython.int = conditions.code[line].c
    top: cython.int = conditions.top
    whole: cython.int = conditions.whole
    if op <= Code.WHOLE_NE:
        whole -= 2
        top += 1
        conditions.stack[top] = compare_wholes(
            op - Code.WHOLE_LT + Code.LT,
            conditions.whole_stack[whole + 1],
            conditions.whole_stack[whole + 2],
        )
    elif op == Code.WHOLE_NUMBER:
        whole += 1
        conditions.whole_stack[whole] = cython.cast(cython.longlong, registers.numbers[at, b])
    elif op == Code.WHOLE_SUM:
        whole += 1
        conditions.whole_stack[whole] = sum_of_halves(
            conditions, registers.numbers[at, b], registers.numbers[at, c]
        )
    elif op == Code.TO_DOUBLE:
        top += 1
        conditions.stack[top] = to_double(conditions.whole_stack[whole])
        whole -= 1
    elif op <= Code.WHOLE_ABSOLUTE:
        conditions.whole_stack[whole] = whole_unary(conditions, op, conditions.whole_stack[whole])
    elif op == Code.SCALE:
        conditions.whole_stack[whole] = scale(
            conditions,
            conditions.code[line].a,
            conditions.whole_stack[whole],
            conditions.stack[top],
        )
        top -= 1
    elif op == Code.CONTAINS:
        whole -= 2
        top += 1
        conditions.stack[top] = contains(
            conditions, conditions.whole_stack[whole + 1], conditions.whole_stack[whole + 2]
        )
    elif op >= Code.MIXED_LT:
        conditions.stack[top] = compare_mixed(
            op - Code.MIXED_LT + Code.LT, conditions.whole_stack[whole], conditions.stack[top]
        )
        whole -= 1
    else:
        whole -= 1
        conditions.whole_stack[whole] = arithmetic(
            conditions,
            op,
            conditions.whole_stack[whole],
            conditions.whole_stack[whole + 1],
        )
    conditions.top = top
    conditions.whole = whole


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def contains(
    conditions: Conditions, listed: cython.longlong, value: cython.longlong
) -> cython.double:
    """Return whether a list has a value, by its code; NaN if either or an element is null."""
    if listed == NULL or value == NULL:  # noqa: PLR1714 - compiled
        return NAN
    first: cython.longlong = conditions.member_starts[listed]
    begin: cython.longlong = first
    end: cython.longlong = conditions.member_starts[listed + 1]
    last: cython.longlong = end
    while begin < last:
        middle: cython.longlong = (begin + last) // 2
        if conditions.members[middle] < value:
            begin = middle + 1
        else:
            last = middle
    if begin < end and conditions.members[begin] == value:
        return 1.0
    return NAN if first < end and conditions.members[first] == NULL else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compare_mixed(
    op: cython.int, whole_number: cython.longlong, number: cython.double
) -> cython.double:
    """Return whether a comparison of an integer with a double holds; NaN if either is null."""
    if whole_number == NULL or isnan(number):
        return NAN
    above: cython.double = 0.0  # above 0 if the integer is greater, below 0 if it is less
    if number >= LIMIT:
        above = -1.0
    elif number < -LIMIT:
        above = 1.0
    else:
        whole: cython.double = floor(number)
        below: cython.longlong = cython.cast(cython.longlong, whole)
        if whole_number != below:
            above = 1.0 if whole_number > below else -1.0
        elif number > whole:
            above = -1.0
    return 1.0 if compare(op, above, 0.0) else 0.0


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
def unary(op: cython.int, value: cython.double) -> cython.double:
    """Return the value of an operator of one double."""
    if op == Code.NOT:
        return 1.0 - value
    if op == Code.NEGATE:
        return -value
    if op == Code.ABSOLUTE:
        return -value if value < 0 else value
    if op == Code.LOG2:
        if value == INFINITY:
            return value
        return log2(value) if value > 0 else NAN
    return 1.0 if isnan(value) else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def binary(op: cython.int, left: cython.double, right: cython.double) -> cython.double:
    """Return the value of an operator of two doubles, in three-valued logic."""
    if op == Code.AND:
        if left == 0.0 or right == 0.0:
            return 0.0
        return left + right - 1.0  # 1 if both are, NaN if one is unknown
    if op == Code.OR:
        if left == 1.0 or right == 1.0:
            return 1.0
        return left + right
    if op == Code.ADD:
        return left + right
    if op == Code.SUB:
        return left - right
    if op == Code.MUL:
        return left * right
    if isnan(left) or isnan(right):
        return NAN
    if op == Code.DIV:
        return left / right if right != 0.0 else NAN
    if op == Code.MOD:
        if right == 0.0 or isinf(left):
            return NAN
        return fmod(left, right)
    return 1.0 if compare(op, left, right) else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compare(op: cython.int, left: cython.double, right: cython.double) -> cython.bint:
    """Return whether a comparison of doubles holds."""
    if op == Code.LT:
        return left < right
    if op == Code.LE:
        return left <= right
    if op == Code.GT:
        return left > right
    if op == Code.GE:
        return left >= right
    if op == Code.EQ:
        return left == right
    return left != right


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compare_wholes(op: cython.int, left: cython.longlong, right: cython.longlong) -> cython.double:
    """Return whether a comparison of integers holds; NaN if one is null."""
    holds: cython.bint
    if left == NULL or right == NULL:  # noqa: PLR1714 - compiled
        return NAN
    if op == Code.LT:
        holds = left < right
    elif op == Code.LE:
        holds = left <= right
    elif op == Code.GT:
        holds = left > right
    elif op == Code.GE:
        holds = left >= right
    elif op == Code.EQ:
        holds = left == right
    else:
        holds = left != right
    return 1.0 if holds else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def overflow(conditions: Conditions) -> cython.longlong:
    """Record an overflow of 64-bit integers; return null."""
    conditions.has_overflown = 1
    return NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def absolute(value: cython.longlong) -> cython.longlong:
    """Return the absolute value of an integer."""
    return -value if value < 0 else value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def whole_unary(conditions: Conditions, op: cython.int, value: cython.longlong) -> cython.longlong:
    """Return the value of an operator of one integer."""
    if value == NULL:
        return value
    if op == Code.UNSIGNED:  # convert the code of an unsigned integer
        if value > 0:
            return overflow(conditions)
        return (value - 1) ^ NULL
    return -value if op == Code.WHOLE_NEGATE else absolute(value)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def arithmetic(
    conditions: Conditions, op: cython.int, left: cython.longlong, right: cython.longlong
) -> cython.longlong:
    """Return a sum, difference, product, remainder or rounded quotient of two integers.

    Division by 0 and overflow of 64 bits (`overflow`) return null.
    """
    if left == NULL or right == NULL:  # noqa: PLR1714 - compiled
        return NULL
    if op == Code.WHOLE_SUB:
        right = -right
    if op <= Code.WHOLE_SUB:
        if right > 0 and left > GREATEST - right:
            return overflow(conditions)
        if right < 0 and left < -GREATEST - right:
            return overflow(conditions)
        return left + right
    size: cython.longlong = absolute(left)
    divisor: cython.longlong = absolute(right)
    if op == Code.WHOLE_MUL:
        if size == 0 or divisor == 0:
            return 0
        return overflow(conditions) if size > GREATEST // divisor else left * right
    if divisor == 0:
        return NULL
    remainder: cython.longlong = size % divisor
    if op == Code.WHOLE_MOD:
        return -remainder if left < 0 else remainder
    quotient: cython.longlong = size // divisor
    if remainder >= divisor - remainder:  # halves away from zero
        quotient += 1
    return quotient if (left < 0) == (right < 0) else -quotient


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def scale(
    conditions: Conditions, divides: cython.int, count: cython.longlong, number: cython.double
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
        return overflow(conditions)
    whole: cython.double = floor(size)
    rounded: cython.longlong = cython.cast(cython.longlong, whole)
    if size - whole >= 0.5:
        rounded += 1
    return -rounded if result < 0 else rounded


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sum_of_halves(
    conditions: Conditions, low: cython.double, high: cython.double
) -> cython.longlong:
    """Return a sum of integers from the sums of their lower and upper 32 bits; null if empty."""
    if isnan(low):
        return NULL
    if low > EXACT or low < -EXACT or (not isnan(high) and (high > EXACT or high < -EXACT)):
        return overflow(conditions)  # more than two million events: the sums of halves are inexact
    if isnan(high):
        return cython.cast(cython.longlong, low)
    carry: cython.double = floor(low / HALF)
    upper: cython.double = high + carry
    if upper >= 2147483648.0 or upper < -2147483648.0:
        return overflow(conditions)
    lower: cython.longlong = cython.cast(cython.longlong, low - carry * HALF)
    total: cython.longlong = cython.cast(cython.longlong, upper) * FACTOR + lower
    return overflow(conditions) if total == NULL else total
