"""Messages about common mistakes, which name the mistake and the remedy."""

from __future__ import annotations

import datetime as dt
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

import elsinore as el
from elsinore.errors import ElsinoreError, InputError
from elsinore.runtime.files import read_events

EVENTS = [{"time": n, "type": "AB"[n % 2], "v": n} for n in range(4)]
TRENDS = "QUERY q RETURN COUNT(*) PATTERN SEQ(A a, B b+)"


class Mean:
    """An aggregate of a user's own."""

    def init(self) -> tuple[float, int]:
        return 0.0, 0

    def step(self, state: tuple[float, int], value: float) -> tuple[float, int]:
        return state[0] + value, state[1] + 1

    def value(self, state: tuple[float, int]) -> float:
        return state[0] / state[1]


def error_of(text: str, events: object = EVENTS, **options: object) -> str:
    """Return the error that a workload raises when it is parsed or run."""
    with pytest.raises(ElsinoreError) as caught:
        el.Workload.parse(text, aggregates={"Q90": Mean}).run(events, **options)
    return str(caught.value)


def test_an_aggregate_of_a_user_is_said_to_be_for_matches() -> None:
    error = error_of("QUERY q RETURN Q90(b.v) PATTERN SEQ(A a, B b+);")
    assert "are computed for each match, not over trends. Write Q90(b[].v)" in error
    text = "QUERY q RETURN Q90(b[].v) AS m PATTERN SEQ(A a, B b);"
    found = el.Workload.parse(text, aggregates={"Q90": Mean}).run(EVENTS)["q"]
    assert found["m"].to_pylist() == [1.0, 3.0, 3.0]


@pytest.mark.parametrize("name", ["when", "case", "end"])
def test_a_keyword_of_sql_that_is_no_column_is_answered_with_the_columns(name: str) -> None:
    error = error_of(TRENDS, time=name)
    assert f"The events have no column '{name}', read for the time. Columns: time, type, v" in error


@pytest.mark.parametrize(
    "clause", ['WHERE ["data.port"]', 'WHERE a."data.port" = 1', 'GROUP BY "data.port"']
)
def test_a_field_that_a_struct_does_not_have_is_named(clause: str) -> None:
    events = pa.table({"time": [1], "type": ["A"], "data": [{"ip": 1}]})
    error = error_of(f"{TRENDS} {clause}", events)
    assert "'data' has no such field: queries read fields of structs" in error


@pytest.mark.parametrize("argument", ["DISTINCT x", "DISTINCT a.v"])
def test_counting_distinct_values_of_trends_is_said_to_be_for_matches(argument: str) -> None:
    error = error_of(f"QUERY q RETURN COUNT({argument}) PATTERN SEQ(A a, B b+)")
    assert "a value of one match, as in COUNT(DISTINCT b[].x). Trends have sums alone" in error
    assert "COUNT_DISTINCT" not in error


def test_distinct_in_an_aggregate_is_not_taken_for_another_word() -> None:
    error = error_of("QUERY q RETURN SUM(DISTINCT b[].v) PATTERN SEQ(A a, B b+)")
    assert "DISTINCT stands after RETURN, and in COUNT(DISTINCT b[].x)" in error
    assert "Did you mean" not in error


@pytest.mark.parametrize(
    ("clause", "advice"),
    [
        ("WITHIN 30m", "'m' is not a unit of time. Did you mean 'minutes'?"),
        ("WITHIN 30 m SLIDE 1 min", "Did you mean 'minutes'?"),
        ("WHERE b.v < 30 m", "Did you mean 'minutes'?"),
        ("WITHIN 3 months", "Months and years differ in length: write days."),
        ("WITHIN 1 yr", "Months and years differ in length: write days."),
    ],
)
def test_units_of_time_of_other_languages_are_known(clause: str, advice: str) -> None:
    assert advice in error_of(f"{TRENDS} {clause};")


def test_what_is_no_spark_session_is_refused() -> None:
    for events in (EVENTS, "events.parquet"):
        assert "spark takes a Spark session, not True" in error_of(TRENDS, events, spark=True)


def test_a_graph_of_a_recorded_run_takes_whole_numbers() -> None:
    results = el.Workload.parse(f"{TRENDS} WITHIN 10;").run(EVENTS, record=True)
    recording = results.statistics[0].recording
    with pytest.raises(InputError, match="time is a whole number, not datetime"):
        recording.graph(0, dt.datetime(2024, 1, 1))
    with pytest.raises(InputError, match="key is a whole number, not 'x'"):
        recording.graph("x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,type,v\n1,A,1\n2,B\n", "The standard input, row 2: 2 cells"),
        ('{"time":1}\n{"time":2,\n', "The standard input, line 2"),
        ("time;type\n1;A\n", "The standard input has one column"),
        ("time,type\n1,\xff\n", "The standard input, line 2: text"),
    ],
)
def test_errors_on_the_standard_input_name_it(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = SimpleNamespace(buffer=io.BytesIO(text.encode("latin1")))
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(InputError) as caught:
        read_events("-")
    assert str(caught.value).startswith(message)
    assert "elsinore-stdin" not in str(caught.value)


def test_errors_on_files_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("time,type\n1\n")
    with pytest.raises(InputError, match=r"'.*events\.csv', row 1"):
        read_events(path)


def test_many_queries_with_absent_types_are_reported_in_few_sentences() -> None:
    queries = "".join(f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ(T{n} a, B b);" for n in range(500))
    with pytest.warns(el.NoRowsWarning) as caught:
        results = el.Workload.parse(queries).run(EVENTS)
    (warning,) = [str(one.message) for one in caught]
    assert warning.count("no event has type") == 3
    assert warning.endswith("And 497 reasons more: results.warnings has all.")
    warnings = results.find_warnings()
    assert len(warnings) == 11
    assert warnings[-1] == "490 more queries name types that no event has."
