"""The arrays of the shared graph's program, table by table (`elsinore.trends.hamlet.layout`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.model.expression import Operator
from elsinore.model.window import Window, overlap_of
from elsinore.plan.template import Template
from elsinore.trends.core.addends import NOTHING
from elsinore.trends.core.arrays import FOREVER, Ints
from elsinore.trends.core.lists import Lists
from elsinore.trends.hamlet import layout
from elsinore.trends.hamlet.layout import EQUAL, MIXED, PLAIN, PREFIX, STRICT, Program, Records
from elsinore.trends.hamlet.sets import FineSet, State

WORD = 64  # groups in a word of a mask

_COMPARED = {
    None: PLAIN,
    Operator.LE: PREFIX,
    Operator.GE: PREFIX,
    Operator.LT: STRICT,
    Operator.GT: STRICT,
    Operator.EQ: EQUAL,
}

_DESCENDING = {Operator.LE, Operator.LT}


def arrays_of(
    templates: Sequence[Template],
    states: Sequence[State],
    sets: Sequence[FineSet],
    home: Mapping[int, int],
) -> Program:
    """Return the arrays of a unit; `home`: the set of each fine node, by its place in `states`."""
    windows = list(dict.fromkeys(template.query.window for template in templates))
    places = _places(templates, states, sets, windows)
    lists = Lists()
    after: list[list[int]] = [[] for _ in states]
    for place, state in enumerate(states):
        if state.fine:
            for before in state.before:
                after[before].append(place)
    slots = _slots(states, sets, places)
    state_table = table(
        layout.STATE,
        field=places.fields,
        extreme=places.extremes,
        preds=lists.put([state.before for state in states]),
        succs=lists.put(after),
        start=[state.start for state in states],
        window=places.window,
        home=[home.get(place, -1) for place in range(len(states))],
    )
    kinds = _kinds(templates, windows, places, lists)
    queries = table(
        layout.QUERY,
        ends=lists.put(_ends(templates)),
        fields=[len(one.aggregation.linear) for one in templates],
        extremes=[len(one.aggregation.extremes) for one in templates],
    )
    conditions, first = _conditions(sets)
    members = table(
        layout.MEMBER,
        member=[member for one in sets for member in one.members],
        group=[group for one in sets for group in one.sharing.groups],
        condition=[
            one.sharing.conditions.index(states[m].adjacent) for one in sets for m in one.members
        ],
    )
    return Program(
        states=state_table,
        fields=table(
            layout.FIELD,
            address=places.address,
            what=[what for state in states for what in state.linear],
            slot=slots.field,
        ),
        extremes=table(
            layout.EXTREME,
            least=places.least,
            ranked=[what for state in states for what in state.ranked],
            extreme_slot=slots.extreme,
        ),
        kinds=kinds,
        queries=queries,
        sets=_sets(states, sets, places, slots, lists, after, (conditions, first)),
        members=members,
        conditions=conditions,
        lists=lists.items,
        slot_what=slots.what,
        slot_ranked=slots.ranked,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Where the cells of each state begin, window by window."""

    window: list[int]  # [state] -> its window kind
    lanes: list[int]  # [window kind]
    fields: Ints  # [state + 1] -> its first field
    extremes: Ints
    address: Ints  # [field] -> its first cell
    least: Ints  # [extreme]
    set_cell: list[int]
    set_least: list[int]
    holders: list[list[int]]  # [set] -> of each holder, its member


