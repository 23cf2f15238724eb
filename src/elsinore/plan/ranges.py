"""Conditions between neighbours as ranges of the earlier events in some order.

A condition that holds, for each event, for a range of its predecessors in the order of one of
their attributes (`b[i].v >= b[i-1].v - 5`, `ABS(b[i].v - b[i-1].v) <= 5`) is one or two *cuts*
through that order; `!=` and OR make several ranges. Predecessors are looked up among n events in
O(log n). For times and lengths of time, `c.time - p.time <= 5 minutes` is
`p.time >= c.time - 5 minutes`: times are whole ticks, so nothing is rounded, and one order of the
earlier events serves for any number of limits.
"""

from __future__ import annotations

from collections.abc import Iterator

from elsinore.model import expression as ex
from elsinore.model.expression import (
    Attribute,
    Binary,
    Call,
    Duration,
    Expression,
    Literal,
    Negative,
    Not,
    Operator,
)
from elsinore.plan.between import CURRENT, PREVIOUS, TURNED
from elsinore.plan.template import Cut

_OPPOSITE = {
    Operator.LT: Operator.GE,
    Operator.LE: Operator.GT,
    Operator.GT: Operator.LE,
    Operator.GE: Operator.LT,
    Operator.NE: Operator.EQ,
    Operator.EQ: Operator.NE,
}
_SUMS = frozenset({Operator.ADD, Operator.SUB})
MOST_RANGES = 8  # of one condition
Term = tuple[int, Attribute | Duration | Literal]  # its sign, and what is added


def common_sort_key(cuts: list[Cut] | tuple[Cut, ...]) -> Expression | None:
    """Return the sort key under which every cut is a range of earlier events, or None."""
    if all(cut.previous == cuts[0].previous for cut in cuts):
        return cuts[0].previous
    slopes = [slope(cut.previous) for cut in cuts]
    attributes = {None if slope_of is None else slope_of[0] for slope_of in slopes}
    return attributes.pop() if len(attributes) == 1 else None


def sides(cut: Cut, by: Expression) -> Iterator[tuple[Operator, bool]]:
    """Yield the comparisons by order that a cut consists of, and whether each bounds from above.

    by: the sort key of events.
    """
    rises = cut.previous == by or (slope(cut.previous) or (by, 1))[1] > 0
    of_equality = Operator.GE, Operator.LE
    for operator in of_equality if cut.operator is Operator.EQ else (cut.operator,):
        yield operator, (operator in {Operator.LT, Operator.LE}) == rises


def slope(expression: Expression) -> tuple[Attribute, int] | None:
    """Return the attribute that an expression never falls (1) or never rises (-1) with.

    So it is in doubles too, as their arithmetic is rounded the same way up and down.

    >>> slope(Binary(Operator.SUB, Literal(5), Attribute("previous", "v")))[1]
    -1
    """
    match expression:
        case Attribute():
            return expression, 1
        case Negative(operand):
            return _turned(slope(operand))
        case Binary(Operator.ADD | Operator.SUB, one, Literal(int() | float())):
            return slope(one)
        case Binary(Operator.ADD, Literal(int() | float()), one):
            return slope(one)
        case Binary(Operator.SUB, Literal(int() | float()), one):
            return _turned(slope(one))
        case Binary(Operator.MUL | Operator.DIV, one, Literal(int() | float() as factor)) | Binary(
            Operator.MUL, Literal(int() | float() as factor), one
        ) if factor != 0:
            return slope(one) if factor > 0 else _turned(slope(one))
    return None


def _turned(slope: tuple[Attribute, int] | None) -> tuple[Attribute, int] | None:
    return None if slope is None else (slope[0], -slope[1])


def ranges_of(condition: Expression) -> list[list[Cut]] | None:
    """Return the ranges that a condition between two events is: all cuts of one of them hold."""
    match condition:
        case Binary(Operator.AND | Operator.OR as operator, left, right):
            left_ranges, right_ranges = ranges_of(left), ranges_of(right)
            if left_ranges is None or right_ranges is None:
                return None
            is_and = operator is Operator.AND
            return both(left_ranges, right_ranges) if is_and else left_ranges + right_ranges
        case Not(Not(operand)):
            return ranges_of(operand)
        case Not(Binary(Operator.AND | Operator.OR as operator, left, right)):
            turned = Operator.OR if operator is Operator.AND else Operator.AND
            return ranges_of(Binary(turned, Not(left), Not(right)))
        case Not(Binary(operator, left, right)) if operator in _OPPOSITE:
            return ranges_of(Binary(_OPPOSITE[operator], left, right))
        case Binary(Operator.NE, left, right):
            below = Binary(Operator.LT, left, right)
            return ranges_of(Binary(Operator.OR, below, Binary(Operator.GT, left, right)))
        case Binary(operator, left, right) if operator in TURNED:
            return _compared(operator, left, right)
    return None


def both(left: list[list[Cut]], right: list[list[Cut]]) -> list[list[Cut]]:
    """Return the ranges of what lies in one of these and one of those."""
    return [[*here, *there] for here in left[: MOST_RANGES + 1] for there in right]


