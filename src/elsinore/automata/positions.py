"""Glushkov's construction: a state for each event in a pattern.

Converts a pattern of events, SEQ, repetition and OR to an automaton without empty transitions.
State 0 is initial and never re-entered; state p + 1 means "the last event of the trend is at
position p". This is HAMLET's query template (Section 3.1, after GRETA).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from elsinore.automata.nfa import Nfa, Transition
from elsinore.automata.symbols import Symbol
from elsinore.errors import QuerySemanticError
from elsinore.model import pattern as pt

POSITION_LIMIT = 400  # positions of events, with {n,m} expanded; planning takes n^2 steps
PERMUTED_LIMIT = 1_100  # the same with PERMUTE, which has 1,024 for 8 events, and few pairs of them
FOLLOW_LIMIT = 250_000  # pairs of adjacent positions: n^2 for n optional parts


@dataclass(frozen=True, slots=True)
class Positions:
    """The positions of a pattern, with {n,m} expanded, and the automaton over them.

    `events[p]` is the event at position p; `first` and `last` are the positions that begin and end
    a trend, `follow` the pairs (p, next). State p + 1 of `nfa` is position p.
    """

    events: tuple[pt.Event, ...]
    first: frozenset[int]
    last: frozenset[int]
    follow: frozenset[tuple[int, int]]
    nfa: Nfa

    def start_types(self) -> frozenset[str]:
        """Return the types that may begin a trend: start(q)."""
        return frozenset(self.events[p].type for p in self.first)

    def end_types(self) -> frozenset[str]:
        """Return the types that may end a trend: end(q)."""
        return frozenset(self.events[p].type for p in self.last)

    def predecessor_types(self, name: str) -> frozenset[str]:
        """Return the types that may come right before a type in a trend: pt(E, q)."""
        return frozenset(
            self.events[before].type for before, p in self.follow if self.events[p].type == name
        )

    def predecessors(self, position: int) -> tuple[int, ...]:
        """Return the positions that may come right before a position in a trend, ascending."""
        return tuple(sorted(before for before, after in self.follow if after == position))


@dataclass(slots=True)
class _Part:
    """The positions of a sub-pattern during Glushkov's construction."""

    nullable: bool
    first: frozenset[int]
    last: frozenset[int]


def glushkov(pattern: pt.Pattern, label: Callable[[pt.Event], Symbol]) -> Positions:
    """Build the position automaton of a pattern; `label` returns the symbol of an event.

    Repetition counts are written out as p{2,4} = p p (p (p)?)?, so that they make nothing ambiguous
    that p is not. Raises ValueError for NOT and AND, which are no regular operators on trends (the
    planner takes them out before), and QuerySemanticError where the pattern has more than
    `POSITION_LIMIT` positions or `FOLLOW_LIMIT` pairs of them.

    >>> several = pt.Kleene(pt.Event("B", "b"), 1, None)
    >>> pattern = pt.Kleene(pt.Sequence((pt.Event("A", "a"), several)), 1, None)
    >>> positions = glushkov(pattern, lambda event: Symbol(event.type))
    >>> sorted(positions.predecessor_types("B")), sorted(positions.predecessor_types("A"))
    (['A', 'B'], ['B'])
    >>> sorted(positions.start_types()), sorted(positions.end_types())
    (['A'], ['B'])
    """
    built = _Positions(pattern)
    whole, events = built.build(pattern), built.events
    moves = [(0, p + 1) for p in sorted(whole.first)]
    moves += [(p + 1, q + 1) for p, q in sorted(built.follow)]
    symbols = [label(event) for event in events]
    nfa = Nfa(
        states=len(events) + 1,
        transitions=tuple(Transition(p, symbols[q - 1], q) for p, q in moves),
        accepting=frozenset(p + 1 for p in whole.last) | ({0} if whole.nullable else set()),
    )
    return Positions(tuple(events), whole.first, whole.last, frozenset(built.follow), nfa)


