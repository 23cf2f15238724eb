"""Sharing in the output of commands: `run --stats`, `explain` over a sample, and `report`."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

from elsinore.cli.app import app
from elsinore.datasets import ridesharing
from elsinore.runtime.files import read_events
from elsinore.runtime.outputs import write_table
from elsinore.runtime.results import Results
from elsinore.trends.statistics import BurstRecord, SharingStatistics, TrendStatistics
from elsinore.workload import Workload

QUERIES = """
QUERY ab RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 seconds;
QUERY cb RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 10 seconds;
"""
EVENTS = pa.table({"time": [3, 1, 2, 11, 12, 13], "type": list("BABCBB")})
RECORDS = [
    BurstRecord(2_000_000, 2, 2, 2, 12.5),
    BurstRecord(12_000_000, 6, 2, 0, -3.0),
]
SHARED = SharingStatistics(
    "B+",
    ("ab", "cb"),
    bursts=2,
    graphlets=3,
    shared_graphlets=1,
    splits=1,
    merges=4,
    graphlet_snapshots=5,
    event_snapshots=6,
    most_propagated=7,
    decisions=2,
    decision_seconds=0.5,
    records=RECORDS,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, which holds events and a workload."""
    monkeypatch.chdir(tmp_path)
    write_table(EVENTS, "events.parquet", "parquet")
    Path("w.cep").write_text(QUERIES)
    return tmp_path


@pytest.fixture
def asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[pa.Table, dict[str, Any]]]:
    """Make runs return made-up statistics; return the arguments of the runs."""
    calls: list[tuple[pa.Table, dict[str, Any]]] = []

    def run(workload: Workload, data: pa.Table, **options: Any) -> Results[pa.Table]:
        calls.append((data, options))
        actual = TrendStatistics(state_bytes=4096, sharing=[SHARED])
        tables = {query.name: pa.table({"count(*)": [1.0]}) for query in workload}
        return Results(tables, find_statistics=lambda: (actual,))

    def batches(
        workload: Workload, data: pa.Table, **options: Any
    ) -> Generator[tuple[str, pa.Table], None, Results[pa.Table]]:
        results = run(workload, data, **options)
        yield from results.tables.items()
        return results

    monkeypatch.setattr(Workload, "run", run)
    monkeypatch.setattr(Workload, "batches", batches)
    return calls


def test_the_paper_s_three_queries_share_travel_and_explain_tells_what_the_run_counts(
    tmp_path: Path,
) -> None:
    """HAMLET, Section 1: q3 alone asks for slow Travel events."""
    path = Path(__file__).parents[2] / "examples" / "ridesharing" / "introduction.cep"
    events = ridesharing(20_000, seed=0)
    write_table(events, tmp_path / "trips.parquet", "parquet")
    told = CliRunner().invoke(
        app, ["explain", str(path), "--events", str(tmp_path / "trips.parquet"), "--format", "json"]
    )
    sets = json.loads(told.output)["sharing"]["sampled"]["sets"]
    (shared,) = [one for one in sets if one["pattern"] == "Travel+"]
    workload = Workload.parse(path.read_text())
    sharing = workload.run(events, record=True).statistics[0].sharing
    (counted,) = [one for one in sharing if one.name == "Travel+"]
    assert (shared["pattern"], shared["queries"]) == ("Travel+", ["q1", "q2", "q3"])
    assert shared["bursts"] == counted.bursts == len(counted.records)
    assert shared["shared_bursts"] == counted.shared_graphlets > 0
    assert shared["graphlet_snapshots"] == counted.graphlet_snapshots > 0
    assert shared["event_snapshots"] == counted.event_snapshots > 0


def test_bursts_of_compared_events_are_not_shared_for_min_which_is_told(
    folder: Path,
) -> None:
    text = "".join(
        f"QUERY q{n} RETURN MIN(b.v) PATTERN SEQ({t}, B+ b) WHERE b[i].v >= b[i-1].v;"
        for n, t in enumerate("AC")
    )
    Path("w.cep").write_text(text)
    write_table(EVENTS.append_column("v", EVENTS["time"]), "v.parquet", "parquet")
    told = CliRunner().invoke(app, ["explain", "w.cep", "--events", "v.parquet"]).output
    assert (
        "not shared because each query adds up its own sums over the events that are compared"
        in " ".join(told.split())
    )


