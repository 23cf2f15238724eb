"""AND on the graph path: its patterns go as queries of their own, and pairs are told by theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import enter
from elsinore.model.pattern import Pattern
from elsinore.plan import TrendUnit
from elsinore.plan.guarded import GuardedTemplate
from elsinore.plan.paths import patterns_of
from elsinore.plan.predicates import joined_parts
from elsinore.trends.core.pairs import pairs_of_rows
from elsinore.trends.graph.stepped import Totals
from elsinore.trends.graph.sums import Sums

_NUMBERS = 3  # that tell how many pairs there are
_SECONDS = 1e-5  # that a pair of numbers takes in plain Python, about


@dataclass(frozen=True, slots=True)
class ByPattern:
    """A unit whose queries have one pattern each, and which of them tell a query of the whole.

    Of AND they are one pattern, the other and, where there are trends of both, these
    (`elsinore.plan.taken_apart`).
    """

    unit: TrendUnit
    places: tuple[tuple[int, ...], ...]  # [query]
    patterns: tuple[Pattern, ...]  # those of the unit's queries

    def queries(self, parts: Iterable[int]) -> tuple[int, ...]:
        """Return the queries of the whole unit that some of its queries of one pattern tell."""
        chosen = set(parts)
        return tuple(n for n, places in enumerate(self.places) if not chosen.isdisjoint(places))

    def joined(self, found: Mapping[int, Totals]) -> list[Totals]:
        """Return the totals of each query of the whole unit from those of its patterns."""
        return [
            found[places[0]] if len(places) == 1 else _pairs([found[place] for place in places])
            for places in self.places
        ]


def by_pattern(unit: TrendUnit) -> ByPattern:
    """Return a unit of the graph path pattern by pattern; kept with the unit."""
    if "by pattern" not in unit.kept:
        parts = [patterns_of(template) for template in unit.guarded]
        ends = np.cumsum([0, *map(len, parts)]).tolist()
        places = tuple(tuple(range(ends[n], ends[n + 1])) for n in range(len(parts)))
        guarded = tuple(part for several in parts for part in several)
        patterns = tuple(
            pattern
            for template, several in zip(unit.guarded, parts, strict=True)
            for pattern in _patterns(template, len(several))
        )
        apart = len(guarded) > len(parts)
        unit.kept["by pattern"] = ByPattern(
            replace(unit, guarded=guarded) if apart else unit, places, patterns
        )
    return cast("ByPattern", unit.kept["by pattern"])


def _patterns(template: GuardedTemplate, count: int) -> tuple[Pattern, ...]:
    """Return the patterns of the templates that a query's is taken apart into."""
    whole = template.query.pattern
    return (whole,) if count == 1 else (*joined_parts(whole), whole)[:count]


def _pairs(parts: Sequence[Totals]) -> Totals:
    """Return the pairs of different trends, of the totals of one pattern, the other and both."""
    keys = np.concatenate([part.key for part in parts])
    windows = np.concatenate([part.window for part in parts])
    order = np.lexsort((windows, keys))
    firsts = np.ones(len(order), dtype=np.bool_)
    firsts[1:] = (np.diff(keys[order]) != 0) | (np.diff(windows[order]) != 0)
    rows = np.empty_like(order)
    rows[order] = np.cumsum(firsts) - 1
    every = order[firsts]
    sums: list[NDArray[Any]] = []
    last = 0
    for number in range(_NUMBERS):
        cells, powers = np.zeros(len(every)), np.zeros(len(every), dtype=np.int32)
        if number < len(parts):
            part_sums = parts[number].sums
            first, last = last, last + len(part_sums.cells)
            cells[rows[first:last]] = part_sums.cells[:, 0]
            powers[rows[first:last]] = part_sums.powers[:, 0]
        sums += cells, powers
    pairs, exponents = enter(pairs_of_rows, _SECONDS * len(every), *sums)
    extremes = np.empty((len(every), 0), dtype=np.int64)
    return Totals(keys[every], windows[every], Sums(pairs[:, None], exponents[:, None], extremes))
