"""Position automata and their deterministic forms against Python's regular expressions."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings

from elsinore.automata import Dfa, Letter, Symbol, determinize, glushkov, letters, minimize
from elsinore.errors import QuerySemanticError
from elsinore.language import parse_expression, parse_pattern
from elsinore.model import Conjunction, Disjunction, Event, Kleene, Negation, Pattern, Sequence
from support.regular import automaton, patterns, regular_expression, words

often = settings(max_examples=100)
LONGEST = 5


@often
@given(patterns())
def test_automata_accept_the_words_that_a_regular_expression_matches(pattern: Pattern) -> None:
    expression = re.compile(regular_expression(pattern))
    nfa = automaton(pattern)
    dfa = determinize(nfa)
    least = minimize(dfa)
    for word in words(LONGEST):
        read = tuple(Letter(name) for name in word)
        expected = expression.fullmatch("".join(word)) is not None
        assert nfa.accepts(read) is expected, word
        assert dfa.accepts(read) is expected, word
        assert least.accepts(read) is expected, word


@often
@given(patterns())
def test_a_deterministic_automaton_keeps_only_states_that_lead_somewhere(pattern: Pattern) -> None:
    dfa = determinize(automaton(pattern))
    assert _reachable(dfa) == set(range(dfa.states))
    assert all(_leads_somewhere(dfa, state) for state in range(dfa.states))


@often
@given(patterns())
def test_no_two_states_of_a_minimal_automaton_accept_the_same_words(pattern: Pattern) -> None:
    least = minimize(determinize(automaton(pattern)))
    assert _indistinct(least) == {(state, state) for state in range(least.states)}
    assert minimize(least).states == least.states


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SEQ(A a, B b) OR SEQ(A c, C d)", "SEQ(A a, B b OR C c)"),
        ("A+", "SEQ(A a*, A b)"),
        ("SEQ(A a?, A b?, A c)", "A{1,3}"),
        ("SEQ(A a, B b)+", "SEQ(A a, SEQ(B b, A c)*, B d)"),
    ],
)
def test_two_ways_to_write_a_pattern_have_one_minimal_automaton(one: str, other: str) -> None:
    sizes = {minimize(determinize(automaton(parse_pattern(text)))).states for text in (one, other)}
    assert len(sizes) == 1


def test_predecessor_types_of_the_nested_pattern_are_those_of_the_paper() -> None:
    nested = Kleene(Sequence((Event("A", "a"), Kleene(Event("B", "b"), 1, None))), 1, None)
    positions = glushkov(nested, lambda event: Symbol(event.type))
    assert positions.predecessor_types("B") == {"A", "B"}
    assert positions.predecessor_types("A") == {"B"}
    assert {positions.events[p].type for p in positions.first} == {"A"}
    assert {positions.events[p].type for p in positions.last} == {"B"}


def test_a_counted_repetition_is_written_out() -> None:
    positions = glushkov(Kleene(Event("A", "a"), 2, 4), lambda event: Symbol(event.type))
    assert len(positions.events) == 4
    assert positions.first == {0}
    assert positions.last == {1, 2, 3}


def test_repetition_of_zero_times_is_the_empty_sequence() -> None:
    nfa = automaton(Sequence((Event("A", "a"), Kleene(Event("B", "b"), 0, 0))))
    assert nfa.accepts((Letter("A"),))
    assert not nfa.accepts((Letter("A"), Letter("B")))


@pytest.mark.parametrize(
    "pattern",
    [
        Conjunction((Event("A", "a"), Event("B", "b"))),
        Sequence((Event("A", "a"), Negation(Event("B", "b")))),
    ],
)
def test_not_and_and_have_no_positions(pattern: Pattern) -> None:
    with pytest.raises(ValueError, match="has no positions"):
        automaton(pattern)


def test_a_pattern_of_too_many_states_is_refused() -> None:
    either = Kleene(Disjunction((Event("A", "a"), Event("B", "b"))), 0, None)
    tail = Kleene(Disjunction((Event("A", "c"), Event("B", "d"))), 13, 13)
    pattern = Sequence((either, Event("A", "e"), tail))
    with pytest.raises(QuerySemanticError, match="4096 states"):
        determinize(automaton(pattern))


def test_letters_are_the_classes_that_can_be() -> None:
    low, high = parse_expression("A.v < 3"), parse_expression("A.v > 5")
    symbols = [Symbol("A", frozenset({low})), Symbol("A", frozenset({high})), Symbol("B")]
    found = letters(symbols)
    assert set(found) == {
        Letter("A"),
        Letter("A", frozenset({low})),
        Letter("A", frozenset({high})),
        Letter("B"),
    }
    assert len(found) == 4


def test_a_symbol_asks_for_its_type_and_all_its_predicates() -> None:
    low, odd = parse_expression("A.v < 3"), parse_expression("A.v % 2 = 1")
    both = frozenset({low, odd})
    assert Symbol("A", both).holds(Letter("A", both))
    assert Symbol("A").holds(Letter("A", both))
    assert not Symbol("A", both).holds(Letter("A", frozenset({low})))
    assert not Symbol("A").holds(Letter("B", both))


def _reachable(dfa: Dfa) -> set[int]:
    found = {0}
    for _ in range(dfa.states):
        found |= {target for (source, _), target in dfa.moves.items() if source in found}
    return found


def _leads_somewhere(dfa: Dfa, state: int) -> bool:
    """Return whether some word leads from a state to acceptance."""
    found = {state}
    for _ in range(dfa.states):
        found |= {target for (source, _), target in dfa.moves.items() if source in found}
    return bool(found & dfa.accepting)


def _indistinct(dfa: Dfa) -> set[tuple[int, int]]:
    """Return the pairs of states that no word tells apart: the table-filling algorithm."""
    pairs = itertools.product(range(dfa.states), repeat=2)
    alike = {(p, q) for p, q in pairs if (p in dfa.accepting) == (q in dfa.accepting)}
    while True:
        kept = {
            (p, q)
            for p, q in alike
            if all(_agree(dfa, alike, p, q, letter) for letter in dfa.alphabet)
        }
        if kept == alike:
            return alike
        alike = kept


def _agree(dfa: Dfa, alike: set[tuple[int, int]], p: int, q: int, letter: Letter) -> bool:
    one, other = dfa.moves.get((p, letter)), dfa.moves.get((q, letter))
    if one is None or other is None:
        return one == other
    return (one, other) in alike
