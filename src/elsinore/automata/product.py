"""Products of two deterministic automata, and what they decide: emptiness, difference, equality."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from elsinore.automata.determinize import determinize
from elsinore.automata.dfa import Dfa
from elsinore.automata.nfa import Nfa
from elsinore.automata.symbols import Letter, letters

Word = tuple[Letter, ...]


def intersection(one: Nfa, other: Nfa) -> Dfa:
    """Return the automaton of the words in both languages."""
    return _product(one, other, lambda a, b: a and b)


def union(one: Nfa, other: Nfa) -> Dfa:
    """Return the automaton of the words in either language."""
    return _product(one, other, lambda a, b: a or b)


def difference(one: Nfa, other: Nfa) -> Dfa:
    """Return the automaton of the words in the first language and not in the second."""
    return _product(one, other, lambda a, b: a and not b)


def shortest_word(dfa: Dfa) -> Word | None:
    """Return a shortest word of a language, None where it is empty."""
    words: dict[int, Word] = {0: ()}
    pending = deque([0])
    while pending:
        state = pending.popleft()
        if state in dfa.accepting:
            return words[state]
        for letter in dfa.alphabet:
            target = dfa.moves.get((state, letter))
            if target is not None and target not in words:
                words[target] = (*words[state], letter)
                pending.append(target)
    return None


def disjoint(one: Nfa, other: Nfa) -> Word | None:
    """Return a shortest word that two languages share, None where they are disjoint."""
    return shortest_word(intersection(one, other))


def equivalent(one: Nfa, other: Nfa) -> Word | None:
    """Return a shortest word of one language and not of the other, None where they are equal."""
    return shortest_word(_product(one, other, lambda a, b: a != b))


def _product(one: Nfa, other: Nfa, accepts: Callable[[bool, bool], bool]) -> Dfa:
    """Run two automata side by side over the letters that either tells apart."""
    alphabet = letters(move.symbol for move in one.transitions + other.transitions)
    left, right = determinize(one, alphabet), determinize(other, alphabet)
    numbers: dict[tuple[int | None, int | None], int] = {(0, 0): 0}
    pending: list[tuple[int | None, int | None]] = [(0, 0)]
    moves: dict[tuple[int, Letter], int] = {}
    while pending:
        a, b = pair = pending.pop()
        for letter in alphabet:
            target = (
                None if a is None else left.moves.get((a, letter)),
                None if b is None else right.moves.get((b, letter)),
            )
            if target == (None, None):
                continue
            if target not in numbers:
                numbers[target] = len(numbers)
                pending.append(target)
            moves[numbers[pair], letter] = numbers[target]
    accepting = frozenset(
        number
        for (a, b), number in numbers.items()
        if accepts(a in left.accepting, b in right.accepting)
    )
    return Dfa(len(numbers), alphabet, moves, accepting)
