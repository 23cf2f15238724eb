"""Equality and containment of unambiguous automata, in polynomial time.

An unambiguous automaton has one accepting run for a word of its language and none for others, so
it *counts* its language: f(w) is 1 or 0. Two of them are equal if their difference, a weighted
automaton with values -1, 0 and 1, is 0 on all words. Words whose state vectors are linear
combinations of earlier words' vectors are skipped, so at most as many words are examined as there
are states (Tzeng, A Polynomial-Time Algorithm for the Equivalence of Probabilistic Automata, SIAM
Journal on Computing 1992; Stearns and Hunt, 1985). Arithmetic is modulo a prime, which is exact and
keeps -1, 0 and 1 different.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from elsinore.automata.nfa import Nfa, ParallelRuns, Transition
from elsinore.automata.search import SEARCH_LIMIT
from elsinore.automata.symbols import Letter, Word, letters
from elsinore.errors import QuerySemanticError

PRIME = 2**61 - 1
Vector = dict[int, int]


def differing(left: Nfa, right: Nfa) -> Word | None:
    """Return a shortest word that only one of two languages contains; None if they are equal.

    Both automata must be unambiguous.

    >>> from elsinore.automata.symbols import Symbol
    >>> once = Nfa(2, (Transition(0, Symbol("A"), 1),), frozenset({1}))
    >>> more = Nfa(2, (*once.transitions, Transition(1, Symbol("A"), 1)), frozenset({1}))
    >>> differing(once, once), len(differing(once, more))
    (None, 2)
    """
    if left == right:
        return None
    return _nonzero_word(((left, 1), (right, -1)))


def outside(left: Nfa, right: Nfa) -> Word | None:
    """Return a shortest word of `left` that is not in `right`; None if `right` contains `left`.

    Both automata must be unambiguous.

    >>> from elsinore.automata.symbols import Symbol
    >>> once = Nfa(2, (Transition(0, Symbol("A"), 1),), frozenset({1}))
    >>> more = Nfa(2, (*once.transitions, Transition(1, Symbol("A"), 1)), frozenset({1}))
    >>> outside(once, more), len(outside(more, once))
    (None, 2)
    """
    if left == right:
        return None
    return _nonzero_word(((left, 1), (_both(left, right), -1)))


def _both(left: Nfa, right: Nfa) -> Nfa:
    """Return the product automaton, whose language is the intersection of two languages."""
    runs = ParallelRuns((left, right))
    numbers = {(0, 0): 0}
    moves: dict[Transition, None] = {}
    for pair in (order := [(0, 0)]):  # grows during the iteration
        for symbol, left_state, right_state in runs.steps(left, pair[0], right, pair[1]):
            if (left_state, right_state) not in numbers:
                if len(numbers) >= SEARCH_LIMIT:
                    raise QuerySemanticError("The rates are too large to be compared.")
                numbers[left_state, right_state] = len(numbers)
                order.append((left_state, right_state))
            moves[Transition(numbers[pair], symbol, numbers[left_state, right_state])] = None
    accepting = frozenset(
        number
        for (left_state, right_state), number in numbers.items()
        if left_state in left.accepting and right_state in right.accepting
    )
    return Nfa(len(numbers), tuple(moves), accepting).trimmed()


def _nonzero_word(weighted: Sequence[tuple[Nfa, int]]) -> Word | None:
    """Return a shortest word on which a weighted sum of automata is not 0, or None."""
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
    reached: Vector = {}
    for state, count in vector.items():
        for target in targets[state]:
            reached[target] = (reached.get(target, 0) + count) % PRIME
    return {state: count for state, count in reached.items() if count}


def _add_to_basis(basis: dict[int, Vector], vector: Mapping[int, int]) -> bool:
    """Add a vector to a basis in echelon form; return False if it is linearly dependent."""
    remainder = dict(vector)
    while remainder:
        pivot = min(remainder)
        count = remainder[pivot]
        row = basis.get(pivot)
        if row is None:
            inverse = pow(count, -1, PRIME)
            basis[pivot] = {state: value * inverse % PRIME for state, value in remainder.items()}
            return True
        for state, value in row.items():
            left = (remainder.get(state, 0) - count * value) % PRIME
            if left:
                remainder[state] = left
            else:
                remainder.pop(state, None)
    return False
