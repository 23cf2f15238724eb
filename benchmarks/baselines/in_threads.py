"""The speed-up by the machine's cores: compiled loops, alone and in several threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

STEPS = 100_000_000  # of the loop that reads nothing, in each of its chains
FACTOR = np.uint64(6364136223846793005)  # odd: no number becomes 0
NUMBERS = 2**24  # of the loop that reads, a multiple of what caches hold
TIMES = 16  # it reads them


@njit(nogil=True)
def _mix(steps, factor):
    """Multiply several independent numbers in a number of steps, and return the result.

    Dependent steps would leave half of a core idle, so that sharing it would cost nothing. No
    vector instruction multiplies several such numbers, so a core is fully used.
    """
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    e, f, g, h = np.uint64(5), np.uint64(6), np.uint64(7), np.uint64(8)
    for _ in range(steps):
        a, b = (a ^ steps) * factor, (b ^ steps) * factor
        c, d = (c ^ steps) * factor, (d ^ steps) * factor
        e, f = (e ^ steps) * factor, (f ^ steps) * factor
        g, h = (g ^ steps) * factor, (h ^ steps) * factor
    return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h


@njit(nogil=True, fastmath=True)
def _read(numbers, times):
    """Return the sum of numbers, reading all of them `times` times."""
    found = 0.0
    for _ in range(times):
        for number in numbers:
            found += number
    return found


def mixing(threads: int) -> None:
    """Take STEPS steps of each chain, which read no memory, in threads."""
    _at_once([lambda: _mix(np.uint64(STEPS // threads), FACTOR)] * threads)


def reading(numbers: NDArray[np.float64], threads: int) -> None:
    """Read all numbers TIMES times, in threads."""
    parts = np.array_split(numbers, threads)
    _at_once([lambda part=part: _read(part, TIMES) for part in parts])


def _at_once(loops: list[Callable[[], object]]) -> None:
    with ThreadPoolExecutor(len(loops)) as pool:
        for running in [pool.submit(loop) for loop in loops]:
            running.result()
