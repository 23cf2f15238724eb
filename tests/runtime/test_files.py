import gzip
import re
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elsinore.errors import InputError
from elsinore.runtime.files import read_events
from elsinore.runtime.sources import ReadingWarning

CSV = b"time,type,v\n1,A,0.5\n2,B,\n"
JSON = b'{"time": 1, "type": "A", "v": 0.5}\n{"time": 2, "type": "B", "v": null}\n'
ROWS = [{"time": 1, "type": "A", "v": 0.5}, {"time": 2, "type": "B", "v": None}]
REAL = Path(__file__).parents[2] / "../shared/data/finance"


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("suffix", ["csv", "CSV", "csv.gz"])
def test_csv_is_read_packed_or_not(tmp_path, suffix):
    assert read_events(put(tmp_path / f"e.v1.{suffix}", CSV)).to_pylist() == ROWS


@pytest.mark.parametrize("suffix", ["json", "jsonl", "ndjson", "json.gz", "jsonl.gz", "ndjson.gz"])
def test_json_lines_are_read_packed_or_not(tmp_path, suffix):
    assert read_events(str(put(tmp_path / f"e.{suffix}", JSON))).to_pylist() == ROWS


def test_parquet_is_read(tmp_path):
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "e.parquet")
    assert read_events(tmp_path / "e.parquet").to_pylist() == ROWS
    assert read_events(tmp_path).to_pylist() == ROWS


def test_a_folder_is_read_in_the_order_of_names_without_hidden_files(tmp_path):
    put(tmp_path / "b.csv", b"time,type\n2.5,B\n")
    put(tmp_path / "a.csv.gz", b"time,type\n1,A\n")
    put(tmp_path / "_SUCCESS", b"")
    put(tmp_path / ".b.csv.crc", b"\x00")
    assert read_events(tmp_path).to_pylist() == [
        {"time": 1.0, "type": "A"},
        {"time": 2.5, "type": "B"},
    ]


def test_folders_of_a_partitioned_data_set_give_columns(tmp_path):
    put(tmp_path / "city=New%20York" / "a.csv", b"time\n1\n")
    put(tmp_path / "city=__HIVE_DEFAULT_PARTITION__" / "a.csv", b"time\n2\n")
    rows = sorted(read_events(tmp_path).to_pylist(), key=lambda row: row["time"])
    assert rows == [{"time": 1, "city": "New York"}, {"time": 2, "city": None}]


def test_a_column_that_only_later_files_have_is_kept(tmp_path):
    put(tmp_path / "a.json", b'{"time": 1}\n')
    put(tmp_path / "b.json", b'{"time": 2, "v": 3}\n')
    assert read_events(tmp_path)["v"].to_pylist() == [None, 3]


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_types_are_found_from_all_values_not_the_first_block(tmp_path, suffix):
    count = 400_000
    line = {"csv": "{},1234567\n", "json": '{{"time": {}, "v": 1234567}}\n'}[suffix]
    last = {"csv": "0,0.5\n", "json": '{"time": 0, "v": 0.5}\n'}[suffix]
    head = "time,v\n" if suffix == "csv" else ""
    text = head + "".join(line.format(row) for row in range(count)) + last
    table = read_events(put(tmp_path / f"e.{suffix}", text.encode()))
    assert table.num_rows == count + 1
    assert table["v"].type == pa.float64()


def test_empty_csv_cells_are_null_and_quoted_ones_and_na_are_text(tmp_path):
    content = b'time,type\n1,\n2,""\n3,NA\n'
    assert read_events(put(tmp_path / "e.csv", content))["type"].to_pylist() == [None, "", "NA"]


@pytest.mark.parametrize("last", [b"1,7,0", b'2,"7",0.5\n3,,x'])
def test_whole_numbers_that_lost_zeros_are_told_and_can_be_text(tmp_path, last):
    path = put(tmp_path / "e.csv", b'time,rider,v\n0,"007",10\n' + last + b"\n")
    with pytest.warns(
        ReadingWarning, match=r"'rider' .* row 1 holds '007': .* text=\"rider\""
    ) as told:
        assert read_events(path)["rider"].to_pylist()[:2] == [7, 7]
    assert len(told) == 1
    assert read_events(path, text="rider")["rider"].to_pylist()[:2] == ["007", "7"]
    with pytest.raises(InputError, match=r"no column 'ridr', which text= .* mean 'rider'\?"):
        read_events(path, text=["ridr"])


