"""Errors carry their data, come in text order, and never escape as anything else."""

from __future__ import annotations

import contextlib
import os
from importlib.resources import files

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.errors import (
    ElsinoreError,
    InvalidWorkloadError,
    QuerySemanticError,
    QuerySyntaxError,
    Span,
)
from elsinore.language import (
    parse_expression,
    parse_pattern,
    parse_query,
    parse_workload,
    render,
)
from elsinore.language.expected import SINGLE
from elsinore.model import Query
from support.queries import queries


def test_an_error_carries_line_column_span_source_and_choices() -> None:
    text = "QUERY q RETURN COUNT(*)\nPATTERN Travel+\nWITHN 30 minutes"
    with pytest.raises(QuerySyntaxError) as caught:
        parse_workload(text, "trips.cep")
    error = caught.value
    assert (error.line, error.column) == (3, 1)
    assert error.span == Span(text.index("WITHN"), text.index(" 30"))
    assert error.source is not None
    assert error.source.name == "trips.cep"
    assert error.query == "q"
    assert error.choices == ("WITHIN",)


def test_a_semantic_error_is_located_in_the_text() -> None:
    with pytest.raises(QuerySemanticError) as caught:
        parse_query("RETURN COUNT(*) PATTERN Travel T WHERE S.x < 1")
    assert (caught.value.line, caught.value.column) == (1, 40)
    assert caught.value.choices == ("T",)


def test_all_errors_of_a_text_are_reported_in_text_order() -> None:
    text = (
        "QUERY a RETURN COUNT(*) PATTERN A WHERE B.x < 1;\n"
        "QUERY b RETURN COUNT(*) PATTERN B WITHN 3;\n"
        "QUERY c RETURN COUNT(*) PATTERN C;\n"
        "QUERY d RETURN COUNT(*) PATTERN D D2 D3;\n"
        "QUERY c RETURN COUNT(*) PATTERN C"
    )
    with pytest.raises(InvalidWorkloadError) as caught:
        parse_workload(text)
    assert [(error.line, error.query) for error in caught.value.errors] == [
        (1, "a"), (2, "b"), (4, "d"), (5, "c"),
    ]  # fmt: skip


def test_a_case_without_its_end_leaves_the_words_of_later_queries_alone() -> None:
    text = (
        "QUERY a RETURN CASE WHEN A.ok THEN 1 PATTERN A;\n"
        "QUERY b RETURN COUNT(*) PATTERN SEQ(start, end)"
    )
    with pytest.raises(QuerySyntaxError) as caught:
        parse_workload(text)
    assert caught.value.query == "a"


def test_one_text_for_one_query_refuses_a_second() -> None:
    with pytest.raises(QuerySyntaxError, match="second") as caught:
        parse_query("QUERY a RETURN COUNT(*) PATTERN A;\nQUERY b RETURN COUNT(*) PATTERN B")
    assert caught.value.line == 2


def test_patterns_and_expressions_alone_point_at_their_errors() -> None:
    with pytest.raises(QuerySyntaxError, match="Did you mean 'SEQ'") as caught:
        parse_pattern("SQE(A, B)")
    assert caught.value.column == 4
    with pytest.raises(QuerySyntaxError, match="found the end of the text") as caught:
        parse_expression("1 +")
    assert caught.value.column == 4
    with pytest.raises(QuerySyntaxError, match="top level of WHERE"):
        parse_expression("[driver]")


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_pattern, "SEQ(" * 3000 + "A" + ")" * 3000),
        (parse_expression, "NOT " * 3000 + "TRUE"),
        (parse_expression, " OR ".join(["T.x = 1"] * 3000)),
        (parse_workload, f"RETURN COUNT(*) PATTERN {'SEQ(' * 3000}A{')' * 3000}"),
        (parse_workload, f"RETURN COUNT(*) PATTERN A WHERE {'-' * 1}{'(' * 9}{'NOT ' * 3000} A.x"),
    ],
)
def test_what_is_nested_too_deeply_is_refused(parse: object, text: str) -> None:
    assert callable(parse)
    with pytest.raises(QuerySyntaxError):
        parse(text)


def test_many_conjuncts_are_not_nested() -> None:
    text = "RETURN COUNT(*) PATTERN A WHERE " + " AND ".join(f"A.x != {n}" for n in range(3000))
    assert len(parse_query(text).where) == 3000


@settings(
    suppress_health_check=list(HealthCheck),
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "15")),
)
@given(queries(), st.data())
def test_a_text_with_a_character_changed_is_read_or_refused_in_our_own_words(
    query: Query, data: st.DataObject
) -> None:
    text = render(query)
    at = data.draw(st.integers(0, len(text)))
    junk = data.draw(st.one_of(st.sampled_from(list("();,.[]'\"`{}-+*/&|<=7aE$\n")), st.text()))
    gone = data.draw(st.integers(0, 4))
    with contextlib.suppress(ElsinoreError):
        parse_workload(text[:at] + junk + text[at + gone :])


def test_every_terminal_has_a_word_for_the_user() -> None:
    grammar = files("elsinore.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    declared = {
        name
        for line in grammar.splitlines()
        if line.startswith("%declare ")
        for name in line.split()[1:]
    }
    assert declared == set(SINGLE)


def test_a_strategy_in_quotes_is_told_to_stand_without() -> None:
    text = "RETURN COUNT(*) PATTERN A STRATEGY 'skip till next match'"
    with pytest.raises(QuerySyntaxError, match=r"without quotes: SKIP TILL ANY MATCH, SKIP TILL N"):
        parse_query(text)


def test_what_stands_behind_a_length_is_not_told_to_be_a_length() -> None:
    with pytest.raises(QuerySyntaxError, match=r"There is no ORDER BY: sort the result\.$"):
        parse_query("RETURN COUNT(*) PATTERN A WITHIN 100 seconds ORDER BY x")
    with pytest.raises(QuerySyntaxError, match=r"stands here: WITHIN 30 minutes\.$"):
        parse_query("RETURN COUNT(*) PATTERN A WITHIN -5 seconds")
