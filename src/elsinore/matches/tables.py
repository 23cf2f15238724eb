"""A template as one array of integers, which kernels read: a header, and what it points to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elsinore.matches.counting import ENTRY
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.program import Compiler, Program, register_places
from elsinore.matches.reach import LAST_BIT
from elsinore.matches.registers import Register, RegisterKind
from elsinore.matches.returns import ColumnKind
from elsinore.matches.template import START, Edge, MatchTemplate
from elsinore.model.kinds import Strategy
from elsinore.plan.classes import Classes
from elsinore.plan.guards import FREE, Ways

if TYPE_CHECKING:
    from elsinore.matches.stepping import Stepper

Ints = NDArray[np.int64]


class Header(IntEnum):
    """What the first entries of the tables say; those named `..._AT` are places in them."""

    STATES = 0
    EVENTS = 1  # registers that hold an event
    NUMBERS = 2  # registers that hold a number
    STRATEGY = 3  # 0 any, 1 next, 2 contiguous
    DEFERRED = 4  # whether a match is known only when its window has passed
    CLASS_AT = 5  # [class]: where the states are listed that an event of the class takes
    WHOLES_AT = 6  # [integer constant]
    EDGE_AT = 7  # [state + 1, state]: the edge, -1 where there is none; row 0 is the beginning
    NEAR_AT = 8  # [edge]: a list of conditions on neighbours, its length first
    CHECK_AT = 9  # [edge]: a list of the other conditions, when the event is selected
    LATE_AT = 10  # [edge]: the same, for when the match is complete
    WAY_AT = 11  # [edge]: the ways, -1 where one is free
    END_AT = 12  # [state]: -2 where no match ends, -1 where one may, else the ways
    UPDATE_AT = 13  # [state]: a list of (kind, place, row of the layout or -1, is it of integers)
    FINAL_AT = 14  # a list of the conditions of the match
    CODE_AT = 15  # [condition]: where its code is, the number of instructions first
    SUM_AT = 16  # a list of the registers that hold sums
    ENDS_AT = 17  # [state]: 1 where nothing follows
    HAS_LATE = 18  # whether there are conditions in LATE_AT
    INIT_AT = 19  # a list of (number, constant): states of no events of users' aggregates
    FAILED = 20  # 1 + the row of an event that a user's aggregate failed at
    NEXT_AT = 21  # [state + 1]: the states that may follow, as bits (`elsinore.matches.reach`)
    BEFORE_AT = 22  # [bit]: the states that may come before
    ENDING = 23  # the states where a match may end
    IS_PLAIN = 24  # whether no edge has conditions or ways
    PAIR_AT = 25  # [condition]: -1, or where it stands as a comparison of two neighbours
    LEAF_AT = 26  # [state + 1]: those states that follow that end a match at once, as bits
    LOOKS_AT = 27  # [edge]: 1 for ways or conditions on neighbours, 2 for other conditions
    DUPLICATES = 28  # whether two runs may find one match
    ORDERED_AT = 29  # 0, or trees of sums: [edge] the entry of each (`elsinore.matches.counting`)
    ORDERED_ROOM = 30  # where there is room for them, the number of edges first
    MOVES_AT = 31  # 0, or [class, state + 2]: where an event leads to (`elsinore.matches.chains`)
    ENDS_ONLY = 32  # whether nothing follows where a match ends
    HOLDS_AT = 33  # [state]: those of UPDATE_AT that hold an event (`elsinore.matches.subsets`)
    ADDS_AT = 34  # [state, register of a number]: 1 where an event is added to it
    ADDEND_AT = 35  # [register of a number]: kind, row of the layout or -1, is it of integers
    KEPT_AT = 36  # a list of the registers of events that no row of a match tells
    SIZE = 37


MOST_MOVES = 2**20  # of states and classes together
_COMPARED = {RegisterKind.LEAST, RegisterKind.GREATEST, RegisterKind.PRESENT}
_STRATEGIES = {Strategy.ANY: 0, Strategy.NEXT: 1, Strategy.CONTIGUOUS: 2}


@dataclass(slots=True)
class Tables:
    """A template's tables, and the double constants of its conditions."""

    integers: Ints
    constants: NDArray[np.float64]
    program: Program
    steppers: tuple[Stepper, ...]
    negatives: tuple[Tables, ...]
    ordered: tuple[tuple[int, int, tuple[int, ...]], ...]  # edges with one comparison: see `ranks`
    is_path: bool  # whether no condition looks farther than to the neighbour
    counts_exactly: bool  # whether the number of paths is that of matches
    interprets: bool  # whether there are conditions beyond comparisons of neighbours
    is_chain: bool  # whether matches may be for `elsinore.matches.chains` or `subsets`
    known: tuple[tuple[int, int], ...]  # registers of events, and the row of a match they hold

    def set_texts(self, operands: Operands) -> None:
        """Put in the integers that stand for texts among those of a batch."""
        at = self.integers[Header.WHOLES_AT]
        for place, text in self.program.texts.items():
            self.integers[at + place] = operands.code_of(text)
        for negative in self.negatives:
            negative.set_texts(operands)

    def set_classes(self, states: ClassStates) -> None:
        """Put in which states the events of each class take."""
        kept = self.integers[: self._size()]
        at = len(kept) + states.at
        at[states.at == 0] = len(kept)  # the empty list
        where = len(kept) + len(states.lists)
        moves = self._moves(states)
        self.integers = np.concatenate([kept, states.lists, at, *moves])
        self.integers[Header.CLASS_AT] = where
        self.integers[Header.MOVES_AT] = 0
        if moves:  # those of events of no class stand before
            self.integers[Header.MOVES_AT] = where + len(at) + moves[0].shape[0] // (len(at) + 1)
        for negative, own in zip(self.negatives, states.negatives, strict=True):
            negative.set_classes(own)

    @property
    def moves(self) -> Ints:
        """[1 + class, state + 2]: where events lead to, as `Header.MOVES_AT` tells it."""
        width = int(self.integers[Header.STATES]) + 2
        return self.integers[self.integers[Header.MOVES_AT] - width :].reshape(-1, width)

    def _moves(self, states: ClassStates) -> list[Ints]:
        """Return where an event of each class leads to; nothing where that is not one state."""
        count = int(self.integers[Header.STATES])
        if not self.is_chain or (len(states.at) + 1) * (count + 2) > MOST_MOVES:
            return []
        masks = np.where(states.at > 0, states.lists[states.at - 1], 0)
        begin = int(self.integers[Header.NEXT_AT])
        taken = masks[:, None] & self.integers[begin : begin + count + 1]
        if np.any(taken & (taken - 1)):
            return []
        moves = np.full((len(masks) + 1, count + 2), -1, dtype=np.int64)
        for state in range(count):
            moves[1:, :-1][taken == 1 << state] = state
        moves[0, -1], moves[1:, -1] = 0, masks != 0
        return [moves.reshape(-1)]

    def _size(self) -> int:
        """Return how many of the integers are not about classes: the last are integer constants."""
        return int(self.integers[Header.WHOLES_AT]) + len(self.program.wholes)


