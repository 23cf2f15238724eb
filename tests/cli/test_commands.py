"""The commands as their users call them, in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import elsinore
from elsinore.cli.app import app
from elsinore.runtime.files import read_events
from elsinore.runtime.outputs import write_table

QUERY = "QUERY q RETURN COUNT(*) AS trends, SUM(b.v) PATTERN SEQ(A a, B b+) WITHIN 10 seconds;"
EVENTS = pa.table(
    {
        "time": [1, 2, 3, 12, 13],
        "type": ["A", "B", "B", "A", "B"],
        "key": ["x", "x", "x", "y", "y"],
        "v": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
)
ROWS = [
    {"window_start": 0, "window_end": 10, "trends": 3.0, "sum(b.v)": 10.0},
    {"window_start": 10, "window_end": 20, "trends": 1.0, "sum(b.v)": 5.0},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, which holds events and a workload."""
    monkeypatch.chdir(tmp_path)
    write_table(EVENTS, "events.parquet", "parquet")
    Path("w.cep").write_text(QUERY)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def run(*arguments: str, workload: str = "w.cep", events: str = "events.parquet") -> Result:
    return call("run", workload, "--events", events, "--engine", "local", *arguments)


def test_the_version_is_told() -> None:
    told = call("--version")
    assert (told.exit_code, told.stdout) == (0, f"elsinore {elsinore.__version__}\n")


def test_results_are_printed_as_tables(folder: Path) -> None:
    done = run()
    assert done.exit_code == 0
    assert [
        word for word in ("trends", "sum(b.v)", "10", "2 rows") if word not in done.stdout
    ] == []
    assert done.stderr == ""


def test_long_results_are_cut_and_their_rest_counted(folder: Path) -> None:
    Path("w.cep").write_text("QUERY q RETURN COUNT(*) PATTERN A WITHIN 1 seconds;")
    write_table(
        pa.table({"time": list(range(30)), "type": ["A"] * 30}), "events.parquet", "parquet"
    )
    done = run()
    assert done.exit_code == 0
    assert "30 rows, of which 10 are not shown" in done.stdout


def test_a_file_cannot_take_several_results_or_another_format(folder: Path) -> None:
    Path("two.cep").write_text(QUERY + QUERY.replace("QUERY q", "QUERY r"))
    done = run("--out", "q.csv", workload="two.cep")
    assert done.exit_code == 2
    assert "not 2: --out 'q.csv'. Use a folder, as in --out q " in (done.stderr)
    done = run("--out", "q.csv", "--format", "json")
    assert (done.exit_code, "--format is json. Leave out --format" in done.stderr) == (2, True)
    assert not Path("q.csv").exists()


def test_an_empty_standard_input_is_called_so(folder: Path) -> None:
    for nothing in ("", "\n"):
        arguments = ["run", "w.cep", "--events", "-", "--engine", "local"]
        done = CliRunner().invoke(app, arguments, input=nothing)
        assert done.exit_code == 2
        assert done.stderr == "The standard input is empty: there are no events to read.\n"


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_every_format_is_written_and_holds_the_same(folder: Path, form: str) -> None:
    done = run("--out", "results", "--format", form)
    assert done.exit_code == 0
    assert read_events(f"results/q.{form}").to_pylist() == ROWS
    assert f"q: 2 rows written to {Path('results') / f'q.{form}'}" in done.stdout


def test_statistics_are_printed(folder: Path) -> None:
    done = run("--stats")
    assert done.exit_code == 0
    assert "Statistics, by operator" in done.stdout
    assert "state bytes" in done.stdout


def test_exact_counts_are_integers(folder: Path) -> None:
    done = run("--exact", "--out", "results", "--format", "json")
    assert done.exit_code == 0
    line = json.loads(Path("results/q.json").read_text().splitlines()[0])
    assert line["trends"] == 3


def test_time_and_type_may_be_expressions(folder: Path) -> None:
    kind = "CASE WHEN v IN (1, 4) THEN 'A' ELSE 'B' END"
    done = run("--type", kind, "--time", "time * 1000", "--time-unit", "ms", "--out", "results")
    assert done.exit_code == 0
    assert pq.read_table("results/q.parquet").column("trends").to_pylist() == [3.0, 1.0]


def test_events_of_one_time_are_ordered_by_columns(folder: Path) -> None:
    together = EVENTS.set_column(0, "time", pa.array([5, 5, 5, 5, 5]))
    write_table(together, "events.parquet", "parquet")
    assert "0 rows" in run().stdout
    done = run("--order-by", "v", "--out", "results")
    assert done.exit_code == 0
    assert pq.read_table("results/q.parquet").column("trends").to_pylist() == [8.0]


