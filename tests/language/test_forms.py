"""Queries of one form are checked once: what that must not change."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.errors import InvalidWorkloadError, QueryError
from elsinore.language import parse_workload

NAMES = st.sampled_from(["A", "B", "b", '"A"', "count"])
EVENTS = st.one_of(NAMES, st.builds("{} {}".format, NAMES, NAMES))
TEXTS = st.builds(
    "RETURN {} PATTERN {}SEQ({}, {}+){} WITHIN 10".format,
    st.sampled_from(["COUNT(*)", "COUNT(A)", "COUNT(B), COUNT(b)", "SUM(b.x) AS A", "A.x, B[].x"]),
    st.sampled_from(["", "NOT "]),
    EVENTS,
    EVENTS,
    st.sampled_from(["", " WHERE A.x > 1", " WHERE B[i].x > B[i-1].x", ' WHERE "A".x > 1']),
)


def errors_of(text: str) -> list[str]:
    """Return what is said of a text, each error without its place."""
    try:
        parse_workload(text)
    except InvalidWorkloadError as error:
        return [one.message for one in error.errors]
    except QueryError as error:
        return [error.message]
    return []


@settings(max_examples=150)
@given(st.lists(TEXTS, min_size=2, max_size=6))
def test_a_query_is_judged_as_if_it_stood_alone(texts: list[str]) -> None:
    named = [f"QUERY q{number} {text}" for number, text in enumerate(texts)]
    assert errors_of(";\n".join(named)) == [error for text in named for error in errors_of(text)]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("SEQ(B, B+)", "occurs twice"),
        ("SEQ(C*, B*)", "can match nothing"),
    ],
)
def test_a_mistake_in_a_later_query_is_found(second: str, message: str) -> None:
    good = "QUERY {} RETURN COUNT(*) PATTERN SEQ(A{}, B+) WITHIN 10;\n"
    text = "".join(good.format(f"q{n}", n) for n in range(5))
    (error,) = errors_of(f"{text} QUERY last RETURN COUNT(*) PATTERN {second} WITHIN 10")
    assert message in error


def test_queries_of_one_form_keep_their_own_places() -> None:
    text = "QUERY p RETURN COUNT(*) PATTERN SEQ(A, B+); QUERY q RETURN COUNT(*) PATTERN SEQ(C, B+)"
    places = [query.pattern.span for query in parse_workload(text)]
    assert [text[span.start : span.stop] for span in places if span] == ["SEQ(A, B+)", "SEQ(C, B+)"]
