"""Matches of events with uncertain times, by looking at every possible world.

A world gives each event one of its times; its probability is the product of theirs. The matches in
a world are those of brute force, and a match is as probable as the worlds that have it together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from elsinore.model.query import Query
from oracles.matches import Happening, brute_force

Times = Sequence[tuple[int, float]]  # an event's possible times, each with its probability


@dataclass(frozen=True)
class Probable:
    """A match: group, window, pairs of event number and variable, values; how probable it is."""

    group: tuple[Any, ...]
    window: tuple[int, int] | None
    steps: tuple[tuple[int, str], ...]
    values: tuple[Any, ...]
    confidence: float


def worlds(times: Sequence[Times]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield every way to give each event a time, and how probable it is."""
    for chosen in itertools.product(*times):
        yield tuple(time for time, _ in chosen), math.prod(odds for _, odds in chosen)


def matches_of_worlds(
    query: Query,
    events: Sequence[Happening],
    times: Sequence[Times],
    users: Mapping[str, type] | None = None,
) -> list[Probable]:
    """Return all matches of a query among events with uncertain times."""
    odds: dict[tuple[Any, ...], list[float]] = {}
    values: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for world, probability in worlds(times):
        order = sorted(range(len(events)), key=lambda n: world[n])
        placed = [replace(events[n], time=world[n]) for n in order]
        for match in brute_force(query, placed, users=users):
            steps = tuple((order[number], variable) for number, variable in match.steps)
            key = (match.group, match.window, steps)
            odds.setdefault(key, []).append(probability)
            values[key] = match.values
    return [Probable(*key, values[key], math.fsum(parts)) for key, parts in odds.items()]
