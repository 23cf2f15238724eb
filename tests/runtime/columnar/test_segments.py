"""Stretches of events are merged as a stable sort by key and time orders them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from elsinore.runtime.columnar.segments import merged_order

STRETCHES = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.integers(0, 6), max_size=5).map(sorted)), max_size=20
)


@given(STRETCHES)
def test_stretches_are_merged_as_a_stable_sort_does(stretches: list[tuple[int, list[int]]]) -> None:
    ranks = np.array([rank for rank, _ in stretches], dtype=np.int32)
    lengths = np.array([len(times) for _, times in stretches], dtype=np.int64)
    times = np.array([time for _, part in stretches for time in part], dtype=np.int64)
    expected = np.lexsort((times, np.repeat(ranks, lengths)))
    assert merged_order(ranks, lengths, 3, times).tolist() == expected.tolist()
