"""The trend engine against the reference engine, which builds every trend there is."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from elsinore.errors import InputError, QuerySemanticError
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.model import Call, Event, Kleene, Query, ReturnItem, Workload
from elsinore.model.window import SECOND
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions
from oracles.reference import ReferenceEvent, ReferenceRow, reference
from support.trends import column_names, event_streams, table_of, trend_cases, trend_workloads
from support.units import UnitInput, unit_inputs

often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "15")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
streams = event_streams()
MOST_TRENDS = 20_000  # of what the reference engine builds, readings of a trend counted apart


def check(
    query: Query,
    events: Sequence[ReferenceEvent],
    table: pa.Table,
    *,
    exact: bool,
    unit: int = SECOND,
    ordered: bool = False,
) -> None:
    """Compare a result with the reference's; `unit`: that of the table's window bounds."""
    try:
        with mock.patch("oracles.reference.LIMIT", MOST_TRENDS):
            expected = reference(query, events, ordered=ordered)
    except InputError as error:
        assume("one by one" not in str(error))  # it would take minutes
        raise
    compare(query, expected, table.to_pylist(), exact=exact, unit=unit)


def compare(
    query: Query,
    expected: Sequence[ReferenceRow],
    rows: Sequence[dict[str, Any]],
    *,
    exact: bool,
    unit: int = SECOND,
) -> None:
    """Compare a result's rows with what the reference gave."""
    names = column_names(query)
    found = {}
    for row in rows:
        window = (row["window_start"], row["window_end"])
        bounds = None if window == (None, None) else tuple(edge * unit for edge in window)
        place = (tuple(row[names[name]] for name in query.group_by), bounds)
        assert place not in found, f"two rows for {place}"
        found[place] = row
    assert set(found) == {(row.group, row.window) for row in expected}
    for row in expected:
        for name, value in row.values.items():
            assert_same(found[row.group, row.window], name, value, exact)


def assert_same(row: dict[str, Any], name: str, expected: Any, exact: bool) -> None:
    """Compare one value of a result row with the reference's."""
    value = row[name]
    if expected is None or isinstance(expected, bool):
        assert value is expected, name
        return
    if f"{name}_digits" in row:
        text = row[f"{name}_digits"]
        assert (value is None) != (text is None), name
        value = int(text) if value is None else value
    assert value is not None, name
    if exact and isinstance(value, int | Decimal):
        assert Fraction(value) == expected, name
    elif exact:
        assert value == float(expected), name
    else:
        assert math.isclose(value, float(expected), rel_tol=1e-9, abs_tol=1e-9), name


def check_units(
    workload: Workload,
    events: Sequence[ReferenceEvent],
    how: Callable[[UnitInput], Sequence[pa.RecordBatch]],
) -> None:
    """Compare the results of units whose operators are driven in some way with the reference's."""
    for given_unit in unit_inputs(plan(workload), table_of(events), exact=workload.exact):
        results = given_unit.results(how(given_unit))
        for template in given_unit.unit.templates:
            check(
                template.query,
                events,
                results[template.query.name],
                exact=workload.exact,
                unit=1,
            )


@often
@given(trend_workloads(exact=None), streams)
def test_results_are_those_of_every_trend_built(
    workload: Workload, events: list[ReferenceEvent]
) -> None:
    results = run(plan(workload), table_of(events), RunOptions())
    for query in workload:
        check(query, events, results[query.name], exact=workload.exact)


@often
@given(trend_cases(variables=True, exact=None))
def test_aggregates_over_variables_have_one_value_or_are_refused(
    case: tuple[Workload, list[ReferenceEvent]],
) -> None:
    workload, events = case
    kept: list[Query] = []
    for query in workload:
        try:
            plan(Workload((query,)))
        except QuerySemanticError as error:
            assert "ambiguous" in str(error)  # noqa: PT017
        else:
            kept.append(query)
    if not kept:
        return
    results = run(plan(Workload(tuple(kept), exact=workload.exact)), table_of(events), RunOptions())
    for query in kept:
        check(query, events, results[query.name], exact=workload.exact)


