"""A guarded template as arrays: its automaton, and before it those of all that stands under NOT."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from elsinore.model.expression import Expression
from elsinore.model.kinds import Strategy
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import Field, FieldKind
from elsinore.plan.guarded import GuardedTemplate, Move
from elsinore.plan.guards import FREE, NO_WAY, Ways
from elsinore.trends.graph import layout
from elsinore.trends.graph.layout import POOL, REFUSED, SCAN, SLIDE, Program
from elsinore.trends.keyed import FEW_CLASSES, Ints, occurring
from elsinore.trends.updates import addend_codes, rank_codes

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


_Chosen = tuple[Program, list[tuple[list[int], list[int]]]]


class Programs:
    """The programs of a unit's queries, for whichever classes of events occur."""

    def __init__(self, unit: TrendUnit) -> None:
        self.unit = unit
        self._fitting: dict[tuple[int, int], list[list[int]]] = {}
        self._last: dict[int, tuple[list[int], _Chosen]] = {}  # by first query: classes, program
        self._parts = [_parts(template) for template in unit.guarded]

    def conditions(self, query: int) -> tuple[Expression, ...]:
        """Return a query's conditions in the order in which its program numbers them."""
        return tuple(
            condition for part in self._parts[query] for condition in part.template.conditions
        )

    def program(self, queries: Sequence[int], codes: Sequence[int]) -> _Chosen:
        """Return the program of queries of one automaton for events of these classes, none below 0.

        And for each query, which of the program's sums and extremes are its own. A query is always
        in the company of the same ones; the last program of each is kept.
        """
        if queries[0] in self._last and self._last[queries[0]][0] == list(codes):
            return self._last[queries[0]][1]
        found = self._made(queries, codes)
        self._last[queries[0]] = list(codes), found
        return found

    def _made(self, queries: Sequence[int], codes: Sequence[int]) -> _Chosen:
        parts = self._parts[queries[0]]
        program = _program(self.unit, parts, [self._fits(queries[0], code) for code in codes])
        if len(queries) == 1:
            return program, [([], [])]
        states = len(program.linear)
        linear: dict[tuple[object, ...], int] = {}
        extreme: dict[tuple[object, ...], int] = {}
        chosen = []
        for query in queries:
            own = self._parts[query][-1]
            fields = own.template.aggregation
            sums = _contributions(self.unit, own, states, fields.linear).T.tolist()
            ranks = _extremes(self.unit, own, states, fields.extremes).T.tolist()
            chosen.append(
                (
                    [
                        linear.setdefault((f == 0, *column), len(linear))
                        for f, column in enumerate(sums)
                    ],
                    [extreme.setdefault(tuple(column), len(extreme)) for column in ranks],
                )
            )
        wide = np.array([column[1:] for column in linear], dtype=np.int64).T
        ranked = np.array(list(extreme), dtype=np.int64).reshape(len(extreme), states).T
        return program._replace(
            linear=np.ascontiguousarray(wide), extreme=np.ascontiguousarray(ranked)
        ), chosen

    def _fits(self, query: int, code: int) -> list[list[int]]:
        """Return for each automaton the states that an event of a class may take."""
        if (query, code) not in self._fitting:
            told = self.unit.classes.decode(code)
            self._fitting[query, code] = [
                sorted(state + part.shift for state in part.template.fits(*told))
                for part in self._parts[query]
            ]
        return self._fitting[query, code]


def _parts(template: GuardedTemplate) -> list[_Part]:
    found: list[_Part] = []

    def put(one: GuardedTemplate) -> int:
        negatives = tuple(put(negative) for negative in one.negatives)
        shift = found[-1].shift + len(found[-1].template.states) if found else 0
        found.append(_Part(one, shift, negatives))
        return len(found) - 1

    put(template)
    return found


class _Guards:
    """Numbers for the ways that occur, those of `FREE` first."""

    def __init__(self) -> None:
        self.numbers: dict[Ways, int] = {FREE: layout.NO_GUARD}

    def number(self, ways: Ways, negatives: Sequence[int]) -> int:
        named = frozenset(frozenset(negatives[n] for n in way) for way in ways)
        return self.numbers.setdefault(named, len(self.numbers))


