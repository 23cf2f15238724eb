"""Glushkov's construction: a state for each event in a pattern.

Converts a pattern of events, SEQ, repetition and OR to an automaton without empty transitions.
State 0 is initial and never re-entered; state p + 1 means "the last event of the trend is at
position p". This is HAMLET's query template (Section 3.1, after GRETA).

A NOT applies between the events around it. If a pattern has optional parts, two events can be
adjacent in several *ways*, each with its own NOTs. The pair is allowed if, for at least one way,
none of its NOTs has a match (GRETA's graphs for negative sub-patterns).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from elsinore.automata.nfa import Nfa, Transition
from elsinore.automata.symbols import Symbol
from elsinore.errors import QuerySemanticError
from elsinore.model import pattern as pt

POSITION_LIMIT = 400  # positions of events, with {n,m} expanded; planning takes n^2 steps
PERMUTED_LIMIT = 1_100  # the same with PERMUTE, which has 1,024 for 8 events, and few pairs of them
FOLLOW_LIMIT = 250_000  # pairs of adjacent positions: n^2 for n optional parts
WAYS_LIMIT = 256  # between two places: k choices in a row, each with NOTs of its own, make 2^k

# Alternatives; each is the numbers of the negative patterns that must have no match in between.
Ways = frozenset[frozenset[int]]
FREE: Ways = frozenset({frozenset()})
NO_WAY: Ways = frozenset()


@dataclass(frozen=True, slots=True)
class GuardedPositions:
    """The positions of a pattern with {n,m} expanded, and the NOTs that guard their adjacency.

    `events[p]` is the event at position p; `first` and `last` are the positions that begin and end
    a trend, `follow` the pairs (p, next); `negatives` are the patterns under NOT. `sites` numbers
    the events as written: the copies of an event that {n,m} makes have the same site.
    """

    events: tuple[pt.Event, ...]
    sites: tuple[int, ...]
    first: dict[int, Ways]
    last: dict[int, Ways]
    follow: dict[tuple[int, int], Ways]
    negatives: tuple[pt.Pattern, ...]


def guarded_positions(pattern: pt.Pattern) -> GuardedPositions:
    """Build the positions of a pattern without AND, with the NOTs between them.

    Raises QuerySemanticError for more than `POSITION_LIMIT` positions, `FOLLOW_LIMIT` adjacent
    pairs, or `WAYS_LIMIT` ways between two.

    >>> a, n, b = (pt.Event(name, name.lower()) for name in "ANB")
    >>> positions = guarded_positions(pt.Sequence((a, pt.Negation(n), pt.Kleene(b, 0, 1))))
    >>> positions.follow[0, 1] == positions.last[0] == frozenset({frozenset({0})})
    True
    >>> positions.last[1] == FREE
    True
    """
    built = _Positions(pattern)
    whole = built.build(pattern, ())
    return GuardedPositions(
        tuple(built.events),
        tuple(built.sites),
        {p: ways for p, ways in whole.first.items() if ways},
        {p: ways for p, ways in whole.last.items() if ways},
        {pair: ways for pair, ways in built.follow.items() if ways},
        tuple(built.negatives),
    )


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


def glushkov(pattern: pt.Pattern, label: Callable[[pt.Event], Symbol]) -> Positions:
    """Build the position automaton of a pattern; `label` returns the symbol of an event.

    Repetition counts are expanded as p{2,4} = p p (p (p)?)?, which is unambiguous if p is. Raises
    ValueError for NOT and AND, which the planner removes before because they are not regular, and
    QuerySemanticError for more than `POSITION_LIMIT` positions or `FOLLOW_LIMIT` adjacent pairs.

    >>> several = pt.Kleene(pt.Event("B", "b"), 1, None)
    >>> pattern = pt.Kleene(pt.Sequence((pt.Event("A", "a"), several)), 1, None)
    >>> positions = glushkov(pattern, lambda event: Symbol(event.type))
    >>> sorted(positions.predecessor_types("B")), sorted(positions.predecessor_types("A"))
    (['A', 'B'], ['B'])
    >>> sorted(positions.start_types()), sorted(positions.end_types())
    (['A'], ['B'])
    """
    built = _Positions(pattern)
    whole, events = built.build(pattern, ()), built.events
    if built.negatives:
        raise ValueError("Negation has no positions")
    moves = [(0, p + 1) for p in sorted(whole.first)]
    moves += [(p + 1, q + 1) for p, q in sorted(built.follow)]
    symbols = [label(event) for event in events]
    nfa = Nfa(
        states=len(events) + 1,
        transitions=tuple(Transition(p, symbols[q - 1], q) for p, q in moves),
        accepting=frozenset(p + 1 for p in whole.last) | ({0} if whole.empty else set()),
    )
    first, last = frozenset(whole.first), frozenset(whole.last)
    return Positions(tuple(events), first, last, frozenset(built.follow), nfa)


@dataclass(slots=True)
class _Part:
    """First and last positions of a part of a pattern, each with the NOTs before or after it."""

    empty: Ways  # the ways to match without an event
    first: dict[int, Ways]
    last: dict[int, Ways]


class _Positions:
    """Builds the positions of a pattern recursively."""

    def __init__(self, pattern: pt.Pattern) -> None:
        self._pattern = pattern
        self._limit = position_limit(pattern)
        self._numbers: dict[tuple[int, ...], int] = {}  # sites by path in the pattern
        self.events: list[pt.Event] = []
        self.sites: list[int] = []
        self.negatives: list[pt.Pattern] = []
        self.follow: dict[tuple[int, int], Ways] = {}

    def build(self, node: pt.Pattern, place: tuple[int, ...]) -> _Part:
        """Build the part at a path in the pattern (the indices of children from the root)."""
        match node:
            case pt.Event():
                if len(self.events) >= self._limit:
                    raise too_large(self._pattern)
                self.events.append(node)
                self.sites.append(self._numbers.setdefault(place, len(self._numbers)))
                only = {len(self.events) - 1: FREE}
                return _Part(NO_WAY, only, dict(only))
            case pt.Negation(inner):
                if inner not in self.negatives:
                    self.negatives.append(inner)
                return _Part(frozenset({frozenset({self.negatives.index(inner)})}), {}, {})
            case pt.Sequence(parts):
                whole = _Part(FREE, {}, {})
                for number, part in enumerate(parts):
                    whole = self._join(whole, self.build(part, (*place, number)))
                return whole
            case pt.Disjunction(parts):
                return _any_of([self.build(part, (*place, n)) for n, part in enumerate(parts)])
            case pt.Permutation(parts):
                return self._permute(parts, place)
            case pt.Kleene(inner, least, most):
                return self._repeat(inner, least, most, place)
            case _:
                raise ValueError(f"{type(node).__name__} has no positions")

    def _permute(self, parts: Sequence[pt.Pattern], place: tuple[int, ...]) -> _Part:
        """Join the parts in all orders: one part per set of parts that came before (2^n)."""
        whole = {frozenset[int](): _Part(FREE, {}, {})}
        for chosen in subsets(len(parts)):
            ends = [
                self._join(whole[chosen - {n}], self.build(parts[n], (*place, n)))
                for n in sorted(chosen)
            ]
            whole[chosen] = _any_of(ends)
        return whole[frozenset(range(len(parts)))]

    def _repeat(
        self, inner: pt.Pattern, least: int, most: int | None, place: tuple[int, ...]
    ) -> _Part:
        """Expand a repetition: its obligatory copies, then a loop or nested optional copies.

        For a nullable part, p{n,m} equals p{0,m}. An iteration without events does not count, so a
        NOT in it forbids nothing.
        """
        if pt.nullable(inner):
            least = 0
        copies = max(least, 1) if most is None else most
        parts = [self.build(inner, (*place, 0)) for _ in range(copies)]
        for earlier, later in itertools.pairwise(parts):
            self._link(earlier.last, later.first)
        if most is None:
            self._link(parts[-1].last, parts[-1].first)
        last: dict[int, Ways] = {}
        for part in parts[max(least, 1) - 1 :]:
            last = _merged(last, part.last)
        empty = FREE if least == 0 or not parts else NO_WAY
        return _Part(empty, parts[0].first if parts else {}, last)

    def _join(self, left: _Part, right: _Part) -> _Part:
        pattern = self._pattern
        self._link(left.last, right.first)
        return _Part(
            both(left.empty, right.empty, pattern),
            _merged(
                left.first, {p: both(left.empty, ways, pattern) for p, ways in right.first.items()}
            ),
            _merged(
                {p: both(ways, right.empty, pattern) for p, ways in left.last.items()}, right.last
            ),
        )

    def _link(self, before: dict[int, Ways], after: dict[int, Ways]) -> None:
        if len(before) * len(after) > FOLLOW_LIMIT:
            raise too_large(self._pattern)
        for (p, out), (q, into) in itertools.product(before.items(), after.items()):
            self.follow[p, q] = either(
                self.follow.get((p, q), NO_WAY), both(out, into, self._pattern)
            )
        if len(self.follow) > FOLLOW_LIMIT:
            raise too_large(self._pattern)


def _any_of(parts: Iterable[_Part]) -> _Part:
    """Return the alternative of parts: the union of their positions and ways."""
    whole = _Part(NO_WAY, {}, {})
    for part in parts:
        whole = _Part(
            either(whole.empty, part.empty),
            _merged(whole.first, part.first),
            _merged(whole.last, part.last),
        )
    return whole


def either(*several: Ways) -> Ways:
    """Return the union of ways without those that require a superset of another's NOTs."""
    if FREE in several:
        return FREE
    ways = frozenset().union(*several)
    return frozenset(way for way in ways if not any(less < way for less in ways))


