"""Numbers with powers of 2**512 against fractions, by the uncompiled functions."""

from __future__ import annotations

from fractions import Fraction
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

NAME = "elsinore.trends.engine.numbers"


def uncompiled() -> Any:
    """Return the module as plain Python, whatever it is in this process."""
    found = find_spec(NAME)
    assert found is not None
    package = find_spec("elsinore.trends.engine")
    assert package is not None
    assert package.submodule_search_locations
    source = f"{package.submodule_search_locations[0]}/numbers.py"
    spec = spec_from_file_location("uncompiled_numbers", source)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


numbers = uncompiled()
mantissas = st.floats(-(2.0**511), 2.0**511).filter(lambda size: size == 0 or abs(size) >= 1)
powers = st.integers(0, 3).map(float)
normal_numbers = st.tuples(mantissas, powers).map(lambda pair: numbers.normal(*pair))


def exact(mantissa: float, power: float) -> Fraction:
    """Return the number that a mantissa and a power stand for."""
    return Fraction(mantissa) * Fraction(2) ** (512 * int(power))


def assert_near(found: Fraction, expected: Fraction, size: Fraction) -> None:
    """Compare up to rounding, relative to the size of what was added."""
    assert abs(found - expected) <= size * Fraction(2) ** -50


@given(normal_numbers, normal_numbers)
def test_sums_are_rounded_sums(left: Any, right: Any) -> None:
    expected = exact(*left) + exact(*right)
    size = abs(exact(*left)) + abs(exact(*right))
    assert_near(exact(*numbers.plus(left, right)), expected, size)


@given(st.lists(st.tuples(normal_numbers, normal_numbers), min_size=1, max_size=5))
def test_lanes_are_added_like_single_numbers(pairs: list[tuple[Any, Any]]) -> None:
    lefts, rights = (np.array([pair[side] for pair in pairs]).T for side in (0, 1))
    to, source = numbers.Lanes(1, len(pairs)), numbers.Lanes(1, len(pairs))
    (to.cells, to.powers), (source.cells, source.powers) = lefts[:, None], rights[:, None]
    numbers.add_lanes(to, 0, 0, source, 0, 0, 0, len(pairs))
    for lane, (left, right) in enumerate(pairs):
        size = abs(exact(*left)) + abs(exact(*right))
        found = exact(to.cells[0, lane], to.powers[0, lane])
        assert_near(found, exact(*left) + exact(*right), size)


@given(normal_numbers, st.floats(-1e300, 1e300).filter(lambda size: size == 0 or abs(size) > 1e-9))
def test_products_are_rounded_products(number: Any, factor: float) -> None:
    expected = exact(*number) * Fraction(factor)
    assert_near(exact(*numbers.times(number, factor)), expected, abs(expected))


def test_pairs_of_trends_are_counted_once() -> None:
    for left, right, both in ((6, 7, 4), (3, 3, 3), (5, 9, 0)):
        alone, aside = left - both, right - both
        expected = alone * aside + alone * both + aside * both + both * (both - 1) // 2
        of_floats = (numbers.normal(float(count), 0.0) for count in (left, right, both))
        assert tuple(numbers.pairs(*of_floats)) == (expected, 0.0)
