"""Matches in collapsed form: one row for all that begin with an event (SASE++, Section 5.2).

A row has for each variable the set of events that it may be bound to in the matches that begin with
one event under SKIP TILL ANY MATCH. The matches are those choices from the sets, in the order of
the pattern, that satisfy the conditions.

Matches are not enumerated. If all conditions are about single events, the set of a state is a range
of the events that fit it: from the first by which the state is reached to the last after which a
match can be completed. Both are computed for all rows at once, state by state. With conditions
between events or NOT, the events on paths are listed row by row (`elsinore.matches.engine.sets`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.matches.arrays import Doubles, Ints
from elsinore.matches.collapsible import known_conditions, needs_paths
from elsinore.matches.engine import tables as tb
from elsinore.matches.engine.codes import BEGINS, CLASS, ENDS, WINDOW
from elsinore.matches.engine.pattern import NO_BUCKETS, PatternSearch, RowSets
from elsinore.matches.engine.sets import step_sets
from elsinore.matches.found import Found
from elsinore.matches.operands import NULL_CODE, Layout, Operands
from elsinore.matches.reach import NO_NEGATIVES, Reach, cut, due_rows, in_pieces
from elsinore.matches.registers import Register, RegisterKind, register_places
from elsinore.matches.returns import ColumnKind
from elsinore.matches.template import START, MatchTemplate

EVER = np.iinfo(np.int64).max
LISTS = {ColumnKind.LIST, ColumnKind.EVENTS}


@dataclass(frozen=True, slots=True)
class _Sets:
    """The sets of some rows: that of a state is `events[low : high]` of all that fit it."""

    rows: Ints  # as in `elsinore.matches.engine.due`
    state: int  # the state that the first event is in
    events: list[Ints]  # [state]: all events that fit it, then one that does not exist
    until: list[Ints]  # [state]: -1, then all events that fit it
    low: list[Ints]  # [state][row]
    high: list[Ints]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def begins(self) -> Ints:
        """Each row's first event."""
        return self.rows[:, BEGINS]


