"""Expressions and classes are on Spark what they are in this process."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from elsinore.expressions.columns import evaluate
from elsinore.language import parse_expression
from elsinore.plan.classes import Classes
from elsinore.runtime.classify import classify, type_numbers
from elsinore.spark.classify import class_column
from elsinore.spark.expressions import Columns
from elsinore.trends.kind import spec_of
from elsinore.workload import Workload

PREDICATES = (
    "B.v > 1", "B.v <= w0", "1 < B.w", "B.w != 0", "B.w = -1.5", "NOT B.w > 0", "B.w IS NULL",
    "NOT B.w IS NULL", "B.v / B.w > 1", "B.v / 0 = 1", "B.v % 2 = 1", "B.v % 2 = -1", "B.v % 0 = 0",
    "B.w % 1 = 0.25", "B.w % 0 IS NULL", "-B.v > 1", "ABS(B.w) > 1", "B.v + B.w > 1",
    "B.v - B.v = 0", "B.v * B.w >= 0.5", "B.s = 'q'", "B.s != 'q'", "B.s < 'q'", "B.s IS NULL",
    "B.s IN ('p', '')", "B.v IN (1, 3)", "B.v IN (1, NULL)", "NOT B.v IN (1, NULL)", "B.b",
    "NOT B.b", "B.b = TRUE", "B.b != FALSE", "B.b AND B.v > 0", "B.b OR B.v > 0",
    "NOT (B.b AND B.v > 0)", "(B.b OR B.v > 0) IS NULL", "B.v = NULL", "NULL IS NULL", "TRUE",
    "B.v > 1 AND NULL = 1", "B.f > 0.1", "B.f = 0.5", "B.i > 2", "B.i * 2 = 4", "B.i / 2 = 0.5",
    "B.s LIKE 'p%'", "B.s LIKE '_'", "B.s NOT LIKE '%'", "B.s LIKE ''", "B.s LIKE '\\%'",
    "NULL LIKE 'a'", "B.w - B.w IS NULL", "B.w * 0 != 1", "B.v % B.w = B.v",
    "LOG2(B.v) >= 1", "LOG2(B.w) < 0", "LOG2(B.i) IS NULL",
    "B.i * 2000000000 = 4000000000", "B.i + 2147483647 > 0", "-B.i - 2147483648 < 0",
    "B.i * 1000000000 * B.i > 1000000000", "B.i % 2 = -1",
)  # fmt: skip
CUTS = """
    QUERY one RETURN COUNT(*) PATTERN SEQ(A, B+)
        WHERE B.v < 1 AND B.v >= -1 AND B.v != 0 AND A.s = 'p' AND A.w > 0.25;
    QUERY two RETURN COUNT(*) PATTERN SEQ(A, B+)
        WHERE B.v <= 2.5 AND 0 < B.v AND A.s != 'q' AND A.w >= 0.25;
    QUERY three RETURN COUNT(*) PATTERN SEQ(A, C)
        WHERE A.s IN ('p', '', 'z') AND 1 >= A.w AND C.b AND C.v / C.w < 1;"""


def table() -> pa.Table:
    """Return every combination of a few values, nulls and NaN."""
    rows = itertools.product(
        ["A", "B", "C", "D"],
        [-3, -1, 0, 1, 2, None],
        [-1.5, 0.0, 0.25, 2.0, math.inf, math.nan, None],
        ["p", "q", "", None],
        [True, False, None],
    )
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)]
    made = pa.table(dict(zip(["type", "v", "w", "s", "b"], columns, strict=True)))
    made = made.append_column("f", made.column("w").cast(pa.float32()))
    return made.append_column("i", made.column("v").cast(pa.int32()))


def test_predicates_are_true_of_the_same_events(spark: SparkSession) -> None:
    texts = [text.replace("w0", "B.w") for text in PREDICATES]
    queries = [
        f"QUERY q{n} RETURN COUNT(*) PATTERN B WHERE {text};" for n, text in enumerate(texts)
    ]
    conditions = [query.where for query in Workload.parse("\n".join(queries))]
    events = table()
    frame = spark.createDataFrame(events)
    columns = Columns(frame)
    predicates = [part for parts in conditions for part in parts]
    actual = frame.select(
        *(
            columns.evaluate(part).cast("boolean").alias(f"c{n}")
            for n, part in enumerate(predicates)
        )
    ).toArrow()
    arrays = {name: events.column(name).combine_chunks() for name in events.column_names}
    for number, predicate in enumerate(predicates):
        expected = evaluate(predicate, arrays)
        if isinstance(expected, pa.Scalar):
            expected = pa.array([expected.as_py()] * events.num_rows)
        assert actual.column(number).to_pylist() == expected.to_pylist(), predicate


ENDS = (
    "A.n + A.m", "A.n - A.m", "A.n * A.m", "-A.n", "ABS(A.n)", "A.n * 4 - A.m", "A.i * A.i * A.i",
    "A.n % A.m", "-(A.n + 1)", "A.n * 4000000000", "A.n + A.m IS NULL", "A.d + A.e", "A.d - A.e",
    "A.d * A.n", "A.d / A.n", "A.d * A.w", "A.d / A.w", "-A.d", "ABS(A.d)", "A.d * 3 > A.e",
    "A.t + A.d > A.t", "A.t - A.d < A.t", "A.t - A.u > A.d", "A.d + 1 ns > A.e",
    "A.t + A.d + 500 ns > A.u", "A.d / A.e > 1", "A.n + A.w > 0",
)  # fmt: skip


def test_what_64_bits_have_no_room_for_is_null_on_spark_too(spark: SparkSession) -> None:
    ends = [2**63 - 1, -(2**63), 2**62, -3, -1, 0, 2, None]
    rows = list(itertools.product(ends, ends))
    one, other = (pa.array(list(column), pa.int64()) for column in zip(*rows, strict=True))
    near = pc.divide(one, 40)  # years that Spark writes
    events = pa.table(
        {
            "n": one,
            "m": other,
            "i": pc.divide(one, 2**32).cast(pa.int32()),
            "w": pc.multiply(other.cast(pa.float64(), safe=False), 1.5),
            "d": one.cast(pa.duration("us")),
            "e": other.cast(pa.duration("us")),
            "t": near.cast(pa.timestamp("us")),
            "u": pc.divide(other, 40).cast(pa.timestamp("us")),
        }
    )
    frame = spark.createDataFrame(events)
    columns = Columns(frame)
    expressions = [parse_expression(text) for text in ENDS]
    actual = frame.select(
        *(columns.evaluate(part).alias(f"c{n}") for n, part in enumerate(expressions))
    ).toArrow()
    arrays = {name: events.column(name).combine_chunks() for name in events.column_names}
    for number, text in enumerate(ENDS):
        expected = evaluate(expressions[number], arrays)
        found = actual.column(number)
        if pa.types.is_duration(found.type):
            found, expected = found.cast(pa.int64()), expected.cast(pa.int64())
        assert found.to_pylist() == expected.to_pylist(), text


def test_classes_are_the_same_and_events_that_no_state_takes_have_none(
    spark: SparkSession,
) -> None:
    events = table()
    frame = spark.createDataFrame(events)
    (unit,) = Workload.parse(CUTS).plan.units
    assert isinstance(unit.classes, Classes)
    names = [one.type for one in unit.classes.types]
    arrays = {name: events.column(name).combine_chunks() for name in events.column_names}
    expected = classify(unit.classes, type_numbers(arrays["type"], names), names, arrays).tolist()
    column = class_column(unit, F.col("type"), Columns(frame)).alias("class")
    actual = frame.select(column).toArrow().column("class").to_pylist()
    edges = [edge for node in spec_of(unit).merged.nodes for edge in node.edges]
    seen = set()
    for code, wanted in zip(actual, expected, strict=True):
        taken = wanted >= 0 and any(edge.takes(*unit.classes.decode(wanted)) for edge in edges)
        assert code == (wanted if taken else None)
        seen.add(taken)
    assert seen == {True, False}


def test_times_in_texts_are_told_apart_in_any_zone(spark: SparkSession) -> None:
    texts = [f"2024-03-31 0{hour}:30" for hour in range(5)]
    conditions = "".join(
        f"QUERY q{n} RETURN COUNT(*) PATTERN A WHERE A.t = '{text}';"
        for n, text in enumerate(texts)
    )
    (unit,) = Workload.parse(conditions).plan.units
    times = pa.array([None, *range(1711848600, 1711848600 + 7200, 1800)], pa.timestamp("s", "UTC"))
    events = pa.table({"type": ["A"] * len(times), "t": times.cast(pa.timestamp("us", "UTC"))})
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        frame = spark.createDataFrame(events)
        column = class_column(unit, F.col("type"), Columns(frame)).alias("class")
        actual = frame.select(column).toArrow().column("class").to_pylist()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    classes = unit.classes
    assert isinstance(classes, Classes)
    (told,) = classes.types
    assert len(told.digits) == 1
    times = events.column("t").combine_chunks()
    expected = classify(classes, np.zeros(len(times), np.int32), ["A"], {"t": times}).tolist()
    assert len(set(expected)) == 4  # three of the times, and none of them
    assert actual == [code if told.true(code) else None for code in expected]
