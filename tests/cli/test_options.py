"""Options beyond a run's first needs: queries on the line, checks against events, warnings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
import typer
from typer.testing import CliRunner, Result

from elsinore.cli.app import app
from elsinore.cli.arguments import destination
from elsinore.runtime.outputs import write_table

QUERY = "QUERY q RETURN COUNT(*) AS trends PATTERN SEQ(A a, B b+) WITHIN 10 seconds;"
EVENTS = pa.table({"when": [1, 2, 3], "kind": ["A", "B", "B"], "seq": [1, 2, 3]})
NAMED = ("--time", "when", "--type", "kind")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_table(EVENTS, "e.parquet", "parquet")
    Path("w.cep").write_text(QUERY)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def run(*arguments: str) -> Result:
    return call("run", "--events", "e.parquet", "--engine", "local", *NAMED, *arguments)


def test_a_query_is_given_on_the_command_line(folder: Path) -> None:
    done = run("-q", "RETURN COUNT(*) AS trends PATTERN SEQ(A a, B b+) WITHIN 10 seconds")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1:] == run("w.cep").stdout.splitlines()[1:]
    assert call("check", "-q", QUERY).stdout == "q: OK\n"
    assert call("explain", "-q", QUERY).stdout.startswith("1 query, run by 1 operator in 1 pass")


def test_an_error_of_such_a_query_points_into_it(folder: Path) -> None:
    done = run("-q", "RETURN CONT(*) PATTERN A")
    assert done.exit_code == 2
    assert done.stderr.startswith("-q:1:8: QuerySyntaxError\n")
    assert "Did you mean 'COUNT'?" in done.stderr


def test_queries_come_from_one_place(folder: Path) -> None:
    both, neither = run("w.cep", "-q", QUERY), run()
    assert (both.exit_code, neither.exit_code) == (2, 2)
    assert "queries in 'w.cep' and in -q" in both.stderr
    assert "-q 'RETURN COUNT(*)" in neither.stderr


def test_check_reads_events_as_run_does(folder: Path) -> None:
    done = call("check", "w.cep", "--events", "e.parquet", *NAMED, "--order-by", "seq")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "q: OK\n", "")


@pytest.mark.parametrize("command", ["check", "explain"])
def test_columns_that_are_not_there_are_refused_all_at_once(folder: Path, command: str) -> None:
    done = call(
        command, "w.cep", "--events", "e.parquet", "--type", "knd", "--order-by", "sequence"
    )
    assert done.exit_code == 2
    assert "no column 'time', read for the time" in done.stderr
    assert "no column 'knd', read for the type. Did you mean 'kind'?" in done.stderr
    assert "no column 'sequence', read for the order" in done.stderr


@pytest.mark.parametrize("command", [["check"], ["explain", "--sample", "0"]])
def test_types_that_never_occur_are_warned_of(folder: Path, command: list[str]) -> None:
    Path("w.cep").write_text("QUERY q RETURN COUNT(*) PATTERN SEQ(A a, Bb b+)")
    done = call(*command, "w.cep", "--events", "e.parquet", *NAMED)
    assert done.exit_code == 0
    assert "no event has type Bb. Did you mean 'B'? Types seen: B, A." in done.stderr


def test_a_comma_left_out_between_two_types_is_warned_of(folder: Path) -> None:
    done = run("-q", "RETURN COUNT(*) PATTERN SEQ(A B) WITHIN 10 seconds")
    assert done.exit_code == 0
    assert "'B' in 'A B' is a variable" in done.stderr
    assert "Is a comma missing?" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--master", "local[2]"], "--master has no effect with --engine local."),
        (["--combine", "never"], "--combine has no effect with --engine local."),
        (["--overwrite"], "--overwrite has no effect without --out or --rejects."),
    ],
)
def test_options_without_effect_say_so(folder: Path, arguments: list[str], told: str) -> None:
    done = run("w.cep", *arguments)
    assert (done.exit_code, done.stderr) == (0, f"Warning: {told}\n")


def test_check_and_explain_warn_of_options_that_need_events(folder: Path) -> None:
    assert "--time has no effect without --events" in call("check", "w.cep", *NAMED).stderr
    assert "--sample has no effect" in call("explain", "w.cep", "--sample", "3").stderr


def test_a_count_beyond_a_double_is_warned_of_once(folder: Path) -> None:
    rows = 1100
    table = pa.table({"when": [0.001 * n for n in range(rows)], "kind": ["A"] * rows})
    write_table(table, "many.parquet", "parquet")
    queries = (
        "QUERY p RETURN COUNT(*) PATTERN A+; QUERY q RETURN COUNT(*), COUNT(A) PATTERN A+; "
        "QUERY r RETURN LOG2(COUNT(*)) PATTERN A+;"
    )
    given = ["run", "-q", queries, "--events", "many.parquet", "--engine", "local", *NAMED]
    done = call(*given)
    assert done.exit_code == 0
    assert done.stderr == (
        "Warning: queries p, q: COUNT(*) goes beyond a double's range, 1.8e308, and is infinity "
        "there. LOG2(COUNT(*)) returns its binary logarithm, --exact all digits.\n"
    )
    assert call(*given, "--exact").stderr == ""
    alone = ["run", "-q", "RETURN COUNT(*) PATTERN A+", *given[3:]]
    assert call(*alone).stderr.startswith("Warning: the query: COUNT(*) goes beyond")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("elsinore ex", ["explain"]),
        ("elsinore run --sharing ", ["dynamic", "always", "never"]),
        ("elsinore run --eng", ["--engine"]),
    ],
)
def test_shells_can_complete(folder: Path, words: str, expected: list[str]) -> None:
    count = len(words.split()) - (not words.endswith(" "))
    code = "import sys; sys.argv[0] = 'elsinore'; from elsinore.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={
            "_ELSINORE_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(count),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == expected


@pytest.mark.parametrize("out", ["q.txt", "a/q.xlsx", "q.csv.gz"])
def test_a_file_that_results_are_not_written_as_is_no_folder(folder: Path, out: str) -> None:
    done = run("w.cep", "--out", out)
    assert done.exit_code == 2
    assert "Name a file .parquet, .csv or .jsonl" in done.stderr
    assert not Path(out).exists()
    Path(out).mkdir(parents=True)
    assert run("w.cep", "--out", out).exit_code == 0


@pytest.mark.parametrize("out", ["v0.5", ".cache", "a.b/results"])
def test_a_name_without_the_suffix_of_a_file_is_a_folder(folder: Path, out: str) -> None:
    assert run("w.cep", "--out", out).exit_code == 0
    assert (Path(out) / "q.parquet").is_file()


@pytest.mark.parametrize(
    "command", [["report", "w.cep", "--events", "e.parquet", *NAMED], ["demo"]]
)
def test_what_writes_a_folder_takes_no_name_of_a_file(folder: Path, command: list[str]) -> None:
    done = call(*command, "--out", "x.csv")
    assert done.exit_code == 2
    assert "Name it without a suffix, as in --out x, or create that folder first." in done.stderr
    assert not Path("x.csv").exists()


@pytest.mark.parametrize("command", [["check"], ["explain", "--sample", "0"], ["explain"]])
def test_events_at_which_a_run_would_stop_are_warned_of(folder: Path, command: list[str]) -> None:
    Path("nulls.csv").write_text("when,kind\n,A\n,B\n3,\n4,B\n5,A\n")
    done = call(*command, "w.cep", "--events", "nulls.csv", *NAMED)
    assert done.exit_code == 0
    assert (
        "Warning: 3 events of 5 cannot be used (2 with null time, 1 with null type): a run stops "
        "unless --rejects names a file for them.\n"
    ) in done.stderr


@pytest.mark.parametrize("form", [[], ["--format", "csv"], ["--format", "json"]])
@pytest.mark.parametrize("time", ["when", "CAST(`when` AS DATE)"])
def test_a_window_that_ends_after_the_year_9999_is_shown(
    folder: Path, form: list[str], time: str
) -> None:
    Path("late.csv").write_text("when,kind\n9999-12-30T22:00,A\n9999-12-31T23:00,B\n")
    query = "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 1000 days"
    given = ["run", "-q", query, "--events", "late.csv", "--engine", "local"]
    done = call(*given, "--time", time, "--type", "kind", *form)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "10000-04-13" in done.stdout


def test_a_file_bears_its_querys_name_in_letters_of_any_language(folder: Path) -> None:
    done = run("-q", 'QUERY "größe 1/2" RETURN COUNT(*) PATTERN SEQ(A, B)', "--out", "ü")
    assert done.exit_code == 0, done.stderr
    assert Path("ü/größe 1%2F2.parquet").is_file()


@pytest.mark.parametrize("command", [["check"], ["explain"], ["run", "--engine", "local"]])
def test_times_of_a_finer_unit_are_warned_of(folder: Path, command: list[str]) -> None:
    Path("ms.csv").write_text("when,kind\n1704067200000,A\n1704067201000,B\n")
    done = call(*command, "w.cep", "--events", "ms.csv", *NAMED)
    assert done.exit_code == 0
    assert "If they count milliseconds: --time-unit ms." in done.stderr


def test_all_that_is_odd_about_events_is_warned_of(folder: Path) -> None:
    Path("ms.csv").write_text("when,kind\n1704067200000,A\n1704067201000,\n")
    told = call("check", "w.cep", "--events", "ms.csv", *NAMED).stderr
    assert "1 event of 2 cannot be used" in told
    assert "--time-unit ms" in told


def test_a_place_that_nobody_named_is_the_default() -> None:
    assert destination(Path("demo-output")) == Path("demo-output")


@pytest.mark.parametrize("name", ["t.csv", "there.csv", "t.v2"])
def test_a_folder_whose_name_is_that_of_a_file_is_refused(name: str, folder: Path) -> None:
    (folder / "there.csv").mkdir()
    (folder / "there.v2").mkdir()
    with pytest.raises(typer.BadParameter, match="a folder by its slash, and a file by its suffix"):
        destination(f"{name}/")
    assert destination(name) == Path(name)
    assert destination("there.v2/") == Path("there.v2")
    assert destination("results/") == Path("results")


COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", COMMANDS)
def test_what_reads_an_option_takes_its_default(name: str) -> None:
    context = typer.Context(COMMANDS[name], info_name=name)
    for parameter in COMMANDS[name].params:
        default = parameter.get_default(context)
        if default is not None:
            parameter.process_value(context, default)


def test_the_demo_runs_as_it_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr("elsinore.datasets.flights", lambda: "flights")
    monkeypatch.setattr(
        "elsinore.cli.demo.run_demo", lambda *given, **named: asked.append((given, named))
    )
    done = call("demo", "--overwrite")
    assert done.exit_code == 0, done.stderr
    assert asked == [(("flights", Path("demo-output"), "local[*]"), {"overwrite": True})]


@pytest.mark.parametrize(
    "given",
    [
        ["run", "q.cep", "t.csv"],
        ["run", "t.csv", "q.cep"],
        ["run", "q.cep"],
        ["run", "q.cep", "--events", "a.csv", "b.csv"],
        ["check", "q.cep", "t.csv"],
        ["explain", "q.cep", "t.csv"],
        ["report", "q.cep"],
    ],
)
def test_events_without_their_option_are_told_what_stands_where(given: list[str]) -> None:
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 2
    assert f"{given[0]} q.cep --events 'trips/*.csv'" in done.stderr
    assert "Name the file with the queries (or -q), and each file of events" in done.stderr


def test_an_open_end_leaves_windows_open_and_says_how_many(folder: Path) -> None:
    done = run("w.cep", "--end", "open", "--format", "csv")
    assert done.exit_code == 0
    assert "Left open, as more events may follow: 1 window of q." in done.stderr
    assert len(done.stdout.splitlines()) == 1  # the names of the columns
    assert "Left open" not in run("w.cep", "--end", "closed").stderr
