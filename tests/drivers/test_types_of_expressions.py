"""Every operator and function has one type for each kind of operand, wherever it stands.

The tables here are written by hand, in the words of the language's documentation: what a kind of
value may meet, and what comes of it. Each is checked in WHERE and in RETURN, of trends and of
matches, in process and on Spark, with times in four units.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812

import elsinore as el
from elsinore.errors import ElsinoreError, InvalidWorkloadError, QuerySemanticError

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
COLUMNS = {  # an attribute of each kind
    "whole": "n",
    "double": "x",
    "text": "s",
    "truth": "p",
    "time": "time",
    "date": "day",
    "length": "d",
}
NUMBERS = {"whole", "double"}
TIMES = {"time", "date"}


def result_of(operator: str, left: str, right: str) -> str | None:
    """Return the kind of an operator's result, as the documentation has it; None: no type."""
    if operator in {"<", "<=", "=", "!=", ">", ">="}:
        same = left == right or {left, right} <= NUMBERS or {left, right} <= TIMES
        return "truth" if same else None
    if operator in {"AND", "OR"}:
        return "truth" if left == right == "truth" else None
    if left in NUMBERS and right in NUMBERS:
        whole = left == right == "whole" and operator != "/"
        return "whole" if whole else "double"
    if left in TIMES and right in TIMES:
        return "length" if operator == "-" else None
    if left in TIMES and right == "length":
        return "time" if operator in {"+", "-"} else None
    if left == "length" and right in TIMES:
        return "time" if operator == "+" else None
    if left == right == "length":
        return {"+": "length", "-": "length", "/": "double"}.get(operator)
    if left == "length" and right in NUMBERS:
        return "length" if operator in {"*", "/"} else None
    if left in NUMBERS and right == "length":
        return "length" if operator == "*" else None
    return None


FUNCTIONS = {  # of one value of each kind, what they give
    "ABS": {"whole": "whole", "double": "double", "length": "length"},
    "-": {"whole": "whole", "double": "double", "length": "length"},
    "LOG2": {"whole": "double", "double": "double"},
    "SUM": {"whole": "whole", "double": "double", "length": "length"},
    "AVG": {"whole": "double", "double": "double", "length": "length"},
    "MIN": {kind: kind for kind in COLUMNS if kind != "text"},
    "MAX": {kind: kind for kind in COLUMNS if kind != "text"},
    "COUNT": dict.fromkeys(COLUMNS, "whole"),
}
AGGREGATES = {"SUM", "AVG", "MIN", "MAX", "COUNT"}
OPERATORS = ("<", "<=", "=", "!=", ">", ">=", "AND", "OR", "+", "-", "*", "/", "%")
PAIRS = list(itertools.product(COLUMNS, COLUMNS))
WITH_UNITS = ("time", "length")  # kinds of which a table's unit decides the type
PAIRS_WITH_UNITS = [pair for pair in PAIRS if not {*WITH_UNITS}.isdisjoint(pair)]
LOCAL = 60  # conditions on events of one type that one workload can tell apart


def events(unit: str) -> pa.Table:
    """Return events with an attribute of each kind; their times are in a unit."""
    ticks = UNITS[unit]
    return pa.table(
        {
            "time": pa.array([n * ticks for n in (0, 60, 200)], pa.timestamp(unit)),
            "type": ["A", "B", "B"],
            "n": pa.array([1, 2, 3], pa.int64()),
            "x": pa.array([0.5, 1.5, 2.5], pa.float64()),
            "s": ["a", "b", "c"],
            "p": [True, False, True],
            "day": pa.array([0, 1, 2], pa.date32()),
            "d": pa.array([n * ticks for n in (30, 90, 7)], pa.duration(unit)),
        }
    )


