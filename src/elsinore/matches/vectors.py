"""The code of an expression of RETURN (`elsinore.matches.program`) over all matches at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from elsinore.matches.arrays import Doubles, Ints
from elsinore.matches.operands import NULL_CODE, Operands
from elsinore.matches.program import Code, Program

_COMPARISONS: dict[int, Callable[[Any, Any], Any]] = {
    Code.LT: np.less,
    Code.LE: np.less_equal,
    Code.GT: np.greater,
    Code.GE: np.greater_equal,
    Code.EQ: np.equal,
    Code.NE: np.not_equal,
}
_ARITHMETIC: dict[int, Callable[[Any, Any], Any]] = {
    Code.ADD: np.add,
    Code.SUB: np.subtract,
    Code.MUL: np.multiply,
}


def values_of(
    program: Program,
    number: int,
    operands: Operands,
    events: Callable[[int], Ints],
    numbers: Doubles,
) -> Doubles:
    """Return the value of expression `number` for each match, NaN for null.

    `events(register)` and `numbers` [match, register] are the registers of complete matches. As
    `elsinore.matches.interpret.value_of`, which looks at one match.
    """
    stack: list[Any] = []
    with np.errstate(all="ignore"):
        for op, a, b, c in program.rows[program.starts[number] : program.starts[number + 1]]:
            _run(stack, op, (a, b, c), program, operands, events, numbers)
    return np.broadcast_to(np.asarray(stack[0], dtype=np.float64), len(numbers))


def _run(
    stack: list[Any],
    op: int,
    given: tuple[int, int, int],
    program: Program,
    operands: Operands,
    events: Callable[[int], Ints],
    numbers: Doubles,
) -> None:
    """Run one instruction on a stack of columns and constants."""
    a, b, c = given
    match op:
        case Code.CONSTANT:
            stack.append(program.constants[a])
        case Code.DOUBLE:
            stack.append(_read(operands.doubles[c], events(b), np.nan))
        case Code.WHOLE:
            stack.append(_read(operands.wholes[c], events(b), NULL_CODE))
        case Code.WHOLE_CONSTANT:
            text = program.texts.get(a)
            stack.append(program.wholes[a] if text is None else operands.code_of(text))
        case Code.NUMBER:
            stack.append(numbers[:, b])
        case Code.NOT:
            stack.append(1.0 - stack.pop())
        case Code.NEGATE:
            stack.append(-stack.pop())
        case Code.ABSOLUTE:
            stack.append(np.abs(stack.pop()))
        case Code.LOG2:
            value = stack.pop()
            stack.append(np.where(np.greater(value, 0), np.log2(value), np.nan))
        case Code.IS_NULL:
            stack.append(np.where(np.isnan(stack.pop()), 1.0, 0.0))
        case Code.WHOLE_IS_NULL:
            stack.append(np.where(np.equal(stack.pop(), NULL_CODE), 1.0, 0.0))
        case _:
            right, left = stack.pop(), stack.pop()
            stack.append(_binary(op, left, right))


def _read(column: Any, rows: Ints, missing: Any) -> Any:
    if len(rows) and rows.min() >= 0:
        return column[rows]
    if column.size == 0:
        return np.full(len(rows), missing)
    return np.where(rows >= 0, column[np.maximum(rows, 0)], missing)


def _binary(op: int, left: Any, right: Any) -> Any:
    """Return what an operator gives, in three-valued logic."""
    if op in _ARITHMETIC:
        return _ARITHMETIC[op](left, right)
    if op == Code.AND:
        return np.where(np.equal(left, 0.0) | np.equal(right, 0.0), 0.0, left + right - 1.0)
    if op == Code.OR:
        return np.where(np.equal(left, 1.0) | np.equal(right, 1.0), 1.0, left + right)
    if op == Code.DIV:
        nothing = np.equal(right, 0.0)
        quotient = np.divide(left, right)
        return np.where(nothing, np.nan, quotient) if np.any(nothing) else quotient
    if op == Code.MOD:
        remainder = np.fmod(left, right)
        return np.where(np.equal(right, 0.0) | np.isinf(left), np.nan, remainder)
    whole = op >= Code.WHOLE_LT
    code = op - (Code.WHOLE_LT - Code.LT) if whole else op
    truth = np.where(_COMPARISONS[code](left, right), 1.0, 0.0)
    unknown = (
        np.equal(left, NULL_CODE) | np.equal(right, NULL_CODE)
        if whole
        else np.isnan(left) | np.isnan(right)
    )
    return np.where(unknown, np.nan, truth)
