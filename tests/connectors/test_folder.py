"""A folder that fills up: which files are read, in what order, in which micro-batches."""

import gzip
import json
import os
import pickle
import random
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.connectors.contract import Limit, balance
from elsinore.connectors.folder import FolderSource
from elsinore.connectors.places import FolderPlace
from elsinore.errors import InputError, StateError
from elsinore.runtime.sources import Reading

SCHEMA = pa.schema([("id", pa.int64()), ("kind", pa.string()), ("v", pa.float64())])
EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "30"))
FORMATS = (".parquet", ".csv", ".csv.gz", ".jsonl", ".json.gz")


def rows_of(first: int, count: int) -> list[dict[str, object]]:
    return [
        {"id": n, "kind": None if n % 7 == 0 else f"0{n}", "v": n / 2}
        for n in range(first, first + count)
    ]


def write(path: Path, rows: list[dict[str, object]], group: int = 3) -> None:
    """Write a file under another name, and rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows, SCHEMA)
    draft = path.with_name(f".{path.name}")
    if path.suffix == ".parquet":
        pq.write_table(table, draft, row_group_size=group)
    elif ".csv" in path.suffixes:
        with pa.output_stream(
            str(draft), compression="gzip" if path.suffix == ".gz" else None
        ) as out:
            pa_csv.write_csv(table, out)
    else:
        text = "".join(json.dumps(row) + "\n" for row in rows).encode()
        draft.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    os.replace(draft, path)


def opened(folder: Path, log: Path, **options: object) -> FolderSource:
    return FolderSource(folder, log, **{"schema": SCHEMA, "settle": 0.0, **options})


def read(source: FolderSource, start: dict[str, int], end: dict[str, int]) -> list[dict]:
    return [
        row for s in source.splits(start, end) for row in source.reader.read(s).events.to_pylist()
    ]


@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32))
def test_any_micro_batches_read_each_row_once_and_replay_the_same(tmp_path_factory, seed):
    draw = random.Random(seed)
    tmp = tmp_path_factory.mktemp("folder")
    folder, log = tmp / "in", tmp / "checkpoint" / "files"
    folder.mkdir()
    suffix = draw.choice(FORMATS)
    source = opened(folder, log)
    offset = source.first()
    batches: list[tuple[dict, dict, list]] = []
    written: list[dict[str, object]] = []
    names = draw.sample(range(1000), 8)
    for _ in range(30):
        action = draw.choice(("write", "batch", "batch", "crash", "junk"))
        if action == "write" and names:
            rows = rows_of(len(written), draw.randint(0 if suffix == ".parquet" else 1, 9))
            place = folder / draw.choice(("", "day=1/", "day=2/x/"))
            write(place / f"{names.pop()}{suffix}", rows, draw.randint(1, 4))
            written += rows
        elif action == "junk":
            (folder / draw.choice((".hidden.csv", "_x.json", "y.csv.tmp"))).write_text("nonsense")
        elif action == "crash":  # another process goes on with the log; batches are replayed
            source = opened(folder, log)
            for start, end, rows in batches:
                assert read(source, start, end) == rows
        else:
            limit = Limit(draw.choice((None, 1, 2)), draw.choice((None, 1, 4, 10)))
            until = source.available() if draw.random() < 0.3 else None
            end = source.advance(json.loads(json.dumps(offset)), limit, until)
            rows = read(source, offset, end)
            if limit.rows is not None and suffix == ".parquet":
                assert len(rows) <= max(limit.rows, 4)
            batches.append((offset, end, rows))
            offset = end
    end = source.advance(offset)
    batches.append((offset, end, read(source, offset, end)))
    assert source.lag(end) == {"0": 0}
    actual = sorted((row for *_, rows in batches for row in rows), key=lambda row: row["id"])
    assert actual == written


@pytest.mark.parametrize("suffix", FORMATS)
def test_each_format_has_the_values_that_were_written(tmp_path, suffix):
    write(tmp_path / f"in/a{suffix}", rows_of(0, 20))
    source = opened(tmp_path / "in", tmp_path / "log")
    end = source.advance(source.first())
    assert read(source, source.first(), end) == rows_of(0, 20)


def test_files_found_together_are_read_by_time_or_by_name(tmp_path):
    for place, (name, age) in enumerate([("a", 10), ("b", 30), ("c", 20)]):
        write(tmp_path / f"in/{name}.csv", rows_of(place, 1))
        os.utime(tmp_path / f"in/{name}.csv", ns=(0, time.time_ns() - age * 10**9))
    for order, expected in (("modified", [1, 2, 0]), ("name", [0, 1, 2])):
        source = opened(tmp_path / "in", tmp_path / order, order=order)
        rows = read(source, source.first(), source.available())
        assert [row["id"] for row in rows] == expected


def test_a_file_named_before_those_already_read_is_read(tmp_path):
    write(tmp_path / "in/m.csv", rows_of(0, 1))
    source = opened(tmp_path / "in", tmp_path / "log", order="name")
    first = source.available()
    write(tmp_path / "in/a.csv", rows_of(1, 1))
    os.utime(tmp_path / "in/a.csv", ns=(0, 0))
    assert [row["id"] for row in read(source, first, source.available())] == [1]


def test_a_parquet_file_without_footer_waits_until_it_has_one(tmp_path):
    write(tmp_path / "whole.parquet", rows_of(0, 5))
    content = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "in").mkdir()
    growing = tmp_path / "in/a.parquet"
    growing.write_bytes(content[:-20])
    source = opened(tmp_path / "in", tmp_path / "log")
    assert source.available() == source.first()
    assert "footer" in source.pending["a.parquet"]
    growing.write_bytes(content)
    assert len(read(source, source.first(), source.available())) == 5
    assert source.pending == {}


def test_a_text_file_waits_until_it_rests(tmp_path):
    write(tmp_path / "in/a.csv", rows_of(0, 5))
    source = opened(tmp_path / "in", tmp_path / "log", settle=3600)
    assert source.available() == source.first()
    assert source.pending == {"a.csv": "it was modified a moment ago"}
    os.utime(tmp_path / "in/a.csv", ns=(0, time.time_ns() - 3601 * 10**9))
    assert source.available() == {"file": 1, "unit": 0}


def test_a_file_that_stays_unreadable_is_reported_once(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/README.md").write_text("x")
    warnings: list[str] = []
    monkeypatch.setattr("elsinore.connectors.folder.listing.REPORT_SECONDS", 0.0)
    source = opened(tmp_path / "in", tmp_path / "log", warn=warnings.append)
    source.available()
    (warning,) = warnings
    assert "README.md' is not read: its name ends in none of .parquet" in warning


def test_a_file_that_changes_after_it_was_admitted_is_refused_or_rejected(tmp_path):
    write(tmp_path / "in/a.csv", rows_of(0, 5))
    warnings: list[str] = []
    source = opened(tmp_path / "in", tmp_path / "log", warn=warnings.append)
    end = source.available()
    with (tmp_path / "in/a.csv").open("a") as file:
        file.write("9,x,1.0\n")
    with pytest.raises(InputError, match=r"a\.csv' was changed after it was admitted"):
        read(source, source.first(), end)
    source.available()
    assert "what was added is not read" in warnings[0]
    source = opened(tmp_path / "in", tmp_path / "log", rejects=True, warn=warnings.append)
    (split,) = source.splits(source.first(), end)
    part = source.reader.read(split)
    assert part.events.num_rows == 0
    assert "was changed" in part.rejects.to_pylist()[0]["reject_reason"]


def test_a_file_that_was_deleted_before_it_was_read_is_refused(tmp_path):
    write(tmp_path / "in/a.parquet", rows_of(0, 5))
    source = opened(tmp_path / "in", tmp_path / "log")
    end = source.available()
    (tmp_path / "in/a.parquet").unlink()
    with pytest.raises(InputError, match="No such file or directory"):
        read(source, source.first(), end)


@pytest.mark.parametrize(
    ("name", "content", "events", "rejects"),
    [
        (
            "a.jsonl",
            '{"id": 1}\nnonsense\n\n{"id": "x"}\n{"id": 2, "v": 1}\n',
            [1, 2],
            [(2, "not one JSON object"), (4, "id is a string, and the schema says number")],
        ),
        (
            "a.csv",
            "id,kind,v\n1,a,1\nx,b,2\n2,c,soon\n3,d,4\n",
            [1, 3],
            [
                (2, "id: 'x' cannot be read as a number"),
                (3, "v: 'soon' cannot be read as a number"),
            ],
        ),
    ],
)
def test_a_bad_row_is_rejected_with_its_place_and_the_others_are_read(
    tmp_path, name, content, events, rejects
):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_text(content)
    source = opened(tmp_path / "in", tmp_path / "log", rejects=True)
    (split,) = source.splits(source.first(), source.available())
    part = source.reader.read(split)
    assert part.events.column("id").to_pylist() == events
    actual = [(row["offset"], row["reject_reason"]) for row in part.rejects.to_pylist()]
    assert actual == rejects
    source = opened(tmp_path / "in", tmp_path / "log")
    with pytest.raises(InputError, match="2 records of the stream cannot be used"):
        source.reader.read(split)


def test_the_schema_is_that_of_the_first_file_and_stays_in_the_log(tmp_path):
    write(tmp_path / "in/day=2024-01-31/a.csv", rows_of(1, 3))
    reading = Reading(texts=("kind",))
    source = FolderSource(tmp_path / "in", tmp_path / "log", settle=0, reading=reading)
    assert source.schema.names == ["id", "kind", "v", "day"]
    rows = read(source, source.first(), source.available())
    assert {row["day"] for row in rows} == {"2024-01-31"}
    (tmp_path / "in/day=2024-01-31/a.csv").unlink()
    assert FolderSource(tmp_path / "in", tmp_path / "log").schema == source.schema
    assert pickle.loads(pickle.dumps(source.reader)) == source.reader


def test_texts_keep_their_zeros_whatever_a_file_holds(tmp_path):
    write(tmp_path / "in/a.csv", [{"id": 1, "kind": "007", "v": 1.0}])
    source = opened(tmp_path / "in", tmp_path / "log")
    assert read(source, source.first(), source.available())[0]["kind"] == "007"


def test_times_are_read_with_and_without_a_zone(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.csv").write_text(
        "t\n2024-01-31T12:00:00Z\n2024-01-31 12:00:00.5\n2024-01-31T14:00+02:00\nsoon\n"
    )
    schema = pa.schema([("t", pa.timestamp("us", "UTC"))])
    source = opened(tmp_path / "in", tmp_path / "log", schema=schema, rejects=True)
    (split,) = source.splits(source.first(), source.available())
    part = source.reader.read(split)
    noon = 1_706_702_400_000_000
    assert part.events.column("t").cast(pa.int64()).to_pylist() == [noon, noon + 500_000, noon]
    assert "'soon' cannot be read as a time" in part.rejects.to_pylist()[0]["reject_reason"]


def test_a_csv_file_with_a_header_alone_has_no_rows(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.csv").write_text("id,kind,v\n")
    source = opened(tmp_path / "in", tmp_path / "log")
    assert read(source, source.first(), source.available()) == []


def test_a_row_of_nulls_is_a_row(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.csv").write_text("id,kind,v\n,,\n")
    source = opened(tmp_path / "in", tmp_path / "log")
    rows = read(source, source.first(), source.available())
    assert rows == [{"id": None, "kind": None, "v": None}]


def test_a_damaged_gzip_file_is_refused_or_rejected(tmp_path):
    write(tmp_path / "in/a.csv.gz", rows_of(0, 500))
    path = tmp_path / "in/a.csv.gz"
    path.write_bytes(path.read_bytes()[:-30])
    source = opened(tmp_path / "in", tmp_path / "log")
    with pytest.raises(InputError, match="gzip file that is cut off or damaged"):
        read(source, source.first(), source.available())
    source = opened(tmp_path / "in", tmp_path / "log", rejects=True)
    (split,) = source.splits(source.first(), source.available())
    assert "damaged" in source.reader.read(split).rejects.to_pylist()[0]["reject_reason"]


def test_a_file_without_a_column_of_the_schema_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.csv").write_text("id,kinds,v\n1,a,2\n")
    source = opened(tmp_path / "in", tmp_path / "log")
    with pytest.raises(InputError, match=r"no column 'kind'.* Did you mean 'kinds'"):
        read(source, source.first(), source.available())


def test_a_parquet_file_with_another_type_is_refused_and_a_narrower_one_read(tmp_path):
    (tmp_path / "in").mkdir()
    narrow = pa.table(
        {"id": pa.array([1], pa.int32()), "kind": ["a"], "v": pa.array([2.0], pa.float32())}
    )
    pq.write_table(narrow, tmp_path / "in/a.parquet")
    source = opened(tmp_path / "in", tmp_path / "log")
    assert read(source, source.first(), source.available()) == [{"id": 1, "kind": "a", "v": 2.0}]
    start = source.available()
    pq.write_table(pa.table({"id": ["1"], "kind": ["a"], "v": [2.0]}), tmp_path / "in/b.parquet")
    with pytest.raises(InputError, match=r"Column 'id' of .* is string, and"):
        read(source, start, source.available())


def test_a_folder_that_is_none_or_empty_or_mixed_is_refused(tmp_path):
    with pytest.raises(InputError, match="There is no folder"):
        opened(tmp_path / "absent", tmp_path / "log")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is not a folder"):
        opened(tmp_path / "file", tmp_path / "log")
    (tmp_path / "in").mkdir()
    with pytest.raises(InputError, match=r"holds no complete file yet"):
        FolderSource(tmp_path / "in", tmp_path / "log")
    write(tmp_path / "in/a.csv", rows_of(0, 1))
    write(tmp_path / "in/b.parquet", rows_of(0, 1))
    with pytest.raises(InputError, match="several formats"):
        opened(tmp_path / "in", tmp_path / "log")
    (tmp_path / "spark/_spark_metadata").mkdir(parents=True)
    with pytest.raises(InputError, match="written by a Spark stream"):
        opened(tmp_path / "spark", tmp_path / "log2")


def test_a_log_of_another_folder_version_or_checkpoint_is_refused(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name / "x.csv", rows_of(0, 1))
    source = opened(tmp_path / "a", tmp_path / "log")
    with pytest.raises(StateError, match="belongs to the folder"):
        opened(tmp_path / "b", tmp_path / "log")
    with pytest.raises(StateError, match=r"has read 7 files of .*knows 1"):
        source.advance({"file": 7, "unit": 0})
    log = (tmp_path / "log").read_text()
    (tmp_path / "log").write_text(log.replace('"version": 1', '"version": 99'))
    with pytest.raises(StateError, match="has version 99"):
        opened(tmp_path / "a", tmp_path / "log")
    (tmp_path / "log").write_text(log.replace('"size"', '"sze"'))
    with pytest.raises(StateError, match="is damaged"):
        opened(tmp_path / "a", tmp_path / "log")


@settings(max_examples=EXAMPLES)
@given(cut=st.integers(0, 400))
def test_a_log_that_a_crash_cut_anywhere_keeps_its_whole_lines(tmp_path_factory, cut):
    tmp = tmp_path_factory.mktemp("log")
    for name in "abc":
        write(tmp / f"in/{name}.csv", rows_of(0, 1))
    before = opened(tmp / "in", tmp / "log", order="name")
    content = (tmp / "log").read_bytes()
    (tmp / "log").write_bytes(content[: len(content) - cut])
    after = opened(tmp / "in", tmp / "log", order="name")
    end = after.available()
    assert end == before.available() == {"file": 3, "unit": 0}
    assert after.splits(after.first(), end) == before.splits(before.first(), end)


def test_two_processes_with_one_log_number_files_alike(tmp_path):
    (tmp_path / "in").mkdir()
    first, second = (opened(tmp_path / "in", tmp_path / "log") for _ in range(2))
    for n, source in enumerate([first, second, first, second, second, first]):
        write(tmp_path / f"in/{9 - n}.csv", rows_of(n, 1))
        source.available()
    end = first.available()
    third = opened(tmp_path / "in", tmp_path / "log")
    assert second.available() == third.available() == end == {"file": 6, "unit": 0}
    splits = first.splits(first.first(), end)
    assert second.splits(second.first(), end) == splits
    assert third.splits(third.first(), end) == splits


def test_splits_are_spread_over_tasks(tmp_path):
    write(tmp_path / "in/a.parquet", rows_of(0, 1))
    source = opened(tmp_path / "in", tmp_path / "log")
    splits = source.splits(source.first(), source.available())
    assert balance(splits, 4) == [list(splits)]
    assert balance([], 4) == []


def test_a_place_is_the_same_folder_in_processes_with_other_working_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "a.csv"
    path.write_text("time,type\n1,A\n")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    monkeypatch.chdir(tmp_path)
    place = FolderPlace(folder="in")
    monkeypatch.chdir("/")
    assert place.open(tmp_path / "log").schema.names == ["time", "type"]


def test_the_first_file_may_have_been_written_a_moment_ago(tmp_path):
    write(tmp_path / "in/a.jsonl", rows_of(1, 5))
    source = FolderSource(tmp_path / "in", tmp_path / "log", settle=0.5)
    assert source.available() == {"file": 1, "unit": 0}
    assert source.schema.equals(SCHEMA)
