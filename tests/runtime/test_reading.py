"""Reading text takes bounded memory, and whatever goes wrong is an InputError with its place."""

import gzip
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elsinore.errors import InputError
from elsinore.runtime.contents import open_content, reading
from elsinore.runtime.files import read_events

MEGABYTE = 1 << 20
PEAK = """
import sys
import pyarrow as pa
from elsinore import read_events
read_events(sys.argv[1])
print(pa.default_memory_pool().max_memory())
"""


@pytest.mark.parametrize(
    ("name", "begin", "line"),
    [
        ("e.csv", b"v\n", b"true\n"),
        ("e.csv.gz", b"v\n", b"true\n"),
        ("e.jsonl", b"", b'{"v":true}\n'),
        ("e.jsonl.gz", b"", b'{"v":true}\n'),
        ("e.json.gz", b'[{"v":true}', b',{"v":true}'),
        ("e.log.gz", b"#separator |\n#fields|v\n#types|int\n", b"0" * 30 + b"1\n"),
    ],
)
def test_the_text_of_a_file_is_never_in_memory_as_a_whole(
    tmp_path: Path, name: str, begin: bytes, line: bytes
) -> None:
    size = 48 * MEGABYTE
    path = tmp_path / name
    content = begin + line * (size // len(line)) + (b"]" if name.startswith("e.json.") else b"")
    path.write_bytes(gzip.compress(content, compresslevel=1) if name.endswith("gz") else content)
    command = [sys.executable, "-c", PEAK, str(path)]
    peak = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert peak < size


def test_files_of_8_000_columns_are_read_in_time_linear_in_the_columns(tmp_path: Path) -> None:
    def seconds(columns: int) -> float:
        names = [f"c{number}" for number in range(columns)]
        for day in ("a", "b"):
            text = ",".join(names) + "\n" + ",".join(["1"] * columns) + "\n"
            (tmp_path / f"{day}{columns}.csv").write_text(text)
        begun = time.process_time()
        read_events(tmp_path / f"a{columns}.csv", tmp_path / f"b{columns}.csv")
        return time.process_time() - begun

    few, many = (min(seconds(columns) for _ in range(3)) for columns in (1_000, 8_000))
    assert many < 24 * max(few, 0.01)  # 64 times as long if it were quadratic


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.csv", b"t,n\xe9\n1,2\n", r"e\.csv', line 1: text that is not UTF-8"),
        ("e.csv", b"t,n\n1,a\n2,\xe9\n", r"line 3: text in column 'n' that is not UTF-8"),
        ("e.csv.gz", b"t,n\n1,a\n2,\xe9\n", r"line 3: text in column 'n' that is not UTF-8"),
        ("e.jsonl", b'{"a": "x"}\n{"a": "\xe9"}\n', "line 2: text that is not UTF-8"),
        ("e.jsonl", b'{"a": "x"}\n{"\xe9": "x"}\n', "line 2: text that is not UTF-8"),
        ("e.json", b'[{"a": "x"},\n{"a": "\xe9"}]', "line 2: text that is not UTF-8"),
        ("e.jsonl", b'{"a": "x"}\n{"a": "\xe9', "line 2: text that is not UTF-8"),
        ("e.jsonl", b'{"a": ' + b"9" * 5000 + b'}\n{"a": "x"}\n', "'a' holds a number in some"),
        ("e.json", b'[{"a": ' + b"9" * 5000 + b"}, 7]", "item 2: an object"),
        ("e.log", b"#separator |\n#fields|v\n#types|string\nx\n\xe9\n", "line 5: text that is not"),
    ],
)
def test_text_that_cannot_be_decoded_is_an_input_error_with_its_line(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(InputError, match=message):
        read_events(path)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (pa.ArrowInvalid("no page.\nlong story"), r"'e\.parquet' cannot be read: no page\.$"),
        (pa.ArrowMemoryError("malloc of size 9 failed"), "needs more memory than there is"),
        (MemoryError(), "needs more memory than there is"),
        (RecursionError("maximum depth"), "columns that are nested too deeply"),
        (OSError("Input/output error"), r"cannot be read: Input/output error\.$"),
        (pa.ArrowNotImplementedError("of unions"), r"cannot be read: of unions\.$"),
        (OverflowError("too large"), r"cannot be read: too large\.$"),
    ],
)
def test_errors_of_the_libraries_that_read_are_input_errors(error: Exception, message: str) -> None:
    with pytest.raises(InputError, match=message), reading(Path("e.parquet")):
        raise error


def test_a_damaged_parquet_file_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    pq.write_table(pa.table({"v": pa.array(range(100_000))}), path)
    content = bytearray(path.read_bytes())
    content[200:2000] = bytes(1800)
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"e\.parquet"):
        read_events(path)


def test_parquet_with_names_that_are_not_utf8_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    pq.write_table(pa.table({"qzqz": [1], "time": [2]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"qzqz", b"\xff\xfe\xff\xfe"))
    with pytest.raises(InputError, match=r"e\.parquet': text that is not UTF-8"):
        read_events(path)


def test_a_place_is_found_by_its_offset(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_bytes(b"ab\ncd\n\nx")
    content = open_content(path)
    assert [content.place(offset) for offset in (0, 1, 3, 7)] == [(1, 1), (1, 2), (2, 1), (4, 1)]


def test_damaged_gzip_on_the_standard_input_is_an_input_error(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"time,type\n" + b"1,A\n" * 1000))
    packed[12:40] = bytes(28)
    program = """
from elsinore import InputError, read_events
try:
    read_events("-")
except InputError as error:
    print(error)
"""
    command = [sys.executable, "-c", program]
    told = subprocess.run(command, input=bytes(packed), capture_output=True, check=True).stdout
    assert b"gzip file that is cut off or damaged" in told
