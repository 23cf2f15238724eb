"""Integers of all 64 bits are compared as what they are, whatever a double holds of them."""

from __future__ import annotations

import itertools
import operator

import pyarrow as pa
import pytest

import elsinore as el
from elsinore.errors import InputError

SIGNED = (-(2**63), 2**63 - 1, 2**63 - 2, 0, None, 2**53, 2**53 + 1, -(2**63))
UNSIGNED = (2**64 - 1, 0, 2**63 + 1, 2**63, None, 1, 2**63 - 1, 2**64 - 1)
COMPARED = {"<": operator.lt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne}
KINDS = pytest.mark.parametrize(
    ("kind", "values"), [(pa.int64(), SIGNED), (pa.uint64(), UNSIGNED)], ids=["signed", "unsigned"]
)


def rows(query: str, kind: pa.DataType, values: tuple[int | None, ...]) -> list[tuple[int, ...]]:
    column = pa.array(values, kind)
    table = pa.table({"time": range(len(values)), "type": ["A"] * len(values), "v": column})
    found = el.Workload.parse(f"QUERY q {query}").run(table)["q"]
    return sorted(tuple(row.values()) for row in found.to_pylist())


@KINDS
@pytest.mark.parametrize("sign", COMPARED)
def test_two_events_are_compared(
    kind: pa.DataType, values: tuple[int | None, ...], sign: str
) -> None:
    found = rows(
        f"RETURN a.time AS a, b.time AS b PATTERN SEQ(A a, A b) WHERE a.v {sign} b.v", kind, values
    )
    assert found == [
        (first, second)
        for first, second in itertools.combinations(range(len(values)), 2)
        if None not in {values[first], values[second]}
        and COMPARED[sign](values[first], values[second])
    ]


@KINDS
def test_least_and_greatest_are_of_all_values(
    kind: pa.DataType, values: tuple[int | None, ...]
) -> None:
    found = rows(
        "RETURN b[1].time AS t, b[b.LEN].time AS u, MIN(b[].v) AS least, MAX(b[].v) AS most "
        "PATTERN A b{2}",
        kind,
        values,
    )
    for first, second, *extremes in found:
        known = [value for value in (values[first], values[second]) if value is not None]
        assert extremes == [min(known), max(known)]


@KINDS
@pytest.mark.parametrize("constant", [0, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1])
def test_aggregates_are_compared_with_constants(
    kind: pa.DataType, values: tuple[int | None, ...], constant: int
) -> None:
    query = (
        f"RETURN b[1].time AS t, b[b.LEN].time AS u PATTERN A b{{2}} WHERE MAX(b[].v) > {constant}"
    )
    greatest = {
        (first, second): max(known)
        for first, second in itertools.combinations(range(len(values)), 2)
        if (known := [v for v in (values[first], values[second]) if v is not None])
    }
    expected = [pair for pair, value in greatest.items() if value > constant]
    assert rows(query, kind, values) == expected


def test_the_two_values_with_one_code_are_refused_together() -> None:
    query = "RETURN MIN(b[].v) AS least PATTERN A b+"
    assert rows(query, pa.int64(), (-(2**63),)) == [(-(2**63),)]
    for kind, last, beside in (
        (pa.int64(), -(2**63), 1 - 2**63),
        (pa.uint64(), 2**64 - 1, 2**64 - 2),
    ):
        with pytest.raises(InputError, match=f"'v' has {last} and {beside}"):
            rows(query, kind, (last, beside))


SUMMED = (2**62, 1, -(2**62), 2**53 + 1, None, -1, 2**61)


def test_sums_of_a_match_are_exact_whatever_their_parts() -> None:
    column = pa.array(SUMMED, pa.int64())
    table = pa.table({"time": range(len(SUMMED)), "type": ["A"] * len(SUMMED), "v": column})
    text = "QUERY q RETURN b[].v AS v, SUM(b[].v) AS s PATTERN A b{3} WHERE SUM(b[].v) != 7"
    found = el.Workload.parse(text).run(table)["q"].to_pylist()
    expected = [
        known
        for triple in itertools.combinations(SUMMED, 3)
        if (known := [value for value in triple if value is not None])
    ]
    assert [row["s"] for row in found] == [sum(values) for values in expected]


def test_whole_numbers_are_computed_exactly_between_events_and_in_columns() -> None:
    values = (2**62, 2**62 - 1, 3)
    table = pa.table({"time": range(3), "type": ["A"] * 3, "v": pa.array(values, pa.int64())})
    text = "QUERY q RETURN a.v - b.v AS d, a.v % 10 AS m PATTERN SEQ(A a, A b) WHERE a.v - b.v = 1"
    found = el.Workload.parse(text).run(table)["q"]
    assert found.schema.types == [pa.int64(), pa.int64()]
    assert found.to_pylist() == [{"d": 1, "m": 2**62 % 10}]


@pytest.mark.parametrize(
    ("column", "constant", "kind", "value"),
    [
        ("a.v", 2**63, pa.int64(), 2**63 - 1),
        ("a.v + 0 * b.v", 2**63, pa.int64(), 2**63 - 1),
        ("ABS(a.v)", 2**63, pa.int64(), 1 - 2**63),
        ("a.v", -(2**63) - 1, pa.int64(), -(2**63) + 1),
        ("a.v", 2**64, pa.uint64(), 2**64 - 2),
        ("a.v", -1, pa.uint64(), 0),
    ],
)
@pytest.mark.parametrize("sign", COMPARED)
@pytest.mark.parametrize("result", ["a.v", "COUNT(*)"])
def test_constants_beyond_the_column_are_not_rounded(
    column: str, constant: int, kind: pa.DataType, value: int, sign: str, result: str
) -> None:
    text = (
        f"RETURN {result} PATTERN SEQ(A a, A b) WHERE {column} {sign} {constant} OR a.time > b.time"
    )
    actual = abs(value) if "ABS" in column else value
    assert len(rows(text, kind, (value, value))) == COMPARED[sign](actual, constant)


def test_a_constant_with_the_code_of_null_is_rejected() -> None:
    text = "RETURN a.v PATTERN SEQ(A a, A b) WHERE a.v < {} OR a.time > b.time"
    for constant, kind in ((-(2**63), pa.int64()), (2**64 - 1, pa.uint64())):
        with pytest.raises(InputError, match=f"{constant}, which is out of range"):
            rows(text.format(constant), kind, (1, 1))
