import itertools
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.automata import Letter, Symbol, contradictory, letters, satisfiable, solver
from elsinore.automata.regions import truths_by_regions
from elsinore.automata.satisfiable import satisfiable_truths
from elsinore.errors import QuerySemanticError
from elsinore.model import (
    Attribute,
    Binary,
    Call,
    Expression,
    InList,
    IsNull,
    Literal,
    Negative,
    Not,
    Operator,
)
from elsinore.model.evaluate import evaluate
from support.automata import compare, often

COMPARISONS = [operator for operator in Operator if operator.is_comparison]
NUMBERS = [None, -2, -1, 0, 0.25, 0.75, 1, 1.25, 1.75, 2, 3, 4]
TEXTS = [None, "", "A", "a", "aa", "b", "c"]
TRUTHS = [None, False, True]

v, w, t, flag = (Attribute("A", name) for name in ("v", "w", "t", "flag"))
constants = st.sampled_from([0, 1, 2, 1.0]).map(Literal)
comparisons = st.sampled_from(COMPARISONS)


def both_ways(one, other):
    return st.one_of(
        st.builds(Binary, comparisons, one, other), st.builds(Binary, comparisons, other, one)
    )


with_constants = st.one_of(
    both_ways(st.just(v), constants),
    both_ways(st.just(w), constants),
    both_ways(st.just(t), st.sampled_from(["", "a", "b"]).map(Literal)),
    both_ways(st.just(flag), st.booleans().map(Literal)),
    st.just(flag),
    st.sampled_from([v, t, flag]).map(IsNull),
    st.just(Binary(Operator.EQ, v, Literal(None))),
    st.builds(InList, st.just(v), st.lists(constants, min_size=1, max_size=2).map(tuple)),
    st.just(InList(t, (Literal("a"), Literal(None)))),
    st.sampled_from([Literal(value=True), Literal(None)]),
)
of_two = st.one_of(both_ways(st.just(v), st.just(w)), both_ways(st.just(v), constants))
numbers = st.recursive(
    st.one_of(st.sampled_from([v, w]), constants),
    lambda inner: st.one_of(
        st.builds(Binary, st.sampled_from([o for o in Operator if o.is_arithmetic]), inner, inner),
        inner.map(Negative),
        inner.map(lambda operand: Call("ABS", (operand,))),
    ),
    max_leaves=3,
)
computed = st.one_of(both_ways(numbers, numbers), numbers.map(IsNull))


def logical(atoms):
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            inner.map(Not),
            inner.map(IsNull),
            st.builds(Binary, st.sampled_from([Operator.AND, Operator.OR]), inner, inner),
        ),
        max_leaves=3,
    )


def sets_of(atoms):
    return st.lists(logical(atoms), min_size=1, max_size=3, unique=True)


def truths(predicates: list[Expression]) -> set[frozenset[Expression]]:
    """Every set of predicates that are the true ones, by trying many events."""
    read = [
        (name, values)
        for name, values in (("v", NUMBERS), ("w", NUMBERS), ("t", TEXTS), ("flag", TRUTHS))
        if any(f"name='{name}'" in repr(predicate) for predicate in predicates)
    ]
    found = set()
    for values in itertools.product(*(values for _, values in read)):
        event = dict(zip((name for name, _ in read), values, strict=True))
        found.add(
            frozenset(p for p in predicates if evaluate(p, lambda a, e=event: e[a.name]) is True)
        )
    return found


@often
@given(sets_of(with_constants))
def test_regions_settle_comparisons_with_constants_exactly(predicates):
    expected = truths(predicates)
    found = truths_by_regions(predicates)
    assert found is not None
    assert set(found) == expected
    assert set(satisfiable_truths(predicates)) == expected
    for size in range(len(predicates) + 1):
        for chosen in itertools.combinations(predicates, size):
            rest = [p for p in predicates if p not in chosen]
            assert satisfiable(chosen, rest) == (frozenset(chosen) in expected)
            possible = any(frozenset(chosen) <= one for one in expected)
            assert satisfiable(chosen) == possible
            assert contradictory(chosen) == (not possible)


@often
@given(sets_of(with_constants))
def test_z3_agrees_on_comparisons_with_constants(predicates):
    question = solver.SatisfiabilityCheck(predicates)
    expected = truths(predicates)
    for size in range(len(predicates) + 1):
        for chosen in itertools.combinations(predicates, size):
            rest = [p for p in predicates if p not in chosen]
            assert question.possible(chosen, rest) == (frozenset(chosen) in expected)


@often
@given(sets_of(of_two))
def test_z3_settles_comparisons_of_two_attributes_exactly(predicates):
    expected = truths(predicates)
    assert set(satisfiable_truths(predicates)) == expected


@often
@given(sets_of(computed))
def test_what_some_event_can_make_true_is_never_called_impossible(predicates):
    assert truths(predicates) <= set(satisfiable_truths(predicates))


