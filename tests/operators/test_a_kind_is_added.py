"""A kind of query is added by its module alone, and a driver by knowing the registry alone."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import elsinore as el
from elsinore.errors import StateError
from elsinore.operators import (
    Kind,
    OperatorOptions,
    OperatorStatistics,
    kind_for,
    plan,
    registered,
    registry,
)
from elsinore.operators.partials import by_query
from elsinore.plan import Plan, Travel, Unit
from elsinore.runtime.classify import classify, type_numbers
from elsinore.runtime.expressions import evaluate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOY = "support.toy_kind"
WORKLOAD = """
    QUERY toy RETURN g, COUNT(*) PATTERN SEQ(A, C) WHERE [k] GROUP BY g;
    QUERY ab RETURN g, COUNT(*), SUM(B.v) PATTERN SEQ(A, B+) WHERE [k] GROUP BY g;
    QUERY toy_alone RETURN COUNT(*) PATTERN B+ WHERE B.v * 2 > 3;
    QUERY rising RETURN g, COUNT(*) PATTERN B+ b WHERE [k] AND b[i].v > b[i-1].v GROUP BY g;
"""
EVENTS = pa.table(
    {
        "time": range(36),
        "type": list("ABCBAC") * 6,
        "g": (["x"] * 6 + ["y"] * 6) * 3,
        "k": [1, 2, 2, 1, 1, 2] * 6,
        "v": [float(n % 7) for n in range(36)],
    }
)
COUNTED = [{"g": "x", "n": 12}, {"g": "y", "n": 12}]


@pytest.fixture
def toy() -> Iterator[Kind]:
    with registered(TOY) as kind:
        yield kind


def rows(results: el.Results[Any]) -> dict[str, list[dict[str, Any]]]:
    tables = {name: found.to_arrow() for name, found in results.items()}
    return {name: table.to_pylist() for name, table in tables.items()}


def test_a_new_kind_runs_in_process_beside_another(toy: Kind) -> None:
    workload = el.Workload.parse(WORKLOAD)
    results = workload.run(EVENTS)
    found = rows(results)
    assert found["toy"] == COUNTED
    assert found["toy_alone"] == [{"n": 8}]  # of twelve, those whose condition is true
    with_trends_alone = el.Workload(workload["ab"], workload["rising"]).run(EVENTS)
    assert {name: found[name] for name in ("ab", "rising")} == rows(with_trends_alone)
    by_unit = dict(
        zip((unit.names for unit in workload.plan.units), results.statistics, strict=True)
    )
    assert by_unit["toy",].events == 36


def test_units_of_several_kinds_go_over_the_events_together_where_keys_agree(toy: Kind) -> None:
    planned = el.Workload.parse(WORKLOAD).plan
    together = [{planned.units[n].names[0] for n in numbers} for numbers in planned.passes]
    assert together == [{"toy", "ab", "rising"}, {"toy_alone"}]


def test_a_new_kind_runs_on_spark_beside_another(
    toy: Kind, spark: SparkSession, tmp_path: Path
) -> None:
    support = Path(__file__).parents[1] / "support"
    with zipfile.ZipFile(tmp_path / "toy.zip", "w") as packed:
        for file in ("__init__.py", "toy_kind.py"):
            packed.write(support / file, f"support/{file}")
    spark.sparkContext.addPyFile(str(tmp_path / "toy.zip"))
    workload = el.Workload.parse(WORKLOAD)
    with workload.run(spark.createDataFrame(EVENTS)) as results:
        assert rows(results) == rows(workload.run(EVENTS))
        counted = dict(zip((u.names for u in workload.plan.units), results.statistics, strict=True))
    assert counted["toy",].events == 24  # those of other types do not come to its operator


def test_a_new_kind_is_explained_and_checked(toy: Kind) -> None:
    workload = el.Workload.parse(WORKLOAD)
    assert "  toy: toy" in workload.explain().splitlines()
    assert '"kind": "toy"' in workload.explain("json")
    with pytest.raises(el.QuerySemanticError, match="no attribute 'g'"):
        el.Workload(workload["toy"]).check(pa.schema([("k", pa.int64())]))


def test_an_operator_of_a_new_kind_is_saved_and_loaded(toy: Kind) -> None:
    (unit,) = plan_of("QUERY toy RETURN COUNT(*) PATTERN A").units
    operator = toy.operator(unit, OperatorOptions())
    for start in range(0, len(EVENTS), 9):
        drained(operator.process(batch_of(unit, EVENTS.slice(start, 9))))
        operator = toy.load(unit, operator.save())
    (partials,) = by_query(toy.partials(unit, {}), operator.close())
    assert toy.finish(unit, 0, partials, [], {}).to_pylist() == [{"n": 12}]
    with pytest.raises(StateError):
        toy.load(unit, b"something else")


def test_statistics_of_two_operators_are_added() -> None:
    first = OperatorStatistics(events=2, matched=1, classes=3, totals=1, state_bytes=80)
    both = first.added(OperatorStatistics(events=3, matched=2, classes=2, totals=4, state_bytes=9))
    assert both == OperatorStatistics(events=5, matched=3, classes=3, totals=5, state_bytes=80)


def test_a_query_that_no_kind_claims_is_refused_by_its_clause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "MODULES", ["elsinore.trends.kind"])
    with pytest.raises(el.UnsupportedError, match="RETURN: no kind of query"):
        plan_of("QUERY q RETURN a.v PATTERN SEQ(A a, B b)")


def event_by_event(planned: Plan, events: pa.Table) -> dict[str, pa.Table]:
    """Run a plan over events in time order, one at a time: a driver that knows no engine."""
    tables = {}
    for unit in planned.units:
        kind = kind_for(unit)
        operator = kind.operator(unit, OperatorOptions(ordered=True))
        given = batch_of(unit, events)
        outputs = [out for n in range(len(events)) for out in operator.process(given.slice(n, 1))]
        outputs += operator.close()
        groups = [pa.array(values) for values in zip(*numbered(events, unit.group_by), strict=True)]
        types = {name: events.schema.field(name).type for name in unit.carried}
        for place, partials in enumerate(by_query(kind.partials(unit, {}), outputs)):
            form = kind.result(unit, place, [values.type for values in groups], types)
            result = kind.finish(unit, place, partials, groups, types)
            order = [(name, "ascending") for name in form.order]
            tables[unit.names[place]] = result.sort_by(order) if order else result
    return tables


def numbered(events: pa.Table, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """Return the different values of some columns; the place of one in the list is its code."""
    return list(dict.fromkeys(keys_of(events, names)))


def keys_of(events: pa.Table, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    return list(zip(*(events.column(name).to_pylist() for name in names), strict=True)) or [
        ()
    ] * len(events)


def batch_of(unit: Unit, events: pa.Table) -> pa.RecordBatch:
    """Return events as a unit's operator reads them."""
    columns = {name: events.column(name).combine_chunks() for name in events.column_names}
    codes = {}
    for name, attributes in {"key": unit.key, "group": unit.group_by}.items():
        places = {values: code for code, values in enumerate(numbered(events, attributes))}
        codes[name] = pa.array(
            [places[values] for values in keys_of(events, attributes)], pa.int32()
        )
    types = type_numbers(columns["type"], unit.types)
    classes = classify(unit.classes, types, unit.types, columns)
    assert all(one.travel is not Travel.RANK for one in unit.columns)  # none is needed here
    carried = {
        one.name: columns[one.source]
        if isinstance(one.source, str)
        else evaluate(one.source, columns)
        for one in unit.columns
    }
    return pa.record_batch(
        {
            **codes,
            "time": pa.array(range(len(events)), pa.int64()),
            "class": pa.array(classes),
            **carried,
        }
    )


def drained(batches: Any) -> list[pa.RecordBatch]:
    return list(batches)


def plan_of(text: str) -> Plan:
    return plan(el.Workload.parse(text)._queries)


def test_a_new_driver_runs_all_kinds_and_knows_none(toy: Kind) -> None:
    workload = el.Workload.parse(WORKLOAD)
    tables = event_by_event(workload.plan, EVENTS)
    expected = rows(workload.run(EVENTS))
    assert {name: table.to_pylist() for name, table in tables.items()} == expected
