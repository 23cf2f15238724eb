"""Arrow's evaluation of expressions against the plain one, row by row."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.errors import InputError
from elsinore.expressions.columns import evaluate
from elsinore.language import parse_expression
from elsinore.model import (
    Attribute,
    Binary,
    Call,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
    Operator,
)
from elsinore.model.evaluate import evaluate as plainly

often = settings(max_examples=100)
COMPARISONS = [operator for operator in Operator if operator.is_comparison]
ARITHMETIC = [operator for operator in Operator if operator.is_arithmetic]
SCHEMA = {"v": pa.int64(), "w": pa.float64(), "s": pa.string(), "b": pa.bool_()}


def attribute(name: str) -> Attribute:
    return Attribute("A", name)


whole = st.integers(-4, 4)
# halves: every sum, product and quotient by a power of two is exact in both ways
halves = st.integers(-8, 8).map(lambda number: number / 2)
leaves = st.one_of(
    st.sampled_from([attribute("v"), attribute("w")]),
    st.builds(Literal, st.one_of(whole, halves)),
)
numbers = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Binary, st.sampled_from(ARITHMETIC), inner, inner),
        st.builds(Negative, inner),
        st.builds(lambda of: Call("ABS", (of,)), inner),
    ),
    max_leaves=4,
)
texts = st.one_of(st.just(attribute("s")), st.builds(Literal, st.sampled_from(["", "a", "b"])))
tests = st.one_of(
    st.builds(Binary, st.sampled_from(COMPARISONS), numbers, numbers),
    st.builds(Binary, st.sampled_from(COMPARISONS), texts, texts),
    st.builds(
        Binary,
        st.sampled_from([Operator.EQ, Operator.NE]),
        st.just(attribute("b")),
        st.builds(Literal, st.one_of(st.booleans(), st.none())),
    ),
    st.just(attribute("b")),
    st.builds(Like, texts, st.sampled_from(["", "%", "a", "_", "a%", "%b", "\\%"])),
    st.builds(IsNull, st.one_of(numbers, texts, st.just(attribute("b")))),
    st.builds(
        InList,
        st.sampled_from([attribute("v"), attribute("w")]),
        st.lists(st.builds(Literal, st.one_of(whole, st.none())), min_size=1, max_size=3).map(
            tuple
        ),
    ),
    st.builds(
        InList,
        st.just(attribute("s")),
        st.lists(st.builds(Literal, st.sampled_from(["a", "c", None])), min_size=1, max_size=3).map(
            tuple
        ),
    ),
)
conditions = st.recursive(
    tests,
    lambda inner: st.one_of(
        st.builds(Binary, st.sampled_from([Operator.AND, Operator.OR]), inner, inner),
        st.builds(Not, inner),
    ),
    max_leaves=4,
)
rows = st.fixed_dictionaries(
    {
        "v": st.one_of(st.none(), whole),
        "w": st.one_of(st.none(), st.sampled_from([math.nan, math.inf, -math.inf]), halves),
        "s": st.sampled_from([None, "", "a", "b", "c"]),
        "b": st.sampled_from([None, True, False]),
    }
)
tables = st.lists(rows, min_size=1, max_size=6)


def columns_of(table: list[dict[str, Any]]) -> dict[str, pa.Array]:
    """Return rows as columns."""
    return {name: pa.array([row[name] for row in table], kind) for name, kind in SCHEMA.items()}


def found_for(expression: Expression, table: list[dict[str, Any]]) -> list[Any]:
    """Return what Arrow finds for each row; a constant stands for every row."""
    found = evaluate(expression, columns_of(table))
    return [found.as_py()] * len(table) if isinstance(found, pa.Scalar) else found.to_pylist()


@often
@given(conditions, tables)
def test_conditions_are_what_they_are_row_by_row(
    condition: Expression, table: list[dict[str, Any]]
) -> None:
    expected = [plainly(condition, lambda read, row=row: row[read.name]) for row in table]
    assert found_for(condition, table) == expected


@often
@given(numbers, tables)
def test_numbers_are_what_they_are_row_by_row(
    number: Expression, table: list[dict[str, Any]]
) -> None:
    expected = [plainly(number, lambda read, row=row: row[read.name]) for row in table]
    found = found_for(number, table)
    assert [one is None for one in found] == [one is None for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert one is None or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A.v = NULL", [None, None, None]),
        ("A.v != 1", [False, True, None]),
        ("A.v = 1 OR A.v IS NULL", [True, False, True]),
        ("A.v / 0 > 1", [None, None, None]),
        ("A.v % 2", [1, 0, None]),
        ("A.v IN (1, NULL)", [True, None, None]),
    ],
)
def test_null_is_unknown(text: str, expected: list[Any]) -> None:
    found = evaluate(parse_expression(text), {"v": pa.array([1, 2, None])})
    assert found.to_pylist() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A.w % 3", [1.0, None, None]),
        ("5 % A.w", [5.0, 5.0, 5.0]),
        ("A.w - A.w IS NULL", [False, True, True]),
        ("A.w * 0 != 1", [True, None, None]),
    ],
)
def test_remainders_are_exact_and_what_is_no_number_is_unknown(
    text: str, expected: list[Any]
) -> None:
    column = pa.array([1e17, math.inf, -math.inf])
    assert evaluate(parse_expression(text), {"w": column}).to_pylist() == expected


def test_the_least_whole_number_leaves_no_remainder_by_minus_one() -> None:
    columns = {"v": pa.array([-(2**63), 7]), "w": pa.array([-1, -1])}
    for text in ("A.v % A.w", "A.v % -1"):
        assert evaluate(parse_expression(text), columns).to_pylist() == [0, 0]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", None, "b"]).dictionary_encode(),
        pa.array(["a", None, "b"], pa.large_string()),
        pa.array(["a", None, "b"], pa.large_string()).dictionary_encode(),
    ],
)
def test_texts_are_compared_however_they_are_stored(column: pa.Array) -> None:
    for text in ("A.s = 'a'", "A.s IN ('a', 'c')", "'b' > A.s"):
        assert evaluate(parse_expression(text), {"s": column}).to_pylist() == [True, None, False]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint16(), pa.float16(), pa.float32(), pa.decimal128(30, 2)]
)
def test_numbers_are_compared_however_they_are_stored(kind: pa.DataType) -> None:
    column = pa.array([1, None, 3]).cast(kind)
    for text in ("A.v < 2", "A.v IN (1, 2)", "A.v * 2 = 2"):
        assert evaluate(parse_expression(text), {"v": column}).to_pylist() == [True, None, False]


def test_a_text_constant_beside_a_time_is_a_time() -> None:
    column = pa.array([0, 10**15, None], pa.timestamp("us"))
    found = evaluate(parse_expression("A.t < '1980-01-01'"), {"t": column})
    assert found.to_pylist() == [True, False, None]


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize(
    "text",
    [
        "A.t >= '1970-01-01T00:00:05'",
        "A.t >= '1970-01-01 00:00:05Z'",
        "A.t > '1970-01-01T01:00:04.5+01:00'",
        "A.t IN ('1970-01-01T00:00:05', '1970-01-01T00:00:06Z')",
    ],
)
def test_a_text_beside_a_time_is_utc_unless_it_names_a_zone(
    text: str, zone: str | None, unit: str
) -> None:
    column = pa.array([0, 5, None], pa.timestamp("s", zone)).cast(pa.timestamp(unit, zone))
    assert evaluate(parse_expression(text), {"t": column}).to_pylist() == [False, True, None]


def test_a_column_of_nothing_but_nulls_is_unknown() -> None:
    columns = {"n": pa.nulls(2)}
    for text in ("A.n < 3", "A.n = 'x'", "A.n", "NOT A.n", "A.n IN (1)"):
        assert evaluate(parse_expression(text), columns).to_pylist() == [None, None]
    assert evaluate(parse_expression("A.n IS NULL"), columns).to_pylist() == [True, True]


def test_what_cannot_be_compared_is_an_error() -> None:
    with pytest.raises(InputError, match="cannot be compared"):
        evaluate(parse_expression("A.v < 1"), {"v": pa.array([[1]])})


LARGEST = 2**64 - 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("T.v % 10", 5),
        ("T.v - 1", LARGEST - 1),
        ("T.v / 2", 2.0**63),
        ("T.v * 1", LARGEST),
        ("T.v % T.v", 0),
        ("100 % T.v", 100),
        ("0 + T.v", LARGEST),
        ("1 / T.v", 2.0**-64),
    ],
)
def test_whole_numbers_without_a_sign_are_computed_with_whole(text: str, value: float) -> None:
    computed = evaluate(parse_expression(text), {"v": pa.array([LARGEST, None], pa.uint64())})
    assert computed.to_pylist() == [value, None]


def test_whole_numbers_without_a_sign_may_become_less_than_zero() -> None:
    small = {"v": pa.array([0, 5], pa.uint64())}
    assert evaluate(parse_expression("T.v - 7"), small).to_pylist() == [-7, -2]


NARROW = (pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.uint64())


@pytest.mark.parametrize("kind", NARROW, ids=str)
@pytest.mark.parametrize(
    ("text", "value"),
    [("T.v + T.v", 200), ("T.v * T.v * T.v * T.v * T.v", 10**10), ("-T.v", -100), ("1 - T.v", -99)],
)
def test_whole_numbers_of_few_bits_are_computed_in_64_with_a_sign(
    kind: pa.DataType, text: str, value: int
) -> None:
    columns = {"v": pa.array([100, None], kind)}
    assert evaluate(parse_expression(text), columns).to_pylist() == [value, None]


def test_the_least_number_of_few_bits_has_a_size() -> None:
    columns = {"v": pa.array([-128], pa.int8())}
    assert evaluate(parse_expression("ABS(T.v)"), columns).to_pylist() == [128]


def test_a_difference_of_whole_numbers_without_a_sign_may_be_less_than_zero() -> None:
    columns = {"v": pa.array([1], pa.uint64()), "w": pa.array([7], pa.uint64())}
    assert evaluate(parse_expression("T.v - T.w"), columns).to_pylist() == [-6]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("-T.v", [None, -1]),
        ("T.v + -1", [LARGEST - 1, 0]),
        ("T.v + 1", [None, 2]),
        ("T.v * T.v", [None, 1]),
        ("T.v - T.v - 1", [-1, -1]),
    ],
)
def test_what_64_bits_have_no_room_for_is_null(text: str, values: list[int | None]) -> None:
    columns = {"v": pa.array([LARGEST, 1], pa.uint64())}
    assert evaluate(parse_expression(text), columns).to_pylist() == values


def test_results_on_both_sides_of_64_bits_are_refused() -> None:
    columns = {"v": pa.array([LARGEST, 1], pa.uint64())}
    with pytest.raises(InputError, match="cast the column to a double"):
        evaluate(parse_expression("T.v - 2"), columns)


def test_times_of_two_units_are_compared_however_far_off_they_are() -> None:
    columns = {
        "t": pa.array([2**40, -(2**40), 5, None], pa.timestamp("s")),
        "u": pa.array([2**63 - 1, -(2**63), 5, 1], pa.timestamp("ns")),
    }
    for text, expected in (
        ("A.t > A.u", [True, False, True, None]),
        ("A.t = A.u", [False, False, False, None]),
        ("A.u >= A.t", [False, True, False, None]),
    ):
        assert evaluate(parse_expression(text), columns).to_pylist() == expected
