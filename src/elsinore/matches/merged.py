"""The program of `backwards`: queries each match of which goes on in one way, merged.

States are told apart by what may follow: those that the same events lead on from, to states alike,
doing the same to the registers, are one, whatever query they are of (the coarsest partition of an
automaton's states, as in its minimization). Queries whose matches begin alike then share a lane:
what is found there is found for all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import numpy as np

from elsinore.matches import backwards as bw
from elsinore.matches.arrays import Ints
from elsinore.matches.registers import RegisterKind
from elsinore.matches.returns import ColumnKind
from elsinore.matches.tables import Header, Tables
from elsinore.matches.tabulate import known_row
from elsinore.matches.template import START, MatchTemplate
from elsinore.matches.windows import NO_WINDOW
from elsinore.model.kinds import Strategy

MOST_ENTRIES = 1 << 16
REGISTERS = 2  # numbers of a match, behind its first and last row
NEVER, MISSING, ALWAYS = -(2**62), 0, 2**62  # below what a number of a match becomes the row
_FROM = {RegisterKind.FIRST: ALWAYS, RegisterKind.LATEST: MISSING, RegisterKind.COUNT: NEVER}
_LISTED = {ColumnKind.LIST, ColumnKind.EVENTS, ColumnKind.MATCH_NUMBER}

Place = tuple[int, int]  # a query, by its number, and a state of it


def goes_back(template: MatchTemplate, tables: Tables) -> bool:
    """Return whether a query's matches may be worked out from their ends."""
    query = template.query
    ends = {end.state for end in template.ends}
    return (
        tables.compares_neighbours
        and template.strategy is not Strategy.ANY
        and tables.integers[Header.ENDS_ONLY] == 1
        and (template.strategy is Strategy.CONTIGUOUS or tables.integers[Header.IS_PLAIN] == 1)
        and not any(edge.source == START and edge.target in ends for edge in template.edges)
        and (query.window is None or not query.window.slide)
        and (query.limit is None or bool(query.distinct))
        and all(register.kind in _FROM for register in template.registers)
        and not any(column.kind in _LISTED for column in template.columns)
    )


class Query:
    """A query's place in its unit, and what its entries are made of.

    `registers` are those that slots have, events first: not those that a match's first or last row
    tells. `columns` are all registers by their places, as numbers of a match in `backwards`, those
    of `events` and then others. `pairs` are the comparisons on edges from state to state.
    """

    def __init__(self, place: int, template: MatchTemplate, tables: Tables) -> None:
        self.place = place
        self.template = template
        self.tables = tables
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
        self.start = [-1] * (bw.SLOT + event_registers) + [0] * (
            len(self.registers) - event_registers
        )
        self.layout = event_registers, len(self.registers), self.is_contiguous
        self.taken = [self._taken(state.variable) for state in template.states]
        self.pairs = {
            (edge.source, edge.target): tuple(
                number for check in edge.checks for number in tables.program.pair_of(check) or ()
            )
            for edge in template.edges
        }

    def _taken(self, variable: str) -> tuple[int, ...]:
        """Return what an event of a variable does to the registers (see `backwards.begin`)."""
        taken: list[int] = []
        for register in self.registers:
            if variable in register.variables:
                taken += [_FROM[register.kind], int(register.kind is RegisterKind.COUNT)]
            else:
                taken += [NEVER, 0]
        return tuple(taken)


@dataclass(frozen=True, slots=True)
class Program:
    """What `backwards.go_back` does: its code, its slots after a key's last event, and its lanes.

    `lanes` are numbers of queries that have the same matches, `widths` the numbers of a match in
    each, `work` the entries for an event of some class on average.
    """

    code: Ints
    slots: Ints
    lanes: tuple[tuple[int, ...], ...]
    widths: tuple[int, ...]
    work: float


