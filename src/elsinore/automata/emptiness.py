"""Emptiness: whether an automaton accepts anything, shown by a shortest accepted word."""

from __future__ import annotations

from collections.abc import Iterator

from elsinore.automata.dfa import Dfa
from elsinore.automata.nfa import Nfa
from elsinore.automata.search import shortest_path
from elsinore.automata.symbols import Letter, Meeting, Word


def shortest_word(automaton: Nfa | Dfa) -> Word | None:
    """Return a shortest word of a language, None where it is empty.

    >>> from elsinore.automata.nfa import Transition
    >>> from elsinore.automata.symbols import Symbol
    >>> shortest_word(Nfa(2, (Transition(0, Symbol("A"), 1),), frozenset({1})))
    (Letter(type='A', true=frozenset()),)
    """
    meeting = Meeting(automaton.symbols() if isinstance(automaton, Nfa) else ())

    def steps(state: int) -> Iterator[tuple[Letter, int]]:
        if isinstance(automaton, Dfa):
            for letter in automaton.alphabet:
                if (state, letter) in automaton.moves:
                    yield letter, automaton.moves[state, letter]
            return
        for move in automaton.outgoing(state):
            found = meeting.letter(move.symbol, move.symbol)
            if found is not None:
                yield found, move.target

    path = shortest_path([0], steps, automaton.accepting.__contains__)
    return None if path is None else path[1]


def is_empty(automaton: Nfa | Dfa) -> bool:
    """Return whether an automaton accepts no word at all."""
    return shortest_word(automaton) is None
