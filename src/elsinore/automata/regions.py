"""Deciding comparisons with constants exactly, by dividing attributes' values into regions.

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

REGION_LIMIT = 4096  # combinations of regions that are enumerated; beyond it z3 decides

Ranks = Mapping[Literal, bool | int | None]


@dataclass(frozen=True, slots=True)
class _Interpretation:
    """An interpretation of an attribute's type: ranks of the constants, and a value per region."""

    ranks: Ranks
    values: tuple[bool | int | None, ...]


@dataclass(slots=True)
class _Use:
    """The constants that an attribute is compared with, and whether it is used as a condition."""

    constants: set[Literal] = field(default_factory=set)
    as_truth: bool = False


def truths_by_regions(predicates: Sequence[Expression]) -> tuple[frozenset[Expression], ...] | None:
    """Return every subset of predicates that is exactly the true ones for some event, or None.

    None means undecided: a predicate is not a comparison with constants, or there are more than
    `REGION_LIMIT` combinations of regions. A comparison with null is unknown, hence not true.

    >>> from elsinore.model.expression import Operator
    >>> low = Binary(Operator.LT, Attribute("A", "v"), Literal(3))
    >>> high = Binary(Operator.GT, Attribute("A", "v"), Literal(5))
    >>> [len(true) for true in truths_by_regions([low, high])]  # null, low, between and high
    [0, 1, 1]
    """
    uses: dict[Attribute, _Use] = {}
    if not all(_collect_uses(predicate, uses) for predicate in predicates):
        return None
    interpretations = {attribute: _interpretations(use) for attribute, use in uses.items()}
    sizes = (
        sum(len(interpretation.values) for interpretation in of_attribute)
        for of_attribute in interpretations.values()
    )
    if math.prod(sizes) > REGION_LIMIT:
        return None
    return tuple(dict.fromkeys(_truths(predicates, interpretations)))


def _collect_uses(
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
            return _collect_uses(operand, uses)
        case Binary(ex.Operator.AND | ex.Operator.OR, left, right):
            return _collect_uses(left, uses) and _collect_uses(right, uses)
        case Binary(operator, left, right) if operator.is_comparison:
            attribute_side, constant_side = (
                (right, left) if isinstance(right, Attribute) else (left, right)
            )
            constant = constant_of(constant_side)
            return (
                isinstance(attribute_side, Attribute)
                and constant is not None
                and _add_constant(attribute_side, constant, uses)
            )
        case InList(Attribute() as attribute, choices):
            return all(_add_constant(attribute, choice, uses) for choice in choices)
        case IsNull(Attribute() as attribute):
            return _collect_uses(attribute, uses, is_condition=False)
        case IsNull(operand):
            return _collect_uses(operand, uses)
        case _:
            return False


def _add_constant(attribute: Attribute, constant: Literal, uses: dict[Attribute, _Use]) -> bool:
    uses.setdefault(attribute, _Use()).constants.add(constant)
    return not (isinstance(constant.value, float) and math.isnan(constant.value))


def constant_of(expression: Expression) -> Literal | None:
    """Return a literal or negated literal as one literal; None for other expressions."""
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


def _interpretations(use: _Use) -> tuple[_Interpretation, ...]:
    """Return the interpretations of an attribute, one for each kind of its constants.

    Text constants that are times have two: the orders of texts and of times differ.
    """
    all_null = dict.fromkeys(use.constants)
    result = [_Interpretation(all_null, (None,))]
    numbers = {c: c.value for c in use.constants if _is_number(c.value)}
    texts = {c: c.value for c in use.constants if isinstance(c.value, str)}
    times = {c: seconds_from_text(text) for c, text in texts.items()}
    truths = {c: c.value for c in use.constants if isinstance(c.value, bool)}
    if numbers:
        result.append(_rank_numbers(all_null, numbers))
    if texts:
        result.append(_rank_texts(all_null, texts))
    known = {c: moment for c, moment in times.items() if moment is not None}
    if known:
        result.append(_rank_numbers(all_null, known))
    if truths or use.as_truth:
        result.append(_Interpretation({**all_null, **truths}, (False, True)))
    if len(result) == 1:
        result.append(_Interpretation(all_null, (0,)))  # anything that is not null
    return tuple(result)


def _is_number(value: bool | float | str | None) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rank_numbers(
    all_null: Ranks, constants: Mapping[Literal, float | str | None]
) -> _Interpretation:
    """Rank numeric constants in a dense order that ends with infinity."""
    ordered = sorted({value for value in constants.values() if isinstance(value, int | float)})
    rank = {value: 2 * place + 1 for place, value in enumerate(ordered)}
    least = 1 if ordered[0] == -math.inf else 0
    most = 2 * len(ordered) - (1 if ordered[-1] == math.inf else 0)
    ranks = {constant: rank[value] for constant, value in constants.items() if value in rank}
    return _Interpretation({**all_null, **ranks}, tuple(range(least, most + 1)))


def _rank_texts(all_null: Ranks, constants: Mapping[Literal, str]) -> _Interpretation:
    """Rank text constants: no text is before "" or between t and t + NUL."""
    ordered = sorted(set(constants.values()))
    rank = {text: 2 * place + 1 for place, text in enumerate(ordered)}
    gaps = [ordered[0] != "", *(b != a + "\x00" for a, b in itertools.pairwise(ordered)), True]
    values = [v for v in range(2 * len(ordered) + 1) if v % 2 or gaps[v // 2]]
    ranks = {constant: rank[text] for constant, text in constants.items()}
    return _Interpretation({**all_null, **ranks}, tuple(values))


def _truths(
    predicates: Sequence[Expression], interpretations: Mapping[Attribute, Sequence[_Interpretation]]
) -> Iterator[frozenset[Expression]]:
    """Yield the true predicates for one value of each region of each attribute."""
    for chosen in itertools.product(*interpretations.values()):
        ranks = dict(
            zip(interpretations, (interpretation.ranks for interpretation in chosen), strict=True)
        )
        ranked = [(predicate, _ranked(predicate, ranks)) for predicate in predicates]
        for values in itertools.product(*(interpretation.values for interpretation in chosen)):
            event = dict(zip(interpretations, values, strict=True))
            yield frozenset(_true_predicates(ranked, event))


def _true_predicates(
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
            return Binary(
                operator, _ranked_operand(left, right, ranks), _ranked_operand(right, left, ranks)
            )
        case Binary(operator, left, right):
            return Binary(operator, _ranked(left, ranks), _ranked(right, ranks))
        case _:
            return expression


def _ranked_operand(
    side: Expression, opposite: Expression, ranks: Mapping[Attribute, Ranks]
) -> Expression:
    constant = constant_of(side)
    if constant is None or not isinstance(opposite, Attribute):
        return side
    return Literal(ranks[opposite][constant])
