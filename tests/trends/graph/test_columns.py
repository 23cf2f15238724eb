"""What predicates between two events read, and how they are computed."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from elsinore.errors import InputError
from elsinore.model import Attribute, Binary, Expression, InList, IsNull, Literal, Not, Operator
from elsinore.plan.between import CURRENT, PREVIOUS
from elsinore.trends.graph import ComparedColumns, Order
from elsinore.trends.graph.conditions import conditions
from elsinore.trends.graph.interpret import choose


def is_true(expression: Expression, columns: ComparedColumns) -> bool:
    """Return whether a condition holds between the events of rows 0 and 1."""
    compiled = conditions([expression], columns)
    compiled.chosen[0] = 1
    choose(compiled, 0, np.zeros((1, 3), dtype=np.int64), 0, 1, 1)
    return bool(compiled.chosen[0])


def compared(operator: Operator, one: Any, other: Any) -> bool:
    columns = ComparedColumns.of({"x": pa.array([one, other])})
    x = Attribute(PREVIOUS, "x"), Attribute(CURRENT, "x")
    return is_true(Binary(operator, *x), columns)


def test_whole_numbers_are_compared_exactly() -> None:
    assert compared(Operator.LT, 2**62, 2**62 + 1)
    assert not compared(Operator.EQ, 2**62, 2**62 + 1)
    columns = ComparedColumns.of({"x": pa.array([2**62 + 1, 0])})
    assert is_true(Binary(Operator.GT, Attribute(PREVIOUS, "x"), Literal(2**62)), columns)


def test_times_are_compared_to_the_nanosecond_beside_coarser_ones() -> None:
    fine, coarse = pa.timestamp("ns"), pa.timestamp("us")
    columns = ComparedColumns.of(
        {"fine": pa.array([1_001, 1_002], fine), "coarse": pa.array([1, 1], coarse)}
    )
    before, after = Attribute(PREVIOUS, "fine"), Attribute(CURRENT, "fine")
    assert is_true(Binary(Operator.LT, before, after), columns)
    assert is_true(Binary(Operator.GT, before, Attribute(CURRENT, "coarse")), columns)
    text = Literal("1970-01-01T00:00:00.000001001")
    assert is_true(Binary(Operator.EQ, before, text), columns)


def test_times_that_nanoseconds_do_not_reach_are_told_beside_nanoseconds() -> None:
    day = pa.array([date(1600, 1, 1)])
    with pytest.raises(InputError, match="'day' has times outside of the years 1678 to 2261"):
        ComparedColumns.of({"day": day, "fine": pa.array([1], pa.timestamp("ns"))})
    assert ComparedColumns.of({"day": day}).unit == "us"


def test_texts_are_in_the_order_of_code_points() -> None:
    assert compared(Operator.LT, "Z", "a")
    assert compared(Operator.LT, "\uffff", "\U00010000")
    columns = ComparedColumns.of({"x": pa.array(["b", None]), "y": pa.array([None, "d"])})
    x, y = Attribute(PREVIOUS, "x"), Attribute(CURRENT, "y")
    assert is_true(Binary(Operator.LT, x, y), columns)
    assert is_true(Binary(Operator.LT, x, Literal("c")), columns)
    assert is_true(Binary(Operator.GT, y, Literal("c")), columns)
    assert not is_true(Binary(Operator.EQ, x, Literal("c")), columns)


def test_dictionaries_decimals_and_both_zeros_are_what_they_stand_for() -> None:
    columns = ComparedColumns.of(
        {
            "s": pa.array(["p", "q"]).dictionary_encode(),
            "d": pa.array([Decimal("1.50"), None]),
            "w": pa.array([-0.0, 0.0]),
            "n": pa.array([float("nan"), 1.0]),
        }
    )
    assert columns.orders["s"] is Order.TEXT
    assert columns.numbers[1].tolist() == [1.5, 0.0]
    assert columns.compared[2, 0] == columns.compared[2, 1]
    assert columns.known[3].tolist() == [0, 1]


def test_wide_numbers_are_compared_exactly_with_one_another_and_with_constants() -> None:
    columns = ComparedColumns.of(
        {
            "d": pa.array([Decimal(10**30), Decimal(10**30 + 1)], pa.decimal128(38, 0)),
            "u": pa.array([2**63, 2**63 + 1], pa.uint64()),
            "i": pa.array([2**62, 2**62 + 1]),
        }
    )
    for name in "dui":
        before, after = Attribute(PREVIOUS, name), Attribute(CURRENT, name)
        assert is_true(Binary(Operator.LT, before, after), columns)
        assert is_true(Binary(Operator.NE, before, after), columns)
    d, u, i = (Attribute(CURRENT, name) for name in "dui")
    assert is_true(Binary(Operator.LT, i, u), columns)
    assert is_true(Binary(Operator.GT, d, u), columns)
    assert is_true(Binary(Operator.EQ, d, Literal(10**30 + 1)), columns)
    assert is_true(Binary(Operator.GT, d, Literal(10**30)), columns)
    assert is_true(Binary(Operator.LT, d, Literal(10**30 + 2)), columns)
    assert is_true(InList(u, (Literal(5), Literal(2**63 + 1))), columns)
    assert is_true(Binary(Operator.LT, i, Literal(0.5 + 2.0**63)), columns)


def test_whole_numbers_are_compared_with_doubles_exactly() -> None:
    columns = ComparedColumns.of(
        {
            "i": pa.array([2**53 + 1, 2**63 - 1]),
            "v": pa.array([2.0**63, 2.0**53]),
            "d": pa.array([Decimal("0.10"), None]),
            "w": pa.array([None, 0.1]),
        }
    )
    i, v = Attribute(PREVIOUS, "i"), Attribute(CURRENT, "v")
    assert is_true(Binary(Operator.GT, i, v), columns)
    later, earlier = Attribute(CURRENT, "i"), Attribute(PREVIOUS, "v")
    assert is_true(Binary(Operator.LT, later, earlier), columns)
    decimal, double = Attribute(PREVIOUS, "d"), Attribute(CURRENT, "w")
    assert is_true(Binary(Operator.EQ, decimal, double), columns)


def test_times_are_compared_with_dates_and_with_text() -> None:
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    columns = ComparedColumns.of(
        {
            "t": pa.array([moment, moment], pa.timestamp("ns", "UTC")),
            "d": pa.array([date(2026, 3, 1), date(2026, 3, 2)]),
        }
    )
    t, d = Attribute(PREVIOUS, "t"), Attribute(CURRENT, "d")
    assert is_true(Binary(Operator.LT, t, d), columns)
    assert is_true(Binary(Operator.EQ, d, Literal("2026-03-02")), columns)
    assert is_true(Binary(Operator.GT, Literal("2026-03-01T12:00:01Z"), t), columns)
    with pytest.raises(InputError, match="which is not a time"):
        is_true(Binary(Operator.LT, d, Literal("soon")), columns)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (Binary(Operator.EQ, Literal(1), Literal("1")), None),
        (InList(Literal(2), (Literal(1), Literal(2), Literal(None))), True),
        (InList(Literal(3), (Literal(1), Literal(None))), None),
        (InList(Literal(3), (Literal(1),)), False),
        (IsNull(Binary(Operator.DIV, Literal(1), Literal(0))), True),
        (
            Binary(
                Operator.EQ,
                Binary(Operator.MOD, Literal(-7), Literal(4)),
                Literal(-3),
            ),
            True,
        ),
        (Binary(Operator.OR, Literal(None), Literal(True)), True),
        (Binary(Operator.AND, Literal(None), Literal(False)), False),
    ],
)
def test_logic_of_three_values(expression: Expression, expected: bool | None) -> None:
    columns = ComparedColumns.of({})
    assert is_true(expression, columns) is (expected is True)
    assert is_true(Not(expression), columns) is (expected is False)
    assert is_true(IsNull(expression), columns) is (expected is None)


def test_without_rows() -> None:
    columns = ComparedColumns.of({"s": pa.array([], pa.string()), "n": pa.nulls(0)})
    assert columns.compared.shape == (2, 0)
    assert columns.compared.dtype == np.int64
