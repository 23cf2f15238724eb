"""From the templates of a unit's queries to the arrays that the kernels read.

A *fine node* is a state with a loop: a Kleene sub-pattern E+ (HAMLET, Definition 4). A *holder* is
a fine node in one window; windows of one length that are open at once lie side by side, in lanes.
Fine nodes that may share make up a *set* (Definition 5). All other states are coarse: of them sums
per window are kept, and no events.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.model.expression import Expression, Operator
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import Aggregation, Field, FieldKind
from elsinore.plan.sharing import aggregated, obstacle
from elsinore.plan.template import START, Adjacent, Template, contributes
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.hamlet import layout
from elsinore.trends.hamlet.layout import (
    EQUAL,
    FOREVER,
    MIXED,
    NOTHING,
    ONE,
    PLAIN,
    PREFIX,
    STRICT,
    Actions,
    Ints,
    Program,
    Records,
)
from elsinore.trends.updates import addend_codes, rank_codes

MOST_LOOKED_UP = 2**20  # classes that are told by a table; more by sorting the events' codes
_UNKNOWN = -2
WORD = 64  # groups in a word of a mask


@dataclass(slots=True)
class State:
    """A state of one query's template: what takes it, what may stand before it, what it adds."""

    query: int
    number: int
    type: str
    needs: frozenset[Expression]
    lacks: frozenset[Expression]
    start: bool
    before: list[int]  # the other states right before it, in the unit's numbering
    fine: bool
    adjacent: Adjacent | None
    linear: list[int]  # what an event adds to each field, the number of trends first
    ranked: list[int]  # what it is compared with for each extreme


@dataclass(slots=True)
class SharingSet:
    """Fine nodes that may share.

    They are of one type and one kind of aggregates, and compare an event with the one before in one
    way, or in any of several `conditions`. Those of one group have equal local predicates: they
    take the same events.
    """

    type: str
    members: list[int]
    conditions: list[Adjacent | None] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)  # [member] -> its group
    slots: list[int] = field(default_factory=list)  # contributions that shared forms carry
    extreme_slots: list[int] = field(default_factory=list)
    types: frozenset[str] = frozenset()  # all types in its queries' patterns


def states_of(
    templates: Sequence[Template],
    addends: Mapping[tuple[FieldKind, str], int],
    ranked: Mapping[tuple[FieldKind, str], int],
) -> list[State]:
    """Number the states of all templates."""
    offsets = np.cumsum([0] + [template.states for template in templates]).tolist()
    found: list[State] = []
    for query, template in enumerate(templates):
        for number in range(template.states):
            moves = [move for move in template.transitions if move.target == number]
            loops = [move for move in moves if move.source == number]
            one = moves[0]
            contributed = [
                _linear(entry, addends) if contributes(entry, one) else NOTHING
                for entry in template.aggregation.linear
            ]
            compared = [
                _extreme(entry, ranked) if contributes(entry, one) else -1
                for entry in template.aggregation.extremes
            ]
            found.append(
                State(
                    query=query,
                    number=number,
                    type=one.type,
                    needs=one.needs,
                    lacks=one.lacks,
                    start=any(move.source == START for move in moves),
                    before=sorted(
                        offsets[query] + move.source
                        for move in moves
                        if move.source not in {START, number}
                    ),
                    fine=bool(loops),
                    adjacent=loops[0].adjacent if loops else None,
                    linear=contributed,
                    ranked=compared,
                )
            )
    return found


def _linear(entry: Field, codes: Mapping[tuple[FieldKind, str], int]) -> int:
    return ONE if entry.kind is FieldKind.EVENTS else codes[entry.kind, entry.attribute or ""]


def _extreme(entry: Field, codes: Mapping[tuple[FieldKind, str], int]) -> int:
    return codes[entry.kind, entry.attribute or ""]


