"""AND as queries of their own: how many there are, or why it is left whole."""

from __future__ import annotations

import pytest

from elsinore.language import parse_workload
from elsinore.plan.assembly import guarded_template
from elsinore.plan.taken_apart import taken_apart

RISING = "WHERE b[i].v >= b[i-1].v"
NEXT = "STRATEGY SKIP TILL NEXT MATCH"


def apart(text: str) -> int | str:
    (query,) = parse_workload(f"QUERY q RETURN COUNT(*) PATTERN {text};")
    found = taken_apart(guarded_template(query))
    return found if isinstance(found, str) else len(found)


@pytest.mark.parametrize(
    "second",
    ["SEQ(C, D d+, D e+)", "SEQ(B x+, A y)", "SEQ(A x, C y, B z)", "SEQ(A x, B y, NOT B, C)"],
)
@pytest.mark.parametrize("asked", [RISING, f"{RISING} AND b[i].w > a.w", NEXT])
def test_without_trends_of_both_patterns_each_goes_by_itself(second: str, asked: str) -> None:
    assert apart(f"SEQ(A a, B b+) AND {second} {asked}") == 2


@pytest.mark.parametrize(
    ("second", "asked", "why"),
    [
        ("SEQ(A x, B y+)", RISING, None),
        ("SEQ(A x, B y+)", "STRATEGY CONTIGUOUS", None),
        ("SEQ(A x, B y+, B z+)", RISING, None),
        ("SEQ(A x, B y+, B z+)", f"{RISING} AND z[i].v > z[i-1].v", "ambiguous"),
        ("SEQ(A x, B y+)", f"{RISING} AND b[i].w > a.w", "one that need not precede them"),
        ("SEQ(A x, B y+)", f"{RISING} AND b[i].v > a.v", None),
        ("SEQ(A x, B y+)", NEXT, "one of its patterns may skip"),
    ],
)
def test_trends_of_both_patterns_are_a_third_query_where_they_can_be(
    second: str, asked: str, why: str | None
) -> None:
    found = apart(f"SEQ(A a, B b+) AND {second} {asked}")
    assert found == 3 if why is None else why in str(found)