def both(left: Ways, right: Ways, pattern: pt.Pattern) -> Ways:
    """Return the ways of a concatenation: each way of `left` with each of `right`."""
    if len(left) * len(right) > WAYS_LIMIT:
        raise too_many_ways(pattern)
    if left == FREE:
        return right
    if right == FREE:
        return left
    return either(frozenset(a | b for a in left for b in right), NO_WAY)


def _merged(left: dict[int, Ways], right: dict[int, Ways]) -> dict[int, Ways]:
    merged = dict(left)
    for p, ways in right.items():
        merged[p] = either(merged.get(p, NO_WAY), ways)
    return {p: ways for p, ways in merged.items() if ways}


def too_many_ways(pattern: pt.Pattern) -> QuerySemanticError:
    """Return the error for a pattern with too many ways from one event to the next."""
    return QuerySemanticError(
        f"Parts with NOT that may be left out leave more than {WAYS_LIMIT} ways to come from one "
        "event to the next. Put fewer of them next to each other.",
        span=pattern.span,
    )


def subsets(size: int) -> Iterator[frozenset[int]]:
    """Yield the nonempty subsets of range(size), smaller sets first.

    >>> [sorted(chosen) for chosen in subsets(2)]
    [[0], [1], [0, 1]]
    """
    for count in range(1, size + 1):
        yield from map(frozenset, itertools.combinations(range(size), count))