def build_tables(template: MatchTemplate, layout: Layout) -> Tables:
    """Return the tables of a template.

    Rows of the layout are given out for what its conditions and registers read.
    """
    compiler = Compiler(template.registers, layout)
    for condition in template.conditions:
        compiler.add(condition)
    program = compiler.program
    pairs = [program.pair_of(number) for number in range(len(template.conditions))]
    table = list[int]([0] * Header.SIZE)
    states = len(template.states)
    places = register_places(template.registers)
    kinds = [register.kind for register in template.registers]
    table[Header.STATES] = states
    table[Header.EVENTS] = sum(kind.holds_event for kind in kinds)
    widths = [register.width for register in template.registers]
    table[Header.NUMBERS] = sum(widths) - table[Header.EVENTS]
    table[Header.STRATEGY] = _STRATEGIES[template.strategy]
    table[Header.DEFERRED] = int(template.waits)

    def put(values: Sequence[int]) -> int:
        table.extend(values)
        return len(table) - len(values)

    def put_lists(count: int, lists: Callable[[int], Sequence[int] | int]) -> int:
        """Put a directory of `count` places of lists; a number stands for itself."""
        at = put([0] * count)
        for number in range(count):
            value = lists(number)
            table[at + number] = value if isinstance(value, int) else put([len(value), *value])
        return at

    table[Header.EDGE_AT] = at = put([-1] * ((states + 1) * states))
    for number, edge in enumerate(template.edges):
        table[at + (edge.source + 1) * states + edge.target] = number
    edges = template.edges
    near = [condition.reads_neighbours_only for condition in template.conditions]
    table[Header.NEAR_AT] = put_lists(len(edges), lambda n: [c for c in edges[n].checks if near[c]])
    table[Header.CHECK_AT] = put_lists(
        len(edges), lambda n: [c for c in edges[n].checks if not near[c]]
    )
    table[Header.LATE_AT] = put_lists(len(edges), lambda n: edges[n].late)
    table[Header.LOOKS_AT] = put([_looks(edge, near) for edge in edges])
    table[Header.WAY_AT] = put_lists(len(edges), lambda n: _ways(edges[n].ways))
    ways = {end.state: _ways(end.ways) for end in template.ends}
    table[Header.END_AT] = put_lists(states, lambda n: ways.get(n, -2))

    steps: dict[Register, int] = {}
    steppers: list[Stepper] = []
    initial: list[int] = []
    for place, register in zip(places, template.registers, strict=True):
        if register.aggregate is None:
            continue
        from elsinore.matches.stepping import stepper  # noqa: PLC0415 - the compiler, where needed

        made = stepper(register.aggregate, len(register.arguments))
        steppers.append(made)
        rows = [layout.double(name) for name in register.arguments]
        steps[register] = put([register.aggregate.width, len(rows), made.address, *rows])
        for number, value in enumerate((float("nan"), *made.initial)):
            initial += [place + number, len(program.constants)]
            program.constants.append(value)
    table[Header.INIT_AT] = put([len(initial), *initial])

    is_chain = _is_chain(template, pairs)
    known = {
        n: known_row(template, r) if is_chain else None for n, r in enumerate(template.registers)
    }
    every = {state.variable for state in template.states}
    begins = {edge.target for edge in template.edges if edge.source == START}

    def updates(state: int) -> list[int]:
        found = []
        for number, (place, register) in enumerate(zip(places, template.registers, strict=True)):
            if template.states[state].variable not in register.variables:
                continue
            if known[number] is not None:  # nothing reads it before the match is complete
                continue
            is_first = register.kind is RegisterKind.FIRST and every <= {*register.variables}
            if is_first and state not in begins:  # the match's first event has been bound
                continue
            is_whole, row = False, -1
            if register.kind in _COMPARED:
                is_whole, row = layout.comparable(register.attribute or "")
            elif register.kind is RegisterKind.SUM:
                row = layout.double(register.attribute or "")
            elif register.aggregate is not None:
                row = steps[register]
            found += [int(register.kind), place, row, int(is_whole)]
        return found

    table[Header.UPDATE_AT] = put_lists(states, updates)
    table[Header.FINAL_AT] = put([len(template.final), *template.final])
    table[Header.CODE_AT] = put_lists(len(template.conditions), program.code_of)
    sums = [p for p, kind in zip(places, kinds, strict=True) if kind is RegisterKind.SUM]
    table[Header.SUM_AT] = put([len(sums), *sums])
    sources = {edge.source for edge in edges}
    table[Header.ENDS_AT] = put([int(state not in sources) for state in range(states)])
    table[Header.HAS_LATE] = int(any(edge.late for edge in edges))
    _put_sets(table, template)
    table[Header.PAIR_AT] = at = put([-1] * len(pairs))
    for number, pair in enumerate(pairs):
        if pair is not None:
            table[at + number] = put(pair)
    ordered = tuple(
        (number, edge.target, pair)
        for number, edge in enumerate(edges)
        if edge.source != START and _ways(edge.ways) == -1
        for numbers in [[c for c in edge.checks if near[c]]]
        if len(numbers) == 1 and (pair := pairs[numbers[0]]) is not None
    )
    ordered = ordered if template.strategy is Strategy.ANY else ()
    table[Header.ORDERED_ROOM] = put(
        [len(edges), *([-1] * len(edges)), *([0] * ENTRY * len(ordered))]
    )
    if is_chain:
        split = [_split(updates(state)) for state in range(states)]
        table[Header.HOLDS_AT] = put_lists(states, lambda n: split[n][0])
        addends = {add[1]: (add[0], *add[2:]) for _, adds in split for add in adds}
        numbers = range(table[Header.NUMBERS])
        added = [{add[1] for add in adds} for _, adds in split]
        table[Header.ADDS_AT] = put([int(n in adds) for adds in added for n in numbers])
        table[Header.ADDEND_AT] = put([value for n in numbers for value in addends[n]])
        kept = [n for n, kind in enumerate(kinds) if kind.holds_event and known[n] is None]
        table[Header.KEPT_AT] = put([len(kept), *(places[n] for n in kept)])
    table[Header.ENDS_ONLY] = int(all(end.state not in sources for end in template.ends))
    table[Header.WHOLES_AT] = put(program.wholes)
    is_path = all(near[n] for edge in edges for n in edge.checks) and not template.final
    is_path = is_path and not any(edge.late for edge in edges)
    begins_with_not = any(edge.source == START and edge.ways != FREE for edge in edges)
    return Tables(
        integers=np.array(table, dtype=np.int64),
        constants=np.array(program.constants, dtype=np.float64),
        program=program,
        steppers=tuple(steppers),
        negatives=tuple(build_tables(n, layout) for n in template.negatives),
        ordered=ordered,
        is_path=is_path,
        counts_exactly=is_path
        and not begins_with_not
        and not template.ends_with_not
        and not template.duplicates,
        interprets=bool(steppers) or any(pair is None for pair in pairs),
        is_chain=is_chain,
        known=tuple((places[n], row) for n, row in known.items() if row is not None),
    )


