"""SQL over the rows of results: `--having`, `--then`, `--fail-if-rows`, `--format ndjson`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from elsinore.cli.app import app

QUERIES = """
QUERY streaks RETURN COUNT(*) AS n PATTERN SEQ(A, B+) GROUP BY u WITHIN 10 seconds;
QUERY `found pairs` RETURN a.time AS t, b.v AS v PATTERN SEQ(A a, B b) GROUP BY u WITHIN 10 seconds;
"""


@pytest.fixture(params=["local", "spark"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "spark":
        request.getfixturevalue("spark")
    name: str = request.param
    return name


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write 60 events of four users: u0 and u3 get most matches."""
    rows = "".join(f"{n},{'AB'[n % 3 > 0]},u{n % 4},{n}\n" for n in range(60))
    (tmp_path / "e.csv").write_text("time,type,u,v\n" + rows)
    (tmp_path / "w.cep").write_text(QUERIES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(engine: str, *options: str) -> Result:
    command = ["run", "w.cep", "--events", "e.csv", "--engine", engine]
    return CliRunner().invoke(app, [*command, *options])


def rows_of(done: Result) -> list[dict[str, object]]:
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_rows_of_all_queries_are_one_stream_of_json(engine: str) -> None:
    rows = rows_of(run(engine, "--format", "ndjson"))
    assert {row["query"] for row in rows} == {"streaks", "found pairs"}
    assert list(rows[0]) == ["query", "u", "window_start", "window_end", "n"]


def test_having_keeps_the_rows_for_which_it_is_true(engine: str) -> None:
    everything = rows_of(run(engine, "--format", "ndjson"))
    some = rows_of(run(engine, "--format", "ndjson", "--having", "upper(u) = 'U1'"))
    assert some == [row for row in everything if row["u"] == "u1"] != []


def test_then_selects_from_the_results_of_several_queries(engine: str) -> None:
    everything = rows_of(run(engine, "--format", "ndjson"))
    of = {
        name: [row for row in everything if row["query"] == name]
        for name in ("streaks", "found pairs")
    }
    then = (
        "WITH s AS (SELECT u, MAX(n) AS best FROM streaks GROUP BY u) "
        "SELECT s.u, best, COUNT(*) AS pairs FROM s JOIN `found pairs` p ON s.u = p.u "
        "GROUP BY ALL ORDER BY u DESC"
    )
    users = sorted({row["u"] for row in of["streaks"]} & {row["u"] for row in of["found pairs"]})
    assert rows_of(run(engine, "--then", then, "--format", "json")) == [
        {
            "u": user,
            "best": max(row["n"] for row in of["streaks"] if row["u"] == user),
            "pairs": sum(row["u"] == user for row in of["found pairs"]),
        }
        for user in reversed(users)
    ]


def test_then_reads_what_having_has_kept(engine: str) -> None:
    select = "SELECT COUNT(*) AS rows, MIN(u) AS u FROM streaks"
    (row,) = rows_of(run(engine, "--having", "u = 'u2'", "--then", select, "--format", "json"))
    assert row["u"] == "u2"


def test_the_result_of_then_is_written_to_one_file(engine: str, folder: Path) -> None:
    select = "SELECT u, n FROM streaks UNION ALL SELECT u, v FROM `found pairs`"
    done = run(engine, "--then", select, "--out", "out.csv")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("result: ")
    assert (folder / "out.csv").read_text().startswith('"u","n"\n')


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["--fail-if-rows"], 3),
        (["--fail-if-rows", "--having", "u = 'nobody'"], 0),
        (["--fail-if-rows", "--then", "SELECT 1 AS one FROM streaks WHERE n > 1000"], 0),
        (["--fail-if-rows", "--then", "SELECT COUNT(*) AS n FROM streaks"], 3),
        (["--fail-if-rows", "--out", "out"], 3),
    ],
)
def test_rows_can_be_a_failure(options: list[str], status: int) -> None:
    done = run("local", *options)
    assert done.exit_code == status, done.output


def test_rows_can_be_a_failure_on_spark(spark: object) -> None:
    assert run("spark", "--fail-if-rows", "--having", "u > ''").exit_code == 3
    assert run("spark", "--fail-if-rows", "--having", "u = 'nobody'").exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--having", "m > 3"], "--having, query streaks: "),
        (["--then", "SELECT m FROM streaks"], "--then: "),
    ],
)
def test_columns_that_results_lack_are_refused_before_the_run(
    engine: str, options: list[str], message: str
) -> None:
    done = run(engine, *options)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert message in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--having", "n >"], "--having: 'n >' is not SQL"),
        (["--having", "SELECT 1"], "is not a condition. Write one as after WHERE: n > 3."),
        (["--having", "n > 1; DROP TABLE x"], "is not one SQL statement"),
        (["--then", "SELECT * FROM streak"], "Did you mean 'streaks'?"),
        (["--then", "SELECT * FROM other.streaks"], "no query has that name"),
        (["--then", "DROP TABLE streaks"], "is not a SELECT"),
        (["--then", "SELECT * FROM `/etc/passwd`"], "no query has that name"),
        (["--format", "json"], "use --format ndjson, which names the query in each row"),
        (["--format", "ndjson", "--out", "out"], "--format ndjson is for the standard output"),
    ],
)
def test_what_is_no_sql_over_the_results_is_refused(options: list[str], message: str) -> None:
    done = run("local", *options)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert message in done.stderr


def test_a_column_called_query_cannot_stand_beside_the_name_of_the_query() -> None:
    text = 'QUERY q RETURN COUNT(*) AS "query" PATTERN SEQ(A, B);'
    command = ["run", "-q", text, "--events", "e.csv", "--engine", "local", "--format", "ndjson"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert "Rename it with AS" in done.stderr


def test_check_reports_each_file_of_a_folder(folder: Path) -> None:
    (folder / "rules" / "deep").mkdir(parents=True)
    (folder / "rules" / "a.cep").write_text(QUERIES)
    (folder / "rules" / "deep" / "b.cep").write_text("RETURN COUNT(*) PATTERN SEQ(A, B")
    (folder / "rules" / "notes.txt").write_text("no queries")
    done = CliRunner().invoke(app, ["check", "rules", "w.cep"])
    assert done.exit_code == 2
    assert done.stdout.splitlines() == [
        "rules/a.cep: streaks: OK",
        "rules/a.cep: found pairs: OK",
        "w.cep: streaks: OK",
        "w.cep: found pairs: OK",
    ]
    assert "rules/deep/b.cep" in done.stderr
    assert "1 of 3 files cannot be run." in done.stderr
    assert CliRunner().invoke(app, ["check", "rules/a.cep", "w.cep"]).exit_code == 0


def test_check_of_several_files_takes_no_events_and_an_empty_folder_is_an_error(
    folder: Path,
) -> None:
    done = CliRunner().invoke(app, ["check", "w.cep", "w.cep", "--events", "e.csv"])
    assert (done.exit_code, "needs one file of queries" in done.stderr) == (2, True)
    (folder / "empty").mkdir()
    done = CliRunner().invoke(app, ["check", "empty"])
    assert (done.exit_code, "has no file named *.cep" in done.stderr) == (2, True)