@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A x*, A y)",
        "SEQ(A x*, A y, A z)",
        "SEQ(A y?, B b, A x*, A z)",
        "SEQ((A x OR B y), (A z OR C c))",
        "SEQ(A x, B b) OR SEQ(A z, C c)",
        "SEQ(A y*, A x{2}, B b)",
    ],
)
def test_aggregates_tell_variables_apart_in_which_the_same_trends_end(pattern: str) -> None:
    functions = ("COUNT({})", "SUM({}.v)", "MIN({}.v)", "MAX({}.v)", "AVG({}.v)")
    variables = re.findall(r"[A-C] (\w)", pattern)
    returned = ", ".join(one.format(name) for name in variables for one in functions)
    both = ", ".join(f"SUM({name}.v)" for name in ("A", variables[0]))
    workload = parse_workload(
        f"QUERY all RETURN {returned} PATTERN {pattern};"
        f"QUERY two RETURN {both} PATTERN {pattern};"
        f"QUERY none RETURN COUNT(*) PATTERN {pattern};"
    )
    events = [
        ReferenceEvent(number * SECOND, name, {"v": number + 1})
        for number, name in enumerate("ABACAABCA")
    ]
    results = run(plan(workload), table_of(events), RunOptions())
    for query in workload:
        check(query, events, results[query.name], exact=False)


@often
@given(trend_workloads(exact=None), streams, st.data())
def test_the_order_of_rows_in_a_table_does_not_matter(
    workload: Workload, events: list[ReferenceEvent], data: st.DataObject
) -> None:
    rows = data.draw(st.permutations(range(len(events))))
    table = table_of(events).take(pa.array(rows, pa.int64()))
    results = run(plan(workload), table, RunOptions())
    for query in workload:
        check(query, events, results[query.name], exact=workload.exact)


@often
@given(trend_workloads(exact=None), streams, st.data())
def test_a_tie_breaking_column_puts_simultaneous_events_in_order(
    workload: Workload, events: list[ReferenceEvent], data: st.DataObject
) -> None:
    rows = data.draw(st.permutations(range(len(events))))
    table = table_of(events).append_column("seq", pa.array(range(len(events)), pa.int64()))
    table = table.take(pa.array(rows, pa.int64()))
    results = run(plan(workload), table, RunOptions(order_by=("seq",)))
    for query in workload:
        check(query, events, results[query.name], exact=workload.exact, ordered=True)


@often
@given(trend_workloads(exact=None), streams, st.data())
def test_input_may_come_in_any_pieces_and_runs_may_stop_between_them(
    workload: Workload, events: list[ReferenceEvent], data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(events)), max_size=4)))
    stops = data.draw(st.lists(st.booleans(), min_size=5, max_size=5))
    times = [event.time for event in events] if data.draw(st.booleans()) else []

    def in_pieces(given_unit: UnitInput) -> list[pa.RecordBatch]:
        return given_unit.in_pieces([0, *cuts, len(events)], stops, times)

    check_units(workload, events, in_pieces)


@often
@given(trend_workloads(exact=None), streams, st.data())
def test_only_the_order_within_a_key_matters(
    workload: Workload, events: list[ReferenceEvent], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(events))))

    def interleaved(given_unit: UnitInput) -> list[pa.RecordBatch]:
        operator = given_unit.operator()
        return [operator.process(given_unit.interleaved(order)), operator.close()]

    check_units(workload, events, interleaved)


@often
@given(trend_workloads(exact=None), streams, st.data())
def test_keys_may_be_taken_one_after_another(
    workload: Workload, events: list[ReferenceEvent], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(events)))
    stop = data.draw(st.booleans())

    def one_by_one(given_unit: UnitInput) -> list[pa.RecordBatch]:
        return given_unit.key_after_key(cut, stop=stop)

    check_units(workload, events, one_by_one)


@pytest.mark.parametrize("exact", [False, True], ids=["doubles", "exact"])
def test_a_run_may_stop_amid_simultaneous_events(exact: bool) -> None:
    pattern = Kleene(Event("A", "a"), 1, None)
    count = ReturnItem(Call("COUNT", ()))
    workload = Workload((Query(name="q", returns=(count,), pattern=pattern),), exact=exact)
    events = [ReferenceEvent(0, "A", {})] * 5

    def stopped(given_unit: UnitInput) -> list[pa.RecordBatch]:
        operator = given_unit.operator()
        totals = [operator.process(given_unit.batch.slice(0, 1)), operator.close(0)]
        operator = given_unit.stopped(operator)
        return [*totals, operator.process(given_unit.batch.slice(1)), operator.close()]

    check_units(workload, events, stopped)
