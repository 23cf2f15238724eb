"""Deciding with the SMT solver z3 whether predicates over one event can be true together.

SQL's three-valued logic is modelled: each expression is a value and whether it is known (not null).
The model over-approximates the possible events, so "unsatisfiable" is always right:

- numbers are reals; a computed number may differ by the rounding error of single precision;
- texts are points of a dense order, in which the constants are ordered as texts or as times;
- an expression without a model (a remainder, LOG2) is an unconstrained value, equal wherever the
  same expression occurs.

Without z3, an optional dependency, everything is "possible".
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.util import find_spec
from typing import Any

from elsinore.model import expression as ex
from elsinore.model.expression import (
    Attribute,
    Binary,
    Call,
    Column,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Operator,
)
from elsinore.model.text_times import seconds_from_text

TIMEOUT = 1_000  # milliseconds; an undecided check counts as possible
ROUNDING = Fraction(1, 2**22)  # relative rounding error of single precision, with one spare bit
UNDERFLOW = Fraction(1, 2**126)  # products nearer to 0 than single precision's least normal number
OVERFLOW = Fraction(2**126)  # numbers above may stand for infinity
EXACT_INTEGERS = 2**24  # integers up to this magnitude are exact in single precision

Texts = dict[str, int]
_THREAD_LOCAL = threading.local()


@cache
def z3_is_installed() -> bool:
    """Return whether z3, which the extra `solver` installs, can be imported."""
    return find_spec("z3") is not None


class SatisfiabilityCheck:
    """Satisfiability of the combinations of a fixed set of predicates over one event.

    >>> from elsinore.model.expression import Attribute, Binary, Literal, Operator
    >>> v, w = Attribute("A", "v"), Attribute("A", "w")
    >>> less, more = Binary(Operator.LT, v, w), Binary(Operator.LT, w, v)
    >>> check = SatisfiabilityCheck([less, more])
    >>> check.possible([less, more], []), check.possible([], [less, more])
    (False, True)
    """

    def __init__(self, predicates: Sequence[Expression]) -> None:
        self._solvers: list[tuple[Any, Any]] | None = None
        if not z3_is_installed():
            return
        import z3  # noqa: PLC0415  (a heavy import that most queries never need)

        self._z3 = z3
        self._names = {predicate: f"predicate {i}" for i, predicate in enumerate(predicates)}
        self._solvers = [self._solver(order) for order in _text_orders(predicates)]

    def possible(self, true: Iterable[Expression], not_true: Iterable[Expression]) -> bool:
        """Return whether some event makes all of `true` and none of `not_true` true.

        True if z3 is not installed or does not decide in `TIMEOUT`.
        """
        if self._solvers is None:
            return True
        required, negated = list(true), list(not_true)
        for context, solver in self._solvers:
            terms = [self._z3.Bool(self._names[p], context) for p in required]
            terms += [self._z3.Not(self._z3.Bool(self._names[p], context)) for p in negated]
            if solver.check(*terms) != self._z3.unsat:
                return True
        return False

    def _solver(self, texts: Texts) -> tuple[Any, Any]:
        """Return a context and a solver in which each predicate's name is defined by its term."""
        z3 = self._z3
        context = _context(z3)
        solver = z3.Solver(ctx=context)
        solver.set("timeout", TIMEOUT)
        translation = _Translation(z3, context, solver, texts, self._names)
        for predicate, name in self._names.items():
            term = translation.truth(predicate)
            solver.add(z3.Bool(name, context) == z3.And(term.value, term.known))
        return context, solver


def _context(z3: Any) -> Any:
    """Return this thread's z3 context: z3's default one must not be shared between threads.

    Creating one takes 10 to 15 ms, more than most checks.
    """
    if not hasattr(_THREAD_LOCAL, "context"):
        _THREAD_LOCAL.context = z3.Context()
    return _THREAD_LOCAL.context


def _text_orders(predicates: Iterable[Expression]) -> list[Texts]:
    """Return the ranks of text constants, as texts and, if some are times, also as times."""
    texts = sorted({value for p in predicates for value in _texts(p)})
    times = {text: moment for text in texts if (moment := seconds_from_text(text)) is not None}
    orders = [{text: place for place, text in enumerate(texts, start=0 if "" in texts else 1)}]
    if times:
        place = {moment: place for place, moment in enumerate(sorted(set(times.values())), start=1)}
        orders.append({text: place[moment] for text, moment in times.items()})
    return orders


