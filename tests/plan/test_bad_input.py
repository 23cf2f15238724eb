"""What a trend query may not ask: refused with its place, the reason and a remedy."""

from __future__ import annotations

import pytest

import elsinore
from elsinore import ElsinoreError, QueryError
from elsinore.trends.kind import spec_of


def refused(text: str) -> QueryError:
    """Return the one error of a workload of a query, its clauses on a line each."""
    lined = text.replace(" PATTERN", "\nPATTERN").replace(" WHERE", "\nWHERE")
    with pytest.raises(ElsinoreError) as caught:
        assert elsinore.Workload.parse(lined, "bad.cep").plan
    assert isinstance(caught.value, QueryError), str(caught.value)
    return caught.value


CASES = [
    (
        "RETURN COUNT(*) PATTERN SEQ(R, T+) WHERE T[i].v > AVG(T[1..i-1].v)",
        (3, "T[1..i-1].v"),
        "cannot be aggregated over all trends in polynomial time",
        "It takes a match query, one that RETURNs values of single matches, such as a.x",
    ),
    (
        "RETURN SUM(a.v) PATTERN SEQ(A a+, NOT N, A b+)",
        (1, "a.v"),
        "can be read as A as a, A as a, A as b, or as A as a, A as b, A as b",
        "Aggregate over the type instead: A",
    ),
    (
        "RETURN COUNT(*) PATTERN SEQ(A, B AND C)",
        (2, "B AND C"),
        "AND joins whole patterns",
        "it can only be at the top",
    ),
    (
        "RETURN COUNT(*) PATTERN (A AND B)+",
        (2, "(A AND B)"),
        "AND joins whole patterns",
        "it can only be at the top",
    ),
    ("RETURN COUNT(*) PATTERN NOT A", (2, "NOT A"), "NOT can only", "be a member of a SEQ"),
    (
        "RETURN COUNT(*) PATTERN SEQ(NOT A)",
        (2, "SEQ(NOT A)"),
        "can match nothing at all",
        "as in SEQ(A, NOT B)",
    ),
    (
        "RETURN COUNT(*) PATTERN SEQ(A, NOT B, NOT C, D)",
        (2, "NOT C"),
        "NOTs side by side",
        "write NOT (B OR C) where none of these may occur",
    ),
    (
        "RETURN COUNT(*) PATTERN SEQ(SEQ(A, NOT B), NOT C c)",
        (2, "NOT C c"),
        "NOTs side by side",
        "write NOT (B OR C c)",
    ),
    (
        "RETURN COUNT(*) PATTERN SEQ(A, NOT N*, B)",
        (2, "N*"),
        "The pattern under NOT can match nothing at all",
        "for instance + instead of *",
    ),
    (
        "RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(NOT N), B)",
        (2, "SEQ(NOT N)"),
        "The pattern under NOT can match nothing at all",
        "as in SEQ(A, NOT B)",
    ),
    (
        "RETURN COUNT(*) PATTERN A OR NOT B",
        (2, "NOT B"),
        "NOT can only",
        "be a member of a SEQ",
    ),
    (
        "RETURN COUNT(*) PATTERN SEQ(A+, B, C) WHERE C.v > 3 AND C.v > A.v",
        (3, "C.v > A.v"),
        "C and A are never neighbours",
        "Compare events that follow one another",
    ),
    (
        "RETURN COUNT(*) PATTERN (SEQ(A, B))+ WHERE A[i].v > A[i-1].v",
        (3, "A[i].v > A[i-1].v"),
        "Two events of A are never neighbours",
        "Compare events that follow one another",
    ),
    (
        "RETURN COUNT(*) PATTERN SEQ(B+, (SEQ(C, D))+) WHERE B[i].v > 3 AND C[i].v > C[i-1].v",
        (3, "C[i].v > C[i-1].v"),
        "Two events of C are never neighbours",
        "Compare events that follow one another",
    ),
    (
        "RETURN COUNT(*) PATTERN (SEQ(A a, C, B b))+ WHERE a.v < b.v",
        (3, "a.v < b.v"),
        "a comes right after b only where a repeated group begins anew",
        "Compare events that follow one another within a round",
    ),
    (
        "RETURN COUNT(*) PATTERN SEQ(A, T+, R) WHERE R.v < T[1].v",
        (3, "R.v < T[1].v"),
        "No R stands before the first T as its neighbour or as a single event",
        "Compare events that follow one another",
    ),
    (
        "RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(N, M), B) WHERE N.v > A.v",
        (3, "N.v > A.v"),
        "'N' stands under NOT with others",
        "Only a NOT of a single event can be related to other events",
    ),
    (
        "RETURN COUNT(*) PATTERN A+ AND B+ WHERE A.v < B.v",
        (3, "A.v < B.v"),
        "A and B are never in one trend",
        "Compare events of one pattern",
    ),
    (
        "RETURN COUNT(*) PATTERN A AND B AND C",
        (2, "A AND B AND C"),
        "it joins two patterns",
        "Ask for the other pairs in queries of their own",
    ),
    (
        "RETURN COUNT(*), SUM(A.v) AS s PATTERN A+ AND B+",
        (1, "SUM(A.v)"),
        "it returns COUNT(*) and LOG2(COUNT(*))",
        "in a separate query",
    ),
    (
        "RETURN COUNT(A) PATTERN A+ AND B+",
        (1, "COUNT(A)"),
        "it returns COUNT(*) and LOG2(COUNT(*))",
        "in a separate query",
    ),
    (
        "RETURN COUNT(*) PATTERN SEQ(A, B, C) WHERE A.v + B.v < C.v",
        (3, "A.v + B.v < C.v"),
        "A trend's predicate is about one event, about neighbours",
        "Write this one as several of these",
    ),
    (
        "RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B[1].v > B[i].v",
        (3, "B[1].v > B[i].v"),
        "No condition of a trend query is about B[1] alone or with other events of B",
        "SEQ(B first_B, B*), and write first_B.v > B[i].v",
    ),
    (
        "RETURN COUNT(*) PATTERN SEQ(A, B b+) WHERE b[1].v > 3",
        (3, "b[1].v > 3"),
        "No condition of a trend query is about b[1] alone or with other events of b",
        "Give it a variable of its own, as in SEQ(B first_b, B* b), and write first_b.v > 3",
    ),
    (
        "RETURN COUNT(*) PATTERN (SEQ(A, B b))+ WHERE b[1].v > 3",
        (3, "b[1].v > 3"),
        "No condition of a trend query is about b[1] alone",
        "Write the first round out before the repeated group, its b named anew",
    ),
    (
        "RETURN COUNT(*) PATTERN B b+ WHERE b[1].v > b[i-1].v",
        (3, "b[1].v > b[i-1].v"),
        "A trend's predicate is about one event",
        "Write this one as several of these",
    ),
]


