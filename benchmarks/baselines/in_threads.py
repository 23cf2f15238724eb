"""What a machine's cores give: plain compiled loops, alone and several at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

STEPS = 200_000_000  # of the loop that reads nothing
NUMBERS = 2**24  # of the loop that reads, a multiple of what caches hold
TIMES = 16  # it reads them


@njit(nogil=True)
def _mix(steps):
    """Return a number after so many steps, each of which waits for the one before it."""
    state = np.uint64(1)
    for _ in range(steps):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
    return state


@njit(nogil=True, fastmath=True)
def _read(numbers, times):
    """Return the sum of numbers, read so many times."""
    found = 0.0
    for _ in range(times):
        for number in numbers:
            found += number
    return found


def mixing(threads: int) -> None:
    """Take STEPS steps that read no memory, in threads."""
    _at_once([lambda: _mix(STEPS // threads)] * threads)


def reading(numbers: NDArray[np.float64], threads: int) -> None:
    """Read all numbers TIMES times, in threads."""
    parts = np.array_split(numbers, threads)
    _at_once([lambda part=part: _read(part, TIMES) for part in parts])


def _at_once(loops: list[Callable[[], object]]) -> None:
    with ThreadPoolExecutor(len(loops)) as pool:
        for running in [pool.submit(loop) for loop in loops]:
            running.result()
