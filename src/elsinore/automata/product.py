"""Products of two automata, which decide intersection, difference and equality.

Each decision returns a shortest word as evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from elsinore.automata.determinize import determinize
from elsinore.automata.dfa import Dfa
from elsinore.automata.nfa import Nfa, ParallelRuns
from elsinore.automata.search import shortest_path
from elsinore.automata.symbols import Letter, Symbol, Word, letters

Subsets = tuple[frozenset[int], frozenset[int]]


def intersection(left: Nfa, right: Nfa) -> Dfa:
    """Return the automaton of the words in both languages."""
    return _product(left, right, lambda a, b: a and b)


def union(left: Nfa, right: Nfa) -> Dfa:
    """Return the automaton of the words in either language."""
    return _product(left, right, lambda a, b: a or b)


def difference(left: Nfa, right: Nfa) -> Dfa:
    """Return the automaton of the words in the first language and not in the second."""
    return _product(left, right, lambda a, b: a and not b)


def disjoint(left: Nfa, right: Nfa) -> Word | None:
    """Return a shortest word that two languages share; None if they are disjoint.

    >>> from elsinore.automata.nfa import Transition
    >>> from elsinore.automata.symbols import Symbol
    >>> a, b = (Nfa(2, (Transition(0, Symbol(name), 1),), frozenset({1})) for name in "AB")
    >>> disjoint(a, b), disjoint(a, a)
    (None, (Letter(type='A', true=frozenset()),))
    """
    runs = ParallelRuns((left, right))

    def steps(pair: tuple[int, int]) -> Iterator[tuple[Symbol, tuple[int, int]]]:
        for symbol, state, other_state in runs.steps(left, pair[0], right, pair[1]):
            yield symbol, (state, other_state)

    def is_goal(pair: tuple[int, int]) -> bool:
        return pair[0] in left.accepting and pair[1] in right.accepting

    path = shortest_path([(0, 0)], steps, is_goal)
    return None if path is None else runs.intersections.word(path[1])


def equivalent(left: Nfa, right: Nfa) -> Word | None:
    """Return a shortest word of only one of two languages; None if they are equal.

    >>> from elsinore.automata.nfa import Transition
    >>> from elsinore.automata.symbols import Symbol
    >>> once = Nfa(2, (Transition(0, Symbol("A"), 1),), frozenset({1}))
    >>> more = Nfa(2, (*once.transitions, Transition(1, Symbol("A"), 1)), frozenset({1}))
    >>> equivalent(once, once), len(equivalent(once, more))
    (None, 2)
    """
    alphabet = letters(left.symbols() + right.symbols())

    successors, other_successors = left.table(alphabet), right.table(alphabet)

    def steps(pair: Subsets) -> Iterator[tuple[Letter, Subsets]]:
        for letter in alphabet:
            reached = (successors[letter][state] for state in pair[0])
            reached_right = (other_successors[letter][state] for state in pair[1])
            yield letter, (frozenset().union(*reached), frozenset().union(*reached_right))

    def is_goal(pair: Subsets) -> bool:
        return bool(pair[0] & left.accepting) != bool(pair[1] & right.accepting)

    first = frozenset({0})
    path = shortest_path([(first, first)], steps, is_goal)
    return None if path is None else path[1]


def _product(left: Nfa, right: Nfa, accepts: Callable[[bool, bool], bool]) -> Dfa:
    """Return the product of two automata over the letters that either distinguishes."""
    alphabet = letters(left.symbols() + right.symbols())
    left_dfa, right_dfa = determinize(left, alphabet), determinize(right, alphabet)
    numbers: dict[tuple[int | None, int | None], int] = {(0, 0): 0}
    moves: dict[tuple[int, Letter], int] = {}
    for pair in (order := [*numbers]):  # grows during the iteration
        for letter in alphabet:
            target = (
                None if pair[0] is None else left_dfa.moves.get((pair[0], letter)),
                None if pair[1] is None else right_dfa.moves.get((pair[1], letter)),
            )
            if target == (None, None):
                continue
            if target not in numbers:
                numbers[target] = len(numbers)
                order.append(target)
            moves[numbers[pair], letter] = numbers[target]
    accepting = frozenset(
        number
        for (a, b), number in numbers.items()
        if accepts(a in left_dfa.accepting, b in right_dfa.accepting)
    )
    return Dfa(len(numbers), alphabet, moves, accepting).trimmed()
