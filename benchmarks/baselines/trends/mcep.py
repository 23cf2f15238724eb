"""MCEP (SIGMOD 2019): constructs all trends, sharing the construction, and then sums them up.

HAMLET, section 6.1: the "state-of-the-art shared two-step approach". What queries share is the
construction of the trends of a Kleene type: each is made once for all queries with that type,
threshold and comparison. Then each query puts its other events around them. A window of n events
of a Kleene type has 2^n - 1 such trends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.baselines.trends.queries import Events, Totals, TrendQuery

Match = tuple[int, ...]  # the rows of a match


class Mcep:
    """All trends of one window, made when its results are asked for."""

    def __init__(self, queries: Sequence[TrendQuery], kinds: Sequence[str], groups: int) -> None:
        self._queries = tuple(queries)
        self._kinds = tuple(kinds)
        self._groups = groups
        self._fed: list[Events] = []

    def feed(self, events: Events) -> None:
        """Keep the events."""
        self._fed.append(events)

    def totals(self) -> Totals:
        """Construct the trends of each group, and sum up each query's."""
        shape = len(self._queries), self._groups
        counts, sums = np.zeros(shape), np.zeros(shape)
        if not self._fed:
            return Totals(counts, sums)
        kinds = np.concatenate([part.kinds for part in self._fed]).tolist()
        values = np.concatenate([part.values for part in self._fed]).tolist()
        groups = np.concatenate([part.groups for part in self._fed])
        for group in range(self._groups):
            trends = _Trends(np.flatnonzero(groups == group).tolist(), kinds, values)
            for number, query in enumerate(self._queries):
                steps = [self._kinds.index(step.kind) for step in query.steps]
                for repeated in _matches(query, steps, trends):
                    counts[number, group] += 1
                    if query.adds:
                        sums[number, group] += sum(values[row] for row in repeated)
        return Totals(counts, sums)


class _Trends:
    """The trends of each Kleene type, constructed when the first query asks for them."""

    def __init__(self, rows: list[int], kinds: list[int], values: list[float]) -> None:
        self.of_kind: dict[int, list[int]] = {}
        for row in rows:
            self.of_kind.setdefault(kinds[row], []).append(row)
        self._values = values
        self._made: dict[tuple[int, float, bool], list[Match]] = {}

    def of(self, kind: int, query: TrendQuery) -> list[Match]:
        """Return all trends of a type under Kleene plus."""
        shared = kind, query.above, query.rising
        if shared not in self._made:
            made: list[Match] = []
            values = self._values
            for row in self.of_kind.get(kind, []):
                if values[row] > query.above:
                    made += [
                        (*trend, row)
                        for trend in made
                        if not query.rising or values[trend[-1]] <= values[row]
                    ]
                    made.append((row,))
            self._made[shared] = made
        return self._made[shared]


def _matches(query: TrendQuery, steps: list[int], trends: _Trends) -> Iterator[Match]:
    """Yield of each match of a query the rows of its first Kleene type."""
    first = next((at for at, step in enumerate(query.steps) if step.repeats), None)

    def extend(place: int, after: int, repeated: Match) -> Iterator[Match]:
        if place == len(steps):
            yield repeated
            return
        if query.steps[place].repeats:
            for trend in trends.of(steps[place], query):
                if trend[0] > after:
                    yield from extend(place + 1, trend[-1], trend if place == first else repeated)
        else:
            for row in trends.of_kind.get(steps[place], []):
                if row > after:
                    yield from extend(place + 1, row, repeated)

    yield from extend(0, -1, ())
