"""The reference engine, against numbers worked out by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from elsinore.errors import InputError, UnsupportedError
from elsinore.model import (
    Attribute,
    Binary,
    Call,
    Conjunction,
    Disjunction,
    Event,
    Kleene,
    Literal,
    Negation,
    Not,
    Operator,
    Pattern,
    Query,
    Reference,
    ReturnItem,
    Sequence,
    Strategy,
    Window,
)
from oracles.reference import ReferenceEvent, ReferenceRow, reference

COUNT = Call("COUNT", ())
A, B, C = Event("A", "a"), Event("B", "b"), Event("C", "c")


def plus(pattern: Pattern) -> Kleene:
    return Kleene(pattern, 1, None)


def query(pattern: Pattern, *returns: Call, **clauses: Any) -> Query:
    items = tuple(ReturnItem(call) for call in returns or (COUNT,))
    return Query(name="q", returns=items, pattern=pattern, **clauses)


def stream(types: str, **attributes: list[Any]) -> list[ReferenceEvent]:
    """Return events of the given types at times 0, 1, ..."""
    return [
        ReferenceEvent(time, type_name, {name: all_[time] for name, all_ in attributes.items()})
        for time, type_name in enumerate(types)
    ]


def count(pattern: Pattern, events: list[ReferenceEvent], **clauses: Any) -> int:
    rows = reference(query(pattern, **clauses), events)
    assert len(rows) <= 1
    return rows[0].values["count(*)"] if rows else 0


@pytest.mark.parametrize(("first", "inside", "snapshot"), [(A, 30, 34), (C, 15, 19)])
def test_the_worked_example(first: Event, inside: int, snapshot: int) -> None:
    # a snapshot at the start of a graphlet is the number of trends that its first event ends
    pattern = Sequence((first, plus(B)))
    before = stream("AACBBBBAACCC")
    assert count(pattern, before) == inside
    assert count(pattern, [*before, ReferenceEvent(99, "B", {})]) == inside + snapshot


@pytest.mark.parametrize(("pattern", "expected"), [
    (A, 3),
    (plus(A), 7),
    (plus(plus(A)), 7),
    (Kleene(A, 2, 2), 3),
    (Kleene(A, 2, None), 4),
    (Kleene(A, 1, 2), 6),
    (Sequence((Kleene(Kleene(A, 0, 1), 3, 3), Event("A", "a2"))), 7),
    (Sequence((A, Event("A", "a2"))), 3),
    (Sequence((plus(A), plus(Event("A", "a2")))), 4),  # a1 a2 a3 splits in two ways
    (Sequence((Kleene(A, 0, None), Event("A", "a2"))), 7),
    (Disjunction((A, plus(Event("A", "a2")))), 7),
    (Sequence((A, B)), 0),
])  # fmt: skip
def test_patterns_over_three_events(pattern: Pattern, expected: int) -> None:
    assert count(pattern, stream("AAA")) == expected


def test_nested_kleene() -> None:
    pattern = plus(Sequence((A, plus(B))))
    # a1 b2, a1 b4, a1 b2 b4, a3 b4, a1 b2 a3 b4
    assert count(pattern, stream("ABAB")) == 5


def test_simultaneous_events_never_stand_in_one_trend() -> None:
    events = [ReferenceEvent(time, "A", {}) for time in (0, 0, 1)]
    assert count(plus(A), events) == 5
    assert reference(query(plus(A)), events, ordered=True)[0].values["count(*)"] == 7


def test_null_is_a_group_but_equals_nothing() -> None:
    events = stream("AAAA", g=["x", None, None, "x"], k=[1, 1, 1, None])
    assert reference(query(plus(A), group_by=("g",)), events) == [
        ReferenceRow(("x",), None, {"count(*)": 3}),
        ReferenceRow((None,), None, {"count(*)": 3}),
    ]
    assert count(plus(A), events, equivalence=("k",)) == 7


def test_parts_by_equivalence_are_summed_up() -> None:
    events = stream("AAAA", k=[1, 2, 1, 2])
    assert count(plus(A), events, equivalence=("k",)) == 3 + 3


def test_predicates_on_null_and_nan_are_false() -> None:
    events = stream("AAAA", v=[1, None, math.nan, 5])
    small = Binary(Operator.LT, Attribute("a", "v"), Literal(3))
    assert count(plus(A), events, where=(small,)) == 1
    current = Binary(Operator.LT, Attribute("a", "v", Reference.CURRENT), Literal(9))
    assert count(plus(A), events, where=(current,)) == 3


@pytest.mark.parametrize(("window", "expected"), [
    (Window(2), {(0, 2): 3, (2, 4): 3, (4, 6): 1}),
    (Window(3, 2), {(-2, 1): 1, (0, 3): 7, (2, 5): 7, (4, 7): 1}),
    (Window(1, 3), {(0, 1): 1, (3, 4): 1}),  # 1, 2 and 4 lie in gaps
    (Window(2, None, 1), {(-1, 1): 1, (1, 3): 3, (3, 5): 3}),
])  # fmt: skip
def test_windows(window: Window, expected: dict[tuple[int, int], int]) -> None:
    rows = reference(query(plus(A), window=window), stream("AAAAA"))
    assert {row.window: row.values["count(*)"] for row in rows} == expected


def test_windows_before_the_epoch() -> None:
    events = [ReferenceEvent(time, "A", {}) for time in (-3, -1)]
    rows = reference(query(plus(A), window=Window(2)), events)
    assert [row.window for row in rows] == [(-4, -2), (-2, 0)]


def test_every_aggregate() -> None:
    def over(function: str, attribute: str | None = "v") -> Call:
        return Call(function, (Attribute("a", attribute),))

    asked = query(
        Sequence((plus(A), B)),
        COUNT,
        Call("LOG2", (COUNT,)),
        over("COUNT", None),
        over("SUM"),
        over("AVG"),
        over("MIN"),
        over("MAX"),
    )
    # trends: a1 b, a2 b, a1 a2 b
    (row,) = reference(asked, stream("AAB", v=[1, 4, 100]))
    assert row.values == {
        "count(*)": 3,
        "log2(count(*))": math.log2(3),
        "count(a)": 4,
        "sum(a.v)": 10,
        "avg(a.v)": Fraction(10, 4),
        "min(a.v)": 1,
        "max(a.v)": 4,
    }
    (row,) = reference(asked, stream("AAB", v=[None, 4, 100]))
    assert row.values["count(a)"] == 4
    assert row.values["avg(a.v)"] == 4
    (row,) = reference(asked, stream("AB", v=[math.nan, 100]))
    assert [row.values[name] for name in ("sum(a.v)", "avg(a.v)", "min(a.v)", "max(a.v)")] == [
        None
    ] * 4


def test_an_aggregate_over_an_ambiguous_variable_is_refused() -> None:
    pattern = Sequence((plus(A), plus(Event("A", "a2"))))
    over_type = query(pattern, Call("COUNT", (Attribute("A", None),)))
    assert reference(over_type, stream("AAA"))[0].values == {"count(A)": 9}
    with pytest.raises(InputError, match="ambiguous"):
        reference(query(pattern, Call("COUNT", (Attribute("a", None),))), stream("AAA"))


def test_too_many_trends_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oracles.reference.LIMIT", 1_000)
    assert count(plus(A), stream("A" * 9)) == 511
    with pytest.raises(InputError, match=r"more than 1,000 trends"):
        reference(query(plus(A)), stream("A" * 10))


def less(left: Attribute, right: Attribute) -> Binary:
    return Binary(Operator.LT, left, right)


def test_predicates_between_neighbours() -> None:
    rising = less(Attribute("a", "v", Reference.PREVIOUS), Attribute("a", "v", Reference.CURRENT))
    # 1, 3, 2 alone, and 1 3, 1 2
    assert count(plus(A), stream("AAA", v=[1, 3, 2]), where=(rising,)) == 5
    pair = Sequence((A, B))
    above = less(Attribute("a", "v"), Attribute("b", "v"))
    assert count(pair, stream("AAB", v=[1, 9, 5]), where=(above,)) == 1
    first = less(Attribute("a", "v"), Attribute("b", "v", Reference.FIRST))
    # 5 2, 5 9 2, 2, 9 2 and 9 of the B's: those that begin with 5 or 9 and with a 3 before them
    events = stream("ABBB", v=[3, 5, 2, 9])
    assert count(Sequence((A, plus(B))), events, where=(first,)) == 4 + 1


def test_a_repeated_group_compares_its_events_within_a_round() -> None:
    above = less(Attribute("a", "v"), Attribute("b", "v"))
    events = stream("ABAB", v=[1, 5, 2, 3])  # b of 5 before a of 2 is nobody's concern
    # a1 b2, a1 b4, a3 b4, a1 b2 a3 b4
    assert count(plus(Sequence((A, B))), events, where=(above,)) == 4
    back = less(Attribute("a", "v", Reference.CURRENT), Attribute("a", "v", Reference.PREVIOUS))
    assert count(plus(Sequence((A, B))), events, where=(back,)) == 4


@pytest.mark.parametrize("branches", [(A, B), (B, A)], ids=["a OR b", "b OR a"])
def test_branches_of_or_compare_their_events_in_either_order(branches: tuple[Event, ...]) -> None:
    above = less(Attribute("a", "v"), Attribute("b", "v"))
    # each alone, b1 a2 (1 < 5) and b1 b3; not a2 b3 (1 < 0), nor b1 a2 b3
    events = stream("BAB", v=[5, 1, 0])
    assert count(plus(Disjunction(branches)), events, where=(above,)) == 5
    # of a1 b2 a3 b4: not b2 a3 (4 < 3), but a1 a3, b2 b4 and all the other pairs
    assert count(plus(Disjunction(branches)), stream("ABAB", v=[1, 3, 4, 5]), where=(above,)) == 11


def test_the_first_of_a_kleene_variable_against_an_anchor_further_off() -> None:
    first = less(Attribute("a", "v"), Attribute("b", "v", Reference.FIRST))
    pattern = Sequence((A, C, plus(B)))
    assert count(pattern, stream("ACBB", v=[3, 0, 5, 2]), where=(first,)) == 2


def test_predicates_read_the_time_of_an_event() -> None:
    late = Binary(Operator.GE, Attribute("a", "time"), Literal(2))
    assert count(plus(A), stream("AAA"), where=(late,)) == 1
    assert count(plus(A), stream("AAA", time=[2, 2, 1]), where=(late,)) == 3


def test_predicates_of_a_negated_event_with_a_positive_one() -> None:
    pattern = Sequence((A, Negation(C), B))
    across = less(Attribute("a", "v"), Attribute("c", "v"))
    assert count(pattern, stream("ACB", v=[0, 1, 0]), where=(across,)) == 0
    assert count(pattern, stream("ACB", v=[1, 0, 0]), where=(across,)) == 1


def test_predicates_of_two_patterns_of_and_are_refused() -> None:
    joined, across = Conjunction((plus(A), plus(B))), less(Attribute("a", "v"), Attribute("b", "v"))
    with pytest.raises(UnsupportedError, match="a and b"):
        count(joined, [], where=(across,))


def test_predicates_inside_a_negation_within_a_repeated_group() -> None:
    pair = Negation(Sequence((C, Event("D", "d"), Event("E", "e"))))
    rising = less(Attribute("c", "v"), Attribute("e", "v"))
    pattern = plus(Sequence((A, pair, B)))
    assert count(pattern, stream("ACDEB", v=[0, 1, 0, 2, 0]), where=(rising,)) == 0
    assert count(pattern, stream("ACDEB", v=[0, 2, 0, 1, 0]), where=(rising,)) == 1


def test_predicates_against_an_anchor() -> None:
    above = less(Attribute("a", "v"), Attribute("b", "v", Reference.CURRENT))
    events = stream("ABBB", v=[3, 5, 2, 9])
    assert count(Sequence((A, plus(B))), events, where=(above,)) == 3


def test_the_worked_example_with_a_snapshot_of_one_event() -> None:
    # the edge b4 -> b5 does not hold
    ids = list(range(13))
    events = stream("AACBBBBAACCCB", v=ids)
    both = Binary(
        Operator.AND,
        Binary(Operator.EQ, Attribute("b", "v", Reference.PREVIOUS), Literal(4)),
        Binary(Operator.EQ, Attribute("b", "v", Reference.CURRENT), Literal(5)),
    )
    for first, inside, snapshot in ((A, 7 * 2 + 2 * 8, 34), (C, 7 * 1 + 2 * 2, 15)):
        pattern = Sequence((first, plus(B)))
        found = [
            count(pattern, events[:length], where=(Not(both),) if first is C else ())
            for length in (12, 13)
        ]
        assert found == [inside, inside + snapshot]


def test_negation_between_events_before_and_after_them() -> None:
    none = Negation(C)
    assert count(Sequence((A, none, B)), stream("ACBAB")) == 1
    assert count(Sequence((A, none)), stream("ACA")) == 1
    assert count(Sequence((none, A)), stream("ACA")) == 1
    assert count(plus(Sequence((A, none, B))), stream("ABCAB")) == 3
    long = Negation(Sequence((C, Event("D", "d"))))
    assert count(Sequence((A, long, B)), stream("ACBDB")) == 1
    large = Binary(Operator.GT, Attribute("c", "v"), Literal(5))
    assert count(Sequence((A, none, B)), stream("ACB", v=[0, 1, 0]), where=(large,)) == 1
    # at the time of the B is not before it
    events = [*stream("A"), ReferenceEvent(1, "C", {}), ReferenceEvent(1, "B", {})]
    assert count(Sequence((A, none, B)), events) == 1


def test_conjunction_counts_pairs_of_different_trends() -> None:
    assert count(Conjunction((plus(A), plus(B))), stream("AAB")) == 3
    # {a1}, {a2}, {a1 a2} of one and of the other
    assert count(Conjunction((plus(A), plus(Event("A", "a2")))), stream("AA")) == 3
    assert count(Conjunction((A, plus(Event("A", "a2")))), stream("AA")) == 3
    assert count(Conjunction((A, B)), stream("AA")) == 0


@pytest.mark.parametrize(
    ("strategy", "expected"), [(Strategy.ANY, 6), (Strategy.NEXT, 2), (Strategy.CONTIGUOUS, 1)]
)
def test_strategies(strategy: Strategy, expected: int) -> None:
    events = [
        ReferenceEvent(time, type_name, {})
        for time, type_name in ((1, "A"), (2, "A"), (5, "B"), (6, "B"), (7, "C"))
    ]
    assert count(Sequence((A, plus(B), C)), events, strategy=strategy) == expected


def test_skip_till_next_match_takes_the_next_event_that_satisfies_the_predicates() -> None:
    rising = Binary(
        Operator.GE,
        Attribute("b", "v", Reference.CURRENT),
        Attribute("b", "v", Reference.PREVIOUS),
    )
    pattern = Sequence((A, plus(B), C))
    events = stream("ABBBBBC", v=[None, 0.1, 0.2, 0.15, 0.19, 0.25, None])
    assert count(pattern, events, where=(rising,), strategy=Strategy.NEXT) == 1


@pytest.mark.parametrize("variable", ["a", "other"])
def test_runs_of_two_branches_skip_each_for_itself(variable: str) -> None:
    branches = Disjunction((Sequence((A, B)), Sequence((Event("A", variable), C))))
    assert count(branches, stream("ABC"), strategy=Strategy.NEXT) == 2
