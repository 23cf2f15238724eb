"""Deterministic queries, merged into one program for `elsinore.matches.engine.backwards`.

States of any queries become one state if the same events continue them, to equal states, with the
same effect on the registers (the coarsest partition of an automaton's states, as in its
minimization). Queries whose matches begin equally share a *lane*: its matches are those of each of
them.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import numpy as np

from elsinore.automata.positions import FREE
from elsinore.matches.arrays import NO_WINDOW, Ints
from elsinore.matches.engine import backwards as bw
from elsinore.matches.engine.pattern import PatternSearch
from elsinore.matches.registers import Register, RegisterKind
from elsinore.matches.returns import ColumnKind
from elsinore.matches.template import START, MatchTemplate
from elsinore.model.kinds import Strategy
from elsinore.operators.conditions.code import Program as Code
from elsinore.operators.conditions.comparisons import NEIGHBOUR, Comparison
from elsinore.operators.conditions.tables import Conditions
from elsinore.plan.merged import coarsest_division
from elsinore.structs import table

MOST_ENTRIES = 1 << 16
MOST_MOVES = 1 << 20  # classes and states of a query, multiplied
REGISTERS = 2  # numbers of a match, behind its first and last row
NEVER, MISSING, ALWAYS = -(2**62), 0, 2**62  # a number below becomes the row
_FROM = {RegisterKind.FIRST: ALWAYS, RegisterKind.LATEST: MISSING, RegisterKind.COUNT: NEVER}
_LISTED = {ColumnKind.LIST, ColumnKind.EVENTS, ColumnKind.MATCH_NUMBER}

Place = tuple[int, int]  # a query, by its number, and a state of it


def is_mergeable(template: MatchTemplate, search: PatternSearch) -> bool:
    """Return whether a query's matches can be computed backwards from their last events.

    That is if only comparisons of neighbouring events decide how a match continues, nothing
    follows where a match ends, and registers hold what `backwards.CHANGE` describes.
    """
    query = template.query
    ends = {end.state for end in template.ends}
    first = [edge for edge in template.edges if edge.source == START]
    comparisons = [search.compiled.comparisons[n] for edge in template.edges for n in edge.checks]
    is_relative = query.window is None or not query.window.slide
    has_no_limit = query.limit is None or bool(query.distinct)
    return (
        template.strategy is not Strategy.ANY
        and not (template.duplicates or template.final or template.negatives or query.collapsed)
        and template.uncertain is None
        and is_relative
        and has_no_limit
        and all(edge.ways == FREE and not edge.late for edge in template.edges)
        and all(end.ways == FREE for end in template.ends)
        and not any(edge.source in ends for edge in template.edges)
        and not any(edge.target in ends or edge.checks for edge in first)
        and all(one is not None and one.register == NEIGHBOUR for one in comparisons)
        and (
            template.strategy is Strategy.CONTIGUOUS
            or not any(edge.checks or edge.unless for edge in template.edges)
        )
        and all(r.kind in _FROM and not r.position for r in template.registers)
        and not any(column.kind in _LISTED for column in template.columns)
    )


def known_row(template: MatchTemplate, register: Register) -> int | None:
    """Return which row of a match a register always holds: 0 its first, 1 its last; else None.

    That is when the match is complete: before it, a register of the last row may hold others.
    """
    bound = {n for n, s in enumerate(template.states) if s.variable in register.variables}
    begins = {edge.target for edge in template.edges if edge.source == START}
    later = {edge.target for edge in template.edges if edge.source != START}
    if register.kind is RegisterKind.LATEST and bound >= {end.state for end in template.ends}:
        return 1
    if register.kind is RegisterKind.FIRST or not bound & later:  # of one event the first and last
        is_one = register.kind in {RegisterKind.FIRST, RegisterKind.LATEST}
        return 0 if is_one and bound >= begins else None
    return None


class MergedQuery:
    """A query, its number in its unit, and the tables of its states.

    `registers` are those that slots have, events first, without those that hold a match's first or
    last row. `columns` are the places of all registers in the numbers of a match, first those of
    `events` registers of events. `pairs` are the comparisons on edges from state to state.
    """

    def __init__(self, place: int, search: PatternSearch) -> None:
        self.place = place
        self.template = template = search.template
        self.states = search.states
        window = template.query.window
        self.within = NO_WINDOW if window is None else window.within
        self.is_contiguous = template.strategy is Strategy.CONTIGUOUS
        self.computes = any(c.kind is ColumnKind.COMPUTED for c in template.columns)
        ordered = sorted(
            template.registers, key=lambda register_of: not register_of.kind.holds_event
        )
        known = [known_row(template, register) for register in ordered]
        self.registers = [r for r, row in zip(ordered, known, strict=True) if row is None]
        places = itertools.count(REGISTERS)
        self.columns = tuple(next(places) if row is None else row for row in known)
        self.events = sum(register.kind.holds_event for register in ordered)
        event_registers = sum(register.kind.holds_event for register in self.registers)
        self.start = [-1] * event_registers + [0] * (len(self.registers) - event_registers)
        self.layout = event_registers, len(self.registers), self.is_contiguous
        self.taken = [self._taken(state.variable) for state in template.states]
        self.pairs = {
            (edge.source, edge.target): tuple(
                comparison
                for check in edge.checks
                if (comparison := search.compiled.comparisons[check]) is not None
            )
            for edge in template.edges
        }

    def _taken(self, variable: str) -> tuple[tuple[int, int], ...]:
        """Return the effect of an event of a variable on the registers (`backwards.CHANGE`)."""
        return tuple(
            (_FROM[register.kind], int(register.kind is RegisterKind.COUNT))
            if variable in register.variables
            else (NEVER, 0)
            for register in self.registers
        )

    def moves(self) -> Ints | None:
        """Return [1 + class, 1 + state]: the state that an event continues to, -1: none.

        Column 0 is for the beginning, row 0 for events of no class. None if an event may lead to
        several states, or the table would be too large.
        """
        rows, columns = len(self.states.by_class) + 1, len(self.template.states) + 1
        if rows * columns > MOST_MOVES:
            return None
        moves = np.full((rows, columns), -1, dtype=np.int64)
        for number, taken in enumerate(self.states.by_class):
            for edge in self.template.edges:
                if edge.target in taken:
                    if moves[1 + number, edge.source - START] >= 0:
                        return None
                    moves[1 + number, edge.source - START] = edge.target
        return moves


@dataclass(frozen=True, slots=True)
class Program:
    """The tables of several queries.

    `lanes` are lists of queries that have the same matches, by number; `widths` [lane] says how
    many numbers describe a match.
    """

    merged: bw.Merged
    lanes: tuple[tuple[int, ...], ...]
    widths: tuple[int, ...]


class _Lists:
    """The tables of `backwards.Merged`, row by row."""

    def __init__(self) -> None:
        self.classes: list[tuple[int, ...]] = []
        self.begins: list[tuple[int, ...]] = []
        self.extends: list[tuple[int, ...]] = []
        self.changes: list[tuple[int, int]] = []
        self.comparisons: list[Comparison] = []

    def put_class(self, begins: Sequence[_Entry], extends: Sequence[_Entry]) -> None:
        """Append the effects of the events of a class."""
        first = len(self.begins), len(self.extends)
        self.begins += [(*entry.numbers, *self._changes(entry)) for entry in begins]
        for entry in extends:
            begin = len(self.comparisons)
            self.comparisons += entry.pairs
            pairs = begin, len(self.comparisons)
            self.extends.append((*entry.numbers, *pairs, *self._changes(entry)))
        self.classes.append((first[0], len(self.begins), first[1], len(self.extends)))

    def _changes(self, entry: _Entry) -> tuple[int, int]:
        begin = len(self.changes)
        self.changes += entry.changes
        return begin, len(self.changes)

    def merged(self, slots: Sequence[int], numbers: Sequence[int]) -> bw.Merged:
        """Return the tables; `slots` are where the registers of each slot are in `numbers`."""
        merged = bw.Merged()
        merged.classes = table(bw.CLASS_MOVES, self.classes)
        merged.begins = table(bw.BEGIN, self.begins)
        merged.extends = table(bw.EXTEND, self.extends)
        merged.changes = table(bw.CHANGE, self.changes)
        no_code = Code(starts=[0] * (len(self.comparisons) + 1))
        merged.conditions = Conditions(no_code, self.comparisons, ())
        merged.slots = table(bw.SLOT, [(-1, -1, place) for place in slots])
        merged.first_numbers = np.array(numbers, np.int64)
        merged.numbers = np.array(numbers, np.int64)
        return merged


@dataclass(frozen=True, slots=True)
class _Entry:
    """The effect of an event: a row of `backwards.BEGIN` or `EXTEND`, and its lists."""

    numbers: tuple[int, ...]
    changes: tuple[tuple[int, int], ...]
    pairs: tuple[Comparison, ...] = ()


def merge(queries: Sequence[MergedQuery]) -> Program | None:
    """Return the merged queries; None if events lead to several states, or for large tables."""
    tables = [query.moves() for query in queries]
    moves = [moves for moves in tables if moves is not None]
    if len(moves) < len(tables):
        return None
    if sum(int(np.count_nonzero(of_query >= 0)) for of_query in moves) > MOST_ENTRIES:
        return None
    follows = _follows(queries, moves)
    kinds = _kinds(queries, follows)
    slots, places, numbers = _slots(queries, kinds)
    begins: list[list[_Entry]] = [[] for _ in moves[0]]
    lanes: dict[Hashable, list[int]] = {}
    for number, query in enumerate(queries):
        firsts = [
            (event, (number, int(moves[number][event, 0])))
            for event in np.flatnonzero(moves[number][:, 0] >= 0).tolist()
        ]
        mark = tuple((event, kinds[first], query.taken[first[1]]) for event, first in firsts)
        lane = lanes.setdefault((query.columns, query.layout, query.within, mark), [])
        lane.append(number)
        for event, first in firsts if len(lane) == 1 else ():
            slot = slots[kinds[first]]
            entry = query.within, slot, len(lanes) - 1, int(query.is_contiguous)
            begins[event].append(_Entry(entry, query.taken[first[1]]))
    extends = _extensions(queries, follows, kinds, slots)
    lists = _Lists()
    for event, entries in enumerate(begins):
        of_event = extends.get(event, {})
        try:
            order = _in_turn({slot: entry.numbers[0] for slot, entry in of_event.items()})
        except CycleError:
            return None
        lists.put_class(entries, [of_event[slot] for slot in order])
    return Program(
        merged=lists.merged(places, numbers),
        lanes=tuple(tuple(lane) for lane in lanes.values()),
        widths=tuple(REGISTERS + len(queries[lane[0]].registers) for lane in lanes.values()),
    )


def _extensions(
    queries: Sequence[MergedQuery],
    follows: Mapping[Place, list[tuple[int, int]]],
    kinds: Mapping[Place, int],
    slots: Mapping[Hashable, int],
) -> dict[int, dict[int, _Entry]]:
    """Return the effects of events that continue a match, by class and slot."""
    extends: dict[int, dict[int, _Entry]] = {}
    for (number, state), kind in kinds.items():
        query = queries[number]
        for event, target in follows[number, state]:
            after = kinds.get((number, target))
            source = slots[query.layout] if after is None else slots[after]
            entry = source, slots[kind], int(query.is_contiguous), int(after is None)
            pairs = query.pairs[state, target]
            extends.setdefault(event, {})[slots[kind]] = _Entry(entry, query.taken[target], pairs)
    return extends


def _follows(
    queries: Sequence[MergedQuery], moves: Sequence[Ints]
) -> dict[Place, list[tuple[int, int]]]:
    """Return the classes that may follow each state, and the states that they lead to.

    Classes are rows of `Query.moves`.
    """
    follows: dict[Place, list[tuple[int, int]]] = {}
    for number, (query, of_query) in enumerate(zip(queries, moves, strict=True)):
        for state in sorted({edge.source for edge in query.template.edges} - {START}):
            events = np.flatnonzero(of_query[:, 1 + state] >= 0).tolist()
            follows[number, state] = [(event, int(of_query[event, 1 + state])) for event in events]
    return follows


def _kinds(
    queries: Sequence[MergedQuery], follows: dict[Place, list[tuple[int, int]]]
) -> dict[Place, int]:
    """Return numbers of the states that matches continue from, the same for equal states."""
    places = list(follows)
    number_of = {place: number for number, place in enumerate(places)}

    def surroundings(kinds: Sequence[int], at: int) -> Hashable:
        number, state = places[at]
        query = queries[number]
        return tuple(
            (event, kinds[number_of.get((number, to), -1)], query.taken[to], query.pairs[state, to])
            for event, to in follows[number, state]
        )

    layouts = (queries[number].layout for number, _ in places)
    return dict(zip(places, coarsest_division(layouts, surroundings), strict=True))


def _slots(
    queries: Sequence[MergedQuery], kinds: Mapping[Place, int]
) -> tuple[dict[Hashable, int], list[int], list[int]]:
    """Return the slot of each kind of state, the place of each slot's registers, and their values.

    Each layout has one more slot, for states that nothing follows. The values are those after a
    key's last event.
    """
    slots: dict[Hashable, int] = {}
    places: list[int] = []
    numbers: list[int] = []
    for (number, _), kind in kinds.items():
        query = queries[number]
        for name in (kind, query.layout):
            if name not in slots:
                slots[name] = len(slots)
                places.append(len(numbers))
                numbers += query.start
    return slots, places, numbers


def _in_turn(sources: Mapping[int, int]) -> list[int]:
    """Return slots in an order in which each is computed before its source is overwritten.

    `sources` [slot] is the slot that it is computed from. Raises CycleError without such an order.

    >>> _in_turn({2: 3, 1: 2, 3: 3})
    [1, 2, 3]
    """
    before: dict[int, list[int]] = {slot: [] for slot in sources}
    for slot, source in sources.items():
        if source in sources and source != slot:
            before[source].append(slot)
    return list(TopologicalSorter(before).static_order())
