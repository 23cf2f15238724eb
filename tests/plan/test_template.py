"""Templates: which types begin, end and precede, and what ambiguity changes."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given, settings

from elsinore.automata import ambiguity
from elsinore.errors import QuerySemanticError
from elsinore.language import parse_query
from elsinore.model import Call, Pattern, Query, ReturnItem
from elsinore.model import pattern as pt
from elsinore.plan import Template
from elsinore.plan.assembly import guarded_template
from elsinore.plan.template import START
from support.regular import automaton, patterns, regular_expression, words
from support.templates import template

often = settings(max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "60")))


def of(pattern: str, returns: str = "COUNT(*)", more: str = "") -> Template:
    """Return the guarded template of a query."""
    return guarded_template(parse_query(f"RETURN {returns} PATTERN {pattern} {more}"))


def runs(built: Template, word: tuple[str, ...]) -> int:
    """Count the ways to read a word of types whose predicates are all true."""
    counts: dict[int, int] = {START: 1}
    for name in word:
        following: dict[int, int] = {}
        for move in built.moves:
            if built.states[move.target].type == name and not built.states[move.target].lacks:
                before = counts.get(move.source, 0)
                following[move.target] = following.get(move.target, 0) + before
        counts = following
    return sum(count for state, count in counts.items() if state in built.accepting)


@often
@given(patterns().filter(lambda pattern: not pt.nullable(pattern)))
def test_a_template_reads_each_trend_in_one_way(pattern: Pattern) -> None:
    query = Query(name="q", returns=(ReturnItem(Call("COUNT", ())),), pattern=pattern)
    built = template(query)
    assert guarded_template(query).ambiguous is (ambiguity(automaton(pattern)) is not None)
    expression = re.compile(regular_expression(pattern))
    for word in words(5):
        expected = int(bool(word) and expression.fullmatch("".join(word)) is not None)
        assert runs(built, word) == expected, word


@often
@given(patterns().filter(lambda pattern: not pt.nullable(pattern)))
def test_moves_lead_from_a_state_or_the_start_to_a_state(pattern: Pattern) -> None:
    query = Query(name="q", returns=(ReturnItem(Call("COUNT", ())),), pattern=pattern)
    built = template(query)
    count = len(built.states)
    assert all(0 <= move.target < count for move in built.moves)
    assert all(START <= move.source < count for move in built.moves)
    assert {move.target for move in built.moves} == set(range(count))


@pytest.mark.parametrize(
    ("pattern", "starts", "ends", "before"),
    [
        ("(SEQ(A, B+))+", "A", "B", {"A": "B", "B": "AB"}),
        ("(SEQ(C, B+))+", "C", "B", {"C": "B", "B": "BC"}),
        ("SEQ(A, B+)", "A", "B", {"A": "", "B": "AB"}),
        ("SEQ(A, B?, C)", "A", "C", {"B": "A", "C": "AB"}),
        ("SEQ(A*, B OR C)", "ABC", "BC", {"A": "A", "B": "A", "C": "A"}),
        ("A{2}", "A", "A", {"A": "A"}),
    ],
)
def test_types_that_begin_end_and_precede(
    pattern: str, starts: str, ends: str, before: dict[str, str]
) -> None:
    built = of(pattern)
    assert built.start_types() == set(starts)
    assert built.end_types() == set(ends)
    for name, others in before.items():
        assert built.predecessor_types(name) == set(others)


def test_an_unambiguous_pattern_has_a_state_for_each_of_its_events() -> None:
    built = template(of("SEQ(A a, B b+, C)").query)
    assert not of("SEQ(A a, B b+, C)").ambiguous
    assert [(s.type, s.variable) for s in built.states] == [("A", "a"), ("B", "b"), ("C", "C")]
    assert [move.target for move in built.starts] == [0]


def test_an_ambiguous_pattern_is_determinized_and_its_events_are_bound_to_one_variable() -> None:
    built = template(of("SEQ(A a+, A b+)").query)
    assert of("SEQ(A a+, A b+)").ambiguous
    assert {state.variable for state in built.states} == {"a"}


def test_predicates_can_make_a_pattern_unambiguous() -> None:
    where = "WHERE a.v < 3 AND b.v > 5"
    built = of("SEQ(A a+, A b+)", "SUM(a.v)", where)
    assert not built.ambiguous
    assert of("SEQ(A a+, A b+)", more="WHERE a.v < 3 AND b.v > 2").ambiguous


@pytest.mark.parametrize("returns", ["SUM(a.v)", "COUNT(b)", "MIN(a.v)"])
def test_an_aggregate_over_one_reading_is_refused_with_both_readings(returns: str) -> None:
    with pytest.raises(QuerySemanticError) as caught:
        of("SEQ(A a+, A b+)", returns)
    text = str(caught.value)
    assert "A A A can be read as A as a, A as a, A as b, or as A as a, A as b, A as b" in text
    assert "Aggregate over the type instead: A." in text
    assert caught.value.span is not None


@pytest.mark.parametrize("returns", ["SUM(A.v)", "COUNT(A)", "COUNT(*)", "MAX(A.v)"])
def test_an_aggregate_over_the_type_of_an_ambiguous_pattern_is_allowed(returns: str) -> None:
    assert of("SEQ(A a+, A b+)", returns).ambiguous


def test_an_aggregate_over_the_only_variable_of_its_type_is_allowed() -> None:
    assert of("SEQ(A a+, A b+, C c)", "SUM(c.v)").ambiguous


@pytest.mark.parametrize("pattern", ["SEQ(A, B b*, C)", "SEQ(A a1+, B b*, A a2+)"])
def test_a_variable_that_no_event_can_be_is_warned_of(pattern: str) -> None:
    built = of(pattern, more="WHERE b.v < 3 AND b.v > 5")
    assert built.accepting
    assert "B" not in {state.type for state in built.states}
    assert built.warnings == ("no event can be b: b.v < 3 and b.v > 5 contradict each other.",)
    assert not of(pattern, more="WHERE b.v < 3 AND b.v > 1").warnings


def test_the_strategy_of_trends_may_be_named() -> None:
    assert of("SEQ(A, B)", more="STRATEGY SKIP TILL ANY MATCH").is_plain
