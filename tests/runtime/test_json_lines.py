"""JSON before Arrow reads it: its nesting is limited, and an array is an object a line."""

import gzip
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from elsinore.errors import InputError
from elsinore.runtime.files import read_events
from elsinore.runtime.json_lines import MOST_LEVELS, lines_of_pieces

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "100"))
DEEP = 20_000


def in_pieces(text: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[begin:end] for begin, end in pairwise(places)]


def deepest(text: bytes) -> int:
    """Return the levels of nesting, byte by byte; texts end with their line at the latest."""
    depth = most = 0
    in_text = escaped = False
    for byte in text:
        sign = chr(byte)
        is_escaped, escaped = escaped, sign == "\\" and not escaped
        if sign == "\n":
            in_text = False
        elif sign == '"' and not is_escaped:
            in_text = not in_text
        elif not in_text:
            depth = max(0, depth + (sign in "[{") - (sign in "]}"))
            most = max(most, depth)
    return most


@pytest.mark.parametrize("name", ["e.jsonl", "e.json", "e.jsonl.gz"])
@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
def test_a_value_nested_20_000_levels_deep_is_refused_and_does_not_end_the_process(
    tmp_path: Path, name: str, brackets: tuple[str, str]
) -> None:
    opening, closing = brackets
    line = f'{{"time": 1, "v": {opening * DEEP}1{closing * DEEP}}}'
    text = f"[{{}},\n{line}]" if name == "e.json" else f"{{}}\n{line}\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    program = f"""
from elsinore import InputError, read_events
try:
    read_events({str(path)!r})
except InputError as error:
    print(error)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-500:]
    assert f"{name}', line 2, column" in ran.stdout
    assert "nested more than 100 levels deep" in ran.stdout


def test_as_many_levels_as_are_allowed_are_read(tmp_path: Path) -> None:
    inner = MOST_LEVELS - 1
    path = tmp_path / "e.jsonl"
    path.write_text('{"v": ' + "[" * inner + "7" + "]" * inner + "}\n")
    assert read_events(path).num_rows == 1
    path.write_text('{"v": ' + "[" * (inner + 1) + "7" + "]" * (inner + 1) + "}\n")
    with pytest.raises(InputError, match="levels deep"):
        read_events(path)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.text(alphabet='[]{}"\\\n,a ', max_size=60), st.lists(st.integers(0, 10_000)))
def test_levels_are_counted_as_byte_by_byte_wherever_pieces_end(text: str, cuts: list[int]) -> None:
    prefix = "[" * (MOST_LEVELS - 3)
    whole = (prefix + text).encode()
    reading = lines_of_pieces(Path("e"), in_pieces(whole, cuts), is_array=False)
    if deepest(whole) > MOST_LEVELS:
        with pytest.raises(InputError, match="levels deep"):
            list(reading)
    else:
        assert b"".join(reading) == whole


VALUES = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(alphabet='[]{}",\\\n é', max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(alphabet='a"\\]', max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)
ROWS = st.lists(st.dictionaries(st.text(alphabet="ab,", max_size=2), VALUES, max_size=3))
CUTS = st.lists(st.integers(0, 10_000), max_size=4)


@settings(max_examples=EXAMPLES, deadline=None)
@given(ROWS, CUTS, st.sampled_from([None, 1]), st.booleans())
def test_an_array_is_an_object_a_line_wherever_pieces_end(
    rows: list[dict[str, object]], cuts: list[int], indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(rows, indent=indent, ensure_ascii=ascii_only).encode() + b"\n"
    result = b"".join(lines_of_pieces(Path("e"), in_pieces(text, cuts), is_array=True))
    assert len(result) == len(text)
    assert [json.loads(line) for line in result.split(b"\n") if line.strip()] == rows


@settings(max_examples=EXAMPLES, deadline=None)
@given(ROWS, CUTS, st.integers(0, 10_000), st.sampled_from(list('[]{},"x 1\n')), st.booleans())
def test_what_is_no_array_of_objects_is_no_array_line_by_line_either(
    rows: list[dict[str, object]], cuts: list[int], place: int, sign: str, insert: bool
) -> None:
    whole = json.dumps(rows)
    place %= len(whole)
    text = whole[:place] + sign + whole[place + (0 if insert else 1) :]
    assume(text.startswith("["))
    try:
        expected = json.loads(text)
    except json.JSONDecodeError:
        expected = None
    is_valid = isinstance(expected, list) and all(isinstance(row, dict) for row in expected)
    try:
        pieces = in_pieces(text.encode(), cuts)
        result = b"".join(lines_of_pieces(Path("e"), pieces, is_array=True))
        actual = [json.loads(line) for line in result.split(b"\n") if line.strip()]
        is_read = all(isinstance(row, dict) for row in actual)
    except (InputError, json.JSONDecodeError):
        is_read = False
    assert is_read == is_valid
    if is_read:
        assert actual == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1} {"a": 2}]', "line 1, column 11: a comma is expected between two objects"),
        ('[{"a": 1},\n]', "item 2: an object"),
        ('[{"a": 1}, [2]]', "item 2: an object"),
        ('[{"a": 1}]\n {"a": 2}', "line 2, column 2: text follows the array"),
        ('[{"a": 1},\n{"a": 2}', r"line 2, column 9: the array is not closed\. .* to its end"),
        ('[{"a": 1},\n{"a": 1e}]', r"line 2, column \d+: "),
        ("[1, 2]", "item 1: an object"),
        ("  \n ", "has no events"),
    ],
)
def test_an_array_that_is_not_one_of_objects_is_refused_with_the_place(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "e.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_events(path)
