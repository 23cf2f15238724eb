"""Recognizing conditions that compare an attribute of the selected event with an earlier event's.

They have the form `current operator other + shift`, such as `b.v > a.v`, `b.v <= a.v + 5` and
`c.time - b.time <= 5 minutes`. They are evaluated without the stack machine, and indexes find the
events that satisfy them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elsinore.operators.conditions.code import Code, Moment, Program
from elsinore.operators.conditions.orders import LIMIT

_MIRRORED: dict[int, int] = {
    Code.LT: Code.GT, Code.LE: Code.GE, Code.GT: Code.LT, Code.GE: Code.LE, Code.EQ: Code.EQ,
    Code.NE: Code.NE,
}  # fmt: skip
_WHOLE_COMPARISONS = range(Code.WHOLE_LT, Code.WHOLE_NE + 1)
NEIGHBOUR = -1  # instead of a register: the previous event

Operand = tuple[int, int, int]  # moment, register, row of the layout
Row = tuple[int, int, int, int]  # an instruction and its operands


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """`current operator other + shift`: rows of integers if `is_whole`, else of doubles.

    The other event is the one in `register` (an index of event registers), or the previous event.
    If the register is empty, the condition is true.
    """

    operator: int  # Code.LT to Code.NE
    is_whole: bool
    current: int
    other: int
    register: int
    shift: float  # an int if `is_whole`

    @property
    def is_upper_limit(self) -> bool:
        """Whether it bounds an attribute of both events from above, as a time limit does."""
        return self.operator in {Code.LT, Code.LE} and self.current == self.other


@dataclass(slots=True)
class _Sum:
    """A sum of operands with factors, and a constant."""

    factors: dict[Operand, int]
    constant: int = 0

    def add(self, other: _Sum, sign: int) -> None:
        self.constant += sign * other.constant
        for operand, factor in other.factors.items():
            self.factors[operand] = self.factors.get(operand, 0) + sign * factor


def comparison_of(program: Program, number: int) -> Comparison | None:
    """Return a condition as a comparison, or None if it does not have that form."""
    rows: list[Row] = program.rows[program.starts[number] : program.starts[number + 1]]
    bound = {row[1] for row in rows if row[0] == Code.BOUND}
    rows = [row for row in rows if row[0] != Code.BOUND]
    if not rows:
        return None
    is_whole = rows[-1][0] in _WHOLE_COMPARISONS
    comparison = (
        _integer_comparison(program, rows) if is_whole else _double_comparison(program, rows)
    )
    if comparison is None or bound != {comparison.register} - {NEIGHBOUR}:
        return None
    return comparison


def _register(operand: Operand) -> int:
    return NEIGHBOUR if operand[0] == Moment.PREVIOUS else operand[1]


def _integer_comparison(program: Program, rows: Sequence[Row]) -> Comparison | None:
    """Return a comparison of integers, whose sides are sums of attributes and constants."""
    stack: list[_Sum] = []
    for code, a, b, c in rows[:-1]:
        match code:
            case Code.WHOLE:
                stack.append(_Sum({(a, b, c): 1}))
            case Code.WHOLE_CONSTANT if a not in program.texts:
                stack.append(_Sum({}, program.wholes[a]))
            case Code.WHOLE_NEGATE:
                negated = _Sum({})
                negated.add(stack.pop(), -1)
                stack.append(negated)
            case Code.WHOLE_ADD | Code.WHOLE_SUB:
                right = stack.pop()
                stack[-1].add(right, 1 if code == Code.WHOLE_ADD else -1)
            case _:
                return None
    if len(stack) != 2:
        return None
    stack[0].add(stack[1], -1)
    factors = {operand: factor for operand, factor in stack[0].factors.items() if factor}
    current = [operand for operand in factors if operand[0] == Moment.CURRENT]
    others = [o for o in factors if o[0] in {Moment.PREVIOUS, Moment.BEFORE}]
    if len(factors) != 2 or len(current) != 1 or len(others) != 1:
        return None
    sign = factors[current[0]]
    if abs(sign) != 1 or factors[others[0]] != -sign or abs(stack[0].constant) >= LIMIT:
        return None
    operator = rows[-1][0] - Code.WHOLE_LT + Code.LT
    return Comparison(
        operator=operator if sign > 0 else _MIRRORED[operator],
        is_whole=True,
        current=current[0][2],
        other=others[0][2],
        register=_register(others[0]),
        shift=-sign * stack[0].constant,
    )


def _double_comparison(program: Program, rows: Sequence[Row]) -> Comparison | None:
    """Return a comparison of doubles; a constant may be added to the earlier event's.

    Sums of doubles are rounded, so the order of operations must not change.
    """
    codes = [row[0] for row in rows]
    if codes[-1] not in _MIRRORED:
        return None
    match codes[:-1]:
        case [Code.DOUBLE, Code.DOUBLE]:
            left, right, shift = rows[0], rows[1], 0.0
        case [Code.DOUBLE, Code.DOUBLE, Code.CONSTANT, Code.ADD | Code.SUB]:
            left, right, shift = rows[0], rows[1], program.constants[rows[2][1]]
        case [Code.DOUBLE, Code.CONSTANT, Code.ADD | Code.SUB, Code.DOUBLE]:
            right, left, shift = rows[0], rows[3], program.constants[rows[1][1]]
        case _:
            return None
    is_mirrored = codes[1] == Code.CONSTANT
    operator = _MIRRORED[codes[-1]] if is_mirrored else codes[-1]
    if Code.SUB in codes[:-1]:
        shift = -shift
    if left[1] != Moment.CURRENT and len(codes) == 3:
        left, right, operator = right, left, _MIRRORED[operator]
    if left[1] != Moment.CURRENT or right[1] not in {Moment.PREVIOUS, Moment.BEFORE}:
        return None
    return Comparison(
        operator=operator,
        is_whole=False,
        current=left[3],
        other=right[3],
        register=_register((right[1], right[2], right[3])),
        shift=shift,
    )
