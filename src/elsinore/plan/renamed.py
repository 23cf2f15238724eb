"""Templates of queries that differ in names alone: the first is built, the others take its shape.

Ten thousand queries `SEQ(X_i, B+)` of one workload have one automaton. What a text's queries have
in common is told by their forms (`elsinore.language.forms`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from elsinore.model.expression import Expression
from elsinore.model.kinds import Strategy
from elsinore.model.query import Form, Query
from elsinore.plan.aggregates import Aggregation, Field
from elsinore.plan.guarded import GuardedState, GuardedTemplate
from elsinore.plan.modes import Granularity
from elsinore.plan.paths import Routed, route
from elsinore.plan.predicates import over_type
from elsinore.plan.template import Template, Transition, label


class Routes:
    """The ways of queries, and their templates; those of one form are found once."""

    def __init__(self, granularity: Granularity, *, exact: bool) -> None:
        self._granularity = granularity
        self._exact = exact
        self._first: dict[Form, tuple[Query, Routed]] = {}

    def of(self, query: Query) -> Routed:
        """Return a query's way; raises what `elsinore.plan.paths.route` raises."""
        alike = query.form_instance
        if alike is not None and alike.form in self._first:
            first, routed = self._first[alike.form]
            if first.form_instance is not None and routed.template is not None:
                names = dict(zip(first.form_instance.names, alike.names, strict=True))
                return Routed(
                    routed.path,
                    routed.why,
                    _guarded(routed.guarded, query, names),
                    renamed(routed.template, query, names),
                )
        routed = route(query, self._granularity, exact=self._exact)
        if alike is not None and _can_be_renamed(routed):
            self._first[alike.form] = query, routed
        return routed


def _can_be_renamed(routed: Routed) -> bool:
    """Return whether the order of states is independent of names, and only states have any.

    Conditions between two events read them as the earlier and the later one.
    """
    guarded = routed.guarded
    has_names = guarded.negatives or guarded.anchors or guarded.warnings or guarded.sides > 1
    is_any = guarded.query.strategy is Strategy.ANY
    return routed.template is not None and is_any and not (guarded.ambiguous or has_names)


def _guarded(template: GuardedTemplate, query: Query, names: Mapping[str, str]) -> GuardedTemplate:
    """Return the guarded template of a query that is like a template's but for names."""
    states = []
    for state in template.states:
        type_name = names.get(state.type, state.type)
        variable = names.get(state.variable, state.variable)
        states.append(GuardedState(type_name, variable, _over(state.needs, type_name)))
    aggregation = _aggregation(template.aggregation, names)
    return replace(template, query=query, states=tuple(states), aggregation=aggregation)


def renamed(template: Template, query: Query, names: Mapping[str, str]) -> Template:
    """Return the template of a query that is like a template's but for names.

    names: by the types and variables of the template's query those of the other; what is left out
    has one name in both. Nothing but the template's states has names (`_can_be_renamed`).

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.assembly import guarded_template
    >>> from elsinore.plan.stored import stored
    >>> text = "QUERY p RETURN COUNT(*) PATTERN SEQ(A, B b+); "
    >>> queries = parse_workload(text + "QUERY q RETURN COUNT(*) PATTERN SEQ(C, B d+)").queries
    >>> p, q = (stored(guarded_template(query)) for query in queries)
    >>> renamed(p, queries[1], {"A": "C", "b": "d"}) == q
    True
    """
    labels = [""] * template.states
    transitions = []
    for move in template.transitions:
        type_name = names.get(move.type, move.type)
        variables = frozenset([names.get(variable, variable) for variable in move.variables])
        (variable,) = variables  # every state is some variable's: this one is not determinized
        labels[move.target] = label(type_name, variable)
        transitions.append(
            Transition(
                move.source,
                move.target,
                type_name,
                _over(move.needs, type_name),
                move.lacks,
                variables,
                move.reads,
            )
        )
    return replace(
        template,
        query=query,
        labels=tuple(labels),
        transitions=tuple(transitions),
        aggregation=_aggregation(template.aggregation, names),
    )


def _over(predicates: frozenset[Expression], type_name: str) -> frozenset[Expression]:
    """Return local predicates as those of a type."""
    if not predicates:
        return predicates
    return frozenset(over_type(predicate, type_name) for predicate in predicates)


def _aggregation(aggregation: Aggregation, names: Mapping[str, str]) -> Aggregation:
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
