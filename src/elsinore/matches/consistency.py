"""Consistency of conditions on Kleene variables, and early filters (SASE++, Section 5.2).

A condition is evaluated for an event against all events selected before it. It is *true-value
consistent* if, whenever it is true against all of them, it is true against any subset;
*false-value consistent* if, whenever it is false against all, it is false against any subset.

Rules decide this: the maximum of a subset is never greater than that of all events, the minimum
never less, the count never greater; a user's aggregate declares by `monotone` whether its value
only grows or only shrinks with the events. The event itself and the first event are the same in all
matches. A comparison is consistent if its operands grow or shrink accordingly; any other condition
that depends on the selected events is inconsistent.

The search evaluates a condition early, against all events that any match may have selected. If it
is false-value consistent and false there, it is false in every match. A condition that needs an
earlier event is true if a match has none: it excludes nothing unless every match has one.

Two kinds of conditions are not tested for each event. An equality of two attributes
(`c.ref = a.id`) is looked up by value. A limit of the time between two events
(`c.time - a.time <= 5 minutes`) ends a search once it is exceeded, as times increase
(`elsinore.matches.engine.lookups`).
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from enum import Enum

from elsinore.matches.aggregates import Aggregates
from elsinore.matches.conditions import Condition
from elsinore.matches.registers import Register, RegisterKind, slot_of
from elsinore.matches.template import START, MatchTemplate
from elsinore.model import expression as ex
from elsinore.model.expression import (
    BETWEEN_EVENTS,
    Attribute,
    Binary,
    Call,
    Duration,
    Expression,
    Literal,
    Operator,
)
from elsinore.model.expression import Reference as At
from elsinore.model.kinds import Strategy
from elsinore.operators.conditions.code import Moment
from elsinore.plan.ranges import signed_terms


class Consistency(Enum):
    """Whether the value of a condition for all selected events is its value for any subset."""

    BOTH = "true and false value consistent"
    TRUE = "true value consistent"
    FALSE = "false value consistent"
    NEITHER = "neither"


class Trend(Enum):
    """How a value changes if fewer events are selected."""

    SAME = 0
    DOWN = 1  # never greater
    UP = 2
    ANY = 3


MONOTONE = {"increasing": Trend.DOWN, "decreasing": Trend.UP}
_OPPOSITE = {Trend.DOWN: Trend.UP, Trend.UP: Trend.DOWN}
_SELECTED = {At.PREVIOUS, At.FIRST, At.LAST, At.NTH, At.FROM_LAST, At.BACK, At.RECENT}
Leaf = Callable[[Expression], Trend | None]  # the trend of a leaf; None for other nodes


def consistency(predicate: Expression, aggregates: Aggregates | None = None) -> Consistency:
    """Return the consistency of a condition; `aggregates` are those that the user defines.

    >>> from elsinore.language import parse_workload
    >>> def consistency_of(text):
    ...     query = f"QUERY q RETURN b[].v PATTERN SEQ(A a, B+ b, C c) WHERE {text};"
    ...     return consistency(parse_workload(query).queries[0].where[0]).name
    >>> consistency_of("b[i].v > MAX(b[1..i-1].v)"), consistency_of("c.v < MAX(b[].v)")
    ('TRUE', 'FALSE')
    >>> consistency_of("b[i].v > AVG(b[1..i-1].v)"), consistency_of("b[i].v > 5")
    ('NEITHER', 'BOTH')
    """
    true, false = truth(predicate, lambda node: _of_query(node, aggregates or {}))
    if true and false:
        return Consistency.BOTH
    if true or false:
        return Consistency.TRUE if true else Consistency.FALSE
    return Consistency.NEITHER


def truth(node: Expression, leaf: Leaf) -> tuple[bool, bool]:
    """Return whether a true condition stays true, and a false one false, with fewer events."""
    match node:
        case ex.Not(operand):
            true, false = truth(operand, leaf)
            return false, true
        case Binary(Operator.AND | Operator.OR, left, right):
            of_left, of_right = truth(left, leaf), truth(right, leaf)
            return of_left[0] and of_right[0], of_left[1] and of_right[1]
        case Binary(operator, left, right) if operator.is_comparison:
            first, second = _trend(left, leaf), _trend(right, leaf)
            if first is Trend.SAME and second is Trend.SAME:
                return True, True
            both = _sum(first, _OPPOSITE.get(second, second))  # the trend of left - right
            if operator in {Operator.LT, Operator.LE}:
                return both is Trend.DOWN, both is Trend.UP
            if operator in {Operator.GT, Operator.GE}:
                return both is Trend.UP, both is Trend.DOWN
            return False, False
        case _:
            same = all(_trend(child, leaf) is Trend.SAME for child in ex.children(node))
            same = same and leaf(node) in {None, Trend.SAME}
            return same, same


def _of_query(node: Expression, users: Aggregates) -> Trend | None:
    """Return the trend of an operand of a query; `users` are the user's aggregates."""
    match node:
        case Attribute(_, _, reference):
            return Trend.ANY if reference in _SELECTED else Trend.SAME
        case Call() if any(leaf.reference is At.RECENT for leaf in ex.attributes(node)):
            return Trend.ANY  # with fewer events, the latest ones are others
        case Call("MAX" | "COUNT", _):
            return Trend.DOWN
        case Call("MIN", _):
            return Trend.UP
        case Call(name, _) if name in users:
            return MONOTONE.get(users[name].monotone or "", Trend.ANY)
        case Call(name, _) if name not in BETWEEN_EVENTS:
            return Trend.ANY
        case _:
            return None


