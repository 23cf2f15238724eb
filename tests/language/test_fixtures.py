"""The language by example: each case of fixtures/*.txt is an input and what comes of it.

`accepted.txt` holds the canonical text, `refused.txt` the errors as the user reads them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from elsinore.errors import ElsinoreError, InvalidWorkloadError, QueryError
from elsinore.language import parse_workload, render

FOLDER = Path(__file__).parent / "fixtures"


def cases(name: str) -> list[object]:
    found = []
    for case in (FOLDER / name).read_text(encoding="utf-8").split("=== ")[1:]:
        title, rest = case.split("\n", 1)
        text, expected = rest.split("\n---\n")
        found.append(pytest.param(text, expected.rstrip("\n"), id=title))
    return found


@pytest.mark.parametrize(("text", "canonical"), cases("accepted.txt"))
def test_text_is_read_and_written_canonically(text: str, canonical: str) -> None:
    workload = parse_workload(text)
    assert render(workload) == canonical
    assert parse_workload(canonical) == workload


@pytest.mark.parametrize(("text", "message"), cases("refused.txt"))
def test_an_error_says_where_what_and_what_instead(text: str, message: str) -> None:
    with pytest.raises((QueryError, InvalidWorkloadError)) as caught:
        parse_workload(text, "text")
    shown = "\n".join(line.rstrip() for line in str(caught.value).split("\n"))
    assert shown == message


@pytest.mark.parametrize(("text", "canonical"), cases("accepted.txt"))
def test_every_beginning_of_a_text_is_read_or_refused_with_a_place(
    text: str, canonical: str
) -> None:
    for stop in range(0, len(text), 7):
        try:
            parse_workload(text[:stop])
        except ElsinoreError as error:
            errors = error.errors if isinstance(error, InvalidWorkloadError) else (error,)
            assert all(isinstance(found, QueryError) and found.line for found in errors)
