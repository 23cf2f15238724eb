"""Glushkov's construction with NOT: which events may be neighbours, and what must not lie between.

A NOT stands between the events around it. Where a pattern has parts that may be left out, two
events can be neighbours in several ways, each with NOTs of its own: it is enough that one of these
*ways* is free (GRETA's graphs for negative sub-patterns).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from elsinore.automata.positions import FOLLOW_LIMIT, position_limit, subsets, too_large
from elsinore.errors import QuerySemanticError
from elsinore.model import pattern as pt

# The numbers of the negative patterns of which no match may lie in between, for each way.
Ways = frozenset[frozenset[int]]

WAYS_LIMIT = 256  # between two places: k choices in a row, each with NOTs of its own, make 2^k

FREE: Ways = frozenset({frozenset()})
NO_WAY: Ways = frozenset()


@dataclass(frozen=True, slots=True)
class GuardedPositions:
    """The positions of a pattern, {n,m} written out, and the ways between them.

    `events[p]` is the event at position p; `first` and `last` are the positions that begin and end
    a trend, `follow` the pairs (p, next); `negatives` the patterns under NOT.
    """

    events: tuple[pt.Event, ...]
    sites: tuple[int, ...]  # of one number: the copies of one event that {n,m} makes
    first: dict[int, Ways]
    last: dict[int, Ways]
    follow: dict[tuple[int, int], Ways]
    negatives: tuple[pt.Pattern, ...]


@dataclass(slots=True)
class _Part:
    empty: Ways  # the ways to take no event at all
    first: dict[int, Ways]
    last: dict[int, Ways]


def guarded_positions(pattern: pt.Pattern) -> GuardedPositions:
    """Build the positions of a pattern without AND.

    Raises QuerySemanticError where there are more than `POSITION_LIMIT` positions, `FOLLOW_LIMIT`
    pairs of them, or `WAYS_LIMIT` ways between two.

    >>> a, n, b = (pt.Event(name, name.lower()) for name in "ANB")
    >>> found = guarded_positions(pt.Sequence((a, pt.Negation(n), pt.Kleene(b, 0, 1))))
    >>> found.follow[0, 1] == found.last[0] == frozenset({frozenset({0})})
    True
    >>> found.last[1] == FREE
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


class _Positions:
    """The positions of a pattern, as they are built part by part."""

    def __init__(self, pattern: pt.Pattern) -> None:
        self._pattern = pattern
        self._limit = position_limit(pattern)
        self._numbers: dict[tuple[int, ...], int] = {}  # of the places of events in the pattern
        self.events: list[pt.Event] = []
        self.sites: list[int] = []
        self.negatives: list[pt.Pattern] = []
        self.follow: dict[tuple[int, int], Ways] = {}

    def build(self, node: pt.Pattern, place: tuple[int, ...]) -> _Part:
        """Build what stands at a place in the pattern."""
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
                raise TypeError(f"{type(node).__name__} has no positions")

    def _permute(self, parts: Sequence[pt.Pattern], place: tuple[int, ...]) -> _Part:
        """Join the parts in all orders, as `elsinore.automata.positions` does."""
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
        """Write a repetition out, as `elsinore.automata.positions` does.

        A round that takes no event is no round: what is under NOT in it forbids nothing.
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
            _both(left.empty, right.empty, pattern),
            _merged(
                left.first, {p: _both(left.empty, ways, pattern) for p, ways in right.first.items()}
            ),
            _merged(
                {p: _both(ways, right.empty, pattern) for p, ways in left.last.items()}, right.last
            ),
        )

    def _link(self, before: dict[int, Ways], after: dict[int, Ways]) -> None:
        if len(before) * len(after) > FOLLOW_LIMIT:
            raise too_large(self._pattern)
        for (p, out), (q, into) in itertools.product(before.items(), after.items()):
            self.follow[p, q] = either(
                self.follow.get((p, q), NO_WAY), _both(out, into, self._pattern)
            )
        if len(self.follow) > FOLLOW_LIMIT:
            raise too_large(self._pattern)


def _any_of(parts: Iterable[_Part]) -> _Part:
    """Return what is known of any one of some parts."""
    whole = _Part(NO_WAY, {}, {})
    for part in parts:
        whole = _Part(
            either(whole.empty, part.empty),
            _merged(whole.first, part.first),
            _merged(whole.last, part.last),
        )
    return whole


def either(*several: Ways) -> Ways:
    """Return the ways of all; one that asks for more than another is left out."""
    ways = frozenset().union(*several)
    return frozenset(way for way in ways if not any(less < way for less in ways))


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
    """Put positions of one site together that are entered by the same ways.

    A run stands at all of them or at none: they cannot be told apart by what is bound. With
    `exactly`, an event makes one entry for each site: the positions of it that NOT allows.

    Raises QuerySemanticError if these are more than `WAYS_LIMIT` sets.

    >>> either_or = [(1, FREE), (2, frozenset({frozenset({0})}))]
    >>> for entry in entered_at(either_or, (0, 0, 0), pt.Event("A", "a"), exactly=True):
    ...     print(sorted(entry.positions), entry.ways == FREE, entry.unless == NO_WAY)
    [1] True False
    [1, 2] False True
    """
    entered: dict[int, Ways] = {}
    for position, ways in steps:
        entered[position] = either(entered.get(position, NO_WAY), ways)
    together: dict[tuple[int, Ways], list[int]] = {}
    for position, ways in entered.items():
        together.setdefault((sites[position], ways), []).append(position)
    if not exactly:
        return [Entry(frozenset(places), ways) for (_, ways), places in together.items()]
    by_site: dict[int, list[Entry]] = {}
    for (site, ways), places in together.items():
        by_site.setdefault(site, []).append(Entry(frozenset(places), ways))
    return [entry for entries in by_site.values() for entry in _combinations(entries, pattern)]


def _combinations(entries: Sequence[Entry], pattern: pt.Pattern) -> Iterator[Entry]:
    """Yield the sets of positions, of one site, that NOT may allow together and no others."""
    if 2 ** len(entries) > WAYS_LIMIT:
        raise _too_many_ways(pattern)
    for chosen in itertools.product((False, True), repeat=len(entries)):
        ways, unless = FREE, NO_WAY
        for entry, is_taken in zip(entries, chosen, strict=True):
            if is_taken:
                ways = _both(ways, entry.ways, pattern)
            else:
                unless = either(unless, entry.ways)
        possible = frozenset(way for way in ways if not any(other <= way for other in unless))
        places = frozenset().union(
            *(e.positions for e, taken in zip(entries, chosen, strict=True) if taken)
        )
        if places and possible:
            yield Entry(places, possible, unless)


def _both(left: Ways, right: Ways, pattern: pt.Pattern) -> Ways:
    """Return the ways of one after the other."""
    if len(left) * len(right) > WAYS_LIMIT:
        raise _too_many_ways(pattern)
    return either(frozenset(a | b for a in left for b in right), NO_WAY)


def _merged(left: dict[int, Ways], right: dict[int, Ways]) -> dict[int, Ways]:
    merged = dict(left)
    for p, ways in right.items():
        merged[p] = either(merged.get(p, NO_WAY), ways)
    return {p: ways for p, ways in merged.items() if ways}


def _too_many_ways(pattern: pt.Pattern) -> QuerySemanticError:
    return QuerySemanticError(
        f"Parts with NOT that may be left out leave more than {WAYS_LIMIT} ways to come from one "
        "event to the next. Put fewer of them next to each other.",
        span=pattern.span,
    )
