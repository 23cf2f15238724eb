"""Columns of every type in every use: the results of a column of numbers, or an error."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

import elsinore as el
from elsinore.errors import ElsinoreError, InputError, QuerySemanticError
from elsinore.model import AttributeKind as Kind
from elsinore.runtime.column_types import with_stored_types
from elsinore.runtime.schema import kind_of
from support.column_types import (
    AGGREGATES,
    SPARK_COLUMNS,
    USES,
    arrow_columns,
    constant,
    in_place,
    row_counts,
)
from support.drawn import CASES, Drawn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ARROW = arrow_columns()


def events(
    codes: Sequence[int | None],
    types: Sequence[str],
    column: pa.Array,
    more: Sequence[int | None],
) -> pa.Table:
    """Return events whose `v` and `w` are the values of a column at places, null for None."""
    null = len(column) - 1

    def values(codes: Sequence[int | None]) -> pa.ChunkedArray:
        places = [null if code is None else code for code in codes]
        return pa.chunked_array([column.slice(place, 1) for place in places])

    return pa.table(
        {
            "time": range(len(codes)),
            "type": types,
            "n": range(len(codes)),
            "v": values(codes),
            "w": values(more),
        }
    )


def drawn(draw: Drawn, values: int) -> tuple[list[int | None], list[str], list[int]]:
    """Draw codes of values, types of events, and codes of a second column."""
    size = draw.number(2, 7)
    codes = [draw.one([None, *range(values)]) for _ in range(size)]
    types = [draw.one("AAB") for _ in range(size - 1)] + ["B"]
    return codes, types, [draw.number(0, values) for _ in range(size)]


def run_all(table: Any, texts: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Run texts as one workload; return the rows of each by its name."""
    names = list(texts)
    text = "".join(f"QUERY q{place} {texts[name]};" for place, name in enumerate(names))
    results = el.Workload.parse(text).run(table)
    return {name: results[f"q{place}"].to_pylist() for place, name in enumerate(names)}


@pytest.mark.parametrize("name", ARROW)
@settings(max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "3")))
@given(draw=CASES)
def test_arrow_columns_of_any_type_are_used_as_numbers_are(name: str, draw: Drawn) -> None:
    column = ARROW[name]
    kind, values = kind_of(column.type), len(column) - 1
    codes, types, more = drawn(draw, values)
    table = events(codes, types, column, more)
    numbers = events(codes, types, pa.array([*range(values), None]), more)
    used = {use: each for use, each in USES.items() if kind in each.kinds}
    texts = {use: each.query for use, each in used.items()}
    python = with_stored_types(pa.table({"v": column}))["v"].to_pylist()
    number = draw.number(0, values - 1)
    written = constant(kind, python[number])
    in_numbers = dict(texts)
    if written is not None:
        for use, condition in {
            "equal": "a.v = {}",
            "above": "a.v > {}",
            "in": "b.v IN ({})",
        }.items():
            text = f"RETURN a.n, b.n AS m PATTERN SEQ(A a, B b) WHERE {condition}"
            if kind is not Kind.BOOLEAN or use != "above":
                texts[use], in_numbers[use] = text.format(written), text.format(number)
    expected = run_all(numbers, in_numbers)
    for use, rows in run_all(table, texts).items():
        of_numbers = expected[use]
        wanted = (
            in_place(of_numbers, USES[use], python)
            if use in USES
            else row_counts(row.values() for row in of_numbers)
        )
        assert row_counts(row.values() for row in rows) == wanted, use


@pytest.mark.parametrize(
    ("query", "column", "expected"),
    [
        ("RETURN b.v AS y PATTERN SEQ(A a, B b) WHERE b.v = '{}'", "y", ["{}"]),
        ("RETURN b.v AS y PATTERN SEQ(A a, B b) WHERE b.v IN ('x', '{}')", "y", ["{}"]),
        ("RETURN b.v AS y PATTERN SEQ(A a, B b) WHERE b.v = a.v", "y", ["{}"]),
        ("RETURN b.v AS y PATTERN SEQ(A a, B b) WHERE b.v = a.s", "y", ["{}"]),
        ("RETURN b.s AS y PATTERN SEQ(A a, B b) WHERE b.v = b.s AND [v]", "y", ["{}"]),
        ("RETURN COUNT(*) AS y PATTERN SEQ(A a, B b) WHERE b.v = '{}'", "y", [1]),
        ("RETURN COUNT(*) AS y PATTERN SEQ(A a, B b) WHERE b.v = a.v", "y", [1]),
        ("RETURN v, COUNT(*) AS y PATTERN SEQ(A a, B b) GROUP BY v", "v", ["{}"]),
        ("RETURN COUNT(*) AS y PATTERN SEQ(A a, B b) WHERE b.v LIKE '0f8fad5b-%'", "y", [1]),
    ],
)
def test_uuids_are_compared_as_texts(query: str, column: str, expected: list[Any]) -> None:
    text, other = "0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"
    octets = pa.array([uuid.UUID(name).bytes for name in (text, text, other)], pa.binary(16))
    table = pa.table(
        {
            "time": range(3),
            "type": ["A", "B", "B"],
            "v": pa.ExtensionArray.from_storage(pa.uuid(), octets),
            "s": [text, text, other],
        }
    )
    rows = el.Workload.parse(f"QUERY q {query.format(text)};").run(table)["q"]
    assert rows.to_pydict()[column] == [
        value.format(text) if isinstance(value, str) else value for value in expected
    ]


