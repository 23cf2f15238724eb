"""Rows of totals are put in order, those of one place side by side."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.trends.kind import spec_of
from elsinore.trends.partials import TotalsRoom, _in_order
from elsinore.trends.values.shifts import Shifts

FAR = 2**62
NUMBERS = st.sampled_from((-FAR, -1, 0, 1, 2, 3, FAR))


@settings(max_examples=40)
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


@pytest.mark.parametrize("left_out", [0.0, 0.7, 0.9])
def test_rows_of_a_dense_grid_come_in_order_without_being_sorted(left_out: float) -> None:
    random = np.random.default_rng(3)
    grid = np.array(list(itertools.product(range(-2, 5), range(9), range(3))), dtype=np.int64)
    rows = random.permutation(grid[random.random(len(grid)) >= left_out])
    columns = [rows[:, 0], rows[:, 1].astype(np.int32), rows[:, 2] + FAR]
    order, same = _in_order(columns)
    assert order is not None
    assert order.tolist() == np.lexsort(columns[::-1]).tolist()
    assert not same.any()
    assert len(same) == len(rows) - 1


@pytest.mark.parametrize(
    ("waiting", "sizes"), [(10, [3, 10, 4, 1] * 15), (250, [250, 2, 3]), (300, [300, 2, 200])]
)
def test_batches_cut_from_one_room_keep_their_rows(waiting: int, sizes: list[int]) -> None:
    kinds = {"query": pa.int32(), "group": pa.int32(), "window": pa.int64(), "cell0": pa.float64()}
    schema = pa.schema(kinds | {"power0": pa.int32(), "shift0": pa.float64()})
    (unit,) = plan(parse_workload("QUERY q RETURN VARIANCE(A.v) PATTERN A+")).units
    room, shifts, batches = TotalsRoom(schema, 1), Shifts(spec_of(unit)), []
    shifts.load(np.zeros((2, 1), np.int64), np.array([2.5]))
    for number, rows in enumerate(sizes):
        arrays = room.arrays(waiting)  # of which some are given out
        windows, cells, codes = (
            array.reshape(columns, -1) for array, columns in zip(arrays, (1, 1, 3), strict=True)
        )
        here = slice(room.begin, room.begin + rows)
        windows[0, here], cells[0, here] = np.arange(rows), number + 0.5
        codes[:, here] = [[0], [number % 2], [number]]
        batches.append(room.cut(rows, shifts))
    for number, (rows, batch) in enumerate(zip(sizes, batches, strict=True)):
        assert batch.schema == schema
        assert batch.column("window").to_pylist() == list(range(rows))
        shift = 0.0 if number % 2 else 2.5
        row = {
            "query": 0,
            "group": number % 2,
            "cell0": number + 0.5,
            "power0": number,
            "shift0": shift,
        }
        assert all(set(batch.column(name).to_pylist()) == {value} for name, value in row.items())