def events_with_nulls() -> pa.Table:
    """Return events in microseconds with zeros, negative values, equal values and nulls."""
    second = UNITS["us"]
    return pa.table(
        {
            "time": pa.array([n * second for n in (0, 0, 60, 200, 300)], pa.timestamp("us")),
            "type": ["A", "A", "B", "B", "B"],
            "n": pa.array([3, 0, 2, 3, None], pa.int64()),
            "x": pa.array([0.5, 2.5, 0.0, 2.5, None], pa.float64()),
            "s": ["b", "a", "b", "c", None],
            "p": [True, False, True, False, None],
            "day": pa.array([0, 2, 2, -1, None], pa.date32()),
            "d": pa.array([30 * second, 7, 0, -30 * second, None], pa.duration("us")),
        }
    )


def spark_frame(table: pa.Table, spark: SparkSession) -> DataFrame:
    """Return events as a data frame of Spark."""
    schema = T.StructType(
        [
            T.StructField("time", T.TimestampNTZType()),
            T.StructField("type", T.StringType()),
            T.StructField("n", T.LongType()),
            T.StructField("x", T.DoubleType()),
            T.StructField("s", T.StringType()),
            T.StructField("p", T.BooleanType()),
            T.StructField("day", T.DateType()),
            T.StructField("d", T.DayTimeIntervalType()),
        ]
    )
    return spark.createDataFrame([tuple(row.values()) for row in table.to_pylist()], schema)


def is_kind(kind: str, data_type: pa.DataType) -> bool:
    """Return whether a column's type is that of a kind of value."""
    tests = {
        "whole": pa.types.is_int64,
        "double": pa.types.is_float64,
        "text": pa.types.is_string,
        "truth": pa.types.is_boolean,
        "time": pa.types.is_timestamp,
        "date": pa.types.is_date,
        "length": pa.types.is_duration,
    }
    return bool(tests[kind](data_type))


def as_condition(expression: str, kind: str) -> str:
    """Return a condition that an expression of some kind is part of."""
    return expression if kind == "truth" else f"({expression}) IS NOT NULL"


def check(queries: Sequence[str], table: pa.Table, expected: str | None) -> None:
    """Check that queries run, the first with a column of the expected kind; or are rejected."""
    if expected is None:
        for query in queries:
            with pytest.raises((QuerySemanticError, InvalidWorkloadError)) as caught:
                el.Workload.parse(f"QUERY q {query}").run(table)
            error = caught.value
            errors = error.errors if isinstance(error, InvalidWorkloadError) else [error]
            assert all(error.span is not None for error in errors), query
        return
    results = el.Workload.parse(workload_text(queries)).run(table)
    column = results["q0"].schema.field("y")
    assert is_kind(expected, column.type), (queries[0], column)


def workload_text(queries: Sequence[str]) -> str:
    """Return queries named q0, q1, ... as one text."""
    return "\n".join(f"QUERY q{number} {query};" for number, query in enumerate(queries))


def operator_conditions(operator: str, left: str, right: str) -> tuple[str, str]:
    """Return an operator between two kinds as a condition, between two events and on one."""
    kind = result_of(operator, left, right) or "truth"
    between = f"a.{COLUMNS[left]} {operator} b.{COLUMNS[right]}"
    local = f"b.{COLUMNS[left]} {operator} b.{COLUMNS[right]}"
    return as_condition(between, kind), as_condition(local, kind)


def function_call(function: str, kind: str) -> str:
    """Return a function of one event's value, or of those of all events of a Kleene variable."""
    column = COLUMNS[kind]
    return f"{function}(b[].{column})" if function in AGGREGATES else f"{function}(b.{column})"


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_in_process(operator: str, unit: str) -> None:
    table = events(unit)
    matches = "RETURN {} AS y PATTERN SEQ(A a, B b){}"
    trends = "RETURN COUNT(*) PATTERN SEQ(A a, B b){}"
    for left, right in PAIRS if unit == "us" else PAIRS_WITH_UNITS:
        queries = [matches.format(f"a.{COLUMNS[left]} {operator} b.{COLUMNS[right]}", "")]
        for condition in operator_conditions(operator, left, right):
            where = f" WHERE {condition}"
            queries += [matches.format("b.n", where), trends.format(where)]
        check(queries, table, result_of(operator, left, right))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_in_process(function: str, unit: str) -> None:
    table = events(unit)
    pattern = "B+ b" if function in AGGREGATES else "B b"
    for kind in COLUMNS if unit == "us" else WITH_UNITS:
        expected = FUNCTIONS[function].get(kind)
        call = function_call(function, kind)
        where = as_condition(call, expected or "whole")
        queries = [
            f"RETURN {call} AS y PATTERN SEQ(A a, {pattern})",
            f"RETURN a.n PATTERN SEQ(A a, {pattern}) WHERE {where} AND a.n >= 0",
        ]
        check(queries, table, expected)


