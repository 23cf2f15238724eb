"""Truth by regions: the possible truth values of comparisons with constants for one event.

For predicates that compare attributes only with constants (`v < 3 OR w IN ('a', 'b')`), returns
every set of predicates that can be exactly the true ones. The constants divide an attribute's
values into finitely many regions in which all predicates are constant, so one value of each region
suffices. Regions are numbered (2i + 1 is the i-th constant, even numbers are between), so the
result is exact however close or large the constants are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from elsinore.model import expression as ex
from elsinore.model.evaluate import evaluate
from elsinore.model.expression import Attribute, Binary, Expression, InList, IsNull, Literal
from elsinore.model.text_times import seconds_from_text

REGION_LIMIT = 4096  # combinations of regions that are tried one by one; beyond it z3 decides

Ranks = Mapping[Literal, bool | int | None]


@dataclass(frozen=True, slots=True)
class _Reading:
    """An interpretation of an attribute's type: ranks of the constants, and a value per region."""

    ranks: Ranks
    values: tuple[bool | int | None, ...]


@dataclass(slots=True)
class _Use:
    """The constants that an attribute is compared with, and whether it is used as a condition."""

    constants: set[Literal] = field(default_factory=set)
    as_truth: bool = False


def truths_by_regions(predicates: Sequence[Expression]) -> tuple[frozenset[Expression], ...] | None:
    """Return every set of predicates that can be exactly the true ones for an event.

    None where something other than constants cuts the values, or where there are more than
    `REGION_LIMIT` combinations of regions. Null makes comparisons unknown, which is not true.

    >>> from elsinore.model.expression import Operator
    >>> low = Binary(Operator.LT, Attribute("A", "v"), Literal(3))
    >>> high = Binary(Operator.GT, Attribute("A", "v"), Literal(5))
    >>> [len(true) for true in truths_by_regions([low, high])]  # null, low, between and high
    [0, 1, 1]
    """
    uses: dict[Attribute, _Use] = {}
    if not all(_note(predicate, uses) for predicate in predicates):
        return None
    readings = {attribute: _readings(use) for attribute, use in uses.items()}
    sizes = (
        sum(len(reading.values) for reading in attribute_readings)
        for attribute_readings in readings.values()
    )
    if math.prod(sizes) > REGION_LIMIT:
        return None
    return tuple(dict.fromkeys(_truths(predicates, readings)))


def _note(
    expression: Expression, uses: dict[Attribute, _Use], *, is_condition: bool = True
) -> bool:
    """Collect the uses of attributes; return False if regions cannot decide the expression.

    `is_condition`: the expression is a truth value.
    """
    match expression:
        case Attribute():
            use = uses.setdefault(expression, _Use())
            use.as_truth = use.as_truth or is_condition
            return True
        case Literal(value):
            return value is None or isinstance(value, bool)
        case ex.Not(operand):
            return _note(operand, uses)
        case Binary(ex.Operator.AND | ex.Operator.OR, left, right):
            return _note(left, uses) and _note(right, uses)
        case Binary(operator, left, right) if operator.is_comparison:
            attribute_side, constant_side = (
                (right, left) if isinstance(right, Attribute) else (left, right)
            )
            constant = constant_of(constant_side)
            return (
                isinstance(attribute_side, Attribute)
                and constant is not None
                and _meet(attribute_side, constant, uses)
            )
        case InList(Attribute() as attribute, choices):
            return all(_meet(attribute, choice, uses) for choice in choices)
        case IsNull(Attribute() as attribute):
            return _note(attribute, uses, is_condition=False)
        case IsNull(operand):
            return _note(operand, uses)
        case _:
            return False


def _meet(attribute: Attribute, constant: Literal, uses: dict[Attribute, _Use]) -> bool:
    uses.setdefault(attribute, _Use()).constants.add(constant)
    return not (isinstance(constant.value, float) and math.isnan(constant.value))


def constant_of(expression: Expression) -> Literal | None:
    """Return the constant that an expression is, with its sign; None for other expressions."""
    match expression:
        case Literal():
            return expression
        case ex.Negative(operand):
            inner = constant_of(operand)
            if inner is None or isinstance(inner.value, str | bool):
                return None
            return Literal(None if inner.value is None else -inner.value)
        case _:
            return None


