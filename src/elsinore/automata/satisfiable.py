"""Which predicates can be true together.

Where every comparison is of one attribute with a constant, the constants cut each attribute into
finitely many regions, and trying one value of each region settles everything. Anything else
(arithmetic, one attribute against another) is asked of z3.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from elsinore.automata.solver import solvable
from elsinore.model import expression as ex
from elsinore.model.evaluate import evaluate
from elsinore.model.expression import Attribute, Binary, Expression, InList, IsNull, Literal

REGION_LIMIT = 4096  # combinations of regions that are tried one by one
OTHER = "\x00another"  # stands for every text that no predicate names

Value = bool | int | float | str | None


def satisfiable(true: Iterable[Expression], not_true: Iterable[Expression] = ()) -> bool:
    """Return whether one event can make all of `true` true and none of `not_true`.

    >>> from elsinore.model.expression import Operator
    >>> low = Binary(Operator.LT, Attribute("A", "v"), Literal(3))
    >>> high = Binary(Operator.GT, Attribute("A", "v"), Literal(5))
    >>> satisfiable([low, high]), satisfiable([low]), satisfiable([], [low, high])
    (False, True, True)
    """
    wanted, unwanted = frozenset(true), frozenset(not_true)
    regions = _regions(tuple(wanted | unwanted))
    if regions is None:
        return solvable(wanted, unwanted)
    return any(
        wanted <= found and not unwanted & found
        for found in _truths(tuple(wanted | unwanted), regions)
    )


def satisfiable_truths(predicates: Sequence[Expression]) -> tuple[frozenset[Expression], ...]:
    """Return every set of predicates that can be exactly those that are true of one event."""
    regions = _regions(predicates)
    if regions is not None:
        return tuple(dict.fromkeys(_truths(predicates, regions)))
    found: list[tuple[frozenset[Expression], frozenset[Expression]]] = [(frozenset(), frozenset())]
    for predicate in predicates:
        more = frozenset({predicate})
        found = [
            (true, false)
            for old_true, old_false in found
            for true, false in ((old_true, old_false | more), (old_true | more, old_false))
            if satisfiable(true, false)
        ]
    return tuple(true for true, _ in found)


def _truths(
    predicates: Sequence[Expression], regions: dict[str, list[Value]]
) -> Iterable[frozenset[Expression]]:
    """Yield the true predicates for one value of each region of each attribute."""
    for values in itertools.product(*regions.values()):
        event = dict(zip(regions, values, strict=True))
        yield frozenset(
            predicate
            for predicate in predicates
            if evaluate(predicate, lambda read, event=event: event[read.name or ""]) is True  # type: ignore[misc]
        )


def _regions(predicates: Sequence[Expression]) -> dict[str, list[Value]] | None:
    """Return one value of each region of each attribute; None where constants do not cut them."""
    constants: dict[str, set[Value]] = {}
    for predicate in predicates:
        if not _cut_by_constants(predicate, constants):
            return None
    regions = {name: _representatives(values) for name, values in sorted(constants.items())}
    return regions if math.prod(map(len, regions.values())) <= REGION_LIMIT else None


def _cut_by_constants(expression: Expression, constants: dict[str, set[Value]]) -> bool:
    """Collect the constants each attribute is compared with; False where something else is."""
    match expression:
        case ex.Not(operand):
            return _cut_by_constants(operand, constants)
        case Binary(ex.Operator.AND | ex.Operator.OR, left, right):
            return _cut_by_constants(left, constants) and _cut_by_constants(right, constants)
        case Binary(operator, left, right) if operator.is_comparison:
            if _constant(left) is not None:
                left, right = right, left
            constant = _constant(right)
            if not isinstance(left, Attribute) or constant is None:
                return False
            constants.setdefault(left.name or "", set()).add(constant)
            return True
        case InList(Attribute(_, str(name)), choices):
            values = {choice.value for choice in choices if choice.value is not None}
            constants.setdefault(name, set()).update(values)
            return True
        case IsNull(Attribute(_, str(name))) | Attribute(_, str(name)):
            constants.setdefault(name, set())
            return True
        case Literal():
            return True
        case _:
            return False


def _constant(expression: Expression) -> Value:
    if isinstance(expression, ex.Negative):
        inner = _constant(expression.operand)
        return -inner if isinstance(inner, int | float) else None
    return expression.value if isinstance(expression, Literal) else None


def _representatives(constants: set[Value]) -> list[Value]:
    """Return null, the constants, and a value of each gap between, below and above them."""
    numbers = sorted(
        {
            value
            for value in constants
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
    )
    texts = sorted(value for value in constants if isinstance(value, str))
    found: list[Value] = [None, *numbers]
    if numbers:
        found += [(low + high) / 2 for low, high in itertools.pairwise(numbers)]
        found += [numbers[0] - 1, numbers[-1] + 1]
    for text in texts:  # the text itself, and the least one after it
        found += [text, text + "\x00"]
    if texts:
        found.append("")
    if any(isinstance(value, bool) for value in constants) or not constants:
        found += [True, False]
    if not constants:
        found.append(0)
    return list(dict.fromkeys(found)) if not any(isinstance(v, bool) for v in found) else found
