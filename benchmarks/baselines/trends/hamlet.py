"""HAMLET's shared execution as its Algorithm 1 is written, with static decisions.

A set of queries shares always, or what its first burst decides is kept for the whole stream, as in
a plan that is made before the stream is known.

Queries with the same Kleene type form a set. The events of that type between two events of other
types of the set are a graphlet. Within it the number of trends that end with an event is an
expression over snapshots: its coefficients are added up over all events before it in the graphlet,
and the expression becomes a number for each query when the graphlet ends. A snapshot at the level
of the graphlet holds what came before (Definition 8), one at the level of an event holds a
number for each query where an event is not accepted by all of them (Definition 9).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from benchmarks.baselines.trends.queries import (
    Doubles,
    Events,
    Ints,
    Tables,
    Totals,
    TrendQuery,
    UnsupportedError,
)


class Hamlet:
    """The graph of one window: sums of each query's steps, and an open graphlet for each set."""

    def __init__(
        self,
        queries: Sequence[TrendQuery],
        kinds: Sequence[str],
        groups: int,
        decisions: dict[str, bool] | None = None,
    ) -> None:
        """`decisions` has whether the queries of a Kleene type share; None if they always do.

        A type that is not in it is decided at its first graphlet, for all windows with the mapping.
        """
        if any(query.rising for query in queries):
            raise UnsupportedError("the expressions of a graphlet that has ended are not kept")
        if any(sum(step.repeats for step in query.steps) != 1 for query in queries):
            raise UnsupportedError("sets of queries share one Kleene type here")
        if any(len({step.kind for step in query.steps}) < len(query.steps) for query in queries):
            raise UnsupportedError("Algorithm 1 has each type once in a pattern")
        self._tables = of = Tables(queries, kinds)
        shape = groups, len(queries), of.width
        self._counts, self._sums = np.zeros(shape), np.zeros(shape)
        self._place = np.array(
            [next(at for at, step in enumerate(query.steps) if step.repeats) for query in queries]
        )
        shared = [
            kinds.index(query.steps[at].kind)
            for query, at in zip(queries, self._place, strict=True)
        ]
        self._sets = {
            kind: np.flatnonzero(np.array(shared) == kind) for kind in dict.fromkeys(shared)
        }
        # the Kleene types of the sets that have a query with a type elsewhere in its pattern
        self._ended_by = [
            [
                kind
                for kind, members in self._sets.items()
                if any(queries[q].steps[s].kind == name for q in members for s in range(of.width)
                       if s < len(queries[q].steps) and s != self._place[q])
            ]
            for name in kinds
        ]  # fmt: skip
        self._open: dict[tuple[int, int], list[float]] = {}
        self._decisions, self._kinds = decisions, kinds

    def feed(self, events: Events) -> None:
        """Take the events one by one, as Algorithm 1 does."""
        rows = zip(
            events.kinds.tolist(), events.values.tolist(), events.groups.tolist(), strict=True
        )
        for kind, value, group in rows:
            for ended in self._ended_by[kind]:
                self._end(ended, group)
            if kind in self._sets:
                self._open.setdefault((kind, group), []).append(value)
            self._plain_steps(kind, group)

    def totals(self) -> Totals:
        """End all graphlets; return the sums of each query's last step."""
        for kind, group in tuple(self._open):
            self._end(kind, group)
        return self._tables.totals(self._counts, self._sums)

    def _plain_steps(self, kind: int, group: int) -> None:
        """Add an event to the sums of the steps without Kleene plus that it is taken by."""
        of = self._tables
        for place in range(of.begins[kind], of.begins[kind + 1]):
            query, step = of.query[place], of.step[place]
            if not of.repeats[query, step]:
                before = (group, query, step - 1)
                self._counts[group, query, step] += self._counts[before] if step else 1.0
                self._sums[group, query, step] += self._sums[before] if step else 0.0

    def _end(self, kind: int, group: int) -> None:
        """Add the graphlet's expressions, with the queries' values in place of its snapshots."""
        values = self._open.pop((kind, group), None)
        if values is None:
            return
        members = self._sets[kind]
        if self._is_shared(kind, np.array(values)):
            self._grow(group, members, np.array(values))
            return
        for number, query in enumerate(members):
            accepted = np.array(values)
            accepted = accepted[accepted > self._tables.above[query]]
            self._grow(group, members[number : number + 1], accepted)

    def _is_shared(self, kind: int, values: Doubles) -> bool:
        """Return whether a graphlet's queries share; decide it by the steps of `_graphlet`."""
        if self._decisions is None:
            return True
        name, members = self._kinds[kind], self._sets[kind]
        if name not in self._decisions:
            accepted = values[:, None] > self._tables.above[members]
            snapshots = 1 + int((~accepted.all(axis=1)).sum())
            shared = snapshots * len(values) ** 2 / 2 + snapshots**2 / 2 * len(members)
            alone = float((accepted.sum(axis=0) ** 2 / 2).sum())
            self._decisions[name] = shared <= alone
        return self._decisions[name]

    def _grow(self, group: int, members: Ints, values: Doubles) -> None:
        """Add a graphlet's events to the sums of some queries, which share them."""
        steps = self._place[members]
        before = np.maximum(steps - 1, 0)
        began = np.where(steps == 0, 1.0, self._counts[group, members, before])
        began_sum = np.where(steps == 0, 0.0, self._sums[group, members, before])
        counts, sums = _graphlet(
            values,
            self._tables.above[members],
            self._tables.adds[members, steps],
            (began, began_sum),
            (self._counts[group, members, steps], self._sums[group, members, steps]),
        )
        self._counts[group, members, steps] += counts
        self._sums[group, members, steps] += sums


