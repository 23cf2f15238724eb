"""Guarded templates that an index can run: every event's predecessors are a range of some order.

A condition between neighbours that holds, for each event, for a stretch of its predecessors in the
order of one of their attributes (`b[i].v >= b[i-1].v - 5`, `ABS(b[i].v - b[i-1].v) <= 5`,
`b[i].time - b[i-1].time <= 1 minute`) is one or two *cuts* through that order; `!=` and OR make
several such stretches of it. A NOT of single events empties what was added up before it, as in
`elsinore.plan.accumulators`. So what may follow is looked up among n events in O(log n).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from elsinore.model import expression as ex
from elsinore.model.expression import (
    Attribute,
    Binary,
    Call,
    Expression,
    Literal,
    Negative,
    Not,
    Operator,
)
from elsinore.model.kinds import Strategy
from elsinore.plan.accumulators import Kept
from elsinore.plan.between import CURRENT, PREVIOUS, TURNED
from elsinore.plan.guarded import GuardedTemplate
from elsinore.plan.length_cuts import has_length, length_cut
from elsinore.plan.template import START, Cut

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


@dataclass(frozen=True, slots=True)
class Extension:
    """An event that takes state `target` follows those kept in `source`, or only some of them.

    Where there are `ranges`, those that lie in some of them: all cuts of one hold.
    """

    source: int  # place in `Indexed.kept`
    target: int
    ranges: tuple[tuple[Cut, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Indexed:
    """A template by what is kept of its states, and what is looked up there.

    A state is kept once for each NOT that may follow, since the last event which that forbids.
    `kept` with the state START hold one empty trend from a window's start.
    """

    kept: tuple[Kept, ...]
    starts: frozenset[int]  # the states in which trends begin whatever came before
    extensions: tuple[Extension, ...]
    ends: tuple[int, ...]  # places in `kept`


def indexed(guarded: GuardedTemplate) -> Indexed | str:
    """Return a template as an index runs it, or why none can.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.assembly import guarded_template
    >>> def of(text):
    ...     text = f"QUERY q RETURN COUNT(*) PATTERN {text};"
    ...     return indexed(guarded_template(parse_workload(text).queries[0]))
    >>> found = of("SEQ(A, NOT N, B b+) WHERE b[i].v BETWEEN b[i-1].v AND b[i-1].v + 5")
    >>> [[len(cuts) for cuts in one.ranges] for one in found.extensions], len(found.kept)
    ([[], [2]], 2)
    >>> found = of("SEQ(A, B b+) WHERE b[i].v != b[i-1].v")
    >>> sorted(cut.operator.value for one in found.extensions for (cut,) in one.ranges)
    ['<', '>']
    >>> of("SEQ(A, B b+) WHERE b[i].v * b[i-1].v > 0")
    'a condition between neighbours is not a range'
    """
    if guarded.query.strategy is not Strategy.ANY:
        return f"{guarded.query.strategy.value} restricts which events may be skipped"
    if guarded.sides > 1:
        return "AND counts pairs of trends"
    if guarded.ambiguous:
        return "the pattern is ambiguous"
    if guarded.anchors:
        return "events are compared with one that need not precede them directly"
    if any(negative.moves or negative.negatives for negative in guarded.negatives):
        return "NOT forbids more than single events"
    asked_of = (guarded.starts, guarded.moves, guarded.ends)
    if any(len(negative.ways) != 1 for guards in asked_of for negative in guards):
        return "events may be neighbours in several ways, each with a NOT of its own"
    ranges = [ranges_of(condition) for condition in guarded.conditions]
    number: dict[Kept, int] = {}

    def place(state: int, way: frozenset[int]) -> int:
        return number.setdefault((state, way), len(number))

    starts: set[int] = set()
    extensions: list[Extension] = []
    for start in guarded.starts:
        (way,) = start.ways
        if way:
            extensions.append(Extension(place(START, way), start.target))
        else:
            starts.add(start.target)
    for move in guarded.moves:
        (way,) = move.ways
        alternatives: list[list[Cut]] = [[]]
        for condition in sorted(move.conditions):
            cuts_of = ranges[condition]
            if cuts_of is None:
                return "a condition between neighbours is not a range"
            alternatives = both(alternatives, cuts_of)
        cuts = [cut for part in alternatives for cut in part]
        if cuts and axis(cuts) is None:
            return "conditions between neighbours are ranges of several attributes"
        if len(alternatives) > MOST_RANGES:
            return f"a condition between neighbours consists of more than {MOST_RANGES} ranges"
        parts = tuple(map(tuple, alternatives)) if cuts else ()
        extensions.append(Extension(place(move.source, way), move.target, parts))
    ends = tuple(place(negative.source, way) for negative in guarded.ends for way in negative.ways)
    return Indexed(tuple(number), frozenset(starts), tuple(extensions), ends)


def axis(cuts: list[Cut] | tuple[Cut, ...]) -> Expression | None:
    """Return by what earlier events are to be put in order, that each cut is one of that order."""
    if all(cut.previous == cuts[0].previous for cut in cuts):
        return cuts[0].previous
    slopes = [slope(cut.previous) for cut in cuts]
    if slopes[0] is None or any(
        slope_of is None or slope_of[0] != slopes[0][0] for slope_of in slopes
    ):
        return None
    return slopes[0][0]


def sides(cut: Cut, by: Expression) -> Iterator[tuple[Operator, bool]]:
    """Yield the comparisons by order that a cut consists of, and whether each bounds from above.

    by: what events are put in order by.
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
        case Binary(Operator.AND, left, right):
            left_ranges, right_ranges = ranges_of(left), ranges_of(right)
            return (
                None
                if left_ranges is None or right_ranges is None
                else both(left_ranges, right_ranges)
            )
        case Binary(Operator.OR, left, right):
            left_ranges, right_ranges = ranges_of(left), ranges_of(right)
            return (
                None if left_ranges is None or right_ranges is None else left_ranges + right_ranges
            )
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
    if has_length(left, right):
        return length_cut(left, operator, right)
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
    """Return whether an expression is one that `elsinore.trends.index.axes` computes."""
    computed = (Attribute, Literal, Negative)
    return all(
        isinstance(node, computed)
        or (isinstance(node, Binary) and node.operator.is_arithmetic)
        or (isinstance(node, Call) and node.name == "ABS")
        for node in ex.walk(expression)
    )


def _reads(expression: Expression, event: str) -> bool:
    return any(attribute.variable == event for attribute in ex.attributes(expression))
