"""Numbers with an exponent of their own, against fractions."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from elsinore.trends.core.numbers import LIMIT, factor, normal, plus

mantissas = st.floats(1.0, LIMIT, exclude_max=True)
numbers = st.tuples(st.sampled_from((1.0, -1.0)), mantissas, st.integers(0, 4)).map(
    lambda told: (told[0] * told[1], float(told[2]))
)


def value(mantissa: float, power: float) -> Fraction:
    return Fraction(mantissa) * Fraction(2) ** int(512 * power)


def assert_normal(mantissa: float, power: float) -> None:
    assert abs(mantissa) < LIMIT
    assert power == 0.0 or abs(mantissa) >= 1.0


@given(numbers, numbers)
def test_a_sum_is_right_to_the_last_bits_of_the_greater_term(
    one: tuple[float, float], other: tuple[float, float]
) -> None:
    found = plus(*one, *other)
    assert_normal(*found)
    most = max(abs(value(*one)), abs(value(*other)))
    assert abs(value(*found) - value(*one) - value(*other)) <= most * Fraction(2) ** -51


@given(st.floats(-(2.0**1000), 2.0**1000), st.integers(0, 3))
def test_a_normal_form_is_the_same_number(mantissa: float, power: int) -> None:
    found = normal(mantissa, float(power))
    assert_normal(*found)
    assert value(*found) == value(mantissa, power)


@given(st.floats(2.0**-60, 2.0**1000), st.integers(0, 5000))
def test_doublings_are_kept_whole(number: float, doublings: int) -> None:
    mantissa, power = factor(number, float(doublings))
    assert abs(mantissa) < 2.0**256
    expected = Fraction(number) * Fraction(2) ** doublings
    assert abs(value(mantissa, power) - expected) <= expected * Fraction(2) ** -50
