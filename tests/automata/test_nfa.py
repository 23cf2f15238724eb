import pytest
from hypothesis import given

from elsinore.automata import Nfa, Symbol, Transition
from elsinore.model import Operator
from support.automata import Case, alphabet, cases, compare, matches, often, words


@often
@given(cases())
def test_the_reversed_automaton_accepts_the_reversed_words(case: Case):
    back = case.nfa.reversed()
    for word in words(alphabet(case)):
        assert back.accepts(word[::-1]) == matches(case, word)


@often
@given(cases())
def test_trimming_keeps_the_language_and_leaves_only_useful_states(case: Case):
    small = case.nfa.trimmed()
    assert small.trim() | {0} == set(range(small.states))
    for word in words(alphabet(case), longest=4):
        assert small.accepts(word) == matches(case, word)


@often
@given(cases())
def test_the_letters_are_the_kinds_of_events_there_are(case: Case):
    assert set(case.nfa.letters()) == set(alphabet(case))
    assert len(case.nfa.letters()) == len(set(case.nfa.letters()))


def test_a_contradiction_leads_nowhere():
    never = frozenset({compare("A", Operator.LT, 3), compare("A", Operator.GT, 5)})
    nfa = Nfa(
        3, (Transition(0, Symbol("A", never), 1), Transition(1, Symbol("B"), 2)), frozenset({2})
    )
    assert nfa.trim() == frozenset()
    assert nfa.trimmed() == Nfa(1, (), frozenset())


def test_states_are_numbered_without_gaps():
    with pytest.raises(ValueError, match="states are 0 to 1"):
        Nfa(2, (Transition(0, Symbol("A"), 2),), frozenset({1}))
