"""Functions of Python that users register: the same in process, on Spark and live."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import elsinore as el
from elsinore.cli.app import app

EVENTS = [
    {"time": n, "type": "visit", "page": page, "ms": ms}
    for n, (page, ms) in enumerate(
        [("/Shop/Shoes", 120), ("/help", 40), (None, 7), ("/shop/hats/red", None), ("/SHOP/x", 90)]
    )
]
TEXT = """
    QUERY deep RETURN v.time AS t, short(lower(v.page)) AS page, cost(v.ms * 2, 1) AS cost
    PATTERN visit v WHERE depth(v.page) > 1 WITHIN 1 minute;
    QUERY pairs RETURN a.time AS a, b.time AS b PATTERN SEQ(visit a, visit b)
    WHERE depth(a.page) = depth(b.page) WITHIN 1 minute
"""
EXPECTED = {
    "deep": [
        {"t": 0, "page": "/sh", "cost": 2.41},
        {"t": 3, "page": "/sh", "cost": None},
        {"t": 4, "page": "/sh", "cost": 1.81},
    ],
    "pairs": [{"a": 0, "b": 4}],
}


def depth(page: str) -> int:
    return page.strip("/").count("/") + 1


def cost(ms: int, extra: int) -> float:
    return (ms + extra) / 100


def short(page: pa.Array) -> pa.string():  # type: ignore[valid-type]
    return pc.utf8_slice_codeunits(page, 0, 3)


def failing(page: str) -> int:
    raise ValueError(f"no such page: {page}")


def shorter(page: pa.Array) -> pa.string():  # type: ignore[valid-type]
    return page.slice(1)


FUNCTIONS = {"depth": depth, "cost": cost, "short": short}


def test_functions_are_called_for_each_event(spark: SparkSession) -> None:
    workload = el.Workload.parse(TEXT, functions=FUNCTIONS)
    table = pa.Table.from_pylist(EVENTS)
    here = workload.run(EVENTS)
    on_spark = workload.run(spark.createDataFrame(table))
    live = workload.live(table.schema, lateness="0 seconds")
    rows = [*live.push(table.slice(0, 2)), *live.push(table.slice(2)), *live.end()]
    for name, expected in EXPECTED.items():
        assert here[name].to_pylist() == expected
        spark_rows = [row.asDict() for row in on_spark[name].collect()]
        assert sorted(spark_rows, key=str) == sorted(expected, key=str)
        found = [row for query, piece in rows if query == name for row in piece.to_pylist()]
        assert found == expected


def test_the_builder_calls_functions_and_sql() -> None:
    visit = el.event("visit", "v")
    query = (
        el.query("deep")
        .match(visit)
        .where(el.function(depth, visit.page) > 1, visit.page.ilike("/s%"))
        .select(
            el.function("upper", visit.page).alias("page"),
            el.case((visit.ms.cast("INT") > 100, "slow"), otherwise="fast").alias("how"),
        )
    )
    assert el.Workload(query).run(EVENTS)["deep"].to_pylist() == [
        {"page": "/SHOP/SHOES", "how": "slow"},
        {"page": "/SHOP/HATS/RED", "how": "fast"},
        {"page": "/SHOP/X", "how": "fast"},
    ]
    text = "DEPTH(v.page) > 1 AND v.page ILIKE '/s%'"
    assert text in str(el.Workload(query))


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"f": failing}, "The function 'failing' failed: ValueError: no such page: /Shop/Shoes"),
        ({"f": shorter}, "The function 'shorter' returned 4 rows, and not an Arrow array of the 5"),
        ({"f": lambda page: page}, "does not say what it returns: annotate it"),
        ({"f": 3}, "'f' of functions= is not a function"),
        ({"count": depth}, "COUNT is a function of the language: choose another name"),
        ({}, "There is no function 'F'"),
    ],
)
def test_what_is_wrong_with_a_function_is_reported(
    functions: dict[str, object], message: str
) -> None:
    with pytest.raises(el.ElsinoreError) as raised:
        el.Workload.parse("QUERY q RETURN f(v.page) PATTERN visit v", functions=functions).run(
            EVENTS
        )
    assert message in str(raised.value)


def test_modules_of_the_command_line_have_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("page_rules.py").write_text(
        "def depth(page: str) -> int:\n    return page.strip('/').count('/') + 1\n\n\n"
        "def helper(page):\n    return page\n"
    )
    Path("e.csv").write_text("time,type,page\n1,visit,/a/b\n2,visit,/a\n")
    query = "RETURN v.page AS page PATTERN visit v WHERE depth(v.page) > :least"
    command = ["run", "-q", query, "--events", "e.csv", "--engine", "local", "--format", "csv"]
    options = ["--python", "page_rules.py", "--param", "least=1"]
    done = CliRunner().invoke(app, [*command, *options])
    assert (done.exit_code, done.stdout) == (0, '"page"\n"/a/b"\n'), done.output
