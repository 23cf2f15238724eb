"""Ambiguity of an automaton: searching for a shortest word with two accepting runs.

The search covers the product of the automaton with itself. A word stands for every sequence of
events of its letters, so this also decides whether a sequence of events has two accepting runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from elsinore.automata.nfa import Nfa, ParallelRuns
from elsinore.automata.search import shortest_path
from elsinore.automata.symbols import Symbol, Word


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A shortest word with two accepting runs; a run is the states after each letter."""

    word: Word
    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Pair:
    """The states of two runs; `apart` once they have differed."""

    first: int
    second: int
    apart: bool


def ambiguity(nfa: Nfa) -> Ambiguity | None:
    """Return a shortest word with two accepting runs; None if the automaton is unambiguous.

    Raises QuerySemanticError if the search exceeds its limit.

    >>> from elsinore.automata.positions import glushkov
    >>> from elsinore.automata.symbols import Symbol
    >>> from elsinore.model.pattern import Event, Kleene, Sequence
    >>> twice = Sequence((Kleene(Event("A", "a"), 1, None), Kleene(Event("A", "b"), 1, None)))
    >>> found = ambiguity(glushkov(twice, lambda event: Symbol(event.type)).nfa)
    >>> [letter.type for letter in found.word], found.first, found.second
    (['A', 'A', 'A'], (1, 1, 2), (1, 2, 2))
    """
    if _is_deterministic_by_type(nfa):
        return None
    useful = nfa.trim()
    runs = ParallelRuns((nfa,))

    def steps(pair: _Pair) -> Iterator[tuple[Symbol, _Pair]]:
        for symbol, first, second in runs.steps(nfa, pair.first, nfa, pair.second):
            if first not in useful or second not in useful:
                continue
            if pair.apart or first <= second:  # otherwise a mirrored pair
                yield symbol, _Pair(first, second, pair.apart or first != second)

    def is_goal(pair: _Pair) -> bool:
        return pair.apart and pair.first in nfa.accepting and pair.second in nfa.accepting

    path = shortest_path([_Pair(0, 0, apart=False)], steps, is_goal)
    if path is None:
        return None
    pairs, symbols = path
    first, second = zip(*((pair.first, pair.second) for pair in pairs[1:]), strict=True)
    return Ambiguity(runs.intersections.word(symbols), first, second)


def _is_deterministic_by_type(nfa: Nfa) -> bool:
    """Return whether each state has at most one successor per type, as in most patterns."""
    targets: dict[tuple[int, str], int] = {}
    return all(
        targets.setdefault((move.source, move.symbol.type), move.target) == move.target
        for move in nfa.transitions
    )