def test_no_events_give_no_rows(folder: Path) -> None:
    write_table(EVENTS.slice(0, 0), "events.parquet", "parquet")
    done = run("--out", "results")
    assert done.exit_code == 0
    assert pq.read_table("results/q.parquet").num_rows == 0
    assert "Types seen: none" in done.stderr


def test_a_type_that_never_occurs_is_warned_of(folder: Path) -> None:
    Path("w.cep").write_text(QUERY.replace("B b+", "Bee b+"))
    done = run()
    assert done.exit_code == 0
    assert "Warning: query q: no event has type Bee. Types seen: B, A." in done.stderr


def test_unusable_events_stop_the_run(folder: Path) -> None:
    write_table(
        EVENTS.set_column(0, "time", pa.array([1, None, 3, 12, 13])), "events.parquet", "parquet"
    )
    done = run()
    assert done.exit_code == 1
    assert "1 event of 5 cannot be used (1 with null time)" in done.stderr
    assert "--rejects" in done.stderr


@pytest.mark.parametrize("place", ["bad.parquet", "bad.csv", "bad.jsonl"])
def test_unusable_events_are_set_aside(folder: Path, place: str) -> None:
    write_table(
        EVENTS.set_column(0, "time", pa.array([1, None, 3, 12, 13])), "events.parquet", "parquet"
    )
    done = run("--rejects", place)
    assert done.exit_code == 0
    assert read_events(place).column("reject_reason").to_pylist() == ["null time"]
    assert f"1 event cannot be used; written to {place}" in done.stderr


def test_one_cell_that_is_no_time_rejects_its_row_alone(folder: Path) -> None:
    cells = "time,type,v\n1,A,1\n2,B,2\nyesterday,B,9\n3,B,3\n12,A,4\n13,B,5\n"
    Path("e.csv").write_text(cells)
    done = run(events="e.csv")
    assert done.exit_code == 1
    assert "1 event of 6 cannot be used (1 with unparseable time)" in done.stderr
    assert "row 3 (unparseable time): time=yesterday" in done.stderr
    done = run("--rejects", "bad.csv", "--out", "q.jsonl", events="e.csv")
    assert done.exit_code == 0
    assert read_events("q.jsonl").to_pylist() == ROWS
    assert read_events("bad.csv").column("time").to_pylist() == ["yesterday"]


def test_the_place_of_rejects_needs_a_known_suffix(folder: Path) -> None:
    done = run("--rejects", "bad.txt")
    assert done.exit_code == 2
    assert ".jsonl" in done.stderr


@pytest.mark.parametrize("text", ["RETURN COUNT(*) PATTERN A", "PATTERN A" + " " * 300])
def test_queries_in_place_of_a_file_are_told_to_go_with_q(folder: Path, text: str) -> None:
    done = call("check", text)
    assert done.exit_code == 2
    assert done.stderr.startswith("Pass queries as text with -q")


@pytest.mark.parametrize("command", ["run", "check", "explain"])
def test_a_missing_workload_is_named_with_the_nearest_there_is(folder: Path, command: str) -> None:
    done = call(command, "ww.cep", "--events", "events.parquet")
    assert done.exit_code == 2
    assert done.stderr.startswith("Cannot read 'ww.cep': this folder holds no 'ww.cep'.")
    assert "Did you mean 'w.cep'?" in done.stderr


@pytest.mark.parametrize("command", ["run", "check", "explain"])
def test_missing_events_are_named_with_the_nearest_there_are(folder: Path, command: str) -> None:
    done = call(command, "w.cep", "--events", "event.parquet")
    assert done.exit_code == 2
    assert "Did you mean 'events.parquet'?" in done.stderr


@pytest.mark.parametrize("command", [["run", "--engine", "local"], ["check"], ["explain"]])
def test_events_in_a_file_of_no_known_suffix_are_a_wrong_argument(
    folder: Path, command: list[str]
) -> None:
    done = call(*command, "w.cep", "--events", "w.cep")
    assert done.exit_code == 2
    assert done.stderr.startswith("The format of 'w.cep' is unknown.")


@pytest.mark.parametrize(
    ("option", "value", "nearest"),
    [
        ("--sharing", "alwys", "always"),
        ("--granularity", "fien", "fine"),
        ("--engine", "locl", "local"),
        ("--format", "parket", "parquet"),
    ],
)
def test_a_choice_that_is_none_is_refused_with_the_nearest(
    folder: Path, option: str, value: str, nearest: str
) -> None:
    done = run(option, value)
    assert done.exit_code == 2
    assert f"'{value}' is not one of " in done.stderr
    assert f"Did you mean '{nearest}'?" in done.stderr
    assert "Value error" not in done.stderr


def test_a_workload_that_is_not_utf8_is_refused(folder: Path) -> None:
    Path("w.cep").write_bytes(b"-- ok\n-- caf\xe9\n" + QUERY.encode())
    done = run()
    assert done.exit_code == 2
    assert done.stderr == "'w.cep', line 2: text that is not UTF-8. Save the file as UTF-8.\n"


