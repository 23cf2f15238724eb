"""What Arrow keeps of columns, read without it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.arrow import picked, present, stored

COLUMNS = {
    "numbers": (pa.int64(), [1, None, -3, 4]),
    "small numbers": (pa.int8(), [None, 2, 3]),
    "doubles": (pa.float64(), [0.5, 1.5, None, 2.5]),
    "truths": (pa.bool_(), [True, None, False, True, False]),
    "times": (pa.timestamp("us"), [datetime(2026, 1, 1), None]),
    "texts": (pa.string(), ["a", None, "b"]),
    "decimals": (pa.decimal128(5, 2), [Decimal("1.50"), None]),
    "without nulls": (pa.int32(), [5, 6, 7]),
}


@pytest.mark.parametrize("name", COLUMNS)
@given(data=st.data())
def test_parts_of_columns_are_what_arrow_says(name: str, data: st.DataObject) -> None:
    kind, values = COLUMNS[name]
    long = (values * data.draw(st.integers(1, 9)))[: data.draw(st.integers(0, 40))]
    begin = data.draw(st.integers(0, len(long)))
    column = pa.array(long, kind)[begin:]
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, len(long)))) - {len(long)}), np.int64)
    rows = rows[rows < len(column)]
    assert present(column).tolist() == [value is not None for value in column.to_pylist()]
    assert picked(column, rows).equals(column.take(pa.array(rows)))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        there = [value for value in column.to_pylist() if value is not None]
        assert stored(column)[present(column)].tolist() == there
