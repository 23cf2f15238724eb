"""The in-process driver: what it takes, what it gives, and what it says."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.errors import InputError, InvalidWorkloadError, QuerySemanticError
from elsinore.language import parse_workload
from elsinore.local import driver, run
from elsinore.model import Workload
from elsinore.model.clock import NANOSECONDS, Clock
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions
from elsinore.runtime.results import Results
from elsinore.workload import Workload as Elsinore
from support.trends import event_streams, table_of, trend_workloads

PATTERN = "QUERY q RETURN COUNT(*) AS n PATTERN SEQ(A, B+)"
# a1 b2 b3 c4: {a1 b2}, {a1 b3}, {a1 b2 b3}
EVENTS = {"time": [1, 2, 3, 4], "type": ["A", "B", "B", "C"], "g": ["x", "x", "x", "y"]}


def results(text: str, data: object, **options: Any) -> Results[pa.Table]:
    return run(plan(parse_workload(text)), data, RunOptions(**options))


def rows(text: str, data: object, **options: Any) -> list[dict[str, Any]]:
    return results(text, data, **options)["q"].to_pylist()


def counts(text: str, data: object, **options: Any) -> list[Any]:
    return [row["n"] for row in rows(text, data, **options)]


def test_numbers_and_texts_may_have_a_dictionary() -> None:
    query = (
        "QUERY q RETURN k, MIN(b.v) AS lo, SUM(b.v) AS sum, COUNT(*) AS n PATTERN SEQ(A a, B b+) "
        "WHERE b[i].v > b[i-1].v GROUP BY k"
    )
    plain = pa.table(
        {"time": [0, 1, 2, 3], "type": list("ABBB"), "k": ["x"] * 4, "v": pa.array([1, 2, 3, 4])}
    )
    coded = pa.table({name: plain[name].dictionary_encode() for name in plain.column_names[1:]})
    actual = rows(query, coded.append_column("time", plain["time"]))
    assert actual == rows(query, plain)
    assert actual[0] | {"lo": 2, "sum": 36, "n": 7} == actual[0]


@pytest.mark.parametrize("query", [PATTERN, f"{PATTERN} WHERE B[i].v > B[i-1].v"])
@pytest.mark.parametrize("window", ["WITHIN 10", "WITHIN 10 SLIDE 3"])
def test_times_whose_windows_leave_64_bits_are_refused(query: str, window: str) -> None:
    for times in ([2**63 - 9, 2**63 - 2], [-(2**63) + 1, -(2**63) + 2]):
        data = pa.table({"time": times, "type": ["A", "B"], "v": [1, 2]})
        with pytest.raises(InputError, match="2 with time out of range"):
            rows(f"{query} {window}", data, time_unit="us")


def test_whole_numbers_without_a_sign_are_compared_beyond_63_bits() -> None:
    data = {"time": [0, 1, 2], "type": ["A"] * 3, "v": pa.array([1, 2**63, 2**64 - 1], pa.uint64())}
    query = "QUERY q RETURN COUNT(*) AS n PATTERN A a WHERE a.v > {}"
    assert counts(query.format(-1), pa.table(data)) == [3]
    assert counts(query.format(1), pa.table(data)) == [2]
    assert counts(
        "QUERY q RETURN COUNT(*) AS n PATTERN A a WHERE a.v IN (1, 5)", pa.table(data)
    ) == [1]


def test_a_column_of_nulls_alone_has_aggregates() -> None:
    data = pa.table({"time": [1, 2], "type": ["A", "A"], "v": pa.nulls(2)})
    spreads = "SUM(A.v) AS s, AVG(A.v) AS a, MIN(A.v) AS m, VARIANCE(A.v) AS w"
    for exact in ("", "EXACT; "):
        (row,) = rows(f"{exact}QUERY q RETURN COUNT(*) AS n, {spreads} PATTERN A+", data)
        assert row["n"] == 3
        assert [row[name] for name in "samw"] == [None] * 4
    of_matches = "QUERY q RETURN a[].v AS v, a[] AS all, SUM(a[].v) AS s, MAX(a[].v) AS m"
    whole = [{"time": time, "type": "A", "v": None} for time in (1, 2)]
    pairs = Elsinore.parse(f"{of_matches} PATTERN A a{{2}}").run(data)["q"]
    assert pairs.to_pylist() == [{"v": [None] * 2, "all": whole, "s": None, "m": None}]
    assert len(Elsinore.parse(f"{of_matches} PATTERN A a+").run(data)["q"]) == 3


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.float16()], ids=str)
def test_zeros_of_either_sign_are_one_key(kind: pa.DataType) -> None:
    values = pa.array(np.array([-0.0, 0.0, 1.0, np.nan, np.nan], dtype=kind.to_pandas_dtype()))
    for column in (values, values.dictionary_encode()) if kind != pa.float16() else (values,):
        data = pa.table({"time": range(5), "type": ["A"] * 5, "g": column})
        groups = rows("QUERY q RETURN g, COUNT(*) AS n PATTERN A+ GROUP BY g", data)
        assert [row["n"] for row in groups] == [3, 1, 3]
        assert [str(row["g"]) for row in groups] == ["0.0", "1.0", "nan"]
        assert counts("QUERY q RETURN COUNT(*) AS n PATTERN A+ WHERE [g]", data) == [4]


def test_events_need_not_be_sorted() -> None:
    backwards = {name: values[::-1] for name, values in EVENTS.items()}
    assert counts(PATTERN, backwards) == counts(PATTERN, EVENTS) == [3]


def test_simultaneous_events_are_not_in_sequence_unless_a_column_orders_them() -> None:
    events = {"time": [1, 1, 1], "type": ["B", "A", "B"], "seq": [3, 1, 2]}
    assert counts(PATTERN, events) == []
    assert counts(PATTERN, events, order_by=("seq",)) == [3]
    assert counts(PATTERN, events, order_by=("-seq",)) == []


@pytest.mark.parametrize(
    "data",
    [
        EVENTS,
        pa.table(EVENTS),
        pa.table(EVENTS).to_batches(max_chunksize=2),
        pa.table(EVENTS).to_pylist(),
        pd.DataFrame(EVENTS),
        pl.DataFrame(EVENTS),
        pl.LazyFrame(EVENTS),
    ],
    ids=lambda data: f"{type(data).__module__}.{type(data).__name__}",
)
def test_events_come_in_any_of_the_usual_containers(data: object) -> None:
    assert rows(f"{PATTERN} GROUP BY g", data) == [
        {"g": "x", "window_start": None, "window_end": None, "n": 3}
    ]


def test_numbers_in_are_numbers_out() -> None:
    (row, *more) = rows(f"{PATTERN} WITHIN 10 s", EVENTS)
    assert more == []
    assert (row["window_start"], row["window_end"], row["n"]) == (0, 10, 3)


def test_numbers_are_in_the_unit_they_are_said_to_be_in() -> None:
    (row,) = rows(f"{PATTERN} WITHIN 10 ms", EVENTS, time_unit="ms")
    assert (row["window_start"], row["window_end"]) == (0, 10)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Copenhagen"])
def test_timestamps_in_are_timestamps_out(unit: str, zone: str | None) -> None:
    start = datetime(2024, 5, 1, 12, tzinfo=None if zone is None else UTC)
    times = [start + timedelta(seconds=second) for second in EVENTS["time"]]
    table = pa.table(EVENTS).set_column(0, "time", pa.array(times, pa.timestamp(unit, zone)))
    actual = results(f"{PATTERN} WITHIN 10 s", table)["q"]
    kind = actual.schema.field("window_start").type
    assert pa.types.is_timestamp(kind)
    assert kind.tz == zone
    (row,) = actual.to_pylist()
    assert row["window_start"] == start
    assert row["window_end"] == start + timedelta(seconds=10)


def test_dates_are_the_starts_of_their_days() -> None:
    days = [date(2024, 5, day) for day in EVENTS["time"]]
    (row,) = rows(f"{PATTERN} WITHIN 1000 weeks", EVENTS | {"time": days})
    assert row["n"] == 3
    # the epoch was a Thursday: its weeks part May 1, a Wednesday, from the days after it
    assert rows(f"{PATTERN} WITHIN 1 week", EVENTS | {"time": days}) == []
    (row,) = rows("QUERY q RETURN COUNT(*) AS n PATTERN B+ WITHIN 1 week", EVENTS | {"time": days})
    assert (row["n"], row["window_start"], row["window_end"]) == (
        3,
        date(2024, 5, 2),
        date(2024, 5, 9),
    )


def test_texts_are_read_as_times() -> None:
    times = [f"2024-05-01T00:00:0{second}Z" for second in EVENTS["time"]]
    assert counts(f"{PATTERN} WITHIN 10 s", EVENTS | {"time": times}) == [3]


UNUSABLE = {"time": [1, None, 2, 3], "type": ["A", "B", "B", None]}


def test_unusable_events_stop_a_run() -> None:
    with pytest.raises(InputError, match=r"2 events of 4 cannot be used"):
        results(PATTERN, UNUSABLE)


def test_unusable_events_are_handed_out_where_that_is_allowed() -> None:
    actual = results(PATTERN, UNUSABLE, allow_rejects=True)
    assert actual["q"].to_pylist()[0]["n"] == 1
    assert actual.rejected is not None
    assert [row["reject_reason"] for row in actual.rejected.to_pylist()] == [
        "null time",
        "null type",
    ]


def test_a_run_without_unusable_events_rejects_nothing() -> None:
    actual = results(PATTERN, EVENTS, allow_rejects=True)
    assert actual.rejected is None or actual.rejected.num_rows == 0


def test_no_events_give_a_table_without_rows() -> None:
    empty = pa.table(EVENTS).slice(0, 0)
    text = "QUERY q RETURN COUNT(*) AS n, SUM(A.v), MIN(A.v) PATTERN A+ GROUP BY g WITHIN 10 s"
    table = empty.append_column("v", pa.array([], pa.float64()))
    actual = results(text, table)
    assert actual["q"].num_rows == 0
    assert actual["q"].column_names == [
        "g",
        "window_start",
        "window_end",
        "n",
        "sum(A.v)",
        "min(A.v)",
    ]
    assert actual["q"].schema.field("g").type == pa.string()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": "tme"}, "no column 'tme', read for the time. Did you mean 'time'"),
        ({"type": "typ"}, "no column 'typ', read for the type. Did you mean 'type'"),
        ({"type": "Trade"}, """are of one type, give it as a text: type="'Trade'"."""),
        ({"order_by": ("sequence",)}, "no column 'sequence'"),
    ],
)
def test_unknown_columns_are_told_with_the_nearest(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        results(PATTERN, EVENTS, **options)


def test_unknown_attributes_are_told_before_events_are_read() -> None:
    with pytest.raises(
        QuerySemanticError, match=r"A has no attribute 'spead'.*Did you mean 'speed'"
    ):
        results(
            "QUERY q RETURN SUM(A.spead) PATTERN A+",
            {"time": [None], "type": ["A"], "speed": [1]},
        )
    with pytest.raises(InvalidWorkloadError):
        results("QUERY q RETURN SUM(A.x) PATTERN A+ GROUP BY y", EVENTS)


def test_types_that_never_occur_are_warned_of_with_those_that_do() -> None:
    actual = results(f"{PATTERN}; QUERY other RETURN COUNT(*) PATTERN SEQ(Aa, D, C)", EVENTS)
    assert actual.warnings == (
        "query other: no event has type Aa or D. Did you mean 'A' for Aa? Types seen: B, A, C.",
    )
    assert results(PATTERN, EVENTS).warnings == ()


def test_no_more_than_a_dozen_types_are_listed_in_a_warning() -> None:
    events = {"time": list(range(20)), "type": [f"t{number}" for number in range(20)]}
    (warning,) = results("QUERY q RETURN COUNT(*) PATTERN A", events).warnings
    assert warning.endswith(" and 8 more.")
    assert warning.count(", ") == 11


@pytest.mark.parametrize(
    "kind",
    [
        pa.dictionary(pa.int32(), pa.string()),
        pa.dictionary(pa.int8(), pa.large_string()),
        pa.large_string(),
        pa.string_view(),
    ],
)
def test_types_are_read_however_they_are_stored(kind: pa.DataType) -> None:
    types = pa.array(EVENTS["type"])
    stored = (
        types.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else types.cast(kind)
    )
    assert counts(PATTERN, pa.table(EVENTS | {"type": stored})) == [3]


def test_types_may_be_numbers() -> None:
    text = 'QUERY q RETURN COUNT(*) AS n PATTERN SEQ("1" a, "2" b+)'
    assert counts(text, {"time": [1, 2, 3], "type": [1, 2, 2]}) == [3]


def test_types_may_be_computed() -> None:
    events = {"time": [1, 2, 3], "v": [5, 15, 20]}
    kind = "CASE WHEN v > 10 THEN 'B' ELSE 'A' END"
    assert counts(PATTERN, events, type=kind) == [3]


def test_group_attributes_come_first_under_their_aliases() -> None:
    events = EVENTS | {"h": [1, 1, 1, 2]}
    text = (
        "QUERY q RETURN COUNT(*) AS n, g AS place, LOG2(COUNT(*)) PATTERN SEQ(A, B+) GROUP BY h, g"
    )
    (row,) = rows(text, events)
    assert list(row)[0:2] == ["h", "place"] or list(row)[0:2] == ["place", "h"]
    assert list(row)[2:] == ["window_start", "window_end", "n", "log2(count(*))"]
    assert (row["h"], row["place"], row["n"]) == (1, "x", 3)


def test_rows_are_sorted_by_group_and_window() -> None:
    events = {"time": [25, 5, 15, 6], "type": ["A"] * 4, "g": ["b", "b", "a", None]}
    actual = rows("QUERY q RETURN COUNT(*) AS n PATTERN A GROUP BY g WITHIN 10 s", events)
    assert [(row["g"], row["window_start"]) for row in actual] == [
        ("a", 10), ("b", 0), ("b", 20), (None, 0),
    ]  # fmt: skip


def test_a_null_in_an_equivalence_matches_nothing() -> None:
    events = {"time": [1, 2, 3, 4], "type": ["A", "B", "A", "B"], "k": [None, None, 1, 1]}
    assert counts(f"{PATTERN} WHERE [k]", events) == [1]
    assert counts(f"{PATTERN} WHERE [k] GROUP BY k", events) == [1]


def test_a_null_in_group_by_is_a_group() -> None:
    events = {"time": [1, 2, 3, 4], "type": ["A", "B", "A", "B"], "k": [None, None, 1, 1]}
    actual = rows(f"{PATTERN} GROUP BY k", events)
    assert {row["k"]: row["n"] for row in actual} == {None: 1, 1: 1}


def test_parts_of_an_equivalence_are_summed_up_in_their_group() -> None:
    events = {
        "time": [1, 2, 3, 4, 5, 6],
        "type": ["A", "A", "B", "B", "A", "B"],
        "k": [1, 2, 1, 2, 3, 3],
        "g": ["x", "x", "x", "x", "y", "y"],
    }
    actual = rows(f"{PATTERN} WHERE [k] GROUP BY g", events)
    assert {row["g"]: row["n"] for row in actual} == {"x": 2, "y": 1}


@settings(max_examples=20)
@given(trend_workloads(), event_streams())
def test_taking_keys_one_after_another_to_save_memory_changes_nothing(
    workload: Workload, events: list[Any]
) -> None:
    table = table_of(events)
    planned = plan(workload)
    usual = run(planned, table, RunOptions())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "STATE_LIMIT", 0)
        frugal = run(planned, table, RunOptions())
    for query in workload:
        assert frugal[query.name].to_pylist() == usual[query.name].to_pylist()


def test_results_are_a_mapping_that_names_its_queries() -> None:
    actual = results(PATTERN, EVENTS)
    assert list(actual) == ["q"]
    assert len(actual.statistics) == 1
    with pytest.raises(KeyError, match="No query 'p'"):
        actual["p"]


def test_a_workload_is_planned_once_for_clocks_by_which_its_windows_are_the_same() -> None:
    told = Elsinore.parse(f"{PATTERN} WITHIN 60 seconds;")
    assert told.planned(clock=Clock(1, None)) is told.plan
    assert told.planned(clock=Clock(1_000)) is not told.plan
    bare = Elsinore.parse(f"{PATTERN} WITHIN 60;")
    assert bare.planned(clock=Clock(1, NANOSECONDS["ms"])) is not bare.plan
    with pytest.raises(QuerySemanticError, match="needs a unit"):
        bare.planned(clock=Clock(1, None))


def test_columns_are_put_in_the_order_of_time_as_they_are_read() -> None:
    table = pa.table({"time": [2, 1], "type": ["B", "A"], "v": [1, 2], "w": [3, 4]})
    stream, _ = driver.prepare(table, RunOptions())
    assert not stream.whole
    assert stream.column("v").to_pylist() == [2, 1]
    assert list(stream.whole) == ["v"]


@given(
    st.lists(st.none() | st.integers(-9, 9), max_size=12),
    st.booleans(),
    st.integers(0, 9),
    st.integers(1, 2),
)
def test_events_come_in_the_order_of_times_that_can_be_used(
    times: list[int | None], ascending: bool, largest: int, threads: int
) -> None:
    if ascending:
        times.sort(key=lambda time: -99 if time is None else time)
    table = pa.table({"time": pa.array(times, pa.int64()), "type": pa.array(["A"] * len(times))})
    options = RunOptions(time_unit="us", largest_time=largest, allow_rejects=True)
    stream, rejected = driver.prepare(table, options, threads)
    usable = [time for time in times if time is not None and abs(time) <= largest]
    assert stream.times.tolist() == sorted(usable)
    assert stream.ordered == all(map(int.__lt__, usable, usable[1:]))
    assert (rejected.num_rows if rejected is not None else 0) == len(times) - len(usable)