class _Positions:
    """Builds the positions of a pattern part by part."""

    def __init__(self, pattern: pt.Pattern) -> None:
        self._pattern = pattern
        self._limit = position_limit(pattern)
        self.events: list[pt.Event] = []
        self.follow: set[tuple[int, int]] = set()

    def _link(self, before: frozenset[int], after: frozenset[int]) -> None:
        if len(before) * len(after) > FOLLOW_LIMIT:
            raise too_large(self._pattern)
        self.follow.update((p, q) for p in before for q in after)
        if len(self.follow) > FOLLOW_LIMIT:
            raise too_large(self._pattern)

    def _join(self, left: _Part, right: _Part) -> _Part:
        self._link(left.last, right.first)
        return _Part(
            left.nullable and right.nullable,
            left.first | right.first if left.nullable else left.first,
            left.last | right.last if right.nullable else right.last,
        )

    def build(self, node: pt.Pattern) -> _Part:
        """Build a part of the pattern."""
        match node:
            case pt.Event():
                if len(self.events) >= self._limit:
                    raise too_large(self._pattern)
                self.events.append(node)
                place = frozenset({len(self.events) - 1})
                return _Part(nullable=False, first=place, last=place)
            case pt.Sequence(parts):
                whole = _Part(nullable=True, first=frozenset(), last=frozenset())
                for part in parts:
                    whole = self._join(whole, self.build(part))
                return whole
            case pt.Disjunction(parts):
                return _any_of([self.build(part) for part in parts])
            case pt.Permutation(parts):
                return self._permute(parts)
            case pt.Kleene(inner, least, most):
                return self._repeat(inner, least, most)
            case _:
                raise ValueError(f"{type(node).__name__} has no positions")

    def _permute(self, parts: Sequence[pt.Pattern]) -> _Part:
        """Join the parts in all orders; what follows depends on the set of those before alone."""
        whole = {frozenset[int](): _Part(nullable=True, first=frozenset(), last=frozenset())}
        for chosen in subsets(len(parts)):
            ends = [self._join(whole[chosen - {n}], self.build(parts[n])) for n in sorted(chosen)]
            whole[chosen] = _any_of(ends)
        return whole[frozenset(range(len(parts)))]

    def _repeat(self, inner: pt.Pattern, least: int, most: int | None) -> _Part:
        """Expand a repetition: its obligatory copies, then a loop or nested optional copies.

        For a nullable part, obligatory copies add nothing: p{n,m} is p{0,m} then.
        """
        if pt.nullable(inner):
            least = 0
        copies = max(least, 1) if most is None else most
        parts = [self.build(inner) for _ in range(copies)]
        for earlier, later in itertools.pairwise(parts):
            self._link(earlier.last, later.first)
        if most is None:
            self._link(parts[-1].last, parts[-1].first)
        ends = parts[max(least, 1) - 1 :]
        return _Part(
            nullable=least == 0 or not parts,
            first=parts[0].first if parts else frozenset(),
            last=frozenset().union(*(part.last for part in ends)),
        )


def _any_of(parts: Sequence[_Part]) -> _Part:
    """Return what is known of any one of some parts."""
    return _Part(
        any(part.nullable for part in parts),
        frozenset().union(*(part.first for part in parts)),
        frozenset().union(*(part.last for part in parts)),
    )


def subsets(size: int) -> Iterator[frozenset[int]]:
    """Yield the sets of the numbers below `size` but the empty one, smaller sets first.

    >>> [sorted(chosen) for chosen in subsets(2)]
    [[0], [1], [0, 1]]
    """
    for count in range(1, size + 1):
        yield from map(frozenset, itertools.combinations(range(size), count))


def position_limit(pattern: pt.Pattern) -> int:
    """Return how many places for events a pattern may have: PERMUTE makes more of them."""
    permutes = any(isinstance(node, pt.Permutation) for node in pt.walk(pattern))
    return PERMUTED_LIMIT if permutes else POSITION_LIMIT


def too_large(pattern: pt.Pattern) -> QuerySemanticError:
    """Return the error for a pattern with too many positions, or pairs of them."""
    return QuerySemanticError(
        "The pattern, its {n,m} and PERMUTE written out, has more than "
        f"{position_limit(pattern)} places for events or {FOLLOW_LIMIT} pairs of neighbours. Use "
        "smaller counts or fewer optional parts.",
        span=pattern.span,
    )