def number(constant: float) -> Literal:
    return Literal(constant)


def computing(left: Expression, operator: Operator, right: Expression) -> Expression:
    return Binary(operator, left, right)


EQ, LT, GT = Operator.EQ, Operator.LT, Operator.GT
TWICE = computing(v, Operator.MUL, number(2))
SUM = computing(v, Operator.ADD, w)
NEXT = computing(v, Operator.ADD, Literal(1))
HALF = computing(v, Operator.DIV, Literal(2))
ODD = computing(v, Operator.MOD, number(2))
LOG = Call("LOG2", (v,))
s = Attribute("A", "s")
IMPOSSIBLE: list[tuple[list[Expression], list[Expression]]] = [
    ([Binary(GT, TWICE, number(10)), Binary(LT, v, number(3))], []),
    ([Binary(GT, NEXT, Literal(3)), Binary(Operator.LE, v, Literal(2))], []),
    ([Binary(LT, HALF, Literal(1)), Binary(Operator.GE, v, Literal(2))], []),
    ([Binary(GT, SUM, number(10)), Binary(Operator.LE, SUM, number(10))], []),
    ([Binary(GT, SUM, number(9)), Binary(LT, v, number(2)), Binary(LT, w, number(3))], []),
    ([Binary(LT, v, w), Binary(LT, w, v)], []),
    ([Binary(LT, v, w), Binary(GT, v, number(5)), Binary(LT, w, number(5))], []),
    ([Binary(LT, Call("ABS", (v,)), number(0))], []),
    ([Binary(EQ, computing(v, Operator.DIV, number(0)), number(1))], []),
    ([Binary(EQ, ODD, number(0)), Binary(EQ, ODD, number(1))], []),
    ([Binary(GT, LOG, number(3)), Binary(LT, LOG, number(2))], []),
    ([IsNull(v), Binary(EQ, SUM, number(1))], []),
    ([Not(Binary(LT, v, w))], [Binary(Operator.GE, v, w)]),
    ([Binary(LT, s, t), Binary(EQ, t, Literal(""))], []),
    ([Binary(EQ, s, t), Binary(EQ, t, Literal("a")), Binary(GT, s, Literal("b"))], []),
]
POSSIBLE: list[tuple[list[Expression], list[Expression]]] = [
    ([], [Binary(LT, v, w), Binary(Operator.GE, v, w)]),  # null
    ([Binary(Operator.LE, computing(v, Operator.ADD, number(1)), v)], []),  # 1e300
    ([Binary(Operator.GE, NEXT, Literal(3)), Binary(Operator.LE, v, Literal(2))], []),
    ([Binary(GT, NEXT, Literal(2.1)), Binary(Operator.LE, v, Literal(1.1))], []),  # rounded up
    ([IsNull(computing(v, Operator.DIV, w))], [IsNull(v), IsNull(w)]),  # division by 0
    ([IsNull(computing(v, Operator.SUB, v))], [IsNull(v)]),  # infinity less infinity
    ([Binary(EQ, TWICE, v), Binary(GT, v, number(1))], []),  # infinity
    ([Binary(LT, v, w), Binary(GT, w, Literal("a"))], []),
    ([Binary(EQ, v, Literal("a"))], [Binary(EQ, SUM, number(1))]),
]


@pytest.mark.parametrize(("true", "not_true"), IMPOSSIBLE)
def test_impossible_together(true, not_true):
    assert not satisfiable(true, not_true)


@pytest.mark.parametrize(("true", "not_true"), POSSIBLE)
def test_possible_together(true, not_true):
    assert satisfiable(true, not_true)


@pytest.mark.parametrize(
    ("low", "high", "gap"),
    [
        (0, 1, True),
        (10**400, 10**400 + 1, True),
        (1e308, float("inf"), True),
        (float("-inf"), -1e308, True),
        ("", "\x00", False),
        ("a", "a\x00", False),
        ("a", "aa", True),
        ("𝄞", "𝄞a", True),
        ("\\u{41}", "\\u{41}\\", True),
    ],
)
def test_values_lie_between_constants_where_they_do(low: Any, high: Any, gap: bool):
    above, below = compare("A", Operator.GT, low), compare("A", Operator.LT, high)
    assert satisfiable([above, below]) == gap
    assert satisfiable([compare("A", Operator.EQ, low)], [above])
    assert not satisfiable([compare("A", Operator.EQ, low), above])


@pytest.mark.parametrize("end", [("GT", float("inf")), ("LT", float("-inf")), ("LT", "")])
def test_nothing_lies_beyond_the_end(end):
    name, constant = end
    assert contradictory([compare("A", Operator[name], constant)])