def call(command: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, [command, "w.cep", "--events", "events.parquet", *arguments])


def test_modes_are_handed_to_the_run(asked: list[tuple[pa.Table, dict[str, Any]]]) -> None:
    done = call("run", "--engine", "local", "--sharing", "never", "--granularity", "fine")
    assert done.exit_code == 0, done.output
    ((_, options),) = asked
    assert (options["sharing"], options["granularity"], options["record"]) == (
        "never",
        "fine",
        False,
    )


@pytest.mark.parametrize("option", ["--sharing", "--granularity"])
def test_an_unknown_mode_is_refused(folder: Path, option: str) -> None:
    done = call("run", "--engine", "local", option, "sometimes")
    assert done.exit_code == 2
    assert "sometimes" in done.stderr


def test_each_sharing_set_has_a_table(asked: list[tuple[pa.Table, dict[str, Any]]]) -> None:
    done = call("run", "--engine", "local", "--stats")
    assert done.exit_code == 0, done.output
    assert "B+ of ab and cb, operator 1" in done.stdout
    lines = [line.split("│") for line in done.stdout.splitlines() if line.count("│") == 3]
    told = {line[1].strip(): line[2].strip() for line in lines}
    told.pop("deciding")  # its share depends on the clock
    assert told == {
        "bursts": "2",
        "graphlets": "3",
        "shared graphlets": "1",
        "splits": "1",
        "merges": "4",
        "snapshots of graphlets": "5",
        "snapshots of events": "6",
        "most propagated at once": "7",
        "decisions": "2",
        "most memory of the operator": "4,096 bytes",
    }


def test_deciding_is_told_in_time_and_as_a_part_of_the_run() -> None:
    assert dict(SHARED.rows(0, 4.0))["deciding"] == "500.0 ms, 12.5% of the run"
    assert dict(SHARED.rows(0, 0.0))["deciding"] == "500.0 ms"


def test_explain_tells_what_a_sample_shared(
    asked: list[tuple[pa.Table, dict[str, Any]]],
) -> None:
    done = call("explain", "--sample", "3")
    assert done.exit_code == 0, done.output
    ((first, options),) = asked
    assert first.to_pylist() == EVENTS.slice(0, 3).to_pylist()  # the first by time, as they stood
    assert options["record"] is True
    assert options["rejects"] is True
    told = done.stdout.split("\nSharing")[1]
    assert told.splitlines() == [
        ", over the first 3 of 6 events",
        "  B+ of ab and cb",
        "    1 of 2 bursts shared, with 2 of their 8 events.",
        (
            "    Snapshots: 5 of graphlets, where bursts begin or end; 6 of single events, where "
            "queries diverge."
        ),
        (
            "    1 burst not shared because sharing was expected to cost 3.0 ns more per burst "
            "than it would save."
        ),
        "",
        (
            "Events of these files are not combined before the shuffle: there are fewer than "
            "131,072 events."
        ),
    ]