def sharing_sets(
    states: Sequence[State], aggregations: Sequence[Aggregation], *, mixed: bool = False
) -> list[SharingSet]:
    """Put the fine nodes into sets that may share, as `elsinore.plan.sharing` says.

    mixed: those that compare events in different ways too, by snapshots at events (HAMLET,
    Definition 9).
    """
    found: dict[object, SharingSet] = {}
    types: dict[int, set[str]] = defaultdict(set)
    for state in states:
        types[state.query].add(state.type)
    for place, state in enumerate(states):
        if not state.fine:
            continue
        how = None if mixed else state.adjacent
        key = (state.type, how, aggregated(aggregations[state.query]))
        one = found.setdefault(key, SharingSet(state.type, []))
        one.members.append(place)
        if state.adjacent not in one.conditions:
            one.conditions.append(state.adjacent)
    for one in found.values():
        told: dict[object, int] = {}
        for member in one.members:
            state = states[member]
            one.groups.append(told.setdefault((state.needs, state.lacks), len(told)))
            one.types |= types[state.query]
            for what in state.linear[1:]:
                if what != NOTHING and what not in one.slots:
                    one.slots.append(what)
            for what in state.ranked:
                if what >= 0 and what not in one.extreme_slots:
                    one.extreme_slots.append(what)
    return list(found.values())


def set_name(one: SharingSet) -> str:
    """Return the sub-pattern of a set, such as Travel+."""
    how = one.conditions[0]
    if how is None or len(one.conditions) > 1:
        return f"{one.type}+"
    return f"{one.type}+ [i].{how.current} {how.operator.value} [i-1].{how.previous}"


_KINDS = {
    None: PLAIN,
    Operator.LE: PREFIX,
    Operator.GE: PREFIX,
    Operator.LT: STRICT,
    Operator.GT: STRICT,
    Operator.EQ: EQUAL,
}

_DESCENDING = {Operator.LE, Operator.LT}


