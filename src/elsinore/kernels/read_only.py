"""Arrays as kernels take them."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Kind = TypeVar("Kind", bound=np.generic)


def read_only(column: NDArray[Kind]) -> NDArray[Kind]:
    """Return a column as Arrow's are, for which kernels are compiled.

    >>> read_only(np.zeros(2, np.int32)).flags.writeable
    False
    """
    if column.flags.writeable:
        column = column.view()
        column.flags.writeable = False
    return column
