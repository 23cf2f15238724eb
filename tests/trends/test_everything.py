"""All that trend queries promise, in combination, against the reference engine.

Workloads with predicates between events, anchors, NOT, AND and all strategies, run by every path,
sharing mode and granularity, in pieces, stopped and started again.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from elsinore.automata.positions import guarded_positions
from elsinore.errors import InvalidWorkloadError, QueryError
from elsinore.local import run
from elsinore.model import (
    Attribute,
    Binary,
    Conjunction,
    Disjunction,
    Event,
    Kleene,
    Pattern,
    Query,
    Strategy,
    Workload,
)
from elsinore.model import pattern as pt
from elsinore.operators import plan
from elsinore.plan import Granularity, Plan, Sharing
from elsinore.runtime.options import RunOptions
from oracles.reference import ReferenceEvent
from support.trends import (
    LESS_OR_MORE,
    Feature,
    column_names,
    streams_for,
    table_of,
    trend_cases,
    trend_queries,
)
from support.units import UnitInput, unit_inputs
from trends.test_against_reference import check

often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "12")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
ALL = tuple(Feature)
Case = tuple[Workload, list[ReferenceEvent]]
SHARED = (Feature.ADJACENT,)
# whatever a query may have; and NOT and AND by themselves, which need no graph of events then
CASES = trend_cases(exact=None, features=ALL) | trend_cases(
    exact=None, features=(Feature.NEGATION, Feature.CONJUNCTION)
)


def settled(query: Query) -> bool:
    """Return whether there is one meaning of a query.

    Under NEXT with a NOT, whether an event can extend a run may differ between the rounds of a
    bounded repetition, which an assignment of variables does not tell apart.
    """
    if query.strategy is not Strategy.NEXT:
        return True
    nodes = list(pt.walk(query.pattern))
    repeated = any(isinstance(n, pt.Kleene) and (n.least > 1 or (n.most or 1) > 1) for n in nodes)
    return not (repeated and any(isinstance(node, pt.Negation) for node in nodes))


def planned(workload: Workload, granularity: Granularity = Granularity.AUTO) -> Plan:
    """Plan a workload; give up one that is refused, as some predicates drawn are."""
    assume(all(settled(query) for query in workload))
    try:
        return plan(workload, granularity=granularity)
    except (QueryError, InvalidWorkloadError):
        assume(False)
        raise


@often
@given(
    CASES,
    st.sampled_from(Sharing),
    st.sampled_from(Granularity),
)
def test_results_are_those_of_every_trend_built(
    case: Case, sharing: Sharing, granularity: Granularity
) -> None:
    workload, events = case
    ready = planned(workload, granularity)
    results = run(ready, table_of(events), RunOptions(sharing=sharing))
    for query in workload:
        check(query, events, results[query.name], exact=workload.exact)


@often
@given(trend_cases(features=SHARED), st.sampled_from(Sharing), st.sampled_from(Granularity))
def test_predicates_between_neighbours_are_right_in_every_mode(
    case: Case, sharing: Sharing, granularity: Granularity
) -> None:
    workload, events = case
    ready = planned(workload, granularity)
    results = run(ready, table_of(events), RunOptions(sharing=sharing))
    for query in workload:
        check(query, events, results[query.name], exact=False)


@often
@given(CASES, st.data())
def test_a_tie_breaking_column_puts_simultaneous_events_in_order(
    case: Case, data: st.DataObject
) -> None:
    workload, events = case
    ready = planned(workload)
    rows = data.draw(st.permutations(range(len(events))))
    table = table_of(events).append_column("seq", pa.array(range(len(events)), pa.int64()))
    results = run(ready, table.take(pa.array(rows, pa.int64())), RunOptions(order_by=("seq",)))
    for query in workload:
        check(query, events, results[query.name], exact=workload.exact, ordered=True)


@often
@given(CASES, st.data())
def test_input_may_come_in_any_pieces_and_runs_may_stop_between_them(
    case: Case, data: st.DataObject
) -> None:
    workload, events = case
    ready = planned(workload)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(events)), max_size=4)))
    stops = data.draw(st.lists(st.booleans(), min_size=5, max_size=5))
    times = [event.time for event in events] if data.draw(st.booleans()) else []

    def in_pieces(given_unit: UnitInput) -> list[pa.RecordBatch]:
        sharing = data.draw(st.sampled_from(Sharing))
        return given_unit.in_pieces([0, *cuts, len(events)], stops, times, sharing)

    check_each(workload, ready, events, in_pieces)


@st.composite
def cases_of_branches(draw: st.DrawFn) -> Case:
    """Draw a repeated OR whose branches have their events compared, and a stream."""
    query = draw(trend_queries("q", ("A", "B"), features=ALL))
    if not isinstance(query.pattern, Conjunction) and few_places(query.pattern):
        names = sorted({event.variable for event in pt.positive_events(query.pattern)})
        one = Attribute(draw(st.sampled_from(names)), "v")
        condition = Binary(draw(st.sampled_from(LESS_OR_MORE)), one, Attribute("other", "v"))
        branches = (query.pattern, Event(draw(st.sampled_from("AB")), "other"))
        repeated = Kleene(Disjunction(branches), 1, None)
        query = replace(query, pattern=repeated, where=(*query.where, condition))
    return Workload((query,), exact=draw(st.booleans())), draw(streams_for(query, 7))


def few_places(pattern: Pattern) -> bool:
    """Return whether a pattern is small enough to be repeated in a pattern that tests can run."""
    return len(guarded_positions(pattern).events) <= 4


@often
@given(CASES | cases_of_branches(), st.data())
def test_the_branches_of_or_may_be_written_in_any_order(case: Case, data: st.DataObject) -> None:
    workload, events = case
    assume(all(settled(query) for query in workload))
    other = Workload(
        tuple(replace(q, pattern=reordered(q.pattern, data)) for q in workload),
        exact=workload.exact,
    )
    found = results_or_none(workload, events)
    again = results_or_none(other, events)
    assert (found is None) == (again is None), "only one of them is refused"
    if found is None or again is None:
        return
    for query in workload:
        assert_same_rows(found[query.name], again[query.name], column_names(query))


def reordered(pattern: Pattern, data: st.DataObject) -> Pattern:
    """Return a pattern with the branches of each OR in an order that is drawn."""
    match pattern:
        case pt.Disjunction(parts):
            branches = tuple(reordered(part, data) for part in parts)
            return pt.Disjunction(tuple(data.draw(st.permutations(branches))))
        case pt.Sequence(parts) | pt.Conjunction(parts):
            return replace(pattern, parts=tuple(reordered(part, data) for part in parts))
        case pt.Kleene(inner) | pt.Negation(inner):
            return replace(pattern, pattern=reordered(inner, data))
        case _:
            return pattern


def results_or_none(
    workload: Workload, events: list[ReferenceEvent]
) -> Mapping[str, pa.Table] | None:
    """Return the results of a workload; None if it is refused."""
    try:
        ready = plan(workload)
    except (QueryError, InvalidWorkloadError):
        return None
    return run(ready, table_of(events), RunOptions())


def assert_same_rows(one: pa.Table, other: pa.Table, groups: Mapping[str, str]) -> None:
    """Compare two results, whatever the order of their rows; doubles need be close only."""
    keys = (*groups.values(), "window_start", "window_end")
    ones, others = (
        {tuple(row[key] for key in keys): row for row in table.to_pylist()}
        for table in (one, other)
    )
    assert ones.keys() == others.keys()
    for key, row in ones.items():
        assert row.keys() == others[key].keys()
        for name, value in row.items():
            again = others[key][name]
            close = isinstance(value, float) and isinstance(again, float)
            assert value == again or (close and math.isclose(value, again, abs_tol=1e-9)), name


@often
@given(CASES, st.data())
def test_only_the_order_within_a_key_matters(case: Case, data: st.DataObject) -> None:
    workload, events = case
    ready = planned(workload)
    order = data.draw(st.permutations(range(len(events))))

    def interleaved(given_unit: UnitInput) -> list[pa.RecordBatch]:
        operator = given_unit.operator()
        return [operator.process(given_unit.interleaved(order)), operator.close()]

    check_each(workload, ready, events, interleaved)


@often
@given(CASES, st.data())
def test_keys_may_be_taken_one_after_another(case: Case, data: st.DataObject) -> None:
    workload, events = case
    ready = planned(workload)
    cut = data.draw(st.integers(0, len(events)))
    stop = data.draw(st.booleans())

    def one_by_one(given_unit: UnitInput) -> list[pa.RecordBatch]:
        return given_unit.key_after_key(cut, stop=stop)

    check_each(workload, ready, events, one_by_one)


def check_each(workload: Workload, ready: Plan, events: list[ReferenceEvent], how: Any) -> None:
    """Compare the results of units driven in some way with the reference's."""
    for given_unit in unit_inputs(ready, table_of(events), exact=workload.exact):
        results = given_unit.results(how(given_unit))
        for member in given_unit.unit.members:
            name = member.query.name
            check(member.query, events, results[name], exact=workload.exact, unit=1)
