"""Asking z3 whether predicates over one event can be true together.

Null and unknown are modelled: every expression is a pair (value, known). Numbers are reals, which
can only make more satisfiable than integers would.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from elsinore.model import expression as ex
from elsinore.model.expression import Binary, Call, Expression, InList, IsNull, Literal, Operator

TIMEOUT = 1_000  # milliseconds; a question not answered by then counts as satisfiable


def solvable(true: Iterable[Expression], not_true: Iterable[Expression]) -> bool:
    """Return whether all of `true` can be true of one event and none of `not_true`.

    What z3 cannot decide in time counts as possible: the answer then costs work, never correctness.
    """
    import z3  # noqa: PLC0415  (a heavy import that most queries never need)

    wanted, unwanted = list(true), list(not_true)
    translation = _Translation(z3, [*wanted, *unwanted])
    solver = z3.Solver()
    solver.set("timeout", TIMEOUT)
    try:
        for predicate in wanted:
            value, known = translation.of(predicate)
            solver.add(value, known)
        for predicate in unwanted:
            value, known = translation.of(predicate)
            solver.add(z3.Not(z3.And(value, known)))
    except (z3.Z3Exception, TypeError):  # kinds that do not go together, or a node it cannot say
        return True
    return bool(solver.check() != z3.unsat)


class _Translation:
    """Expressions as pairs of z3 terms; an attribute is text where it meets text, else a number."""

    def __init__(self, z3: Any, predicates: Iterable[Expression]) -> None:
        self._z3 = z3
        self._texts: set[str] = set()
        self._truths: set[str] = set()
        for predicate in predicates:
            self._note_kinds(predicate)

    def of(self, expression: Expression) -> tuple[Any, Any]:
        """Return the value of an expression and whether it is known (not null)."""
        z3 = self._z3
        match expression:
            case Literal(None):
                return z3.RealVal(0), z3.BoolVal(False)
            case Literal(bool(value)):
                return z3.BoolVal(value), z3.BoolVal(True)
            case Literal(str(text)):
                return z3.StringVal(text), z3.BoolVal(True)
            case Literal(number):
                return z3.RealVal(str(number)), z3.BoolVal(True)
            case ex.Attribute(_, str(name)):
                make = z3.String if name in self._texts else z3.Real
                make = z3.Bool if name in self._truths else make
                return make(name), z3.Bool(f"{name} is known")
            case ex.Not(operand):
                value, known = self.of(operand)
                return z3.Not(value), known
            case ex.Negative(operand):
                value, known = self.of(operand)
                return -value, known
            case IsNull(operand):
                _, known = self.of(operand)
                return z3.Not(known), z3.BoolVal(True)
            case InList(operand, choices):
                return self._any([Binary(Operator.EQ, operand, choice) for choice in choices])
            case Call("ABS", (operand,)):
                value, known = self.of(operand)
                return z3.If(value < 0, -value, value), known
            case Binary(Operator.AND | Operator.OR as operator, left, right):
                return self._junction(operator, self.of(left), self.of(right))
            case Binary(operator, left, right):
                return self._combine(operator, self.of(left), self.of(right))
            case _:
                raise TypeError(f"not an expression over one event: {expression}")

    def _any(self, parts: list[Expression]) -> tuple[Any, Any]:
        result = self.of(parts[0])
        for part in parts[1:]:
            result = self._junction(Operator.OR, result, self.of(part))
        return result

    def _junction(
        self, operator: Operator, one: tuple[Any, Any], other: tuple[Any, Any]
    ) -> tuple[Any, Any]:
        """AND and OR in Kleene's logic: known where both are, or where one settles it."""
        z3 = self._z3
        (a, a_known), (b, b_known) = one, other
        if operator is Operator.AND:
            settled = z3.Or(z3.And(a_known, z3.Not(a)), z3.And(b_known, z3.Not(b)))
            return z3.And(a, b, a_known, b_known), z3.Or(z3.And(a_known, b_known), settled)
        settled = z3.Or(z3.And(a_known, a), z3.And(b_known, b))
        return settled, z3.Or(z3.And(a_known, b_known), settled)

    def _combine(
        self, operator: Operator, one: tuple[Any, Any], other: tuple[Any, Any]
    ) -> tuple[Any, Any]:
        z3 = self._z3
        (a, a_known), (b, b_known) = one, other
        known = z3.And(a_known, b_known)
        match operator:
            case Operator.EQ:
                return a == b, known
            case Operator.NE:
                return a != b, known
            case Operator.LT:
                return a < b, known
            case Operator.LE:
                return a <= b, known
            case Operator.GT:
                return b < a, known
            case Operator.GE:
                return b <= a, known
            case Operator.ADD:
                return a + b, known
            case Operator.SUB:
                return a - b, known
            case Operator.MUL:
                return a * b, known
            case Operator.DIV:
                return a / b, z3.And(known, b != 0)
            case _:  # a remainder: some number, whichever
                return z3.FreshReal(), z3.And(known, b != 0)

    def _note_kinds(self, expression: Expression) -> None:
        """Find the attributes that hold text and truth values from what they are put beside."""
        for node in ex.walk(expression):
            if isinstance(node, Binary) and node.operator.is_comparison:
                self._note_pair(node.left, node.right)
                self._note_pair(node.right, node.left)
            elif isinstance(node, InList):
                for choice in node.choices:
                    self._note_pair(node.operand, choice)
        parts = [expression]
        while parts:
            part = parts.pop()
            match part:
                case ex.Attribute(_, str(name)):
                    self._truths.add(name)
                case ex.Not(operand):
                    parts.append(operand)
                case Binary(Operator.AND | Operator.OR, left, right):
                    parts += [left, right]

    def _note_pair(self, one: Expression, other: Expression) -> None:
        if isinstance(one, ex.Attribute) and one.name is not None and isinstance(other, Literal):
            if isinstance(other.value, str):
                self._texts.add(one.name)
            elif isinstance(other.value, bool):
                self._truths.add(one.name)