class CollapsedSearch:
    """The search of one query in collapsed form, as `QuerySearch` is for matches."""

    def __init__(self, template: MatchTemplate, layout: Layout) -> None:
        self.template = template
        self.pattern = PatternSearch(template, layout)
        self._layout = layout
        self._needs_paths = needs_paths(template)
        variables = [state.variable for state in template.states]
        self._is_simple = len(set(variables)) == len(variables)  # a state for each variable
        self._lists = self._needs_paths or any(column.kind in LISTS for column in template.columns)
        self._mixes = any(
            column.kind in LISTS and len(column.variables) > 1 for column in template.columns
        )

    def matches(
        self,
        operands: Operands,
        keys: Ints,
        *,
        window: tuple[int, int, int],
        limit: int,  # noqa: ARG002 - the caller's
    ) -> Iterator[Found]:
        """Yield the rows whose windows have passed by now, in pieces.

        See `elsinore.matches.query.QuerySearch`.
        """
        wholes = operands.wholes
        fits = self.pattern.states.by_state(wholes[CLASS])
        starts = [edge.target for edge in self.template.edges if edge.source == START]
        rows = due_rows(keys, wholes, window, np.any(fits[starts], axis=0))
        if len(rows) == 0:
            return
        if self._needs_paths:
            sets_of_rows = RowSets(self.pattern, operands, keys, window)
            for some in in_pieces(rows):
                yield from self._of_paths(some, fits, operands, sets_of_rows)
            return
        reach = Reach(operands, keys, fits)
        for state in starts:
            begun = rows[fits[state][rows[:, BEGINS]]]
            for some in in_pieces(begun) if self._lists else cut(begun):
                sets = self._sets(reach, state, some)
                if len(sets):
                    yield self._given(sets, operands)

    def _of_paths(
        self,
        rows: Ints,
        fits: NDArray[np.bool_],
        operands: Operands,
        sets: RowSets,
    ) -> Iterator[Found]:
        """Yield rows whose sets are the events on paths, one for each variable they begin with."""
        begins: dict[str, list[int]] = {}
        for edge in self.template.edges:
            if edge.source == START:
                name = self.template.states[edge.target].variable
                begins.setdefault(name, []).append(edge.target)
        for states in begins.values():
            begun = rows[fits[states[0]][rows[:, BEGINS]]]
            triples = np.concatenate(
                [sets.listed(begun, known_conditions(self.template, s), s) for s in states]
            )
            listed = tuple(np.ascontiguousarray(triples[:, column]) for column in range(3))
            kept, listed_rows = np.unique(listed[0], return_inverse=True)
            if len(kept):
                listed = self._each_once(listed_rows, listed[1], listed[2])
                yield self._found(begun[kept], listed, operands)

    def _sets(self, reach: Reach, state: int, rows: Ints) -> _Sets:
        """Return the rows of all matches that begin with events in `state`, and their sets."""
        begins, ends = rows[:, BEGINS], rows[:, ENDS]
        moves = [(e.source, e.target) for e in self.template.edges if e.source != START]
        states = len(self.template.states)
        passes = 1 if all(source <= target for source, target in moves) else states
        first = [np.full(len(begins), reach.count) for _ in range(states)]
        for _, (source, target) in itertools.product(range(passes), moves):
            if source == target != state:
                continue  # what follows is later
            before = begins if source == state else first[source]
            nearest = reach.first(target, reach.after[before])
            first[target] = np.minimum(
                first[target], np.where(nearest > ends, reach.count, nearest)
            )
        last = [np.full(len(begins), -1) for _ in range(states)]
        for end in self.template.ends:
            last[end.state] = reach.last(end.state, ends)
        for _, (source, target) in itertools.product(range(passes), reversed(moves)):
            if source != target:
                nearest = reach.last(source, reach.before[last[target]])
                last[source] = np.maximum(last[source], nearest)
        kept = last[state] >= begins
        low = [reach.place(s, row[kept]) for s, row in enumerate(first)]
        high = [reach.place(s, row[kept] + 1) for s, row in enumerate(last)]
        high = [np.maximum(lowest, highest) for lowest, highest in zip(low, high, strict=True)]
        return _Sets(rows[kept], state, reach.events, reach.until, low, high)

    # --- results

    def _given(self, sets: _Sets, operands: Operands) -> Found:
        """Return rows whose sets are ranges; events are listed only if they are needed."""
        direct = {RegisterKind.FIRST, RegisterKind.LATEST} | (
            {RegisterKind.COUNT} if self._is_simple else set()
        )
        registers = self.template.registers
        if self._lists or any(register.kind not in direct for register in registers):
            return self._found(sets.rows, self._listed(sets), operands, sets)
        return self._found(sets.rows, None, operands, sets)

    def _found(
        self,
        rows: Ints,
        listed: tuple[Ints, Ints, Ints] | None,
        operands: Operands,
        sets: _Sets | None = None,
    ) -> Found:
        """Return rows with their registers, and the events of their sets as paths."""
        count = len(rows)
        events = np.full((count, self.pattern.event_registers), -1, dtype=np.int64)
        numbers: Doubles = np.zeros((count, self.pattern.number_registers))
        registers = self.template.registers
        for register, place in zip(registers, register_places(registers), strict=True):
            states = self._states_of(register.variables)
            column = None if sets is None else self._direct(register.kind, sets, states)
            if column is None:
                assert listed is not None
                column = self._register(register, place, states, listed, count, operands)
            (events if register.kind.holds_event else numbers)[:, place] = column
        starts = np.zeros(count + 1, dtype=np.int64)
        paths = np.zeros((0, 2), dtype=np.int32)
        if sets is not None:
            last = _latest(sets, range(len(self.template.states)))
        if listed is not None:
            of, taken, in_state = listed
            starts[1:] = np.cumsum(np.bincount(of, minlength=count))
            paths = np.stack([taken, in_state], axis=1).astype(np.int32)
            if sets is None:
                last = np.maximum.reduceat(taken, starts[:-1])
        return Found(rows[:, BEGINS], last, rows[:, WINDOW], events, numbers, starts, paths)

    def _direct(self, kind: RegisterKind, sets: _Sets, states: list[int]) -> Any:
        """Return an aggregate that is computed from ranges, None for others."""
        if kind is RegisterKind.FIRST:
            return _first(sets, states)
        if kind is RegisterKind.LATEST:
            return _latest(sets, states)
        if kind is RegisterKind.COUNT and self._is_simple:
            return sum(sets.high[s] - sets.low[s] + int(s == sets.state) for s in states)
        return None

    def _states_of(self, variables: tuple[str, ...]) -> list[int]:
        return [n for n, s in enumerate(self.template.states) if s.variable in variables]

    def _listed(self, sets: _Sets) -> tuple[Ints, Ints, Ints]:
        """Return row, event and state of all events of the sets, row by row."""
        count = len(sets)
        lengths = [high - low for low, high in zip(sets.low, sets.high, strict=True)]
        starts = np.cumsum(1 + sum(lengths)) - 1 - sum(lengths)  # the first event comes first
        total = count + int(sum(length.sum() for length in lengths))
        rows, events, states = (np.empty(total, dtype=np.int64) for _ in range(3))
        rows[starts], events[starts], states[starts] = np.arange(count), sets.begins, sets.state
        starts = starts + 1
        for state, length in enumerate(lengths):
            inside = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
            places = np.repeat(starts, length) + inside
            rows[places] = np.repeat(np.arange(count), length)
            events[places] = sets.events[state][np.repeat(sets.low[state], length) + inside]
            states[places] = state
            starts = starts + length
        return self._each_once(rows, events, states)

    def _each_once(self, rows: Ints, events: Ints, states: Ints) -> tuple[Ints, Ints, Ints]:
        """Return listed events by row and time, each event once for a variable."""
        if self._is_simple and not self._mixes:
            return rows, events, states
        names = list(dict.fromkeys(state.variable for state in self.template.states))
        variable = np.array([names.index(s.variable) for s in self.template.states])[states]
        order = np.lexsort((variable, events, rows))
        rows, events, states, variable = (a[order] for a in (rows, events, states, variable))
        again = np.zeros(len(rows), dtype=np.bool_)
        again[1:] = (np.diff(rows) == 0) & (np.diff(events) == 0) & (np.diff(variable) == 0)
        return rows[~again], events[~again], states[~again]

    def _register(
        self,
        register: Register,
        place: int,
        states: list[int],
        listed: tuple[Ints, Ints, Ints],
        count: int,
        operands: Operands,
    ) -> Any:
        """Return an aggregate of each row's set, as a register has it."""
        rows, events, in_state = listed
        wanted = np.zeros(len(self.template.states), dtype=np.bool_)
        wanted[states] = True
        wanted_events = wanted[in_state]
        rows, events = rows[wanted_events], events[wanted_events]
        if register.kind is RegisterKind.COUNT:
            return np.bincount(rows, minlength=count)
        if register.kind in {RegisterKind.FIRST, RegisterKind.LATEST}:
            is_first = register.kind is RegisterKind.FIRST
            of_rows = np.full(count, EVER if is_first else -1)
            (np.minimum if is_first else np.maximum).at(of_rows, rows, events)
            return np.where(of_rows == EVER, -1, of_rows)
        if register.aggregate is not None:
            results = np.full(count, register.aggregate.empty)
            return self._stepped(place, states, rows, events, results, operands)
        name = register.attribute or ""
        if register.kind in {RegisterKind.SUM, RegisterKind.SUM_HIGH}:
            row = self._layout.half(name, is_high=register.kind is RegisterKind.SUM_HIGH)
            values: Any = operands.doubles[row][events]
            known = ~np.isnan(values)
            total = np.bincount(rows[known], weights=values[known], minlength=count)
            return np.where(np.bincount(rows[known], minlength=count) > 0, total, np.nan)
        is_whole, row = self._layout.comparable(name)
        values = (operands.wholes if is_whole else operands.doubles)[row][events]
        known = values != NULL_CODE if is_whole else ~np.isnan(values)
        rows, events, values = rows[known], events[known], values[known]
        if register.kind is RegisterKind.PRESENT:
            return np.bincount(rows, minlength=count)
        # by row, then by value, then by time: the first of each row is the one
        ranked = np.unique(values, return_inverse=True)[1]
        if register.kind is RegisterKind.GREATEST:
            ranked = -ranked
        order = np.lexsort((events, ranked, rows))
        present, at = np.unique(rows[order], return_index=True)
        of_rows = np.full(count, -1, dtype=np.int64)
        of_rows[present] = events[order][at]
        return of_rows

    def _stepped(
        self,
        place: int,
        states: list[int],
        rows: Ints,
        events: Ints,
        results: Doubles,
        operands: Operands,
    ) -> Doubles:
        """Return a user's aggregate of each row's set, its events in the order of time."""
        order = np.lexsort((events, rows))
        search = self.pattern
        values = tb.Values(operands.doubles, operands.wholes, NO_NEGATIVES, NO_BUCKETS)
        step_sets(
            search.program,
            values,
            search.new_match(),
            states[0],
            place,
            rows[order],
            events[order],
            results,
        )
        search.check_failure()
        return results


def _first(sets: _Sets, states: list[int]) -> Ints:
    """Return the first event of the sets of some states, -1 of empty ones."""
    first = np.full(len(sets), EVER)
    for state in states:
        if state == sets.state:
            return sets.begins
        some = sets.high[state] > sets.low[state]
        first = np.minimum(first, np.where(some, sets.events[state][sets.low[state]], EVER))
    return np.where(first == EVER, -1, first)


def _latest(sets: _Sets, states: Any) -> Ints:
    latest = np.full(len(sets), -1)
    for state in states:
        if state == sets.state:
            latest = np.maximum(latest, sets.begins)
        some = sets.high[state] > sets.low[state]
        latest = np.maximum(latest, np.where(some, sets.until[state][sets.high[state]], -1))
    return latest
