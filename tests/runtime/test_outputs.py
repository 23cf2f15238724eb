import datetime as dt
import decimal
import json
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.errors import InputError, OutputError
from elsinore.runtime.files import read_events
from elsinore.runtime.outputs import write_table

MOMENT = dt.datetime(2024, 5, 1, 12, 0, 0, 250_000)
BIG = decimal.Decimal(10**37 + 1)
TABLE = pa.table(
    {
        "window_start": pa.array([MOMENT, None], pa.timestamp("ms")),
        "zoned": pa.array([MOMENT, None], pa.timestamp("us", "UTC")).cast(
            pa.timestamp("us", "Asia/Tokyo")
        ),
        "day": [dt.date(2024, 5, 1), None],
        "exact": pa.array([BIG, None], pa.decimal128(38, 0)),
        "log": [math.inf, -math.inf],
        "avg": [0.1, math.nan],
        "name": pa.array(['say "hi",\n', None]).dictionary_encode(),
        "list": pa.array([[1.5, math.inf], None]),
        "moments": pa.array([[MOMENT], []], pa.list_(pa.timestamp("us"))),
        "event": pa.array(
            [{"v": decimal.Decimal("1.50"), "at": MOMENT}, None],
            pa.struct({"v": pa.decimal128(10, 2), "at": pa.timestamp("us")}),
        ),
    }
)


def test_parquet_holds_the_table_as_it_is(tmp_path):
    write_table(TABLE, tmp_path / "new" / "q1.parquet", "parquet")
    back = pq.ParquetFile(tmp_path / "new" / "q1.parquet").read()
    assert back.schema.field("window_start").type == pa.timestamp("ms")
    assert back.drop_columns(["avg"]).to_pylist() == TABLE.drop_columns(["avg"]).to_pylist()


def test_json_is_one_valid_object_per_line(tmp_path):
    write_table(TABLE, tmp_path / "q1.json", "json")
    lines = (tmp_path / "q1.json").read_text().splitlines()
    first, second = (json.loads(line, parse_constant=pytest.fail) for line in lines)
    assert first == {
        "window_start": "2024-05-01T12:00:00.250",
        "zoned": "2024-05-01T12:00:00.250Z",
        "day": "2024-05-01",
        "exact": 10**37 + 1,
        "log": "Infinity",
        "avg": 0.1,
        "name": 'say "hi",\n',
        "list": [1.5, "Infinity"],
        "moments": ["2024-05-01T12:00:00.250"],
        "event": {"v": 1.5, "at": "2024-05-01T12:00:00.250"},
    }
    assert second == dict.fromkeys(first) | {"log": "-Infinity", "avg": "NaN", "moments": []}


def test_csv_reads_back_with_its_values(tmp_path):
    write_table(TABLE, tmp_path / "q1.csv", "csv")
    text = (tmp_path / "q1.csv").read_text()
    assert "2024-05-01T12:00:00.250" in text
    assert str(BIG) in text
    back = read_events(tmp_path / "q1.csv")
    assert back["log"].to_pylist() == [math.inf, -math.inf]
    assert math.isnan(back["avg"][1].as_py())
    assert back["name"].to_pylist() == ['say "hi",\n', None]
    assert back["zoned"][0].as_py() == MOMENT.replace(tzinfo=dt.UTC)
    assert back["list"].to_pylist() == ['[1.5, "Infinity"]', None]


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "i": st.none() | st.integers(-(2**63), 2**63 - 1),
                "f": st.none() | st.floats(allow_nan=False, allow_infinity=False),
                "s": st.none() | st.text(),
            }
        ),
        max_size=5,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_plain_values_survive_json(tmp_path, rows):
    schema = pa.schema({"i": pa.int64(), "f": pa.float64(), "s": pa.string()})
    write_table(pa.Table.from_pylist(rows, schema), tmp_path / "q.json", "json")
    lines = (tmp_path / "q.json").read_bytes().split(b"\n")
    assert [json.loads(line) for line in lines if line] == rows


@pytest.mark.parametrize("file_format", ["parquet", "csv", "json"])
def test_an_empty_result_is_a_file(tmp_path, file_format):
    write_table(TABLE.slice(0, 0), tmp_path / "q", file_format)
    assert [path.name for path in tmp_path.iterdir()] == ["q"]


def test_what_was_there_is_replaced(tmp_path):
    for count in (2, 1):
        write_table(pa.table({"n": range(count)}), tmp_path / "q.csv", "csv")
    assert read_events(tmp_path / "q.csv").num_rows == 1


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    (tmp_path / "q.csv" / "old").mkdir(parents=True)
    with pytest.raises(OutputError, match="is a folder that holds 'old'"):
        write_table(TABLE, tmp_path / "q.csv", "csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="Cannot write"):
        write_table(TABLE, tmp_path / "file" / "q.csv", "csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "q.csv"]


def test_an_unknown_format_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(InputError, match=r"Formats: parquet, csv, json. Did you mean 'parquet'\?"):
        write_table(TABLE, tmp_path / "q", "parket")


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("s", ["90", "-1", "0"]),
        ("ms", ["0.09", "-0.001", "0"]),
        ("us", ["0.00009", "-0.000001", "0"]),
        ("ns", ["0.00000009", "-0.000000001", "0"]),
    ],
)
def test_lengths_of_time_are_seconds_in_csv_and_json(
    unit: str, expected: list[str], tmp_path: Path
) -> None:
    column = pa.array([90, -1, 0, None], pa.duration(unit))
    nested = pa.array([[90], [-1], [0], None], pa.list_(pa.duration(unit)))
    write_table(pa.table({"d": column, "l": nested}), tmp_path / "x.json", "json")
    rows = [f'{{"d": {text}, "l": [{text}]}}' for text in expected]
    assert (tmp_path / "x.json").read_text().splitlines() == [*rows, '{"d": null, "l": null}']
    write_table(pa.table({"d": column}), tmp_path / "x.csv", "csv")
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert [line.strip('"') for line in lines] == ["d", *expected, ""]
