"""One suite for both drivers: what a run gives does not depend on where it runs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import elsinore as el

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = list[dict[str, Any]]
Run = Callable[..., Rows]
RunAll = Callable[[dict[str, str], pa.Table], dict[str, Rows]]


@pytest.fixture(params=["local", "spark"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a text over a table and return the only query's rows, in process or on Spark."""

    def on_engine(text: str, table: pa.Table, **options: Any) -> Rows:
        data: Any = table
        if request.param == "spark":
            data = spark_frame(request.getfixturevalue("spark"), table)
        results = el.Workload.parse(text).run(data, **options)
        assert len(results) == 1
        frame = next(iter(results.values()))
        return (frame.toArrow() if request.param == "spark" else frame).to_pylist()

    return on_engine


@pytest.fixture(params=["local", "spark"])
def run_all(request: pytest.FixtureRequest) -> RunAll:
    """Run texts over a table as one workload and return their rows, by the texts' names."""

    def on_engine(texts: dict[str, str], table: pa.Table) -> dict[str, Rows]:
        workload = el.Workload.parse(
            "".join(f"QUERY q{number} {text};" for number, text in enumerate(texts.values()))
        )
        if request.param == "local":
            rows = [found.to_pylist() for found in workload.run(table).values()]
        else:
            from support.spark import rows_of_all

            frame = spark_frame(request.getfixturevalue("spark"), table)
            rows = list(rows_of_all(workload.run(frame)).values())
        return dict(zip(texts, rows, strict=True))

    return on_engine


