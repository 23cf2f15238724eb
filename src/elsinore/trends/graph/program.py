"""A guarded template as arrays: its automaton, and before it those of all that stands under NOT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from elsinore.model.expression import Expression
from elsinore.model.kinds import Strategy
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import Addend, Field, FieldKind
from elsinore.plan.guarded import GuardedTemplate, Move
from elsinore.plan.guards import FREE, Ways
from elsinore.plan.joined import Joined, by_itself, joined
from elsinore.trends.core.addends import NOTHING, ONE
from elsinore.trends.core.lists import Lists
from elsinore.trends.graph import layout
from elsinore.trends.graph.layout import POOL, REFUSED, SCAN, SLIDE, Program
from elsinore.trends.keyed import FEW_CLASSES, Ints, occurring
from elsinore.trends.nodes.updates import addend_codes, rank_codes

_STRATEGIES = {
    Strategy.ANY: layout.ANY,
    Strategy.NEXT: layout.NEXT,
    Strategy.CONTIGUOUS: layout.CONTIGUOUS,
}


@dataclass(frozen=True, slots=True)
class _Part:
    """An automaton: where its states begin among all, and the numbers of its negatives."""

    template: GuardedTemplate
    shift: int
    negatives: tuple[int, ...]


# which sums and which extremes of a program are a query's own; both empty: all
Own = tuple[list[int], list[int]]
_Chosen = tuple[Program, list[Own]]  # a program, and those of each of its queries


def joined_queries(unit: TrendUnit) -> list[Joined]:
    """Return which queries of a unit of the graph path are one automaton; kept with the unit."""
    if "joined" not in unit.kept:
        unit.kept["joined"] = joined(unit.guarded)
    return cast("list[Joined]", unit.kept["joined"])


class Programs:
    """The programs of queries that are one automaton, for whichever classes of events occur."""

    def __init__(self, unit: TrendUnit, groups: Sequence[Joined]) -> None:
        self.unit = unit
        self.groups = list(groups)
        self._apart: dict[int, list[int]] = {}
        self._fitting: dict[tuple[int, int], list[list[int]]] = {}
        self._last: dict[int, tuple[list[int], _Chosen]] = {}  # by group: classes, program
        self._parts = [_parts(group.template) for group in groups]

    def conditions(self, group: int) -> tuple[Expression, ...]:
        """Return a group's conditions in the order in which its program numbers them."""
        return tuple(
            condition for part in self._parts[group] for condition in part.template.conditions
        )

    def program(self, group: int, codes: Sequence[int]) -> _Chosen:
        """Return the program of a group for events of these classes, none below 0.

        The last one of each is kept.
        """
        if group in self._last and self._last[group][0] == list(codes):
            return self._last[group][1]
        chosen = self._made(group, codes)
        self._last[group] = list(codes), chosen
        return chosen

    def apart(self, group: int) -> list[int]:
        """Return groups of their own for the queries of one."""
        if group not in self._apart:
            first = len(self.groups)
            for query in self.groups[group].queries:
                self.groups.append(by_itself(query, self.unit.guarded[query]))
                self._parts.append(_parts(self.unit.guarded[query]))
            self._apart[group] = list(range(first, len(self.groups)))
        return self._apart[group]

    def _made(self, group: int, codes: Sequence[int]) -> _Chosen:
        parts, together = self._parts[group], self.groups[group]
        program = _program(self.unit, parts, [self._fits(group, code) for code in codes])
        if len(together.queries) == 1:
            return program, [([], [])]
        states = len(program.linear)
        linear, extreme = AddedColumns(states, NOTHING), AddedColumns(states, -1)
        chosen = []
        for query, places in zip(together.queries, together.places, strict=True):
            template = self.unit.guarded[query]
            numbers = [parts[-1].shift + place for place in places]
            sums = _contributions(self.unit, template, template.aggregation.linear).tolist()
            ranks = _extremes(self.unit, template, template.aggregation.extremes).tolist()
            chosen.append(
                (
                    [linear.number(f == 0, numbers, column) for f, column in enumerate(sums)],
                    [extreme.number(False, numbers, column) for column in ranks],
                )
            )
        program = program._replace(linear=linear.table(), extreme=extreme.table())
        return program, chosen

    def _fits(self, group: int, code: int) -> list[list[int]]:
        """Return for each automaton the states that an event of a class may take."""
        if (group, code) not in self._fitting:
            decoded = self.unit.classes.decode(code)
            self._fitting[group, code] = [
                sorted(state + part.shift for state in part.template.fits(*decoded))
                for part in self._parts[group]
            ]
        return self._fitting[group, code]


