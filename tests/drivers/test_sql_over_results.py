"""Questions about the results of queries, answered by SQL over them: in process and on Spark."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import elsinore as el

DAY = date(2024, 5, 1)
RUNS = [  # minutes of running per day and person
    {"time": DAY + timedelta(days=n), "type": "run", "who": who, "minutes": minutes}
    for who, days in {
        "Ann": (40, 35, 10, 50, 60, 45, 31, 0),
        "Bob": (5, 30, 45, 2, 90, 1, 33, 30),
        "Eve": (1, 2, 3, 4, 5, 6, 7, 8),
    }.items()
    for n, minutes in enumerate(days)
]
START = datetime(2024, 5, 1, 8)
SWITCHES = [
    {"time": START + timedelta(seconds=second), "type": "switch", "lamp": lamp, "on": on}
    for lamp, changes in {"hall": (0, 60, 100, 130, 400, 455), "attic": (10, 17)}.items()
    for second, on in zip(changes, [True, False] * 3, strict=False)
]
STEPS = [
    {"time": n, "type": kind, "order": order}
    for order, kinds in {7: "order stop pay", 8: "order pay order pay", 9: "order order"}.items()
    for n, kind in enumerate(kinds.split())
]

QUESTIONS = {
    "the longest streak of days of 30 minutes or more, of each who had one": (
        RUNS,
        """QUERY streaks RETURN who, COUNT(r[]) AS days PATTERN run+ r
        WHERE [who] AND r.minutes >= 30 STRATEGY CONTIGUOUS
        AFTER MATCH SKIP PAST LAST EVENT GROUP BY who""",
        "SELECT who, MAX(days) AS best FROM streaks GROUP BY who ORDER BY best DESC",
        [{"who": "Ann", "best": 4}, {"who": "Bob", "best": 2}],
    ),
    "how many different lamps were on for 50 seconds or more": (
        SWITCHES,
        """QUERY spells RETURN a.lamp AS lamp PATTERN SEQ(switch a, switch b)
        WHERE [lamp] AND a.on AND NOT b.on AND b.time - a.time >= 50 seconds""",
        "SELECT COUNT(DISTINCT lamp) AS lamps FROM spells",
        [{"lamps": 1}],
    ),
    "for how long each lamp was on, in all": (
        SWITCHES,
        """QUERY spells RETURN lamp, b.time - a.time AS spell PATTERN SEQ(switch a, switch b)
        WHERE [lamp] AND a.on AND NOT b.on STRATEGY CONTIGUOUS""",
        "SELECT lamp, SUM(spell) AS lit FROM spells GROUP BY lamp ORDER BY lamp",
        [
            {"lamp": "attic", "lit": timedelta(seconds=7)},
            {"lamp": "hall", "lit": timedelta(seconds=145)},
        ],
    ),
    "how often each order was paid without a stop before, 0 if never": (
        STEPS,
        """QUERY paid RETURN order, COUNT(*) AS n PATTERN SEQ(order o, NOT stop s, pay p)
        WHERE [order] STRATEGY SKIP TILL NEXT MATCH GROUP BY order;
        QUERY orders RETURN DISTINCT o.order AS id PATTERN order o""",
        """SELECT id, CAST(coalesce(n, 0) AS INT) AS n FROM orders LEFT JOIN paid ON paid.order = id
        ORDER BY id""",
        [{"id": 7, "n": 0}, {"id": 8, "n": 2}, {"id": 9, "n": 0}],
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_about_results_is_answered(question: str, spark: SparkSession) -> None:
    events, text, select, expected = QUESTIONS[question]
    workload = el.Workload.parse(text)
    assert workload.run(events).sql(select).to_pylist() == expected
    frame = spark.createDataFrame(pa.Table.from_pylist(events))
    rows: list[Any] = workload.run(frame).sql(select).collect()
    assert [row.asDict() for row in rows] == expected


def test_mistakes_in_the_sql_are_reported_alike(spark: SparkSession) -> None:
    workload = el.Workload.parse("QUERY runs RETURN r.who AS who PATTERN run r")
    frame = spark.createDataFrame(pa.Table.from_pylist(RUNS))
    for results in (workload.run(RUNS), workload.run(frame)):
        with pytest.raises(el.InputError, match=r"no query has that name\. Did you mean 'runs'\?"):
            results.sql("SELECT * FROM run")
        with pytest.raises(el.InputError, match="nobody"):
            results.sql("SELECT nobody FROM runs")
