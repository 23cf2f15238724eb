"""Arrays that kernels hand on to one another by where they begin."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numba.core.errors import TypingError
from numpy.typing import NDArray

from elsinore.kernels import kernel, uncompiled
from elsinore.kernels.arrow import array_at
from elsinore.kernels.pointers import pointed


@kernel(borrows=True, linked=True)
def add_up(numbers: NDArray[np.int64], begin: int, length: int) -> int:
    """Return the sum of some numbers, each of which becomes one more."""
    total = 0
    for place in range(begin, begin + length):
        total += numbers[place]
        numbers[place] += 1
    return total


@kernel(borrows=True)
def entered(numbers: NDArray[np.int64], begin: int, length: int) -> int:
    """Return the sum of numbers that are handed on, behind the first of all."""
    return add_up(pointed(numbers[1:]), begin, length)


@kernel(borrows=True)
def lent(address: int, length: int) -> int:
    """Return the sum of the numbers at an address."""
    return add_up(pointed(array_at(address, length, np.int64)), 0, length)


@pytest.mark.parametrize("run", [entered, uncompiled(entered)])
def test_numbers_are_read_and_written_behind_a_pointer(
    run: Callable[[NDArray[np.int64], int, int], int],
) -> None:
    numbers = np.array([100, 1, 2, 4, 8])
    assert run(numbers, 1, 2) == 2 + 4
    assert numbers.tolist() == [100, 1, 3, 5, 8]


def test_numbers_at_an_address_have_a_pointer_too() -> None:
    numbers = np.array([3, 4])
    assert lent(numbers.ctypes.data, 2) == 7
    assert numbers.tolist() == [4, 5]


def test_an_array_with_gaps_has_no_pointer() -> None:
    with pytest.raises(TypingError, match="is contiguous"):
        entered(np.arange(6)[::2], 0, 2)
