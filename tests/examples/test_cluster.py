"""The cluster's queries against plain loops over its events, in process and on Spark."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import elsinore as el
from elsinore.datasets.cluster import cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = Path(__file__).parents[2] / "examples/cluster/monitoring.cep"
MINUTE = 60_000_000
Event = dict[str, Any]
Rows = list[tuple[Any, ...]]


@cache
def events() -> pa.Table:
    table = cluster(3_000, seed=5)
    zoned = table.column("time").cast(pa.timestamp("us", "UTC"))  # as Spark gives times back
    return table.set_column(0, "time", zoned)


@cache
def by(name: str) -> dict[int, list[Event]]:
    """Return the events of each job or task in the order of time, time in microseconds."""
    found: dict[int, list[Event]] = defaultdict(list)
    table = events()
    micros = table.column("time").cast(pa.int64()).to_pylist()
    for event, time in zip(table.to_pylist(), micros, strict=True):
        if event[name] is not None:
            found[event[name]].append(event | {"us": time})
    return found


def after(part: list[Event], start: Event, kind: str, within: int) -> list[Event]:
    return [e for e in part if e["type"] == kind and start["us"] < e["us"] <= start["us"] + within]


def periods(kind: str) -> Rows:
    """Return each job's mean and longest period of the tasks between its start and end."""
    rows = []
    for job, part in by("job_id").items():
        for start in (e for e in part if e["type"] == "JobStart"):
            for end in after(part, start, "JobEnd", 24 * 60 * MINUTE)[:1]:
                tasks = [e["period"] for e in after(part, start, kind, end["us"] - start["us"] - 1)]
                if tasks:
                    rows.append((job, sum(tasks) / len(tasks), max(tasks)))
    return rows


def slow_pulls() -> Rows:
    rows = []
    for task, part in by("task_id").items():
        for start in (e for e in part if e["type"] == "ReducerStart"):
            seen = []
            for pull in after(part, start, "DataPull", 10 * MINUTE):
                seen.append(pull["period"])
                if pull["period"] > 2 * sum(seen) / len(seen):
                    rows.append((task, pull["period"]))
    return rows


def written() -> Rows:
    rows = []
    for job, part in by("job_id").items():
        for start in (e for e in part if e["type"] == "JobStart"):
            total = 0
            for write in after(part, start, "DataIO", 24 * 60 * MINUTE):
                total += write["size"]
                rows.append((job, start["time"], write["time"], total))
    return rows


def unbalancing() -> Rows:
    """Follow each run by hand: the next event that its state can take, and no other."""
    rows = []
    steps = ["Balance", "ReducerStart", "Imbalance", "ReducerEnd", "Balance"]
    for task, part in by("task_id").items():
        for place, start in enumerate(part):
            if start["type"] != "Balance":
                continue
            state, polls, last = 0, 0, start["us"]
            for event in part[place + 1 :]:
                if event["us"] <= last or event["us"] > start["us"] + 10 * MINUTE:
                    continue
                if event["type"] == "Imbalance" and state == 2:
                    polls, last = polls + 1, event["us"]
                elif event["type"] == steps[state + 1]:
                    state, last = state + 1, event["us"]
                    polls += state == 2
                    if state == 4:
                        rows.append((task, polls))
                        break
    return rows


def rising() -> Rows:
    """Return every rising sequence of polls between a reducer's start and end."""
    rows = []
    for task, part in by("task_id").items():
        for start in (e for e in part if e["type"] == "ReducerStart"):
            for end in after(part, start, "ReducerEnd", 2 * MINUTE):
                polls = after(part, start, "LoadStd", end["us"] - start["us"] - 1)
                chains: list[list[Event]] = []
                for poll in polls:
                    chains += [
                        [*chain, poll]
                        for chain in [[], *chains]
                        if not chain
                        or (chain[-1]["us"] < poll["us"] and chain[-1]["val"] <= poll["val"])
                    ]
                rows += [(task, len(c), c[0]["val"], c[-1]["val"]) for c in chains]
    return rows


EXPECTED = {
    "q1": lambda: periods("Mapper"),
    "q2": lambda: periods("Reducer"),
    "q3": slow_pulls,
    "q4": written,
    "q5": unbalancing,
    "q6": rising,
}


def rows_of(table: pa.Table) -> Rows:
    rounded = (
        tuple(round(v, 9) if isinstance(v, float) else v for v in row.values())
        for row in table.to_pylist()
    )
    return sorted(rounded, key=repr)


@cache
def results() -> el.Results[pa.Table]:
    return el.Workload.parse(QUERIES.read_text()).run(events())


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_query_of_the_case_study_gives_what_a_plain_loop_gives(name: str) -> None:
    expected = [
        tuple(round(v, 9) if isinstance(v, float) else v for v in row) for row in EXPECTED[name]()
    ]
    found = rows_of(results()[name])
    assert found
    assert found == sorted(expected, key=repr)


def test_the_case_study_gives_the_same_on_spark(spark: SparkSession) -> None:
    there = el.Workload.parse(QUERIES.read_text()).run(spark.createDataFrame(events()))
    for name, table in results().items():
        assert rows_of(there[name].toArrow()) == rows_of(table)
