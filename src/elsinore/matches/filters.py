"""Early filters: which conditions may be evaluated before it is known what a match selects.

A main run evaluates a condition against all events that it took, more than any match selects
(SASE++, Section 5.2). If a condition is *true-value consistent* and true there, it is true in every
match; if it is *false-value consistent* and false there, it is false in every match. This depends
on what the condition reads:

- a count, a maximum or a minimum changes in one direction as events are left out; a sum or a mean
  in either; an aggregate of the user's as its `monotone` declares;
- the event itself and the first event are the same in all matches; any other single event, such as
  the one right before, is not;
- a condition that needs an earlier event holds if a match has selected none: it rules nothing out
  unless a match always has one.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from elsinore.matches.conditions import Condition
from elsinore.matches.consistency import MONOTONE, Trend, truth
from elsinore.matches.looked_up import Lookup, lookup_of
from elsinore.matches.registers import Register, RegisterKind, slot_of
from elsinore.matches.template import START, MatchTemplate
from elsinore.model.expression import Attribute, Expression
from elsinore.model.kinds import Strategy
from elsinore.operators.conditions.code import Moment

STAYS_TRUE, STAYS_FALSE = 1, 2  # values of a condition that hold in every match

_TRENDS = {
    RegisterKind.LEAST: Trend.UP,
    RegisterKind.GREATEST: Trend.DOWN,
    RegisterKind.COUNT: Trend.DOWN,
    RegisterKind.PRESENT: Trend.DOWN,
}


def filters_of(template: MatchTemplate) -> list[list[int]]:
    """Return the conditions that rule events out early, for each edge, then for each state.

    Those of a state are about matches that end there. There are none if a match may not skip
    events, nor for aggregates of the user's whose state is an object; nor if all of them are limits
    of time, at which a search ends sooner than a main run.
    """
    rows: list[list[int]] = [[] for _ in (*template.edges, *template.states)]
    if (
        template.strategy is not Strategy.ANY
        or template.query.collapsed
        or template.uncertain is not None
        or any(r.aggregate is not None and r.aggregate.initial is None for r in template.registers)
    ):
        return rows
    early = [
        [number for number, flags in enumerate(row) if flags & STAYS_FALSE]
        for row in early_filters(template)
    ]
    lookups = {lookup_of(template.conditions[number]) for row in early for number in row}
    return rows if lookups == {Lookup.LIMIT} else early


def early_filters(template: MatchTemplate) -> list[list[int]]:
    """Return which values of each condition hold in every match, by edge, then by state.

    A list for each edge, then for each state (of matches that end there), with a number for each
    condition: the sum of `STAYS_TRUE` and `STAYS_FALSE`.
    """
    beginning = _only_begin(template)
    registers = template.registers
    first = {n for n, register in enumerate(registers) if _is_first(template, register, beginning)}
    always = [_always_bound(template, register.variables) for register in registers]
    rows = []
    for edge in template.edges:
        row = [0] * len(template.conditions)
        bound = {n for n, states in enumerate(always) if edge.source in states}
        for number in edge.checks if edge.source != START else ():
            condition = template.conditions[number]
            is_same = edge.source in beginning
            row[number] = _flags(template, condition, bound, first, is_previous_same=is_same)
        rows.append(row)
    sources = {edge.source for edge in template.edges}
    for state, owner in enumerate(template.states):
        row = [0] * len(template.conditions)
        bound = {n for n, states in enumerate(always) if state in states}
        latest = {
            n
            for n, register in enumerate(registers)
            if register.kind is RegisterKind.LATEST and owner.variable in register.variables
        }
        for number in template.final if state not in sources else ():
            condition = template.conditions[number]
            flags = _flags(template, condition, bound, first | latest, is_previous_same=False)
            row[number] = flags & STAYS_FALSE
        rows.append(row)
    return rows


def _flags(
    template: MatchTemplate,
    condition: Condition,
    bound: AbstractSet[int],
    same: AbstractSet[int],
    *,
    is_previous_same: bool,
) -> int:
    """Return which values of a condition hold in every match.

    Registers in `bound` always hold an event, those in `same` the same event in all matches.
    """

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
    stays_true = stays_true and not condition.unbound
    stays_false = stays_false and {*condition.bound, *condition.bound_finally} <= bound
    return STAYS_TRUE * stays_true + STAYS_FALSE * stays_false


def _only_begin(template: MatchTemplate) -> frozenset[int]:
    """Return the states that only the first event of a match can be in."""
    entered = {edge.target for edge in template.edges if edge.source != START}
    return frozenset(range(len(template.states))) - entered


def _is_first(template: MatchTemplate, register: Register, beginning: AbstractSet[int]) -> bool:
    """Return whether a register of one event can only hold the first event of a match."""
    if register.kind not in {RegisterKind.FIRST, RegisterKind.LATEST}:
        return False
    states = {n for n, s in enumerate(template.states) if s.variable in register.variables}
    return states <= beginning


def _always_bound(template: MatchTemplate, variables: tuple[str, ...]) -> frozenset[int]:
    """Return the states in which every match has an event bound to one of some variables."""
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
