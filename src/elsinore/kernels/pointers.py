"""Arrays as kernels had better hand them on to one another: by where they begin.

To the compiler's back end an array is seven words: at each call of a kernel that is no part of its
caller, all of them are put in memory and taken from there. A pointer to the first number is one.
Places in it are not below 0: nothing is counted from the end.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


def pointed(array: NDArray[T]) -> NDArray[T]:
    """Return a contiguous array by where it begins, which does not keep it; compiled alone.

    Whoever calls the kernel keeps the array until it returns.

    >>> int(pointed(np.array([5, 7]))[1])
    7
    """
    return array
