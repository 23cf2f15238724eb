"""Rows are known to be in order, or are put in it."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.operators.order import in_order, ranks

VALUES = st.none() | st.floats(-2, 2) | st.sampled_from((float("nan"), 0.0, 1.0))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 1), VALUES, st.sampled_from(("", "a", "b"))), max_size=6))
def test_what_is_known_to_be_in_order_stays_so_when_sorted(
    rows: list[tuple[int, float | None, str]],
) -> None:
    for given_rows in (rows, sorted(rows, key=lambda row: (row[0], str(row[1]), row[2]))):
        columns = [
            pa.array([row[place] for row in given_rows], kind)
            for place, kind in enumerate((pa.int64(), pa.float64(), pa.string()))
        ]
        for some in ([columns[0], columns[2]], columns):
            order, places = ranks(some)
            if in_order(some):
                assert order.to_pylist() == list(range(len(rows)))
            elif not any(column.null_count for column in some) and len(some) == 2:
                assert order.to_pylist() != list(range(len(rows)))
            assert [places[row] for row in order.to_pylist()] == list(range(len(rows)))
