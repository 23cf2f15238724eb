"""Numbers of a store's axis that are taken and given back.

The free numbers of an axis lie in the store's whole numbers at `header.<axis>_free`: how many there
are, then the numbers themselves, of which the last is taken first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels.decorator import kernel

NONE_FREE = -1


@kernel(borrows=True)
def take(ints: NDArray[np.int64], free: int) -> int:
    """Take a free number of an axis; NONE_FREE where there is none, and the store must grow.

    free: `header.<axis>_free`. What the number's places hold is what was left there.
    """
    count = ints[free]
    if count == 0:
        return NONE_FREE
    ints[free] = count - 1
    return int(ints[free + count])


@kernel(borrows=True)
def give_back(ints: NDArray[np.int64], free: int, number: int) -> None:
    """Give a number of an axis back, which must have been taken."""
    ints[free] += 1
    ints[free + ints[free]] = number


@kernel(borrows=True)
def count_free(ints: NDArray[np.int64], free: int) -> int:
    """Return how many numbers of an axis are free."""
    return int(ints[free])
