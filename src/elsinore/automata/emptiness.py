"""Emptiness: searching for a shortest word that an automaton accepts."""

from __future__ import annotations

from collections.abc import Iterator

from elsinore.automata.dfa import Dfa
from elsinore.automata.nfa import Nfa
from elsinore.automata.search import shortest_path
from elsinore.automata.symbols import Intersections, Symbol, Word


def shortest_word(automaton: Nfa | Dfa) -> Word | None:
    """Return a shortest word of a language; None if it is empty.

    >>> from elsinore.automata.nfa import Transition
    >>> from elsinore.automata.symbols import Symbol
    >>> shortest_word(Nfa(2, (Transition(0, Symbol("A"), 1),), frozenset({1})))
    (Letter(type='A', true=frozenset()),)
    """
    if isinstance(automaton, Dfa):
        moves, alphabet = automaton.moves, automaton.alphabet
        shortest = shortest_path(
            [0],
            lambda state: [(a, moves[state, a]) for a in alphabet if (state, a) in moves],
            automaton.accepting.__contains__,
        )
        return None if shortest is None else shortest[1]
    nfa, intersections = automaton, Intersections(automaton.symbols())

    def steps(state: int) -> Iterator[tuple[Symbol, int]]:
        for move in nfa.outgoing(state):
            if intersections.intersect(move.symbol, move.symbol) is not None:
                yield move.symbol, move.target

    path = shortest_path([0], steps, nfa.accepting.__contains__)
    return None if path is None else intersections.word(path[1])


def is_empty(automaton: Nfa | Dfa) -> bool:
    """Return whether an automaton accepts no word."""
    return shortest_word(automaton) is None
