"""Regions of values among points, against NumPy's own search."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.runtime.digits import PIECES, add_regions

numbers = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2**-52, 1e-310, 2e-310, -3.0, 2.0**53 - 1]),
    st.integers(-9, 9).map(float),
    st.floats(-1e9, 1e9),
)


@settings(max_examples=100)
@given(
    st.lists(numbers, min_size=1, max_size=30, unique=True),
    st.lists(st.one_of(numbers, st.sampled_from([math.nan, math.inf, -math.inf])), max_size=20),
    st.sampled_from([1, 7]),
)
def test_a_region_is_what_a_search_finds(
    drawn: list[float], more: list[float], factor: int
) -> None:
    points = np.array(sorted(drawn))
    values = np.array([*more, *drawn, *np.nextafter(points, math.inf)])
    kinds = (np.arange(len(values)) % 5 == 4).astype(np.int32)
    codes = np.full(len(values), 100, dtype=np.int64)
    guide = np.empty(PIECES * len(points) + 2, dtype=np.int64)
    add_regions(codes, kinds, 0, values, np.append(points, math.nan), guide, factor)
    regions = 2 * np.searchsorted(points, values) + 1 + np.isin(values, points)
    regions[np.isnan(values) | (kinds != 0)] = 0
    assert codes.tolist() == (100 + factor * regions).tolist()