def _compared(operator: Operator, left: Expression, right: Expression) -> list[list[Cut]] | None:
    """Return the ranges of a comparison."""
    if not _reads(left, PREVIOUS):
        operator, left, right = TURNED[operator], right, left
    if _reads(right, PREVIOUS):
        return None
    match left:
        case Call("ABS", (inner,)) if _reads(inner, CURRENT):
            if operator is Operator.EQ:
                return None
            high = _cut(inner, operator, right)
            low = _cut(inner, TURNED[operator], Negative(right))
            if high is None or low is None:
                return None
            within = operator in {Operator.LT, Operator.LE}
            return [[low, high]] if within else [[low], [high]]
    cut = _cut(left, operator, right)
    return None if cut is None else [[cut]]


def _cut(left: Expression, operator: Operator, right: Expression) -> Cut | None:
    """Return the cut `left operator right`; `right` reads no earlier event."""
    if _has_length(left, right):
        return _length_cut(left, operator, right)
    if not (_computes(left) and _computes(right)):
        return None
    if not _reads(left, CURRENT):
        two = _reads(left, PREVIOUS) and _reads(right, CURRENT)
        return Cut(left, operator, right) if two else None
    match left:
        case Binary(Operator.SUB, one, other) if not _reads(one, PREVIOUS):
            # c - p is -(p - c), without rounding
            left = Binary(Operator.SUB, other, one)
            operator, right = TURNED[operator], Negative(right)
        case Binary(Operator.ADD, one, other) if not _reads(one, PREVIOUS):
            left = Binary(Operator.ADD, other, one)
    match left:
        case Binary(sign, one, other) if (
            sign in _SUMS and not _reads(one, CURRENT) and not _reads(other, PREVIOUS)
        ):
            return Cut(one, operator, right, other if sign is Operator.ADD else Negative(other))
    return None


def _computes(expression: Expression) -> bool:
    """Return whether an expression is computed from numbers alone."""
    computed = (Attribute, Literal, Negative)
    return all(
        isinstance(node, computed)
        or (isinstance(node, Binary) and node.operator.is_arithmetic)
        or (isinstance(node, Call) and node.name == "ABS")
        for node in ex.walk(expression)
    )


def _reads(expression: Expression, event: str) -> bool:
    return any(attribute.variable == event for attribute in ex.attributes(expression))


def _has_length(*expressions: Expression) -> bool:
    """Return whether expressions contain a constant length of time."""
    return any(isinstance(node, Duration) for part in expressions for node in ex.walk(part))


def _length_cut(left: Expression, operator: Operator, right: Expression) -> Cut | None:
    """Return a comparison of times or lengths as a cut; None if it is not a sum of two attributes.

    The attributes are one of each event, and constant lengths are added to them.

    >>> time, before = Attribute("current", "time"), Attribute(PREVIOUS, "time")
    >>> minute = Duration(60_000_000_000)
    >>> cut = _length_cut(Binary(Operator.SUB, time, before), Operator.LE, minute)
    >>> cut.operator.value, cut.current.operator.value, cut.current.right.nanoseconds
    ('>=', '+', -60000000000)
    """
    terms = signed_terms(Binary(Operator.SUB, left, right))
    if terms is None or any(isinstance(term, Literal) for _, term in terms):
        return None
    length = sum(sign * term.nanoseconds for sign, term in terms if isinstance(term, Duration))
    attributes = [(sign, term) for sign, term in terms if isinstance(term, Attribute)]
    attributes.sort(key=lambda signed: signed[1].variable != PREVIOUS)
    if len(attributes) != 2 or (attributes[0][1].variable == attributes[1][1].variable):
        return None
    (previous_sign, previous), (sign, current) = attributes
    if previous_sign > 0:  # what is not `previous` goes to the other side
        sign, length = -sign, -length
    else:
        operator = TURNED[operator]
    shift = Duration(length)
    if sign < 0:
        return Cut(previous, operator, Binary(Operator.SUB, shift, current))
    shifted = Binary(Operator.ADD, current, shift) if length else current
    return Cut(previous, operator, shifted)


def limits_time(left: Expression, right: Expression) -> bool:
    """Return whether a comparison is of one attribute of each of two events and a constant length.

    >>> time, before = Attribute("current", "time"), Attribute(PREVIOUS, "time")
    >>> limits_time(Binary(Operator.SUB, time, before), Duration(60_000_000_000))
    True
    """
    terms = signed_terms(Binary(Operator.SUB, left, right)) or []
    events = [term.variable for _, term in terms if isinstance(term, Attribute)]
    is_of_time = any(
        isinstance(term, Duration) or (isinstance(term, Literal) and term.is_ticks)
        for _, term in terms
    )
    return is_of_time and len(events) == 2 and events[0] != events[1]


def signed_terms(expression: Expression) -> list[Term] | None:
    """Return the terms of a sum of attributes and constants; None for another expression."""
    terms = list(_terms(expression, 1))
    return None if None in terms else [term for term in terms if term is not None]


def _terms(expression: Expression, sign: int) -> Iterator[Term | None]:
    match expression:
        case Attribute() | Duration() | Literal():
            yield sign, expression
        case Negative(operand):
            yield from _terms(operand, -sign)
        case Binary(Operator.ADD | Operator.SUB as operator, left, right):
            yield from _terms(left, sign)
            yield from _terms(right, sign if operator is Operator.ADD else -sign)
        case _:
            yield None