def _texts(predicate: Expression) -> Iterable[str]:
    for node in ex.walk(predicate):
        constants = node.choices if isinstance(node, InList) else (node,)
        for constant in constants:
            if isinstance(constant, Literal) and isinstance(constant.value, str):
                yield constant.value


@dataclass(frozen=True, slots=True)
class _Term:
    """A z3 term for a value, one for whether it is known (not null), and the value's sort."""

    value: Any
    known: Any
    sort: type | None  # bool, float, str; None: unknown; object: contradictory uses


class _Translation:
    """Translates expressions to z3 terms; infers attributes' sorts from their uses."""

    def __init__(
        self, z3: Any, context: Any, solver: Any, texts: Texts, predicates: Iterable[Expression]
    ) -> None:
        self._z3, self._context, self._solver, self._texts = z3, context, solver, texts
        self._sorts: dict[Expression, set[type]] = {}
        self._terms: dict[Expression, _Term] = {}
        self._compared_pairs: set[tuple[Expression, Expression]] = set()
        self._compared_constants: dict[
            Expression, set[int]
        ] = {}  # computed numbers, with constants
        for predicate in predicates:
            self._infer_sorts(predicate, bool)
        self._propagate_sorts()

    def truth(self, expression: Expression) -> _Term:
        """Return the term of an expression that is used as a condition."""
        if expression == Literal(None):
            return _Term(self._z3.Not(self._true), self._z3.Not(self._true), bool)
        term = self.term(expression)
        return (
            term if term.sort is bool else self._unconstrained(Call("TRUTH", (expression,)), bool)
        )

    def number(self, expression: Expression) -> _Term:
        """Return the term of an expression that is used as a number."""
        term = self.term(expression)
        known_as_number = term.sort is float or term.sort is None
        return (
            term if known_as_number else self._unconstrained(Call("NUMBER", (expression,)), float)
        )

    def term(self, expression: Expression) -> _Term:
        """Return the term of an expression; equal expressions have one term."""
        if expression not in self._terms:
            self._terms[expression] = self._translate(expression)
        return self._terms[expression]

    def _translate(self, expression: Expression) -> _Term:
        z3, yes = self._z3, self._true
        match expression:
            case Literal(value):
                return self._literal(expression, value)
            case Attribute() | Column():
                sorts = self._sorts.get(expression, set())
                return self._unconstrained(
                    expression, object if len(sorts) > 1 else next(iter(sorts), None)
                )
            case ex.Not(operand):
                term = self.truth(operand)
                return _Term(z3.Not(term.value), term.known, bool)
            case ex.Negative(operand):
                term = self.number(operand)
                return _Term(-term.value, term.known, float)
            case Call("ABS", (operand,)):
                term = self.number(operand)
                return _Term(self._absolute(term.value), term.known, float)
            case IsNull(operand):
                return _Term(z3.Not(self.term(operand).known), yes, bool)
            case InList(operand, choices):
                equal = _Term(z3.Not(yes), yes, bool)
                for choice in choices:
                    equal = self._or(equal, self.term(Binary(Operator.EQ, operand, choice)))
                return equal
            case Like(operand, _):
                matches = self._unconstrained(Call("LIKE", (expression,)), bool)
                return _Term(matches.value, self.term(operand).known, bool)
            case Binary(Operator.AND, left, right):
                return self._and(self.truth(left), self.truth(right))
            case Binary(Operator.OR, left, right):
                return self._or(self.truth(left), self.truth(right))
            case Binary(operator, left, right) if operator.is_comparison:
                return self._compare(expression, self.term(left), self.term(right))
            case Binary(_, left, right):
                return self._compute(expression, self.number(left), self.number(right))
            case _:
                return self._unconstrained(expression, float)

    @property
    def _true(self) -> Any:
        return self._z3.BoolVal(True, self._context)

    def _number(self, value: Fraction | int) -> Any:
        return self._z3.RealVal(str(value), self._context)

    def _absolute(self, value: Any) -> Any:
        return self._z3.If(value < 0, -value, value)

    def _unconstrained(self, expression: Expression, sort: type | None) -> _Term:
        """Return an unconstrained value, known or not, that stands for an expression."""
        if expression in self._terms:
            return self._terms[expression]
        name = f"value {len(self._terms)}"
        z3, context = self._z3, self._context
        value = z3.Bool(name, context) if sort is bool else z3.Real(name, context)
        if sort is str:
            self._solver.add(value >= 0)  # the empty text is the least
        term = _Term(value, z3.Bool(f"{name} is known", context), sort)
        self._terms[expression] = term
        return term

    def _literal(self, expression: Literal, value: bool | float | str | None) -> _Term:
        z3, unknown = self._z3, self._z3.Not(self._true)
        match value:
            case None:
                return _Term(self._number(0), unknown, None)
            case bool():
                return _Term(z3.BoolVal(value, self._context), self._true, bool)
            case str():
                if value not in self._texts:  # not a time: the comparison is unknown
                    return _Term(self._number(0), unknown, str)
                return _Term(self._number(self._texts[value]), self._true, str)
            case _ if math.isfinite(value):
                return _Term(self._number(Fraction(value)), self._true, float)
            case _:
                return self._unconstrained(expression, float)

    def _and(self, left: _Term, right: _Term) -> _Term:
        """Return AND in Kleene's logic: known if both operands are, or if one is false."""
        z3 = self._z3
        no = [z3.And(term.known, z3.Not(term.value)) for term in (left, right)]
        known = z3.Or(z3.And(left.known, right.known), *no)
        return _Term(z3.Not(z3.Or(*no)), known, bool)

    def _or(self, left: _Term, right: _Term) -> _Term:
        """Return OR in Kleene's logic: known if both operands are, or if one is true."""
        z3 = self._z3
        yes = [z3.And(term.known, term.value) for term in (left, right)]
        known = z3.Or(z3.And(left.known, right.known), *yes)
        return _Term(z3.Or(*yes), known, bool)

    def _compare(self, expression: Binary, left: _Term, right: _Term) -> _Term:
        z3 = self._z3
        sorts = {left.sort, right.sort} - {None}
        has_mixed_sorts = (
            len(sorts) > 1 or object in sorts or (bool in sorts and left.sort != right.sort)
        )
        known = z3.And(left.known, right.known)
        if has_mixed_sorts:
            return _Term(
                self._unconstrained(Call("COMPARE", (expression,)), bool).value, known, bool
            )
        if bool in sorts:
            a, b = (z3.If(t.value, self._number(1), self._number(0)) for t in (left, right))
        else:
            a, b = left.value, right.value
        results = {
            Operator.EQ: a == b,
            Operator.NE: a != b,
            Operator.LT: a < b,
            Operator.LE: a <= b,
            Operator.GT: a > b,
            Operator.GE: a >= b,
        }
        return _Term(results[expression.operator], known, bool)

    def _compute(self, expression: Binary, left: _Term, right: _Term) -> _Term:
        """Return the result of arithmetic: exact up to rounding; null for division by zero."""
        z3, a, b = self._z3, left.value, right.value
        result = self._unconstrained(Call("RESULT", (expression,)), float)
        value, is_nan = result.value, z3.Not(result.known)
        known = z3.And(left.known, right.known, result.known)
        if expression.operator in {Operator.DIV, Operator.MOD}:
            known = z3.And(known, b != 0)
        if expression.operator is Operator.MOD:
            return _Term(value, known, float)
        exact = {
            Operator.ADD: lambda: a + b,
            Operator.SUB: lambda: a - b,
            Operator.MUL: lambda: a * b,
            Operator.DIV: lambda: a / b,
        }[expression.operator]()
        least = UNDERFLOW if expression.operator in {Operator.MUL, Operator.DIV} else 0
        slack = self._absolute(exact) * self._number(ROUNDING) + self._number(least)
        limit = self._number(OVERFLOW)
        beyond = [
            z3.And(exact > limit, value > limit / 2),
            z3.And(exact < -limit, value < -limit / 2),
        ]
        self._solver.add(z3.Or(is_nan, self._absolute(value - exact) <= slack, *beyond))
        for moved, by in _integer_shifts(expression, a, b):
            self._solver.add(z3.Or(is_nan, value >= moved if by >= 0 else value <= moved))
        for constant in self._compared_constants.get(expression, ()):
            number = self._number(constant)
            self._solver.add(z3.Or(is_nan, exact > number, value <= number))
            self._solver.add(z3.Or(is_nan, exact < number, value >= number))
        infinite = z3.Or(self._absolute(a) > limit, self._absolute(b) > limit)
        self._solver.add(z3.Implies(is_nan, infinite))  # infinity less infinity is null
        return _Term(value, known, float)

    def _infer_sorts(self, expression: Expression, required: type | None) -> None:
        """Collect attributes' sorts from the places they occur in and what they are compared with.

        `required` is the sort that the place of `expression` requires, None for any.
        """
        match expression:
            case Attribute() | Column():
                sorts = self._sorts.setdefault(expression, set())
                sorts.update({required} if required is not None else ())
            case ex.Not(operand) | Binary(Operator.AND | Operator.OR, operand, _):
                self._infer_sorts(operand, bool)
                if isinstance(expression, Binary):
                    self._infer_sorts(expression.right, bool)
            case ex.Negative(operand) | Call(_, (operand,)):
                self._infer_sorts(operand, float)
            case InList(operand, choices):
                for choice in choices:
                    self._infer_sorts(operand, _static_sort(choice))
            case IsNull(operand):
                self._infer_sorts(operand, None)
            case Like(operand, _):
                self._infer_sorts(operand, str)
            case Binary(operator, left, right) if operator.is_comparison:
                self._infer_sorts(left, _static_sort(right))
                self._infer_sorts(right, _static_sort(left))
                for computed, constant in ((left, right), (right, left)):
                    if (number := _exact_integer(constant)) is not None:
                        self._compared_constants.setdefault(computed, set()).add(number)
                self._compared_pairs |= {(left, right), (right, left)}
            case Binary(_, left, right):
                self._infer_sorts(left, float)
                self._infer_sorts(right, float)

    def _propagate_sorts(self) -> None:
        """Propagate sorts to attributes of unknown sort from those they are compared with."""
        spread = True
        while spread:
            spread = False
            for attribute, neighbour in self._compared_pairs:
                sorts = self._sorts.get(neighbour)
                if sorts and self._sorts.get(attribute) == set():
                    self._sorts[attribute] = set(sorts)
                    spread = True


