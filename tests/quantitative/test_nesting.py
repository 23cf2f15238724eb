"""Queries, rates and conditions that are nested deeply, or consist of very many parts."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import pytest

import elsinore.quantitative as qre
from elsinore.errors import QuerySemanticError
from elsinore.quantitative import Query
from elsinore.quantitative.nodes import MOST_NESTED

A = qre.event("A")
ONE = qre.atom(A, lambda event: 1)
EVENT = {"type": "A", "val": 1}


def applied(query: Query) -> Query:
    return qre.apply(query, lambda value: value + 1)


def split_left(query: Query) -> Query:
    return qre.split(query, ONE, operator.add)


def split_right(query: Query) -> Query:
    return qre.split(ONE, query, operator.add)


def combined(query: Query) -> Query:
    return qre.combine(query, query, lambda left, right: left + 1)


WAYS = [(applied, MOST_NESTED), (split_left, 60), (split_right, 60)]  # checking splits is slow


def nested(way: Callable[[Query], Query], levels: int) -> Query:
    query = ONE
    for _ in range(levels - 1):
        query = way(query)
    return query


@pytest.mark.parametrize(("way", "levels"), WAYS)
def test_a_query_nested_deeply_is_run_saved_and_explained(
    way: Callable[[Query], Query], levels: int
) -> None:
    query = nested(way, levels)
    events = [EVENT] * (1 if way is applied else levels)
    stream = query.start()
    assert stream.extend(events)[1] == [levels]
    assert query.load(stream.save()).value == levels
    assert query.run(events).to_pylist()[-1]["value"] == levels
    assert query.explain().count("\n") >= levels - 1
    assert str(query).count("(") >= levels


def test_a_query_nested_deeper_is_rejected_with_the_limit_and_a_remedy() -> None:
    with pytest.raises(QuerySemanticError, match=f"more than {MOST_NESTED} .*several parts"):
        nested(applied, MOST_NESTED + 1)


def test_a_query_used_twice_at_each_level_is_described_quickly() -> None:
    assert repr(nested(combined, 16)).startswith("<combine(combine(")


def test_nested_choices_become_those_of_one_either() -> None:
    query = functools.reduce(qre.either, (qre.atom(qre.event(f"t{n}")) for n in range(300)))
    assert (len(query.node.parts), query.node.depth) == (300, 2)
    assert query.start().extend([{"type": "t7"}])[0] == [0]


@pytest.mark.parametrize("join", [operator.or_, operator.and_])
def test_thousands_of_predicates_can_be_combined(join: Callable[[Any, Any], Any]) -> None:
    predicates = [qre.predicate(A.val >= n) for n in range(1000)]
    query = qre.atom(functools.reduce(join, predicates))
    flipped = qre.atom(functools.reduce(lambda left, right: join(right, left), predicates))
    for value, expected in ((0, join is operator.or_), (999, True), (-1, False)):
        for each in (query, flipped):
            positions = each.start().extend([{"type": "A", "val": value}])[0]
            assert positions == ([0] if expected else [])


def turned(levels: int) -> Any:
    predicate: Any = A
    for n in range(levels):
        predicate = ~(predicate & qre.event(f"t{n}"))
    return predicate


def alternating(levels: int) -> Any:
    predicate: Any = A
    for n in range(levels):
        predicate = (predicate & qre.predicate(A.val > n)) | qre.event(f"t{n}")
    return predicate


@pytest.mark.parametrize(
    "make",
    [
        lambda: qre.atom(turned(300)),
        lambda: qre.atom(alternating(3000)),
        lambda: qre.atom(functools.reduce(operator.or_, (A.val == n for n in range(3000)))),
        lambda: qre.match(functools.reduce(lambda r, n: qre.seq(A, r).star(), range(3000), A)),
        lambda: functools.reduce(lambda r, n: qre.seq(A, r) | qre.event("B"), range(3000), A),
        lambda: qre.map_collect(
            A, "k", ONE, functools.reduce(lambda r, n: r.plus(), range(3000), A)
        ),
        lambda: qre.map_collect(turned(300), "k", ONE),
    ],
)
def test_conditions_and_rates_nested_too_deeply_are_rejected_with_the_limit(
    make: Callable[[], object],
) -> None:
    with pytest.raises(QuerySemanticError, match=r"More than 200 .* within one another"):
        make()


def test_a_predicate_negated_twice_is_itself() -> None:
    assert (~~A).condition == A.condition
