import pytest
from hypothesis import given

from elsinore.automata import (
    Dfa,
    Nfa,
    Symbol,
    Transition,
    determinize,
    equivalent,
    letters,
    minimize,
)
from elsinore.errors import QuerySemanticError
from elsinore.model import Event, Kleene, Sequence
from support.automata import Case, alphabet, cases, matches, often, words


@often
@given(cases())
def test_determinizing_and_minimizing_keep_the_language(case: Case):
    dfa = determinize(case.nfa)
    least = minimize(dfa)
    assert set(dfa.alphabet) == set(alphabet(case))
    for word in words(alphabet(case)):
        assert dfa.accepts(word) == least.accepts(word) == matches(case, word)


@often
@given(cases())
def test_a_deterministic_automaton_has_only_useful_states(case: Case):
    for dfa in (determinize(case.nfa), minimize(determinize(case.nfa))):
        assert dfa.trimmed() == dfa


@often
@given(cases())
def test_a_minimal_automaton_has_states_that_all_differ(case: Case):
    least = minimize(determinize(case.nfa))
    pairs = {(p, q) for p in range(least.states) for q in range(p)}
    apart = {(p, q) for p, q in pairs if (p in least.accepting) != (q in least.accepting)}
    while True:  # a pair is told apart if a letter leads to a pair that is, or only one can take it
        more = {
            (p, q)
            for p, q in pairs - apart
            for letter in least.alphabet
            for a, b in [(least.moves.get((p, letter)), least.moves.get((q, letter)))]
            if (a is None) != (b is None)
            or (a is not None and b is not None and (max(a, b), min(a, b)) in apart)
        }
        if not more:
            break
        apart |= more
    assert apart == pairs


@often
@given(cases(predicates=False))
def test_least_automata_of_one_language_are_equal(case: Case):
    again = Case(Sequence((Kleene(case.pattern, 1, 1),)), case.predicates)
    doubled = Kleene(case.pattern, 1, None)
    nested = Kleene(doubled, 1, None)
    assert minimize(determinize(again.nfa)) == minimize(determinize(case.nfa))
    one, other = Case(doubled, case.predicates).nfa, Case(nested, case.predicates).nfa
    assert equivalent(one, other) is None
    assert minimize(determinize(one)) == minimize(determinize(other))


def test_too_many_subsets_are_refused():
    a, b = Event("A", "a"), Event("B", "b")
    either = [Symbol("A"), Symbol("B")]
    size = 14  # "the 14th event from the end is an A" takes 2^14 states
    moves = [Transition(0, s, 0) for s in either] + [Transition(0, Symbol(a.type), 1)]
    moves += [Transition(p, s, p + 1) for p in range(1, size) for s in either]
    nfa = Nfa(size + 1, tuple(moves), frozenset({size}))
    with pytest.raises(QuerySemanticError, match="more than 4096 states"):
        determinize(nfa)
    assert b.type in {letter.type for letter in nfa.letters()}


def test_an_alphabet_may_be_finer_than_needed():
    nfa = Nfa(2, (Transition(0, Symbol("A"), 1),), frozenset({1}))
    wider = letters([Symbol("A"), Symbol("B")])
    assert determinize(nfa, wider) == Dfa(2, wider, {(0, wider[0]): 1}, frozenset({1}))
