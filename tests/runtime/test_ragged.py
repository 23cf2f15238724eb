"""CSV whose rows are of unequal length, or whose quotes are not closed, and gzip in name alone."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from elsinore.errors import InputError
from elsinore.runtime.files import read_events

LONG = "".join(f"{n},A,x\n" for n in range(300_000))  # several of Arrow's blocks


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("t,y,v\n1,A,2\n2,B\n", "row 2: 2 cells where there are 3 columns: 2,B. Give it 3 cells"),
        ("t,y,v\n1,A,2\n\n2,B,3,4\n", "row 2: 4 cells where there are 3 columns: 2,B,3,4."),
        ('t,y,v\n1,A,2\n2,"B,3\n3,B,4\n', 'row 2: a quote is opened and not closed: 2,"B,3.'),
        ('t,y,v\n1,A,2\n2,B,"3\n3,B,4\n', 'row 2: a quote is opened and not closed: "3.'),
        ('t,y\n1,A\n2,"B', 'row 2: a quote is opened and not closed: "B.'),
        ('t,"y\n1,A\n', 'the header: a quote is opened and not closed: t,"y.'),
        (f't,y,v\n1,A,"2\n{LONG}', 'row 1: a quote is opened and not closed: "2.'),
        (f"t,y,v\n{LONG}1,A\n", "row 300,001: 2 cells where there are 3 columns"),
    ],
)
def test_rows_that_do_not_fit_are_told_with_file_row_and_remedy(
    tmp_path: Path, text: str, told: str
) -> None:
    place = tmp_path / "e.csv"
    place.write_text(text)
    with pytest.raises(InputError, match=re.escape(f"'{place}', {told}")):
        read_events(place)


@pytest.mark.parametrize(
    ("fields", "types", "rows", "told"),
    [
        (
            "ts\tid\tp",
            "time\tstring\tport",
            "1\tx\t7\n2\ty\n",
            ", row 2: 2 cells where there are 3 col",
        ),
        (
            "ts\tp",
            "time\tport",
            "1\t7\n2\tx\n",
            ": column 'p' is of Zeek's type port, and holds 'x'.",
        ),
        ("ts\tp", "time", "1\t7\n", ": '#fields' names 2 columns and '#types' 1 type."),
        ("ts\tts", "time\tport", "1\t7\n", "are named 'ts'. Rename one of them."),
    ],
)
def test_logs_of_zeek_that_do_not_fit_are_told_with_what_is_wrong(
    tmp_path: Path, fields: str, types: str, rows: str, told: str
) -> None:
    place = tmp_path / "c.log"
    place.write_text(f"#separator \\x09\n#fields\t{fields}\n#types\t{types}\n{rows}")
    with pytest.raises(InputError, match=re.escape(f"'{place}'") + ".*" + re.escape(told)):
        read_events(place)


@pytest.mark.parametrize("separator", ["", "ab", "\\xzz", "é"])
def test_a_log_of_zeek_has_one_character_between_its_columns(
    tmp_path: Path, separator: str
) -> None:
    place = tmp_path / "c.log"
    place.write_text(f"#separator {separator}\n#fields\tts\n#types\ttime\n1\n")
    told = f"'#separator' is one character, as in '#separator \\x09', not '{separator}'."
    with pytest.raises(InputError, match=re.escape(told)):
        read_events(place)


def test_lines_of_zeek_may_end_as_those_of_windows_do(tmp_path: Path) -> None:
    lines = ["#separator \\x09", "#fields\tts\tp", "#types\ttime\tport", "1\t7", "2\t-", ""]
    (tmp_path / "c.log").write_bytes("\r\n".join(lines).encode())
    assert read_events(tmp_path / "c.log").column("p").to_pylist() == [7, None]


@pytest.mark.parametrize(
    "text", ['t,y\n1,"A\n"\n', 't,y\n1,"A""\n"', 't,y\n1,A"B\n', 't,y\n1,""\n', 't,y\n1,""']
)
def test_quotes_that_are_closed_may_hold_ends_of_lines(tmp_path: Path, text: str) -> None:
    place = tmp_path / "e.csv"
    place.write_text(text)
    assert read_events(place).num_rows == 1


def test_gzip_in_name_alone_or_in_content_alone_is_told(tmp_path: Path) -> None:
    packed = gzip.compress(b"t,y\n1,A\n" * 999)
    for name, content, told in (
        ("e.csv.gz", b"t,y\n1,A\n", "not compressed with gzip. Name it 'e.csv'"),
        ("f.csv.gz", packed[:50], "a gzip file that is cut off or damaged"),
        ("g.csv", packed, "is compressed with gzip. Name it 'g.csv.gz'"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=told):
            read_events(tmp_path / name)


def test_no_row_is_lost_where_a_block_ends_within_quotes(tmp_path: Path) -> None:
    place = tmp_path / "e.csv"
    place.write_text("t,y,v\n" + "".join(f'{n},A,"x\ny"\n' for n in range(100_000)))
    assert read_events(place).column("t").to_pylist() == list(range(100_000))
