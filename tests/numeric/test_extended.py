"""Extended-range numbers against integers and fractions of any size."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.numeric import LIMB_BITS, THRESHOLD, add, log2, ratio, scale, to_double
from elsinore.numeric.extended import INFINITE_EXPONENT

often = settings(max_examples=100)
PRECISION = 1e-12  # relative; chains here have fewer than 2**10 roundings of 2**-53 each
Extended = tuple[float, int]

exact_doubles = st.one_of(
    st.integers(0, 2**53).map(float),
    st.floats(min_value=1e-30, max_value=1e300),
)
factors = st.one_of(
    st.sampled_from([2.0, 3.0, 1e9, 1e100, 1e300, 0.5, 1e-50, 2.0**256, 2.0**255, 2.0**1000]),
    st.floats(min_value=1e-60, max_value=1e300),
)
steps = st.lists(st.tuples(st.booleans(), factors), max_size=30)
normal_numbers = st.builds(  # of all magnitudes alike
    lambda part, bits, exponent: (math.ldexp(part, bits), exponent),
    st.floats(1.0, 2.0, exclude_max=True) | st.floats(-2.0, -1.0, exclude_min=True),
    st.integers(128, 383),
    st.integers(0, 3),
)


def value(number: Extended) -> Fraction:
    """Return what a pair is worth."""
    mantissa, exponent = number
    return Fraction(mantissa) * Fraction(2) ** (LIMB_BITS * exponent)


def log2_of(number: Fraction) -> float:
    """Return the binary logarithm of a positive fraction of any size."""
    shift = number.numerator.bit_length() - number.denominator.bit_length()
    return math.log2(number / Fraction(2) ** shift) + shift


def arrays(*numbers: Extended) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers as the arrays that operators keep."""
    mantissas = np.array([mantissa for mantissa, _ in numbers])
    return mantissas, np.array([exponent for _, exponent in numbers], dtype=np.int32)


def near(found: Fraction, expected: Fraction) -> bool:
    """Return whether a value is right but for rounding."""
    return abs(found - expected) <= abs(expected) * Fraction(PRECISION)


def chain(start: float, several: list[tuple[bool, float]]) -> tuple[Extended, Fraction]:
    """Scale and add a number up, in the way under test and with fractions."""
    number = add(0.0, 0, *scale(start, 0, 1.0))
    expected = Fraction(start)
    for adds, factor in several:
        if adds:
            number = add(*number, *scale(factor, 0, 1.0))
            expected += Fraction(factor)
        else:
            number = scale(*number, factor)
            expected *= Fraction(factor)
    return number, expected


def is_normal(number: Extended) -> bool:
    mantissa, exponent = number
    return (
        exponent >= 0 and abs(mantissa) < THRESHOLD and (exponent == 0 or abs(mantissa) >= 2**128)
    )


@often
@given(exact_doubles, steps)
def test_chains_of_sums_and_products_are_those_of_fractions(
    start: float, several: list[tuple[bool, float]]
) -> None:
    number, expected = chain(start, several)
    assert is_normal(number)
    assert near(value(number), expected)
    if expected > 0:
        found = log2(*arrays(number)).item()
        assert math.isclose(found, log2_of(expected), rel_tol=1e-12, abs_tol=1e-9)


@often
@given(exact_doubles, steps, exact_doubles.filter(bool), steps)
def test_ratios_of_chains_are_those_of_fractions(
    over: float,
    over_steps: list[tuple[bool, float]],
    under: float,
    under_steps: list[tuple[bool, float]],
) -> None:
    one, expected_one = chain(over, over_steps)
    other, expected_other = chain(under, under_steps)
    found = ratio(*arrays(one), *arrays(other)).item()
    expected = expected_one / expected_other
    if expected > Fraction(2) ** 1024:
        assert found == math.inf
    elif expected < Fraction(2) ** -1021:
        assert found <= 2.0**-1020
    else:
        assert math.isclose(found, float(expected), rel_tol=1e-11)


