"""Conditions between two events compiled for `interpret.kernels`.

What an expression is compared as follows from the types of the columns, so each operation is chosen
here, once; a comparison of two kinds is null, as in `elsinore.model.evaluate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from elsinore.errors import InputError
from elsinore.model.expression import (
    Attribute,
    Binary,
    Call,
    Duration,
    Expression,
    InList,
    IsNull,
    Literal,
    Negative,
    Not,
    Operator,
)
from elsinore.model.schema import AttributeKind
from elsinore.model.types import kind_of
from elsinore.numeric.constants import bounded
from elsinore.plan.between import PREVIOUS
from elsinore.plan.classes import EXACT_DOUBLES
from elsinore.trends.graph import interpret as k
from elsinore.trends.graph.bounds import magnitude
from elsinore.trends.graph.codes import BOUND, KINDS, Order
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.keyed import as_entered

_ALLOWED = {
    Operator.LT: k.LESS,
    Operator.LE: k.LESS | k.EQUAL,
    Operator.EQ: k.EQUAL,
    Operator.GE: k.GREATER | k.EQUAL,
    Operator.GT: k.GREATER,
    Operator.NE: k.LESS | k.GREATER,
}
_COMPUTE = {
    Operator.ADD: k.PLUS,
    Operator.SUB: k.MINUS,
    Operator.MUL: k.TIMES,
    Operator.DIV: k.DIVIDE,
    Operator.MOD: k.REMAINDER,
}


_COMPUTE_CODES = {
    Operator.ADD: k.PLUS_CODES,
    Operator.SUB: k.MINUS_CODES,
    Operator.MUL: k.TIMES_CODES,
    Operator.MOD: k.REMAINDER_OF_CODES,
}
_COUNTED = {AttributeKind.INTEGER, AttributeKind.TIME, AttributeKind.DURATION}
_ORDERS = {
    AttributeKind.TIME: Order.TIME,
    AttributeKind.DURATION: Order.DURATION,
    AttributeKind.BOOLEAN: Order.TRUTH,
}


class _Instruction(NamedTuple):
    operation: int
    first: int = 0
    second: int = 0
    constant: float = 0.0


def conditions(expressions: Sequence[Expression], columns: ComparedColumns) -> k.Conditions:
    """Compile expressions that read their attributes from PREVIOUS and CURRENT."""
    programs = [_Compiler(columns).compiled(expression) for expression in expressions]
    forms = np.zeros((len(programs) + 1, 5), dtype=np.int64)
    forms[:, k.BEGINS] = np.cumsum([0, *map(len, programs)])
    for form, program in zip(forms, programs, strict=False):
        form[: k.BEGINS] = _form(program)
    every = [instruction for program in programs for instruction in program]
    numbers = np.zeros((len(columns.names), 0))
    if any(instruction.operation == k.LOAD_NUMBER for instruction in every):
        numbers = columns.numbers
    depth = 1 + max((len(program) for program in programs), default=0)
    return k.Conditions(
        forms=forms,
        program=np.array([code[:3] for code in every], dtype=np.int64).reshape(-1, 3),
        constants=np.array([code.constant for code in every], dtype=np.float64),
        compared=as_entered(columns.compared),  # all rows that the programs read are there by now
        known=as_entered(columns.known),
        numbers=as_entered(numbers),
        stack=np.zeros((depth, k.CHUNK)),
        codes=np.zeros((depth, k.CHUNK), dtype=np.int64),
        is_known=np.zeros((depth, k.CHUNK), dtype=np.uint8),
        chosen=np.zeros(k.CHUNK, dtype=np.uint8),
        overflowed=np.zeros(1, dtype=np.uint8),
    )


def _form(program: Sequence[_Instruction]) -> tuple[int, int, int, int]:
    """Return form, outcomes and attributes: whether it compares values of the two events."""
    if len(program) == 3 and program[2].operation == k.COMPARE_CODES:
        left, right, last = program
        allowed = last.first
        if left.second == k.CURRENT_EVENT:  # turned round
            left, right = right, left
            allowed = k.LESS * bool(allowed & k.GREATER) + k.GREATER * bool(allowed & k.LESS)
            allowed += last.first & k.EQUAL
        sides = (left.second, right.second) == (k.PREVIOUS_EVENT, k.CURRENT_EVENT)
        if sides and left.operation == right.operation == k.LOAD_CODE:
            return k.BY_CODE, allowed, left.first, right.first
    return k.OTHERWISE, 0, 0, 0


@dataclass(slots=True)
class _Compiler:
    columns: ComparedColumns
    program: list[_Instruction] = field(default_factory=list)

    def compiled(self, expression: Expression) -> list[_Instruction]:
        self._truth(expression)
        return self.program

    def _put(self, operation: int, first: int = 0, second: int = 0, constant: float = 0.0) -> None:
        self.program.append(_Instruction(operation, first, second, constant))

    def _truth(self, expression: Expression) -> None:
        """Put a truth value on the stack; what is none is unknown."""
        match expression:
            case Literal(bool(value)):
                self._put(k.CODE, int(value))
            case Not(operand):
                self._truth(operand)
                self._put(k.NOT)
            case IsNull(operand):
                self._any(operand)
                self._put(k.IS_UNKNOWN)
            case InList(operand, choices):
                equal = [Binary(Operator.EQ, operand, choice) for choice in choices]
                self._chain(k.OR, equal)
            case Binary(Operator.AND | Operator.OR as joined):
                parts = _chained(expression, joined)
                self._chain(k.AND if joined is Operator.AND else k.OR, parts)
            case Binary(operator, left, right) if operator in _ALLOWED:
                self._compare(operator, left, right)
            case Attribute() if self._order(expression) is Order.TRUTH:
                self._load(expression, k.LOAD_CODE)
            case _:
                self._put(k.UNKNOWN)

    def _chain(self, operation: int, parts: Iterable[Expression]) -> None:
        """Put truth values on the stack, joined by an operation; false where there are none."""
        place = -1
        for place, part in enumerate(parts):
            self._truth(part)
            if place:
                self._put(operation)
        if place < 0:
            self._put(k.CODE)

    def _compare(self, operator: Operator, left: Expression, right: Expression) -> None:
        left, right = self._bounded(left, right), self._bounded(right, left)
        left_order, right_order = self._order(left), self._order(right)
        allowed = _ALLOWED[operator]
        if left_order.is_number and right_order.is_number:
            if isinstance(left, Attribute) and isinstance(right, Attribute):
                rows = self.columns.rows(left.name or "", right.name or "")
                self._load(left, k.LOAD_CODE, rows[0])
                self._load(right, k.LOAD_CODE, rows[1])
                self._put(k.COMPARE_CODES, allowed)
            elif self._is_exact(left) and self._is_exact(right):
                self._code(left)
                self._code(right)
                self._put(k.COMPARE_CODES, allowed)
            else:
                self._number(left)
                self._number(right)
                self._put(k.COMPARE_NUMBERS, allowed)
        elif left_order is Order.TIME and isinstance(left, Attribute) and _is_text(right):
            self._load(left, k.LOAD_CODE)
            self._moment(left, right)
            self._put(k.COMPARE_CODES, allowed)
        elif right_order is Order.TIME and isinstance(right, Attribute) and _is_text(left):
            self._moment(right, left)
            self._load(right, k.LOAD_CODE)
            self._put(k.COMPARE_CODES, allowed)
        elif left_order is right_order and left_order is not Order.NONE:
            self._code(left)
            self._code(right)
            self._put(k.COMPARE_CODES, allowed)
        else:
            self._put(k.UNKNOWN)

    def _bounded(self, side: Expression, opposite: Expression) -> Expression:
        """Return a side of a comparison; a constant beyond all integers opposite is infinite."""
        value = _constant(side)
        if isinstance(value, int) and self._kind(opposite) is AttributeKind.INTEGER:
            return Literal(bounded(value, -BOUND, BOUND - 1))
        return side

    def _moment(self, attribute: Attribute, constant: Expression) -> None:
        if isinstance(constant, Literal):
            self._put(k.CODE, self.columns.time_code(attribute.name or "", str(constant.value)))

    def _is_exact(self, expression: Expression) -> bool:
        """Return whether a number can be compared as exact ones are."""
        if isinstance(expression, Attribute):
            return self._order(expression).is_exact
        value = _constant(expression)
        return self._is_counted(expression) if value is None else isinstance(value, int)

    def _is_counted(self, expression: Expression) -> bool:
        """Return whether an integer, time or length is computed in integers of 64 bits.

        Integers that are compared by rank, beside decimals or integers without a sign, are computed
        in doubles. Raises InputError if these are not exact.
        """
        kind = self._kind(expression)
        if kind is not AttributeKind.INTEGER or self.columns.wholes is None:
            return kind in _COUNTED
        bound = magnitude(expression, self.columns)
        if bound is None or bound > EXACT_DOUBLES:
            raise InputError(
                "A condition computes with whole numbers beyond 2^53 beside decimals or integers "
                "without a sign. Cast the attributes to doubles or to signed integers, as in "
                "columns of their own."
            )
        return False

    def _code(self, expression: Expression) -> None:
        """Put what is compared as an integer on the stack."""
        match expression:
            case Attribute():
                self._load(expression, k.LOAD_CODE)
            case Literal(str(text)):
                self._put(k.CODE, self.columns.text_code(text))
            case Duration(nanoseconds):
                self._put(k.CODE, self.columns.length_code(nanoseconds))
            case Binary() | Call() | Negative() if (
                _constant(expression) is None and self._kind(expression) in _COUNTED
            ):
                self._computed_code(expression)
            case _:
                value = _constant(expression)
                if isinstance(value, int):
                    self._put(k.CODE, self._whole_code(value))
                else:
                    self._truth(expression)

    def _whole_code(self, value: int) -> int:
        """Return the code of a whole constant; raise InputError if it needs more than 64 bits."""
        code = self.columns.whole_code(value)
        if code is None:
            raise InputError(
                f"A condition computes with {value}, which 64 bits do not hold. Write {value}.0 "
                "to compute with doubles."
            )
        return code

    def _computed_code(self, expression: Expression) -> None:
        """Put an integer, time or length that is computed on the stack."""
        match expression:
            case Negative(operand):
                self._put(k.CODE, 0)
                self._code(operand)
                self._put(k.MINUS_CODES)
            case Call("ABS", (operand,)):
                self._code(operand)
                self._put(k.MAGNITUDE_OF_CODE)
            case Binary(operator, left, right) if operator in _COMPUTE_CODES and (
                AttributeKind.DURATION not in {self._kind(left), self._kind(right)}
                or operator is not Operator.MUL
            ):
                self._code(left)
                self._code(right)
                self._put(_COMPUTE_CODES[operator])
            case Binary(operator, left, right):
                if self._kind(left) is not AttributeKind.DURATION:
                    left, right = right, left
                divides = operator is Operator.DIV
                self._code(left)
                if self._kind(right) is AttributeKind.INTEGER:
                    self._whole(right)
                    self._put(k.SHARE_CODES if divides else k.TIMES_CODES)
                else:
                    self._number(right)
                    self._put(k.SCALE_CODE, int(divides))

    def _whole(self, expression: Expression) -> None:
        """Put an integer that a length is multiplied with or divided by on the stack."""
        if self._is_counted(expression):
            self._code(expression)
        else:
            self._number(expression)
            self._put(k.NUMBER_AS_CODE)

    def _number(self, expression: Expression) -> None:
        """Put a double on the stack; what is no number is unknown."""
        value = _constant(expression)
        if value is not None:
            self._put(k.NUMBER, constant=_double(value))
            return
        if not isinstance(expression, Attribute) and self._is_computed_whole(expression):
            self._code(expression)
            self._put(k.CODE_AS_NUMBER)
            return
        match expression:
            case Attribute() if self._order(expression).is_number:
                self._load(expression, k.LOAD_NUMBER)
            case Negative(operand):
                self._number(operand)
                self._put(k.NEGATE)
            case Call("ABS", (operand,)):
                self._number(operand)
                self._put(k.MAGNITUDE)
            case Call("LOG2", (operand,)):
                self._number(operand)
                self._put(k.LOGARITHM)
            case Binary(operator, left, right) if operator in _COMPUTE:
                self._number(left)
                self._number(right)
                self._put(_COMPUTE[operator])
            case _:
                self._put(k.UNKNOWN)

    def _is_computed_whole(self, expression: Expression) -> bool:
        """Return whether a number is, or is made of, what is computed as an integer."""
        if self._kind(expression) in {AttributeKind.TIME, AttributeKind.DURATION}:
            return True
        return self._kind(expression) is AttributeKind.INTEGER and self._is_counted(expression)

    def _any(self, expression: Expression) -> None:
        """Put a value on the stack of which only is asked whether it is known."""
        match expression:
            case Attribute():
                self._load(expression, k.LOAD_CODE)
            case Literal(str()) | Duration():
                self._put(k.CODE)
            case _ if self._order(expression) in {Order.TIME, Order.DURATION}:
                self._code(expression)
            case _ if self._order(expression).is_number:
                self._number(expression)
            case _:
                self._truth(expression)

    def _load(self, attribute: Attribute, operation: int, row: int | None = None) -> None:
        place = self.columns.names.index(attribute.name or "") if row is None else row
        event = k.PREVIOUS_EVENT if attribute.variable == PREVIOUS else k.CURRENT_EVENT
        self._put(operation, place, event)

    def _order(self, expression: Expression) -> Order:
        match expression:
            case Attribute(_, name):
                return self.columns.orders[name or ""]
            case Literal(None):
                return Order.NONE
            case Literal(bool()) | Not() | IsNull() | InList():
                return Order.TRUTH
            case Literal(str()):
                return Order.TEXT
            case _:
                kind = self._kind(expression)
                return Order.NUMBER if kind is None else _ORDERS.get(kind, Order.NUMBER)

    def _kind(self, expression: Expression) -> AttributeKind | None:
        return kind_of(expression, lambda read: KINDS[self.columns.orders[read.name or ""]])


def _chained(expression: Expression, joined: Operator) -> list[Expression]:
    """Return the operands of a chain of ANDs or of ORs; no recursion: it may be thousands long."""
    chained: list[Expression] = []
    pending = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, Binary) and node.operator is joined:
            pending += (node.right, node.left)
        else:
            chained.append(node)
    return chained


def _constant(expression: Expression) -> int | float | None:
    """Return the number that an expression is, if it is one written out."""
    if isinstance(expression, Negative):
        inner = _constant(expression.operand)
        return None if inner is None else -inner
    match expression:
        case Literal(bool()):
            return None
        case Literal(int() | float() as value):
            return value
        case _:
            return None


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _is_text(expression: Expression) -> bool:
    return isinstance(expression, Literal) and isinstance(expression.value, str)