def spark_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return a table as a data frame; its times without a zone stay without one."""
    from pyspark.sql import functions as F  # noqa: N812

    local = [f.name for f in table.schema if f.type == pa.timestamp("us")]
    return spark.createDataFrame(table).withColumns({n: F.to_timestamp_ntz(n) for n in local})


def stream(types: str, **columns: list[Any]) -> pa.Table:
    """Return one event a second from 0 on, of the types named by letters."""
    return pa.table({"time": list(range(len(types))), "type": list(types), **columns})


def test_the_worked_example_of_the_paper_is_counted(run: Run) -> None:
    table = stream("AACBBBBAACCCB")
    rows = run("RETURN COUNT(*) PATTERN SEQ(A, B+)", table)
    assert [row["count(*)"] for row in rows] == [2 * 15 + 34]
    rows = run("RETURN COUNT(*) PATTERN SEQ(C, B+)", table)
    assert [row["count(*)"] for row in rows] == [15 + 19]


def test_every_aggregate_is_computed(run: Run) -> None:
    table = stream("ABB", v=[None, 2, 4], w=[0.5, 1.5, None])
    text = """RETURN COUNT(*), COUNT(b), SUM(b.v), AVG(b.w), MIN(b.v), MAX(b.v), MIN(b.w),
              LOG2(COUNT(*)) AS bits PATTERN SEQ(A a, B b+)"""
    (row,) = run(text, table)
    assert row == {
        "window_start": None,
        "window_end": None,
        "count(*)": 3.0,  # b1, b2, b1 b2
        "count(b)": 4.0,
        "sum(b.v)": 12.0,
        "avg(b.w)": 1.5,
        "min(b.v)": 2,
        "max(b.v)": 4,
        "min(b.w)": 1.5,
        "bits": pytest.approx(1.584962500721156),
    }


def test_variances_keep_what_is_small_beside_the_values(run: Run) -> None:
    # two parts of a group, on Spark in different tasks, whose values lie near one another or not
    near = [1e9 + n / 8 for n in (0, 1, 2, 3)]
    mixed = [0.25, 0.5, *near[:2]]
    table = stream("AAAAAAAA", g=["x"] * 4 + ["y"] * 4, k=[1, 1, 2, 2] * 2, v=near + mixed)
    text = """RETURN g, VARIANCE(A.v) AS a, STDDEV(A.v) AS b, VAR_POP(A.v) AS c,
              STDDEV_POP(A.v) AS d PATTERN A WHERE [k] GROUP BY g"""
    rows = {row["g"]: [row[name] for name in "abcd"] for row in run(text, table)}
    spread = 5 / 256  # of 0, 1/8, 2/8, 3/8
    assert rows["x"] == [spread * 4 / 3, (spread * 4 / 3) ** 0.5, spread, spread**0.5]
    values = [Fraction(value) for value in mixed]
    mean = sum(values) / 4
    wide = float(sum((value - mean) ** 2 for value in values) / 4)
    assert rows["y"] == pytest.approx(
        [wide * 4 / 3, (wide * 4 / 3) ** 0.5, wide, wide**0.5], rel=1e-12
    )


def test_groups_sum_up_the_parts_of_an_equivalence(run: Run) -> None:
    table = stream("AABBAB", g=["x", "x", "x", "x", "y", "y"], k=[1, 2, 1, 2, 1, 2])
    rows = run("RETURN g, COUNT(*) PATTERN SEQ(A, B+) WHERE [k] GROUP BY g", table)
    assert [(row["g"], row["count(*)"]) for row in rows] == [("x", 2.0)]


@pytest.mark.parametrize(
    "keys",
    [
        pa.array([7, 7, -3, 900, -3]),
        pa.array([7, 7, -100, 120, -100], pa.int8()),
        pa.array([7, 7, 2**40, 9, 2**40]),
        pa.array(["p", "p", "q", "r", "q"]).dictionary_encode(),
        pa.DictionaryArray.from_arrays([3, 3, 1, 2, 1], ["unused", "q", "r", "p"]),
        pa.array([1.5, 1.5, -0.5, float("inf"), -0.5]),
    ],
    ids=["gaps", "bytes", "far apart", "dictionary", "unused words", "doubles"],
)
def test_keys_may_be_any_values(run: Run, keys: pa.Array) -> None:
    table = stream("ABAAB").append_column("g", keys)
    rows = run("RETURN g, COUNT(*) PATTERN SEQ(A, B) GROUP BY g", table)
    one, _, other, _, _ = keys.to_pylist()
    assert {row["g"]: row["count(*)"] for row in rows} == {one: 1.0, other: 1.0}
    rows = run("RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [g]", table)
    assert [row["count(*)"] for row in rows] == [2.0]


def test_null_is_a_group_and_equals_nothing(run: Run) -> None:
    table = stream("ABAB", g=["x", "x", None, None], k=[1, 1, 1, 1])
    rows = run("RETURN g, COUNT(*) PATTERN SEQ(A, B) GROUP BY g", table)
    assert [(row["g"], row["count(*)"]) for row in rows] == [("x", 1.0), (None, 1.0)]
    rows = run("RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [g]", table)
    assert [row["count(*)"] for row in rows] == [1.0]
    unknown = stream("ABAB", w=[float("nan"), float("nan"), 1.0, 1.0])
    rows = run("RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [w]", unknown)
    assert [row["count(*)"] for row in rows] == [1.0]


MOMENT = dt.datetime(2024, 2, 29, 12, 0, 0, 250_000)
KINDS_OF_VALUES: dict[str, tuple[Any, Any]] = {
    "timestamp": (MOMENT.replace(tzinfo=dt.UTC), pa.timestamp("us", "UTC")),
    "timestamp_ntz": (MOMENT, pa.timestamp("us")),
    "date": (MOMENT.date(), pa.date32()),
    "decimal": (Decimal("12.50"), pa.decimal128(10, 2)),
    "binary": (b"\x00\xff", pa.binary()),
    "interval": (dt.timedelta(seconds=1.5), pa.duration("us")),
}


@pytest.mark.parametrize("kind", KINDS_OF_VALUES)
def test_a_key_may_be_of_any_plain_type(run: Run, kind: str) -> None:
    value, arrow = KINDS_OF_VALUES[kind]
    table = stream("AABBAB").append_column("key", pa.array([value, None] * 3, arrow))
    rows = run("RETURN key, COUNT(*) PATTERN SEQ(A, B+) GROUP BY key", table)
    assert [(row["key"], row["count(*)"]) for row in rows] == [(value, 1.0), (None, 3.0)]
    rows = run("RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [key]", table)
    assert [row["count(*)"] for row in rows] == [1.0]


@pytest.mark.parametrize("kind", ["struct", "array", "map"])
@pytest.mark.parametrize("place", ["WHERE [key]", "GROUP BY key"])
def test_a_key_is_not_nested(run: Run, kind: str, place: str) -> None:
    values: dict[str, pa.Array] = {
        "struct": pa.array([{"x": 1}, {"x": 2}]),
        "array": pa.array([[1], [2]]),
        "map": pa.array([[("x", 1)], [("x", 2)]], pa.map_(pa.string(), pa.int64())),
    }
    table = stream("AB").append_column("key", values[kind])
    with pytest.raises(el.QueryError, match="'key': a struct, an array or a map cannot be a key"):
        run(f"RETURN COUNT(*) PATTERN SEQ(A, B) {place}", table)


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz", "date"])
def test_the_least_and_the_greatest_may_be_times(run: Run, kind: str) -> None:
    value, arrow = KINDS_OF_VALUES[kind]
    values = [value + dt.timedelta(days=day) for day in range(4)]
    table = stream("ABBB").append_column("at", pa.array([*values[:3], None], arrow))
    (row,) = run("RETURN MIN(B.at), MAX(B.at), MIN(A.at) PATTERN SEQ(A, B+)", table)
    assert list(row.values())[2:] == [values[1], values[2], values[0]]


def test_the_least_and_the_greatest_whole_numbers_are_values(run: Run) -> None:
    least, greatest = -(2**63), 2**63 - 1
    values = pa.array([least, greatest, None, least, 5, greatest], pa.int64())
    table = stream("AAAAAA", g=["l", "g", "n", "s", "s", "s"]).append_column("v", values)
    rows = run("RETURN g, MIN(A.v) AS a, MAX(A.v) AS b PATTERN A+ GROUP BY g", table)
    assert {row["g"]: (row["a"], row["b"]) for row in rows} == {
        "l": (least, least),
        "g": (greatest, greatest),
        "n": (None, None),
        "s": (least, greatest),
    }


def test_windows_overlap_and_trends_belong_to_each_that_holds_them(run: Run) -> None:
    rows = run("RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 4 SLIDE 2", stream("ABXAB"))
    assert [(row["window_start"], row["count(*)"]) for row in rows] == [
        (-2, 1.0),
        (0, 1.0),
        (2, 1.0),
    ]
    assert [row["window_end"] for row in rows] == [2, 4, 6]


def test_simultaneous_events_do_not_precede_one_another(run: Run) -> None:
    table = pa.table({"time": [0, 1, 1, 2], "type": list("ABBB"), "seq": [0, 2, 1, 0]})
    text = "RETURN COUNT(*) PATTERN SEQ(A, B+)"
    assert [row["count(*)"] for row in run(text, table)] == [5.0]
    assert [row["count(*)"] for row in run(text, table, order_by="seq")] == [7.0]


def test_local_predicates_of_all_kinds_select_events(run_all: RunAll) -> None:
    table = stream(
        "ABBBBB",
        v=[0, 1, 5, 9, None, 20],
        w=[0.0, float("nan"), 2.0, 4.0, 4.0, 0.0],
        s=["", "x", "y", "x", "z", None],
    )
    counts = {
        "b.v < 6": 3,
        "b.v >= 5 AND b.v < 10 AND b.v != 9": 1,
        "NOT b.w > 3": 3,
        "b.s IN ('x', 'z')": 7,
        "b.s = 'x' OR b.s IS NULL": 7,
        "b.v / b.w > 2 AND b.v + 1 > 2": 3,
        "b.v % 2 = 1 OR ABS(b.w) = 4": 15,
    }
    found = run_all(
        {text: f"RETURN COUNT(*) AS n PATTERN SEQ(A a, B b+) WHERE {text}" for text in counts},
        table,
    )
    assert {text: [row["n"] for row in rows] for text, rows in found.items()} == {
        text: [float(trends)] for text, trends in counts.items()
    }


def test_constants_may_be_of_any_size(run_all: RunAll) -> None:
    table = stream("AAA", v=[1, 2**63 - 1, -(2**63)], w=[1.0, 1e19, -1e19])
    huge, beyond = 10**20, "1" + "0" * 400
    counts = {
        f"a.v < {huge}": 7,
        f"a.v < {beyond} AND a.w > -{beyond}": 7,
        f"a.v >= {2**63 - 1} AND a.v < {2**63}": 1,
        f"a.v < -{2**63 - 1}": 1,
        f"a.v IN (1, {huge})": 1,
        f"a.v NOT IN ({huge}, {beyond})": 7,
        f"a.v + {huge} > {huge}": 3,
        f"a.w > {2**63} AND a.w < {huge}": 1,
        "a.v > 0.5": 3,
        "a.v / 2 > 1 OR a.v % 1.5 = 1": 3,
        f"a[i].v > a[i-1].v + {huge}.0": 3,
    }
    found = run_all(
        {text: f"RETURN COUNT(*) AS n PATTERN A a+ WHERE {text}" for text in counts}, table
    )
    assert {text: [row["n"] for row in rows] for text, rows in found.items()} == {
        text: [float(trends)] for text, trends in counts.items()
    }


def test_conditions_between_events_compute_with_no_whole_constants_beyond_64_bits() -> None:
    text = f"RETURN COUNT(*) AS n PATTERN A a+ WHERE a[i].v > a[i-1].v + {10**20}"
    with pytest.raises(el.InputError, match="which is out of range"):
        el.Workload.parse(text).run(stream("AAA", v=[1, 2**63 - 1, -(2**63)]))


def test_an_ambiguous_pattern_counts_each_trend_once(run: Run) -> None:
    rows = run("RETURN COUNT(*), SUM(A.v) PATTERN SEQ(A a+, A b+)", stream("AAA", v=[1, 2, 3]))
    assert [(row["count(*)"], row["sum(A.v)"]) for row in rows] == [(4.0, 18.0)]


def test_exact_counts_have_all_their_digits(run: Run) -> None:
    (row,) = run("EXACT; QUERY q RETURN COUNT(*) PATTERN A+;", stream("A" * 200))
    assert row["count(*)"] is None
    assert row["count(*)_digits"] == str(2**200 - 1)
    (row,) = run("EXACT; QUERY q RETURN COUNT(*), SUM(A.v) PATTERN A+;", stream("AAA", v=[1, 2, 3]))
    assert (row["count(*)"], row["count(*)_digits"]) == (Decimal(7), None)
    assert row["sum(A.v)"] == Decimal(24)


def test_counts_beyond_a_double_are_infinite_and_their_logarithm_is_not(run: Run) -> None:
    (row,) = run(
        "RETURN COUNT(*), LOG2(COUNT(*)), AVG(A.v) PATTERN A+", stream("A" * 2000, v=[3] * 2000)
    )
    assert row["count(*)"] == float("inf")
    assert row["log2(count(*))"] == pytest.approx(2000, abs=1e-9)
    assert row["avg(A.v)"] == pytest.approx(3)


@pytest.mark.parametrize(
    ("times", "start", "end"),
    [
        ([0.5, 1.5], 0.0, 10.0),
        (
            [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 0, 0, 1)],
            dt.datetime(2024, 1, 1),
            dt.datetime(2024, 1, 1, 0, 0, 10),
        ),
    ],
)
def test_windows_speak_of_time_as_the_input_did(
    run: Run, times: list[Any], start: Any, end: Any
) -> None:
    table = pa.table({"at": times, "type": ["A", "B"]})
    (row,) = run("RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10 seconds", table, time="at")
    assert [row["window_start"], row["window_end"]] == [start, end]


def test_types_may_be_an_expression(run: Run) -> None:
    table = pa.table({"time": [0, 1, 2], "delay": [0, 30, None]})
    kind = "CASE WHEN delay IS NULL THEN 'Gone' WHEN delay > 15 THEN 'Late' ELSE 'Fine' END"
    (row,) = run("RETURN COUNT(*) PATTERN SEQ(Fine, Late, Gone)", table, type=kind)
    assert row["count(*)"] == 1.0


def test_no_trend_gives_no_row(run: Run) -> None:
    assert run("RETURN COUNT(*), MIN(B.v) PATTERN SEQ(A, B)", stream("BA", v=[1, 2])) == []
    assert (
        run(
            "RETURN COUNT(*) PATTERN SEQ(A, B)",
            stream("")[:0].cast(pa.schema([("time", pa.int64()), ("type", pa.string())])),
        )
        == []
    )
