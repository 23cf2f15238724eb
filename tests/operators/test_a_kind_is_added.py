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
from elsinore.operators.partials import results_of
from elsinore.plan import Plan
from elsinore.runtime.classify import type_numbers
from elsinore.runtime.units import batch_of, event_classes, keys_of

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
    tables = {name: actual.to_arrow() for name, actual in results.items()}
    return {name: table.to_pylist() for name, table in tables.items()}


def test_a_new_kind_runs_in_process_beside_another(toy: Kind) -> None:
    workload = el.Workload.parse(WORKLOAD)
    results = workload.run(EVENTS)
    actual = rows(results)
    assert actual["toy"] == COUNTED
    assert actual["toy_alone"] == [{"n": 8}]  # of twelve, those whose condition is true
    with_trends_alone = el.Workload(workload["ab"], workload["rising"]).run(EVENTS)
    assert {name: actual[name] for name in ("ab", "rising")} == rows(with_trends_alone)
    by_unit = dict(
        zip((unit.names for unit in workload.plan.units), results.statistics, strict=True)
    )
    assert by_unit["toy",].events == 36


def test_a_new_kind_runs_live_beside_another(toy: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(toy), "streams", lambda *_: ())  # its rows come at the end
    text = "QUERY ab RETURN g, COUNT(*) PATTERN SEQ(A, B+) WHERE [k] GROUP BY g WITHIN 9;"
    workload = el.Workload(el.Workload.parse(WORKLOAD)["toy"], *el.Workload.parse(text))
    live = workload.live(EVENTS.schema, lateness=4, buckets=3)
    actual = dict[str, list[Any]](toy=[], ab=[])
    for first in range(0, 36, 5):
        for name, table in live.push(EVENTS.slice(first, 5)):
            actual[name] += table.to_pylist()
        live = workload.resume(live.save())
    assert not actual["toy"]
    for name, table in live.end():
        actual[name] += table.to_pylist()
    assert actual["toy"] == COUNTED
    assert sorted(map(str, actual["ab"])) == sorted(map(str, rows(workload.run(EVENTS))["ab"]))


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
    batch = pa.record_batch({name: range(4) for name in ("key", "group", "time", "class")})
    batch = batch.set_column(1, "group", pa.array([0, 1, 0, 1], pa.int32()))
    operator = toy.operator(unit, OperatorOptions())
    for start in range(4):
        assert list(operator.process(batch.slice(start, 1))) == []
        operator = toy.load(unit, operator.save())
    assert operator.deadline() is None
    ((table, _),) = results_of(unit, operator.close(), [], {})
    assert table.to_pylist() == [{"n": 2}, {"n": 2}]
    with pytest.raises(StateError):
        toy.load(unit, b"something else")
    other = plan_of("QUERY q RETURN COUNT(*) PATTERN A").units[0]
    with pytest.raises(StateError):
        toy.load(unit, kind_for(other).operator(other, OperatorOptions()).save())


def test_a_kind_without_windows_refuses_them(toy: Kind) -> None:
    with pytest.raises(el.UnsupportedError, match="WITHIN: results of kind toy"):
        plan_of("QUERY toy RETURN COUNT(*) PATTERN A WITHIN 5 seconds")


def test_statistics_of_two_operators_are_added() -> None:
    first = OperatorStatistics(events=2, matched=1, classes=3, totals=1, state_bytes=80)
    both = first.added(OperatorStatistics(events=3, matched=2, classes=2, totals=4, state_bytes=9))
    assert both == OperatorStatistics(events=5, matched=3, classes=3, totals=5, state_bytes=80)


def test_a_query_that_no_kind_claims_is_refused_by_its_clause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "MODULES", ["elsinore.trends.kind"])
    with pytest.raises(el.UnsupportedError, match="RETURN: no registered kind of query"):
        plan_of("QUERY q RETURN a.v PATTERN SEQ(A a, B b)")


def event_by_event(planned: Plan, events: pa.Table) -> dict[str, pa.Table]:
    """Run a plan over events in time order, one at a time: a driver that knows no engine."""

    def read(name: str) -> pa.Array:
        return events.column(name).combine_chunks()

    tables = {}
    numbers = type_numbers(read("type"), planned.types)
    for unit in planned.units:
        keys = keys_of(unit, read, len(events)).codes_of(0, len(events))
        codes = event_classes(unit, numbers, planned.types, read)
        batch = batch_of(unit, keys, read("time").to_numpy(), codes, read)
        operator = kind_for(unit).operator(unit, OperatorOptions())
        outputs = [out for n in range(len(events)) for out in operator.process(batch.slice(n, 1))]
        groups = [keys.group_values(read(name)) for name in unit.group_by]
        types = {name: read(name).type for name in unit.carried}
        results = results_of(unit, [*outputs, *operator.close()], groups, types)
        for name, (table, form) in zip(unit.names, results, strict=True):
            order = [(column, "ascending") for column in form.order]
            tables[name] = table.sort_by(order) if order else table
    return tables


def plan_of(text: str) -> Plan:
    return plan(el.Workload.parse(text)._queries)


def test_a_new_driver_runs_all_kinds_and_knows_none(toy: Kind) -> None:
    workload = el.Workload.parse(WORKLOAD)
    tables = event_by_event(workload.plan, EVENTS)
    expected = rows(workload.run(EVENTS))
    assert {name: table.to_pylist() for name, table in tables.items()} == expected