def test_a_byte_order_mark_does_no_harm(folder: Path) -> None:
    Path("w.cep").write_bytes(b"\xef\xbb\xbf" + QUERY.encode())
    assert run().exit_code == 0


@pytest.mark.parametrize("command", ["run", "check"])
def test_an_unknown_attribute_is_pointed_at_with_the_nearest_there_is(
    folder: Path, command: str
) -> None:
    write_table(
        EVENTS.rename_columns(["time", "type", "key", "speed"]), "events.parquet", "parquet"
    )
    Path("w.cep").write_text(QUERY.replace("b.v", "b.sped"))
    done = call(command, "w.cep", "--events", "events.parquet", *ENGINE[command])
    assert done.exit_code == 2
    assert "w.cep:1:40: QuerySemanticError" in done.stderr
    assert "^^^^^^" in done.stderr
    assert "Did you mean 'speed'?" in done.stderr


ENGINE = {"run": ["--engine", "local"], "check": []}


def test_an_unknown_time_column_is_a_wrong_argument(folder: Path) -> None:
    done = run("--time", "tme")
    assert done.exit_code == 2
    assert "Did you mean 'time'?" in done.stderr


def test_three_errors_are_all_told(folder: Path) -> None:
    Path("w.cep").write_text(
        "QUERY q1 RETURN COUNT(* PATTERN SEQ(A, B+) WITHIN 10 seconds;\n"
        "QUERY q2 RETURN COUNT(*) PATTERN SEQ(A, B+ WITHIN 10 seconds;\n"
        "QUERY q3 RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 parsecs;\n"
    )
    done = call("check", "w.cep")
    assert done.exit_code == 2
    assert [line for line in (1, 2, 3) if f"w.cep:{line}:" not in done.stderr] == []
    assert "Traceback" not in done.stderr


def test_queries_that_are_in_order_are_told_so(folder: Path) -> None:
    done = call("check", "w.cep", "--events", "events.parquet")
    assert (done.exit_code, done.stdout) == (0, "q: OK\n")


def test_a_window_without_length_is_refused(folder: Path) -> None:
    Path("w.cep").write_text(QUERY.replace("10 seconds", "0 seconds"))
    done = run()
    assert done.exit_code == 2
    assert "WITHIN" in done.stderr


@pytest.mark.parametrize("command", [["run", "--engine", "local"], ["check"]])
def test_gaps_between_windows_are_warned_of(folder: Path, command: list[str]) -> None:
    Path("w.cep").write_text(QUERY.replace("10 seconds", "10 seconds SLIDE 20 seconds"))
    done = call(*command, "w.cep", "--events", "events.parquet")
    assert done.exit_code == 0
    assert "Warning: query q: SLIDE is longer than WITHIN" in done.stderr
    assert "gaps of 10 seconds" in done.stderr


@pytest.mark.parametrize("command", [["run", "--engine", "local"], ["check"]])
def test_a_query_that_nothing_can_match_is_warned_of(folder: Path, command: list[str]) -> None:
    contradictory = QUERY.replace(" WITHIN", " WHERE b.v > 5 AND b.v < 3 WITHIN")
    Path("w.cep").write_text(contradictory)
    done = call(*command, "w.cep", "--events", "events.parquet")
    assert done.exit_code == 0
    assert "Warning: query q: no events can match" in done.stderr


def test_a_query_no_engine_runs_is_refused_before_events_are_read(folder: Path) -> None:
    Path("w.cep").write_text(
        "QUERY q RETURN a.v PATTERN SEQ(A a, B b) WHERE a.v LIKE 'x%' OR a.v > b.v;"
    )
    write_table(
        EVENTS.set_column(0, "time", pa.array([None] * 5, pa.int64())), "events.parquet", "parquet"
    )
    done = run()
    assert done.exit_code == 2
    assert "UnsupportedError" in done.stderr


@pytest.mark.parametrize(
    ("form", "start"),
    [("text", "1 query"), ("json", "{"), ("mermaid", "flowchart"), ("svg", "<svg")],
)
def test_plans_are_explained_in_every_form(folder: Path, form: str, start: str) -> None:
    done = call("explain", "w.cep", "--events", "events.parquet", "--format", form)
    assert done.exit_code == 0
    assert done.stdout.startswith(start)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("name", ["abc", "ridesharing"])
def test_streams_are_generated(folder: Path, name: str, suffix: str) -> None:
    done = call("generate", name, "--events", "50", "--seed", "3", "--out", f"made.{suffix}")
    assert done.exit_code == 0
    assert read_events(f"made.{suffix}").num_rows == 50


