"""Rows given out in pieces as they are found: the same rows, few of them at a time."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import elsinore as el
from elsinore.cli.app import app
from elsinore.matches import query as search
from elsinore.matches.engine import pattern

EVENTS = [{"time": n, "type": "B" if n % 7 else "A", "v": n % 5, "k": n % 2} for n in range(40)]
QUERIES = """
QUERY pairs RETURN k, a.v AS a, b[].v AS b PATTERN SEQ(A a, B{1,2} b) GROUP BY k WITHIN 20;
QUERY windows RETURN MAX(b[].v) AS most PATTERN B{2} b WITHIN 9 SLIDE 3;
QUERY few RETURN b.v PATTERN SEQ(A a, B b) LIMIT 3;
QUERY different RETURN DISTINCT b.v PATTERN SEQ(A a, B b);
QUERY trends RETURN COUNT(*) PATTERN SEQ(A a, B+ b) GROUP BY k WITHIN 10;
QUERY none RETURN c.v PATTERN SEQ(A a, C c);
"""


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern, "ROOM", 50)
    monkeypatch.setattr(pattern, "WIDEST", 50)


def test_pieces_together_are_the_results() -> None:
    workload = el.Workload.parse(QUERIES)
    expected = workload.run(EVENTS)
    actual: dict[str, list[pa.Table]] = {}
    for name, rows in workload.batches(EVENTS):
        actual.setdefault(name, []).append(rows)
    assert len(actual["pairs"]) > 3
    assert max(rows.num_rows for rows in actual["pairs"]) <= 50
    assert actual.keys() == set(expected) - {"none"}
    for name, pieces in actual.items():
        assert pa.concat_tables(pieces).equals(expected.tables[name])


def test_nothing_is_searched_before_it_is_asked_for() -> None:
    workload = el.Workload.parse("QUERY all RETURN b[].v PATTERN B+ b;")
    events = [{"time": n, "type": "B", "v": n} for n in range(23)]  # 8 million matches
    batches = workload.batches(events)
    assert next(batches)[1].num_rows <= 50
    batches.close()


def test_errors_point_at_their_place_in_pieces_too() -> None:
    workload = el.Workload.parse("QUERY q RETURN b.w PATTERN B b;")
    with pytest.raises(el.QueryError, match="b\\.w"):
        list(workload.batches(EVENTS))


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_the_command_line_writes_pieces(tmp_path: Path, form: str) -> None:
    events = tmp_path / "events.json"
    events.write_text("\n".join(json.dumps(event) for event in EVENTS))
    queries = tmp_path / "queries.cep"
    queries.write_text(QUERIES)
    given = ["run", str(queries), "--events", str(events), "--engine", "local", "--format", form]
    done = CliRunner().invoke(app, [*given, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.stderr
    for name, expected in el.Workload.parse(QUERIES).run(EVENTS).tables.items():
        path = tmp_path / "out" / f"{name}.{form}"
        assert f"{name}: {expected.num_rows:,} rows" in " ".join(done.stdout.split())
        if form == "parquet":
            assert pq.read_table(path).equals(expected)
        elif form == "csv":
            assert pa_csv.read_csv(path).num_rows == expected.num_rows
        else:
            assert len(path.read_text().splitlines()) == expected.num_rows


def test_what_fails_on_the_way_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "GUARD", 400)
    events = tmp_path / "events.json"
    rows = [{"time": n if n < 8 else n + 90, "type": "B", "v": n} for n in range(30)]
    events.write_text("\n".join(json.dumps(event) for event in rows))
    given = ["run", "-q", "QUERY all RETURN b[].v PATTERN B+ b WITHIN 30"]
    given += ["--events", str(events), "--engine", "local", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, given)
    assert done.exit_code != 0
    assert "more" in done.stderr or "matches" in done.stderr
    assert not list((tmp_path / "out").glob("*"))