def test_explain_tells_the_same_as_data(asked: list[tuple[pa.Table, dict[str, Any]]]) -> None:
    done = call("explain", "--format", "json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)["sharing"]["sampled"]
    assert (told["events"], told["total"]) == (6, 6)
    assert told["sets"] == [
        {
            "pattern": "B+",
            "queries": ["ab", "cb"],
            "bursts": 2,
            "shared_bursts": 1,
            "events": 8,
            "shared_events": 2,
            "graphlet_snapshots": 5,
            "event_snapshots": 6,
            "not_shared": {"nothing_known": 0, "dearer": 1, "saving_too_little": 0},
        }
    ]


def test_what_a_sample_shared_is_told_where_a_run_makes_one_operator_of_two(folder: Path) -> None:
    """A query that compares neighbours joins one that does so beside an AND."""
    write_table(EVENTS.append_column("v", EVENTS["time"]), "events.parquet", "parquet")
    Path("w.cep").write_text(
        "QUERY pairs RETURN COUNT(*) PATTERN SEQ(A, B b+) AND SEQ(C, B d+);"
        "QUERY rising RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE b[i].v > b[i-1].v;"
        "QUERY both RETURN COUNT(*) PATTERN SEQ(A a, B b+) AND C c WHERE b[i].v > b[i-1].v;"
        "QUERY any RETURN COUNT(*) PATTERN SEQ(A, B+);"
    )
    done = call("explain", "--format", "json")
    assert done.exit_code == 0, done.output
    sets = json.loads(done.output)["sharing"]["sampled"]["sets"]
    assert {tuple(shared["queries"]): shared["events"] for shared in sets} == {
        ("pairs", "any"): 4,
        ("rising", "both"): 4,
    }


@pytest.mark.parametrize(("mode", "shared"), [("always", 2), ("never", 0)])
def test_explain_tells_of_the_way_of_sharing_that_was_asked_for(
    folder: Path, mode: str, shared: int
) -> None:
    done = call("explain", "--format", "json", "--sharing", mode)
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)["sharing"]
    assert told["mode"] == mode
    assert [one["shared_bursts"] for one in told["sampled"]["sets"]] == [shared]
    assert [one["why"] for one in told["apart"]] == [
        "they could share, but that is switched off (sharing: never)"
    ] * (mode == "never")


def test_queries_of_one_shape_that_compare_events_differently_are_lanes(folder: Path) -> None:
    write_table(EVENTS.append_column("v", EVENTS["time"]), "events.parquet", "parquet")
    Path("w.cep").write_text(
        "QUERY up RETURN COUNT(*) PATTERN SEQ(A, B b+) WHERE b[i].v > b[i-1].v;"
        "QUERY down RETURN COUNT(*) PATTERN SEQ(C, B b+) WHERE b[i].v < b[i-1].v;"
    )
    told = {
        mode: json.loads(call("explain", "--format", "json", "--sharing", mode).output)["sharing"]
        for mode in ("dynamic", "always")
    }
    assert [one["queries"] for one in told["always"]["sets"]] == [["up", "down"]]
    assert told["always"]["sets"][0]["pattern"] == "B+ [i].v > [i-1].v / B+ [i].v < [i-1].v"
    assert told["always"]["apart"] == told["dynamic"]["apart"] == []


def test_queries_of_different_kinds_are_told_apart() -> None:
    told = Workload.parse(
        "QUERY sums RETURN COUNT(*) PATTERN SEQ(A, B+);"
        "QUERY rows RETURN b[].v PATTERN SEQ(A, B+ b[]) WITHIN 5 seconds;"
    ).explain()
    assert "  No sharing of sums (trends) with rows (matches): " in told


@pytest.mark.parametrize("arguments", [["--sample", "0"], ["--format", "svg"]])
def test_explain_runs_nothing_where_nothing_of_a_run_would_be_told(
    asked: list[tuple[pa.Table, dict[str, Any]]], arguments: list[str]
) -> None:
    done = call("explain", *arguments)
    assert done.exit_code == 0, done.output
    assert asked == []
    assert "Sharing, over" not in done.stdout


def test_explain_passes_over_events_that_cannot_be_used(folder: Path) -> None:
    broken = EVENTS.set_column(0, "time", pa.array([3, None, 2, 11, 12, 13]))
    write_table(broken, "events.parquet", "parquet")
    done = call("explain", "--sample", "5")
    assert done.exit_code == 0, done.output
    assert "1 event of 6 cannot be used (1 with null time)" in done.stderr
    assert "over the first 5 of 6 events" in done.stdout


@pytest.mark.parametrize("command", ["explain", "report"])
def test_a_time_that_is_no_column_is_a_wrong_argument(folder: Path, command: str) -> None:
    done = call(command, "--time", "tme", *OUT[command])
    assert done.exit_code == 2
    assert "Did you mean 'time'?" in done.stderr


OUT = {"explain": [], "report": ["--out", "pictures"]}


