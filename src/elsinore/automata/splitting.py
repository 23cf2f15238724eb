"""Checking that concatenation and iteration are unambiguous: StreamQRE's `split` and `iterate`.

Each word of L(f) L(g) must have a unique split into a word of f and a word of g, each word of L(f)*
a unique split into words of f (StreamQRE, Section 3). Two splits differ if their parts end at
different places; different runs of f over the same part do not matter. A violation is reported as a
shortest word with two splits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from elsinore.automata.nfa import Nfa, ParallelRuns
from elsinore.automata.search import shortest_path
from elsinore.automata.symbols import Symbol, Word

CUT = -1  # the state of a run that has ended a part of an iteration and begins the next one


@dataclass(frozen=True, slots=True)
class Cuts:
    """A word with two splits into parts; a split is the ends of its parts, as indices."""

    word: Word
    first: tuple[int, ...]
    second: tuple[int, ...]

    def parts(self) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
        """Return the parts of both splits.

        >>> from elsinore.automata.symbols import Letter
        >>> b = Letter("B")
        >>> first, second = Cuts((b, b), (1, 2), (2, 2)).parts()
        >>> [len(part) for part in first], [len(part) for part in second]
        ([1, 1], [2, 0])
        """
        return self._parts_of(self.first), self._parts_of(self.second)

    def _parts_of(self, ends: tuple[int, ...]) -> tuple[Word, ...]:
        return tuple(self.word[a:b] for a, b in zip((0, *ends), ends, strict=False))


@dataclass(frozen=True, slots=True)
class _Pair:
    """The states of two runs through f then g; `in_second` of them are in g, `first` before."""

    in_second: int
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class _Iterations:
    """The states of two runs through f*; `apart` once only one of them has ended a part."""

    first: int
    second: int
    apart: bool


def ambiguous_concatenation(f: Nfa, g: Nfa) -> Cuts | None:
    """Return a shortest word with two splits into a word of f and one of g; None if unambiguous.

    >>> from elsinore.automata.positions import glushkov
    >>> from elsinore.automata.symbols import Symbol
    >>> from elsinore.model.pattern import Disjunction, Event, Kleene, Sequence
    >>> any_of = Kleene(Disjunction((Event("A", "a"), Event("B", "b"))), 0, None)
    >>> f, g = (
    ...     glushkov(pattern, lambda event: Symbol(event.type)).nfa
    ...     for pattern in (Sequence((any_of, Event("B", "c"))), any_of)
    ... )
    >>> found = ambiguous_concatenation(f, g)  # (a|b)* b (a|b)*
    >>> [letter.type for letter in found.word], found.first, found.second
    (['B', 'B'], (1, 2), (2, 2))
    """
    runs = ParallelRuns((f, g))
    useful_f, useful_g = f.trim(), g.trim()

    def steps(pair: _Pair) -> Iterator[tuple[Symbol, _Pair]]:
        left = g if pair.in_second > 0 else f
        right = g if pair.in_second > 1 else f
        for symbol, first, second in runs.steps(left, pair.first, right, pair.second):
            if first not in (useful_g if pair.in_second > 0 else useful_f):
                continue
            if second not in (useful_g if pair.in_second > 1 else useful_f):
                continue
            yield symbol, _Pair(pair.in_second, first, second)
            if pair.in_second == 0 and first in f.accepting:
                yield symbol, _Pair(1, 0, second)
            if pair.in_second == 1 and second in f.accepting:
                yield symbol, _Pair(2, first, 0)

    def is_goal(pair: _Pair) -> bool:
        return pair.in_second == 2 and pair.first in g.accepting and pair.second in g.accepting

    starts = [_Pair(0, 0, 0), *([_Pair(1, 0, 0)] if 0 in f.accepting else [])]
    path = shortest_path(starts, steps, is_goal)
    if path is None:
        return None
    pairs, word = path[0], runs.intersections.word(path[1])
    cuts = [next(i for i, pair in enumerate(pairs) if pair.in_second >= n) for n in (1, 2)]
    return Cuts(word, (cuts[0], len(word)), (cuts[1], len(word)))


def ambiguous_iteration(f: Nfa) -> Cuts | None:
    """Return a shortest word with two splits into words of f; None if iteration is unambiguous.

    If f accepts the empty word, that is returned: any number of empty parts form it.

    >>> from elsinore.automata.positions import glushkov
    >>> from elsinore.automata.symbols import Symbol
    >>> from elsinore.model.pattern import Event, Kleene
    >>> several = Kleene(Event("A", "a"), 1, None)
    >>> found = ambiguous_iteration(glushkov(several, lambda event: Symbol(event.type)).nfa)
    >>> [letter.type for letter in found.word], found.first, found.second
    (['A', 'A'], (2,), (1, 2))
    """
    if 0 in f.accepting:
        return Cuts((), (), (0,))
    runs = ParallelRuns((f,))
    useful = f.trim()

    def steps(pair: _Iterations) -> Iterator[tuple[Symbol, _Iterations]]:
        for symbol, first, second in runs.steps(f, max(pair.first, 0), f, max(pair.second, 0)):
            for a in (first, CUT) if first in f.accepting else (first,):
                for b in (second, CUT) if second in f.accepting else (second,):
                    if {a, b} <= useful | {CUT}:
                        apart = pair.apart or (a == CUT) != (b == CUT)
                        yield symbol, _Iterations(a, b, apart)

    path = shortest_path(
        [_Iterations(CUT, CUT, apart=False)],
        steps,
        lambda pair: pair.apart and pair.first == CUT and pair.second == CUT,
    )
    if path is None:
        return None
    pairs, word = path[0], runs.intersections.word(path[1])
    first = tuple(i for i, pair in enumerate(pairs) if i and pair.first == CUT)
    second = tuple(i for i, pair in enumerate(pairs) if i and pair.second == CUT)
    return Cuts(word, first, second)