def test_streams_are_generated_at_a_rate(folder: Path) -> None:
    options = ("--events", "500", "--rate", "600", "--burstiness", "0.5")
    done = call("generate", "ridesharing", *options, "--out", "made.parquet")
    assert done.exit_code == 0
    done = call("generate", "cluster", "--events", "5", "--rate", "600", "--out", "made2.parquet")
    assert done.exit_code == 1
    assert "'cluster' has no option 'rate'" in " ".join(done.stderr.split())


def test_recorded_streams_are_converted(folder: Path) -> None:
    Path("ticks.csv").write_text("time,symbol,price,volume\n2,A,1,5\n1,B,2,6\n")
    done = call(
        "generate", "stock", "--from", "ticks.csv", "--events", "1", "--out", "made.parquet"
    )
    assert done.stdout == "1 event written to made.parquet\n"
    assert read_events("made.parquet")["type"].to_pylist() == ["B"]
    done = call("generate", "ads", "--from", "ticks.csv", "--out", "made.parquet", "--overwrite")
    assert done.exit_code == 2
    assert "no recorded files of 'ads'" in done.stderr
    done = call("generate", "ads", "--out", "made.parquet", "--overwrite")
    assert done.exit_code == 2
    assert "--events NUMBER" in done.stderr


def test_workloads_of_the_hamlet_paper_are_written(folder: Path) -> None:
    words = ("generate", "stock", "--workload", "diverse", "--queries", "3", "--out", "made.cep")
    assert call(*words).stdout == "3 queries written to made.cep\n"
    assert call("check", "made.cep").exit_code == 0
    done = call(*words)
    assert done.exit_code != 0
    assert "--overwrite" in done.stderr


def test_generated_streams_may_have_ticks(folder: Path) -> None:
    done = call("generate", "ads", "--events", "50", "--ticks", "1", "--out", "made.parquet")
    assert done.stdout == "51 events written to made.parquet\n"
    assert read_events("made.parquet")["type"].to_pylist()[-1] == "tick"


def test_an_unknown_stream_is_refused(folder: Path) -> None:
    done = call("generate", "ridesharin", "--events", "5", "--out", "made.csv")
    assert done.exit_code == 2
    assert "Did you mean 'ridesharing'?" in done.stderr


@pytest.mark.parametrize("kind", [RuntimeError, OSError])
def test_what_nobody_expected_is_told_in_a_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def broken(source: object) -> pa.Table:
        raise kind("the sky is falling")

    monkeypatch.setattr("elsinore.cli.run_local.read_source", broken)
    monkeypatch.delenv("ELSINORE_DEBUG", raising=False)
    short = run()
    monkeypatch.setenv("ELSINORE_DEBUG", "1")
    long = run()
    assert (short.exit_code, long.exit_code) == (1, 1)
    assert "Something unexpected went wrong: the sky is falling." in short.stderr
    assert "report it" in short.stderr
    assert "ELSINORE_DEBUG=1" in short.stderr
    assert "Error" not in short.stderr
    assert "Traceback" not in short.stderr
    assert "Traceback" in long.stderr


@pytest.mark.parametrize("command", [[], ["run"], ["check"], ["explain"], ["report"], ["generate"]])
def test_h_is_short_for_help(command: list[str]) -> None:
    assert call(*command, "-h").stdout == call(*command, "--help").stdout


@pytest.mark.parametrize("command", [["run", "--engine", "local"], ["check"]])
def test_bare_numbers_after_within_are_refused_for_timestamps(
    folder: Path, command: list[str]
) -> None:
    Path("w.cep").write_text(QUERY.replace("10 seconds", "10"))
    times = EVENTS.column("time").cast(pa.timestamp("s"))
    write_table(EVENTS.set_column(0, "time", times), "events.parquet", "parquet")
    done = call(*command, "w.cep", "--events", "events.parquet")
    assert done.exit_code == 2
    assert "WITHIN needs a unit, as in '30 seconds'" in done.stderr


def test_events_without_times_are_ordered_by_their_rows(folder: Path) -> None:
    Path("clicks.csv").write_text("type\nhome\ncart\nhome\npaid\n", encoding="utf-8")
    query = "RETURN c.ROWS AS c, p.ROWS AS p PATTERN SEQ(cart c, paid p) WITHIN 3 EVENTS"
    events = ("-q", query, "--events", "clicks.csv", "--time", "ROWS")
    done = call("run", *events, "--engine", "local", "--format", "csv")
    assert (done.exit_code, done.stdout) == (0, '"c","p"\n2,4\n')
    for command in ("check", "explain"):
        assert call(command, *events).exit_code == 0
    refused = call(
        "run", "-q", query.replace("3 EVENTS", "1 min"), *events[2:], "--engine", "local"
    )
    assert refused.exit_code == 2
    assert "Count events instead, as in WITHIN 100 EVENTS" in refused.stderr.replace("\n", " ")
