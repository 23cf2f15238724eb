"""Guarded positions: which NOTs lie between two events, by which ways."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings

from elsinore.automata import Symbol, glushkov, positions
from elsinore.automata.positions import FREE, Ways, guarded_positions
from elsinore.errors import QuerySemanticError
from elsinore.language import parse_pattern
from elsinore.model import Pattern
from support.regular import patterns

often = settings(max_examples=100)


def told(text: str) -> dict[str, str]:
    """Return the ways by the variables around them; a point stands before and after a trend.

    Ways are told by the types under NOT, "-" for the free way: "-", "N", "M N", "M or N".
    """
    found = guarded_positions(parse_pattern(text))
    names = [event.variable for event in found.events]
    under = [str(getattr(negative, "type", "?")) for negative in found.negatives]

    def text_of(ways: Ways) -> str:
        return " or ".join(sorted(" ".join(sorted(under[n] for n in way)) or "-" for way in ways))

    every = {(".", names[p]): ways for p, ways in found.first.items()}
    every |= {(names[p], names[q]): ways for (p, q), ways in found.follow.items()}
    every |= {(names[p], "."): ways for p, ways in found.last.items()}
    return {one + other: text_of(ways) for (one, other), ways in every.items()}


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        ("SEQ(A a, NOT N, B b)", {".a": "-", "ab": "N", "b.": "-"}),
        ("SEQ(NOT N, A a, B b)", {".a": "N", "ab": "-", "b.": "-"}),
        ("SEQ(A a, B b, NOT N)", {".a": "-", "ab": "-", "b.": "N"}),
        ("SEQ(NOT N, A a, NOT M)", {".a": "N", "a.": "M"}),
        ("SEQ(NOT N, A a+, NOT M)", {".a": "N", "aa": "-", "a.": "M"}),
    ],
)
def test_before_between_and_after(text: str, ways: dict[str, str]) -> None:
    assert told(text) == ways


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        ("(SEQ(A a, NOT N, B b))+", {".a": "-", "ab": "N", "ba": "-", "b.": "-"}),
        ("(SEQ(NOT N, A a))+", {".a": "N", "aa": "N", "a.": "-"}),
        ("(SEQ(A a, NOT N))+", {".a": "-", "aa": "N", "a.": "N"}),
        ("(SEQ(NOT N, A a, NOT M))+", {".a": "N", "aa": "M N", "a.": "M"}),
        ("SEQ(C c, (SEQ(NOT N, A a))*)", {".c": "-", "ca": "N", "aa": "N", "c.": "-", "a.": "-"}),
    ],
)
def test_inside_repeated_groups_each_iteration_has_its_own(text: str, ways: dict[str, str]) -> None:
    assert told(text) == ways


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        (
            "SEQ(A a, NOT N, B b?, C c)",
            {".a": "-", "ab": "N", "bc": "-", "ac": "N", "c.": "-"},
        ),
        (
            "SEQ(A a, NOT N, B b*, NOT M, C c)",
            {".a": "-", "ab": "N", "bb": "-", "bc": "M", "ac": "M N", "c.": "-"},
        ),
        ("SEQ(A a, NOT N, B b?)", {".a": "-", "ab": "N", "a.": "N", "b.": "-"}),
        ("SEQ(A a?, NOT N, B b)", {".a": "-", ".b": "N", "ab": "N", "b.": "-"}),
        (
            "SEQ(A a, (SEQ(NOT N, B b?, NOT M))?, C c)",  # left out, it forbids nothing
            {".a": "-", "ab": "N", "bc": "M", "ac": "-", "c.": "-"},
        ),
    ],
)
def test_next_to_optional_parts(text: str, ways: dict[str, str]) -> None:
    assert told(text) == ways


def test_it_is_enough_that_one_way_is_free() -> None:
    either = told("SEQ(A a, (SEQ(NOT N, B b?) OR SEQ(NOT M, C c?)), D d)")
    assert either["ad"] == "M or N"
    assert (either["ab"], either["ac"], either["bd"], either["cd"]) == ("N", "M", "-", "-")
    # what asks for more than another way is left out
    assert told("SEQ(A a, (SEQ(NOT N, B b?) OR C c?), D d)")["ad"] == "-"


def test_nested_sequences_join_the_nots_at_their_borders() -> None:
    assert told("SEQ(SEQ(A a, NOT N), SEQ(NOT M, B b))") == {".a": "-", "ab": "M N", "b.": "-"}
    assert told("SEQ(A a, SEQ(NOT N, SEQ(B b, NOT M)))") == {".a": "-", "ab": "N", "b.": "M"}


def test_a_pattern_under_not_twice_is_one_negative() -> None:
    assert len(guarded_positions(parse_pattern("SEQ(NOT N, A, NOT N, B, NOT M)")).negatives) == 2


def test_counts_are_written_out_with_their_nots() -> None:
    found = guarded_positions(parse_pattern("SEQ(C, (SEQ(A, NOT N)){2,3}, NOT M)"))
    after_n, after_both = frozenset({frozenset({0})}), frozenset({frozenset({0, 1})})
    assert [event.type for event in found.events] == ["C", "A", "A", "A"]
    assert found.follow == {(0, 1): FREE, (1, 2): after_n, (2, 3): after_n}
    assert found.last == {2: after_both, 3: after_both}
    assert [found.sites[1] == site for site in found.sites] == [False, True, True, True]


def test_rounds_that_may_be_empty_are_not_obligatory() -> None:
    found = told("SEQ(A a, (SEQ(NOT N, B b?)){2}, C c)")
    assert found["ac"] == "-"
    assert found["ab"] == "N"


@often
@given(patterns())
def test_without_not_they_are_the_positions_of_the_automaton(pattern: Pattern) -> None:
    found = guarded_positions(pattern)
    plain = glushkov(pattern, lambda event: Symbol(event.type))
    assert found.events == plain.events
    assert set(found.first) == plain.first
    assert set(found.last) == plain.last
    assert set(found.follow) == plain.follow
    assert {*found.first.values(), *found.last.values(), *found.follow.values()} <= {FREE}
    assert found.negatives == ()


@pytest.mark.parametrize(
    ("pattern", "limit"),
    [("A{1,9}", "POSITION_LIMIT"), ("SEQ(A+, B+)", "FOLLOW_LIMIT"), ("A+", "FOLLOW_LIMIT")],
)
def test_too_large_a_pattern_is_refused(pattern: str, limit: str) -> None:
    with (
        patch.object(positions, limit, 0),
        pytest.raises(QuerySemanticError, match="smaller counts"),
    ):
        guarded_positions(parse_pattern(pattern))


def test_too_many_ways_are_refused_with_the_place() -> None:
    choices = [f"(SEQ(NOT N{n}, B{n}?) OR SEQ(NOT M{n}, C{n}?))" for n in range(20)]
    pattern = parse_pattern(f"SEQ(A, {', '.join(choices)}, D)")
    with pytest.raises(QuerySemanticError, match="more than 256 ways") as caught:
        guarded_positions(pattern)
    assert caught.value.span == pattern.span