def position_limit(pattern: pt.Pattern) -> int:
    """Return the maximum number of positions: higher for patterns with PERMUTE."""
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


class Entry(NamedTuple):
    """Positions of one site that an event may take, and the NOTs that decide whether it does.

    It takes exactly these if some of `ways` is free and none of `unless`.
    """

    positions: frozenset[int]
    ways: Ways
    unless: Ways = NO_WAY


def entered_at(
    steps: Iterable[tuple[int, Ways]],
    sites: Sequence[int],
    pattern: pt.Pattern,
    *,
    exactly: bool = False,
) -> list[Entry]:
    """Group the positions of one site that are entered by the same ways.

    A run is at all of them or at none: their bindings do not differ. With `exactly`, an event makes
    one entry for each site: the positions of it that NOT allows.

    Raises QuerySemanticError if these are more than `WAYS_LIMIT` sets.

    >>> either_or = [(1, FREE), (2, frozenset({frozenset({0})}))]
    >>> for entry in entered_at(either_or, (0, 0, 0), pt.Event("A", "a"), exactly=True):
    ...     print(sorted(entry.positions), entry.ways == FREE, entry.unless == NO_WAY)
    [1] True False
    [1, 2] False True
    """
    ways_of_position: dict[int, Ways] = {}
    for position, ways in steps:
        ways_of_position[position] = either(ways_of_position.get(position, NO_WAY), ways)
    positions_by_ways: dict[tuple[int, Ways], list[int]] = {}
    for position, ways in ways_of_position.items():
        positions_by_ways.setdefault((sites[position], ways), []).append(position)
    if not exactly:
        return [Entry(frozenset(places), ways) for (_, ways), places in positions_by_ways.items()]
    by_site: dict[int, list[Entry]] = {}
    for (site, ways), places in positions_by_ways.items():
        by_site.setdefault(site, []).append(Entry(frozenset(places), ways))
    return [entry for entries in by_site.values() for entry in _combinations(entries, pattern)]


def _combinations(entries: Sequence[Entry], pattern: pt.Pattern) -> Iterator[Entry]:
    """Yield each set of positions of one site that can be exactly those that NOT allows."""
    if 2 ** len(entries) > WAYS_LIMIT:
        raise too_many_ways(pattern)
    for chosen in itertools.product((False, True), repeat=len(entries)):
        ways, unless = FREE, NO_WAY
        for entry, is_taken in zip(entries, chosen, strict=True):
            if is_taken:
                ways = both(ways, entry.ways, pattern)
            else:
                unless = either(unless, entry.ways)
        possible = frozenset(way for way in ways if not any(other <= way for other in unless))
        places = frozenset().union(
            *(e.positions for e, taken in zip(entries, chosen, strict=True) if taken)
        )
        if places and possible:
            yield Entry(places, possible, unless)
