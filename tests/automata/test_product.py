from collections.abc import Callable

import pytest
from hypothesis import given

from elsinore.automata import (
    difference,
    disjoint,
    equivalent,
    intersection,
    is_empty,
    shortest_word,
    union,
)
from support.automata import Case, alphabet, cases, longest_of, matches, often, words


def first_word(one: Case, other: Case, told: Callable[[bool, bool], bool]):
    known = alphabet(one, other)
    return next((w for w in words(known) if told(matches(one, w), matches(other, w))), None)


def agree(found, slow, longest: int) -> None:
    """A shortest word found is as long as the first by trying, where that reaches so far."""
    if found is None or len(found) > longest:
        assert slow is None
    else:
        assert slow is not None
        assert len(slow) == len(found)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (intersection, lambda a, b: a and b),
        (union, lambda a, b: a or b),
        (difference, lambda a, b: a and not b),
    ],
)
@often
@given(one=cases(), other=cases())
def test_a_product_has_the_language_it_is_named_after(make, told, one: Case, other: Case):
    dfa = make(one.nfa, other.nfa)
    known = alphabet(one, other)
    for word in words(known, longest=4):
        assert dfa.accepts(word) == told(matches(one, word), matches(other, word))
    found = shortest_word(dfa)
    agree(found, first_word(one, other, told), longest_of(known))
    assert is_empty(dfa) == (found is None)


@often
@given(cases(), cases())
def test_disjoint_languages_share_no_word_and_others_a_shortest_one(one: Case, other: Case):
    found = disjoint(one.nfa, other.nfa)
    if found is not None:
        assert matches(one, found)
        assert matches(other, found)
    slow = first_word(one, other, lambda a, b: a and b)
    agree(found, slow, longest_of(alphabet(one, other)))


@often
@given(cases(), cases())
def test_equivalent_languages_share_all_words_and_others_differ_in_a_shortest_one(
    one: Case, other: Case
):
    found = equivalent(one.nfa, other.nfa)
    if found is not None:
        assert matches(one, found) != matches(other, found)
    slow = first_word(one, other, lambda a, b: a != b)
    agree(found, slow, longest_of(alphabet(one, other)))


@often
@given(cases())
def test_a_language_is_equivalent_to_itself(case: Case):
    assert equivalent(case.nfa, case.nfa.trimmed()) is None


@often
@given(cases())
def test_the_shortest_word_of_a_pattern_is_its_shortest(case: Case):
    found = shortest_word(case.nfa)
    slow = next((word for word in words(alphabet(case)) if matches(case, word)), None)
    assert found is None or matches(case, found)
    agree(found, slow, longest_of(alphabet(case)))
    assert is_empty(case.nfa) == (found is None)