def test_text_that_reads_as_a_time_may_stand_as_text_or_as_time():
    date, moment = Literal("2024-01-01"), Literal("2024-01-01 00:00:00")
    at_most, at_least = Binary(Operator.LE, t, date), Binary(Operator.GE, t, moment)
    assert satisfiable([at_most, at_least])  # as a time
    assert satisfiable([Binary(Operator.LT, t, moment), Binary(Operator.GT, t, date)])  # as text
    assert contradictory(
        [Binary(Operator.LT, t, date), Binary(Operator.GT, t, Literal("2024-02-01"))]
    )
    later = Binary(Operator.GT, Attribute("A", "s"), t)
    assert satisfiable([at_most, at_least, later])
    assert contradictory([at_most, at_least, Binary(Operator.LT, t, date), later])


def test_an_attribute_of_mixed_constants_can_be_of_either_kind():
    text, numeric = Binary(Operator.EQ, v, Literal("a")), Binary(Operator.EQ, v, number(1))
    assert satisfiable([text], [numeric])
    assert satisfiable([numeric], [text])
    assert contradictory([text, numeric])


def test_nan_and_strange_predicates_count_as_possible():
    odd = Binary(Operator.LT, v, number(float("nan")))
    assert satisfiable([odd, Call("SOUNDEX", (v,)), Not(number(3)), Binary(Operator.LT, flag, v)])
    assert not satisfiable([odd], [odd])


def test_what_z3_cannot_tell_in_time_counts_as_possible(monkeypatch):
    monkeypatch.setattr(solver, "TIMEOUT", 1)
    x, y, z = (Attribute("A", name) for name in "xyz")

    def cube(one: Expression) -> Expression:
        return computing(one, Operator.MUL, computing(one, Operator.MUL, one))

    sums = computing(cube(x), Operator.ADD, cube(y))
    hard = [
        Binary(Operator.EQ, sums, cube(z)),
        *(Binary(Operator.GT, one, number(1)) for one in (x, y, z)),
    ]
    assert satisfiable(hard)


def test_many_attributes_are_looked_at_one_by_one():
    predicates = [compare("A", Operator.LT, 3, f"x{i}") for i in range(100)]
    assert satisfiable(predicates[:50], predicates[50:])
    assert contradictory([*predicates, compare("A", Operator.GT, 4, "x7")])


def test_attributes_in_one_wide_predicate_are_asked_of_z3():
    wide = compare("A", Operator.EQ, 0, "x0")
    for i in range(1, 30):
        wide = Binary(Operator.OR, wide, compare("A", Operator.EQ, i, f"x{i}"))
    assert satisfiable([wide])
    assert contradictory([wide, *(compare("A", Operator.LT, -1, f"x{i}") for i in range(30))])


def test_too_many_letters_are_refused():
    symbols = [Symbol("A", frozenset({compare("A", Operator.LT, 3, f"x{i}")})) for i in range(20)]
    with pytest.raises(QuerySemanticError, match="20 predicates on one event type"):
        letters(symbols)


def test_letters_come_in_an_order_that_is_always_the_same():
    low, high = compare("A", Operator.LT, 3), compare("A", Operator.GE, 3)
    symbols = [Symbol("B"), Symbol("A", frozenset({low})), Symbol("A", frozenset({high}))]
    found = letters(symbols)
    assert found == letters(symbols)
    assert found[0] == Letter("B")
    assert {letter.true for letter in found[1:]} == {
        frozenset(),
        frozenset({low}),
        frozenset({high}),
    }


def test_z3_is_not_imported_before_it_is_needed():
    check = "import elsinore.automata, sys; sys.exit('z3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


@pytest.mark.parametrize(
    ("operator", "left", "never"),
    [
        (Operator.LT, Binary(Operator.ADD, v, Literal(1)), True),
        (Operator.LT, Binary(Operator.ADD, Literal(1), v), True),
        (Operator.GT, Binary(Operator.SUB, v, Literal(2)), True),
        (Operator.GT, Binary(Operator.ADD, v, Literal(-2)), True),
        (Operator.LT, Binary(Operator.SUB, v, Literal(-2)), True),
        (Operator.LE, Binary(Operator.ADD, v, Literal(1)), False),  # of doubles beyond 2**53
        (Operator.GT, Binary(Operator.ADD, v, Literal(1)), False),
        (Operator.LT, Binary(Operator.ADD, v, Literal(-1)), False),
        (Operator.GT, Binary(Operator.SUB, Literal(2), v), False),
        (Operator.LT, Binary(Operator.SUB, Literal(2), v), False),
        (Operator.LT, Binary(Operator.ADD, v, Literal(0.5)), False),  # of whole numbers as doubles
    ],
)
def test_adding_a_whole_number_makes_no_number_less(
    operator: Operator, left: Expression, never: bool
) -> None:
    assert contradictory([Binary(operator, left, v)]) is never


def test_a_number_less_itself_is_nothing() -> None:
    nothing = Binary(Operator.SUB, Literal(2), Literal(2))
    assert not contradictory([Binary(Operator.EQ, nothing, Binary(Operator.SUB, v, v))])
    assert contradictory([Binary(Operator.GT, nothing, Literal(1))])
