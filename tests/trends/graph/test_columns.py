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
from elsinore.trends.graph.interpret.kernels import choose


def is_true(expression: Expression, columns: ComparedColumns) -> bool:
    """Return whether a condition holds between the events of rows 0 and 1."""
    parts = columns.compared, columns.known, columns.numbers
    compiled = conditions([expression], columns, *parts)
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
    assert not columns.mixed


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
    with pytest.raises(InputError, match="which is no time"):
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
