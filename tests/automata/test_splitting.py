import itertools

import pytest
from hypothesis import given

from elsinore.automata import Symbol, ambiguous_concatenation, ambiguous_iteration, glushkov
from elsinore.model import Disjunction, Event, Kleene, Sequence
from support.automata import Case, alphabet, cases, longest_of, matches, often, words

A, B = Event("A", "a"), Event("B", "b")
ANY = Kleene(Disjunction((A, B)), 0, None)


def automaton(pattern):
    return glushkov(pattern, lambda event: Symbol(event.type)).nfa


def types(word) -> str:
    return "".join(letter.type for letter in word).lower()


@pytest.mark.parametrize(
    ("f", "g"), [(Sequence((ANY, B)), ANY), (ANY, Sequence((B, ANY)))], ids=["ab*b ab*", "ab* bab*"]
)
def test_streamqre_witness_b_b(f, g):
    found = ambiguous_concatenation(automaton(f), automaton(g))
    assert found is not None
    assert types(found.word) == "bb"
    one, other = found.parts()
    assert {tuple(map(types, one)), tuple(map(types, other))} in (
        {("b", "b"), ("bb", "")},
        {("", "bb"), ("b", "b")},
    )


def test_streamqre_a_star_b_then_anything_is_unambiguous():
    first = Sequence((Kleene(A, 0, None), B))
    assert ambiguous_concatenation(automaton(first), automaton(ANY)) is None
    assert ambiguous_iteration(automaton(first)) is None


def test_the_days_of_a_patient_are_unambiguous():
    block = Sequence((B, Kleene(Event("M", "m"), 0, None), Event("E", "e")))
    day = Sequence((Kleene(block, 0, None), Event("D", "d")))
    assert ambiguous_iteration(automaton(block)) is None
    assert ambiguous_iteration(automaton(day)) is None


def test_what_may_be_empty_cannot_be_iterated():
    found = ambiguous_iteration(automaton(Kleene(A, 0, 1)))
    assert found is not None
    assert (found.word, found.first, found.second) == ((), (), (0,))


@often
@given(cases(predicates=False), cases())
def test_concatenation_is_ambiguous_if_some_word_is_cut_in_two_places(f: Case, g: Case):
    letters = alphabet(f, g)
    found = ambiguous_concatenation(f.nfa, g.nfa)

    def cuts(word):
        return [i for i in range(len(word) + 1) if matches(f, word[:i]) and matches(g, word[i:])]

    shortest = next((word for word in words(letters) if len(cuts(word)) > 1), None)
    if found is None:
        assert shortest is None
        return
    assert found.first != found.second
    assert {found.first[0], found.second[0]} <= set(cuts(found.word))
    assert found.first[1] == found.second[1] == len(found.word)
    if len(found.word) <= longest_of(letters):
        assert shortest is not None
        assert len(shortest) == len(found.word)
    else:
        assert shortest is None


@often
@given(cases(nullable=False))
def test_iteration_is_ambiguous_if_some_word_has_two_factorings(f: Case):
    letters = alphabet(f)
    found = ambiguous_iteration(f.nfa)

    def factorings(word):
        inner = range(1, len(word))
        ways = (
            (*cut, len(word))
            for size in range(len(word))
            for cut in itertools.combinations(inner, size)
        )
        return [
            ends
            for ends in ways
            if all(matches(f, word[a:b]) for a, b in zip((0, *ends), ends, strict=False))
        ]

    small = [word for word in words(letters) if word]
    shortest = next((word for word in small if len(factorings(word)) > 1), None)
    if found is None:
        assert shortest is None
        return
    assert found.first != found.second
    if len(found.word) <= longest_of(letters):
        assert {found.first, found.second} <= set(factorings(found.word))
        assert shortest is not None
        assert len(shortest) == len(found.word)
    else:
        assert shortest is None