def _places(
    templates: Sequence[Template],
    states: Sequence[State],
    sets: Sequence[FineSet],
    windows: Sequence[Window | None],
) -> _Places:
    """Lay the cells out: of each set its holders' numbers of trends, then the rest; then others."""
    kinds = {window: number for number, window in enumerate(windows)}
    window = [kinds[templates[state.query].query.window] for state in states]
    lanes = list(map(overlap_of, windows))
    fields = starts(len(state.linear) for state in states)
    extremes = starts(len(state.ranked) for state in states)
    address = np.zeros(fields[-1], dtype=np.int64)
    least = np.zeros(extremes[-1], dtype=np.int64)
    cells, ranks, member_place = 0, 0, 0
    set_cell, set_least = [0], [0]
    holders: list[list[int]] = []
    for fine_set in sets:
        holders.append([])
        for i, member in enumerate(fine_set.members):
            address[fields[member]] = cells
            cells += lanes[window[member]]
            holders[-1] += [member_place + i] * lanes[window[member]]
        for member in fine_set.members:
            for f in range(1, len(states[member].linear)):
                address[fields[member] + f] = cells
                cells += lanes[window[member]]
            for x in range(len(states[member].ranked)):
                least[extremes[member] + x] = ranks
                ranks += lanes[window[member]]
        member_place += len(fine_set.members)
        set_cell.append(cells)
        set_least.append(ranks)
    for place, state in enumerate(states):
        if state.fine:
            continue
        for f in range(len(state.linear)):
            address[fields[place] + f] = cells
            cells += lanes[window[place]]
        for x in range(len(state.ranked)):
            least[extremes[place] + x] = ranks
            ranks += lanes[window[place]]
    return _Places(
        window=window,
        lanes=lanes,
        fields=fields,
        extremes=extremes,
        address=address,
        least=least,
        set_cell=set_cell,
        set_least=set_least,
        holders=holders,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slots:
    """Which number of a shared form carries what; `values` and `carried` are how many it has."""

    field: NDArray[np.int32]
    extreme: Ints
    values: list[int]
    carried: list[int]
    what: Ints
    ranked: Ints


def _slots(states: Sequence[State], sets: Sequence[FineSet], places: _Places) -> _Slots:
    """Number the contributions that the forms of each set carry."""
    slot = np.zeros(places.fields[-1], dtype=np.int32)
    extreme_slot = np.full(places.extremes[-1], -1, dtype=np.int64)
    for fine_set in sets:
        for member in fine_set.members:
            for f, what in enumerate(states[member].linear):
                if what != NOTHING:
                    slot[places.fields[member] + f] = fine_set.slots.index(what) + 1
            for x, what in enumerate(states[member].ranked):
                if what >= 0:
                    extreme_slot[places.extremes[member] + x] = fine_set.extreme_slots.index(what)
    values = [
        1 + max([len(fine_set.slots), *(len(states[m].linear) - 1 for m in fine_set.members)])
        for fine_set in sets
    ]
    carried = [
        max([len(fine_set.extreme_slots), *(len(states[m].ranked) for m in fine_set.members)])
        for fine_set in sets
    ]
    slot_what = np.full((len(sets), max([1, *values])), NOTHING, dtype=np.int64)
    slot_ranked = np.full((len(sets), max([1, *carried])), -1, dtype=np.int64)
    for number, fine_set in enumerate(sets):
        slot_what[number, 1 : 1 + len(fine_set.slots)] = fine_set.slots
        slot_ranked[number, : len(fine_set.extreme_slots)] = fine_set.extreme_slots
    return _Slots(
        field=slot,
        extreme=extreme_slot,
        values=values,
        carried=carried,
        what=slot_what,
        ranked=slot_ranked,
    )


def _kinds(
    templates: Sequence[Template],
    windows: Sequence[Window | None],
    places: _Places,
    lists: Lists,
) -> Records:
    """Return the table of window kinds."""
    within = [places.window.count(kind) for kind in range(len(windows))]
    by_kind = np.argsort(places.window, kind="stable").tolist()
    return table(
        layout.KIND,
        within=[int(FOREVER) if w is None else w.within for w in windows],
        step=[1 if w is None else w.step for w in windows],
        origin=[0 if w is None else w.origin for w in windows],
        overlap=places.lanes,
        openings=starts(places.lanes),
        kind_states=lists.put([by_kind[a:b] for a, b in pairwise(starts(within).tolist())]),
        kind_queries=lists.put(
            [
                [q for q, template in enumerate(templates) if template.query.window == w]
                for w in windows
            ]
        ),
    )


def _ends(templates: Sequence[Template]) -> list[list[int]]:
    """Return the accepting states of each query, in the unit's numbering."""
    offsets = starts(template.states for template in templates).tolist()
    return [
        [offset + state for state in sorted(template.accepting)]
        for offset, template in zip(offsets, templates, strict=False)
    ]


def _conditions(sets: Sequence[FineSet]) -> tuple[Records, Ints]:
    """Return the table of the ways to compare, and where each set's begin."""
    conditions = [how for fine_set in sets for how in fine_set.sharing.conditions]
    return table(
        layout.CONDITION,
        compared=[_COMPARED[how.operator if how else None] for how in conditions],
        inverted=[how is not None and how.operator in _DESCENDING for how in conditions],
        current=[-1] * len(conditions),  # until it is known what the attributes are
        previous=[-1] * len(conditions),
    ), starts(len(fine_set.sharing.conditions) for fine_set in sets)


def _sets(
    states: Sequence[State],
    sets: Sequence[FineSet],
    places: _Places,
    slots: _Slots,
    lists: Lists,
    after: Sequence[Sequence[int]],
    compared: tuple[Records, Ints],
) -> Records:
    """Return the table of sharing sets."""
    conditions, first = compared
    begins = first[:-1].tolist()
    return table(
        layout.SET,
        members=starts(len(fine_set.members) for fine_set in sets),
        groups=starts(max(fine_set.sharing.groups) + 1 for fine_set in sets),
        words=starts(words_of(fine_set) for fine_set in sets),
        set_cell=places.set_cell,
        set_least=places.set_least,
        holders=lists.put(places.holders),
        set_kinds=lists.put(
            [sorted({places.window[m] for m in fine_set.members}) for fine_set in sets]
        ),
        predecessors=[_predecessors(states, fine_set) for fine_set in sets],
        values=slots.values,
        carried=slots.carried,
        adjacent=[
            MIXED if len(fine_set.sharing.conditions) > 1 else int(conditions["compared"][place])
            for fine_set, place in zip(sets, begins, strict=True)
        ],
        conditions=first,
        inverted=[int(conditions["inverted"][place]) for place in begins],
        current=[-1] * len(sets),
        previous=[-1] * len(sets),
        feeds=[any(after[m] for m in fine_set.members) for fine_set in sets],
    )


def table(
    kind: np.dtype[np.void], **columns: Sequence[int] | Sequence[float] | NDArray[Any]
) -> Records:
    """Return records of columns; a column that has one entry less is 0 in the last record."""
    rows = max(len(column) for column in columns.values())
    if all(len(column) == rows for column in columns.values()):
        rows += 1
    made = np.zeros(rows, dtype=kind)
    for name, column in columns.items():
        made[name][: len(column)] = column
    return made


def _predecessors(states: Sequence[State], fine_set: FineSet) -> float:
    """Return p of HAMLET's Table 2: the predecessor types per type and query."""
    own_type = fine_set.sharing.type
    counts = [
        len({states[b].type for b in states[m].before} | {own_type}) for m in fine_set.members
    ]
    return sum(counts) / len(counts)


def words_of(fine_set: FineSet) -> int:
    """Return how many words a mask over the groups of a set has."""
    return max(fine_set.sharing.groups) // WORD + 1


def starts(sizes: Iterable[int]) -> NDArray[np.int64]:
    """Return where things of these sizes begin, one after another, and where the last ends."""
    return np.cumsum([0, *sizes], dtype=np.int64)
