"""Matches in collapsed form: one row for all that begin with an event (SASE++, Section 5.2).

A row has for each variable the set of events that it may be bound to in the matches that begin with
one event under SKIP TILL ANY MATCH. The matches are the selections from the sets, in the order of
the pattern, that satisfy the conditions.

Matches are not enumerated. If all conditions are about single events, the set of a state is a range
of the events that fit it: from the first by which the state is reached to the last after which a
match can be completed. Both are computed for all rows at once, state by state (`range_sets`). With
conditions between events or NOT, the events on paths are listed row by row
(`elsinore.matches.engine.sets`).

Under SKIP TILL NEXT MATCH and CONTIGUOUS an event may be skipped or not depending on other events;
if times are uncertain, a match counts depending on its confidence. Then the sets of a row have the
events of the matches that begin with its first event, and these matches are searched.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from elsinore.matches.arrays import (
    EVER,
    Bools,
    Doubles,
    Ints,
    Keys,
    MatchBatch,
    Shorts,
    bounded_parts,
)
from elsinore.matches.dependence import known_conditions, needs_paths
from elsinore.matches.engine.codes import BEGINS, CLASS, ENDS, MOMENT, WINDOW
from elsinore.matches.engine.pattern import PatternSearch
from elsinore.matches.engine.sets import all_sets, fill_registers
from elsinore.matches.engine.tables import Values, values_alone
from elsinore.matches.engine.windows import due_windows
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.query import ANY_NUMBER, LISTED, QuerySearch, are_apart
from elsinore.matches.registers import RegisterKind, register_places
from elsinore.matches.template import START, MatchTemplate
from elsinore.matches.uncertain import UncertainSearch

ROWS = 1 << 15  # rows returned at a time
LISTED_EVENTS = 1 << 20  # events in the windows of rows whose sets are listed at a time
NO_PATHS: Shorts = np.zeros((0, 2), np.int32)
Listed = tuple[Ints, Ints, Ints]  # row, event and state of the events of sets, row by row


class CollapsedSearch:
    """The search for the rows of one query in collapsed form (SKIP TILL ANY MATCH)."""

    def __init__(
        self, template: MatchTemplate, layout: Layout, pattern: PatternSearch | None = None
    ) -> None:
        self.template = template
        self.pattern = pattern or PatternSearch(template, layout)
        self._needs_paths = needs_paths(template)
        variables = [state.variable for state in template.states]
        self.variables = np.array([variables.index(name) for name in variables], np.int64)
        self._is_simple = len(set(variables)) == len(variables)  # one state for each variable
        listed = [column for column in template.columns if column.kind in LISTED]
        self._lists = self._needs_paths or bool(listed)

    def matches(
        self,
        operands: Operands,
        keys: Keys,
        limit: int,  # noqa: ARG002 - the caller's
    ) -> Iterator[MatchBatch]:
        """Yield the rows whose windows have passed since the last call, in batches."""
        wholes = operands.wholes
        fits = self.pattern.states.by_state(wholes[CLASS])
        starts = [edge.target for edge in self.template.edges if edge.source == START]
        begins = np.any(fits[starts], axis=0)
        rows = due_windows(wholes, keys, self.template.window, begins)
        if len(rows) == 0:
            return
        if self._needs_paths:
            values = self.pattern.values(operands, keys, self.template.window.within)
            for part in self._parts(rows):
                yield from self._of_paths(rows[part], fits, operands, values, keys)
            return
        fitting = StateEvents(operands, keys, fits)
        for state in starts:
            begun = rows[fits[state][rows[:, BEGINS]]]
            for part in self._parts(begun):
                sets = range_sets(self.template, fitting, state, begun[part])
                if len(sets):
                    yield self._of_ranges(sets, operands)

    def _parts(self, rows: Ints) -> Iterator[slice]:
        """Yield parts of rows, with few events in their windows if events are listed."""
        lengths = rows[:, ENDS] - rows[:, BEGINS] + 1
        return bounded_parts(lengths, LISTED_EVENTS if self._lists else EVER, ROWS)

    def _of_paths(
        self, rows: Ints, fits: Bools, operands: Operands, values: Values, keys: Keys
    ) -> Iterator[MatchBatch]:
        """Yield rows whose sets are events on paths, by the variable of their first events."""
        begins: dict[str, list[int]] = {}
        for edge in self.template.edges:
            if edge.source == START:
                name = self.template.states[edge.target].variable
                begins.setdefault(name, []).append(edge.target)
        for states in begins.values():
            begun = rows[fits[states[0]][rows[:, BEGINS]]]
            listed = []
            for state in states:
                known = known_conditions(self.template, state)
                self.pattern.search.begin_at(values, keys, *self.template.window)
                listed.append(
                    all_sets(self.pattern.program, self.pattern.search, begun, known, state)
                )
            triples = np.concatenate(listed)
            of_rows, events, of_states = triples.T
            with_events, numbers = np.unique(of_rows, return_inverse=True)
            if len(with_events):
                listed_once = self._each_once(numbers, events, of_states)
                yield self.row_batch(begun[with_events], listed_once, operands)

    def _of_ranges(self, sets: RangeSets, operands: Operands) -> MatchBatch:
        """Return rows whose sets are ranges; events are listed only if columns need them."""
        direct = {RegisterKind.FIRST, RegisterKind.LATEST}
        if self._is_simple:
            direct.add(RegisterKind.COUNT)
        registers = self.template.registers
        if self._lists or any(register.kind not in direct for register in registers):
            return self.row_batch(sets.rows, self._each_once(*sets.listed()), operands)
        events, numbers = self._empty_registers(len(sets))
        for register, place in zip(registers, register_places(registers), strict=True):
            states = [
                n for n, s in enumerate(self.template.states) if s.variable in register.variables
            ]
            if register.kind is RegisterKind.FIRST:
                events[:, place] = sets.first(states)
            elif register.kind is RegisterKind.LATEST:
                events[:, place] = sets.latest(states)
            else:
                numbers[:, place] = sets.size(states)
        last = sets.latest(range(len(self.template.states)))
        starts = np.zeros(len(sets) + 1, np.int64)
        return _batch(sets.rows, last, events, numbers, starts, NO_PATHS)

    def _each_once(self, rows: Ints, events: Ints, states: Ints) -> Listed:
        """Return listed events by row and time, each event once for a variable."""
        if self._is_simple and self._needs_paths:  # they are in this order, each once
            return rows, events, states
        variable = self.variables[states]
        order = np.lexsort((variable, events, rows))
        rows, events, states, variable = (a[order] for a in (rows, events, states, variable))
        again = np.zeros(len(rows), dtype=np.bool_)
        again[1:] = (np.diff(rows) == 0) & (np.diff(events) == 0) & (np.diff(variable) == 0)
        return rows[~again], events[~again], states[~again]

    def _empty_registers(self, rows: int) -> tuple[Ints, Doubles]:
        """Return empty registers of rows: [row, register]."""
        events = np.full((rows, self.pattern.event_registers), -1, np.int64)
        return events, np.zeros((rows, self.pattern.number_registers))

    def row_batch(self, rows: Ints, listed: Listed, operands: Operands) -> MatchBatch:
        """Return rows with the events of their sets as paths, and the registers of these."""
        of_rows, of_events, of_states = map(np.ascontiguousarray, listed)
        events, numbers = self._empty_registers(len(rows))
        pattern = self.pattern
        pattern.search.values = values_alone(operands.doubles, operands.wholes)
        fill_registers(
            pattern.program, pattern.search, of_rows, of_events, of_states, events, numbers
        )
        pattern.check_failure()
        starts = np.append(0, np.cumsum(np.bincount(of_rows, minlength=len(rows))))
        paths = np.stack([of_events, of_states], axis=1).astype(np.int32)
        last = np.maximum.reduceat(of_events, starts[:-1])
        return _batch(rows, last, events, numbers, starts, paths)


def _batch(
    rows: Ints, last: Ints, events: Ints, numbers: Doubles, starts: Ints, paths: Shorts
) -> MatchBatch:
    """Return rows in collapsed form as matches, with their last events and registers."""
    return MatchBatch(rows[:, BEGINS], last, rows[:, WINDOW], events, numbers, starts, paths)


class CollectedSearch:
    """The search for the rows of one query in collapsed form, made of its matches."""

    def __init__(self, template: MatchTemplate, layout: Layout) -> None:
        kind = QuerySearch if template.uncertain is None else UncertainSearch
        self._matches = kind(template, layout)
        self._matches.wants_paths = True
        self.template = template
        self.pattern = self._matches.pattern
        self._rows = CollapsedSearch(template, layout, self.pattern)

    def matches(
        self,
        operands: Operands,
        keys: Keys,
        limit: int,  # noqa: ARG002 - of rows, the caller's
    ) -> Iterator[MatchBatch]:
        """Yield the rows whose windows have passed since the last call, in batches."""
        batches = self._matches.matches(operands, keys, ANY_NUMBER)
        collected = [self._collected(batch) for batch in batches]
        if not collected:
            return
        columns, _ = _distinct(np.concatenate(collected, axis=1), 5)
        _, begins = _distinct(columns, 3)
        edges = np.append(begins, columns.shape[1])
        for start in range(0, len(begins), ROWS):
            some = edges[start : start + ROWS + 1]
            first, _, window, event, _, state = columns[:, some[0] : some[-1]]
            rows = np.zeros((len(some) - 1, ENDS + 1), dtype=np.int64)
            rows[:, BEGINS] = first[some[:-1] - some[0]]
            rows[:, WINDOW] = window[some[:-1] - some[0]]
            of_rows = np.repeat(np.arange(len(rows)), np.diff(some))
            yield self._rows.row_batch(rows, (of_rows, event, state), operands)

    def _collected(self, matches: MatchBatch) -> Ints:
        """Return the events of the rows of some matches, each event once for a variable.

        The result's rows: first event, its variable and window, which identify a row in collapsed
        form; event, its variable and state.
        """
        of_match = np.repeat(np.arange(len(matches)), np.diff(matches.starts))
        state = matches.paths[:, 1].astype(np.int64)
        variable = self._rows.variables[state]
        begins_with = variable[matches.starts[:-1]]
        of_row = [matches.first[of_match], begins_with[of_match], matches.window[of_match]]
        return _distinct(np.stack([*of_row, matches.paths[:, 0], variable, state]), 5)[0]


def _distinct(columns: Ints, count: int) -> tuple[Ints, Ints]:
    """Return columns sorted, each once by its first `count` rows, and their places."""
    columns = columns[:, np.lexsort(columns[::-1])]
    is_new = np.ones(columns.shape[1], dtype=np.bool_)
    is_new[1:] = np.any(np.diff(columns[:count], axis=1) != 0, axis=0)
    places = np.flatnonzero(is_new)
    return columns[:, places], places


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
    has_matches = last[state] >= begins
    low = [fitting.place(s, row[has_matches]) for s, row in enumerate(first)]
    high = [fitting.place(s, row[has_matches] + 1) for s, row in enumerate(last)]
    high = [np.maximum(lowest, highest) for lowest, highest in zip(low, high, strict=True)]
    return RangeSets(rows[has_matches], state, fitting, low, high)
