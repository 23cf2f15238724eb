from hypothesis import given

from elsinore.automata import Nfa, Symbol, Transition, ambiguity, glushkov
from elsinore.model import Disjunction, Event, Kleene, Operator, Sequence
from support.automata import Case, alphabet, cases, compare, longest_of, often, runs, words


def types(word) -> list[str]:
    return [letter.type for letter in word]


@often
@given(cases())
def test_a_pattern_is_ambiguous_if_some_word_has_two_runs_and_the_witness_is_shortest(case: Case):
    nfa, letters = case.nfa, alphabet(case)
    found = ambiguity(nfa)
    shortest = next((word for word in words(letters) if len(runs(nfa, word)) > 1), None)
    if found is None:
        assert shortest is None
        return
    assert found.first != found.second
    assert {found.first, found.second} <= set(runs(nfa, found.word))
    if len(found.word) <= longest_of(letters):
        assert shortest is not None
        assert len(shortest) == len(found.word)
    else:
        assert shortest is None


@often
@given(cases())
def test_the_letters_of_a_witness_are_letters_that_events_have(case: Case):
    found = ambiguity(case.nfa)
    assert found is None or set(found.word) <= set(alphabet(case))


def test_two_variables_of_a_type_are_ambiguous_only_if_one_event_may_be_either():
    low, high = compare("A", Operator.LT, 3), compare("A", Operator.GE, 3)
    middle = compare("A", Operator.GT, 1)
    pattern = Disjunction((Event("A", "a"), Event("A", "b")))

    def told(one, other):
        asked = {"a": frozenset({one}), "b": frozenset({other})}
        nfa = glushkov(pattern, lambda event: Symbol("A", asked[event.variable])).nfa
        return ambiguity(nfa)

    assert told(low, high) is None
    found = told(low, middle)
    assert found is not None
    assert [letter.true for letter in found.word] == [{low, middle}]


def test_two_kleene_variables_of_one_type_are_ambiguous_from_three_events_on():
    pattern = Sequence((Kleene(Event("A", "a"), 1, None), Kleene(Event("A", "b"), 1, None)))
    found = ambiguity(glushkov(pattern, lambda event: Symbol(event.type)).nfa)
    assert found is not None
    assert types(found.word) == ["A", "A", "A"]
    assert (found.first, found.second) == ((1, 1, 2), (1, 2, 2))


def test_ways_that_lead_nowhere_make_nothing_ambiguous():
    a, b = Symbol("A"), Symbol("B")
    moves = (Transition(0, a, 1), Transition(0, a, 2), Transition(1, b, 3), Transition(2, a, 4))
    assert ambiguity(Nfa(5, moves, frozenset({3}))) is None
    assert ambiguity(Nfa(5, moves, frozenset({1, 2}))) is not None


def test_many_predicates_on_a_type_do_not_make_ambiguity_slow_to_decide():
    variables = [f"a{i}" for i in range(40)]
    pattern = Sequence(tuple(Kleene(Event("A", name), 0, 1) for name in variables))
    asked = {name: frozenset({compare("A", Operator.LT, 3, name)}) for name in variables}
    nfa = glushkov(pattern, lambda event: Symbol("A", asked[event.variable])).nfa
    found = ambiguity(nfa)
    assert found is not None
    assert len(found.word) == 1
