"""What events of each class do in the shared graph, worked out as the classes occur."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elsinore.plan import TrendUnit
from elsinore.plan.sharing import obstacle
from elsinore.trends.core.lists import Lists
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.graph.program import class_numbers
from elsinore.trends.hamlet import layout
from elsinore.trends.hamlet.layout import Actions, Program
from elsinore.trends.hamlet.sets import fine_sets, states_of
from elsinore.trends.hamlet.tables import WORD, arrays_of, starts, table, words_of
from elsinore.trends.keyed import Ints
from elsinore.trends.nodes.updates import addend_codes, rank_codes


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
        self.sets = fine_sets(templates, self.states, mixed=mixed)
        self.windows = tuple(dict.fromkeys(template.query.window for template in templates))
        self._home = {
            member: number
            for number, fine_set in enumerate(self.sets)
            for member in fine_set.members
        }
        self._by_type: dict[str, list[int]] = defaultdict(list)
        for place, state in enumerate(self.states):
            self._by_type[state.type].append(place)
        self._query_sets: dict[int, list[int]] = defaultdict(list)
        for place, number in self._home.items():
            query = self.states[place].query
            if number not in self._query_sets[query]:
                self._query_sets[query].append(number)
        self.arrays = arrays_of(templates, self.states, self.sets, self._home)
        self._codes: dict[int, int] = {}
        self._parts: list[_ClassActions] = []
        self.actions = _actions(self._parts)

    def queries(self, number: int) -> tuple[str, ...]:
        """Return the names of the queries of a set."""
        queries = self.sets[number].sharing.queries
        return tuple([self.unit.templates[query].query.name for query in queries])

    def comparing(self, columns: ComparedColumns) -> Program:
        """Return the arrays, with the rows of `columns` by which each set compares its events."""
        sets, conditions = self.arrays.sets.copy(), self.arrays.conditions.copy()
        for number, fine_set in enumerate(self.sets):
            for place, how in enumerate(
                fine_set.sharing.conditions, int(sets["conditions"][number])
            ):
                if how is not None:
                    rows = columns.rows(how.current, how.previous)
                    conditions["current"][place], conditions["previous"][place] = rows
                    sets["current"][number], sets["previous"][number] = rows
        return self.arrays._replace(sets=sets, conditions=conditions)

    def classes(self, codes: Ints, listed: Sequence[int] | None = None) -> NDArray[np.int32]:
        """Return for each event's class code the number of its actions; -1 for none.

        listed: the classes that codes are places among; None: codes are classes.
        """
        before = len(self._parts)
        present, places = class_numbers(codes) if listed is None else (listed, codes)
        of_present = [*map(self._class, present), -1]  # the last is that of rows of no class
        numbers = np.array(of_present, dtype=np.int32)[places]
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
                if self.sets[number].sharing.type != state.type or reads:
                    broken[number] = None
            if state.fine:
                entered[self._home[place]].append(place)
        entries = []
        for number, members in sorted(entered.items()):
            fine_set = self.sets[number]
            words = np.zeros(words_of(fine_set), dtype=np.uint64)
            chosen = set(members)
            places = [i for i, member in enumerate(fine_set.members) if member in chosen]
            for i in places:
                group = fine_set.sharing.groups[i]
                words[group // WORD] |= np.uint64(1 << (group % WORD))
            takers = [int(self.arrays.sets["members"][number]) + i for i in places]
            entries.append(_Entry(number, takers, words, len(places) == len(fine_set.members)))
        return _ClassActions(coarse, sorted(broken), entries)


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
    lists = Lists()
    return Actions(
        classes=table(
            layout.CLASS,
            coarse=lists.put([part.coarse for part in parts]),
            breaks=lists.put([part.broken for part in parts]),
            enters=starts(len(part.entries) for part in parts),
        )[: len(parts) + 1],
        entries=table(
            layout.ENTRY,
            takers=lists.put([entry.takers for entry in entries]),
            masks=starts(len(mask) for mask in masks),
            entered=[entry.number for entry in entries],
            everyone=[entry.everyone for entry in entries],
        ),
        lists=lists.items,
        mask=np.concatenate([*masks, np.zeros(0, dtype=np.uint64)]).astype(np.uint64),
    )