def test_a_report_has_pictures_and_records(
    asked: list[tuple[pa.Table, dict[str, Any]]],
) -> None:
    done = call("report", "--out", "pictures", "--sharing", "always")
    assert done.exit_code == 0, done.output
    ((_, options),) = asked
    assert (options["record"], options["sharing"]) == (True, "always")
    assert done.stdout.splitlines() == [
        f"2 bursts written to {Path('pictures/bursts.csv')}",
        f"drawn in {Path('pictures/sharing.png')}",
        f"drawn in {Path('pictures/sharing.svg')}",
    ]
    rows = read_events("pictures/bursts.csv")
    assert rows.column("time").to_pylist() == [2, 12]
    assert rows.column("benefit").to_pylist() == [12.5, -3.0]
    assert Path("pictures/sharing.png").stat().st_size > 0


def test_a_report_without_bursts_says_why(folder: Path) -> None:
    Path("w.cep").write_text("QUERY ab RETURN COUNT(*) PATTERN SEQ(A, B);")
    done = call("report", "--out", "pictures")
    assert done.exit_code == 1
    assert done.stderr.startswith("There are no bursts to draw.")
    assert "this workload has only one" in done.stderr
    assert "--granularity fine" not in done.stderr  # there is no B+ that could be shared
    assert not Path("pictures").exists()


@pytest.mark.parametrize("granularity", ["auto", "fine"])
def test_a_report_of_queries_that_share_nothing_does_not_advise_what_would_not_help(
    folder: Path, granularity: str
) -> None:
    write_table(EVENTS.append_column("v", EVENTS["time"]), "events.parquet", "parquet")
    Path("w.cep").write_text(
        "QUERY up RETURN COUNT(*) PATTERN SEQ(A, B b+) WHERE b[i].v > b[i-1].v;"
        "QUERY without RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(C, B b), B+);"
        "QUERY any RETURN COUNT(*) PATTERN SEQ(A, B+);"
    )
    done = call("report", "--out", "pictures", "--granularity", granularity)
    assert done.exit_code == 1
    assert done.stderr.startswith("There are no bursts to draw.")
    assert "up" in done.stderr
    assert "  No sharing of up with any: " in done.stderr
    assert "--granularity fine" not in done.stderr


def test_a_report_has_the_bursts_of_a_run_that_shares_none(folder: Path) -> None:
    done = call("report", "--out", "pictures", "--sharing", "never")
    assert done.exit_code == 0, done.output
    rows = read_events("pictures/bursts.csv").to_pylist()
    assert {row["pattern"] for row in rows} == {"B+"}


def test_a_query_on_its_own_is_no_sharing_set(folder: Path) -> None:
    Path("w.cep").write_text(
        "QUERY b RETURN COUNT(*) PATTERN B+ WITHIN 10 seconds SLIDE 5 seconds;"
    )
    for granularity in ("auto", "fine"):
        asked = ("--stats", "--engine", "local", "--granularity", granularity)
        done = call("run", *asked)
        assert done.exit_code == 0, done.output
        assert "graphlets" not in done.output


def test_a_report_draws_what_was_decided(folder: Path) -> None:
    for granularity in ("auto", "fine"):
        done = call("report", "--out", granularity, "--granularity", granularity)
        assert done.exit_code == 0, done.output
        rows = read_events(f"{granularity}/bursts.csv").to_pylist()
        assert {row["pattern"] for row in rows} == {"B+"}
        assert sum(row["events"] for row in rows) == 4


def test_a_report_draws_the_graphlets_of_the_longest_shared_burst(folder: Path) -> None:
    done = call("report", "--out", "pictures", "--sharing", "always")
    assert done.exit_code == 0, done.output
    assert "drawn in pictures/graphlets.png" in done.stdout
    drawn = (folder / "pictures" / "graphlets.svg").read_text()
    assert drawn.count("<!-- B") >= 1
    assert drawn.count("<!-- sum: ") == 1  # of the graphlet that has two events
    rows = read_events("pictures/graphlets.csv").to_pylist()
    shared = [(row["event"], row["count"]) for row in rows if row["shared"]]
    assert shared[-1][1] == "2x"
    (opening,) = read_events("pictures/snapshots.csv").to_pylist()
    assert (opening["snapshot"], opening["ab"], opening["cb"]) == ("x", 1, 0)


def test_a_report_needs_a_folder(folder: Path) -> None:
    Path("pictures").write_text("")
    done = call("report", "--out", "pictures")
    assert done.exit_code == 2
    assert "is a file" in done.stderr
