"""Whatever a task's reader raises of a damaged file is an InputError that names the file."""

from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elsinore.errors import InputError
from elsinore.spark.scan.files import FileColumn, read, row_groups_in

COLUMNS = (FileColumn("qzqz", pa.string()), FileColumn("time", pa.int64()))


def written(path: Path) -> bytes:
    rows = 5_000
    table = pa.table({"qzqz": [f"rider {n % 700}" for n in range(rows)], "time": range(rows)})
    pq.write_table(table, path, store_schema=False, row_group_size=1_000)
    return path.read_bytes()


def scanned(path: Path) -> int:
    selection = row_groups_in([str(path)], COLUMNS)
    return sum(table.num_rows for table in read(selection.groups, COLUMNS, frozenset(), None))


def test_names_that_are_not_utf8_are_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    path.write_bytes(written(path).replace(b"qzqz", b"\xff\xfe\xff\xfe"))
    with pytest.raises(InputError, match=r"e\.parquet"):
        scanned(path)


@pytest.mark.parametrize("seed", range(150))
def test_bytes_that_are_not_as_written_are_an_input_error_or_are_read(
    tmp_path: Path, seed: int
) -> None:
    path, random = tmp_path / "e.parquet", Random(seed)
    content = bytearray(written(path))
    for _ in range(random.choice((1, 3, 30))):
        content[random.randrange(len(content))] = random.randrange(256)
    path.write_bytes(content[: random.choice((len(content), random.randrange(len(content))))])
    told = "e.parquet"
    try:
        scanned(path)
    except InputError as error:
        told = str(error)
    assert "e.parquet" in told
