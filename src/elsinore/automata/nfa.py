"""Symbolic automata: states, and transitions that ask for a symbol."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from elsinore.automata.symbols import Letter, Symbol, letters


@dataclass(frozen=True, slots=True)
class Transition:
    """From state `source`, an event that is what `symbol` asks for leads to state `target`."""

    source: int
    symbol: Symbol
    target: int


@dataclass(frozen=True, slots=True)
class Nfa:
    """A nondeterministic automaton over events: states 0 to `states` - 1, state 0 the first."""

    states: int
    transitions: tuple[Transition, ...]
    accepting: frozenset[int]

    def letters(self) -> tuple[Letter, ...]:
        """Return the classes of events that the automaton tells apart."""
        return letters(transition.symbol for transition in self.transitions)

    def successors(self, state: int, letter: Letter) -> tuple[int, ...]:
        """Return the states that an event of a letter may lead to, each once, ascending."""
        return tuple(
            sorted(
                {
                    move.target
                    for move in self.transitions
                    if move.source == state and move.symbol.holds(letter)
                }
            )
        )

    def step(self, states: Iterable[int], letter: Letter) -> frozenset[int]:
        """Return all states that an event of a letter may lead to from any of `states`."""
        known = frozenset(states)
        return frozenset(
            move.target
            for move in self.transitions
            if move.source in known and move.symbol.holds(letter)
        )

    def accepts(self, word: Sequence[Letter]) -> bool:
        """Return whether some run over a word ends in an accepting state."""
        states = frozenset({0})
        for letter in word:
            states = self.step(states, letter)
        return bool(states & self.accepting)

    def trim(self) -> frozenset[int]:
        """Return the states that lie on some way from the first to an accepting state."""
        forward = _closure({0}, [(move.source, move.target) for move in self.transitions])
        backward = _closure(
            set(self.accepting), [(move.target, move.source) for move in self.transitions]
        )
        return forward & backward


def _closure(states: set[int], steps: list[tuple[int, int]]) -> frozenset[int]:
    found = set(states)
    pending = list(states)
    while pending:
        state = pending.pop()
        for source, target in steps:
            if source == state and target not in found:
                found.add(target)
                pending.append(target)
    return frozenset(found)
