"""Conditions of trends compute exactly in 64 bits, or are rejected: never rounded silently."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elsinore as el

LEAST, GREATEST = -(2**63) + 1, 2**63 - 1
NUMBERS = [0, 1, -1, 3, 2**31, -(2**31), 2**53 + 1, 2**62 - 1, 2**62, -(2**62), 2**63 - 1]
LEAVES = ["a.n", "b.n", "3", "-7", str(2**40)]


def trends(condition: str, table: pa.Table) -> float:
    query = f"QUERY q RETURN COUNT(*) AS n PATTERN SEQ(T a, T b) WHERE {condition}"
    rows = el.Workload.parse(query).run(table)["q"].to_pylist()
    return float(rows[0]["n"]) if rows else 0.0


def outcome(condition: str, table: pa.Table) -> float | str:
    """Return the number of trends, or why it is refused."""
    try:
        return trends(condition, table)
    except el.InputError as error:
        return str(error)


def table_of(**columns: pa.Array) -> pa.Table:
    count = len(next(iter(columns.values())))
    return pa.table({"time": range(count), "type": ["T"] * count, **columns})


def whole(*numbers: int) -> pa.Array:
    return pa.array(numbers, pa.int64())


Term = str | tuple[str, "Term", "Term"]  # a leaf, or an operator with its operands


def text_of(term: Term) -> str:
    if isinstance(term, str):
        return term
    operator, left, right = term
    return f"({text_of(left)}) {operator} ({text_of(right)})"


def value_of(term: Term, before: int, after: int) -> int:
    """Return the value of a term for two events."""
    if isinstance(term, str):
        return {"a.n": before, "b.n": after}[term] if term in {"a.n", "b.n"} else int(term)
    operator, left, right = term
    one, other = value_of(left, before, after), value_of(right, before, after)
    return {"+": one + other, "-": one - other, "*": one * other}[operator]


def parts_of(term: Term) -> list[Term]:
    """Return a term and the terms in it."""
    if isinstance(term, str):
        return [term]
    _, left, right = term
    return [term, *parts_of(left), *parts_of(right)]


def is_beyond(value: int) -> bool:
    return not LEAST <= value <= GREATEST


def terms(first: str) -> st.SearchStrategy[Term]:
    """Draw terms whose first operand is an attribute."""
    operators = st.sampled_from("+-*")
    inner: st.SearchStrategy[Term] = st.recursive(
        st.sampled_from(LEAVES), lambda below: st.tuples(operators, below, below), max_leaves=3
    )
    return st.tuples(operators, st.just(first), inner)


@given(terms("a.n"), terms("b.n"), st.lists(st.sampled_from(NUMBERS), max_size=4))
def test_integers_are_exact_or_rejected(left: Term, right: Term, numbers: list[int]) -> None:
    table, condition = table_of(n=whole(*numbers)), f"{text_of(left)} < {text_of(right)}"
    found = outcome(condition, table)
    if isinstance(found, str):
        assert "beyond 64 bits" in found
        assert any(
            is_beyond(value_of(term, one, two))
            for term in (*parts_of(left), *parts_of(right))
            for one in numbers
            for two in numbers
        )
    else:
        pairs = itertools.combinations(numbers, 2)
        assert found == sum(value_of(left, *pair) < value_of(right, *pair) for pair in pairs)


def test_a_length_times_a_double_is_rejected_beyond_64_bits() -> None:
    lengths = pa.array([1, 3, 3], pa.duration("us"))
    table = table_of(d=lengths, v=pa.array([3.0, 1e200, 3.0]))
    with pytest.raises(el.InputError, match="a length of time in a condition goes beyond 64 bits"):
        trends("a.d * b.v > a.d", table)
    assert trends("b.d * a.v > b.d AND a.time = 0", table) == 2


def test_lengths_that_fit_are_not_rejected_for_those_that_might_not() -> None:
    lengths = pa.array([1, 3, 3], pa.duration("us"))
    table = table_of(n=whole(1, 3, 3), v=pa.array([1.0, 3.0, 3.0]), d=lengths)
    assert trends("((3 us) * -7) * a.n != ((-1 second) * b.v) - b.d", table) == 3


def test_only_pairs_that_satisfy_the_conditions_before_are_computed() -> None:
    table = table_of(n=whole(2**40, 2**40, 1), m=whole(1, 2, 2))
    assert trends("a.m = b.m AND a.n * b.n > 5", table) == 1
    with pytest.raises(el.InputError, match="goes beyond 64 bits"):
        trends("a.n * b.n > 5", table)


def test_constants_beyond_64_bits_are_computed_with_only_as_doubles() -> None:
    table = table_of(n=whole(2**63 - 1, 0))
    assert trends("a.n + b.n < 9223372036854775808", table) == 1
    with pytest.raises(el.InputError, match=r"Write 9223372036854775808\.0"):
        trends("a.n + b.n + 9223372036854775808 > 0", table)
    assert trends("a.n + b.n + 9223372036854775808.0 > 0", table) == 1


def test_integers_beside_unsigned_ones_are_exact_or_rejected() -> None:
    unsigned = pa.array([1, 2, 2**63], pa.uint64())
    lengths = pa.array([1, 3, 3], pa.duration("us"))
    table = table_of(n=whole(1, 3, 3), u=unsigned, d=lengths)
    assert trends("a.u < b.u AND a.n * b.n = 3", table) == 2
    assert trends("a.u < b.u AND a.d * b.n = b.d AND b.d * 1 = a.d * 3", table) == 2
    table = table_of(n=whole(1, 2**53 + 1, 3), u=unsigned)
    found = outcome("a.u < b.u AND a.n * b.n = 3", table)
    assert found == 1 or "beyond 2^53 beside decimals" in str(found)
