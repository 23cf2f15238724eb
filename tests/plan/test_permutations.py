"""PERMUTE means the same as OR of all orders, except that NEXT skips nothing that fits any order.

Under NEXT, `tests/matches/test_against_brute_force.py` compares it with all assignments.
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import elsinore as el
from elsinore.errors import ElsinoreError
from support.drawn import CASES, Drawn
from support.live import assert_same_rows, check_live_is_batch, match_table

MEMBERS = ("A a", "B b+", "C c?", "SEQ(A d, C e)", "SEQ(B f, NOT C g, A h)", "B{2} i", "C j")
VARIABLES = dict(zip(MEMBERS, ("a", "b", "c", "de", "fh", "i", "j"), strict=True))
CONDITIONS = ("{}.v <= {}.v", "{}.n = {}.n", "{}.v < 2", "{}.t - {}.t <= 3 seconds")


def orders(parts: list[str]) -> str:
    """Return the pattern that PERMUTE stands for."""
    return " OR ".join(f"SEQ({', '.join(order)})" for order in itertools.permutations(parts))


@given(CASES, st.booleans())
def test_permute_is_or_of_all_orders(drawn: Drawn, is_match: bool) -> None:
    parts = drawn.some(MEMBERS, least=2, most=3)
    names = [name for part in parts for name in VARIABLES[part]]
    where = ["[k]"] if drawn.whether() else []
    single = [name for name in names if name not in "bi"]
    if single and drawn.whether():
        pair = drawn.one(single), drawn.one(single)
        where += [drawn.one(CONDITIONS).format(*pair)] if pair[0] != pair[1] else []
    returns = "COUNT(*) AS n, COUNT(A) AS a, SUM(B.n) AS s"
    if is_match:
        listed = [f"{n}[].n AS {n}" if n in "bi" else f"{n}.n AS {n}" for n in names]
        returns = ", ".join(listed)
    clauses = f" WHERE {' AND '.join(where)}" if where else ""
    clauses += drawn.one(("", " STRATEGY CONTIGUOUS"))
    clauses += f" WITHIN {drawn.number(2, 9)}"
    text = "QUERY q RETURN {} PATTERN {}{};"
    table = match_table(drawn)
    try:
        permuted = el.Workload.parse(text.format(returns, f"PERMUTE({', '.join(parts)})", clauses))
        rows = permuted.run(table)["q"]
        expected = el.Workload.parse(text.format(returns, orders(parts), clauses)).run(table)["q"]
    except ElsinoreError as error:
        assume("too" not in str(error) or "PERMUTE" not in str(error))
        assume(False)
        raise
    assert_same_rows(rows.to_pylist(), expected.to_pylist(), str(permuted))
    check_live_is_batch(permuted, table, drawn)
    assert el.Workload.parse(str(permuted))["q"] == permuted["q"]


@pytest.mark.parametrize("size", [4, 8])
def test_all_orders_of_many_events_are_found(size: int) -> None:
    letters = "ABCDEFGH"[:size]
    members = ", ".join(f"{letter} {letter.lower()}" for letter in letters)
    text = (
        "QUERY q RETURN a.v PATTERN PERMUTE({}); QUERY n RETURN COUNT(*) AS n PATTERN PERMUTE({})"
    )
    workload = el.Workload.parse(text.format(members, members))
    for order in (letters, letters[::-1], letters[size // 2 :] + letters[: size // 2]):
        events = [{"time": n, "type": kind, "v": n} for n, kind in enumerate(order)]
        results = workload.run(events)
        assert results["q"].num_rows == 1
        assert results["n"].to_pylist()[0]["n"] == 1.0
        assert workload.run(events[1:])["q"].num_rows == 0


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("PERMUTE(A a, NOT B b)", "NOT can only be a member of a SEQ"),
        (f"PERMUTE({', '.join('ABCDEFGHI')})", "2 to 8 patterns, not 9"),
        ("PERMUTE(A a, B a)", "'a'"),
        ("PERMUTE(A)", "Expected"),
    ],
)
def test_bad_permutations_are_explained(pattern: str, message: str) -> None:
    with pytest.raises(ElsinoreError, match=message):
        el.Workload.parse(f"RETURN COUNT(*) PATTERN {pattern}")


def test_a_type_may_be_called_permute() -> None:
    assert str(el.Workload.parse("RETURN COUNT(*) PATTERN SEQ(Permute permute, B)"))
