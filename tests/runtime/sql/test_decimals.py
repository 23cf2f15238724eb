"""Arithmetic of decimals: exact, rounded as Spark rounds it, or rejected."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from elsinore.errors import InputError
from elsinore.runtime.sql import evaluate_sql

EXACT = Context(prec=200)
SIGNS = ("+", "-", "*", "/", "%")
Column = tuple[int, int, list[int]]  # precision, scale, and values without the point


@st.composite
def columns(draw: st.DrawFn) -> Column:
    """Draw a type, and values with as many digits as it has, or fewer."""
    precision = draw(st.integers(1, 30))
    scale = draw(st.integers(0, precision))
    most = 10**precision - 1
    near = st.sampled_from((0, 1, -1, 5, 7, most, -most))
    return precision, scale, draw(st.lists(near | st.integers(-most, most), min_size=3, max_size=3))


def exactly(sign: str, left: Decimal, right: Decimal) -> Decimal | None:
    """Return a result; None for division by zero."""
    if sign in "/%" and not right:
        return None
    functions = {
        "+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply, "/": EXACT.divide,
        "%": EXACT.remainder,
    }  # fmt: skip
    return functions[sign](left, right)


def spark_type(sign: str, left: Column, right: Column) -> tuple[int, int]:
    """Return precision and scale by the table of Spark's documentation of decimals."""
    (p1, s1, _), (p2, s2, _) = left, right
    match sign:
        case "*":
            return p1 + p2 + 1, s1 + s2
        case "/":
            scale = max(6, s1 + p2 + 1)
            return p1 - s1 + s2 + scale, scale
        case "%":
            return min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2)
        case _:
            return max(p1 - s1, p2 - s2) + max(s1, s2) + 1, max(s1, s2)


@given(columns(), columns(), st.sampled_from(SIGNS))
def test_results_are_exact_or_rounded_to_spark_s_scale(
    left: Column, right: Column, sign: str
) -> None:
    arrays, values = {}, []
    for name, (precision, scale, digits) in (("a", left), ("b", right)):
        values.append([EXACT.scaleb(Decimal(each), -scale) for each in digits])
        arrays[name] = pa.array(values[-1], pa.decimal128(precision, scale))
    precision, scale = spark_type(sign, left, right)
    try:
        found = evaluate_sql(f"a {sign} b", pa.table(arrays), "type")
    except InputError:
        widest = max(left[0] - left[1], right[0] - right[1]) + max(left[1], right[1])
        assert precision > 37 or (sign == "%" and widest > 38)
        assume(False)
        raise
    unit = Decimal(1).scaleb(-scale)
    exact = [exactly(sign, one, other) for one, other in zip(*values, strict=True)]
    rounded = [
        None if value is None else value.quantize(unit, ROUND_HALF_UP, EXACT) for value in exact
    ]
    assert found.type == pa.decimal128(precision, scale)
    assert found.to_pylist() == rounded


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("big / 2.0", pa.decimal128(27, 6)),
        ("-7 / small", pa.float64()),
        ("small * 0.05", pa.decimal128(6, 2)),
        ("big * 100.0", pa.decimal128(25, 1)),
        ("small % (1.0)", pa.decimal128(2, 1)),
        ("big / 2.0 / 3.0", pa.decimal128(31, 9)),
    ],
)
def test_whole_numbers_are_decimals_beside_decimals(text: str, kind: pa.DataType) -> None:
    table = pa.table({"big": pa.array([7], pa.int64()), "small": pa.array([3], pa.int8())})
    assert evaluate_sql(text, table, "type").type == kind