@pytest.mark.parametrize(
    ("text", "place", "reason", "remedy"), CASES, ids=[case[0] for case in CASES]
)
def test_it_is_refused_with_its_place_a_reason_and_a_remedy(
    text: str, place: tuple[int, str], reason: str, remedy: str
) -> None:
    error = refused(f"QUERY q {text}")
    line, marked = place
    head, shown, underline, message = str(error).split("\n", 3)
    assert head == f"bad.cep:{line}:{error.column}: QuerySemanticError"
    assert shown[underline.index("^") : underline.rindex("^") + 1] == marked
    assert error.query == "q"
    assert reason in message
    assert remedy in message


def test_events_of_two_branches_of_or_are_neighbours_from_one_round_to_the_next() -> None:
    text = "QUERY q RETURN COUNT(*) PATTERN (SEQ(A a, C) OR SEQ(D, B b))+ WHERE a.v < b.v"
    # a2 c3, d0 b1, d0 b5, d4 b5, d0 b1 d4 b5, a2 c3 d4 b5; b1 a2 are never neighbours (7 < 4)
    events = [
        {"time": n, "type": name, "v": v}
        for n, (name, v) in enumerate(zip("DBACDB", (0, 4, 7, 0, 0, 9), strict=True))
    ]
    (row,) = elsinore.Workload.parse(text).run(events)["q"].to_pylist()
    assert row["count(*)"] == 6


def test_pairs_of_trends_may_be_counted_and_grouped() -> None:
    text = "QUERY q RETURN g, COUNT(*), LOG2(COUNT(*)) PATTERN A+ AND B+ GROUP BY g"
    assert elsinore.Workload.parse(text).plan.units


@pytest.mark.parametrize(
    "pattern", ["SEQ(A, B b*, C)", "SEQ(A, NOT B b, C)", "SEQ(A, (SEQ(B b, NOT N))*, C)"]
)
def test_conditions_that_contradict_each_other_are_warned_of(pattern: str) -> None:
    text = f"QUERY q RETURN COUNT(*) PATTERN {pattern} WHERE b.v < 3 AND b.w > 1 AND b.v > 5"
    workload = elsinore.Workload.parse(text)
    told = "query q: no event can be b: b.v < 3 and b.v > 5 contradict each other."
    assert workload.warnings == (told,)
    (unit,) = workload.plan.units
    assert all(member.accepting for member in spec_of(unit).members)


def test_a_query_with_a_contradiction_still_runs() -> None:
    text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B b*, C) WHERE b.v < 3 AND b.v > 5"
    events = [{"time": n, "type": name, "v": 4} for n, name in enumerate("ABC")]
    (row,) = elsinore.Workload.parse(text).run(events)["q"].to_pylist()
    assert row["count(*)"] == 1


@pytest.mark.parametrize("pattern", ["SEQ(A, B b+)", "SEQ(A, NOT N, B b+)", "A AND B b"])
def test_where_nothing_can_match_that_is_told_once_with_the_reason(pattern: str) -> None:
    text = f"QUERY q RETURN COUNT(*) PATTERN {pattern} WHERE b.v < 3 AND b.v > 5"
    (told,) = elsinore.Workload.parse(text).warnings
    reason = "no event can be b: b.v < 3 and b.v > 5 contradict each other."
    assert told == f"query q: no events can match, for {reason}"
