"""Texts among numbers are told all at once, with the option that reads them as nulls."""

import pyarrow as pa
import pytest

from elsinore.errors import on_the_command_line
from elsinore.runtime.text_files import text_notes

NUMBERS = ["1", "2", "3", "4", "5", "6", "7", None]


@pytest.mark.parametrize(
    ("odd", "held", "remedy"),
    [
        (["-"], "row 9 holds '-'. If that stands", "--null -."),
        (["-", "-"], "row 9 holds '-', and 1 more are not numbers. If that", "--null -."),
        (
            ["-", "N A", "-"],
            "row 9 holds '-', and row 10 holds 'N A', and 1 more are not numbers. If those stand",
            "--null - --null 'N A'.",
        ),
        (
            ["a", "b", "c", "d"],
            "row 9 holds 'a', and row 10 holds 'b', and row 11 holds 'c', and 1 more",
            "--null a --null b --null c.",
        ),
    ],
)
def test_texts_that_may_stand_for_null_are_told_at_once(
    odd: list[str], held: str, remedy: str
) -> None:
    with on_the_command_line():
        (note,) = text_notes(pa.table({"v": NUMBERS + odd}), {"v"})
    assert note.startswith(f"Column 'v' is text because {held}")
    assert note.endswith(f"for null: {remedy}")


def test_in_python_they_are_a_list() -> None:
    (note,) = text_notes(pa.table({"v": [*NUMBERS, "-", "?"]}), {"v"})
    assert note.endswith("If those stand for null: read_events(..., null=['-', '?']).")
