"""Planning a workload: each query is planned by the kind that claims it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from elsinore.errors import (
    InvalidWorkloadError,
    QueryError,
    QuerySemanticError,
    called,
    raise_errors,
)
from elsinore.model.clock import Clock
from elsinore.model.computed import columns_of
from elsinore.model.garbage import without_garbage_collection
from elsinore.model.kinds import Kind as QueryKind
from elsinore.model.query import Form, Query, Workload
from elsinore.model.schema import Schema
from elsinore.operators.equality_keys import with_equality_keys
from elsinore.operators.registry import kind_for, kind_in, module_for
from elsinore.operators.statistics import OperatorStatistics
from elsinore.plan import Granularity, Plan, PlanOptions, Unit
from elsinore.plan.modes import Uncertainty


@without_garbage_collection()
def plan(
    workload: Workload,
    *,
    granularity: Granularity = Granularity.AUTO,
    aggregates: Mapping[str, object] | None = None,
    attributes: tuple[str, ...] = (),
    uncertain: Uncertainty | None = None,
    clock: Clock | None = None,
) -> Plan:
    """Plan a workload; `aggregates` are user-defined aggregates by name.

    `attributes` are those of the events, if known. `uncertain` describes times that are intervals:
    then all queries must return matches. `clock` defines the unit of times.

    Raises the errors of all queries together: UnsupportedError if no engine supports a clause, and
    the errors of the kinds.

    >>> from elsinore.language import parse_workload
    >>> text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 seconds;"
    >>> [unit.names for unit in plan(parse_workload(text)).units]
    [('q',)]
    """
    options = PlanOptions(
        granularity=granularity,
        exact=workload.exact,
        aggregates=aggregates or {},
        attributes=attributes,
        uncertain=uncertain,
        clock=clock,
    )
    errors: list[QueryError] = []
    claimed: dict[str, list[tuple[int, Query]]] = {}
    modules: dict[Form | None, str] = {}  # of the kinds that claim queries of a form
    for number, query in enumerate(workload):
        if uncertain is not None and query.kind is not QueryKind.MATCHES:
            errors.append(_must_be_certain(query))
            continue
        if uncertain is not None and query.window is not None and query.window.events:
            errors.append(_must_have_length(query))
            continue
        if uncertain is None:
            query = with_equality_keys(query)  # noqa: PLW2901
        form = query.form_instance.form if query.form_instance else None
        try:
            module = modules.get(form) or module_for(query)
        except QueryError as error:
            errors.append(error)
            continue
        if form is not None:
            modules[form] = module
        claimed.setdefault(module, []).append((number, query))
    units: list[Unit] = []
    for module, queries in claimed.items():
        try:
            units += kind_in(module).plan(queries, options)
        except QueryError as error:
            errors.append(error)
        except InvalidWorkloadError as workload_error:
            errors += workload_error.errors
    names = [query.name for query in workload]
    raise_errors(sorted(errors, key=lambda error: names.index(error.query or names[0])))
    return Plan(workload, tuple(units), options.aggregates)


def specialize(plan: Plan, types: Mapping[str, pa.DataType], *, declared: bool) -> Plan:
    """Return a plan specialized for events with attributes of these types (`Kind.fitted`)."""
    units = [kind_in(unit.kind).specialize(unit, types, declared=declared) for unit in plan.units]
    return replace(plan, units=tuple(units))


def columns_read(plan: Plan) -> frozenset[str] | None:
    """Return the attributes of events that a plan's units read; None if that is not known yet."""
    if not all(kind_in(unit.kind).knows_attributes(unit) for unit in plan.units):
        return None
    return columns_named(plan)


def columns_named(plan: Plan) -> frozenset[str]:
    """Return the attributes that keys, conditions and columns of a plan's units name.

    SQL expressions are replaced by the attributes that they read. Functions may read others.
    """
    names = {name for unit in plan.units for name in unit.attributes}
    return frozenset(column for name in names for column in columns_of(name))


def _must_be_certain(query: Query) -> QueryError:
    return QuerySemanticError(
        "This query needs exact times, and the times of these events are uncertain. Return "
        "matches (a.x, COUNT(b[])), each with its CONFIDENCE(), or name one time column.",
        span=query.returns[0].expression.span if query.returns else query.span,
        query=query.name,
    )


def _must_have_length(query: Query) -> QueryError:
    return QuerySemanticError(
        "WITHIN counts events in order, and uncertain times do not determine it. Give WITHIN a "
        "length of time.",
        span=query.places.get("WITHIN", query.span),
        query=query.name,
    )


def bind(workload: Workload, schema: Schema) -> None:
    """Check a workload against a schema: attributes exist and have types that fit their use.

    Raises all errors together: unknown attributes (with the nearest name), sums of values that are
    not numbers, comparisons of numbers with text, keys of nested types.
    """
    if schema in workload.fitting:
        return
    errors: list[QueryError] = []
    fitting: set[Form] = set()  # forms without errors; queries of a form read equal attributes
    for query in workload:
        if query.form_instance is None or query.form_instance.form not in fitting:
            query_errors = list(kind_in(module_for(query)).check(query, schema))
            errors += query_errors
            if query.form_instance is not None and not query_errors:
                fitting.add(query.form_instance.form)
    raise_errors(errors)
    workload.fitting.add(schema)


def open_windows(
    plan: Plan, last_time: int | None, statistics: Sequence[OperatorStatistics | None]
) -> dict[str, int | None]:
    """Return the number of each query's windows that are open at an open stream's last event.

    `statistics` has those of each unit's operators, None if unknown (see `Kind.open_windows`).
    Empty if `last_time` is None: the stream is closed, or has no events.
    """
    if last_time is None:
        return {}
    by_query: dict[str, int | None] = {}
    for unit, unit_statistics in zip(plan.units, statistics, strict=True):
        numbers = kind_for(unit).open_windows(unit, last_time, unit_statistics)
        by_query |= dict(zip(unit.names, numbers, strict=True))
    return {query.name: by_query[query.name] for query in plan.workload}


def query_warnings(plan: Plan, names: frozenset[str] | None = None) -> Iterator[str]:
    """Yield warnings about queries that do not depend on events, only for `names` if given."""
    for unit in plan.units:
        if names is None or not names.isdisjoint(unit.names):
            for place, text in kind_for(unit).warnings(unit):
                if names is None or unit.names[place] in names:
                    yield f"{called(unit.names[place])}: {text}"