class HamletProgram:
    """The arrays of a unit, and the actions of its classes, worked out as the classes occur."""

    def __init__(self, unit: TrendUnit, *, mixed: bool = False) -> None:
        templates = unit.templates
        for template in templates:
            reason = obstacle(template)
            if reason is not None:
                raise ValueError(f"{template.query.name}: {reason}")
        self.unit = unit
        self.states = states_of(templates, addend_codes(unit), rank_codes(unit))
        aggregations = [one.aggregation for one in templates]
        self.sets = sharing_sets(self.states, aggregations, mixed=mixed)
        self.windows = tuple(dict.fromkeys(template.query.window for template in templates))
        self._home = {
            member: number for number, one in enumerate(self.sets) for member in one.members
        }
        self._by_type: dict[str, list[int]] = defaultdict(list)
        for place, state in enumerate(self.states):
            self._by_type[state.type].append(place)
        self._query_sets: dict[int, list[int]] = defaultdict(list)
        for place, number in self._home.items():
            query = self.states[place].query
            if number not in self._query_sets[query]:
                self._query_sets[query].append(number)
        self.arrays = self._arrays()
        self._codes: dict[int, int] = {}
        size = min(unit.classes.size, MOST_LOOKED_UP)
        self._numbers = np.full(size + 1, _UNKNOWN, dtype=np.int32)
        self._numbers[-1] = -1
        self._parts: list[_ClassActions] = []
        self.actions = _actions(self._parts)

    def name(self, number: int) -> str:
        """Return the sub-pattern of a set, such as Travel+."""
        return set_name(self.sets[number])

    def queries(self, number: int) -> tuple[str, ...]:
        """Return the names of the queries of a set."""
        templates = self.unit.templates
        names = (templates[self.states[m].query].query.name for m in self.sets[number].members)
        return tuple(dict.fromkeys(names))

    def comparing(self, columns: ComparedColumns) -> Program:
        """Return the arrays, with the rows of `columns` by which each set compares its events."""
        sets, conditions = self.arrays.sets.copy(), self.arrays.conditions.copy()
        for number, one in enumerate(self.sets):
            for place, how in enumerate(one.conditions, int(sets["conditions"][number])):
                if how is not None:
                    rows = columns.rows(how.current, how.previous)
                    conditions["current"][place], conditions["previous"][place] = rows
                    sets["current"][number], sets["previous"][number] = rows
        return self.arrays._replace(sets=sets, conditions=conditions)

    def classes(self, codes: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return for each event's class code the number of its actions; -1 for none."""
        before = len(self._parts)
        if self.unit.classes.size <= MOST_LOOKED_UP:
            numbers = self._numbers[np.maximum(codes, -1)]  # the last entry is that of -1
            unknown = np.unique(codes[numbers == _UNKNOWN])
            for code in unknown.tolist():
                self._numbers[code] = self._class(code)
            if len(unknown):
                numbers = self._numbers[np.maximum(codes, -1)]
        else:
            present, inverse = np.unique(codes, return_inverse=True)
            found = [-1 if code < 0 else self._class(code) for code in present.tolist()]
            numbers = np.array(found, dtype=np.int32)[inverse.reshape(-1)]
        if len(self._parts) != before:
            self.actions = _actions(self._parts)
        return numbers

    def _class(self, code: int) -> int:
        known = self._codes.get(code)
        if known is not None:
            return known
        type_name, true = self.unit.classes.decode(code)
        taken = [
            place
            for place in self._by_type.get(type_name, ())
            if self.states[place].needs <= true and not self.states[place].lacks & true
        ]
        number = -1
        if taken:
            number = len(self._parts)
            self._parts.append(self._class_actions(taken))
        self._codes[code] = number
        return number

    def _class_actions(self, taken: Sequence[int]) -> _ClassActions:
        coarse = [place for place in taken if not self.states[place].fine]
        broken: dict[int, None] = {}
        entered: dict[int, list[int]] = defaultdict(list)
        for place in taken:
            state = self.states[place]
            for number in self._query_sets[state.query]:
                reads = not state.fine and any(self._home.get(b) == number for b in state.before)
                if self.sets[number].type != state.type or reads:
                    broken[number] = None
            if state.fine:
                entered[self._home[place]].append(place)
        entries = []
        for number, members in sorted(entered.items()):
            one = self.sets[number]
            words = np.zeros(_words(one), dtype=np.uint64)
            chosen = set(members)
            places = [i for i, member in enumerate(one.members) if member in chosen]
            for i in places:
                group = one.groups[i]
                words[group // WORD] |= np.uint64(1 << (group % WORD))
            takers = [int(self.arrays.sets["members"][number]) + i for i in places]
            entries.append(_Entry(number, takers, words, len(places) == len(one.members)))
        return _ClassActions(coarse, sorted(broken), entries)

    def _arrays(self) -> Program:
        states, sets, templates = self.states, self.sets, self.unit.templates
        kinds = {window: number for number, window in enumerate(self.windows)}
        window = [kinds[templates[state.query].query.window] for state in states]
        lanes = [1 if w is None else w.overlap for w in self.windows]
        field_starts = _starts(len(state.linear) for state in states)
        extreme_starts = _starts(len(state.ranked) for state in states)
        address = np.zeros(field_starts[-1], dtype=np.int64)
        least = np.zeros(extreme_starts[-1], dtype=np.int64)
        cells, extremes = 0, 0
        set_cell, set_least = [0], [0]
        holder_member: list[int] = []
        holder_starts = [0]
        member_place = 0
        for one in sets:
            for i, member in enumerate(one.members):
                address[field_starts[member]] = cells
                cells += lanes[window[member]]
                holder_member += [member_place + i] * lanes[window[member]]
            for member in one.members:
                for f in range(1, len(states[member].linear)):
                    address[field_starts[member] + f] = cells
                    cells += lanes[window[member]]
                for x in range(len(states[member].ranked)):
                    least[extreme_starts[member] + x] = extremes
                    extremes += lanes[window[member]]
            member_place += len(one.members)
            holder_starts.append(len(holder_member))
            set_cell.append(cells)
            set_least.append(extremes)
        for place, state in enumerate(states):
            if state.fine:
                continue
            for f in range(len(state.linear)):
                address[field_starts[place] + f] = cells
                cells += lanes[window[place]]
            for x in range(len(state.ranked)):
                least[extreme_starts[place] + x] = extremes
                extremes += lanes[window[place]]
        members = [member for one in sets for member in one.members]
        slot = np.zeros(field_starts[-1], dtype=np.int32)
        extreme_slot = np.full(extreme_starts[-1], -1, dtype=np.int64)
        for one in sets:
            for member in one.members:
                for f, what in enumerate(states[member].linear):
                    if what != NOTHING:
                        slot[field_starts[member] + f] = one.slots.index(what) + 1
                for x, what in enumerate(states[member].ranked):
                    if what >= 0:
                        extreme_slot[extreme_starts[member] + x] = one.extreme_slots.index(what)
        values = [
            1 + max([len(one.slots), *(len(states[m].linear) - 1 for m in one.members)])
            for one in sets
        ]
        carried = [
            max([len(one.extreme_slots), *(len(states[m].ranked) for m in one.members)])
            for one in sets
        ]
        slot_what = np.full((len(sets), max([1, *values])), NOTHING, dtype=np.int64)
        slot_ranked = np.full((len(sets), max([1, *carried])), -1, dtype=np.int64)
        for number, one in enumerate(sets):
            slot_what[number, 1 : 1 + len(one.slots)] = one.slots
            slot_ranked[number, : len(one.extreme_slots)] = one.extreme_slots
        after: list[list[int]] = [[] for _ in states]
        for place, state in enumerate(states):
            if state.fine:
                for before in state.before:
                    after[before].append(place)
        conditions = [how for one in sets for how in one.conditions]
        condition_of = [
            one.conditions.index(states[m].adjacent) for one in sets for m in one.members
        ]
        kind_of = [_KINDS[how.operator if how else None] for how in conditions]
        turned = [how is not None and how.operator in _DESCENDING for how in conditions]
        first = _starts(len(one.conditions) for one in sets)
        adjacent = [
            MIXED if len(one.conditions) > 1 else kind_of[place]
            for one, place in zip(sets, first.tolist(), strict=False)
        ]
        inverted = [turned[place] for place in first[:-1].tolist()]
        lists = _Lists()
        within = [window.count(kind) for kind in range(len(self.windows))]
        by_kind = np.argsort(window, kind="stable").tolist()
        kind_states = [by_kind[a:b] for a, b in pairwise(_starts(within).tolist())]
        kind_queries = [
            [q for q, one in enumerate(templates) if one.query.window == w] for w in self.windows
        ]
        ends = [
            [int(offset) + state for state in sorted(one.accepting)]
            for offset, one in zip(
                _starts(one.states for one in templates), templates, strict=False
            )
        ]
        holders = [holder_member[a:b] for a, b in pairwise(holder_starts)]
        set_kinds = [sorted({window[m] for m in one.members}) for one in sets]
        whats = [what for state in states for what in state.linear]
        ranks = [what for state in states for what in state.ranked]
        return Program(
            states=_table(
                layout.STATE,
                field=field_starts,
                extreme=extreme_starts,
                preds=lists.add([state.before for state in states]),
                succs=lists.add(after),
                start=[state.start for state in states],
                window=window,
                home=[self._home.get(place, -1) for place in range(len(states))],
            ),
            fields=_table(layout.FIELD, address=address, what=whats, slot=slot),
            extremes=_table(layout.EXTREME, least=least, ranked=ranks, extreme_slot=extreme_slot),
            kinds=_table(
                layout.KIND,
                within=[int(FOREVER) if w is None else w.within for w in self.windows],
                step=[1 if w is None else w.step for w in self.windows],
                origin=[0 if w is None else w.origin for w in self.windows],
                overlap=lanes,
                openings=_starts(lanes),
                kind_states=lists.add(kind_states),
                kind_queries=lists.add(kind_queries),
            ),
            queries=_table(
                layout.QUERY,
                ends=lists.add(ends),
                fields=[len(one.aggregation.linear) for one in templates],
                extremes=[len(one.aggregation.extremes) for one in templates],
            ),
            sets=_table(
                layout.SET,
                members=_starts(len(one.members) for one in sets),
                groups=_starts(max(one.groups) + 1 for one in sets),
                words=_starts(_words(one) for one in sets),
                set_cell=set_cell,
                set_least=set_least,
                holders=lists.add(holders),
                set_kinds=lists.add(set_kinds),
                predecessors=[_predecessors(states, one) for one in sets],
                values=values,
                carried=carried,
                adjacent=adjacent,
                conditions=first,
                inverted=inverted,
                current=[-1] * len(sets),  # until it is known what the attributes are
                previous=[-1] * len(sets),
                feeds=[any(after[m] for m in one.members) for one in sets],
            ),
            members=_table(
                layout.MEMBER,
                member=members,
                group=[group for one in sets for group in one.groups],
                condition=condition_of,
            ),
            conditions=_table(
                layout.CONDITION,
                compared=kind_of,
                inverted=turned,
                current=[-1] * len(conditions),
                previous=[-1] * len(conditions),
            ),
            lists=lists.items,
            slot_what=slot_what,
            slot_ranked=slot_ranked,
        )


class _Lists:
    """Lists one after another in one array."""

    def __init__(self) -> None:
        self._items: list[int] = []

    def add(self, parts: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        """Add lists; return where each begins, and where the last one ends."""
        starts = _starts(len(part) for part in parts) + len(self._items)
        for part in parts:
            self._items += part
        return starts

    @property
    def items(self) -> Ints:
        return np.array(self._items, dtype=np.int64)


def _table(
    kind: np.dtype[np.void], **columns: Sequence[int] | Sequence[float] | NDArray[Any]
) -> Records:
    """Return records of columns; a column that has one entry less is 0 in the last record."""
    rows = max(len(column) for column in columns.values())
    if all(len(column) == rows for column in columns.values()):
        rows += 1
    table = np.zeros(rows, dtype=kind)
    for name, column in columns.items():
        table[name][: len(column)] = column
    return table


def _predecessors(states: Sequence[State], one: SharingSet) -> float:
    """Return p of HAMLET's Table 2: the predecessor types per type and query."""
    counts = [len({states[b].type for b in states[m].before} | {one.type}) for m in one.members]
    return sum(counts) / len(counts)


def _words(one: SharingSet) -> int:
    return max(one.groups) // WORD + 1


@dataclass(slots=True)
class _Entry:
    number: int  # the set
    takers: list[int]  # members
    mask: NDArray[np.uint64]
    everyone: bool


@dataclass(slots=True)
class _ClassActions:
    coarse: list[int]
    broken: list[int]
    entries: list[_Entry]


def _actions(parts: Sequence[_ClassActions]) -> Actions:
    entries = [entry for part in parts for entry in part.entries]
    masks = [entry.mask for entry in entries]
    lists = _Lists()
    return Actions(
        classes=_table(
            layout.CLASS,
            coarse=lists.add([part.coarse for part in parts]),
            breaks=lists.add([part.broken for part in parts]),
            enters=_starts(len(part.entries) for part in parts),
        )[: len(parts) + 1],
        entries=_table(
            layout.ENTRY,
            takers=lists.add([entry.takers for entry in entries]),
            masks=_starts(len(mask) for mask in masks),
            entered=[entry.number for entry in entries],
            everyone=[entry.everyone for entry in entries],
        ),
        lists=lists.items,
        mask=np.concatenate([*masks, np.zeros(0, dtype=np.uint64)]).astype(np.uint64),
    )


def _starts(sizes: Iterable[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *sizes], dtype=np.int64)
