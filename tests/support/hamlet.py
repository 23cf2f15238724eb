"""Running the shared graph by hand over small streams, and comparing with the reference."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.plan import Granularity, Path, Sharing
from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.graph import ComparedColumns
from elsinore.trends.hamlet import HamletEvaluator
from elsinore.trends.keyed import KeyedEvents
from elsinore.trends.partials import merge, totals_fields
from elsinore.trends.values.columns import addend_columns, order_columns
from elsinore.trends.values.shifts import Shifts
from oracles.costs import CostModel
from oracles.reference import ReferenceEvent, reference
from support.trends import table_of
from support.units import UnitInput, assert_close, unit_inputs


def shared_units(workload: Workload, table: pa.Table) -> list[UnitInput]:
    """Return the units of a workload that the shared graph runs, with their input."""
    planned = plan(workload, granularity=Granularity.FINE)
    found = unit_inputs(planned, table, exact=False)
    return [one for one in found if one.unit.path is Path.SHARED]


def keyed_events(given: UnitInput, until: int = FOREVER) -> KeyedEvents:
    """Return a unit's events, key after key."""
    unit, batch = given.unit, given.batch
    keys = np.array(given.keys)
    codes = batch.column("class").to_numpy()
    rows = _rows(given)
    _, starts = np.unique(keys[rows], return_index=True)

    values, present, _ = addends(given)
    orders, ordered = order_columns(unit, batch.take(pa.array(rows)))
    count = len(starts)
    return KeyedEvents(
        starts=np.append(starts, len(rows)).astype(np.int64),
        done=np.full(count, NEVER),
        until=np.full(count, until),
        times=batch.column("time").to_numpy()[rows].astype(np.int64),
        codes=codes[rows],
        values=values,
        present=present,
        orders=orders,
        ordered=ordered,
    )


def addends(given: UnitInput) -> tuple[np.ndarray, np.ndarray, Shifts]:
    """Return a unit's addends, where they are not null, and the shifts of its keys."""
    rows = _rows(given)
    _, places = np.unique(np.array(given.keys)[rows], return_inverse=True)
    shifts = Shifts(given.unit)
    return *addend_columns(given.unit, given.batch.take(pa.array(rows)), places, shifts), shifts


def compared_columns(given: UnitInput, table: pa.Table) -> ComparedColumns:
    """Return what predicates read of the same events, in the same order."""
    rows = pa.array(_rows(given))
    return ComparedColumns.of(
        {name: table.column(name).take(rows).combine_chunks() for name in given.unit.compared}
    )


def _rows(given: UnitInput) -> np.ndarray:
    keys = np.array(given.keys)
    rows = np.flatnonzero((keys >= 0) & (given.batch.column("class").to_numpy() >= 0))
    return rows[np.argsort(keys[rows], kind="stable")]


def run_unit(
    given: UnitInput,
    table: pa.Table,
    *,
    sharing: Sharing = Sharing.DYNAMIC,
    by_time: bool = True,
    cost: CostModel | None = None,
) -> tuple[dict[str, pa.Table], HamletEvaluator]:
    """Return the result tables of a unit, and the evaluator."""
    evaluator = HamletEvaluator(
        given.unit,
        sharing=sharing,
        by_time=by_time,
        prices=cost.prices if cost else None,
        record=True,
    )
    found = evaluator.evaluate(keyed_events(given), compared_columns(given, table))
    keys = np.array(given.keys)
    groups = given.batch.column("group").to_numpy()
    codes = given.batch.column("class").to_numpy()
    rows = np.flatnonzero((keys >= 0) & (codes >= 0))
    _, first = np.unique(keys[rows], return_index=True)
    columns = {
        "query": found.query,
        "group": groups[rows[first]][found.key].astype(np.int32),
        "window": found.window,
    }
    for f in range(found.cells.shape[1]):
        columns[f"cell{f}"] = np.ascontiguousarray(found.cells[:, f])
        columns[f"power{f}"] = np.ascontiguousarray(found.powers[:, f])
    for x in range(found.extremes.shape[1]):
        columns[f"extreme{x}"] = np.ascontiguousarray(found.extremes[:, x])
    shifts = addends(given)[2].columns(found.query, found.key, found.window)
    columns |= {f"shift{k}": column for k, column in enumerate(shifts)}
    schema = totals_fields(given.unit, exact=False)
    totals = pa.table({name: columns[name] for name in schema.names}, schema=schema)
    return given.results(merge(given.unit, totals).to_batches()), evaluator


def check_against_reference(
    workload: Workload, events: Sequence[ReferenceEvent], cost: CostModel | None = None
) -> int:
    """Compare all that the shared graph runs with the reference; return how many queries."""
    table = table_of(events)
    compared = 0
    for given in shared_units(workload, table):
        for by_time in (True, False):
            for sharing in Sharing:
                results, _ = run_unit(given, table, sharing=sharing, by_time=by_time, cost=cost)
                for template in given.unit.templates:
                    name = template.query.name
                    _compare(template.query, events, results[name], by_time, f"{name} {sharing}")
        compared += len(given.unit.templates)
    return compared


def check_modes(
    workload: Workload, events: Sequence[ReferenceEvent], cost: CostModel | None = None
) -> None:
    """Compare what the shared graph gives when queries share with what it gives when none does."""
    table = table_of(events)
    for given in shared_units(workload, table):
        for by_time in (True, False):
            alone, _ = run_unit(given, table, sharing=Sharing.NEVER, by_time=by_time)
            for sharing in (Sharing.ALWAYS, Sharing.DYNAMIC):
                found, _ = run_unit(given, table, sharing=sharing, by_time=by_time, cost=cost)
                for name, expected in alone.items():
                    assert_close(found[name], expected, name)


def _compare(query, events, table: pa.Table, by_time: bool, where: str) -> None:  # type: ignore[no-untyped-def]
    expected = {
        (row.group, row.window): row.values for row in reference(query, events, ordered=not by_time)
    }
    from support.trends import column_names

    names = column_names(query)
    found = {}
    for row in table.to_pylist():
        bounds = (row["window_start"], row["window_end"])
        group = tuple(row[names[name]] for name in query.group_by)
        found[group, None if bounds == (None, None) else bounds] = row
    assert set(found) == set(expected), where
    for place, values in expected.items():
        for name, value in values.items():
            known = found[place][name]
            if value is None or isinstance(value, bool) or known is None:
                assert known is value, (where, place, name)
            else:
                same = math.isclose(known, float(value), rel_tol=1e-9, abs_tol=1e-9)
                assert same, (where, place, name, known, value)
