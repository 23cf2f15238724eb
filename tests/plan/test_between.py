"""Which pairs of events a predicate is about, by its shape."""

from __future__ import annotations

import pytest

from elsinore.language import parse_expression, parse_query
from elsinore.model import Conjunction
from elsinore.plan.between import Reading, is_local, readings

NEAR, FAR = "near", "far"


def read(pattern: str, where: str, part: int | None = None) -> list[Reading] | None:
    """Return the readings of the one predicate of a query, or of one pattern that AND joins."""
    query = parse_query(f"RETURN COUNT(*) PATTERN {pattern} WHERE {where}")
    (predicate,) = query.where
    whole = query.pattern
    if part is not None:
        assert isinstance(whole, Conjunction)
        whole = whole.parts[part]
    found = readings(query, whole, predicate)
    return None if found is None else list(found)


def pairs(pattern: str, where: str, part: int | None = None) -> list[tuple[str, str, str, str]]:
    """Return (earlier, later, near or far, condition as text), conditions spelt with p and c."""
    found = read(pattern, where, part)
    assert found is not None
    return [(one.earlier, one.later, FAR if one.anchored else NEAR, _spelt(one)) for one in found]


def _spelt(reading: Reading) -> str:
    known = {
        parse_expression(text.replace("p.", "previous.").replace("c.", "current.")): text
        for text in ("p.v < c.v", "c.v < p.v", "p.v < p.w")
    }
    return known[reading.condition]


def test_an_event_and_the_one_before_it() -> None:
    assert pairs("B b+", "b[i-1].v < b[i].v") == [("b", "b", NEAR, "p.v < c.v")]
    assert pairs("B b+", "b[i].v < b[i-1].v") == [("b", "b", NEAR, "c.v < p.v")]
    assert pairs("B b+", "b[i-1].v < b[i-1].w") == [("b", "b", NEAR, "p.v < p.w")]


def test_a_type_stands_for_all_its_variables() -> None:
    found = pairs("SEQ(B b+, B d)", "B[i-1].v < B[i].v")
    assert [one[:2] for one in found] == [("b", "b"), ("b", "d"), ("d", "b"), ("d", "d")]
    assert {one[2:] for one in found} == {(NEAR, "p.v < c.v")}


def test_the_first_event_of_a_variable_and_the_single_one_before_it() -> None:
    found = read("SEQ(R, T+)", "R.v < T[1].v")
    assert found is not None
    (reading,) = found
    assert (reading.earlier, reading.later, reading.anchored) == ("R", "T", True)
    assert (reading.first, _spelt(reading)) == (frozenset({"T"}), "p.v < c.v")


def test_the_first_event_of_a_type_is_the_first_of_all_its_variables() -> None:
    found = read("SEQ(R+, T t+, T u)", "R.v < T[1].v")
    assert found is not None
    assert [(one.earlier, one.later, one.anchored) for one in found] == [
        ("R", "t", False), ("R", "u", False),
    ]  # fmt: skip
    assert {one.first for one in found} == {frozenset({"t", "u"})}


def test_two_variables_are_read_in_the_order_of_their_seq_and_a_single_one_is_anchored() -> None:
    assert pairs("SEQ(A, B+)", "A.v < B.v") == [("A", "B", FAR, "p.v < c.v")]
    assert pairs("SEQ(B+, A)", "A.v < B.v") == [("B", "A", NEAR, "c.v < p.v")]
    assert pairs("SEQ(A, B+)", "A.v < B[i].v") == pairs("SEQ(A, B+)", "A.v < B.v")
    assert {one[2] for one in pairs("SEQ(A+, B+)", "A.v < B.v")} == {NEAR}
    assert {one[2] for one in pairs("SEQ(A, C?, B)", "A.v < B.v")} == {FAR}


def test_a_repeated_group_is_not_read_over_its_border() -> None:
    assert pairs("(SEQ(A, B))+", "A.v < B.v") == [("A", "B", NEAR, "p.v < c.v")]
    assert pairs("(SEQ(A, B)){2}", "B.v < A.v") == [("A", "B", NEAR, "c.v < p.v")]
    assert pairs("(SEQ(A, C+, B))+", "A.v < B.v") == [("A", "B", NEAR, "p.v < c.v")]


@pytest.mark.parametrize(
    "pattern",
    [
        "(A OR B)+",
        "(B OR A)+",
        "(SEQ(A, C) OR SEQ(D, B))+",
        "(SEQ(D, B) OR SEQ(A, C))+",
        "(SEQ(A, B) OR SEQ(B, A))+",
        "(SEQ(B, A) OR SEQ(A, B))+",
        "(SEQ(A, NOT SEQ(C, D), E) OR SEQ(A, NOT C, B) OR SEQ(B, D, A))+",
    ],
)
def test_the_branches_of_or_are_read_in_both_orders_however_they_are_written(pattern: str) -> None:
    assert pairs(pattern, "A.v < B.v") == [
        ("A", "B", NEAR, "p.v < c.v"), ("B", "A", NEAR, "c.v < p.v"),
    ]  # fmt: skip


@pytest.mark.parametrize("pattern", ["(SEQ(A, B) OR B)+", "(B OR SEQ(A, (B OR C)))+"])
def test_a_seq_in_any_branch_says_which_variable_is_the_earlier_one(pattern: str) -> None:
    assert pairs(pattern, "A.v < B.v") == [("A", "B", NEAR, "p.v < c.v")]


def test_what_stands_under_not_says_nothing_of_the_order() -> None:
    pattern = "(SEQ(A, NOT SEQ(C, B), D) OR SEQ(B, C))+"
    assert [one[:2] for one in pairs(pattern, "B.v < C.v")] == [("B", "C")]


def test_only_the_variables_of_the_pattern_at_hand_are_read() -> None:
    pattern = "SEQ(A a, A b) AND SEQ(A c, A d)"
    assert [one[:2] for one in pairs(pattern, "a.v < b.v", 0)] == [("a", "b")]
    assert pairs(pattern, "a.v < b.v", 1) == []


def test_each_pattern_under_and_tells_for_itself_what_is_single_and_what_is_repeated() -> None:
    pattern = "SEQ(A, B) AND (SEQ(B, A+))+"
    assert [one[:3] for one in pairs(pattern, "A.v < B.v", 0)] == [("A", "B", FAR)]
    assert [one[:3] for one in pairs(pattern, "A.v < B.v", 1)] == [("B", "A", NEAR)]


@pytest.mark.parametrize(
    "where",
    [
        "A.v + B.v < C.v",
        "B[1].v > 3",
        "B[1].v > B[i].v",
        "B[i-1].v > A.v",
        "B[i-1].v > B[1].v",
        "B[1].v > A.v + C.v",
    ],
)
def test_other_shapes_have_no_readings(where: str) -> None:
    assert read("SEQ(A, B+, C)", where) is None


@pytest.mark.parametrize(
    ("where", "local"),
    [
        ("1 = 2", True),
        ("B.v < 3", True),
        ("B[i].v < B.w", True),
        ("B[i-1].v < 3", False),
        ("B[1].v < 3", False),
        ("A.v < B.v", False),
    ],
)
def test_local_predicates_are_about_one_event_at_a_time(where: str, local: bool) -> None:
    assert is_local(parse_expression(where)) is local


def test_conditions_keep_everything_but_what_they_read_from() -> None:
    where = "NOT (-B[i].v + ABS(B[i-1].w) * 2 IN (1, 2) OR B[i].s IS NULL)"
    (found,) = read("B+", where) or ()
    text = where.replace("B[i-1]", "previous").replace("B[i]", "current")
    assert found.condition == parse_expression(text)
