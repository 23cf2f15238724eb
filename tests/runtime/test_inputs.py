import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from elsinore.errors import InputError
from elsinore.runtime import as_table

TABLE = pa.table({"time": [1, 2], "type": ["A", "B"]})
BATCH = TABLE.to_batches()[0]


class OnlyStream:
    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "make",
    [
        lambda: TABLE,
        lambda: BATCH,
        lambda: pa.RecordBatchReader.from_batches(BATCH.schema, [BATCH]),
        lambda: [BATCH.slice(0, 1), BATCH.slice(1)],
        lambda: (batch for batch in [BATCH.slice(0, 1), BATCH.slice(1)]),
        TABLE.to_pandas,
        lambda: pl.from_arrow(TABLE),
        lambda: pl.from_arrow(TABLE).lazy(),
        OnlyStream,
        TABLE.to_pydict,
        lambda: {"time": TABLE["time"], "type": TABLE["type"]},
        TABLE.to_pylist,
        lambda: iter(TABLE.to_pylist()),
    ],
)
def test_every_accepted_container_gives_the_same_table(make):
    assert as_table(make()).cast(TABLE.schema).equals(TABLE)


def test_polars_strings_come_as_strings_not_views():
    assert as_table(pl.from_arrow(TABLE)).schema.field("type").type == pa.large_string()


def test_the_pandas_index_stays_away():
    frame = pd.DataFrame({"time": [1, 2]}, index=[7, 8])
    table = as_table(frame)
    assert table.column_names == ["time"]
    assert table.schema.metadata is None


def test_a_key_that_only_later_rows_have_is_a_column():
    assert as_table([{"a": 1}, {"b": 2}]).to_pydict() == {"a": [1, None], "b": [None, 2]}


@pytest.mark.parametrize("data", [42, "trips.csv", None, pl.Series([1]), pd.Series([1]), [1, 2]])
def test_anything_else_is_refused_with_what_is_accepted(data):
    with pytest.raises(InputError, match="Accepted are a pyarrow Table"):
        as_table(data)


def test_a_path_is_pointed_to_read_events():
    with pytest.raises(InputError, match="Read a file with read_events"):
        as_table("trips.csv")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "list of events is empty"),
        ({}, "no columns"),
        ({"a": [1], "b": [1, 2]}, "not of one length: 1 and 2 values"),
        ({"a": 1}, "to the list of its values"),
        ([{"a": 1}, {"a": "x"}], r"Column 'a' .*'x' \(str\) in row 2"),
        ([BATCH, {"a": 1}], "only dicts or only RecordBatches"),
        (pa.table([[1], [2]], names=["a", "a"]), "Two columns of the events are named 'a'"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "Two columns of the events are named 'a'"),
        (pd.DataFrame({"a": [1, "x"]}), r"Column 'a' .*'x' \(str\) in row 2"),
    ],
)
def test_data_that_is_no_table_is_refused(data, message):
    with pytest.raises(InputError, match=message):
        as_table(data)
