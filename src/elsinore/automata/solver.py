"""Asking z3 whether predicates over one event can be true together.

Null and unknown are modelled: every expression is a value and whether it is known (not null). The
model holds every event there can be and some more, so "impossible" can be relied on:

- numbers are reals, and a computed number may be off by the rounding of single precision;
- texts are places in a dense order, in which the constants stand as texts do or as times do;
- what has no model here (a remainder, LOG2) is some value, the same wherever it is written.

Without z3, which is an extra, every answer is "possible".
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

TIMEOUT = 1_000  # milliseconds; a question not answered by then counts as possible
ROUNDING = Fraction(1, 2**22)  # relative; of single precision, with one bit to spare
UNDERFLOW = Fraction(1, 2**126)  # products nearer to 0 than single precision's least normal number
OVERFLOW = Fraction(2**126)  # numbers above may stand for infinity
WHOLE = 2**24  # whole numbers up to it are numbers of single precision

Texts = dict[str, int]
_OF_THREAD = threading.local()


@cache
def z3_is_installed() -> bool:
    """Return whether z3, which the extra `solver` installs, can be imported."""
    return find_spec("z3") is not None


class Question:
    """What can be true of one event, of a fixed set of predicates.

    >>> from elsinore.model.expression import Attribute, Binary, Literal, Operator
    >>> v, w = Attribute("A", "v"), Attribute("A", "w")
    >>> less, more = Binary(Operator.LT, v, w), Binary(Operator.LT, w, v)
    >>> question = Question([less, more])
    >>> question.possible([less, more], []), question.possible([], [less, more])
    (False, True)
    """

    def __init__(self, predicates: Sequence[Expression]) -> None:
        self._solvers: list[tuple[Any, Any]] | None = None
        if not z3_is_installed():
            return
        import z3  # noqa: PLC0415  (a heavy import that most queries never need)

        self._z3 = z3
        self._asked = {predicate: f"predicate {i}" for i, predicate in enumerate(predicates)}
        self._solvers = [self._solver(order) for order in _orders(predicates)]

    def possible(self, true: Iterable[Expression], not_true: Iterable[Expression]) -> bool:
        """Return whether all of `true` can be true and none of `not_true`; True if not known."""
        if self._solvers is None:
            return True
        wanted, unwanted = list(true), list(not_true)
        for context, solver in self._solvers:
            terms = [self._z3.Bool(self._asked[p], context) for p in wanted]
            terms += [self._z3.Not(self._z3.Bool(self._asked[p], context)) for p in unwanted]
            if solver.check(*terms) != self._z3.unsat:
                return True
        return False

    def _solver(self, texts: Texts) -> tuple[Any, Any]:
        """Return a solver that knows what each predicate means, with its context."""
        z3 = self._z3
        context = _context(z3)
        solver = z3.Solver(ctx=context)
        solver.set("timeout", TIMEOUT)
        translation = _Translation(z3, context, solver, texts, self._asked)
        for predicate, name in self._asked.items():
            term = translation.truth(predicate)
            solver.add(z3.Bool(name, context) == z3.And(term.value, term.known))
        return context, solver


def _context(z3: Any) -> Any:
    """Return this thread's context: z3's own must not be used from two threads.

    To make one takes 10 to 15 ms, more than most questions.
    """
    if not hasattr(_OF_THREAD, "context"):
        _OF_THREAD.context = z3.Context()
    return _OF_THREAD.context


def _orders(predicates: Iterable[Expression]) -> list[Texts]:
    """Return the orders that text constants may stand in: of texts and, if some are, of times."""
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
    """A z3 term for a value, one for whether it is known, and what sort of value it is."""

    value: Any
    known: Any
    sort: type | None  # bool, float, str; None: not told; object: told in different ways


class _Translation:
    """Expressions as z3 terms; sorts of attributes are told by what they are put beside."""

    def __init__(
        self, z3: Any, context: Any, solver: Any, texts: Texts, predicates: Iterable[Expression]
    ) -> None:
        self._z3, self._context, self._solver, self._texts = z3, context, solver, texts
        self._sorts: dict[Expression, set[type]] = {}
        self._terms: dict[Expression, _Term] = {}
        self._beside: set[tuple[Expression, Expression]] = set()
        self._compared: dict[Expression, set[int]] = {}  # computed numbers, with constants
        for predicate in predicates:
            self._note(predicate, bool)
        self._spread()

    def truth(self, expression: Expression) -> _Term:
        """Return the term of an expression that stands where a truth value is wanted."""
        if expression == Literal(None):
            return _Term(self._z3.Not(self._yes), self._z3.Not(self._yes), bool)
        term = self.of(expression)
        return term if term.sort is bool else self._some(Call("TRUTH", (expression,)), bool)

    def number(self, expression: Expression) -> _Term:
        """Return the term of an expression that stands where a number is wanted."""
        term = self.of(expression)
        known_as_number = term.sort is float or term.sort is None
        return term if known_as_number else self._some(Call("NUMBER", (expression,)), float)

    def of(self, expression: Expression) -> _Term:
        """Return the term of an expression, the same one whenever it is asked for."""
        if expression not in self._terms:
            self._terms[expression] = self._translate(expression)
        return self._terms[expression]

    def _translate(self, expression: Expression) -> _Term:
        z3, yes = self._z3, self._yes
        match expression:
            case Literal(value):
                return self._literal(expression, value)
            case Attribute() | Column():
                sorts = self._sorts.get(expression, set())
                return self._some(expression, object if len(sorts) > 1 else next(iter(sorts), None))
            case ex.Not(operand):
                term = self.truth(operand)
                return _Term(z3.Not(term.value), term.known, bool)
            case ex.Negative(operand):
                term = self.number(operand)
                return _Term(-term.value, term.known, float)
            case Call("ABS", (operand,)):
                term = self.number(operand)
                return _Term(self._size(term.value), term.known, float)
            case IsNull(operand):
                return _Term(z3.Not(self.of(operand).known), yes, bool)
            case InList(operand, choices):
                equal = _Term(z3.Not(yes), yes, bool)
                for choice in choices:
                    equal = self._either(equal, self.of(Binary(Operator.EQ, operand, choice)))
                return equal
            case Like(operand, _):
                matches = self._some(Call("LIKE", (expression,)), bool)
                return _Term(matches.value, self.of(operand).known, bool)
            case Binary(Operator.AND, left, right):
                return self._both(self.truth(left), self.truth(right))
            case Binary(Operator.OR, left, right):
                return self._either(self.truth(left), self.truth(right))
            case Binary(operator, left, right) if operator.is_comparison:
                return self._compare(expression, self.of(left), self.of(right))
            case Binary(_, left, right):
                return self._compute(expression, self.number(left), self.number(right))
            case _:
                return self._some(expression, float)

    @property
    def _yes(self) -> Any:
        return self._z3.BoolVal(True, self._context)

    def _number(self, value: Fraction | int) -> Any:
        return self._z3.RealVal(str(value), self._context)

    def _size(self, value: Any) -> Any:
        return self._z3.If(value < 0, -value, value)

    def _some(self, expression: Expression, sort: type | None) -> _Term:
        """Return some value, known or not, that nothing is known of but what is asked of it."""
        if expression in self._terms:
            return self._terms[expression]
        name = f"value {len(self._terms)}"
        z3, context = self._z3, self._context
        value = z3.Bool(name, context) if sort is bool else z3.Real(name, context)
        if sort is str:
            self._solver.add(value >= 0)  # nothing stands before the empty text
        term = _Term(value, z3.Bool(f"{name} is known", context), sort)
        self._terms[expression] = term
        return term

    def _literal(self, expression: Literal, value: bool | float | str | None) -> _Term:
        z3, unknown = self._z3, self._z3.Not(self._yes)
        match value:
            case None:
                return _Term(self._number(0), unknown, None)
            case bool():
                return _Term(z3.BoolVal(value, self._context), self._yes, bool)
            case str():
                if value not in self._texts:  # no time: what it is compared with is unknown
                    return _Term(self._number(0), unknown, str)
                return _Term(self._number(self._texts[value]), self._yes, str)
            case _ if math.isfinite(value):
                return _Term(self._number(Fraction(value)), self._yes, float)
            case _:
                return self._some(expression, float)

    def _both(self, left: _Term, right: _Term) -> _Term:
        """AND in Kleene's logic: known where both are, or where one is false."""
        z3 = self._z3
        no = [z3.And(term.known, z3.Not(term.value)) for term in (left, right)]
        known = z3.Or(z3.And(left.known, right.known), *no)
        return _Term(z3.Not(z3.Or(*no)), known, bool)

    def _either(self, left: _Term, right: _Term) -> _Term:
        """OR in Kleene's logic: known where both are, or where one is true."""
        z3 = self._z3
        yes = [z3.And(term.known, term.value) for term in (left, right)]
        known = z3.Or(z3.And(left.known, right.known), *yes)
        return _Term(z3.Or(*yes), known, bool)

    def _compare(self, expression: Binary, left: _Term, right: _Term) -> _Term:
        z3 = self._z3
        sorts = {left.sort, right.sort} - {None}
        mixed = len(sorts) > 1 or object in sorts or (bool in sorts and left.sort != right.sort)
        known = z3.And(left.known, right.known)
        if mixed:
            return _Term(self._some(Call("COMPARE", (expression,)), bool).value, known, bool)
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
        """Return a computed number: the exact one give or take rounding, null for x / 0."""
        z3, a, b = self._z3, left.value, right.value
        result = self._some(Call("RESULT", (expression,)), float)
        near, strange = result.value, z3.Not(result.known)
        known = z3.And(left.known, right.known, result.known)
        if expression.operator in {Operator.DIV, Operator.MOD}:
            known = z3.And(known, b != 0)
        if expression.operator is Operator.MOD:
            return _Term(near, known, float)
        exact = {
            Operator.ADD: lambda: a + b,
            Operator.SUB: lambda: a - b,
            Operator.MUL: lambda: a * b,
            Operator.DIV: lambda: a / b,
        }[expression.operator]()
        least = UNDERFLOW if expression.operator in {Operator.MUL, Operator.DIV} else 0
        slack = self._size(exact) * self._number(ROUNDING) + self._number(least)
        limit = self._number(OVERFLOW)
        beyond = [
            z3.And(exact > limit, near > limit / 2),
            z3.And(exact < -limit, near < -limit / 2),
        ]
        self._solver.add(z3.Or(strange, self._size(near - exact) <= slack, *beyond))
        for moved, by in _shifts(expression, a, b):
            self._solver.add(z3.Or(strange, near >= moved if by >= 0 else near <= moved))
        for constant in self._compared.get(expression, ()):
            number = self._number(constant)
            self._solver.add(z3.Or(strange, exact > number, near <= number))
            self._solver.add(z3.Or(strange, exact < number, near >= number))
        infinite = z3.Or(self._size(a) > limit, self._size(b) > limit)
        self._solver.add(z3.Implies(strange, infinite))  # infinity less infinity is null
        return _Term(near, known, float)

    def _note(self, expression: Expression, wanted: type | None) -> None:
        """Find what sorts attributes are of, from where they stand and what stands beside them."""
        match expression:
            case Attribute() | Column():
                sorts = self._sorts.setdefault(expression, set())
                sorts.update({wanted} if wanted is not None else ())
            case ex.Not(operand) | Binary(Operator.AND | Operator.OR, operand, _):
                self._note(operand, bool)
                if isinstance(expression, Binary):
                    self._note(expression.right, bool)
            case ex.Negative(operand) | Call(_, (operand,)):
                self._note(operand, float)
            case InList(operand, choices):
                for choice in choices:
                    self._note(operand, _sort(choice))
            case IsNull(operand):
                self._note(operand, None)
            case Like(operand, _):
                self._note(operand, str)
            case Binary(operator, left, right) if operator.is_comparison:
                self._note(left, _sort(right))
                self._note(right, _sort(left))
                for computed, constant in ((left, right), (right, left)):
                    if (number := _unrounded(constant)) is not None:
                        self._compared.setdefault(computed, set()).add(number)
                self._beside |= {(left, right), (right, left)}
            case Binary(_, left, right):
                self._note(left, float)
                self._note(right, float)

    def _spread(self) -> None:
        """Give attributes of unknown sort that of the attributes they are compared with."""
        spread = True
        while spread:
            spread = False
            for attribute, neighbour in self._beside:
                sorts = self._sorts.get(neighbour)
                if sorts and self._sorts.get(attribute) == set():
                    self._sorts[attribute] = set(sorts)
                    spread = True


