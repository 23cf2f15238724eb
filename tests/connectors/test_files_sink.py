"""Results as files: each batch once, whatever is replayed or killed."""

import os
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from elsinore.connectors import FilesSink, RejectsSink
from elsinore.connectors.rejects import rejects_table
from elsinore.errors import InputError, OutputError

KILLED_WRITER = """
import os, sys
import pyarrow as pa
from elsinore.connectors.files_sink import FilesSink
sink = FilesSink(sys.argv[1])
step = int(sys.argv[2])
def killing(call):
    def killed(*arguments, **options):
        killing.count += 1
        if killing.count == step:
            os.kill(os.getpid(), 9)
        return call(*arguments, **options)
    return killed
killing.count = 0
os.fsync, os.replace, os.mkdir = killing(os.fsync), killing(os.replace), killing(os.mkdir)
sink.write("q", 1, pa.table({"v": [2, 3]}))
"""


def values(folder):
    return ds.dataset(folder, format="parquet").to_table().column("v").to_pylist()


def test_a_replayed_batch_replaces_its_rows(tmp_path):
    sink = FilesSink(tmp_path / "out")
    sink.write("q", 1, pa.table({"v": [1]}))
    sink.write("q", 2, pa.table({"v": [2]}))
    path = sink.write("q", 2, pa.table({"v": [5, 6]}))
    assert path == tmp_path / "out/q/batch=2/part-00000.parquet"
    assert values(tmp_path / "out/q") == [1, 5, 6]


def test_a_replayed_batch_without_rows_leaves_none(tmp_path):
    sink = FilesSink(tmp_path)
    sink.write("q", 1, pa.table({"v": [1]}))
    assert sink.write("q", 1, pa.table({"v": pa.array([], pa.int64())})) is None
    assert list((tmp_path / "q").iterdir()) == []


def test_a_replay_in_another_format_replaces_the_rows(tmp_path):
    FilesSink(tmp_path, "csv").write("q", 1, pa.table({"v": [1]}))
    path = FilesSink(tmp_path, "ndjson").write("q", 1, pa.table({"v": [1]}))
    assert [file.name for file in path.parent.iterdir()] == ["part-00000.ndjson"]
    assert path.read_text() == '{"v": 1}\n'


def test_a_writer_killed_at_any_step_leaves_the_old_rows_or_the_new(tmp_path):
    for step in range(1, 12):
        folder = tmp_path / str(step)
        FilesSink(folder).write("q", 1, pa.table({"v": [1]}))
        command = [sys.executable, "-c", KILLED_WRITER, str(folder), str(step)]
        done = subprocess.run(command, check=False)
        assert values(folder / "q") in ([1], [2, 3])
        FilesSink(folder).write("q", 1, pa.table({"v": [2, 3]}))
        assert values(folder / "q") == [2, 3]
        assert len(list((folder / "q/batch=1").iterdir())) == 1
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
    assert step > 3


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write everywhere")
def test_a_place_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "out").mkdir(mode=0o500)
    with pytest.raises(OutputError, match="Permission denied"):
        FilesSink(tmp_path / "out").write("q", 1, pa.table({"v": [1]}))


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path):
    (tmp_path / "q").write_text("x")
    with pytest.raises(OutputError, match="Cannot write"):
        FilesSink(tmp_path).write("q", 1, pa.table({"v": [1]}))


@pytest.mark.parametrize("name", ["", "a/b", "../q", "_q", ".q"])
def test_a_query_whose_name_is_no_visible_folder_is_refused(tmp_path, name):
    with pytest.raises(OutputError, match="Rename the query"):
        FilesSink(tmp_path).write(name, 1, pa.table({"v": [1]}))


def test_rejects_are_replaced_with_their_batch(tmp_path):
    sink = RejectsSink(tmp_path / "rejects")
    for value in (b"first", b"second"):
        rejects = rejects_table(["not one JSON object"], "t", [value], partition=0, offsets=[7])
        path = sink.write(3, rejects)
    assert path == tmp_path / "rejects/batch=3/part-00000.ndjson"
    assert '"partition": 0, "offset": 7, "value": "second"' in path.read_text()
    assert sink.write(3, rejects.slice(0, 0)) is None
    assert list((tmp_path / "rejects").iterdir()) == []


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(InputError, match="Did you mean 'parquet'"):
        FilesSink(tmp_path, "parket")


def test_a_micro_batch_is_discarded(tmp_path):
    sink = FilesSink(tmp_path)
    for batch in (1, 2):
        sink.write("q", batch, pa.table({"v": [batch]}))
    sink.discard("q", 2)
    sink.discard("other", 2)
    assert [path.name for path in tmp_path.glob("*/*")] == ["batch=1"]