def queries_of_all_types() -> tuple[list[str], list[str], list[str]]:
    """Return queries with every operator and function that has a type.

    The first compute all of them in RETURN, the second have conditions between events, of matches
    and of trends in turn, and the third have conditions on single events.
    """
    values, between, local = [], [], []
    for operator, (left, right) in itertools.product(OPERATORS, PAIRS):
        if result_of(operator, left, right) is not None:
            values.append(f"a.{COLUMNS[left]} {operator} b.{COLUMNS[right]}")
            of_two, of_one = operator_conditions(operator, left, right)
            between.append(f"RETURN b.n PATTERN SEQ(A a, B b) WHERE {of_two}")
            between.append(f"RETURN COUNT(*), SUM(b.n) PATTERN SEQ(A a, B b) WHERE {of_two}")
            local.append(f"RETURN COUNT(*), SUM(b.n) PATTERN SEQ(A a, B b) WHERE {of_one}")
    folded = []
    for function, kinds in FUNCTIONS.items():
        for kind, result in kinds.items():
            call = function_call(function, kind)
            condition = as_condition(call, result)
            if function in AGGREGATES:
                folded.append(call)
                between.append(f"RETURN b[].n PATTERN SEQ(A a, B+ b[]) WHERE {condition}")
            else:
                values.append(call)
                local.append(f"RETURN a.n, b.n PATTERN SEQ(A a, B b) WHERE {condition}")
    in_return = [
        f"RETURN {', '.join(calls)} PATTERN SEQ(A a, {pattern})"
        for calls, pattern in ((values, "B b"), (folded, "B+ b"))
    ]
    return in_return, between, local


def compare_engines(
    queries: Sequence[str], table: pa.Table, frame: DataFrame, **options: str
) -> None:
    """Check that a workload of queries gives the same rows and types in process and on Spark."""
    workload = el.Workload.parse(workload_text(queries))
    in_process = workload.run(table, **options)
    with workload.run(frame, **options) as on_spark:
        for number, query in enumerate(queries):
            expected, rows = in_process[f"q{number}"], on_spark[f"q{number}"].to_arrow()
            assert expected.schema.types == rows.schema.types, query
            assert sorted(map(str, expected.to_pylist())) == sorted(map(str, rows.to_pylist())), (
                query
            )


def test_all_that_has_a_type_is_the_same_on_spark(spark: SparkSession) -> None:
    table = events_with_nulls()
    frame = spark_frame(table, spark)
    in_return, between, local = queries_of_all_types()
    compare_engines([*in_return, *between], table, frame)
    for first in range(0, len(local), LOCAL):
        compare_engines(local[first : first + LOCAL], table, frame)


