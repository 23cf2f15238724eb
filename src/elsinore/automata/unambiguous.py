"""Equality and containment of unambiguous automata, in polynomial time.

An unambiguous automaton has one accepting run for a word of its language and none for others, so
it *counts* its language: f(w) is 1 or 0. Two of them are equal where their difference, a weighted
automaton with values -1, 0 and 1, is 0 on all words. Words whose vectors of states depend linearly
on those of earlier words tell nothing new, so at most as many words are looked at as there are
states (Tzeng, A Polynomial-Time Algorithm for the Equivalence of Probabilistic Automata, SIAM
Journal on Computing 1992; Stearns and Hunt, 1985). The arithmetic is that of a prime field, which
is exact: -1, 0 and 1 stay different in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from elsinore.automata.nfa import Abreast, Nfa, Transition
from elsinore.automata.search import SEARCH_LIMIT
from elsinore.automata.symbols import Letter, Word, letters
from elsinore.errors import QuerySemanticError

PRIME = 2**61 - 1
Vector = dict[int, int]


def differing(one: Nfa, other: Nfa) -> Word | None:
    """Return a shortest word of one language and not of the other, None where they are equal.

    Both automata must be unambiguous.

    >>> from elsinore.automata.symbols import Symbol
    >>> once = Nfa(2, (Transition(0, Symbol("A"), 1),), frozenset({1}))
    >>> more = Nfa(2, (*once.transitions, Transition(1, Symbol("A"), 1)), frozenset({1}))
    >>> differing(once, once), len(differing(once, more))
    (None, 2)
    """
    if one == other:
        return None
    return _nonzero_word(((one, 1), (other, -1)))


def outside(one: Nfa, other: Nfa) -> Word | None:
    """Return a shortest word of the first language that is not in the second, None if all are.

    Both automata must be unambiguous.

    >>> from elsinore.automata.symbols import Symbol
    >>> once = Nfa(2, (Transition(0, Symbol("A"), 1),), frozenset({1}))
    >>> more = Nfa(2, (*once.transitions, Transition(1, Symbol("A"), 1)), frozenset({1}))
    >>> outside(once, more), len(outside(more, once))
    (None, 2)
    """
    if one == other:
        return None
    return _nonzero_word(((one, 1), (_both(one, other), -1)))


def _both(one: Nfa, other: Nfa) -> Nfa:
    """Return the automaton of the words in both languages, its runs the pairs of theirs."""
    abreast = Abreast((one, other))
    numbers = {(0, 0): 0}
    moves: dict[Transition, None] = {}
    for pair in (order := [(0, 0)]):  # grows while it is gone through
        for symbol, left, right in abreast.steps(one, pair[0], other, pair[1]):
            if (left, right) not in numbers:
                if len(numbers) >= SEARCH_LIMIT:
                    raise QuerySemanticError("The rates are too large to be compared.")
                numbers[left, right] = len(numbers)
                order.append((left, right))
            moves[Transition(numbers[pair], symbol, numbers[left, right])] = None
    accepting = frozenset(
        number
        for (left, right), number in numbers.items()
        if left in one.accepting and right in other.accepting
    )
    return Nfa(len(numbers), tuple(moves), accepting).trimmed()


def _nonzero_word(weighted: Sequence[tuple[Nfa, int]]) -> Word | None:
    """Return a shortest word on which the weighted sum of automata is not 0."""
    alphabet = letters(symbol for nfa, _ in weighted for symbol in nfa.symbols())
    moves: dict[Letter, list[tuple[int, ...]]] = {letter: [] for letter in alphabet}
    first: Vector = {}
    last: Vector = {}
    offset = 0
    for nfa, weight in weighted:
        for letter, table in nfa.table(alphabet).items():
            moves[letter] += [tuple(target + offset for target in targets) for targets in table]
        first[offset] = 1
        last |= {state + offset: weight for state in nfa.accepting}
        offset += nfa.states
    basis: dict[int, Vector] = {}
    pending: deque[tuple[Vector, Word]] = deque([(first, ())])
    while pending:
        vector, word = pending.popleft()
        if sum(count * last.get(state, 0) for state, count in vector.items()) % PRIME:
            return word
        if _add_to_basis(basis, vector):
            pending.extend((_step(vector, moves[letter]), (*word, letter)) for letter in alphabet)
    return None


def _step(vector: Vector, targets: Sequence[Iterable[int]]) -> Vector:
    found: Vector = {}
    for state, count in vector.items():
        for target in targets[state]:
            found[target] = (found.get(target, 0) + count) % PRIME
    return {state: count for state, count in found.items() if count}


def _add_to_basis(basis: dict[int, Vector], vector: Mapping[int, int]) -> bool:
    """Add a vector to a basis in echelon form; return False where it depends on the basis."""
    rest = dict(vector)
    while rest:
        pivot = min(rest)
        count = rest[pivot]
        row = basis.get(pivot)
        if row is None:
            inverse = pow(count, -1, PRIME)
            basis[pivot] = {state: value * inverse % PRIME for state, value in rest.items()}
            return True
        for state, value in row.items():
            left = (rest.get(state, 0) - count * value) % PRIME
            if left:
                rest[state] = left
            else:
                rest.pop(state, None)
    return False