@pytest.mark.parametrize("name", ARROW)
def test_arrow_columns_are_refused_in_all_other_uses(name: str) -> None:
    column = ARROW[name]
    kind, values = kind_of(column.type), len(column) - 1
    table = events([0, 1, None], ["A", "B", "B"], column, [1, 0, values])
    for use, each in (USES | AGGREGATES).items():
        if kind not in each.kinds and kind is not Kind.DURATION:
            with pytest.raises(QuerySemanticError):
                run_all(table, {use: each.query})
    if kind in {Kind.NESTED, Kind.INTERVAL}:
        for text in ("a.v = 'x'", "a.v IN (1)", "a.v < 3"):
            with pytest.raises(QuerySemanticError, match="cannot be compared"):
                run_all(table, {"constant": f"RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE {text}"})


@pytest.mark.parametrize("name", ARROW)
def test_simultaneous_events_are_ordered_by_arrow_columns(name: str) -> None:
    column = ARROW[name]
    table = events([1, 0], ["B", "A"], column, [0, 0]).set_column(0, "time", pa.array([5, 5]))
    text = "RETURN a.n, b.n AS m PATTERN SEQ(A a, B b)"
    workload = el.Workload.parse(f"QUERY q {text};")
    if kind_of(column.type) in {Kind.NESTED, Kind.INTERVAL}:
        with pytest.raises(InputError, match=r'order_by="v": .* cannot be compared'):
            workload.run(table, order_by="v")
    else:
        assert workload.run(table, order_by="v")["q"].to_pylist() == [{"a.n": 1, "m": 0}]


CODES, TYPES, MORE = [0, 1, None, 0, 1, 0], "ABBABB", [1, 1, 0, 0, None, 1]
GROUPED = {"boolean", "float", "decimal(9,2)", "string", "binary", "date", "timestamp_ntz"}
WHOLE = {
    "returned",
    "listed",
    "distinct",
    "counted",
}  # uses for which a value itself goes to Python


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    """Give events with two columns of each of Spark's types, `v0` and `w0`, `v1` and `w1`, ..."""
    rows = zip(range(len(CODES)), TYPES, CODES, MORE, strict=True)
    numbers = spark.createDataFrame(list(rows), "n int, type string, v int, w int")
    columns = []
    for place, (kind, values) in enumerate(SPARK_COLUMNS.items()):
        for name in ("v", "w"):
            cases = " ".join(f"WHEN {code} THEN {value}" for code, value in enumerate(values))
            value = f"CASE {name} {cases} END"
            has_no_cast = kind in {"interval", "variant", "geometry(0)"}
            columns.append(
                f"{value if has_no_cast else f'CAST({value} AS {kind})'} AS {name}{place}"
            )
    return numbers.selectExpr("n AS time", "n", "type", *columns)


def of_column(query: str, place: int) -> str:
    """Return a query over column `v` as one over the column of a type."""
    query = query.replace("RETURN v", f"RETURN v{place}").replace("BY v", f"BY v{place}")
    for name in ("a.v", "b.v", "a.w", "[v", "[].v"):
        query = query.replace(name, f"{name}{place}")
    return query


def test_spark_columns_of_any_type_are_used_as_numbers_are(frame: DataFrame) -> None:
    from elsinore.spark.column_types import is_sent
    from elsinore.spark.column_types import kind_of as kind_of_type

    numbers = pa.table(
        {"time": range(6), "n": range(6), "type": list(TYPES), "v": CODES, "w": MORE}
    )
    expected = run_all(numbers, {use: each.query for use, each in USES.items()})
    checked: list[tuple[str, int, str]] = []
    keys = []
    for place, name in enumerate(SPARK_COLUMNS):
        kind = frame.schema[f"v{place}"].dataType
        for use, each in USES.items():
            query = of_column(each.query, place)
            sent = is_sent(kind) and (use != "distinct" or not name.startswith("map"))
            if kind_of_type(kind) in each.kinds and (sent or use not in WHOLE):
                if "[v]" in each.query:
                    keys.append(f"v{place}")
                elif "GROUP BY" not in query or name in GROUPED:
                    checked.append((use, place, query))
            elif kind_of_type(kind) is not Kind.DURATION:
                with pytest.raises(ElsinoreError):
                    el.Workload.parse(f"QUERY q {query};").run(frame)
    every_key = f"[{', '.join(dict.fromkeys(keys))}]"
    checked += [
        (use, 0, USES[use].query.replace("[v]", every_key))
        for use in ("key of trends", "key of matches")
    ]
    text = "".join(f"QUERY q{n} {query};" for n, (*_, query) in enumerate(checked))
    names = [field.name for field in frame.schema if is_sent(field.dataType)]
    originals = frame.orderBy("n").select(*names).toArrow().to_pylist()
    results = el.Workload.parse(text).run(frame)
    for n, (use, place, query) in enumerate(checked):
        values = [originals[CODES.index(code)].get(f"v{place}") for code in (0, 1)]
        rows = row_counts(row.values() for row in results[f"q{n}"].to_pylist())
        assert rows == in_place(expected[use], USES[use], values), query