QUERIES_OF_TIMES = (
    "RETURN b.time - a.time AS y PATTERN SEQ(A a, B b)",
    "RETURN b.time + 30 minutes AS y PATTERN SEQ(A a, B b)",
    "RETURN (b.time - a.time) / 7 AS y PATTERN SEQ(A a, B b)",
    "RETURN (b.time - a.time) * 1.5 AS y, b.d / 1 minute AS z PATTERN SEQ(A a, B b)",
    "RETURN SUM(b[].d) AS y, AVG(b[].d) AS z PATTERN SEQ(A a, B+ b)",
    "RETURN AVG(b[].time - b[].day) AS y, MAX(b[].time + b[].d) AS z PATTERN SEQ(A a, B+ b)",
    "RETURN 'high' AS y, TRUE AS z, 5 minutes AS w, b.n + a.n AS v PATTERN SEQ(A a, B b)",
    "RETURN b.day - a.day AS y, b.time - a.day AS z PATTERN SEQ(A a, B b)",
    "RETURN b.n AS y PATTERN SEQ(A a, B b) WHERE b.time - a.time <= 1 minute",
    "RETURN b.n AS y PATTERN SEQ(A a, B b) WHERE b.time - b.day > -1 day",
    "RETURN b.n AS y PATTERN SEQ(A a, B b) WHERE b.d * 2 <= 3 minutes AND b.time < b.day",
    "RETURN b.n AS y PATTERN SEQ(A a, B b) WHERE b.d / 7 > 1 second AND b.d / b.n >= a.d",
    "RETURN COUNT(*) AS y, MAX(B.d) AS z PATTERN SEQ(A, B+) WHERE B[i].d - B[i-1].d < 1 h",
    "RETURN COUNT(*) AS y PATTERN B WHERE B.time - B.day < -23 hours AND B.d > 5 seconds",
)


def test_both_engines_give_the_same_values_and_types(spark: SparkSession) -> None:
    table = events("us")
    compare_engines(QUERIES_OF_TIMES, table, spark_frame(table, spark))


def test_a_date_beside_a_text_with_a_time_of_day_is_its_midnight(spark: SparkSession) -> None:
    days = {"1970-01-03": 0, "1970-01-03T00:00:00": 0, "1970-01-03T12:30:00": 1, "1970-01-02": -1}
    holds = {"<": {1}, "<=": {0, 1}, "=": {0}, "!=": {-1, 1}, ">=": {-1, 0}, ">": {-1}}
    table = events_with_nulls().slice(1, 2)  # both on 1970-01-03
    queries, expected = [], []
    for (text, place), operator in itertools.product(days.items(), holds):
        condition = f"b.day {operator} '{text}'"
        for where in (condition, f"({condition} OR b.time < a.time)"):
            queries.append(f"RETURN b.n PATTERN SEQ(A a, B b) WHERE {where}")
            queries.append(f"RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE {where}")
            expected += [int(place in holds[operator])] * 2
    compare_engines(queries, table, spark_frame(table, spark))
    results = el.Workload.parse(workload_text(queries)).run(table)
    assert [results[f"q{number}"].num_rows for number in range(len(queries))] == expected


def numeric_queries(unit: str) -> list[str]:
    """Return queries with every operator between times, lengths and numbers that has a type.

    The time is a number in a unit; beside it a bare number counts in that unit.
    """
    operands = {"time": ("a.ts", "b.ts"), "length": ("90 seconds", "(b.ts - a.ts)")}
    operands |= {"whole": ("7", "b.n"), "double": ("1.5", "b.x")}
    values, queries = [], []
    for operator, left, right in itertools.product(OPERATORS, operands, operands):
        kind = result_of(operator, left, right)
        bare = "time" in {left, right} and left != right and {left, right} & NUMBERS
        if bare and operator not in {"AND", "OR", "*", "/", "%"}:
            kind = "time" if operator in {"+", "-"} else "truth"
        if kind is None or not {left, right} & {"time", "length"}:
            continue
        expression = f"{operands[left][0]} {operator} {operands[right][1]}"
        values.append(expression)
        condition = as_condition(expression, kind) + " AND b.ts > a.ts"
        queries.append(f"RETURN b.n PATTERN SEQ(A a, B b) WHERE {condition}")
        queries.append(f"RETURN COUNT(*), SUM(b.n) PATTERN SEQ(A a, B b) WHERE {condition}")
    values += ["ABS(a.ts - b.ts)", "-(b.ts - a.ts)", "LOG2((b.ts - a.ts) / 1 minute)"]
    queries.append(f"RETURN {', '.join(values)} PATTERN SEQ(A a, B b)")
    calls = [f"{call}(b[].ts - b[].ts)" for call in ("SUM", "AVG", "MIN", "MAX")]
    queries.append(f"RETURN {', '.join(calls)}, MAX(b[].ts) PATTERN SEQ(A a, B+ b)")
    return queries