def _readings(use: _Use) -> tuple[_Reading, ...]:
    """Return the interpretations of an attribute, one for each kind of its constants.

    Text that reads as a time may be compared with times, whose order is another than that of text.
    """
    nothing = dict.fromkeys(use.constants)
    all_readings = [_Reading(nothing, (None,))]
    numbers = {c: c.value for c in use.constants if _is_number(c.value)}
    texts = {c: c.value for c in use.constants if isinstance(c.value, str)}
    times = {c: seconds_from_text(text) for c, text in texts.items()}
    truths = {c: c.value for c in use.constants if isinstance(c.value, bool)}
    if numbers:
        all_readings.append(_numbers(nothing, numbers))
    if texts:
        all_readings.append(_texts(nothing, texts))
    known = {c: moment for c, moment in times.items() if moment is not None}
    if known:
        all_readings.append(_numbers(nothing, known))
    if truths or use.as_truth:
        all_readings.append(_Reading({**nothing, **truths}, (False, True)))
    if len(all_readings) == 1:
        all_readings.append(_Reading(nothing, (0,)))  # anything that is not null
    return tuple(all_readings)


def _is_number(value: bool | float | str | None) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(nothing: Ranks, constants: Mapping[Literal, float | str | None]) -> _Reading:
    """Rank numeric constants in a dense order that ends with infinity."""
    ordered = sorted({value for value in constants.values() if isinstance(value, int | float)})
    rank = {value: 2 * place + 1 for place, value in enumerate(ordered)}
    least = 1 if ordered[0] == -math.inf else 0
    most = 2 * len(ordered) - (1 if ordered[-1] == math.inf else 0)
    ranks = {constant: rank[value] for constant, value in constants.items() if value in rank}
    return _Reading({**nothing, **ranks}, tuple(range(least, most + 1)))


def _texts(nothing: Ranks, constants: Mapping[Literal, str]) -> _Reading:
    """Rank text constants: no text is before "" or between t and t + NUL."""
    ordered = sorted(set(constants.values()))
    rank = {text: 2 * place + 1 for place, text in enumerate(ordered)}
    gaps = [ordered[0] != "", *(b != a + "\x00" for a, b in itertools.pairwise(ordered)), True]
    values = [v for v in range(2 * len(ordered) + 1) if v % 2 or gaps[v // 2]]
    ranks = {constant: rank[text] for constant, text in constants.items()}
    return _Reading({**nothing, **ranks}, tuple(values))


def _truths(
    predicates: Sequence[Expression], readings: Mapping[Attribute, Sequence[_Reading]]
) -> Iterator[frozenset[Expression]]:
    """Yield the true predicates for one value of each region of each attribute."""
    for chosen in itertools.product(*readings.values()):
        ranks = dict(zip(readings, (reading.ranks for reading in chosen), strict=True))
        ranked = [(predicate, _ranked(predicate, ranks)) for predicate in predicates]
        for values in itertools.product(*(reading.values for reading in chosen)):
            event = dict(zip(readings, values, strict=True))
            yield frozenset(_true_of(ranked, event))


def _true_of(
    ranked: Iterable[tuple[Expression, Expression]], event: Mapping[Attribute, bool | int | None]
) -> Iterator[Expression]:
    for predicate, over_ranks in ranked:
        if evaluate(over_ranks, event.__getitem__) is True:
            yield predicate


def _ranked(expression: Expression, ranks: Mapping[Attribute, Ranks]) -> Expression:
    """Return a predicate with each constant replaced by its rank for the compared attribute."""
    match expression:
        case ex.Not(operand):
            return ex.Not(_ranked(operand, ranks))
        case IsNull(operand):
            return IsNull(_ranked(operand, ranks))
        case InList(Attribute() as attribute, choices):
            return InList(attribute, tuple(Literal(ranks[attribute][choice]) for choice in choices))
        case Binary(operator, left, right) if operator.is_comparison:
            return Binary(operator, _side(left, right, ranks), _side(right, left, ranks))
        case Binary(operator, left, right):
            return Binary(operator, _ranked(left, ranks), _ranked(right, ranks))
        case _:
            return expression


def _side(side: Expression, opposite: Expression, ranks: Mapping[Attribute, Ranks]) -> Expression:
    constant = constant_of(side)
    if constant is None or not isinstance(opposite, Attribute):
        return side
    return Literal(ranks[opposite][constant])
