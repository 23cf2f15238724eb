"""Compare drawn workloads in plain Python, where a pointer refuses what would leave its array.

Run with ELSINORE_COMPILE=0: the compiler checks no place, and to Python one below 0 is one from the
end. Prints how many workloads were compared, and the modules that handed pointers on.
"""

from __future__ import annotations

import inspect
import sys
from itertools import islice
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import pointers

users: set[str] = set()  # modules that asked for pointers


class Pointer(np.ndarray[Any, Any]):
    """An array of which single numbers are read and written, at places from 0 on."""

    def __getitem__(self, place: Any) -> Any:
        """Return the number at a place."""
        return super().__getitem__(_allowed(place))

    def __setitem__(self, place: Any, number: Any) -> None:
        """Put a number at a place."""
        super().__setitem__(_allowed(place), number)

    def __len__(self) -> int:
        """Refuse: a pointer does not know how long the array is."""
        raise TypeError("a pointer has no length")


def _allowed(place: Any) -> Any:
    if not isinstance(place, int | np.integer) or place < 0:
        raise IndexError(f"not a place behind a pointer: {place!r}")
    return place


def pointed(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that is read and written as a pointer may be."""
    if array.ndim != 1 or not array.flags.c_contiguous:
        raise ValueError("only what is contiguous has a pointer")
    frame = inspect.currentframe()
    if frame is not None and frame.f_back is not None:
        users.add(frame.f_back.f_globals["__name__"])
    return array.view(Pointer)


def main(wanted: int, seed: int) -> None:
    """Compare so many workloads; an answer that is not brute force's, or a place, is an error."""
    pointers.pointed = pointed  # before the modules that ask for it by name
    from fuzz.cases import Case, cases
    from fuzz.in_process import compared

    drawn = (case for case in cases(seed) if isinstance(case, Case))
    for case in islice(drawn, wanted):
        compared(case, Random(case.name))
    print(wanted, *sorted(users))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
