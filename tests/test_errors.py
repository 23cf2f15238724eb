"""Errors as text: short whatever they are about, and nothing unseen in them."""

from __future__ import annotations

import pytest

from elsinore.errors import InvalidWorkloadError, QuerySyntaxError, Source, Span
from elsinore.workload import Workload


def test_a_long_line_is_cut_before_and_after_the_caret() -> None:
    text = "QUERY q RETURN COUNT(*) PATTERN A WHERE " + "A.x < 1 AND " * 500 + "A.y ! 3"
    with pytest.raises(QuerySyntaxError) as caught:
        Workload.parse(text, "long.cep")
    _, line, caret, *_ = str(caught.value).split("\n")
    assert len(line) <= 122
    assert line.startswith("  ...")
    assert line[caret.index("^")] == "3"


def test_a_long_marked_part_is_cut_too() -> None:
    shown = Source("A" * 5000).underline(Span(0, 5000)).split("\n")
    assert [len(line) for line in shown] == [120 - 60, 60] or len(shown[0]) <= 120
    assert shown[1] == "^" * len(shown[1])


@pytest.mark.parametrize("unseen", ["\x00", "\x1b[31m", "\x7f", "\u202e", "\u200b", "\x9b"])
def test_characters_that_a_terminal_would_obey_or_hide_are_escaped(unseen: str) -> None:
    text = f"QUERY q RETURN COUNT(*) PATTERN A WHERE A.x = {unseen} 3"
    with pytest.raises(QuerySyntaxError) as caught:
        Workload.parse(text)
    shown = str(caught.value)
    assert unseen[0] not in shown
    assert repr(unseen[0])[1:-1] in shown
    _, line, caret, *_ = shown.split("\n")
    assert line[caret.index("^") :].startswith("\\")


def test_of_a_thousand_bad_queries_twenty_are_told_and_the_others_counted() -> None:
    text = "\n".join(f"QUERY q{n} RETURN COUNT(*) PATTERN A WITHN 3;" for n in range(1_000))
    with pytest.raises(InvalidWorkloadError) as caught:
        Workload.parse(text)
    shown = str(caught.value)
    assert shown.count("'WITHN' is not a clause") == 20
    assert shown.endswith("... and 980 more errors: 1,000 in all.")
    assert len(caught.value.errors) == 1_000


def test_a_name_without_end_is_cut_in_a_message() -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        Workload.parse(f"QUERY q RETURN {'X' * 100_000}(*) PATTERN A")
    assert len(str(caught.value)) < 1000
