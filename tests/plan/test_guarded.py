"""Guarded templates: their states, moves, conditions and anchors; and that they mean the query."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.automata.positions import FREE
from elsinore.errors import QuerySemanticError
from elsinore.language import parse_expression, parse_query
from elsinore.model import Conjunction, Query
from elsinore.plan.assembly import guarded_template
from elsinore.plan.template import Template
from oracles import reference as oracle
from oracles.reference import ReferenceEvent
from support.guarded import Interpreter
from support.trends import TYPES, Feature, streams_for, trend_queries

LESS = parse_expression("previous.v < current.v")


def of(pattern: str, where: str = "", returns: str = "COUNT(*)") -> Template:
    clause = f" WHERE {where}" if where else ""
    return guarded_template(parse_query(f"RETURN {returns} PATTERN {pattern}{clause}"))


def names(built: Template) -> list[str]:
    """Return the variables of the states."""
    return [state.variable for state in built.states]


def moves(built: Template) -> dict[tuple[int, int], tuple[set[Any], set[Any]]]:
    """Return the conditions and checks of each move."""
    return {
        (step.source, step.target): (set(step.reads.conditions), set(step.reads.checks))
        for step in built.steps
    }


def test_without_guards_it_is_the_automaton_of_the_positions() -> None:
    built = of("SEQ(A a, B b+)", "b.v < 3")
    assert names(built) == ["a", "b"]
    assert [set(state.needs) for state in built.states] == [set(), {parse_expression("B.v < 3")}]
    assert [(start.target, start.reads.free) for start in built.starts] == [(0, FREE)]
    assert moves(built) == {(0, 1): (set(), set()), (1, 1): (set(), set())}
    assert [(end.source, end.ways, end.side) for end in built.ends] == [(1, FREE, 0)]
    assert (built.conditions, built.anchors, built.negatives, built.sides) == ((), (), (), 1)
    assert built.accepting == {1}
    assert not built.ambiguous


def test_neighbours_are_compared_on_the_moves_between_them_only() -> None:
    built = of("SEQ(A a, B b+, B c)", "b[i-1].v < b[i].v")
    assert built.conditions == (LESS,)
    assert moves(built) == {
        (0, 1): (set(), set()),
        (1, 1): ({LESS}, set()),
        (1, 2): (set(), set()),
    }
    by_type = of("SEQ(A a, B b+, B c)", "B[i-1].v < B[i].v")
    assert {pair for pair, asked in moves(by_type).items() if asked[0]} == {(1, 1), (1, 2)}


def test_a_single_event_that_is_compared_with_its_neighbour_alone_is_no_anchor() -> None:
    built = of("SEQ(A, B)", "A.v < B.v")
    assert (moves(built), built.anchors) == ({(0, 1): ({LESS}, set())}, ())


def test_a_single_event_that_is_compared_with_later_ones_is_an_anchor() -> None:
    built = of("SEQ(A, B+)", "A.v < B[i].v")
    assert built.anchors == ("A",)
    assert moves(built) == {(0, 1): (set(), {("A", LESS)}), (1, 1): (set(), {("A", LESS)})}


def test_an_anchor_is_compared_over_what_lies_between() -> None:
    built = of("SEQ(A, C*, B)", "A.v < B.v")
    assert names(built) == ["A", "C", "B"]
    checked = {pair for pair, asked in moves(built).items() if asked[1]}
    assert checked == {(0, 2), (1, 2)}


def test_an_optional_anchor_is_asked_only_where_there_is_one() -> None:
    built = of("SEQ(A?, C, B)", "A.v < B.v")
    assert built.anchors == ("A",)
    assert moves(built) == {(0, 1): (set(), set()), (1, 2): (set(), {("A", LESS)})}


def test_the_first_event_splits_the_states_of_a_loop() -> None:
    built = of("SEQ(R+, T+)", "R.v < T[1].v")
    assert names(built) == ["R", "T"]
    assert moves(built) == {(0, 0): (set(), set()), (0, 1): ({LESS}, set()), (1, 1): (set(), set())}
    group = of("(SEQ(R, T+))+", "R.v < T[1].v")  # later rounds have no first T
    assert names(group) == ["R", "T", "R"]
    assert moves(group) == {
        (0, 1): ({LESS}, set()),
        (1, 1): (set(), set()),
        (1, 2): (set(), set()),
        (2, 1): (set(), set()),
    }
    assert group.accepting == {1}


def test_a_first_event_far_from_a_single_one_is_checked_against_its_anchor() -> None:
    built = of("SEQ(R, C*, T+)", "R.v < T[1].v")
    assert built.anchors == ("R",)
    checked = {pair for pair, asked in moves(built).items() if asked[1]}
    assert checked == {(0, 2), (1, 2)}


def test_conditions_are_kept_once_and_only_where_they_are_asked() -> None:
    built = of("SEQ(A, B, C, D)", "A.v < B.v AND C.v < D.v AND B.w < C.w")
    assert len(built.conditions) == 2
    assert LESS in built.conditions
    assert built.compared == {"v", "w"}


def test_a_not_is_a_template_of_its_own() -> None:
    built = of("SEQ(A a, NOT SEQ(N n, M m), B b)", "n.v < m.v AND m.w > 1", "SUM(b.v)")
    (negative,) = built.negatives
    assert built.steps[0].reads.free == {frozenset({0})}
    assert (built.conditions, negative.conditions) == ((), (LESS,))
    assert names(negative) == ["n", "m"]
    assert [field.kind.value for field in negative.aggregation.linear] == ["trends"]
    assert len(built.aggregation.linear) == 3
    assert built.predicates["M"] == {parse_expression("M.w > 1")}
    assert built.compared == {"v"}


def test_nots_are_nested() -> None:
    built = of("SEQ(A, NOT SEQ(N, NOT M, L), B)")
    ((inner,),) = [negative.negatives for negative in built.negatives]
    assert names(inner) == ["M"]
    assert built.negatives[0].steps[0].reads.free == {frozenset({0})}
    assert set(built.predicates) == {"A", "B", "N", "M", "L"}


def test_patterns_joined_by_and_stand_side_by_side() -> None:
    built = of(
        "SEQ(A a, NOT N, B b+) AND SEQ(NOT N, A c, C d, NOT M)", "a.v < b[i].v AND c.v < d.v"
    )
    assert names(built) == ["a", "b", "c", "d"]
    assert [(start.target, start.reads.free) for start in built.starts] == [
        (0, FREE), (2, frozenset({frozenset({0})})),
    ]  # fmt: skip
    assert [(end.source, end.side) for end in built.ends] == [(1, 0), (3, 1)]
    assert moves(built) == {
        (0, 1): (set(), {("a", LESS)}), (1, 1): (set(), {("a", LESS)}), (2, 3): ({LESS}, set()),
    }  # fmt: skip
    assert (built.conditions, built.anchors, built.sides) == ((LESS,), ("a",), 2)
    assert [names(negative) for negative in built.negatives] == [["N"], ["M"]]
    assert built.ends[1].ways == {frozenset({1})}


def test_where_one_of_two_patterns_cannot_match_there_are_no_pairs() -> None:
    built = of("A AND B", "B.v < 3 AND B.v > 5")
    assert not built.accepting
    assert built.warnings == ("no event can be B: B.v < 3 and B.v > 5 contradict each other.",)


def test_what_no_event_can_be_is_left_out_and_warned_of() -> None:
    built = of("SEQ(A, NOT N, B*, C)", "B.v < 3 AND B.v > 5 AND N.v != N.v")
    assert names(built) == ["A", "C"]
    assert built.negatives[0].states == ()
    assert built.warnings == (
        "no event can be N: N.v != N.v is never true.",
        "no event can be B: B.v < 3 and B.v > 5 contradict each other.",
    )
    assert not of("SEQ(A, NOT N, B*, C)", "B.v < 5 AND B.v > 3").warnings


@pytest.mark.parametrize("strategy", ["SKIP TILL NEXT MATCH", "CONTIGUOUS"])
def test_nothing_ends_where_no_trend_can_whatever_the_strategy(strategy: str) -> None:
    text = "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE B.v < 3 AND B.v > 5 STRATEGY"
    built = guarded_template(parse_query(f"{text} {strategy}"))
    assert not built.accepting
    assert len(built.warnings) == 1


def test_types_that_begin_end_and_precede() -> None:
    built = of("SEQ(A, NOT N, B+, C?)")
    assert (built.start_types(), built.end_types()) == ({"A"}, {"B", "C"})
    assert built.predecessor_types("B") == {"A", "B"}
    assert built.neighbours() == {(None, "A"), ("A", "B"), ("B", "B"), ("B", "C")}


def test_an_ambiguous_pattern_is_said_to_be_one() -> None:
    assert of("SEQ(A a+, NOT N, A b+)").ambiguous
    with pytest.raises(QuerySemanticError, match="ambiguous"):
        of("SEQ(A a+, NOT N, A b+)", returns="SUM(a.v)")
    assert of("SEQ(A a+, NOT N, A b+)", returns="SUM(A.v)").ambiguous


# What a template means


@st.composite
def cases(draw: st.DrawFn) -> tuple[Query, list[ReferenceEvent], bool]:
    """Draw a query with any of the guards, a stream, and whether its ties are ordered."""
    types = draw(st.sampled_from((TYPES, ("A", "B"), ("A", "B"), ("A",))))
    features = draw(
        st.sampled_from(
            (
                (Feature.NEGATION, Feature.ADJACENT, Feature.ANCHORED, Feature.CONJUNCTION),
                (Feature.NEGATION, Feature.ADJACENT, Feature.ANCHORED),
                (Feature.ADJACENT, Feature.ANCHORED),
                (Feature.NEGATION,),
            )
        )
    )
    query = draw(trend_queries("q", types, features=features))
    return query, draw(streams_for(query, 8)), draw(st.booleans())


@settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "60")),
    suppress_health_check=list(HealthCheck),
)
@given(cases())
def test_a_template_has_the_trends_and_the_bindings_of_its_query(
    case: tuple[Query, list[ReferenceEvent], bool],
) -> None:
    query, events, ordered = case
    try:
        built = guarded_template(query)
    except QuerySemanticError as error:
        assert "would never be looked at" in error.message  # noqa: PT017 - nothing else is refused
        return
    parts = query.pattern.parts if isinstance(query.pattern, Conjunction) else (query.pattern,)
    for _, stretch in oracle._partitions(query, events):
        for _, inside in oracle._windows(query, stretch):
            searched = oracle._Part(query, inside, ordered)
            expected = [
                {
                    tuple((step.event, step.variable) for step in oracle._steps(assignment))
                    for assignments in searched.trends(part).values()
                    for assignment in assignments
                }
                for part in parts
            ]
            if not built.ends:  # one of the patterns has no trends, so there are no pairs
                assert not all(expected)
                continue
            read = Interpreter(built, inside, ordered=ordered)
            assert [read.trends(side) for side in range(built.sides)] == expected