class AddedColumns:
    """Columns of what is added in each state: one for those that agree in the states they have.

    What a state's sum is depends on the states before it alone, which queries that have it share.
    """

    def __init__(self, states: int, nothing: int) -> None:
        self._states, self._nothing = states, nothing
        self._known: list[tuple[bool, dict[int, int]]] = []

    def number(self, counts: bool, states: Sequence[int], column: Sequence[int]) -> int:
        """Return the number of a column; `counts`: whether it is the number of trends."""
        contributions = dict(zip(states, column, strict=True))
        for number, (also, known) in enumerate(self._known):
            if also == counts and all(
                known.get(s, code) == code for s, code in contributions.items()
            ):
                known.update(contributions)
                return number
        self._known.append((counts, contributions))
        return len(self._known) - 1

    def table(self) -> Ints:
        """Return all columns."""
        columns = np.full((self._states, len(self._known)), self._nothing, dtype=np.int64)
        for number, (_, known) in enumerate(self._known):
            for state, code in known.items():
                columns[state, number] = code
        return columns


def _parts(template: GuardedTemplate) -> list[_Part]:
    parts: list[_Part] = []

    def put(guarded: GuardedTemplate) -> int:
        negatives = tuple(put(negative) for negative in guarded.negatives)
        shift = parts[-1].shift + len(parts[-1].template.states) if parts else 0
        parts.append(_Part(guarded, shift, negatives))
        return len(parts) - 1

    put(template)
    return parts


class _Guards:
    """Numbers for the ways that occur, those of `FREE` first."""

    def __init__(self) -> None:
        self.numbers: dict[Ways, int] = {FREE: layout.NO_GUARD}

    def number(self, ways: Ways, negatives: Sequence[int]) -> int:
        named = frozenset(frozenset(negatives[n] for n in way) for way in ways)
        return self.numbers.setdefault(named, len(self.numbers))


def _program(unit: TrendUnit, parts: Sequence[_Part], fits: Sequence[list[list[int]]]) -> Program:
    main = parts[-1]
    fields = main.template.aggregation
    strategy = main.template.query.strategy
    states = main.shift + len(main.template.states)
    guards = _Guards()
    state = np.zeros((states + 1, 9), dtype=np.int64)
    state[:, [layout.START, layout.END]] = REFUSED
    moves: list[tuple[Move, _Part, int, int]] = []  # with guard and first condition
    shift = 0
    for part in parts:
        for start in part.template.starts:
            guard = guards.number(start.ways, part.negatives)
            state[start.target + part.shift, layout.START] = guard
        for last in part.template.ends:
            row = state[last.source + part.shift]
            row[layout.END] = guards.number(last.ways, part.negatives)
            row[layout.SIDE] = last.side
        for number, standing in enumerate(part.template.states):
            state[number + part.shift, layout.ANCHOR] = standing.anchor is not None
        moves += [
            (move, part, guards.number(move.ways, part.negatives), shift)
            for move in part.template.moves
        ]
        shift += len(part.template.conditions)
    moves.sort(key=lambda entry: entry[0].target + entry[1].shift)
    ways_of_moves, slides, slide = _ways(moves, main, strategy, states)
    lists = Lists()
    table = np.zeros((len(moves) + 1, 7), dtype=np.int64)
    for place, (move, part, guard, _) in enumerate(moves):
        table[place] = (
            move.source + part.shift,
            move.target + part.shift,
            guard,
            ways_of_moves[place],
            slide[place],
            0,
            0,
        )
        keeping = layout.POOLED if ways_of_moves[place] == POOL else layout.STORED
        state[move.source + part.shift, keeping] = 1
    table[:, layout.CONDITIONS] = lists.put(
        sorted(n + first for n in move.conditions) for move, _, _, first in moves
    )
    table[:, layout.CHECKS] = lists.put(
        sorted(n + first for _, n in move.checks) for move, _, _, first in moves
    )
    asks = [bool(move.conditions or guard != layout.NO_GUARD) for move, _, guard, _ in moves]
    steps, onward = _bits(main, strategy, fits, table, asks)
    state[:, layout.MOVES] = np.searchsorted(table[:-1, layout.TARGET], np.arange(states + 1))
    state[:, layout.SLIDES] = np.cumsum([0, *slides])
    state[main.shift :, layout.ONWARD] = lists.put(onward)
    return Program(
        automata=np.array([part.shift for part in parts] + [states], dtype=np.int64),
        state=state,
        move=table,
        guards=lists.put(map(_coded, guards.numbers))[:-1].copy(),
        fits=lists.put(states_fitting for start in fits for states_fitting in start),
        lists=lists.items,
        linear=_shifted(_contributions(unit, main.template, fields.linear), main.shift, NOTHING),
        extreme=_shifted(_extremes(unit, main.template, fields.extremes), main.shift, -1),
        steps=steps,
        shape=np.array(
            [
                _STRATEGIES[strategy],
                main.template.sides,
                main.template.ambiguous,
                state[:, layout.ANCHOR].any(),
            ],
            dtype=np.int64,
        ),
    )