@njit(cache=True)
def _graphlet(
    values: Doubles, above: Doubles, adds: Ints, began: tuple[Doubles, Doubles],
    ended: tuple[Doubles, Doubles],
) -> tuple[Doubles, Doubles]:  # fmt: skip
    """Return what each query's sums grow by: Lines 16-24 over one graphlet."""
    events, queries = len(values), len(above)
    # snapshot 0 is the graphlet's; coefficients [event, snapshot], values [snapshot, query]
    weights = np.zeros((events, events + 1))
    added = np.zeros((events, events + 1))
    snapshots = np.zeros((events + 1, queries))
    totals = np.zeros((events + 1, queries))
    snapshots[0] = began[0] + ended[0]
    totals[0] = began[1] + ended[1]
    used = 1
    for event in range(events):
        accepted = values[event] > above
        weights[event, 0] = 1.0
        for earlier in range(event):
            for snapshot in range(used):
                weights[event, snapshot] += weights[earlier, snapshot]
                added[event, snapshot] += added[earlier, snapshot]
        for snapshot in range(used):
            added[event, snapshot] += weights[event, snapshot] * values[event]
        if not accepted.all():  # Definition 9
            for query in range(queries):
                if accepted[query]:
                    for snapshot in range(used):
                        value, weight = snapshots[snapshot, query], weights[event, snapshot]
                        snapshots[used, query] += _times(weight, value)
                        totals[used, query] += _times(weight, totals[snapshot, query])
                        if adds[query]:
                            totals[used, query] += _times(added[event, snapshot], value)
            weights[event, :used] = 0.0
            added[event, :used] = 0.0
            weights[event, used] = 1.0
            used += 1
    counts, sums = np.zeros(queries), np.zeros(queries)
    for snapshot in range(used):
        weight, add = weights[:, snapshot].sum(), added[:, snapshot].sum()
        for query in range(queries):
            counts[query] += _times(weight, snapshots[snapshot, query])
            sums[query] += _times(weight, totals[snapshot, query])
            if adds[query]:
                sums[query] += _times(add, snapshots[snapshot, query])
    return counts, sums


@njit(cache=True)
def _times(coefficient: float, value: float) -> float:
    """Return a term of an expression: none of a snapshot that is infinite is nothing."""
    return coefficient * value if coefficient != 0.0 and value != 0.0 else 0.0