@often
@given(normal_numbers, normal_numbers)
def test_a_sum_of_normal_numbers_is_that_of_fractions(one: Extended, other: Extended) -> None:
    found = add(*one, *other)
    assert is_normal(found)
    expected = value(one) + value(other)
    error = abs(value(found) - expected)
    assert error <= max(abs(value(one)), abs(value(other))) / 2**52


@often
@given(st.lists(st.integers(-(2**53), 2**53), max_size=20))
def test_sums_of_whole_numbers_are_exact_while_doubles_are(addends: list[int]) -> None:
    number: Extended = (0.0, 0)
    total = 0
    for addend in addends:
        if abs(total + addend) > 2**53:
            break
        number, total = add(*number, float(addend), 0), total + addend
    assert number == (float(total), 0)


@often
@given(exact_doubles, steps, exact_doubles, steps)
def test_addition_does_not_care_for_the_order_of_two(
    one: float,
    one_steps: list[tuple[bool, float]],
    other: float,
    other_steps: list[tuple[bool, float]],
) -> None:
    left, _ = chain(one, one_steps)
    right, _ = chain(other, other_steps)
    assert add(*left, *right) == add(*right, *left)


def test_a_count_that_doubles_with_each_event_never_overflows() -> None:
    number: Extended = (1.0, 0)
    for _ in range(100_000):
        number = add(*number, *number)
    assert value(number) == Fraction(2) ** 100_000
    assert log2(*arrays(number)).item() == 100_000
    assert to_double(*arrays(number)).item() == math.inf


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("power", [0, 1, 200, 383, 384, 385, 640, 1000])
def test_powers_of_two_around_the_threshold_are_kept_exactly(power: int, sign: int) -> None:
    number = scale(float(sign), 0, 2.0**power)
    assert is_normal(number)
    assert value(number) == sign * Fraction(2) ** power
    assert to_double(*arrays(number)).item() == sign * 2.0**power


def test_a_sum_that_cancels_out_comes_back_to_a_plain_zero() -> None:
    great = scale(3.0, 0, 2.0**900)
    assert add(*great, -great[0], great[1]) == (0.0, 0)


def test_a_difference_of_great_numbers_comes_back_to_a_plain_double() -> None:
    great = scale(1.0, 0, 2.0**400)
    less = (-(2.0**400 - 2.0**350) * 2.0**-256, 1)
    found = add(*great, *less)
    assert value(found) == Fraction(2) ** 350
    assert is_normal(found)


def test_a_number_times_zero_is_a_plain_zero() -> None:
    assert scale(*scale(1.0, 0, 2.0**900), 0.0) == (0.0, 0)


@pytest.mark.parametrize("strange", [math.inf, -math.inf])
def test_infinite_values_stay_infinite(strange: float) -> None:
    assert add(1.0, 0, strange, 0)[0] == strange
    assert scale(1.0, 0, strange)[0] == strange
    assert to_double(*arrays(add(strange, 0, 1.0, 0))).item() == strange


@pytest.mark.parametrize("exponent", [0, 1, 2, 1000])
def test_infinite_values_are_beyond_all_finite_ones(exponent: int) -> None:
    infinite = scale(2.0**200, exponent, math.inf)
    assert infinite == (math.inf, INFINITE_EXPONENT)
    for finite in ((1.0, 0), (2.0**200, 5), (-(2.0**200), 2000)):
        assert add(*infinite, *finite) == add(*finite, *infinite) == infinite
    assert math.isnan(add(*infinite, *scale(1.0, 0, -math.inf))[0])


def test_a_ratio_of_two_zeros_is_no_number() -> None:
    assert math.isnan(ratio(*arrays((0.0, 0)), *arrays((0.0, 0))).item())


def test_whole_arrays_are_computed_at_once() -> None:
    several = arrays((3.0, 0), (2.0**200, 9), (-(2.0**200), 9))
    assert to_double(*several).tolist() == [3.0, math.inf, -math.inf]
    assert ratio(*several, *several).tolist() == [1.0, 1.0, 1.0]
