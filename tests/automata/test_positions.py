import itertools

import pytest
from hypothesis import given

from elsinore.automata import Symbol, ambiguity, glushkov
from elsinore.errors import QuerySemanticError
from elsinore.model import Conjunction, Disjunction, Event, Kleene, Negation, Pattern, Sequence
from elsinore.model.pattern import nullable
from support.automata import Case, alphabet, cases, matches, often, runs, words

A, B, C = Event("A", "a"), Event("B", "b"), Event("C", "c")


def positions(pattern: Pattern):
    return glushkov(pattern, lambda event: Symbol(event.type))


def plus(pattern: Pattern) -> Kleene:
    return Kleene(pattern, 1, None)


def test_predecessor_types_of_the_nested_patterns_of_the_hamlet_paper():
    q1 = positions(plus(Sequence((A, plus(B)))))
    q2 = positions(plus(Sequence((C, plus(B)))))
    assert q1.predecessor_types("B") == {"A", "B"}
    assert q1.predecessor_types("A") == {"B"}
    assert q2.predecessor_types("B") == {"C", "B"}
    assert q2.predecessor_types("C") == {"B"}
    assert (q1.start_types(), q1.end_types()) == ({"A"}, {"B"})


def test_a_position_knows_its_event_and_its_predecessors():
    found = positions(Sequence((A, Kleene(B, 2, 3))))
    assert [event.variable for event in found.events] == ["a", "b", "b", "b"]
    assert [found.predecessors(p) for p in range(4)] == [(), (0,), (1,), (2,)]
    assert (found.first, found.last) == ({0}, {2, 3})


@pytest.mark.parametrize("counts", [(1, 3), (0, 4), (2, 5), (3, None), (0, None), (4, 4)])
def test_repetition_counts_make_nothing_ambiguous(counts):
    assert ambiguity(positions(Kleene(A, *counts)).nfa) is None
    assert ambiguity(positions(Kleene(Sequence((A, plus(B))), *counts)).nfa) is None


@often
@given(cases())
def test_the_automaton_accepts_what_the_pattern_means(case: Case):
    nfa = case.nfa
    assert (0 in nfa.accepting) == nullable(case.pattern)
    for word in words(alphabet(case)):
        assert nfa.accepts(word) == matches(case, word)


@often
@given(cases())
def test_a_run_goes_through_positions_that_follow_one_another(case: Case):
    found = case.positions()
    for word in words(alphabet(case), longest=3):
        for run in runs(found.nfa, word):
            places = [state - 1 for state in run]
            assert all(pair in found.follow for pair in itertools.pairwise(places))
            if places:
                assert places[0] in found.first
                assert places[-1] in found.last
            for place, letter in zip(places, word, strict=True):
                assert found.nfa.states == len(found.events) + 1
                assert case.symbol(found.events[place]).holds(letter)


@pytest.mark.parametrize("odd", [Sequence((A, Negation(B), C)), Conjunction((A, B))])
def test_not_and_and_have_no_positions(odd):
    with pytest.raises(ValueError, match="has no positions"):
        positions(odd)


@pytest.mark.parametrize(
    "huge",
    [
        Kleene(A, 10**9, None),
        Kleene(Kleene(Kleene(A, 100, 100), 100, 100), 100, 100),
        Kleene(Kleene(A, 0, 1), 1, 10**9),
        Sequence(tuple(Kleene(Event("A", f"a{i}"), 0, 1) for i in range(1000))),
    ],
)
def test_a_pattern_with_too_many_positions_is_refused(huge):
    with pytest.raises(QuerySemanticError, match="Use smaller counts"):
        positions(huge)


def test_a_disjunction_has_the_positions_of_all_its_parts():
    found = positions(Disjunction((A, Sequence((B, C)))))
    assert (found.first, found.last, found.follow) == ({0, 1}, {0, 2}, {(1, 2)})
