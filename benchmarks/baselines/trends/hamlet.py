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
    Tables,
    Totals,
    TrendQuery,
    UnsupportedError,
)

UNDECIDED, ALONE, SHARED = -1, 0, 1  # what a static plan says of a type's queries
ROOM = 64  # events of a graphlet, at first


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
        self._sums = np.zeros(shape), np.zeros(shape)
        place = np.array(
            [next(at for at, step in enumerate(query.steps) if step.repeats) for query in queries]
        )
        repeated = [query.steps[at].kind for query, at in zip(queries, place, strict=True)]
        self._names = list(dict.fromkeys(repeated))  # a set of queries for each Kleene type
        members = np.array([[name == kind for kind in repeated] for name in self._names])
        # by type and set: whether an event of the type ends a graphlet of the set
        ends = np.array(
            [
                [any(step.kind == kind and kind != name
                     for query in np.flatnonzero(mine) for step in queries[query].steps)
                 for name, mine in zip(self._names, members, strict=True)]
                for kind in kinds
            ]
        )  # fmt: skip
        taken_by = np.array(
            [self._names.index(kind) if kind in self._names else -1 for kind in kinds]
        )
        self._sets = taken_by, members, ends, place
        self._open = np.zeros((groups, len(self._names), ROOM))
        self._lengths = np.zeros((groups, len(self._names)), np.int64)
        self._decisions = decisions

    def feed(self, events: Events) -> None:
        """Take the events one by one, as Algorithm 1 does."""
        needed = int(self._lengths.max(initial=0)) + len(events)
        if needed > self._open.shape[2]:
            more = np.zeros((*self._open.shape[:2], 2 * needed - self._open.shape[2]))
            self._open = np.concatenate((self._open, more), axis=2)
        plan = self._plan()
        _feed(
            (events.kinds, events.values, events.groups),
            self._of_steps(),
            self._sets,
            (self._open, self._lengths),
            self._sums,
            plan,
        )
        self._keep(plan)

    def totals(self) -> Totals:
        """End all graphlets; return the sums of each query's last step."""
        plan = self._plan()
        for group, number in np.argwhere(self._lengths > 0).tolist():
            _end(
                number, group, self._of_steps(), self._sets, (self._open, self._lengths),
                self._sums, plan,
            )  # fmt: skip
        self._keep(plan)
        return self._tables.totals(*self._sums)

    def _of_steps(self) -> tuple[np.ndarray, ...]:
        of = self._tables
        return of.begins, of.query, of.step, of.repeats, of.adds, of.above

    def _plan(self) -> np.ndarray:
        """Return what is decided for each set of queries."""
        if self._decisions is None:
            return np.full(len(self._names), SHARED)
        return np.array([int(self._decisions.get(name, UNDECIDED)) for name in self._names])

    def _keep(self, plan: np.ndarray) -> None:
        """Keep what was decided for the windows to come."""
        if self._decisions is not None:
            for name, decided in zip(self._names, plan.tolist(), strict=True):
                if decided != UNDECIDED:
                    self._decisions[name] = decided == SHARED


@njit(cache=True)
def _feed(events, tables, sets, opened, sums, plan):
    """Add events to the open graphlets, which others end, and to the steps without Kleene plus."""
    kinds, values, groups = events
    begins, queries, steps, repeats = tables[:4]
    taken_by, _, ends, _ = sets
    graphlets, lengths = opened
    counts, totals = sums
    for row in range(len(kinds)):
        kind, value, group = kinds[row], values[row], groups[row]
        for number in range(ends.shape[1]):
            if ends[kind, number] and lengths[group, number]:
                _end(number, group, tables, sets, opened, sums, plan)
        number = taken_by[kind]
        if number >= 0:
            graphlets[group, number, lengths[group, number]] = value
            lengths[group, number] += 1
        for place in range(begins[kind], begins[kind + 1]):
            query, step = queries[place], steps[place]
            if not repeats[query, step]:
                counts[group, query, step] += counts[group, query, step - 1] if step else 1.0
                totals[group, query, step] += totals[group, query, step - 1] if step else 0.0


@njit(cache=True)
def _end(number, group, tables, sets, opened, sums, plan):
    """Add a graphlet's expressions, with the queries' values in place of its snapshots."""
    adds, above = tables[4:]
    _, of_sets, _, places = sets
    graphlets, lengths = opened
    counts, totals = sums
    values = graphlets[group, number, : lengths[group, number]].copy()
    lengths[group, number] = 0
    members = np.flatnonzero(of_sets[number])
    if plan[number] == UNDECIDED:
        plan[number] = SHARED if _is_cheaper_shared(values, above[members]) else ALONE
    parts = 1 if plan[number] == SHARED else len(members)
    for part in range(parts):
        mine = members if parts == 1 else members[part : part + 1]
        taken = values if parts == 1 else values[values > above[mine[0]]]
        before, before_sums = np.ones(len(mine)), np.zeros(len(mine))
        adding = np.zeros(len(mine), np.bool_)
        for at, query in enumerate(mine):
            step = places[query]
            adding[at] = adds[query, step]
            if step > 0:
                before[at] = counts[group, query, step - 1]
                before_sums[at] = totals[group, query, step - 1]
            before[at] += counts[group, query, step]
            before_sums[at] += totals[group, query, step]
        more, more_sums = _graphlet(taken, above[mine], adding, before, before_sums)
        for at, query in enumerate(mine):
            counts[group, query, places[query]] += more[at]
            totals[group, query, places[query]] += more_sums[at]


@njit(cache=True)
def _is_cheaper_shared(values, above):
    """Return whether the steps of `_graphlet` are fewer for all queries than query by query."""
    snapshots, alone = 1.0, 0.0
    for value in values:
        snapshots += not (value > above).all()
    for least in above:
        alone += (values > least).sum() ** 2 / 2
    return snapshots * len(values) ** 2 / 2 + snapshots**2 / 2 * len(above) <= alone


@njit(cache=True)
def _graphlet(
    values: Doubles, above: Doubles, adds: Doubles, before: Doubles, before_sums: Doubles
) -> tuple[Doubles, Doubles]:
    """Return what each query's sums grow by: Lines 16-24 over one graphlet.

    before, before_sums: by query, the trends that its first event continues.
    """
    events, queries = len(values), len(above)
    # snapshot 0 is the graphlet's; coefficients [event, snapshot], values [snapshot, query]
    weights = np.zeros((events, events + 1))
    added = np.zeros((events, events + 1))
    snapshots = np.zeros((events + 1, queries))
    totals = np.zeros((events + 1, queries))
    snapshots[0] = before
    totals[0] = before_sums
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
