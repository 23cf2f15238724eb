"""Ambiguity: whether some word can be read in two ways, with a shortest such word.

The automaton is run beside itself; a word is ambiguous if two different runs over it are accepted.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from elsinore.automata.nfa import Nfa
from elsinore.automata.symbols import Letter


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A shortest word with two accepted runs; a run is the states after each letter."""

    word: tuple[Letter, ...]
    one: tuple[int, ...]
    other: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two runs side by side; `apart` once they have differed."""

    one: int
    other: int
    apart: bool


def ambiguity(nfa: Nfa) -> Ambiguity | None:
    """Return a shortest ambiguous word of an automaton, None where every word has one run.

    >>> from elsinore.automata.positions import glushkov
    >>> from elsinore.automata.symbols import Symbol
    >>> from elsinore.model.pattern import Event, Kleene, Sequence
    >>> twice = Sequence((Kleene(Event("A", "a"), 1, None), Kleene(Event("A", "b"), 1, None)))
    >>> found = ambiguity(glushkov(twice, lambda event: Symbol(event.type)).nfa)
    >>> [letter.type for letter in found.word], found.one, found.other
    (['A', 'A', 'A'], (1, 1, 2), (1, 2, 2))
    """
    useful = nfa.trim()
    alphabet = nfa.letters()
    first = _Pair(0, 0, apart=False)
    came_from: dict[_Pair, tuple[_Pair, Letter] | None] = {first: None}
    pending = deque([first])
    while pending:
        pair = pending.popleft()
        if pair.apart and pair.one in nfa.accepting and pair.other in nfa.accepting:
            return _told(pair, came_from)
        for letter in alphabet:
            ones = [state for state in nfa.successors(pair.one, letter) if state in useful]
            others = [state for state in nfa.successors(pair.other, letter) if state in useful]
            for one in ones:
                for other in others:
                    if not pair.apart and one > other:
                        continue  # the same two runs the other way round
                    target = _Pair(one, other, pair.apart or one != other)
                    if target not in came_from:
                        came_from[target] = (pair, letter)
                        pending.append(target)
    return None


def _told(pair: _Pair, came_from: dict[_Pair, tuple[_Pair, Letter] | None]) -> Ambiguity:
    word: list[Letter] = []
    one: list[int] = []
    other: list[int] = []
    step = came_from[pair]
    while step is not None:
        word.append(step[1])
        one.append(pair.one)
        other.append(pair.other)
        pair = step[0]
        step = came_from[pair]
    return Ambiguity(tuple(reversed(word)), tuple(reversed(one)), tuple(reversed(other)))
