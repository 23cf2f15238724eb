"""Columns of any Arrow type in the plain type that stands for it."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import elsinore as el
from elsinore.runtime.column_types import stored_type, with_stored_types
from support.column_types import arrow_columns

ARROW = arrow_columns()
NESTED = {
    "list": lambda column: pa.ListArray.from_arrays([0, 1, 1, len(column)], column),
    "list view": lambda column: pa.ListViewArray.from_arrays([1, 0, 1], [1, 2, 0], column),
    "list of one": lambda column: pa.FixedSizeListArray.from_arrays(column, 1),
    "struct": lambda column: pa.StructArray.from_arrays([column], ["x"]),
    "list of structs": lambda column: pa.ListArray.from_arrays(
        [0, 1, 1, len(column)], pa.StructArray.from_arrays([column], ["x"])
    ),
}


def plain(value: Any) -> Any:
    """Return a value with texts in place of UUIDs, as they are stored."""
    match value:
        case uuid.UUID():
            return str(value)
        case list() | tuple():
            return type(value)(map(plain, value))
        case dict():
            return {key: plain(each) for key, each in value.items()}
    return value


@pytest.mark.parametrize("name", ARROW)
def test_values_stay_the_same_in_the_type_that_is_stored(name: str) -> None:
    column = ARROW[name]
    for array in [column, *(make(column) for make in NESTED.values())]:
        for begin in range(len(array) + 1):
            part = array.slice(begin)
            actual = with_stored_types(pa.table({"v": part}))["v"]
            actual.validate(full=True)
            assert actual.type == stored_type(array.type) == stored_type(actual.type)
            assert actual.to_pylist() == plain(part.to_pylist())


def test_maps_of_extension_types_are_stored_with_their_nulls() -> None:
    keys = pa.array(["a", "b", "c"], pa.string_view())
    maps = pa.MapArray.from_arrays([0, 2, None, 3], keys, ARROW["uuid"].slice(0, 3))
    actual = with_stored_types(pa.table({"v": maps.slice(1)}))["v"]
    assert actual.type == pa.map_(pa.large_string(), pa.large_string())
    assert actual.to_pylist() == plain(maps.slice(1).to_pylist())


def test_extension_types_of_a_parquet_file_are_keys_and_compared(tmp_path: Path) -> None:
    names = ("uuid", "json", "bool8", "halffloat")
    events = {name: ARROW[name].slice(0, 1) for name in names}
    rows = pa.table({"time": [1], "type": ["A"], **events})
    rows = pa.concat_tables([rows, rows.set_column(1, "type", pa.array(["B"]))])
    pq.write_table(rows.set_column(0, "time", pa.array([1, 2])), tmp_path / "events.parquet")
    conditions = "a.json = b.json AND a.bool8 = b.bool8 AND a.halffloat = b.halffloat"
    text = f"QUERY q RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE [uuid] AND {conditions};"
    (row,) = el.Workload.parse(text).run(tmp_path / "events.parquet")["q"].to_pylist()
    assert row["count(*)"] == 1
