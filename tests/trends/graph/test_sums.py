"""Sums over chosen events at once: what adding them one by one makes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from elsinore.trends.core.extended import normalise
from elsinore.trends.graph.sums import Sums, add_chosen, add_to, empty_sums


def drawn(random: np.random.Generator, count: int, powers: int) -> Sums:
    """Return sums of nothing in row 0, then normal numbers, some of them 0 and some negative."""
    sums = empty_sums(1 + count, 2, 0)
    for row in range(1, 1 + count):
        for field in range(2):
            power = int(random.integers(0, powers))
            number = 2.0 ** random.uniform(128 if power else 0, 380) * (-1.0) ** (field * row)
            number = 0.0 if random.random() < 0.1 and power == 0 else number
            sums.cells[row, field], sums.powers[row, field] = normalise(number, power)
    return sums


@pytest.mark.parametrize("powers", [1, 2, 4])
def test_chosen_numbers_come_to_the_same_at_once_and_one_by_one(powers: int) -> None:
    random = np.random.default_rng(powers)
    at_once = 0
    for count in (1, 2, 7, 40, 256):
        sums = drawn(random, count, powers)
        chosen = (random.random(256) < 0.6).astype(np.uint8)
        before = sums.cells[0].copy()
        exact = add_chosen(sums, 0, 1, chosen, count)
        at_once += exact
        if not exact:
            assert sums.cells[0].tolist() == before.tolist()
            continue
        found = [math.ldexp(sums.cells[0, f], 256 * (int(sums.powers[0, f]) - 1)) for f in (0, 1)]
        wanted = Sums(sums.cells.copy(), sums.powers.copy(), sums.extremes)
        wanted.cells[0], wanted.powers[0] = 0.0, 0
        for row in range(count):
            if chosen[row]:
                add_to(wanted, 0, 1 + row)
        for f in (0, 1):
            by_one = math.ldexp(wanted.cells[0, f], 256 * (int(wanted.powers[0, f]) - 1))
            largest = 2.0 ** (256.0 * (int(sums.powers[1:, f].max()) - 1) + 380)
            assert math.isclose(found[f], by_one, rel_tol=1e-9, abs_tol=1e-12 * largest)
    assert at_once > 0