def test_zeros_that_no_whole_number_loses_are_not_told(tmp_path):
    content = b"time,v,w,x\n08:00:01,0,0.5,05/01\n08:00:02,100,00.5,06/01\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_events(put(tmp_path / "e.csv", content))["v"].to_pylist() == [0, 100]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.csv", b"a,b\n1,2\n3\n", "row 2: 1 cell where there are 2 columns: 3. Give"),
        ("e.csv", b"a,b", "has no events: at most a header, and no rows"),
        ("e.csv", b"\n\n", "has no events: at most a header, and no rows"),
        ("e.csv", b"", r"is empty \(0 bytes\)"),
        ("e.csv", b"a,a\n1,2\n", "Two columns of .* are named 'a'"),
        ("e.csv", b"a\n\xff\xfe\n", "column 'a' that is not UTF-8"),
        ("e.json", b'{"a": 1}\n\n{"a": 2,}\n', r"line 3, column \d+: "),
        ("e.json", b'{"a": 1}\n7\n', "line 2: an object"),
        ("e.json", b'[{"a": 1}, 7]', "item 2: an object"),
        ("e.json", b'[{"a": 1},\n{"a": 2]', r"line 2, column \d+: .*not written to its end"),
        (
            "e.json",
            b'{"a": 1}\n{"a": "x"}\n',
            r"column 'a' holds a number in some rows and a string in row 2",
        ),
        ("e.json", b'{"a": 1}\n{"a": "\xff"\n', "line 2: text that is not UTF-8"),
        ("e.json", b"[]", "has no events"),
        ("e.parquet", b"", "is empty"),
        ("e.parquet", b"no parquet at all", "is not a Parquet file"),
        ("e.xlsx", b"", r"The format of '.*e\..*' is unknown"),
        ("e.gz", b"", r"The format of '.*e\..*' is unknown"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_place(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message):
        read_events(put(tmp_path / name, content))


def test_a_broken_gzip_file_is_refused(tmp_path):
    path = tmp_path / "e.csv.gz"
    path.write_bytes(gzip.compress(CSV)[:-12])
    with pytest.raises(InputError, match=r"e\.csv\.gz"):
        read_events(path)
    path.write_bytes(CSV)
    with pytest.raises(InputError, match="not compressed with gzip"):
        read_events(path)


def test_the_nearest_file_name_is_suggested(tmp_path):
    put(tmp_path / "trips.csv", CSV)
    with pytest.raises(InputError, match=r"holds no 'trip.csv'. Did you mean 'trips.csv'\?"):
        read_events(tmp_path / "trip.csv")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=r"there is no folder '.*nowhere'"):
        read_events(tmp_path / "nowhere" / "trips.csv")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "has no events"),
        (["_SUCCESS"], "has no events"),
        (["notes.txt"], "has no events .it has 'notes.txt'"),
        (["a.csv", "notes.txt"], "holds 'notes.txt', whose suffix"),
        (["a.csv", "b.json"], "several formats: csv .'a.csv'. and json .'b.json'."),
        (["_spark_metadata/0", "a.csv"], "--engine spark"),
    ],
)
def test_a_folder_without_one_format_is_refused(tmp_path, names, message):
    for name in names:
        put(tmp_path / name, CSV)
    with pytest.raises(InputError, match=message):
        read_events(tmp_path)


def test_files_of_a_folder_that_do_not_fit_are_refused(tmp_path):
    put(tmp_path / "a.csv", b"time\n1\n")
    put(tmp_path / "b.csv", b"time\nx\n")
    with pytest.raises(InputError, match=r"do not fit together: .*time"):
        read_events(tmp_path)


@pytest.mark.skipif(not REAL.is_dir(), reason="the real event streams are not on this machine")
def test_real_trades_are_read_with_their_times():
    table = read_events(REAL / "nasdaq_trades.csv")
    assert table.num_rows == 14_842
    assert pa.types.is_timestamp(table["timestamp"].type)


def test_the_remedy_for_a_wrong_delimiter_is_one_that_python_accepts(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("time;type\n1;A\n")
    with pytest.raises(InputError, match=re.escape('read_events(..., delimiter=";")')):
        read_events(path)
    assert read_events(path, delimiter=";").column_names == ["time", "type"]


def test_a_file_that_is_named_twice_is_refused_as_its_events_would_count_twice(tmp_path):
    one, two = (put(tmp_path / "days" / f"{name}.csv", CSV) for name in "ab")
    (tmp_path / "link.csv").symlink_to(one)
    assert read_events(one, two).num_rows == 4
    for names in ((one, one), (one, tmp_path / "link.csv"), (two, tmp_path / "days")):
        with pytest.raises(InputError, match=r"is named twice, by '.*' and by '.*Name it once\."):
            read_events(*names)


def test_an_empty_name_is_no_folder():
    with pytest.raises(InputError, match=r"name of the events is empty, .* this folder is '\.'"):
        read_events("")


def test_files_without_content_and_in_utf_16_are_told_as_such(tmp_path):
    for suffix in ("csv", "csv.gz", "jsonl", "log"):
        with pytest.raises(InputError, match=r"is empty \(0 bytes\)"):
            read_events(put(tmp_path / f"empty.{suffix}", b""))
        with pytest.raises(InputError, match=r"is text in UTF-16\. Save it as UTF-8"):
            read_events(put(tmp_path / f"wide.{suffix}", CSV.decode().encode("utf-16")))


def test_a_folder_that_cannot_be_listed_is_told_by_its_name(tmp_path, monkeypatch):
    put(tmp_path / "days" / "a.csv", CSV)

    def denied(folder):
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(Path, "iterdir", denied)
    with pytest.raises(InputError, match=r"Cannot read '.*days': Permission denied\."):
        read_events(tmp_path / "days")
