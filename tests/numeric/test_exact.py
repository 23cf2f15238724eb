"""Integers and fractions of any size as text."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.numeric.exact import Number, decode, digits, encode, simple

whole = st.one_of(st.integers(), st.integers(-(10**400), 10**400))


@given(st.one_of(whole, st.builds(Fraction, whole, whole.filter(bool))))
def test_a_number_written_is_read_back(number: Number) -> None:
    found = decode(encode(number))
    assert found == number
    if isinstance(number, int):
        assert type(found) is int


@given(whole)
def test_digits_are_those_python_writes(number: int) -> None:
    assert digits(number) == str(number)


@pytest.mark.parametrize("power", [4_299, 4_300, 4_301, 10_000])
def test_digits_beyond_the_limit_that_python_sets_are_written(power: int) -> None:
    assert digits(10**power) == "1" + "0" * power
    assert digits(-(10**power) - 7) == "-1" + "0" * (power - 1) + "7"
    assert decode(encode(10**power)) == 10**power
    assert decode(encode(Fraction(10**power, 3))) == Fraction(10**power, 3)


def test_every_digit_of_a_great_number_is_right() -> None:
    number = 3**20_000
    text = digits(number)
    read = 0
    for start in range(0, len(text), 4_000):
        piece = text[start : start + 4_000]
        read = read * 10 ** len(piece) + int(piece)
    assert read == number
    assert len(text) == math.floor(20_000 * math.log10(3)) + 1


def test_a_fraction_that_is_whole_becomes_an_integer() -> None:
    assert type(simple(Fraction(6, 3))) is int
    assert simple(Fraction(1, 3)) == Fraction(1, 3)
    assert type(decode("0x6/0x3")) is int
