"""Questions that users asked in public, each by one short query, in process and on Spark."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import elsinore as el


@dataclass(frozen=True)
class Question:
    """A question: its query, events, options and expected rows, in any order."""

    query: str
    events: list[dict[str, Any]]
    rows: list[dict[str, Any]]
    options: dict[str, Any] = field(default_factory=dict)


def typed(types: str, **columns: list[Any]) -> list[dict[str, Any]]:
    """Return events at the times 0, 1, ... of types that are letters; columns may replace them."""
    return [
        {"time": n, "type": kind} | {name: values[n] for name, values in columns.items()}
        for n, kind in enumerate(types)
    ]


QUESTIONS = {
    "an alarm without an all-clear within ten minutes, if these are over": Question(
        "RETURN a.host AS host PATTERN SEQ(A a, NOT C c) WHERE [host] WITHIN 10 minutes",
        typed("AAC", time=[0, 300, 700], host=["x", "y", "z"]),
        [{"host": "x"}],
        {"end": "open"},
    ),
    "counts by calendar day of a zone, over the change to winter time": Question(
        "RETURN COUNT(*) AS n PATTERN A WITHIN 1 day ORIGIN '2024-10-01 Europe/Berlin'",
        typed(
            "AAAA",
            time=[
                datetime(2024, 10, 26, 21, 59),
                datetime(2024, 10, 26, 22, 0),
                datetime(2024, 10, 27, 22, 59),
                datetime(2024, 10, 27, 23, 0),
            ],
        ),
        [{"n": 1.0}, {"n": 2.0}, {"n": 1.0}],
    ),
    "one event, then another among the next three of any type": Question(
        "RETURN a.time AS a, b.time AS b PATTERN SEQ(A a, B b) WITHIN 4 EVENTS",
        typed("AXXBAXXXB"),
        [{"a": 0, "b": 3}],
    ),
    "a connection to an address that no earlier lookup returned": Question(
        "RETURN c.ip AS ip PATTERN SEQ(NOT D d, C c) WHERE [p] AND c.ip IN d.ips WITHIN 2 minutes",
        typed("DCC", p=[1, 1, 1], ips=[["x", "y"], None, None], ip=[None, "x", "z"]),
        [{"ip": "z"}],
    ),
    "three steps in any order": Question(
        "RETURN a.time AS a, c.time AS c PATTERN PERMUTE(A a, B b, C c) WHERE [u] WITHIN 3",
        typed("CABACB", u=[1, 1, 1, 2, 2, 3]),
        [{"a": 1, "c": 0}],
    ),
    "logins from at least three countries": Question(
        "RETURN u, COUNT(DISTINCT l[].c) AS n, MEDIAN(l[].v) AS m, MEDIAN(l[].c) AS c "
        "PATTERN L{3,} l WHERE [u] AND COUNT(DISTINCT l[].c) >= 3 STRATEGY CONTIGUOUS WITHIN 10",
        typed("LLLLL", u=[1, 1, 1, 2, 1], c=["x", "y", None, "z", "z"], v=[1, 2, 9, 9, 3]),
        [{"u": 1, "n": 3, "m": 2.5, "c": "y"}],
    ),
    "orders that no payment of the same number follows in time, counted": Question(
        "RETURN COUNT(*) AS n PATTERN SEQ(O o, NOT P p) "
        "WHERE p.id = o.id AND p.time - o.time <= 2 seconds WITHIN 10",
        typed("OOPPP", id=[1, 2, 2, 3, 1]),
        [{"n": 1.0}],
    ),
    "the number of pairs in each four events of a user": Question(
        "RETURN u, COUNT(*) AS n PATTERN SEQ(A, B) GROUP BY u WITHIN 4 EVENTS SLIDE 2 EVENTS",
        typed("AABXABBB", u=[1, 1, 1, 2, 1, 1, 2, 2]),
        [{"u": 1, "n": 2.0}, {"u": 1, "n": 1.0}],
    ),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_answered_in_process_and_on_spark(name: str, spark: SparkSession) -> None:
    question = QUESTIONS[name]
    workload = el.Workload.parse(f"QUERY q {question.query}")
    in_process = workload.run(question.events, **question.options)["q"].to_pylist()
    frame = spark.createDataFrame(pa.Table.from_pylist(question.events))
    on_spark = workload.run(frame, **question.options)["q"].collect()
    for rows in (in_process, [row.asDict(recursive=True) for row in on_spark]):
        found = [{column: row[column] for column in question.rows[0]} for row in rows]
        assert sorted(map(str, found)) == sorted(map(str, question.rows))
