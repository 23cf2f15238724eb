"""Deterministic finite automata (DFA) over letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from elsinore.automata.nfa import closure
from elsinore.automata.symbols import Letter


@dataclass(frozen=True, slots=True)
class Dfa:
    """States 0 to `states` - 1, with initial state 0; a missing transition rejects."""

    states: int
    alphabet: tuple[Letter, ...]
    moves: Mapping[tuple[int, Letter], int]
    accepting: frozenset[int]

    def accepts(self, word: Sequence[Letter]) -> bool:
        """Return whether the run over a word ends in an accepting state."""
        state: int | None = 0
        for letter in word:
            state = self.moves.get((state, letter)) if state is not None else None
        return state in self.accepting

    def trimmed(self) -> Dfa:
        """Return the automaton without useless states, with the others renumbered breadth first.

        State 0 remains even if the language is empty. Isomorphic automata become equal.
        """
        reversed_moves = ((target, source) for (source, _), target in self.moves.items())
        useful = closure(self.accepting, reversed_moves) | {0}
        number = {0: 0}
        moves: dict[tuple[int, Letter], int] = {}
        for state in (order := [0]):  # grows during the iteration
            for letter in self.alphabet:
                target = self.moves.get((state, letter))
                if target is not None and target in useful:
                    if target not in number:
                        number[target] = len(number)
                        order.append(target)
                    moves[number[state], letter] = number[target]
        accepting = frozenset(number[state] for state in self.accepting if state in number)
        return Dfa(len(number), self.alphabet, moves, accepting)
