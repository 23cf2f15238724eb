"""Four numbers at once, by vectors, where the compiler would take one after another.

Loops over long rows are compiled to vectors anyway; of a row of some ten numbers the loop takes
most one by one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FOUR = 4


def add_four(numbers: NDArray[np.float64], to: int, of: int, limit: float) -> bool:
    """Add FOUR neighbours to others; return whether some sum is not below a limit in size.

    None of the former is one of the latter, but that all may be the same.

    >>> numbers = np.arange(8.0)
    >>> add_four(numbers, 0, 4, 10.0), numbers.tolist()
    (True, [4.0, 6.0, 8.0, 10.0, 4.0, 5.0, 6.0, 7.0])
    """
    sums = numbers[to : to + FOUR] + numbers[of : of + FOUR]
    numbers[to : to + FOUR] = sums
    return not bool((abs(sums) < limit).all())
