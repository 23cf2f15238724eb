# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Finding a place in an ascending array."""

from __future__ import annotations

from elsinore.trends.core.arrays import Ints
from elsinore.trends.core.wide import wide_kernel


@wide_kernel(linked=True)
def below(keys: Ints, begin: int, end: int, value: int) -> int:
    """Return the first of places `begin` to `end` - 1 that is not below a value, or `end`."""
    while begin < end:
        middle = (begin + end) >> 1
        if keys[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin
