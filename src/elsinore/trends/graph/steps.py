"""Queries whose trends go on step by step, as words for a sweep: those of one shape are its lanes.

A query is a list of words: for each class a list of states, for each state what stands under
`START` and so on, then its moves, each with its conditions, then what an event adds in it
(`elsinore.trends.graph.records`). Queries whose automata differ only in which events fit their
states are lanes: an event is taken to the states it fits, each with the lanes in which it does, or
ALL. Queries of which a state is equal (`elsinore.plan.alike.equal_states`) have one lane there, and
where they part each lane goes on with the one before it. A state that no trend goes on from is one
for each of its lanes where no event is taken to several of them. What queries add up may differ:
each lane has all of it (`elsinore.trends.graph.lanes` says where that pays).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from elsinore.plan.alike import equal_states
from elsinore.plan.guarded import GuardedTemplate
from elsinore.trends.core.addends import NOTHING as ADDS_NOTHING
from elsinore.trends.graph.interpret import (
    ALLOWED,
    BEGINS,
    BY_CODE,
    EQUAL,
    FORM,
    GREATER,
    LEFT,
    LESS,
    RIGHT,
    Conditions,
)
from elsinore.trends.graph.lanes import side_by_side
from elsinore.trends.graph.layout import (
    AMBIGUOUS,
    ANCHORED,
    ANY,
    CHECKS,
    CONDITIONS,
    END,
    GUARD,
    MOVES,
    NO_GUARD,
    REFUSED,
    SOURCE,
    START,
    STRATEGY,
    Program,
)
from elsinore.trends.graph.layout import CONTIGUOUS as CONTIGUOUS_STRATEGY
from elsinore.trends.graph.program import Own
from elsinore.trends.graph.records import (
    ALL,
    ALONE,
    APART,
    CLASS,
    ENTRY,
    IN_ONE_LANE,
    NONE,
    NOWHERE,
    PLACES,
    STATE,
    TOGETHER,
    TOGETHER_WITH_OTHERS,
)
from elsinore.trends.keyed import Ints

ORDERS = {LESS, LESS | EQUAL, GREATER, GREATER | EQUAL}  # outcomes of a comparison


def can_step(program: Program, conditions: Conditions) -> bool:
    """Return whether a query is one of those that this file is about."""
    condition_numbers = program.lists[program.move[0, CONDITIONS] : program.move[-1, CONDITIONS]]
    return not (
        program.shape[STRATEGY] == ANY
        or program.shape[AMBIGUOUS]
        or program.shape[ANCHORED]
        or len(program.automata) > 2  # one of them under NOT
        or np.any(program.move[:-1, GUARD] != NO_GUARD)
        or program.move[0, CHECKS] != program.move[-1, CHECKS]
        or np.any(conditions.forms[condition_numbers, FORM] != BY_CODE)
        or np.any(program.state[:-1, [START, END]] > NO_GUARD)
    )


class Lanes(NamedTuple):
    """Queries of one shape as a sweep reads them."""

    words: Ints
    classes: Ints  # [class] -> place of its states in the words, or -1
    states: int  # that are kept
    lanes: int  # queries
    cells: int  # lanes of the states that are kept, in all
    scratch: int  # and of all states
    entry: int  # lanes of a state that keeps entries, at most
    held: int  # and attributes that these hold
    fields: int  # of each lane
    extremes: int
    own: list[Own]  # of each query: which of the fields and extremes are its own
    contiguous: bool
    apart: bool  # whether some state keeps entries
    at_once: bool  # whether each event may act at once that is a moment of its own


class _Node(NamedTuple):
    """A state of some queries with its lanes: the classes of equal states."""

    state: int
    equal: tuple[int, ...]
    kept: int
    number: int
    offset: int


class _Into(NamedTuple):
    """A move: from which state and lanes, whether the entries there stand in order, conditions."""

    source: _Node
    chosen: int
    in_order: bool
    forms: Ints


def words_of(
    templates: Sequence[GuardedTemplate],
    programs: Sequence[Program],
    conditions: Conditions,
    *,
    by_time: bool,
) -> Lanes:
    """Return the words of queries of one shape, whose programs are for the same classes.

    The first has all states, of which others may have the first ones alone. `by_time`: events of
    one time do not precede one another.
    """
    equal = equal_states(templates)
    program, own_of_lanes = side_by_side(programs)
    programs = [program, *programs[1:]]
    taken = _taken(programs, equal, len(program.fits) - 1)
    nodes = _nodes(program, equal, taken)
    writer = _Writer(programs, conditions, equal, nodes, by_time=by_time)
    for node in nodes:
        writer.put_state(node)
    entered = np.array([writer.put_class(of) if of else -1 for of in taken], dtype=np.int64)
    return Lanes(
        np.array(writer.words, dtype=np.int64),
        entered,
        sum(node.kept != NOWHERE for node in nodes),
        len(programs),
        sum(len(node.equal) for node in nodes if node.kept != NOWHERE),
        sum(len(node.equal) for node in nodes),
        writer.entry,
        max(map(len, writer.held.values()), default=0),
        program.linear.shape[1],
        program.extreme.shape[1],
        own_of_lanes,
        writer.contiguous,
        writer.entry > 0,
        writer.at_once,
    )


class _Writer:
    """Writes the words of queries: their states, then the classes.

    `at_once`: whether so far each event may act at once that is a moment of its own. `entry`: lanes
    of a state that keeps entries, at most; `held`: the attributes that those of each state hold.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        conditions: Conditions,
        equal: Sequence[Sequence[int]],
        nodes: Sequence[_Node],
        *,
        by_time: bool,
    ) -> None:
        self._programs, self._program, self._conditions = programs, programs[0], conditions
        self._equal = equal
        self._standing = {
            (n.state, state): (n, lane) for n in nodes for lane, state in enumerate(n.equal)
        }
        self._lists: dict[tuple[int, ...], int] = {}
        self._places: dict[_Node, int] = {}
        self._covers: dict[_Node, bool] = {}  # whether all trends before it may go on in it
        self._single: dict[_Node, bool] = {}  # whether it has one lane, and all before it
        self.entry = max((len(node.equal) for node in nodes if node.kept == APART), default=0)
        self.held = _held(self._program, conditions)
        self.at_held = ENTRY + self.entry * self._program.extreme.shape[1]
        self.contiguous = bool(self._program.shape[STRATEGY] == CONTIGUOUS_STRATEGY)
        self._by_time = by_time
        self.at_once = True
        # no list is where ALL stands
        self.words = [ALL] * (PLACES + sum(node.kept != NOWHERE for node in nodes))

    def put_state(self, node: _Node) -> None:
        """Write a state."""
        before = [self._before(node, source) for source in _sources(self._program, node.state)]
        self._covers[node] = all({*chosen} == {*range(len(of.equal))} for of, chosen in before)
        self._single[node] = len(node.equal) == 1 and all(len(of.equal) == 1 for of, _ in before)
        into = [
            _Into(of, ALL if chosen == list(range(len(of.equal))) else self._put(chosen), *forms)
            for (of, chosen), forms in zip(before, self._forms(node.state), strict=True)
        ]
        ending, attributes = self._ending(node), self.held.get(node.state, [])
        attributes_at = self._put([len(attributes), *attributes]) if attributes else ALL
        at = self._places[node] = len(self.words)
        if node.kept != NOWHERE:
            self.words[PLACES + node.number] = at
        self.words += _state_words(self._program, node, into, ending, attributes_at, at)

    def put_class(self, states: Mapping[int, set[int]]) -> int:
        """Write the states that events are taken to, with the lanes of each; return where."""
        entries: dict[_Node, list[int]] = {}
        for state, several in states.items():
            for state_taken in sorted(several):
                node, lane = self._standing[state, state_taken]
                entries.setdefault(node, []).append(lane)
        words = []
        for node, lanes in entries.items():
            whole = len(lanes) == len(node.equal) and (self.contiguous or self._covers[node])
            words += [self._places[node], ALL if whole else self._put([len(lanes), *lanes])]
        acts = TOGETHER_WITH_OTHERS
        if self.contiguous or _at_once(self._program, list(states)):
            alone = len(entries) == 1 and words[1] == ALL and all(map(self._single.get, entries))
            acts = IN_ONE_LANE if alone else ALONE
        self.at_once &= acts != TOGETHER_WITH_OTHERS
        self.words += [len(entries), acts, *words]
        return len(self.words) - CLASS - len(words)

    def _forms(self, state: int) -> list[tuple[bool, Ints]]:
        """Return of each move into a state whether entries stand in order, and its conditions.

        LEFT is where entries hold it. Where an event goes on with all of its own state that it is
        not below, those that are left are above it; or the other way round.
        """
        all_forms = []
        for source, condition_numbers in _moves(self._program, state):
            forms = self._conditions.forms[condition_numbers, :BEGINS]
            stays = source == state and not (self.contiguous or self._by_time)
            in_order = stays and len(forms) == 1 and forms[0, LEFT] == forms[0, RIGHT]
            in_order = in_order and forms[0, ALLOWED] in ORDERS
            for form in forms:
                form[LEFT] = self.at_held + 2 * self.held[source].index(form[LEFT])
            all_forms.append((in_order, forms))
        return all_forms

    def _put(self, numbers: Sequence[int]) -> int:
        if tuple(numbers) not in self._lists:
            self._lists[tuple(numbers)] = len(self.words)
            self.words.extend(numbers)
        return self._lists[tuple(numbers)]

    def _before(self, node: _Node, source: int) -> tuple[_Node, list[int]]:
        """Return a state before another, and with which of its lanes each of the other goes on."""
        row = self._equal[node.state]
        chosen = [self._standing[source, self._equal[source][row.index(o)]] for o in node.equal]
        return chosen[0][0], [lane for _, lane in chosen]

    def _ending(self, node: _Node) -> int:
        """Return where it is told which queries' trends end in which of a state's lanes."""
        ends = [
            (query, node.equal.index(self._equal[node.state][query]))
            for query, program in enumerate(self._programs)
            if node.state < len(program.state) - 1
            and program.state[node.state, END] != REFUSED
            and self._equal[node.state][query] in node.equal
        ]
        if ends == [(lane, lane) for lane in range(max(len(self._programs), len(node.equal)))]:
            return ALL
        return self._put([len(ends), *(n for pair in ends for n in pair)]) if ends else NONE


