"""Rows of totals are put in order, those of one place side by side."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.arrow import SmallBatches
from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.operators.order import rows_in_order
from elsinore.trends.kind import spec_of
from elsinore.trends.partials import PLACE, merge, totals_fields

FAR = 2**62
NUMBERS = st.sampled_from((-FAR, -1, 0, 1, 2, 3, FAR))


@settings(max_examples=20)
@given(
    st.lists(st.tuples(NUMBERS, st.integers(-3, 3), st.integers(0, 2)), min_size=2), st.booleans()
)
def test_rows_come_in_the_order_of_all_columns_and_equal_ones_as_they_came(
    rows: list[tuple[int, int, int]], near: bool
) -> None:
    columns = list(np.array(rows, dtype=np.int64).T)
    if near:  # numbers of few bits, which are sorted as one
        columns[0] = columns[0] % 7
    order, same = rows_in_order(columns)
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
    order, same = rows_in_order(columns)
    assert order is not None
    assert order.tolist() == np.lexsort(columns[::-1]).tolist()
    assert not same.any()
    assert len(same) == len(rows) - 1


def test_small_batches_keep_their_rows_when_others_are_made() -> None:
    schema = pa.schema({"query": pa.int32(), "window": pa.int64(), "cell0": pa.float64()})
    batches = SmallBatches(schema)
    sizes = [3, 0, 10, 4, 1, 4_000, 5_000, 200, 1]
    made = []
    for number, rows in enumerate(sizes):
        columns = np.full(rows, number, np.int32), np.arange(rows), np.full(rows, number + 0.5)
        made.append(batches.of(columns))
    for number, (rows, batch) in enumerate(zip(sizes, made, strict=True)):
        assert batch.schema == schema
        assert batch.column("query").to_pylist() == [number] * rows
        assert batch.column("window").to_pylist() == list(range(rows))
        assert batch.column("cell0").to_pylist() == [number + 0.5] * rows


QUERIES = " ".join(
    f"QUERY q{n} RETURN COUNT(*), MIN(A.v) PATTERN SEQ(A, {kind}+) GROUP BY g WITHIN 4;"
    for n, kind in enumerate("BCDEF")
)


@pytest.mark.parametrize("queries", [range(5), range(1, 4), range(4, 5), range(2), range(7, 8)])
@pytest.mark.parametrize("is_ordered", [False, True])
def test_totals_of_some_queries_come_in_the_order_of_their_places(
    queries: range, is_ordered: bool
) -> None:
    (unit,) = plan(parse_workload(QUERIES)).units
    schema, random = totals_fields(spec_of(unit), exact=False), np.random.default_rng(3)
    places = np.array(list(itertools.product(range(5), range(2, 9), range(-1, 3))))
    places = places if is_ordered else random.permutation(places)
    columns = [places[:, 0], places[:, 1], places[:, 2] + 2**61]
    columns += [np.arange(len(places)) % 97 for _ in list(schema)[len(columns) :]]
    table = pa.table(
        [pa.array(column).cast(kind) for column, kind in zip(columns, schema.types, strict=True)],
        schema=schema,
    )
    rows = [row for row in table.to_pylist() if row["query"] in queries]
    rows.sort(key=lambda row: [row[name] for name in PLACE])
    pieces = pa.concat_tables([table.slice(0, 30), table.slice(30)])
    assert merge(spec_of(unit), pieces, queries).to_pylist() == rows
