"""Each rule of `elsinore.model.check`, broken once or more; queries built from nodes, not text."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from elsinore.errors import InvalidWorkloadError, QuerySemanticError
from elsinore.model import (
    Attribute,
    Binary,
    Call,
    Column,
    Conjunction,
    Disjunction,
    Event,
    Expression,
    InList,
    Kind,
    Kleene,
    Literal,
    Negation,
    Operator,
    Pattern,
    Query,
    Reference,
    ReturnItem,
    Sequence,
    Window,
    Workload,
)

A, B, C, D = Event("A", "a"), Event("B", "b"), Event("C", "c"), Event("D", "d")
PLUS = Sequence((A, Kleene(B, 1, None)))
COUNT = ReturnItem(Call("COUNT", ()))
MATCH = ReturnItem(Attribute("a", "x"))


def query(**clauses: Any) -> Query:
    return Query(**({"name": "q", "returns": (COUNT,), "pattern": PLUS} | clauses))


def refused(message: str, **clauses: Any) -> None:
    """Check that one of the errors of a query is this one."""
    with pytest.raises((QuerySemanticError, InvalidWorkloadError)) as caught:
        query(**clauses)
    error = caught.value
    errors = error.errors if isinstance(error, InvalidWorkloadError) else (error,)
    assert any(message in found.message for found in errors), [found.message for found in errors]
    assert all(found.query == clauses.get("name", "q") for found in errors)


def where(*conditions: Expression) -> dict[str, Any]:
    return {"where": conditions}


def less(left: Expression) -> Expression:
    return Binary(Operator.LT, left, Literal(1))


def call(name: str, *arguments: Expression) -> Call:
    return Call(name, arguments)


# --- patterns_and_lists_are_not_empty -------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (Sequence((A, Sequence(()))), "SEQ needs at least one"),
        (Disjunction((A,)), "at least two"),
        (Conjunction((A,)), "at least two"),
        (Kleene(A, -1, 3), "0 times or more"),
        (Event("", "a"), "cannot be empty"),
    ],
)
def test_a_pattern_has_all_its_parts(pattern: Pattern, message: str) -> None:
    refused(message, pattern=pattern)


def test_names_and_lists_are_not_empty() -> None:
    refused("name cannot be empty", name="")
    refused("name cannot be empty", group_by=("",))
    refused("name cannot be empty", equivalence=("",))
    refused("name cannot be empty", returns=(replace(COUNT, alias=""),))
    refused("name cannot be empty", **where(less(Attribute("a", ""))))
    refused("IN needs", **where(InList(Attribute("a", "x"), ())))


# --- operators_stand_where_they_may, pattern_is_not_empty, variables_are_bound_once ---------------


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (Sequence((A, Conjunction((B, C)))), "only be at the top"),
        (Kleene(A, 0, 0), "repeated 0 times"),
        (Kleene(A, 3, 2), "{3,2} has a minimum above"),
        (Sequence((A, Negation(B), Negation(C))), "write NOT (B b OR C c)"),
        (Sequence((Sequence((A, Negation(B))), Negation(C))), "NOTs side by side"),
        (Sequence((Sequence((A, Negation(B))), Sequence((Negation(C), D)))), "NOTs side by side"),
        (Kleene(Sequence((A, Negation(B), Negation(C), Negation(D))), 2, 3), "(B b OR C c OR D d)"),
        (Sequence((A, Negation(Sequence((B, C))), Negation(D))), "NOT (SEQ(B b, C c) OR D d)"),
        (Disjunction((A, Negation(B))), "member of a SEQ"),
        (Kleene(Negation(B), 1, None), "member of a SEQ"),
        (Negation(A), "member of a SEQ"),
        (Sequence((A, Negation(Negation(B)))), "member of a SEQ"),
    ],
)
def test_operators_stand_where_they_may(pattern: Pattern, message: str) -> None:
    refused(message, pattern=pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        Kleene(A, 0, None),
        Kleene(A, 0, 1),
        Sequence((Kleene(A, 0, 1), Kleene(B, 0, 1))),
        Disjunction((A, Kleene(B, 0, None))),
        Sequence((Negation(A),)),
        Conjunction((A, Kleene(B, 0, 1))),
    ],
)
def test_a_pattern_matches_something(pattern: Pattern) -> None:
    refused("can match nothing at all", pattern=pattern)


@pytest.mark.parametrize(
    ("negative", "remedy"),
    [
        (Kleene(C, 0, None), "Make at least one"),
        (Kleene(C, 0, 1), "Make at least one"),
        (Disjunction((B, Kleene(C, 0, 1))), "Make at least one"),
        (Sequence((Negation(C),)), "NOT excludes events between or beside"),
    ],
)
def test_what_is_under_not_matches_something(negative: Pattern, remedy: str) -> None:
    pattern = Sequence((A, Negation(negative), D))
    refused(f"The pattern under NOT can match nothing at all. {remedy}", pattern=pattern)


@pytest.mark.parametrize("pattern", [Disjunction((A, Negation(B))), Kleene(Negation(B), 0, None)])
def test_a_not_in_the_wrong_place_is_all_that_is_said_of_it(pattern: Pattern) -> None:
    with pytest.raises(QuerySemanticError, match="member of a SEQ"):
        query(pattern=pattern)


def test_a_variable_is_bound_once() -> None:
    refused("'a' is bound twice", pattern=Sequence((A, Kleene(A, 1, None))))
    refused("of type A and of type B", pattern=Sequence((A, Event("B", "a"))))
    twice = Sequence((Event("A", "A"), Event("A", "A")))
    refused("Type A occurs twice here", pattern=twice)
    nested = Sequence((Disjunction((A, B)), Event("A", "a")))
    refused("'a' is bound twice", pattern=nested)


def test_branches_may_share_a_variable() -> None:
    assert query(pattern=Disjunction((Sequence((A, B)), Sequence((B, A)))))
    assert query(pattern=Conjunction((A, Sequence((A, B)))))


# --- returns_are_of_one_kind and what may be returned ---------------------------------------------


def test_the_columns_tell_the_kind() -> None:
    assert query().kind is Kind.TRENDS
    assert query(returns=(MATCH,)).kind is Kind.MATCHES
    over_match = ReturnItem(call("SUM", Attribute("b", "x", Reference.ALL)))
    assert query(returns=(over_match,)).kind is Kind.MATCHES
    over_trends = ReturnItem(call("SUM", Attribute("b", "x")))
    assert query(returns=(over_trends,)).kind is Kind.TRENDS


def test_return_asks_for_one_kind() -> None:
    refused("at least one column", returns=())
    refused("RETURN mixes", returns=(COUNT, MATCH))
    mixed = ReturnItem(Binary(Operator.ADD, COUNT.expression, MATCH.expression))
    refused("RETURN mixes", returns=(mixed,))
    refused("RETURN mixes", returns=(MATCH, mixed))
    refused("needs an aggregate", returns=(ReturnItem(Column("g")),), group_by=("g",))
    refused("needs an aggregate", returns=(ReturnItem(Literal(1)),))


def test_aliases_are_told_apart() -> None:
    refused("are named 'x'", returns=(replace(COUNT, alias="x"), replace(COUNT, alias="x")))
    refused("are named 'g'", returns=(replace(COUNT, alias="g"),), group_by=("g",))
    start = (replace(COUNT, alias="window_start"),)
    refused("are named 'window_start'", returns=start, window=Window(5))
    assert query(returns=start)  # no window, no such column


def test_returned_values_exist() -> None:
    refused("no variable 'bb'. Did you mean 'b'?", returns=(ReturnItem(Attribute("bb", "x")),))
    under_not = Sequence((A, Negation(B), C))
    counted = ReturnItem(call("COUNT", Attribute("b", None)))
    refused("is under NOT", returns=(counted,), pattern=under_not)
    refused(
        "Did you mean 'group'", returns=(COUNT, ReturnItem(Column("grup"))), group_by=("group",)
    )
    refused("no function 'SUMM'. Did you mean 'SUM'?", returns=(MATCH, ReturnItem(call("SUMM"))))
    shared = (MATCH, ReturnItem(Column("k")))
    assert query(returns=shared, equivalence=("k",))  # a match has one value of it
    refused("'k' is not", returns=(COUNT, ReturnItem(Column("k"))), equivalence=("k",))


def test_an_attribute_of_no_event_is_told_once_with_the_one_that_it_may_be_of() -> None:
    for of, group_by in itertools.product(
        (Column("amount"), Attribute("amount", None)), ((), ("amount",))
    ):
        with pytest.raises(QuerySemanticError) as caught:  # one alone
            query(returns=(ReturnItem(call("SUM", of)),), group_by=group_by)
        assert caught.value.message == "Whose 'amount'? Write SUM(b.amount)."


def test_what_a_query_groups_by_may_have_the_name_of_a_variable() -> None:
    named = (COUNT, ReturnItem(Column("b")))
    refused("'b' is a variable", returns=named)
    assert query(returns=named, group_by=("b",))


def test_functions_take_one_argument() -> None:
    x = Attribute("b", "x", Reference.ALL)
    refused("SUM takes one", returns=(MATCH, ReturnItem(call("SUM", x, x))))
    refused("ABS takes one", returns=(MATCH, ReturnItem(call("ABS"))))
    refused("COUNT takes one", returns=(MATCH, ReturnItem(call("COUNT", x, x))))


def test_users_may_define_aggregates_over_a_matchs_events() -> None:
    own = ReturnItem(call("SLOPE", Attribute("b", "x", Reference.ALL)))
    assert query(returns=(MATCH, own))
    refused("no function 'SLOPE'", returns=(ReturnItem(call("SLOPE", Attribute("a", "x"))),))


def test_a_whole_event_is_counted_or_listed() -> None:
    refused("'a' is an event", returns=(ReturnItem(Attribute("a", None)),))
    assert query(returns=(ReturnItem(Attribute("b", None, Reference.ALL)),))
    assert query(returns=(ReturnItem(call("COUNT", Attribute("b", None))),))


@pytest.mark.parametrize(
    "item",
    [
        call("SUM", Attribute("b", None)),
        call("COUNT", Attribute("b", "x")),
        Binary(Operator.ADD, COUNT.expression, Literal(1)),
        call("LOG2", call("COUNT", Attribute("b", None))),
        call("ABS", COUNT.expression),
    ],
)
def test_a_trend_query_returns_its_aggregates_only(item: Expression) -> None:
    refused("A trend query returns", returns=(COUNT, ReturnItem(item)))


# --- predicates -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (less(Attribute("bb", "x")), "no variable 'bb'"),
        (less(Column("x")), "Whose 'x'? Write a.x"),
        (less(Attribute("a", "x", Reference.CURRENT)), "'a' is bound to one event"),
        (less(Attribute("b", None)), "'b' is an event"),
        (less(call("SUM", Attribute("b", "x"))), "In WHERE, SUM ranges over"),
        (less(call("SQTR", Attribute("b", "x"))), "no function 'SQTR'"),
    ],
)
def test_predicates_make_sense(condition: Expression, message: str) -> None:
    refused(message, returns=(MATCH,), **where(condition))


@pytest.mark.parametrize("reference", [Reference.ALL, Reference.EARLIER, Reference.LAST])
def test_a_trend_querys_predicates_look_at_neighbours_only(reference: Reference) -> None:
    value = Attribute("b", "x", reference)
    condition = less(value if reference is Reference.LAST else call("MAX", value))
    refused("cannot be aggregated", **where(condition))
    assert query(returns=(MATCH,), **where(condition))


def test_a_where_is_kept_as_its_conjuncts() -> None:
    one, two, three = (less(Attribute("a", name)) for name in "xyz")
    joined = Binary(Operator.AND, Binary(Operator.AND, one, two), three)
    assert query(where=(joined,)) == query(where=(one, two, three))


# --- clauses --------------------------------------------------------------------------------------


def test_clauses_fit_the_kind() -> None:
    refused("CONFIDENCE is for match queries", confidence=0.5)
    refused("COLLAPSED is for match queries", collapsed=True)
    refused("LIMIT is for match queries", limit=1)
    refused("a probability", returns=(MATCH,), confidence=0.0)
    refused("a probability", returns=(MATCH,), confidence=1.5)
    refused("LIMIT must be", returns=(MATCH,), limit=0)
    assert query(returns=(MATCH,), confidence=1.0, collapsed=True, limit=1)


def test_attributes_are_named_once() -> None:
    refused("GROUP BY names 'g' twice", group_by=("g", "h", "g"))
    refused("[ ] names 'k' twice", equivalence=("k", "k"))


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InvalidWorkloadError) as caught:
        query(pattern=Kleene(A, 0, 1), group_by=("g", "g"), limit=2)
    assert len(caught.value.errors) == 3


# --- windows and workloads ------------------------------------------------------------------------


def test_windows_have_a_length_and_move() -> None:
    with pytest.raises(QuerySemanticError, match="WITHIN must be longer"):
        Window(0)
    with pytest.raises(QuerySemanticError, match="SLIDE must be longer"):
        Window(5, 0)


def test_a_workload_has_queries_of_different_names() -> None:
    with pytest.raises(QuerySemanticError, match="at least one query"):
        Workload(())
    with pytest.raises(QuerySemanticError, match="Two queries are named 'q'"):
        Workload((query(), query()))
    workload = Workload((query(), query(name="trips")))
    assert workload["trips"].name == "trips"
    assert [found.name for found in workload] == ["q", "trips"]
    assert len(workload) == 2
    with pytest.raises(KeyError, match=r"Did you mean 'trips'\? Queries: q, trips"):
        workload["trip"]
