"""Glushkov's construction with NOT: which events may be neighbours, and what must not lie between.

A NOT stands between the events around it. Where a pattern has parts that may be left out, two
events can be neighbours in several ways, each with NOTs of its own: it is enough that one of these
*ways* is free (GRETA's graphs for negative sub-patterns).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from elsinore.automata.positions import FOLLOW_LIMIT, POSITION_LIMIT
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
    events: list[pt.Event] = []
    sites: list[int] = []
    numbers: dict[tuple[int, ...], int] = {}  # of the places of events in the pattern
    negatives: list[pt.Pattern] = []
    follow: dict[tuple[int, int], Ways] = {}

    def both(one: Ways, other: Ways) -> Ways:
        """Return the ways of one after the other."""
        if len(one) * len(other) > WAYS_LIMIT:
            raise _too_many_ways(pattern)
        return either(frozenset(a | b for a in one for b in other), NO_WAY)

    def link(before: dict[int, Ways], after: dict[int, Ways]) -> None:
        if len(before) * len(after) > FOLLOW_LIMIT:
            raise _too_large(pattern)
        for (p, out), (q, into) in itertools.product(before.items(), after.items()):
            follow[p, q] = either(follow.get((p, q), NO_WAY), both(out, into))
        if len(follow) > FOLLOW_LIMIT:
            raise _too_large(pattern)

    def join(one: _Part, other: _Part) -> _Part:
        link(one.last, other.first)
        return _Part(
            both(one.empty, other.empty),
            _merged(one.first, {p: both(one.empty, ways) for p, ways in other.first.items()}),
            _merged({p: both(ways, other.empty) for p, ways in one.last.items()}, other.last),
        )

    def build(node: pt.Pattern, place: tuple[int, ...]) -> _Part:
        match node:
            case pt.Event():
                if len(events) >= POSITION_LIMIT:
                    raise _too_large(pattern)
                events.append(node)
                sites.append(numbers.setdefault(place, len(numbers)))
                return _Part(NO_WAY, {len(events) - 1: FREE}, {len(events) - 1: FREE})
            case pt.Negation(inner):
                if inner not in negatives:
                    negatives.append(inner)
                return _Part(frozenset({frozenset({negatives.index(inner)})}), {}, {})
            case pt.Sequence(parts):
                whole = _Part(FREE, {}, {})
                for number, part in enumerate(parts):
                    whole = join(whole, build(part, (*place, number)))
                return whole
            case pt.Disjunction(parts):
                whole = _Part(NO_WAY, {}, {})
                for built in [build(part, (*place, n)) for n, part in enumerate(parts)]:
                    whole = _Part(
                        either(whole.empty, built.empty),
                        _merged(whole.first, built.first),
                        _merged(whole.last, built.last),
                    )
                return whole
            case pt.Kleene(inner, least, most):
                return repeat(inner, least, most, place)
            case _:
                raise TypeError(f"{type(node).__name__} has no positions")

    def repeat(inner: pt.Pattern, least: int, most: int | None, place: tuple[int, ...]) -> _Part:
        """Write a repetition out, as `elsinore.automata.positions` does.

        A round that takes no event is no round: what is under NOT in it forbids nothing.
        """
        if pt.nullable(inner):
            least = 0
        copies = max(least, 1) if most is None else most
        parts = [build(inner, (*place, 0)) for _ in range(copies)]
        for one, other in itertools.pairwise(parts):
            link(one.last, other.first)
        if most is None:
            link(parts[-1].last, parts[-1].first)
        last: dict[int, Ways] = {}
        for part in parts[max(least, 1) - 1 :]:
            last = _merged(last, part.last)
        empty = FREE if least == 0 or not parts else NO_WAY
        return _Part(empty, parts[0].first if parts else {}, last)

    whole = build(pattern, ())
    return GuardedPositions(
        tuple(events),
        tuple(sites),
        {p: ways for p, ways in whole.first.items() if ways},
        {p: ways for p, ways in whole.last.items() if ways},
        {pair: ways for pair, ways in follow.items() if ways},
        tuple(negatives),
    )


def either(*several: Ways) -> Ways:
    """Return the ways of all; one that asks for more than another is left out."""
    ways = frozenset().union(*several)
    return frozenset(way for way in ways if not any(less < way for less in ways))


def _merged(one: dict[int, Ways], other: dict[int, Ways]) -> dict[int, Ways]:
    found = dict(one)
    for p, ways in other.items():
        found[p] = either(found.get(p, NO_WAY), ways)
    return {p: ways for p, ways in found.items() if ways}


def _too_large(pattern: pt.Pattern) -> QuerySemanticError:
    return QuerySemanticError(
        f"The pattern, its {{n,m}} written out, has more than {POSITION_LIMIT} places for events "
        f"or {FOLLOW_LIMIT} pairs of neighbours. Use smaller counts or fewer optional parts.",
        span=pattern.span,
    )


def _too_many_ways(pattern: pt.Pattern) -> QuerySemanticError:
    return QuerySemanticError(
        f"Parts with NOT that may be left out leave more than {WAYS_LIMIT} ways to come from one "
        "event to the next. Put fewer of them next to each other.",
        span=pattern.span,
    )
