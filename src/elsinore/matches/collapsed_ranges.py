"""Sets of rows in collapsed form that are ranges of the events of each state.

If all conditions are about single events, the set of a state is a range of the events that fit it:
from the first by which the state is reached to the last after which a match can be completed. Both
are computed for all rows at once, state by state.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from elsinore.matches.arrays import EVER, Bools, Ints, Keys
from elsinore.matches.engine.codes import BEGINS, ENDS, MOMENT
from elsinore.matches.operands import Operands
from elsinore.matches.query import are_apart
from elsinore.matches.template import START, MatchTemplate


class StateEvents:
    """The events of each state, before and after any event."""

    def __init__(self, operands: Operands, keys: Keys, fits: Bools) -> None:
        """`fits` [state, event] says which events fit which states."""
        wholes = operands.wholes
        count = wholes.shape[1]
        self.count = count
        # the first event after all of its moment, and the last one before them
        self.after = np.minimum(np.arange(1, count + 2), count)
        self.before = np.arange(-1, count)
        self.before[-1] = -1
        if not are_apart(operands, keys):
            is_first = np.ones(count, dtype=np.bool_)  # of its key and moment
            is_first[1:] = np.diff(wholes[MOMENT]) != 0
            is_first[keys.first_row] = True
            begins = np.flatnonzero(is_first)
            moment = np.cumsum(is_first) - 1
            self.after[:-1] = np.append(begins[1:], count)[moment]
            self.before[:-1] = begins[moment] - 1
        # [state]: all events that fit it, then one that does not exist; -1, then all of them
        self.events = [np.append(np.flatnonzero(row), count) for row in fits]
        self.until = [np.concatenate([[-1], row[:-1]]) for row in self.events]
        self._places = np.zeros((len(fits), count + 1), dtype=np.int64)
        for places, row in zip(self._places, fits, strict=True):
            np.cumsum(row, out=places[1:])

    def place(self, state: int, rows: Ints) -> Ints:
        """Return the number of a state's events before each of some rows."""
        return np.asarray(self._places[state][rows])

    def first(self, state: int, rows: Ints) -> Ints:
        """Return the first event of a state from each row on, `count` if there is none."""
        return np.asarray(self.events[state][self.place(state, rows)])

    def last(self, state: int, rows: Ints) -> Ints:
        """Return the last event of a state up to each row, -1 if there is none."""
        return np.asarray(self.until[state][self.place(state, rows + 1)])


@dataclass(frozen=True, slots=True)
class RangeSets:
    """The sets of some rows: that of a state is `low` to `high` of the events that fit it."""

    rows: Ints  # as in `elsinore.matches.engine.windows`
    state: int  # the state that the first event is in
    fitting: StateEvents
    low: list[Ints]  # [state][row]
    high: list[Ints]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def begins(self) -> Ints:
        """Each row's first event."""
        return self.rows[:, BEGINS]

    def first(self, states: Iterable[int]) -> Ints:
        """Return the first event of the sets of some states, -1 of empty ones."""
        first = np.full(len(self), EVER)
        for state in states:
            if state == self.state:
                return self.begins
            has_events = self.high[state] > self.low[state]
            events = self.fitting.events[state][self.low[state]]
            first = np.minimum(first, np.where(has_events, events, EVER))
        return np.where(first == EVER, -1, first)

    def latest(self, states: Iterable[int]) -> Ints:
        """Return the latest event of the sets of some states, -1 of empty ones."""
        latest = np.full(len(self), -1)
        for state in states:
            if state == self.state:
                latest = np.maximum(latest, self.begins)
            has_events = self.high[state] > self.low[state]
            events = self.fitting.until[state][self.high[state]]
            latest = np.maximum(latest, np.where(has_events, events, -1))
        return latest

    def size(self, states: Iterable[int]) -> Ints:
        """Return the number of events of the sets of some states, each of its own variable."""
        sizes = (self.high[s] - self.low[s] + int(s == self.state) for s in states)
        return np.asarray(sum(sizes, np.zeros(len(self), np.int64)))

    def listed(self) -> tuple[Ints, Ints, Ints]:
        """Return row, event and state of all events of the sets, row by row."""
        count = len(self)
        lengths = [high - low for low, high in zip(self.low, self.high, strict=True)]
        starts = np.cumsum(1 + sum(lengths)) - 1 - sum(lengths)  # the first event comes first
        total = count + int(sum(length.sum() for length in lengths))
        rows, events, states = (np.empty(total, dtype=np.int64) for _ in range(3))
        rows[starts], events[starts], states[starts] = np.arange(count), self.begins, self.state
        starts = starts + 1
        for state, length in enumerate(lengths):
            inside = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
            places = np.repeat(starts, length) + inside
            rows[places] = np.repeat(np.arange(count), length)
            numbers = np.repeat(self.low[state], length) + inside
            events[places] = self.fitting.events[state][numbers]
            states[places] = state
            starts = starts + length
        return rows, events, states


def range_sets(template: MatchTemplate, fitting: StateEvents, state: int, rows: Ints) -> RangeSets:
    """Return the rows of all matches that begin with events in `state`, and their sets."""
    begins, ends = rows[:, BEGINS], rows[:, ENDS]
    moves = [(e.source, e.target) for e in template.edges if e.source != START]
    states = len(template.states)
    passes = 1 if all(source <= target for source, target in moves) else states
    first = [np.full(len(begins), fitting.count) for _ in range(states)]
    for _, (source, target) in itertools.product(range(passes), moves):
        if source == target != state:
            continue  # what follows is later
        before = begins if source == state else first[source]
        nearest = fitting.first(target, fitting.after[before])
        nearest = np.where(nearest > ends, fitting.count, nearest)
        first[target] = np.minimum(first[target], nearest)
    last = [np.full(len(begins), -1) for _ in range(states)]
    for end in template.ends:
        last[end.state] = fitting.last(end.state, ends)
    for _, (source, target) in itertools.product(range(passes), reversed(moves)):
        if source != target:
            nearest = fitting.last(source, fitting.before[last[target]])
            last[source] = np.maximum(last[source], nearest)
    kept = last[state] >= begins
    low = [fitting.place(s, row[kept]) for s, row in enumerate(first)]
    high = [fitting.place(s, row[kept] + 1) for s, row in enumerate(last)]
    high = [np.maximum(lowest, highest) for lowest, highest in zip(low, high, strict=True)]
    return RangeSets(rows[kept], state, fitting, low, high)
