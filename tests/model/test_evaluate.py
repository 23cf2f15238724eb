"""SQL's three-valued logic and arithmetic, one expression at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import reduce

import pytest

from elsinore.language import parse_expression
from elsinore.model import Attribute, Binary, Call, Column, Expression, Literal, Operator
from elsinore.model.evaluate import Value, evaluate, is_true

NAN = math.nan
INFINITE = math.inf


def given(**values: Value | None) -> Callable[[Attribute], Value | None]:
    """Return a lookup of attributes by their names."""
    return lambda attribute: values.get(attribute.name or "")


def value(text: str, **values: Value | None) -> Value | None:
    return evaluate(parse_expression(text), given(**values))


def same(one: Value | None, other: Value | None) -> bool:
    return type(one) is type(other) and one == other


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7),
        ("7.5", 7.5),
        ("'seven'", "seven"),
        ("TRUE", True),
        ("NULL", None),
        ("-7", -7),
        ("1 + 2 * 3", 7),
        ("1 + 2.5", 3.5),
        ("1 - 2", -1),
        ("7 / 2", 3.5),
        ("6 / 2", 3.0),
        ("-7 / 2", -3.5),
        ("ABS(-3)", 3),
        ("ABS(-3.5)", 3.5),
        ("ABS('x')", None),
        ("LOG2(8)", 3.0),
        ("LOG2(0)", None),
        ("-'x'", None),
        ("1 + 'x'", None),
        ("1 + TRUE", None),
        ("1 + NULL", None),
    ],
)
def test_constants_and_arithmetic(text: str, expected: Value | None) -> None:
    assert same(value(text), expected)


@pytest.mark.parametrize(
    ("dividend", "divisor", "expected"),
    [(7, 3, 1), (-7, 3, -1), (7, -3, 1), (-7, -3, -1), (7.5, 2, 1.5), (-7.5, 2, -1.5), (0, 3, 0)],
)
def test_a_remainder_has_the_sign_of_the_dividend(
    dividend: float, divisor: float, expected: float
) -> None:
    assert same(value("T.a % T.b", a=dividend, b=divisor), expected)


@pytest.mark.parametrize("text", ["T.a / 0", "T.a % 0", "T.a / 0.0", "T.a % 0.0", "T.a / -0.0"])
@pytest.mark.parametrize("dividend", [0, 1, -1.5, INFINITE])
def test_a_division_by_zero_is_null(text: str, dividend: float) -> None:
    assert value(text, a=dividend) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T.big * 1.5", INFINITE),
        ("-T.big / 2", -INFINITE),
        ("T.big + 1", 10**400 + 1),
        ("T.big % 7", 10**400 % 7),
        ("T.big > 1.5", True),
        ("T.inf - T.inf", None),
        ("T.inf * 0", None),
        ("T.inf % 2", None),
        ("3.5 % T.inf", 3.5),
    ],
)
def test_numbers_beyond_a_double_never_raise(text: str, expected: Value | None) -> None:
    assert same(value(text, big=10**400, inf=INFINITE), expected)


@pytest.mark.parametrize("operation", ["=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"])
@pytest.mark.parametrize("nothing", [None, NAN])
def test_null_and_nan_make_everything_null(operation: str, nothing: float | None) -> None:
    assert value(f"T.a {operation} 1", a=nothing) is None
    assert value(f"1 {operation} T.a", a=nothing) is None
    assert value(f"T.a {operation} T.a", a=nothing) is None


def test_nan_is_null_wherever_it_comes_from() -> None:
    assert value("T.a IS NULL", a=NAN) is True
    assert value("T.a IS NOT NULL", a=NAN) is False
    assert value("T.a - T.a IS NULL", a=INFINITE) is True
    assert evaluate(Literal(NAN), given()) is None
    assert value("T.a", a=NAN) is None
    assert value("-T.a", a=NAN) is None
    assert value("ABS(T.a)", a=NAN) is None


@pytest.mark.parametrize(
    ("one", "other", "order"),
    [(1, 2, -1), (2, 2.0, 0), (2.5, 1, 1), ("a", "b", -1), ("b", "b", 0), (False, True, -1)],
)
def test_values_of_one_kind_compare(one: Value, other: Value, order: int) -> None:
    expected = {"=": order == 0, "!=": order != 0, "<": order < 0, ">": order > 0}
    expected |= {"<=": order <= 0, ">=": order >= 0}
    for operation, truth in expected.items():
        assert value(f"T.a {operation} T.b", a=one, b=other) is truth


@pytest.mark.parametrize("operation", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize(("one", "other"), [(1, "1"), (1, True), ("x", False), (1.0, "a")])
def test_values_of_two_kinds_do_not(operation: str, one: Value, other: Value) -> None:
    assert value(f"T.a {operation} T.b", a=one, b=other) is None
    assert value(f"T.a {operation} T.b", a=other, b=one) is None


@pytest.mark.parametrize(
    ("text", "operand", "expected"),
    [
        ("T.a IN (1, 2)", 2, True),
        ("T.a IN (1, 2)", 2.0, True),
        ("T.a IN (1, 2)", 3, False),
        ("T.a IN (1, 2)", None, None),
        ("T.a IN (1, 2)", NAN, None),
        ("T.a IN (1, NULL)", 1, True),
        ("T.a IN (1, NULL)", 3, None),
        ("T.a NOT IN (1, NULL)", 3, None),
        ("T.a NOT IN (1, 2)", 3, True),
        ("T.a IN ('x', 'y')", "y", True),
        ("T.a IN ('x', 'y')", "z", False),
        ("T.a IN ('x')", 1, None),
    ],
)
def test_in_is_a_chain_of_equalities(
    text: str, operand: Value | None, expected: bool | None
) -> None:
    assert value(text, a=operand) is expected


TRUTHS: tuple[bool | None, ...] = (True, False, None)
RANK = {False: 0, None: 1, True: 2}  # Kleene: AND is the least, OR the greatest


@pytest.mark.parametrize(("one", "other"), list(itertools.product(TRUTHS, TRUTHS)))
def test_and_or_and_not_follow_kleene(one: bool | None, other: bool | None) -> None:
    by_rank = {rank: truth for truth, rank in RANK.items()}
    assert value("T.a AND T.b", a=one, b=other) is by_rank[min(RANK[one], RANK[other])]
    assert value("T.a OR T.b", a=one, b=other) is by_rank[max(RANK[one], RANK[other])]
    assert value("NOT T.a", a=one) is by_rank[2 - RANK[one]]


def test_a_number_is_no_truth_value() -> None:
    assert value("T.a AND TRUE", a=1) is None
    assert value("NOT T.a", a=0) is None
    assert value("T.a OR TRUE", a=1) is True


def test_only_true_is_true() -> None:
    for text, expected in [("1 < 2", True), ("1 > 2", False), ("NULL", False), ("1", False)]:
        assert is_true(parse_expression(text), given()) is expected


def test_chains_of_thousands_of_conditions_are_evaluated() -> None:
    false: Expression = Literal(False)
    for joined in (Operator.OR, Operator.AND):
        chain = reduce(lambda left, right: Binary(joined, left, right), [false] * 20_000)
        assert evaluate(chain, given()) is False


@pytest.mark.parametrize(
    "expression",
    [Call("COUNT", ()), Call("SUM", (Attribute("b", "x"),)), Column("g"), Attribute("b", None)],
)
def test_what_has_no_value_on_single_events_is_refused(expression: Expression) -> None:
    with pytest.raises(TypeError, match="not an expression over single events"):
        evaluate(expression, given())