def _trend(node: Expression, leaf: Leaf) -> Trend:
    known = leaf(node)
    if known is not None:
        return known
    match node:
        case ex.Negative(operand):
            trend = _trend(operand, leaf)
            return _OPPOSITE.get(trend, trend)
        case Binary(Operator.ADD, left, right):
            return _sum(_trend(left, leaf), _trend(right, leaf))
        case Binary(Operator.SUB, left, right):
            trend = _trend(right, leaf)
            return _sum(_trend(left, leaf), _OPPOSITE.get(trend, trend))
        case Binary(Operator.MUL | Operator.DIV as operator, left, right):
            return _scaled(operator, left, right, leaf)
        case _:
            trends = {_trend(child, leaf) for child in ex.children(node)}
            return Trend.SAME if trends <= {Trend.SAME} else Trend.ANY


def _sum(left: Trend, right: Trend) -> Trend:
    if left is Trend.SAME or left is right:
        return right
    return left if right is Trend.SAME else Trend.ANY


def _scaled(operator: Operator, left: Expression, right: Expression, leaf: Leaf) -> Trend:
    """Return the trend of a product or a quotient: a negative constant reverses it."""
    of_left, of_right = _trend(left, leaf), _trend(right, leaf)
    if of_left is Trend.SAME and of_right is Trend.SAME:
        return Trend.SAME
    if operator is Operator.MUL and of_right is not Trend.SAME:
        of_left, left, right = of_right, right, left
    match right:
        case ex.Literal(int() | float() as factor) if not isinstance(factor, bool) and factor > 0:
            return of_left
        case ex.Literal(int() | float() as factor) if not isinstance(factor, bool) and factor < 0:
            return _OPPOSITE.get(of_left, of_left)
        case _:
            return Trend.ANY


_TRENDS = {
    RegisterKind.LEAST: Trend.UP,
    RegisterKind.GREATEST: Trend.DOWN,
    RegisterKind.COUNT: Trend.DOWN,
    RegisterKind.PRESENT: Trend.DOWN,
}


def filters_of(template: MatchTemplate) -> list[list[int]]:
    """Return the early filters of each edge, then those of each state: numbers of conditions.

    Filters of a state apply to matches that end there. There are none if a match may not skip
    events, or a user's aggregate has an object as its state; nor if all are limits of time, at
    which a search ends sooner than a main run.
    """
    if (
        template.strategy is not Strategy.ANY
        or template.query.collapsed
        or template.uncertain is not None
        or any(r.aggregate is not None and r.aggregate.initial is None for r in template.registers)
    ):
        return [[] for _ in (*template.edges, *template.states)]
    early = [
        [number for number, (_, stays_false) in row.items() if stays_false]
        for row in early_values(template)
    ]
    lookups = {lookup_of(template.conditions[number]) for row in early for number in row}
    return [[] for _ in early] if lookups == {Lookup.LIMIT} else early


def early_values(template: MatchTemplate) -> list[dict[int, tuple[bool, bool]]]:
    """Return of each edge, then of each state, the conditions that a main run may evaluate.

    And whether each of them, if true for all events, is true in every match; and if false, false.
    """
    beginning = _only_begin(template)
    registers = template.registers
    first = {n for n, register in enumerate(registers) if _is_first(template, register, beginning)}
    rows = []
    for edge in template.edges:
        checks = edge.checks if edge.source != START else ()
        same = edge.source, first, edge.source in beginning
        rows.append({number: _stays(template, number, *same) for number in checks})
    sources = {edge.source for edge in template.edges}
    for state, owner in enumerate(template.states):
        latest = {
            n
            for n, register in enumerate(registers)
            if register.kind is RegisterKind.LATEST and owner.variable in register.variables
        }
        final = template.final if state not in sources else ()
        rows.append({n: _stays(template, n, state, first | latest, False) for n in final})
    return rows