def _split(updates: Sequence[int]) -> tuple[list[int], list[tuple[int, ...]]]:
    """Return the updates of registers of events, and those of registers of numbers one by one."""
    each = [tuple(updates[at : at + 4]) for at in range(0, len(updates), 4)]
    holds = [value for one in each if RegisterKind(one[0]).holds_event for value in one]
    return holds, [one for one in each if not RegisterKind(one[0]).holds_event]


def _is_chain(template: MatchTemplate, pairs: Sequence[object]) -> bool:
    """Return whether nothing but comparisons of neighbours decides how a match goes on.

    Under SKIP TILL ANY MATCH: nothing at all.
    """
    checks = [check for edge in template.edges for check in edge.checks]
    is_any = template.strategy is Strategy.ANY
    if is_any and any(c.kind is ColumnKind.MATCH_NUMBER for c in template.columns):
        return False  # numbers go by the order in which that search finds matches
    return (
        len(template.states) <= LAST_BIT
        and not (template.duplicates or template.final or template.negatives)
        and template.uncertain is None
        and not template.query.collapsed
        and all(register.aggregate is None for register in template.registers)
        and all(not edge.late and edge.ways == FREE for edge in template.edges)
        and all(end.ways == FREE for end in template.ends)
        and all(not edge.checks for edge in template.edges if edge.source == START)
        and (not checks or not is_any)
        and all(pairs[check] is not None for check in checks)
    )


