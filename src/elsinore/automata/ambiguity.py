"""Ambiguity: whether some word can be read in two ways, with a shortest such word.

The automaton is run beside itself; a word is ambiguous if two different runs over it are accepted.
A word stands for every sequence of events of its letters, so this is also whether some sequence of
events can be read in two ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from elsinore.automata.nfa import Abreast, Nfa
from elsinore.automata.search import shortest_path
from elsinore.automata.symbols import Symbol, Word


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A shortest word with two accepted runs; a run is the states after each letter."""

    word: Word
    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two runs side by side; `apart` once they have differed."""

    first: int
    second: int
    apart: bool


def ambiguity(nfa: Nfa) -> Ambiguity | None:
    """Return a shortest ambiguous word of an automaton, None where every word has one run.

    Raises QuerySemanticError where the automaton is too large to tell.

    >>> from elsinore.automata.positions import glushkov
    >>> from elsinore.automata.symbols import Symbol
    >>> from elsinore.model.pattern import Event, Kleene, Sequence
    >>> twice = Sequence((Kleene(Event("A", "a"), 1, None), Kleene(Event("A", "b"), 1, None)))
    >>> found = ambiguity(glushkov(twice, lambda event: Symbol(event.type)).nfa)
    >>> [letter.type for letter in found.word], found.first, found.second
    (['A', 'A', 'A'], (1, 1, 2), (1, 2, 2))
    """
    if _told_by_types(nfa):
        return None
    useful = nfa.trim()
    abreast = Abreast((nfa,))

    def steps(pair: _Pair) -> Iterator[tuple[Symbol, _Pair]]:
        for symbol, first, second in abreast.steps(nfa, pair.first, nfa, pair.second):
            if first not in useful or second not in useful:
                continue
            if pair.apart or first <= second:  # else the same two runs the other way round
                yield symbol, _Pair(first, second, pair.apart or first != second)

    def is_goal(pair: _Pair) -> bool:
        return pair.apart and pair.first in nfa.accepting and pair.second in nfa.accepting

    path = shortest_path([_Pair(0, 0, apart=False)], steps, is_goal)
    if path is None:
        return None
    pairs, symbols = path
    first, second = zip(*((pair.first, pair.second) for pair in pairs[1:]), strict=True)
    return Ambiguity(abreast.meeting.word(symbols), first, second)


def _told_by_types(nfa: Nfa) -> bool:
    """Return whether an event's type alone tells where it leads, as in most patterns."""
    targets: dict[tuple[int, str], int] = {}
    return all(
        targets.setdefault((move.source, move.symbol.type), move.target) == move.target
        for move in nfa.transitions
    )
