"""Named parameters: `:limit` in a query, whose value is given when it is run."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import elsinore as el
from elsinore.cli.app import app
from elsinore.errors import InputError, InvalidWorkloadError, QuerySyntaxError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = """
QUERY found RETURN a.v, a.v * :factor AS w PATTERN A a
  WHERE a.v > :limit AND a.n IN (:name, 'y') WITHIN 100 seconds;
QUERY trends RETURN COUNT(*) AS n PATTERN A+ WHERE A.v > :limit WITHIN 100 seconds;
"""
PLAIN = TEXT.replace(":limit", "2").replace(":factor", "1.5").replace(":name", "'x'")
VALUES = {"limit": 2, "factor": 1.5, "name": "x"}
EVENTS = [{"time": n, "type": "A", "v": n, "n": "xyz"[n % 3]} for n in range(9)]


def rows_of(results: object) -> dict[str, list[dict[str, object]]]:
    return {name: results[name].to_pylist() for name in results}  # type: ignore[index, attr-defined]


def test_a_parameter_stands_for_its_value() -> None:
    workload = el.Workload.parse(TEXT)
    assert workload.parameters == ("factor", "limit", "name")
    expected = rows_of(el.Workload.parse(PLAIN).run(EVENTS))
    assert len(expected["found"]) == 4
    assert rows_of(workload.run(EVENTS, params=VALUES)) == expected
    assert str(workload.bind(VALUES)) == str(el.Workload.parse(PLAIN))
    assert workload.bind(VALUES).parameters == ()
    a = el.event("A", "a")
    built = el.query("found").match(a).where(a.v > el.parameter("limit")).select(a.v)
    assert el.Workload(built).run(EVENTS, params={"limit": 7})["found"].to_pylist() == [{"a.v": 8}]
    other = rows_of(workload.run(EVENTS, params=VALUES | {"limit": 6}))
    assert [row["a.v"] for row in other["found"]] == [7]


def test_a_parameter_stands_for_its_value_on_spark_and_live(spark: SparkSession) -> None:
    workload = el.Workload.parse(TEXT)
    expected = rows_of(el.Workload.parse(PLAIN).run(EVENTS))
    results = workload.run(spark.createDataFrame(EVENTS), params=VALUES, ordered=True)
    assert {name: sorted(rows, key=str) for name, rows in rows_of(results).items()} == {
        name: sorted(rows, key=str) for name, rows in expected.items()
    }
    live = workload.bind(VALUES).live(EVENTS[:1])
    returned = [*live.push(EVENTS), *live.end()]
    found = [row for name, rows in returned if name == "found" for row in rows.to_pylist()]
    assert found == expected["found"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (-2.5, "-2.5"),
        ("it's", "'it''s'"),
        (None, "NULL"),
        (True, "TRUE"),
        (dt.date(2024, 2, 29), "'2024-02-29'"),
        (dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC), "'2024-02-29T12:00:00+00:00'"),
    ],
)
def test_a_value_is_the_constant_that_one_would_write(value: object, text: str) -> None:
    workload = el.Workload.parse("QUERY q RETURN a.v PATTERN A a WHERE a.v = :x")
    assert f"a.v = {text}\n" in str(workload.bind({"x": value}))


def test_a_length_of_time_is_a_value() -> None:
    workload = el.Workload.parse(
        "QUERY q RETURN b.v PATTERN SEQ(A a, A b) WHERE b.time - a.time >= :apart WITHIN 1 minute"
    )
    for apart, count in ((dt.timedelta(seconds=7), 3), (dt.timedelta(seconds=8), 1)):
        assert workload.run(EVENTS, params={"apart": apart})["q"].num_rows == count


def test_values_that_are_missing_unknown_or_no_constants_are_refused() -> None:
    workload = el.Workload.parse(TEXT)
    with pytest.raises(
        InputError, match=r"without a value: factor, limit, name\. Give them: params"
    ):
        workload.run(EVENTS)
    with pytest.raises(InputError, match="without a value: name"):
        workload.run(EVENTS, params={"limit": 2, "factor": 1})
    with pytest.raises(InputError, match=r"No query has a parameter 'limt'\. Did you mean 'limit'"):
        workload.bind(VALUES | {"limt": 1})
    with pytest.raises(InputError, match=r"Parameter 'limit' is .*list"):
        workload.bind(VALUES | {"limit": [1]})
    with pytest.raises(InvalidWorkloadError, match="a number beside text"):
        workload.run(EVENTS, params=VALUES | {"limit": "x"})


@pytest.mark.parametrize("clause", ["WITHIN :w", "LIMIT :w", "GROUP BY :w"])
def test_a_parameter_stands_in_where_and_return_alone(clause: str) -> None:
    with pytest.raises(QuerySyntaxError, match="found ':w'"):
        el.Workload.parse(f"QUERY q RETURN COUNT(*) PATTERN A+ {clause}")


def test_values_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.cep").write_text(TEXT)
    lines = [f"{event['time']},A,{event['v']},{event['n']}" for event in EVENTS]
    Path("e.csv").write_text("time,type,v,n\n" + "\n".join(lines) + "\n")

    def run(*options: str) -> list[str]:
        command = ["run", "w.cep", "--events", "e.csv", "--engine", "local", "--format", "ndjson"]
        done = CliRunner().invoke(app, [*command, *options])
        return done.stdout.splitlines() if done.exit_code == 0 else [done.stderr]

    values = ["--param", "limit=2", "--param", "name=x", "--param", "factor=1.5"]
    assert len(run(*values)) == 5
    assert "Give them: --param factor=..." in run("--param", "limit=2")[0]
    assert "write NAME=VALUE" in run("--param", "limit")[0]
    assert CliRunner().invoke(app, ["check", "w.cep"]).stdout == "found: OK\ntrends: OK\n"
    explained = CliRunner().invoke(app, ["explain", "w.cep", *values])
    assert explained.exit_code == 0