def _shifts(expression: Binary, left_term: Any, right_term: Any) -> Iterable[tuple[Any, int]]:
    """Yield the operand that a whole number is added to, and the number.

    Rounding keeps order: `v + 1` is never less than `v`, whatever numbers v holds. It may be if a
    fraction is added to whole numbers, which become doubles by it.
    """
    left, right = _whole(expression.left), _whole(expression.right)
    match expression.operator:
        case Operator.ADD:
            yield from (
                (term, by)
                for term, by in ((left_term, right), (right_term, left))
                if by is not None
            )
        case Operator.SUB if right is not None:
            yield left_term, -right


def _whole(expression: Expression) -> int | None:
    match expression:
        case Literal(int() as number) if not isinstance(number, bool):
            return number
    return None


def _unrounded(expression: Expression) -> int | None:
    """Return a constant that every type of numbers holds without rounding, None for others.

    Rounding keeps order: a number whose exact value is at most such a constant is rounded to at
    most the constant.
    """
    match expression:
        case Literal(int() | float() as number) if not isinstance(number, bool):
            if abs(number) <= WHOLE and number == int(number):
                return int(number)
    return None


def unmodelled(predicate: Expression) -> list[Expression]:
    """Return the parts of a predicate of which the solver knows only that they are some value.

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


def _sort(expression: Expression) -> type | None:
    """Return the sort of values an expression plainly has, None where it does not say."""
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