def known_row(template: MatchTemplate, register: Register) -> int | None:
    """Return which row of a match a register always holds: 0 its first, 1 its last; None: neither.

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


def _put_sets(table: list[int], template: MatchTemplate) -> None:
    """Put in which states follow which, as bits."""
    following = [0] * (len(template.states) + 1)
    before = [0] * (LAST_BIT + 1)
    for edge in template.edges:
        following[edge.source + 1] |= 1 << _bit(edge.target)
        if edge.source != START:
            before[_bit(edge.target)] |= 1 << _bit(edge.source)
    table[Header.NEXT_AT] = len(table)
    table += following
    table[Header.BEFORE_AT] = len(table)
    table += before
    table[Header.ENDING] = sum({1 << _bit(end.state) for end in template.ends})
    fits = len(template.states) <= LAST_BIT
    plain = {edge for edge in template.edges if not edge.checks and edge.ways == FREE}
    table[Header.IS_PLAIN] = int(fits and len(plain) == len(template.edges))
    table[Header.DUPLICATES] = int(template.duplicates)
    late = template.final or any(edge.late for edge in template.edges)
    guarded = any(edge.source == START and edge.ways != FREE for edge in template.edges)
    late = late or any(register.aggregate is not None for register in template.registers)
    sources = {edge.source for edge in template.edges}
    leaves = {end.state for end in template.ends if end.ways == FREE} - sources
    leaf = [0] * len(following)
    if fits and template.strategy is Strategy.ANY and not late and not guarded:
        for edge in plain:
            if edge.source != START and edge.target in leaves:
                leaf[edge.source + 1] |= 1 << edge.target
    table[Header.LEAF_AT] = len(table)
    table += leaf


def _looks(edge: Edge, near: Sequence[bool]) -> int:
    is_near = any(near[c] for c in edge.checks) or _ways(edge.ways) != -1
    return int(is_near) + 2 * any(not near[c] for c in edge.checks)


def _bit(state: int) -> int:
    return min(state, LAST_BIT)


class ClassStates:
    """The states of a template that an event of each class takes, for the classes seen so far.

    `at[class]` is where the list of states begins in `lists`, its length first; before it, the
    states as bits.
    """

    def __init__(self, template: MatchTemplate, classes: Classes, size: int) -> None:
        self.at = np.zeros(size, dtype=np.int64)
        self.lists = np.zeros(1, dtype=np.int64)  # the empty list, of classes that no state takes
        self.negatives = tuple(ClassStates(n, classes, size) for n in template.negatives)
        self._classes = classes
        self._states = template.states

    def learn(self, codes: Sequence[int], numbers: Sequence[int]) -> None:
        """Take in classes: their codes, and the numbers that `at` knows them by."""
        lists = self.lists.tolist()
        if len(numbers) and max(numbers) >= len(self.at):
            self.at = np.concatenate([self.at, np.zeros(max(numbers) + 1, dtype=np.int64)])
        for code, number in zip(codes, numbers, strict=True):
            kind, true = self._classes.decode(int(code))
            taken = [n for n, s in enumerate(self._states) if s.type == kind and s.needs <= true]
            if taken:
                self.at[number] = len(lists) + 1
                lists += [sum({1 << _bit(state) for state in taken}), len(taken), *taken]
        self.lists = np.array(lists, dtype=np.int64)
        for negative in self.negatives:
            negative.learn(codes, numbers)


def _ways(ways: Ways) -> int | list[int]:
    """Return -1 where nothing is forbidden, else each way's negatives, their number first."""
    if frozenset() in ways:
        return -1
    return [value for way in sorted(ways, key=sorted) for value in (len(way), *sorted(way))]