def _coded(ways: Ways) -> list[int]:
    """Return a guard as `Program.guards` tells: how many ways, and each one's negatives."""
    coded = [len(ways)]
    for way in sorted(map(sorted, ways)):
        coded += [len(way), *way]
    return coded


def _ways(
    moves: Sequence[tuple[Move, _Part, int, int]], main: _Part, strategy: Strategy, states: int
) -> tuple[list[int], list[int], list[int]]:
    """Return how each move is looked at, the sliding sums of each state, and each move's."""
    ways: list[int] = []
    slides: dict[tuple[int, int], int] = {}
    wanted: list[tuple[int, int] | None] = []
    for move, part, guard, _ in moves:
        pair = None
        if move.conditions or (part is main and strategy is Strategy.NEXT):
            ways.append(SCAN)
        elif guard == layout.NO_GUARD:
            ways.append(POOL)
        elif part is main:
            ways.append(SLIDE)
            pair = (move.source + part.shift, guard)
        else:
            ways.append(SCAN)
        wanted.append(pair)
    for pair in sorted({pair for pair in wanted if pair is not None}):
        slides[pair] = len(slides)
    counts = [0] * states
    for state, _ in slides:
        counts[state] += 1
    return ways, counts, [-1 if pair is None else slides[pair] for pair in wanted]


def _bits(
    main: _Part,
    strategy: Strategy,
    fits: Sequence[list[list[int]]],
    moves: Ints,
    asks: Sequence[bool],
) -> tuple[Ints, list[list[int]]]:
    """Return what sets of states, written as bits, become, as far as events do not matter."""
    count = len(main.template.states)
    steps = np.zeros((len(fits), count + 1), dtype=np.int64)
    onward: list[list[int]] = [[] for _ in range(count)]
    if not main.template.ambiguous:
        return steps, onward
    taking: dict[int, list[int]] = {}
    for number, fitting in enumerate(fits):
        for state in fitting[-1]:
            taking.setdefault(state, []).append(number)
    for move, asking in enumerate(asks):
        before, after = moves[move, :2].tolist()
        if before < main.shift:
            continue
        before -= main.shift
        if asking:
            onward[before].append(move)
        for number in taking.get(after, ()):
            if not asking:
                steps[number, before] |= 1 << (after - main.shift)
            if asking or strategy is not Strategy.ANY:
                steps[number, -1] |= 1 << before
    return steps, onward


def _contributions(unit: TrendUnit, guarded: GuardedTemplate, fields: Sequence[Field]) -> Ints:
    """Return what an event adds to fields [field, state]."""
    codes = addend_codes(unit)
    codes_of = np.full((len(fields), len(guarded.states)), NOTHING, dtype=np.int64)
    for f, entry in enumerate(fields):
        for number, state in enumerate(guarded.states):
            if state.variable not in entry.variables:
                continue
            code = ONE
            if entry.kind is not FieldKind.EVENTS:
                name, window = entry.attribute or "", guarded.query.window
                code = codes[Addend.of(entry.kind, name, window, entry.turn)]
            codes_of[f, number] = code
    return codes_of


def _extremes(unit: TrendUnit, guarded: GuardedTemplate, fields: Sequence[Field]) -> Ints:
    """Return the ranks that fields are the least of [field, state]."""
    codes = rank_codes(unit)
    codes_of = np.full((len(fields), len(guarded.states)), -1, dtype=np.int64)
    for x, entry in enumerate(fields):
        for number, state in enumerate(guarded.states):
            if state.variable in entry.variables:
                codes_of[x, number] = codes[entry.kind, entry.attribute or ""]
    return codes_of


def _shifted(columns: Ints, shift: int, nothing: int) -> Ints:
    """Return columns [field, state] by state, behind those of what stands under NOT."""
    shifted = np.full((shift + columns.shape[1], len(columns)), nothing, dtype=np.int64)
    shifted[shift:] = columns.T
    return shifted


def class_numbers(codes: NDArray[Any]) -> tuple[list[int], Ints]:
    """Return the classes that occur and each row's place among them, -1 for those below 0.

    >>> class_numbers(np.array([7, -1, 3, 7]))
    ([3, 7], array([ 1, -1,  0,  1]))
    """
    classes = occurring(codes)
    if len(classes) and classes[-1] < FEW_CLASSES:
        table = np.full(FEW_CLASSES + 1, -1, dtype=np.int64)  # the last place is for -1
        table[classes] = np.arange(len(classes))
        return classes.tolist(), table[np.maximum(codes, -1)]
    return classes.tolist(), places_of(codes, classes)


def places_of(codes: NDArray[Any], classes: Ints) -> Ints:
    """Return each row's place among the classes that occur, -1 for those below 0."""
    numbers = np.full(len(codes), -1, dtype=np.int64)
    numbers[codes >= 0] = np.searchsorted(classes, codes[codes >= 0])
    return numbers