@pytest.mark.parametrize("unit", UNITS)
def test_lengths_beside_a_numeric_time_are_in_its_unit(unit: str, spark: SparkSession) -> None:
    ticks = UNITS[unit]
    table = pa.table(
        {
            "ts": pa.array([n * ticks for n in (0, 20, 100)], pa.int64()),
            "type": ["A", "B", "B"],
            "n": pa.array([1, 2, None], pa.int64()),
            "x": pa.array([0.5, 1.5, None], pa.float64()),
        }
    )
    text = (
        "QUERY m RETURN b.ts - a.ts AS d, b.ts + 1 minute AS t, b.ts AS u "
        "PATTERN SEQ(A a, B b) WHERE b.ts - a.ts <= 28 seconds; "
        "QUERY t RETURN COUNT(*) AS n PATTERN SEQ(A a, B b) WHERE 28 seconds < b.ts - a.ts; "
        f"QUERY bare RETURN b.n PATTERN SEQ(A a, B b) WHERE b.ts - a.ts <= {28 * ticks};"
    )
    results = el.Workload.parse(text).run(table, time="ts", time_unit=unit)
    assert results["m"].to_pylist() == [{"d": 20 * ticks, "t": 80 * ticks, "u": 20 * ticks}]
    assert results["t"].to_pydict()["n"] == [1]
    assert results["bare"].to_pydict()["b.n"] == [2]
    if unit in {"s", "ns"}:  # the coarsest and the finest
        frame = spark.createDataFrame(table)
        compare_engines(numeric_queries(unit), table, frame, time="ts", time_unit=unit)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("b.time * 2", "a time cannot be multiplied"),
        ("b.time + a.time", "two times cannot be added"),
        ("LOG2(b.time)", "LOG2 needs a number; 'time' is a time"),
        ("b.time % 2", "a time has no remainder"),
        ("b.time / 2", "a time cannot be divided"),
        ("b.time < 5 minutes", "a time beside a length of time"),
        ("(b.time - a.time) * (b.time - a.time)", "a length of time \\* a length of time"),
    ],
)
@pytest.mark.parametrize("is_number", [True, False], ids=["number", "timestamp"])
def test_what_no_time_can_do_is_rejected_with_its_place(
    expression: str, reason: str, is_number: bool
) -> None:
    table = events("s")
    if is_number:
        table = table.set_column(0, "time", pa.array([0, 60, 200]))
    for query in (
        f"QUERY q RETURN {expression} AS y PATTERN SEQ(A a, B b)",
        f"QUERY q RETURN a.n PATTERN SEQ(A a, B b) WHERE ({expression}) IS NULL",
        f"QUERY q RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE ({expression}) IS NULL",
    ):
        with pytest.raises(QuerySemanticError, match=reason) as caught:
            el.Workload.parse(query).run(table)
        span = caught.value.span
        assert span is not None
        assert query[span.start : span.stop].strip("()") in {expression, "b.time"} or (
            expression.startswith("(")
        )


@pytest.mark.parametrize("expression", ["b.time + 5", "5 + b.time", "b.d + 5", "b.d < 5"])
def test_numbers_beside_timestamps_and_intervals_need_a_unit(expression: str) -> None:
    query = f"QUERY q RETURN b.n PATTERN B b WHERE ({expression}) IS NULL"
    with pytest.raises(QuerySemanticError, match="5 minutes"):
        el.Workload.parse(query).run(events("us"))


def test_a_length_beside_a_number_is_rejected_with_the_remedy() -> None:
    table = events("us")
    with pytest.raises(ElsinoreError, match="divide by 1 second"):
        el.Workload.parse("QUERY q RETURN B.n PATTERN B WHERE B.n > 5 minutes").run(table)
    found = el.Workload.parse("QUERY q RETURN B.n AS n PATTERN B WHERE B.n > 2 seconds / 1 second")
    assert found.run(table)["q"].to_pydict() == {"n": [3]}
