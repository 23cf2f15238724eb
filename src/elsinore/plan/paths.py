"""Which way a query is run, by what it asks for: the cheapest that is right for it.

- COARSE: sums per state of the template; no predicate or strategy asks for single events, nor does
  NOT ask for more than that none of some has come since.
- SHARED: predicates that compare an event with the one before it in a loop.
- GRAPH: any other condition between events, NOT and strategy (`elsinore.plan.stored`).
- SETS: integers of any size, and what `elsinore.plan.stored` gives a reason against.
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
from elsinore.plan.modes import Granularity
from elsinore.plan.sharing import obstacle
from elsinore.plan.stored import stored
from elsinore.plan.template import Adjacent, Template, Transition, template

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
    form = stored(guarded)
    if isinstance(form, str) and not (guards or between):
        why = "sums per state: no condition compares one event with another"
        return Routed(Path.COARSE, why, template(query))
    if isinstance(form, str):
        return Routed(Path.SETS, f"trends built one by one: {form}", guarded)
    way = "an index over its own events"
    if query.strategy is not Strategy.ANY:
        way = "sums carried from event to event"
    elif any(rows is not None and rows.is_checked for rows in form.rows):
        way = "its own list of events"
    return Routed(Path.GRAPH, f"{way}: {guard}", guarded)


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
