"""The evaluation of a trend query: sums per state, stored events, or sets of trends.

- COARSE: sums per state of the template (COGRA), for queries whose predicates and strategies
  compare no single events, and whose NOTs only exclude events since the last one.
- GRAPH: events are stored (`elsinore.plan.stored`), as in GRETA.
- SETS: for integers of any size, and for queries that `elsinore.plan.stored` excludes.

Ten thousand queries `SEQ(X_i, B+)` of one workload have one automaton: that of the first is built,
and the others have its states under other names (`elsinore.language.forms`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from elsinore.model.kinds import Strategy
from elsinore.model.query import Form, Query
from elsinore.plan.aggregates import Aggregation, Field
from elsinore.plan.assembly import guarded_template
from elsinore.plan.between import is_local
from elsinore.plan.implied import without_implied
from elsinore.plan.modes import Granularity
from elsinore.plan.predicates import over_type
from elsinore.plan.stored import stored_template
from elsinore.plan.template import State, Template

_NEGATION = "NOT depends on the events in between"
_LONG_NEGATION = "NOT forbids more than single events"
_CONJUNCTION = "AND counts pairs of trends"
_COMPARISON = "a condition compares events with one another"


class Path(Enum):
    """The ways to run a query."""

    COARSE = "coarse"
    GRAPH = "graph"
    SETS = "sets"


class Way(NamedTuple):
    """How a query is run, and the reason for it."""

    method: str
    reason: str


@dataclass(frozen=True, slots=True)
class Routed:
    """A query with its way, the reason for it, its guarded template and what the engine runs."""

    path: Path
    why: Way
    guarded: Template
    template: Template | None = None  # None on the path SETS


def route(query: Query, granularity: Granularity, *, exact: bool) -> Routed:
    """Choose a trend query's way and build its templates.

    Raises QuerySemanticError where `guarded_template` does.
    """
    guarded = without_implied(guarded_template(query))
    reasons = _reasons(query, guarded)
    template = stored_template(guarded)
    if isinstance(template, str):
        return Routed(Path.SETS, Way("trends built one by one", template), guarded)
    is_fine = granularity is Granularity.FINE and not (exact or guarded.ambiguous)
    if template.is_summed and not is_fine:
        why = Way("sums per state", "no condition compares one event with another")
        if _CONJUNCTION in reasons:
            why = Way("sums per state for each pattern and for both", _CONJUNCTION)
        elif guarded.negatives:
            why = Way("sums per state, reset by what NOT forbids", "NOT forbids only single events")
        return Routed(Path.COARSE, why, guarded, template)
    reason = next(iter(reasons), "fine granularity was requested")
    if exact:
        why = Way("trends built one by one in exact integers", reason)
        return Routed(Path.SETS, why, guarded)
    method = "an index over its own events"
    if query.strategy is not Strategy.ANY:
        method = "sums carried from event to event"
    elif any(s.storage.rows is not None and s.storage.rows.is_checked for s in template.states):
        method = "its own list of events"
    return Routed(Path.GRAPH, Way(method, reason), guarded, template)


def _reasons(query: Query, guarded: Template) -> list[str]:
    """Return the clauses of a query that need more than sums per state."""
    reasons = [_CONJUNCTION] if guarded.sides > 1 else []
    if guarded.negatives:
        is_long = any(negative.steps or negative.negatives for negative in guarded.negatives)
        reasons.append(_LONG_NEGATION if is_long else _NEGATION)
    if query.strategy is not Strategy.ANY:
        reasons.append(f"{query.strategy.value} restricts which events may be skipped")
    if not all(map(is_local, query.where)):
        reasons.append(_COMPARISON)
    return reasons


class Routes:
    """The ways of queries, and their templates; those of one form are chosen once."""

    def __init__(self, granularity: Granularity, *, exact: bool) -> None:
        self._granularity = granularity
        self._exact = exact
        self._first: dict[Form, Routed] = {}

    def of(self, query: Query) -> Routed:
        """Return a query's way; raises what `route` raises."""
        instance = query.form_instance
        first = None if instance is None else self._first.get(instance.form)
        known = None if first is None else first.guarded.query.form_instance
        if first is not None and known is not None and instance is not None:
            names = dict(zip(known.names, instance.names, strict=True))
            guarded = _renamed(first.guarded, query, names)
            template = stored_template(guarded)
            assert isinstance(template, Template)
            return Routed(first.path, first.why, guarded, template)
        routed = route(query, self._granularity, exact=self._exact)
        if instance is not None and _can_be_renamed(routed):
            self._first[instance.form] = routed
        return routed


def _can_be_renamed(routed: Routed) -> bool:
    """Return whether the order of states is independent of names, and only states have any.

    Conditions between two events read them as the earlier and the later one.
    """
    guarded = routed.guarded
    has_names = guarded.negatives or guarded.anchors or guarded.warnings or guarded.sides > 1
    is_any = guarded.query.strategy is Strategy.ANY
    return routed.template is not None and is_any and not (guarded.ambiguous or has_names)


def _renamed(template: Template, query: Query, names: Mapping[str, str]) -> Template:
    """Return the guarded template of a query that differs from a template's in names alone.

    names: by the types and variables of the template's query, those of the other that differ.
    Nothing but states and aggregates has names (`_can_be_renamed`).
    """
    states = []
    for state in template.states:
        type_name = names.get(state.type, state.type)
        variable = names.get(state.variable, state.variable)
        needs = frozenset([over_type(predicate, type_name) for predicate in state.needs])
        states.append(State(type=type_name, needs=needs, variable=variable))
    aggregation = _renamed_fields(template.aggregation, names)
    return replace(template, query=query, states=tuple(states), aggregation=aggregation)


def _renamed_fields(aggregation: Aggregation, names: Mapping[str, str]) -> Aggregation:
    """Return the same fields, of variables and types with other names."""
    fields = aggregation.linear + aggregation.extremes
    read = {variable for field in fields for variable in (*field.variables, field.type or "")}
    if all(names.get(variable, variable) == variable for variable in read):
        return aggregation

    def of(field: Field) -> Field:
        variables = frozenset(names.get(variable, variable) for variable in field.variables)
        of_type = None if field.type is None else names.get(field.type, field.type)
        return replace(field, variables=variables, type=of_type)

    return replace(
        aggregation,
        linear=tuple(map(of, aggregation.linear)),
        extremes=tuple(map(of, aggregation.extremes)),
    )