def _taken(
    programs: Sequence[Program], equal: Sequence[Sequence[int]], classes: int
) -> list[dict[int, set[int]]]:
    """Return for each class the states that its events are taken to, with the lanes of each."""
    taken: list[dict[int, set[int]]] = [{} for _ in range(classes)]
    for lane, program in enumerate(programs):
        for kind, states in enumerate(taken):
            for state in program.lists[program.fits[kind] : program.fits[kind + 1]].tolist():
                states.setdefault(state, set()).add(equal[state][lane])
    return taken


def _nodes(
    program: Program, equal: Sequence[Sequence[int]], taken: Sequence[dict[int, set[int]]]
) -> list[_Node]:
    """Return the states with their lanes, those that are kept first."""
    kept = np.full(len(equal), NOWHERE)
    moves = program.move[:-1]
    kept[moves[:, SOURCE]] = TOGETHER
    kept[moves[np.diff(program.move[:, CONDITIONS]) > 0, SOURCE]] = APART
    nodes: list[_Node] = []
    for state in sorted(range(len(equal)), key=lambda state: kept[state] == NOWHERE):
        lanes = tuple(sorted({*equal[state]} - {NONE}))
        several = [lanes]
        if kept[state] == NOWHERE and all(len(of.get(state, ())) < 2 for of in taken):
            several = [(lane,) for lane in lanes]
        for equal_lanes in several:
            offset = nodes[-1].offset + len(nodes[-1].equal) if nodes else 0
            nodes.append(_Node(state, equal_lanes, int(kept[state]), len(nodes), offset))
    return nodes


