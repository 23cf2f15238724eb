"""The graph path: against the reference engine, and examples that can be checked by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given

from elsinore.errors import QuerySemanticError
from elsinore.expressions.columns import values
from elsinore.language import parse_workload
from elsinore.model import Query, Strategy, Workload
from elsinore.model.window import SECOND
from elsinore.operators import plan
from elsinore.operators.ranks import to_ranks
from elsinore.plan import GuardedTemplate, TrendUnit, Unit, partition_of
from elsinore.plan.assembly import guarded_template
from elsinore.plan.classes import classes_of
from elsinore.plan.merged import merge_templates
from elsinore.plan.paths import STATE_LIMIT, Path
from elsinore.plan.trends import unit_of as as_unit
from elsinore.runtime.chunks import whole
from elsinore.runtime.classify import classify, type_numbers
from elsinore.runtime.keys import encode_keys
from elsinore.trends import totals_fields
from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.graph import ComparedColumns, GraphEvaluator
from elsinore.trends.keyed import KeyedEvents, WindowTotals
from elsinore.trends.kind import spec_of
from elsinore.trends.values.columns import addend_columns, order_columns
from elsinore.trends.values.shifts import Shifts
from oracles.reference import ReferenceEvent, reference
from support.guarded_cases import ALL, drawn_tests, often
from support.trends import column_names, table_of, trend_cases
from support.units import result_tables


def unit_of(query: Query) -> Unit:
    """Return a unit of one query, though a faster path might do."""
    template = guarded_template(query)
    local = ((name, sorted(held, key=repr)) for name, held in sorted(template.predicates.items()))
    spec = TrendUnit(
        path=Path.GRAPH,
        why=("",),
        templates=(),
        guarded=(template,),
        classes=classes_of(local),
        merged=merge_templates(()),
    )
    return as_unit("elsinore.trends.kind", partition_of(query), [0], spec)


def is_covered(query: Query) -> bool:
    """Return whether the path is one for the query, or a faster one would be."""
    try:
        template = guarded_template(query)
    except QuerySemanticError:
        return False
    whole_family = family(template)
    return not (
        (template.ambiguous and template.anchors)
        or len(template.anchors) > 1
        or any(len(one.states) > STATE_LIMIT for one in whole_family)
        or any(one.anchors for one in whole_family[1:])
    )


def family(template: GuardedTemplate) -> list[GuardedTemplate]:
    return [template, *(one for below in template.negatives for one in family(below))]


def keyed(
    unit: Unit, table: pa.Table
) -> tuple[KeyedEvents, ComparedColumns, list[int], list[pa.Array]]:
    """Return a table's rows by key, the group of each key, and the groups' attributes."""

    def column(name: str, rows: Any) -> pa.Array:
        return whole(table.column(name)).take(rows)

    every = pa.array(range(table.num_rows), pa.int64())
    groups = [column(name, every) for name in unit.group_by]
    keys = encode_keys(
        groups,
        [column(name, every) for name in unit.equivalence],
        [column(name, every) for name in unit.required],
        table.num_rows,
    )
    order = np.argsort(keys.key, kind="stable")
    order = order[keys.key[order] >= 0]
    present, starts = np.unique(keys.key[order], return_index=True)
    rows = pa.array(order, pa.int64())
    numbers = type_numbers(whole(table.column("type")), unit.types)[order]
    read = {name: column(name, rows) for name in unit.classes.attributes}
    columns = ComparedColumns.of({name: column(name, rows) for name in spec_of(unit).compared})

    sums = {
        f"sum:{name}": values(column(name, rows)).cast(pa.float64())
        for name in spec_of(unit).summed
    }
    places = np.searchsorted(present, keys.key[order])
    shifts = Shifts(spec_of(unit))
    times = np.ascontiguousarray(table.column("time").to_numpy()[order] * SECOND)
    codes = classify(unit.classes, numbers, unit.types, read).astype(np.int64)
    summed, present_values = addend_columns(
        spec_of(unit), pa.table({"class": codes, "time": times} | sums), places, shifts
    )
    ranks = {f"rank:{name}": to_ranks(column(name, rows)) for name in spec_of(unit).ranked}
    ranked, ordered = order_columns(spec_of(unit), pa.table({"row": rows} | ranks))
    events = KeyedEvents(
        starts=np.append(starts, len(order)).astype(np.int64),
        done=np.full(len(present), NEVER),
        until=np.full(len(present), FOREVER),
        times=times,
        codes=np.ascontiguousarray(codes),
        values=summed,
        present=present_values,
        orders=ranked,
        ordered=ordered,
    )
    group_of = keys.group[order][starts].tolist() if len(order) else []
    return events, columns, (group_of, shifts), [keys.of_groups(one) for one in groups]


def batch_of(unit: Unit, found: WindowTotals, keyed: tuple[Sequence[int], Any]) -> pa.Table:
    """Return totals as the operators give them out."""
    groups, shifts = keyed
    columns: dict[str, Any] = {
        "query": found.query,
        "group": np.array([groups[key] for key in found.key], dtype=np.int32),
        "window": found.window,
    }
    for f in range(found.cells.shape[1]):
        columns[f"cell{f}"], columns[f"power{f}"] = found.cells[:, f], found.powers[:, f]
    for x in range(found.extremes.shape[1]):
        columns[f"extreme{x}"] = found.extremes[:, x]
    of_rows = shifts.columns(found.query, found.key, found.window)
    columns |= {f"shift{k}": column for k, column in enumerate(of_rows)}
    schema = totals_fields(spec_of(unit), exact=False)
    arrays = [pa.array(np.ascontiguousarray(columns[name])) for name in schema.names]
    return pa.Table.from_arrays(arrays, schema=schema)


def results(
    unit: Unit,
    events: Sequence[ReferenceEvent],
    *,
    ordered: bool = False,
    cuts: Iterable[int] = (),
) -> dict[str, pa.Table]:
    """Return the unit's results; `cuts`: times up to which windows are asked for at first."""
    table = table_of(events)
    given_events, columns, group_of, groups = keyed(unit, table)
    evaluator = GraphEvaluator(spec_of(unit), by_time=not ordered)
    edges = [NEVER, *sorted(cuts), FOREVER]
    totals = []
    seen: set[tuple[int, ...]] = set()
    for done, until in itertools.pairwise(edges):
        given_events.done[:], given_events.until[:] = done, until
        found = evaluator.evaluate(given_events, columns)
        places = [
            *zip(found.query.tolist(), found.key.tolist(), found.window.tolist(), strict=True)
        ]
        assert len({*places}) == len(places)
        assert not seen.intersection(places), "given out twice"
        seen.update(places)
        totals.append(batch_of(unit, found, group_of))
    types = {name: table.schema.field(name).type for name in unit.carried}
    return result_tables(unit, pa.concat_tables(totals).to_batches(), groups, types)


