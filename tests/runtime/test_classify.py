"""Classes told from columns against predicates looked at one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.language import parse_expression
from elsinore.model import Expression
from elsinore.model.evaluate import is_true
from elsinore.plan.classes import classes_of
from elsinore.runtime.classify import (
    classify,
    type_numbers,
    type_places,
)

often = settings(max_examples=80)
TESTS = tuple(
    [f"A.v {test} {number}" for test in ("<", "<=", ">", ">=", "=", "!=") for number in (-1, 0, 2)]
    + [f"A.w {test} {number}" for test in ("<", "<=", "=", "!=") for number in (-0.5, 0, 1.5)]
    + [f"A.s {test} '{text}'" for test in ("=", "!=") for text in "abc"]
    + ["A.s IN ('a', 'c')", "A.s < 'b'", "A.s IS NULL", "A.b = TRUE", "A.b = FALSE", "A.b != TRUE"]
    + ["A.b", "NOT A.b", "A.v + A.w > 1", "A.v IS NULL OR A.b", "1 = 2", "NULL = 1", "TRUE"]
)
predicates = st.lists(st.sampled_from(TESTS).map(parse_expression), max_size=12, unique=True)
NAMES = ("A", "B", "unknown")
rows = st.fixed_dictionaries(
    {
        "type": st.sampled_from([None, "A", "A", "B", "unknown", "nobody's"]),
        "v": st.sampled_from([None, -2, -1, 0, 1, 2, 3]),
        "w": st.sampled_from([None, math.nan, -1.0, -0.5, 0.0, 1.0, 1.5, 9.0, math.inf]),
        "s": st.sampled_from([None, "", "a", "b", "c", "d"]),
        "b": st.sampled_from([None, True, False]),
    }
)
SCHEMA = pa.schema({"type": "string", "v": "int64", "w": "double", "s": "string", "b": "bool"})
STORED = (
    {},
    {"s": pa.large_string(), "type": pa.large_string()},
    {
        "s": pa.dictionary(pa.int32(), pa.string()),
        "type": pa.dictionary(pa.int8(), pa.string()),
    },
    {"v": pa.int8(), "w": pa.float32(), "s": pa.dictionary(pa.int8(), pa.large_string())},
    {"v": pa.float64()},
)


@often
@given(predicates, predicates, st.lists(rows, max_size=20), st.sampled_from(STORED))
def test_a_class_says_which_predicates_hold(
    one: list[Expression],
    other: list[Expression],
    stream: list[dict[str, Any]],
    stored: dict[str, pa.DataType],
) -> None:
    classes = classes_of([("A", one), ("B", other)])
    table = pa.Table.from_pylist(stream, SCHEMA)
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    columns |= {name: columns[name].cast(kind) for name, kind in stored.items()}
    numbers = type_numbers(columns["type"], NAMES)
    codes = classify(classes, numbers, NAMES, columns)
    assert len(codes) == len(stream)
    for row, code in zip(stream, codes.tolist(), strict=True):
        if row["type"] not in {"A", "B"}:
            assert code == -1
            continue
        local = one if row["type"] == "A" else other
        expected = {test for test in local if is_true(test, lambda read, row=row: row[read.name])}
        assert classes.decode(code) == (row["type"], expected)


def test_predicates_are_computed_for_events_of_their_type_only() -> None:
    classes = classes_of([("A", [parse_expression("A.v + 1 > 0")]), ("B", [])])
    columns = {"v": pa.array([1, 2**63 - 1, 2**63 - 1])}  # a sum that overflows for B, not for A
    numbers = np.array([0, 1, 1], dtype=np.int32)
    assert classify(classes, numbers, ("A", "B"), columns).tolist() == [1, 2, 2]


def test_no_events_have_no_classes() -> None:
    classes = classes_of([("A", [parse_expression("A.v > 0")])])
    numbers = np.array([], dtype=np.int32)
    assert classify(classes, numbers, ("A",), {"v": pa.array([], pa.int64())}).tolist() == []


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("encoded", [False, True])
def test_type_numbers_are_places_in_the_list_of_names(kind: pa.DataType, encoded: bool) -> None:
    names = ["A", "", "AB", "速度"]
    types = pa.array(["AB", "A", None, "", "B", "速度", "ABC", "速"], kind)
    expected = [2, 0, -1, 1, -1, 3, -1, -1]
    column = types.dictionary_encode() if encoded else types
    assert type_numbers(column, names).tolist() == expected
    assert type_numbers(column.slice(2, 4), names).tolist() == expected[2:6]
    assert type_numbers(column.slice(8), names).tolist() == []


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_types_of_nothing_but_nulls_have_no_number(kind: pa.DataType) -> None:
    assert type_numbers(pa.nulls(3, kind), ["A"]).tolist() == [-1, -1, -1]


@pytest.mark.parametrize("texts", [["C", "A", "B", "A", "x", "C"], ["C", None, "A", "B", "A", ""]])
def test_types_without_predicates_have_one_class_each(texts: list[str | None]) -> None:
    classes = classes_of([("A", ()), ("C", ())])
    places, names = type_places(pa.array(texts), ["A", "B", "C"])
    codes = classify(classes, places.whole(), names, {})
    assert codes.tolist() == [{"A": 0, "C": 1}.get(str(text), -1) for text in texts]


@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.timestamp("us", "Asia/Tokyo"), pa.date32()])
@pytest.mark.parametrize("ways", [1, 2, 3])
def test_times_in_texts_are_the_times_that_columns_have(kind: pa.DataType, ways: int) -> None:
    named = ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]
    named += [" 2024-01-02"] * (ways > 1)
    if ways > 2 and pa.types.is_timestamp(kind):
        named += ["2024-01-02 00:00", "2024-01-02T01:00:00+01:00"]
    tests = [parse_expression(f"A.t = '{text}'") for text in named]
    classes = classes_of([("A", tests)])
    (told,) = classes.types
    assert (len(told.digits) == 1) == (ways == 1)
    days = pa.array([None, 19723, 19724], pa.int32()).cast(pa.date32()).cast(kind)
    codes = classify(classes, np.zeros(3, dtype=np.int32), ["A"], {"t": days})
    held = [told.true(code) for code in codes.tolist()]
    assert held == [set(), {tests[0]}, {tests[1], *tests[4:]}]