def written(queries: Sequence[Query]) -> Program | None:
    """Return the program; None where an event may lead to several states, or it were long."""
    if not all(query.tables.integers[Header.MOVES_AT] for query in queries):
        return None
    moves = [query.tables.moves for query in queries]
    if sum(int(np.count_nonzero(table[:, :-1] >= 0)) for table in moves) > MOST_ENTRIES:
        return None
    follows = _follows(queries, moves)
    kinds = _kinds(queries, follows)
    at, slots = _slots(queries, kinds)
    begins: list[list[list[int]]] = [[] for _ in moves[0]]
    extends: list[dict[int, list[int]]] = [{} for _ in moves[0]]  # by the slots made
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
            begins[event].append(
                [len(query.registers), at[kinds[first]], int(query.is_contiguous), query.within,
                 len(lanes) - 1, *query.taken[first[1]]]
            )  # fmt: skip
    for place, kind in kinds.items():  # those of a kind have one entry
        for event, target in follows[place]:
            entry = _extension(queries[place[0]], place, target, kinds, at)
            extends[event][at[kind]] = entry
    code = [0] * len(moves[0])
    for event, some in enumerate(begins):
        try:
            order = _in_turn({slot: entry[1] for slot, entry in extends[event].items()})
        except CycleError:
            return None
        code[event] = len(code)
        code += [len(some), len(order)]
        code += [value for entry in some for value in entry]
        code += [value for slot in order for value in extends[event][slot]]
    return Program(
        code=np.array(code, dtype=np.int64), slots=np.array(slots, dtype=np.int64),
        lanes=tuple(tuple(lane) for lane in lanes.values()),
        widths=tuple(REGISTERS + len(queries[lane[0]].registers) for lane in lanes.values()),
        work=sum(map(len, (*begins, *extends))) / max(len(begins) - 1, 1),
    )  # fmt: skip


def _extension(
    query: Query, place: Place, target: int, kinds: dict[Place, int], at: dict[Hashable, int]
) -> list[int]:
    """Return the entry of an event that goes on from a state in another."""
    after = kinds.get((place[0], target))
    source = at[query.layout] if after is None else at[after]
    pairs = query.pairs[place[1], target]
    return [
        len(query.registers), source, int(query.is_contiguous), at[kinds[place]], len(pairs) // 4,
        int(after is None), *query.taken[target], *pairs,
    ]  # fmt: skip


def _follows(queries: Sequence[Query], moves: Sequence[Ints]) -> dict[Place, list[tuple[int, int]]]:
    """Return for each state after which a match goes on the classes that follow, and their states.

    Classes are those of `Tables.moves`, of no class first: those seen so far.
    """
    follows: dict[Place, list[tuple[int, int]]] = {}
    for number, (query, table) in enumerate(zip(queries, moves, strict=True)):
        for state in sorted({edge.source for edge in query.template.edges} - {START}):
            events = np.flatnonzero(table[:, 1 + state] >= 0).tolist()
            follows[number, state] = [(event, int(table[event, 1 + state])) for event in events]
    return follows


def _kinds(
    queries: Sequence[Query], follows: dict[Place, list[tuple[int, int]]]
) -> dict[Place, int]:
    """Return which states are alike: a number for each after which a match goes on."""
    marks: dict[Place, Hashable] = {place: queries[place[0]].layout for place in follows}
    count = 0
    while True:
        numbers = {mark: number for number, mark in enumerate(dict.fromkeys(marks.values()))}
        kinds = {place: numbers[mark] for place, mark in marks.items()}
        if len(numbers) == count:
            return kinds
        count = len(numbers)
        for (number, state), steps in follows.items():
            query = queries[number]
            kinds_of_state = [
                (event, kinds.get((number, to)), query.taken[to], query.pairs[state, to])
                for event, to in steps
            ]
            marks[number, state] = kinds[number, state], tuple(kinds_of_state)


def _slots(
    queries: Sequence[Query], kinds: dict[Place, int]
) -> tuple[dict[Hashable, int], list[int]]:
    """Return where the slot of each kind of state begins, and all slots after a key's last event.

    By layout there is one more: of what follows where a match ends, nothing.
    """
    at: dict[Hashable, int] = {}
    slots: list[int] = []
    for (number, _), kind in kinds.items():
        query = queries[number]
        for name in (kind, query.layout):
            if name not in at:
                at[name] = len(slots)
                slots += query.start
    return at, slots


def _in_turn(sources: Mapping[int, int]) -> list[int]:
    """Return the slots that are made, before what each is made of is made anew.

    `sources`: for each the slot that it is made of. Raises CycleError where there is no such order.

    >>> _in_turn({2: 3, 1: 2, 3: 3})
    [1, 2, 3]
    """
    before: dict[int, list[int]] = {slot: [] for slot in sources}
    for slot, source in sources.items():
        if source in sources and source != slot:
            before[source].append(slot)
    return list(TopologicalSorter(before).static_order())