def check(
    query: Query,
    events: Sequence[ReferenceEvent],
    *,
    ordered: bool = False,
    cuts: Iterable[int] = (),
) -> None:
    """Compare a query's results with the reference's."""
    expected = reference(query, events, ordered=ordered)
    table = results(unit_of(query), events, ordered=ordered, cuts=cuts)[query.name]
    compare(query, table, expected)


def compare(query: Query, table: pa.Table, expected: Sequence[Any]) -> None:
    names = column_names(query)
    found = {}
    for row in table.to_pylist():
        window = (row["window_start"], row["window_end"])
        place = tuple(row[names[name]] for name in query.group_by)
        found[place, None if window == (None, None) else window] = row
    assert set(found) == {(row.group, row.window) for row in expected}
    for row in expected:
        for name, value in row.values.items():
            got = found[row.group, row.window][name]
            if value is None or isinstance(value, bool):
                assert got is value, name
            else:
                assert got is not None, name
                assert math.isclose(got, float(value), rel_tol=1e-9, abs_tol=1e-9), name


(
    test_totals_are_those_of_every_trend_built,
    test_one_query_with_every_feature,
    test_each_window_is_given_out_once,
) = drawn_tests(check, is_covered)


@often
@given(trend_cases(features=ALL))
def test_queries_of_one_unit_keep_apart(case: Any) -> None:
    workload, events = case
    queries = tuple(query for query in workload if is_covered(query))
    assume(queries)
    units = [unit for unit in plan(Workload(queries)).units if spec_of(unit).path is Path.GRAPH]
    assume(units)
    for unit in units:
        tables = results(unit, events)
        for template in spec_of(unit).guarded:
            query = template.query
            compare(query, tables[query.name], reference(query, events))


@pytest.mark.parametrize(
    ("strategy", "expected"), [(Strategy.CONTIGUOUS, 1), (Strategy.NEXT, 2), (Strategy.ANY, 6)]
)
def test_sase_figure_3(strategy: Strategy, expected: int) -> None:
    text = f"""
    QUERY q RETURN COUNT(*) PATTERN SEQ(A a, B b+, C c) STRATEGY {strategy.value}
    WITHIN 10 seconds;
    """
    events = [ReferenceEvent(t * SECOND, kind, {}) for t, kind in ((1, "A"), (2, "A"), (5, "B"))]
    events += [ReferenceEvent(t * SECOND, kind, {}) for t, kind in ((6, "B"), (7, "C"))]
    (query,) = parse_workload(text)
    assert counts(query, events) == [expected]


def test_a_ride_that_was_not_picked_up() -> None:
    (query,) = parse_workload(
        "QUERY q1 RETURN COUNT(*) PATTERN SEQ(R r, T t+, NOT P p) WITHIN 30 minutes;"
    )
    ride = [ReferenceEvent(t * SECOND, kind, {}) for t, kind in enumerate("RTTT")]
    assert counts(query, ride) == [7]
    picked_up = [*ride, ReferenceEvent(9 * SECOND, "P", {}), ReferenceEvent(10 * SECOND, "T", {})]
    assert counts(query, picked_up) == [8]  # those that end with the last T


def counts(query: Query, events: Sequence[ReferenceEvent]) -> list[float]:
    found: list[float] = results(unit_of(query), events)[query.name].column("count(*)").to_pylist()
    return found