def _stays(
    template: MatchTemplate, number: int, state: int, same: AbstractSet[int], is_previous_same: bool
) -> tuple[bool, bool]:
    """Return whether a condition on matches in a state stays true, and false, with fewer events.

    The registers in `same` contain the same event in all matches.
    """
    condition = template.conditions[number]

    def trend(node: Expression) -> Trend | None:
        if not isinstance(node, Attribute):
            return None
        slot = slot_of(node)
        if slot.moment is Moment.CURRENT:
            return Trend.SAME
        if slot.moment is Moment.PREVIOUS:
            return Trend.SAME if is_previous_same else Trend.ANY
        register = template.registers[slot.register]
        if register.position:
            return Trend.ANY
        if register.aggregate is not None:
            return MONOTONE.get(register.aggregate.monotone or "", Trend.ANY)
        return Trend.SAME if slot.register in same else _TRENDS.get(register.kind, Trend.ANY)

    stays_true, stays_false = truth(condition.expression, trend)
    needed = (*condition.bound, *condition.bound_finally)
    are_bound = all(
        state in _always_bound(template, template.registers[n].variables) for n in needed
    )
    return stays_true and not condition.unbound, stays_false and are_bound


def _only_begin(template: MatchTemplate) -> frozenset[int]:
    """Return the states that only the first event of a match can be in."""
    entered = {edge.target for edge in template.edges if edge.source != START}
    return frozenset(range(len(template.states))) - entered


def _is_first(template: MatchTemplate, register: Register, beginning: AbstractSet[int]) -> bool:
    """Return whether a register of one event always contains the first event of a match."""
    if register.kind not in {RegisterKind.FIRST, RegisterKind.LATEST}:
        return False
    states = {n for n, s in enumerate(template.states) if s.variable in register.variables}
    return states <= beginning


def _always_bound(template: MatchTemplate, variables: tuple[str, ...]) -> frozenset[int]:
    """Return the states in which every match has bound an event to one of `variables`."""
    bound = set(range(len(template.states)))
    changed = True
    while changed:
        changed = False
        for edge in template.edges:
            state = template.states[edge.target]
            if (
                edge.target in bound
                and state.variable not in variables
                and edge.source not in bound
            ):
                bound.discard(edge.target)
                changed = True
    return frozenset(bound)


_UPPER = {Operator.LT, Operator.LE}


class Lookup(Enum):
    """How events that fulfil a condition are looked up."""

    VALUE = "looked up by value"
    LIMIT = "no event beyond the limit is looked at"


def lookup_of(condition: Condition) -> Lookup | None:
    """Return how a condition is looked up; None: it is tested for each event."""
    match condition.expression:
        case Binary(Operator.EQ, Attribute() as left, Attribute() as right):
            return Lookup.VALUE if _is_of_two(left, right) else None
        case Binary(operator, left, right) if operator in ex.MIRRORED:
            return Lookup.LIMIT if _is_time_limit(operator, left, right) else None
    return None


def _is_of_two(current: Attribute, other: Attribute) -> bool:
    """Return whether two attributes are of the selected event and of an earlier one."""
    moments = {slot_of(current).moment, slot_of(other).moment}
    return moments in ({Moment.CURRENT, Moment.PREVIOUS}, {Moment.CURRENT, Moment.BEFORE})


def _is_time_limit(operator: Operator, left: Expression, right: Expression) -> bool:
    """Return whether a comparison limits the time of the selected event by that of another."""
    terms = signed_terms(Binary(Operator.SUB, left, right))
    if terms is None:
        return False
    attributes = [(sign, term) for sign, term in terms if isinstance(term, Attribute)]
    has_length = any(
        isinstance(term, Duration) or (isinstance(term, Literal) and term.is_ticks)
        for _, term in terms
    )
    if not has_length or len(attributes) != 2 or not _is_of_two(*(a for _, a in attributes)):
        return False
    (sign, first), (other_sign, second) = attributes
    if first.name != second.name or sign == other_sign:
        return False
    if slot_of(first).moment is not Moment.CURRENT:
        sign = other_sign
    return (operator if sign > 0 else ex.MIRRORED[operator]) in _UPPER
