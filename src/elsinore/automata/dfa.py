"""Deterministic automata over letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from elsinore.automata.symbols import Letter


@dataclass(frozen=True, slots=True)
class Dfa:
    """States 0 to `states` - 1, state 0 the first; a missing move leads nowhere."""

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
