"""Rows that are equal are given once, whatever their columns hold."""

import math

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from elsinore.runtime.distinct import distinct_rows

NUMBERS = st.sampled_from([None, 0.0, -0.0, 1.0, math.nan])
KIND = pa.struct([("x", pa.float64()), ("y", pa.list_(pa.float64()))])
STRUCTS = st.none() | st.fixed_dictionaries(
    {"x": NUMBERS, "y": st.none() | st.lists(NUMBERS, max_size=2)}
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "n": NUMBERS,
            "s": st.sampled_from(["a", "b"]),
            "l": st.none() | st.lists(STRUCTS, max_size=2),
        }
    ),
    max_size=8,
)
SCHEMA = pa.schema([("n", pa.float64()), ("s", pa.string()), ("l", pa.list_(KIND))])


def mark(value: object) -> object:
    """Return what is equal for values that count as equal."""
    if isinstance(value, dict):
        return tuple((name, mark(part)) for name, part in value.items())
    if isinstance(value, list):
        return tuple(map(mark, value))
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


@given(ROWS)
def test_the_first_of_equal_rows_is_kept(rows):
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    kept = {}
    for row in table.to_pylist():
        kept.setdefault(mark(row), row)
    actual = distinct_rows(table).to_pylist()
    assert [mark(row) for row in actual] == list(kept)