def _integer_shifts(
    expression: Binary, left_term: Any, right_term: Any
) -> Iterable[tuple[Any, int]]:
    """Yield the operand to which an integer constant is added, and the constant.

    Rounding is monotonic, so `v + 1` is never less than `v`. This does not hold for fractions:
    adding one converts integers to doubles.
    """
    left, right = _integer(expression.left), _integer(expression.right)
    match expression.operator:
        case Operator.ADD:
            yield from (
                (term, by)
                for term, by in ((left_term, right), (right_term, left))
                if by is not None
            )
        case Operator.SUB if right is not None:
            yield left_term, -right


def _integer(expression: Expression) -> int | None:
    match expression:
        case Literal(int() as number) if not isinstance(number, bool):
            return number
    return None


def _exact_integer(expression: Expression) -> int | None:
    """Return an integer constant that every numeric type represents exactly, else None.

    Rounding is monotonic: a number whose exact value is at most such a constant is rounded to at
    most the constant.
    """
    match expression:
        case Literal(int() | float() as number) if not isinstance(number, bool):
            if abs(number) <= EXACT_INTEGERS and number == int(number):
                return int(number)
    return None


def unmodelled(predicate: Expression) -> list[Expression]:
    """Return the parts of a predicate that the solver treats as unconstrained values.

    >>> half = Binary(Operator.MOD, Attribute("A", "v"), Literal(2))
    >>> unmodelled(Binary(Operator.EQ, half, Literal(0))) == [half]
    True
    """
    return [node for node in ex.walk(predicate) if not _is_modelled(node)]


def _is_modelled(node: Expression) -> bool:
    match node:
        case Attribute() | Column() | Literal() | InList() | IsNull() | ex.Not() | ex.Negative():
            return True
        case Binary(operator, _, _):
            return operator is not Operator.MOD
        case _:
            return isinstance(node, Call) and node.name == "ABS"


def _static_sort(expression: Expression) -> type | None:
    """Return an expression's sort from its form alone; None if that does not determine it."""
    match expression:
        case Literal(None) | Attribute() | Column():
            return None
        case Literal(bool()) | ex.Not() | IsNull() | InList() | Like():
            return bool
        case Literal(str()):
            return str
        case Binary(operator, _, _):
            return float if operator.is_arithmetic else bool
        case _:
            return float
