"""Totals of many places are put in order without being sorted, for some queries or for all."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.plan import TrendUnit
from elsinore.trends.kind import spec_of
from elsinore.trends.partials import merge, totals_fields
from elsinore.trends.placed import PLACE, placed

FAR = 2**61
QUERIES = "\n".join(
    f"QUERY q{n} RETURN COUNT(*), MIN(A.v) PATTERN SEQ(A, {kind}+) GROUP BY g WITHIN 4;"
    for n, kind in enumerate("BCDEF")
)


def made(left_out: float, twice: int = 0) -> tuple[TrendUnit, pa.Table]:
    """Return totals of a grid of places in two pieces, some left out and some there twice."""
    (unit,) = plan(parse_workload(QUERIES)).units
    spec, random = spec_of(unit), np.random.default_rng(3)
    grid = np.array(list(itertools.product(range(5), range(2, 9), range(-1, 3))))
    rows = grid[random.random(len(grid)) >= left_out]
    again = rows[:: len(rows) // twice] if twice else rows[:0]
    rows = random.permutation(np.concatenate([rows, again]))
    columns = [rows[:, 0], rows[:, 1], rows[:, 2] + FAR]
    schema = totals_fields(spec, exact=False)
    for number, field in enumerate(list(schema)[len(PLACE) :]):
        values = np.arange(len(rows)) % (1 if field.name.startswith("power") else 97)
        columns.append(values + number)
    arrays = [
        pa.array(column).cast(kind) for column, kind in zip(columns, schema.types, strict=True)
    ]
    table = pa.table(arrays, schema=schema)
    return spec, pa.concat_tables([table.slice(0, 30), table.slice(30)])


def sorted_rows(table: pa.Table, queries: Sequence[int]) -> list[dict[str, float]]:
    rows = [row for row in table.to_pylist() if row["query"] in queries]
    return sorted(rows, key=lambda row: [row[name] for name in PLACE])


@pytest.mark.parametrize("left_out", [0.0, 0.3, 0.95])
@pytest.mark.parametrize("queries", [range(5), range(1, 4), range(4, 5), range(2)])
@pytest.mark.parametrize("many", [0, 2**16])
def test_rows_of_some_queries_come_in_the_order_of_places(
    left_out: float, queries: Sequence[int], many: int
) -> None:
    spec, table = made(left_out)
    with mock.patch("elsinore.trends.placed.MANY", many):
        found = merge(spec, table, queries)
    assert found.schema == table.schema
    assert found.to_pylist() == sorted_rows(table, queries)


@pytest.mark.parametrize("queries", [range(5), range(1, 4)])
def test_rows_of_one_place_are_added_up_in_the_same_way(queries: Sequence[int]) -> None:
    spec, table = made(0.3, twice=9)
    own = pa.Table.from_pylist(sorted_rows(table, queries), schema=table.schema)
    with mock.patch("elsinore.trends.placed.MANY", 0):
        found = merge(spec, table, queries)
        assert placed(table, queries[0], queries[-1]) is None
    assert found.num_rows < own.num_rows
    assert found.to_pylist() == merge(spec, own).to_pylist()


def test_rows_in_order_are_not_copied() -> None:
    spec, table = made(0.0)
    table = pa.Table.from_pylist(sorted_rows(table, range(5)), schema=table.schema)
    with mock.patch("elsinore.trends.placed.MANY", 0):
        assert placed(table, 0, 4) is table
        pieces = pa.concat_tables([table.slice(0, 9), table.slice(9)])
        assert placed(pieces, 0, 4) is pieces
        assert merge(spec, table, [2, 3]).to_pylist() == sorted_rows(table, [2, 3])
        assert merge(spec, table, [7]).num_rows == 0
