"""Which way a query is run, by what it asks for: the cheapest that is right for it.

- COARSE: sums per state of the template; no predicate or strategy asks for single events, nor does
  NOT ask for more than that none of some has come since.
- SHARED: the HAMLET graph, for predicates that compare an event with the one before it in a loop.
- GRAPH: every event with its predecessors, whatever the guards; quadratic in a window's events, but
  for what an index finds (`elsinore.plan.indexed`).
- SETS: the same with integers of any size, and for what no faster way covers.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from enum import Enum

from elsinore.model import pattern as pt
from elsinore.model.expression import Attribute, Binary, Expression
from elsinore.model.kinds import Strategy
from elsinore.model.query import Query
from elsinore.plan.accumulators import accumulated
from elsinore.plan.assembly import guarded_template
from elsinore.plan.between import CURRENT, PREVIOUS, TURNED, Reading, is_local, readings
from elsinore.plan.conjoined import conjoined
from elsinore.plan.guarded import GuardedTemplate
from elsinore.plan.implied import without_implied
from elsinore.plan.indexed import Indexed, indexed
from elsinore.plan.modes import Granularity
from elsinore.plan.sharing import obstacle
from elsinore.plan.sinks import with_sinks
from elsinore.plan.taken_apart import taken_apart
from elsinore.plan.template import Adjacent, Template, Transition, template

STATE_LIMIT = 62  # states of a guarded template that fit a word of bits

_NEGATION = "NOT depends on the events in between"
_CONJUNCTION = "AND counts pairs of trends"
_SUMMED = frozenset({_NEGATION, _CONJUNCTION})  # what sums per state can do


class Path(Enum):
    """The ways to run a query."""

    COARSE = "coarse"
    SHARED = "shared"
    GRAPH = "graph"
    SETS = "sets"


@dataclass(frozen=True, slots=True)
class Routed:
    """A query with its way, the reason for it, and its template in the form that way needs."""

    path: Path
    why: str
    template: Template | GuardedTemplate


def route(query: Query, granularity: Granularity, *, exact: bool) -> Routed:
    """Choose a trend query's way and build its template.

    Raises QuerySemanticError where `template` or `guarded_template` does.
    """
    guards = _guards(query)
    guard = guards[0] if guards else None
    between = [predicate for predicate in query.where if not is_local(predicate)]
    summed = not between and (exact or granularity is Granularity.AUTO)
    if guard is None and summed:
        why = "sums per state: no condition compares one event with another"
        return Routed(Path.COARSE, why, template(query))
    if guard is None and not exact:
        shared = _with_adjacent(query, between) if between else template(query)
        if isinstance(shared, Template):
            guard = obstacle(shared)
            if guard is None:
                why = "fine granularity was requested"
                if between:
                    why = "each event of a repeated variable is compared with the preceding one"
                return Routed(Path.SHARED, f"the shared graph: {why}", shared)
        else:
            guard = shared
    guarded = without_implied(guarded_template(query))
    if guards[:1] == [_NEGATION] and not guarded.negatives:  # CONTIGUOUS needs none
        guard = guards[-1]
    if summed and _SUMMED.issuperset(guards):
        pairs = _CONJUNCTION in guards
        kept = conjoined(guarded) if pairs else accumulated(guarded)
        if isinstance(kept, Template):
            why = "sums per state, reset by what NOT forbids: NOT forbids only single events"
            if pairs:
                why = f"sums per state for each pattern and for both: {_CONJUNCTION}"
            return Routed(Path.COARSE, why, kept)
        guard = kept
    if exact:
        why = f"trends built one by one in exact integers: {guard or 'conditions compare events'}"
        return Routed(Path.SETS, why, guarded)
    if any(move.unless for move in guarded.moves):
        why = "trends built one by one: NOT decides which repetition an event continues"
        return Routed(Path.SETS, why, guarded)
    whole = guarded if guarded.sides > 1 else with_steps(guarded)
    form = _patterns_of(whole)
    guard, parts = (form, (whole,)) if isinstance(form, str) else (guard, form)
    for part in parts:
        hindrance = _too_much(part)
        if hindrance is not None:
            return Routed(Path.SETS, f"trends built one by one: {hindrance}", guarded)
    way = "its own graph of events"
    if all(isinstance(indexed(part), Indexed) for part in parts):
        way = "an index over its own events"
    elif all(map(goes_in_steps, parts)):
        way = "sums carried from event to event"
    return Routed(Path.GRAPH, f"{way}: {guard}", whole)


def patterns_of(guarded: GuardedTemplate) -> tuple[GuardedTemplate, ...]:
    """Return the templates whose trends tell a query's: those that AND is taken apart into."""
    patterns = _patterns_of(guarded)
    return (guarded,) if isinstance(patterns, str) else patterns


