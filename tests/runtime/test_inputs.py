from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset

import elsinore as el
from elsinore.errors import InputError
from elsinore.runtime.inputs import as_table

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
        lambda: dataset.dataset(TABLE),
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


def test_views_dictionaries_and_runs_of_all_libraries_are_plain():
    frame = pl.DataFrame(
        {"time": [1, 2], "kind": ["A", "B"], "b": [b"x", b"y"], "l": [["p"], []], "g": ["u", "v"]}
    ).with_columns(pl.col("kind").cast(pl.Enum(["A", "B"])), pl.col("g").cast(pl.Categorical))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["u", "v"]))
    text = "RETURN a.g, a.b, b.l, a[] AS all PATTERN SEQ(A a, B b) WHERE a.g = 'u' AND a.g < b.g"
    table = as_table(frame)
    plain = table.set_column(table.column_names.index("g"), "g", runs)
    for events in (frame, frame.lazy(), plain):
        (actual,) = el.Workload.parse(text).run(events, type="kind")["query"].to_pylist()
        row = {"time": 1, "kind": "A", "b": b"x", "l": ["p"], "g": "u"}
        assert actual == {"a.g": "u", "a.b": b"x", "b.l": [], "all": [row]}
        grouped = el.Workload.parse("RETURN g, COUNT(*) AS n PATTERN A+ GROUP BY g")
        assert grouped.run(events, type="kind")["query"].to_pylist()[0]["g"] == "u"


def test_a_pandas_index_with_a_name_is_an_attribute():
    frame = pd.DataFrame({"type": ["A"], "g": ["x"]}, index=pd.Index([7], name="time"))
    assert as_table(frame).to_pylist() == [{"time": 7, "type": "A", "g": "x"}]
    deeper = frame.reset_index().set_index(["g", "time"])
    assert as_table(deeper).to_pylist() == [{"g": "x", "time": 7, "type": "A"}]


def test_a_column_whose_name_is_part_of_another_that_is_read_is_not_read():
    frame = pd.DataFrame({"time": [1, 2], "type": ["A", "A"], "m": [1, "x"]})
    run = el.Workload.parse("RETURN COUNT(*) AS n PATTERN A").run
    assert run(frame)["query"]["n"].to_pylist() == [2]
    with pytest.raises(InputError, match="'m' has values of several kinds"):
        run(frame, time="CASE WHEN m = 1 THEN time ELSE 0 END")


def test_of_a_dataset_the_columns_that_a_run_reads_are_read(tmp_path):
    folder = tmp_path / "events"
    dataset.write_dataset(TABLE.append_column("v", pa.array([1, 2])), folder, format="parquet")
    events = dataset.dataset(folder)
    assert as_table(events, {"time", "v"}).column_names == ["time", "v"]
    workload = el.Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B);")
    assert workload.run(events)["q"].to_pylist() == workload.run(TABLE)["q"].to_pylist()


def test_of_a_pandas_frame_the_columns_that_a_run_reads_are_converted():
    rows = 6
    frame = pd.DataFrame(
        {
            "at": range(rows),
            "kind": list("ABABBB"),
            "g": [1, 1, 2, 2, 1, 2],
            "v": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5],
            "other": [object()] * rows,  # no table can hold it
            7: range(rows),
        }
    )
    query = "QUERY q RETURN g, COUNT(*), SUM(b.v) PATTERN SEQ(A, B b+) GROUP BY g;"
    plain = frame.drop(columns=["other", 7])
    workload = el.Workload.parse(query)
    actual = workload.run(frame, time="at * 2", type="kind")["q"]
    expected = workload.run(plain.to_dict("list"), time="at * 2", type="kind")["q"]
    assert actual.to_pylist() == expected.to_pylist()
    assert workload.run(frame.set_index("g"), time="at", type="kind")["q"].num_rows == 2
    with pytest.raises(InputError, match="Column 'other', row 1"):  # those are shown whole
        workload.run(frame, time="at", type="kind", rejects=True)
    late = plain.assign(kind=["A", None] * 3)
    with pytest.raises(InputError, match=r"at=1, kind=null, g=1, v=1\.5, far=0"):
        workload.run(late.assign(far=0), time="at", type="kind")
    with pytest.raises(el.ElsinoreError, match=r"no attribute 'g'.* Attributes: at, kind, v"):
        workload.run(plain.drop(columns=["g"]), time="at", type="kind")
    with pytest.raises(InputError, match="1 event of 6 cannot be used"):
        workload.run(frame.assign(kind=["A", None] + ["B"] * 4), time="at", type="kind")


def test_a_pandas_index_without_a_name_stays_away():
    frame = pd.DataFrame({"time": [1, 2]}, index=[7, 8])
    table = as_table(frame)
    assert table.column_names == ["time"]
    assert table.schema.metadata is None


def test_a_key_that_only_later_rows_have_is_a_column():
    assert as_table([{"a": 1}, {"b": 2}]).to_pydict() == {"a": [1, None], "b": [None, 2]}


@pytest.mark.parametrize("data", [42, b"trips.csv", None, pl.Series([1]), pd.Series([1]), [1, 2]])
def test_anything_else_is_refused_with_what_is_accepted(data):
    with pytest.raises(InputError, match="Accepted are a path, a pyarrow Table"):
        as_table(data)


@pytest.mark.parametrize("kind", [str, Path])
def test_the_place_of_files_is_read(tmp_path, kind):
    (tmp_path / "trips.csv").write_text("time,type\n1,A\n")
    assert as_table(kind(tmp_path / "trips.csv")).to_pylist() == [{"time": 1, "type": "A"}]


def test_a_place_where_nothing_is_names_what_is_there(tmp_path):
    (tmp_path / "trips.csv").touch()
    with pytest.raises(InputError, match=r"holds no 'trip.csv'. Did you mean 'trips.csv'?"):
        as_table(str(tmp_path / "trip.csv"))


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


@pytest.mark.parametrize("many", [1, 2])
def test_dictionaries_with_null_or_a_value_twice_are_read_as_their_values(many: int) -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), pa.array(["x", "x", None]))
    types = pa.array(["A", "B", "A", "B"]).dictionary_encode()
    batch = pa.record_batch({"time": [1, 2, 3, 4], "type": types, "k": texts})
    table = pa.Table.from_batches([batch.slice(0, 4 // many), batch.slice(4 // many)])
    assert as_table(table).schema.field("type").type == types.type
    workload = el.Workload.parse("RETURN k, COUNT(*) AS n PATTERN SEQ(A, B) GROUP BY k")
    (actual,) = workload.run(table).values()
    assert [(row["k"], row["n"]) for row in actual.to_pylist()] == [("x", 1), (None, 1)]
    nulls = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["A", None]))
    with pytest.raises(InputError, match="1 with null type"):
        workload.run({"time": [1, 2], "type": nulls, "k": [1, 1]})


def test_a_list_of_paths_is_pointed_at_what_reads_it() -> None:
    with pytest.raises(InputError, match=r"read by read_events\(\*paths\)"):
        as_table(["a.parquet", Path("b.parquet")])