def _program(unit: TrendUnit, parts: Sequence[_Part], fits: Sequence[list[list[int]]]) -> Program:
    own = parts[-1]
    strategy = own.template.query.strategy
    states = own.shift + len(own.template.states)
    guards = _Guards()
    state = np.zeros((states + 1, 9), dtype=np.int64)
    state[:, [layout.START, layout.END]] = REFUSED
    moves: list[tuple[Move, _Part, int, int]] = []  # with guard and first condition
    shift = 0
    for part in parts:
        for one in part.template.starts:
            guard = guards.number(one.ways, part.negatives)
            state[one.target + part.shift, layout.START] = guard
        for last in part.template.ends:
            row = state[last.source + part.shift]
            row[layout.END] = guards.number(last.ways, part.negatives)
            row[layout.SIDE] = last.side
        for number, standing in enumerate(part.template.states):
            state[number + part.shift, layout.ANCHOR] = standing.anchor is not None
        for move in part.template.moves:
            # between events of adjoining moments nothing lies
            free = part is own and strategy is Strategy.CONTIGUOUS and move.ways != NO_WAY
            ways = FREE if free else move.ways
            moves.append((move, part, guards.number(ways, part.negatives), shift))
        shift += len(part.template.conditions)
    moves.sort(key=lambda entry: entry[0].target + entry[1].shift)
    ways_of_moves, slides, slide = _ways(moves, own, strategy, states)
    lists = _Lists()
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
        asked = layout.POOLED if ways_of_moves[place] == POOL else layout.STORED
        state[move.source + part.shift, asked] = 1
    table[:, layout.CONDITIONS] = lists.put(
        sorted(n + first for n in move.conditions) for move, _, _, first in moves
    )
    table[:, layout.CHECKS] = lists.put(
        sorted(n + first for _, n in move.checks) for move, _, _, first in moves
    )
    asks = [bool(move.conditions or guard != layout.NO_GUARD) for move, _, guard, _ in moves]
    steps, onward = _bits(own, strategy, fits, table, asks)
    state[:, layout.MOVES] = np.searchsorted(table[:-1, layout.TARGET], np.arange(states + 1))
    state[:, layout.SLIDES] = np.cumsum([0, *slides])
    state[own.shift :, layout.ONWARD] = lists.put(onward)
    return Program(
        automata=np.array([part.shift for part in parts] + [states], dtype=np.int64),
        state=state,
        move=table,
        guards=lists.put(map(_coded, guards.numbers))[:-1].copy(),
        fits=lists.put(found for one in fits for found in one),
        lists=np.array(lists.numbers or [0], dtype=np.int64),
        linear=_contributions(unit, own, states, own.template.aggregation.linear),
        extreme=_extremes(unit, own, states, own.template.aggregation.extremes),
        steps=steps,
        shape=np.array(
            [
                _STRATEGIES[strategy],
                own.template.sides,
                own.template.ambiguous,
                state[:, layout.ANCHOR].any(),
            ],
            dtype=np.int64,
        ),
    )


class _Lists:
    """Lists of numbers, one after another."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def put(self, lists: Iterable[Sequence[int]]) -> Ints:
        """Add lists; return where each begins, and where the last ends."""
        begins = [len(self.numbers)]
        for one in lists:
            self.numbers += one
            begins.append(len(self.numbers))
        return np.array(begins, dtype=np.int64)


def _coded(ways: Ways) -> list[int]:
    """Return a guard as `Program.guards` tells: how many ways, and each one's negatives."""
    coded = [len(ways)]
    for way in sorted(map(sorted, ways)):
        coded += [len(way), *way]
    return coded


def _ways(
    moves: Sequence[tuple[Move, _Part, int, int]], own: _Part, strategy: Strategy, states: int
) -> tuple[list[int], list[int], list[int]]:
    """Return how each move is looked at, the sliding sums of each state, and each move's."""
    ways: list[int] = []
    slides: dict[tuple[int, int], int] = {}
    wanted: list[tuple[int, int] | None] = []
    for move, part, guard, _ in moves:
        pair = None
        if move.conditions or (part is own and strategy is Strategy.NEXT):
            ways.append(SCAN)
        elif guard == layout.NO_GUARD:
            ways.append(POOL)
        elif part is own:
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
    own: _Part,
    strategy: Strategy,
    fits: Sequence[list[list[int]]],
    moves: Ints,
    asks: Sequence[bool],
) -> tuple[Ints, list[list[int]]]:
    """Return what sets of states, written as bits, become, as far as events do not matter."""
    count = len(own.template.states)
    steps = np.zeros((len(fits), count + 1), dtype=np.int64)
    onward: list[list[int]] = [[] for _ in range(count)]
    if not own.template.ambiguous:
        return steps, onward
    taking: dict[int, list[int]] = {}
    for number, found in enumerate(fits):
        for state in found[-1]:
            taking.setdefault(state, []).append(number)
    for move, asking in enumerate(asks):
        before, after = moves[move, :2].tolist()
        if before < own.shift:
            continue
        before -= own.shift
        if asking:
            onward[before].append(move)
        for number in taking.get(after, ()):
            if not asking:
                steps[number, before] |= 1 << (after - own.shift)
            if asking or strategy is not Strategy.ANY:
                steps[number, -1] |= 1 << before
    return steps, onward


def _contributions(unit: TrendUnit, own: _Part, states: int, fields: Sequence[Field]) -> Ints:
    codes = addend_codes(unit)
    found = np.full((states, len(fields)), layout.NOTHING, dtype=np.int64)
    for f, entry in enumerate(fields):
        for number, state in enumerate(own.template.states):
            if state.variable not in entry.variables:
                continue
            what = layout.ONE
            if entry.kind is not FieldKind.EVENTS:
                what = codes[entry.kind, entry.attribute or ""]
            found[own.shift + number, f] = what
    return found


def _extremes(unit: TrendUnit, own: _Part, states: int, fields: Sequence[Field]) -> Ints:
    codes = rank_codes(unit)
    found = np.full((states, len(fields)), -1, dtype=np.int64)
    for x, entry in enumerate(fields):
        for number, state in enumerate(own.template.states):
            if state.variable in entry.variables:
                found[own.shift + number, x] = codes[entry.kind, entry.attribute or ""]
    return found


def class_numbers(codes: Ints) -> tuple[list[int], Ints]:
    """Return the classes that occur and each row's place among them, -1 for those below 0.

    >>> class_numbers(np.array([7, -1, 3, 7]))
    ([3, 7], array([ 1, -1,  0,  1]))
    """
    classes = occurring(codes)
    if len(classes) and classes[-1] < FEW_CLASSES:
        table = np.full(FEW_CLASSES + 1, -1, dtype=np.int64)  # the last place is for -1
        table[classes] = np.arange(len(classes))
        return classes.tolist(), table[np.maximum(codes, -1)]
    numbers = np.full(len(codes), -1, dtype=np.int64)
    numbers[codes >= 0] = np.searchsorted(classes, codes[codes >= 0])
    return classes.tolist(), numbers
