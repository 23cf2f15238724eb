"""Sharing sets and the effects of each class of events on them, as tables of structs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from elsinore.plan.merged import queries_through
from elsinore.trends.engine.constants import FORMS, NO_ADDEND, NO_RANK
from elsinore.trends.engine.layout import Layout
from elsinore.trends.engine.sharing.optimizer import cell_price, value_price
from elsinore.trends.engine.sharing.sets import SharingSet
from elsinore.trends.engine.steps import Rows, StepTables, Update, Updates, Weights

NO_UNIT = -1
Steps = list[tuple[int, list[int]]]  # each with its nodes in the order of their lanes


class SharingTables:
    """The sharing sets of a unit; `rows` are the tables of its program."""

    def __init__(
        self,
        updates: Updates,
        layout: Layout,
        sets: Sequence[SharingSet],
        rows: Rows,
        steps: StepTables,
    ) -> None:
        self._updates, self._layout, self._rows, self._steps = updates, layout, rows, steps
        self.sets = sets
        self.most_forms = 1
        self.sizes = {"form_places": 0, "leasts": 0, "snapshots": 0}
        self._pieces: list[dict[int, tuple[int, int]]] = []  # of each set's nodes
        self._passing = queries_through(updates.merged)
        self._set_of = {
            (sharing_set.type, node): number
            for number, sharing_set in enumerate(self.sets)
            for node in sharing_set.members
        }
        self._unit_of: dict[tuple[int, int], int] = {}  # of a set's holder or twin
        self._readers: dict[tuple[int, int], list[int]] = {}  # units that read a node
        self._sets_of: dict[int, list[int]] = {}  # the sets of whose queries a node is one
        for number, sharing_set in enumerate(self.sets):
            for node in sharing_set.query_nodes:
                self._sets_of.setdefault(node, []).append(number)
        for sharing_set in self.sets:
            self._add_set(sharing_set)

    def _add_set(self, sharing_set: SharingSet) -> None:
        rows, sizes = self._rows, self.sizes
        first = len(rows["cohorts"])
        is_compared = (len(self._pieces), 0) in self._layout.reader_blocks
        nodes = sharing_set.members if is_compared else itertools.chain(*sharing_set.holders)
        holders = [self._update(node, sharing_set) for node in nodes]
        twins = [
            self._update(n, sharing_set) for several in sharing_set.twins.values() for n in several
        ]
        weights = self._weights(holders)
        spans = len(rows["spans"])
        pieces: dict[int, tuple[int, int]] = {}
        for updates in (twins, holders):  # twins read what holders have before
            pieces |= self._add_spans(self._steps.add_steps(updates, weights), sharing_set)
        self._pieces.append(pieces)
        units = len(rows["units"])
        if not is_compared:
            self._add_units(sharing_set, holders, pieces)
        for several in sharing_set.holders:
            beside = [twin for holder in several for twin in sharing_set.twins[holder]]
            cells = sum(map(self._cells, (*several, *beside)))
            rows["cohorts"].append((len(set().union(*(self._passing[n] for n in several))),))
            rows["separate"].append(cell_price(cells))
            rows["values"].append(value_price(cells))
        cells = sum(map(self._cells, sharing_set.members))
        cohorts = len(sharing_set.holders)
        most_forms = min(FORMS, math.isqrt(4 * cells) + 1, 8 * cells // max(cohorts, 1))
        self.most_forms = max(self.most_forms, most_forms)
        addends, ranks = len(rows["shared_addends"]), len(rows["shared_ranks"])
        rows["shared_addends"] += weights.addends
        rows["shared_ranks"] += weights.ranks
        rows["sets"].append(
            (
                *(first, first + cohorts),
                *(addends, len(rows["shared_addends"]), sizes["form_places"]),
                *(ranks, len(rows["shared_ranks"]), sizes["leasts"]),
                *(spans, len(rows["spans"]), len(sharing_set.queries)),
                *(int(is_compared or bool(sharing_set.holders)), int(sharing_set.is_repeated)),
                *(units, len(rows["units"]), most_forms),
                *self._add_readers(sharing_set, spans),
            )
        )
        sizes["form_places"] += cohorts * (1 + len(weights.addends))
        sizes["leasts"] += cohorts * len(weights.ranks)

    def _add_readers(self, sharing_set: SharingSet, spans: int) -> list[int]:
        """Add the readers and parts of a set whose events are compared; return the rest of its row.

        These are the ranges of readers and parts, the number of values of a snapshot, the greatest
        number of snapshots, and the place of the first.
        """
        rows, layout, number = self._rows, self._layout, len(self._pieces) - 1
        readers, parts = len(rows["readers"]), len(rows["parts"])
        cells = columns = 0
        if (number, 0) in layout.reader_blocks:
            for way, reads in enumerate(sharing_set.ways):
                block = layout.reader_blocks.get((number, way), -1)
                rows["readers"].append(
                    (self._steps.add_reader(block, reads) if block >= 0 else -1, block)
                )
            blocks = {layout.block_of[node]: way for node, way in sharing_set.members.items()}
            rows["parts"] += [part for part in blocks.items() if layout.blocks[part[0]].has_rows]
            cells = 1 + sum(map(self._values, rows["spans"][spans:]))
            columns = layout.blocks[layout.reader_blocks[number, 0]].width
        begin = self.sizes["snapshots"]
        self.sizes["snapshots"] += cells * columns
        ends = len(rows["readers"]), parts, len(rows["parts"])
        return [readers, *ends, cells, columns, begin]

    def _values(self, span: tuple[int, ...]) -> int:
        """Return the number of values of a snapshot in the lanes of a span."""
        step = self._rows["steps"][span[1]]
        return int(step[2] * (step[4] - step[3]))

    def _add_units(
        self,
        sharing_set: SharingSet,
        holders: Sequence[Update],
        pieces: Mapping[int, tuple[int, int]],
    ) -> None:
        """Add units, each a holder with its twins, and record the nodes that they read."""
        rows, number = self._rows, len(self._rows["sets"])
        for update in holders:
            unit, nodes = len(rows["units"]), (*sharing_set.twins[update.node], update.node)
            begin = len(rows["pieces"])
            rows["pieces"] += [pieces[node] for node in nodes]
            rows["units"].append((begin, len(rows["pieces"])))
            for node in nodes:
                self._unit_of[number, node] = unit
                rows["member_units"][pieces[node][1]] = unit
            for source in {source.node for part in update.sums for source in part.sources}:
                self._readers.setdefault((number, source), []).append(unit)

    def _update(self, node: int, sharing_set: SharingSet) -> Update:
        edges = self._updates.nodes[node].edges
        return self._updates.update(node, [e for e in edges if e.type == sharing_set.type])

    def _cells(self, node: int) -> int:
        block = self._layout.blocks[self._layout.block_of[node]]
        return block.overlap * (block.sums + block.extremes)

    def _add_spans(self, steps: Steps, sharing_set: SharingSet) -> dict[int, tuple[int, int]]:
        """Add spans; return the span and the member of each node."""
        rows = self._rows
        pieces: dict[int, tuple[int, int]] = {}
        cell = 0
        for step, nodes in steps:
            begin = len(rows["members"])
            pieces |= {node: (len(rows["spans"]), begin + at) for at, node in enumerate(nodes)}
            rows["members"] += [sharing_set.members[node] for node in nodes]
            rows["member_units"] += [NO_UNIT] * len(nodes)
            overlap = self._layout.blocks[self._layout.block_of[nodes[0]]].overlap
            of_first = sharing_set.members[nodes[0]]
            span = len(rows["sets"]), step, begin, len(rows["members"]), overlap, cell, of_first
            rows["spans"].append(span)
            cell += self._values(span)
        return pieces

    def sections(self, type_name: str, updates: Sequence[Update]) -> dict[int, list[Update]]:
        """Return, for each sharing set, the updates of a class that are of its states."""
        sections: dict[int, list[Update]] = {}
        for update in updates:
            number = self._set_of.get((type_name, update.node))
            if number is not None:
                sections.setdefault(number, []).append(update)
        return sections

    def add_sections(self, sections: Mapping[int, Sequence[Update]]) -> tuple[int, int]:
        """Add the sections of a class of events; return the first and the end."""
        rows = self._rows
        begin = len(rows["sections"])
        for number, updates in sections.items():
            sharing_set = self.sets[number]
            spans = len(rows["spans"])
            self._add_spans(self._steps.add_steps(updates), sharing_set)
            first = rows["sets"][number][0]
            cohorts = range(first, first + len(sharing_set.holders))
            taken = {first + sharing_set.members[update.node] for update in updates}
            takers = sorted(taken.intersection(cohorts))
            is_whole = len(takers) == len(cohorts)
            if (number, 0) in self._layout.reader_blocks:
                takers = sorted(self._pieces[number][update.node][1] for update in updates)
                is_whole = len(updates) == len(sharing_set.members)
            begin_takers = len(rows["takers"])
            rows["takers"] += side_by_side(takers)
            price = self._part_of_price(taken, cohorts)
            ends = spans, len(rows["spans"]), begin_takers, len(rows["takers"])
            rows["sections"].append((price, number, *ends, int(is_whole)))
        return begin, len(rows["sections"])

    def _part_of_price(self, taken: set[int], cohorts: Sequence[int]) -> float:
        prices = self._rows["separate"]
        every = sum(prices[cohort] for cohort in cohorts)
        takers = taken.intersection(cohorts)
        return float(sum(prices[cohort] for cohort in takers) / every) if every else 1.0

    def add_breaks(
        self, type_name: str, changed: Sequence[int], updates: Sequence[Update]
    ) -> tuple[int, int]:
        """Add the sets whose bursts a class of events breaks; return the first and the end.

        changed: the nodes that the class enters or empties. Each break has the units that the class
        reads or changes, or whose predecessors it changes. A snapshot may read all units of a set.
        """
        rows = self._rows
        begin = len(rows["breaks"])
        of_sets = {self._set_of.get((type_name, update.node)) for update in updates}
        compared = [n for n in of_sets if n is not None and (n, 0) in self._layout.reader_blocks]
        shared = [
            self._update(node, self.sets[n]) for n in compared for node in self.sets[n].members
        ]
        read = {  # an extreme has no other sources than the number of trends
            source.node
            for update in (*updates, *shared)
            for part in update.sums
            for source in part.sources
        }
        reached = (*changed, *(update.node for update in shared))
        for number in sorted({n for node in reached for n in self._sets_of.get(node, ())}):
            if self.sets[number].type == type_name:
                continue
            units = {self._unit_of.get((number, node), NO_UNIT) for node in (*read, *changed)}
            units.update(u for node in changed for u in self._readers.get((number, node), ()))
            touched = sorted(units - {NO_UNIT})
            is_whole = 2 * len(touched) > len(self.sets[number].twins)
            first = len(rows["touched"])
            rows["touched"] += [] if is_whole else touched
            rows["breaks"].append((number, first, len(rows["touched"]), int(is_whole)))
        return begin, len(rows["breaks"])

    def _weights(self, updates: Sequence[Update]) -> Weights:
        """Return the addends and columns of ranks that sums and extremes of holders need."""
        addends = dict.fromkeys(part.addend for update in updates for part in update.sums)
        ranks = dict.fromkeys(extreme.rank for update in updates for extreme in update.extremes)
        addends.pop(NO_ADDEND, None)
        ranks.pop(NO_RANK, None)
        first, first_rank = (len(self._rows[name]) for name in ("shared_addends", "shared_ranks"))
        return Weights(
            {addend: place for place, addend in enumerate(addends, start=first)},
            {rank: place for place, rank in enumerate(ranks, start=first_rank)},
        )


def side_by_side(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return ascending numbers as ranges: the first number, and the one after the last.

    >>> side_by_side([3, 4, 5, 8])
    [(3, 6), (8, 9)]
    """
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number:
            ranges[-1] = ranges[-1][0], number + 1
        else:
            ranges.append((number, number + 1))
    return ranges