def _patterns_of(guarded: GuardedTemplate) -> tuple[GuardedTemplate, ...] | str:
    """Return what `patterns_of` does, or why an AND is not taken apart."""
    parts = taken_apart(guarded) if guarded.sides > 1 else (guarded,)
    if guarded.sides == 1 or isinstance(parts, str):
        return parts
    return tuple(map(with_steps, parts))


def with_steps(guarded: GuardedTemplate) -> GuardedTemplate:
    """Return a template without negatives where it goes in steps so."""
    stepping = with_sinks(guarded)
    return stepping if goes_in_steps(stepping) else guarded


def _too_much(guarded: GuardedTemplate) -> str | None:
    """Return what of a template only trends that are built one by one can tell."""
    if (guarded.ambiguous and guarded.anchors) or len(guarded.anchors) > 1:
        return "its events can be anchored in several ways"
    if (
        max(len(template.states) for template in (guarded, *guarded.negatives_at_any_depth))
        > STATE_LIMIT
    ):
        return f"it has more than {STATE_LIMIT} states"
    if any(negative.anchors for negative in guarded.negatives_at_any_depth):
        return "events under NOT are anchored"
    return None


def goes_in_steps(guarded: GuardedTemplate) -> bool:
    """Return whether an event goes on with determined trends, found by comparing attributes alone.

    They are then summed up as events come (`elsinore.trends.graph.steps`), without a graph.
    """
    plain = not (guarded.ambiguous or guarded.anchors or guarded.negatives or guarded.sides > 1)
    return (
        plain
        and guarded.query.strategy is not Strategy.ANY
        and all(map(_compares_attributes, guarded.conditions))
    )


def _compares_attributes(condition: Expression) -> bool:
    match condition:
        case Binary(operator, Attribute(variable=left), Attribute(variable=right)):
            return operator.is_comparison and {left, right} == {PREVIOUS, CURRENT}
    return False


def _guards(query: Query) -> list[str]:
    """Return what in a query's clauses asks for a graph of its own."""
    reasons: dict[str, None] = {}
    for node in pt.walk(query.pattern):
        if isinstance(node, pt.Negation):
            reasons[_NEGATION] = None
        if isinstance(node, pt.Conjunction):
            reasons[_CONJUNCTION] = None
    if query.strategy is not Strategy.ANY:
        reasons[f"{query.strategy.value} restricts which events may be skipped"] = None
    return list(reasons)


def _with_adjacent(query: Query, between: list[Expression]) -> Template | str:
    """Return the template with its predicates between events on its loops, or why it has none."""
    all_readings: list[list[Reading]] = []
    for predicate in between:
        mine = list(readings(query, query.pattern, predicate) or ())
        if any(_comparison_of(reading.condition) is None for reading in mine):
            return "a condition does more than compare attributes of neighbouring events"
        if not mine or any(reading.anchored or reading.first for reading in mine):
            return "a condition compares events other than neighbours of a repeated variable"
        all_readings.append(mine)
    plain = template(query)
    if plain.determinized:
        return "the pattern is ambiguous and has conditions between events"
    conditions: dict[tuple[str, str], set[Expression]] = {}
    for reading in itertools.chain(*all_readings):
        conditions.setdefault((reading.earlier, reading.later), set()).add(reading.condition)
    variable = {move.target: next(iter(move.variables)) for move in plain.transitions}
    transitions: list[Transition] = []
    on_loops: set[tuple[str, str]] = set()
    for move in plain.transitions:
        pair = (variable.get(move.source, ""), variable[move.target])  # "" before the first event
        if pair not in conditions:
            transitions.append(move)
        elif move.source != move.target:
            return "a condition compares neighbours that do not belong to one repeated variable"
        elif len(conditions[pair]) > 1:
            return "neighbours of a repeated variable are compared by several conditions"
        else:
            on_loops.add(pair)
            (condition,) = conditions[pair]
            transitions.append(replace(move, adjacent=_comparison_of(condition)))
    if not all(
        any((candidate.earlier, candidate.later) in on_loops for candidate in mine)
        for mine in all_readings
    ):
        return "a condition compares events that never follow one another"
    return replace(plain, transitions=tuple(transitions))


def _comparison_of(condition: Expression) -> Adjacent | None:
    """Return a condition as a comparison of an event's attribute with its predecessor's."""
    match condition:
        case Binary(operator, Attribute(one, str(left)), Attribute(other, str(right))):
            if operator not in TURNED:
                return None
            if (one, other) == (CURRENT, PREVIOUS):
                return Adjacent(left, operator, right)
            if (one, other) == (PREVIOUS, CURRENT):
                return Adjacent(right, TURNED[operator], left)
    return None
