"""Workloads of all kinds, drawn at random: Spark gives what the driver in this process gives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame, SparkSession

from elsinore.errors import InvalidWorkloadError, QueryError
from elsinore.local import run as run_in_process
from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions
from elsinore.spark.driver import run
from elsinore.trends.kind import spec_of
from oracles.reference import ReferenceEvent
from support.spark import rows_of_all
from support.trends import Feature, table_of, trend_cases

WORKLOADS = 6
DRAWN = 120  # from which those are chosen
MOST_QUERIES = 2  # each is a shuffle or two
FEWEST_EVENTS = 2
Case = tuple[Workload, list[ReferenceEvent]]


def cases() -> list[Case]:
    """Return the same few workloads every time, unlike one another, each with trends to find."""
    actual: dict[Any, Case] = {}

    @settings(
        max_examples=DRAWN,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        trend_cases(exact=None)
        | trend_cases(exact=None, features=(Feature.ADJACENT,))
        | trend_cases(exact=None, features=(Feature.NEGATION,))
        | trend_cases(exact=None, features=tuple(Feature))
    )
    def draw(case: Case) -> None:
        workload, events = case
        assume(len(workload) <= MOST_QUERIES and len(events) >= FEWEST_EVENTS)
        try:
            ready = plan(workload)
        except (QueryError, InvalidWorkloadError):
            assume(False)
            raise
        results = run_in_process(ready, table_of(events), RunOptions())
        if all(result.num_rows for result in results.values()):
            strategies = frozenset(query.strategy for query in workload)
            paths = frozenset(spec_of(unit).path for unit in ready.units)
            actual.setdefault((paths, len(workload), strategies), case)

    draw()
    other_paths = {paths: case for (paths, *_), case in reversed(actual.items())}
    rest = [case for case in actual.values() if case not in other_paths.values()]
    return [*other_paths.values(), *rest][:WORKLOADS]


def comparable(value: Any) -> Any:
    """Return a value as comparable: floats nearly equal, the infinite ones by their names."""
    if not isinstance(value, float):
        return value
    return pytest.approx(value, rel=1e-12) if math.isfinite(value) else str(pa.scalar(value))


@pytest.fixture
def small_shuffles(spark: SparkSession) -> Iterator[None]:
    """Let a shuffle have a single partition: the streams are small and the shuffles many."""
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    spark.conf.set(name, "1")
    yield
    spark.conf.set(name, before or "4")


@pytest.mark.usefixtures("small_shuffles")
def test_workloads_drawn_at_random_give_the_same_results(spark: SparkSession) -> None:
    drawn = cases()
    assert len(drawn) > WORKLOADS // 2
    frames: dict[tuple[int, str], DataFrame] = {}
    expected, paths = {}, set()
    for number, (workload, events) in enumerate(drawn):
        ready = plan(workload)
        paths |= {spec_of(unit).path for unit in ready.units}
        table = table_of(events)
        for name, result in run_in_process(ready, table, RunOptions()).items():
            expected[number, name] = result.to_pylist()
        for name, frame in run(
            ready, spark.createDataFrame(table), RunOptions(ordered=True)
        ).items():
            frames[number, name] = frame
    assert len(paths) > 2
    actual = rows_of_all(frames)
    for (number, name), rows in expected.items():
        wanted = [{key: comparable(value) for key, value in row.items()} for row in rows]
        assert actual[number, name] == wanted, str(drawn[number][0])
