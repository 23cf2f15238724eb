"""Rows of totals are put in order, those of one place side by side."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.trends.partials import _in_order

FAR = 2**62
NUMBERS = st.sampled_from((-FAR, -1, 0, 1, 2, 3, FAR))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(NUMBERS, st.integers(-3, 3), st.integers(0, 2)), min_size=2), st.booleans()
)
def test_rows_come_in_the_order_of_all_columns_and_equal_ones_as_they_came(
    rows: list[tuple[int, int, int]], near: bool
) -> None:
    columns = list(np.array(rows, dtype=np.int64).T)
    if near:  # numbers of few bits, which are sorted as one
        columns[0] = columns[0] % 7
    order, same = _in_order(columns)
    expected = np.lexsort(columns[::-1])
    assert (expected if order is None else order).tolist() == expected.tolist()
    placed = [tuple(column[row].item() for column in columns) for row in expected]
    assert same.tolist() == [one == two for one, two in itertools.pairwise(placed)]
