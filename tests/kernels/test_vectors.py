"""Four numbers at once come to what they come to one after another."""

from __future__ import annotations

import math

import numpy as np
import pytest

from elsinore.kernels import kernel
from elsinore.kernels.pointers import pointed
from elsinore.kernels.vectors import FOUR, add_four


@kernel(borrows=True)
def added(numbers: np.ndarray, to: int, of: int, limit: float) -> bool:
    return add_four(pointed(numbers), to, of, limit)


@pytest.mark.parametrize("greatest", [7.0, 8.0, -8.0, 9.0, math.inf, math.nan])
@pytest.mark.parametrize("place", range(FOUR))
@pytest.mark.parametrize("of", [1, 6])
def test_four_are_added_as_one_by_one(greatest: float, place: int, of: int) -> None:
    compiled = np.arange(10.0) / 10
    compiled[1 + place] = greatest - compiled[of + place] if of != 1 else greatest / 2
    expected, plain = compiled.tolist(), compiled.copy()
    expected[1:5] = [expected[1 + lane] + expected[of + lane] for lane in range(FOUR)]
    passed = not all(abs(number) < 8.0 for number in expected[1:5])
    assert added(compiled, 1, of, 8.0) is passed
    assert add_four(plain, 1, of, 8.0) is passed
    np.testing.assert_array_equal(compiled, expected)
    np.testing.assert_array_equal(plain, expected)
