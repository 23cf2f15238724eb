"""Which positions an event may take, and what must not lie between it and the event before."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from elsinore.automata.positions import (
    FREE,
    NO_WAY,
    WAYS_LIMIT,
    GuardedPositions,
    Ways,
    both,
    either,
    guarded_positions,
    too_many_ways,
)
from elsinore.model import pattern as pt

__all__ = [
    "FREE",
    "NO_WAY",
    "Entry",
    "GuardedPositions",
    "Ways",
    "either",
    "entered_at",
    "guarded_positions",
]


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