def _sources(program: Program, state: int) -> list[int]:
    return [source for source, _ in _moves(program, state)]


def _moves(program: Program, state: int) -> list[tuple[int, Ints]]:
    """Return of each move into a state where it comes from, and the conditions it has."""
    moves = []
    for move in range(*program.state[state : state + 2, MOVES].tolist()):
        first, last = program.move[move : move + 2, CONDITIONS].tolist()
        moves.append((int(program.move[move, SOURCE]), program.lists[first:last]))
    return moves


def _held(program: Program, conditions: Conditions) -> dict[int, list[int]]:
    """Return for each state that moves with conditions lead out of the attributes these ask of."""
    compared: dict[int, set[int]] = {}
    for state in range(len(program.state) - 1):
        for source, condition_numbers in _moves(program, state):
            if len(condition_numbers):
                compared.setdefault(source, set()).update(
                    conditions.forms[condition_numbers, LEFT].tolist()
                )
    return {source: sorted(attributes) for source, attributes in compared.items()}


def _state_words(
    program: Program,
    node: _Node,
    before: Sequence[_Into],
    ending: int,
    held: int,
    at: int,
) -> list[int]:
    """Return the words of a state that stands at a place.

    before: its moves. ending, held: where the queries and attributes are told.
    """
    state = node.state
    moves: list[int] = []
    for source, chosen, in_order, forms in before:
        moves += [source.number, source.kept, source.offset, len(source.equal), chosen]
        moves += [int(in_order), len(forms), *forms.ravel().tolist()]
    linear = program.linear[state].tolist()
    fields = [n for f in range(1, len(linear)) if linear[f] != ADDS_NOTHING for n in (f, linear[f])]
    extreme = program.extreme[state].tolist()
    ranks = [n for x, what in enumerate(extreme) if what >= 0 for n in (x, what)]
    starts = int(program.state[state, START] != REFUSED)
    words = [node.number, starts, ending, node.kept, len(node.equal), node.offset]
    words += [len(fields) // 2, len(ranks) // 2, at + STATE + len(moves), held, len(before)]
    return [*words, *moves, *fields, *ranks]


def _at_once(program: Program, taken: Sequence[int]) -> bool:
    """Return whether no two of some states go on with the trends that end in a third one."""
    sources = [source for state in taken for source in set(_sources(program, state))]
    return len(sources) == len(set(sources))
