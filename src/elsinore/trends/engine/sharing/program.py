"""Sharing sets and what each class of events does to them, as tables of structs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from elsinore.trends.engine.layout import Layout
from elsinore.trends.engine.sharing.benefit import cell_price, value_price
from elsinore.trends.engine.sharing.sets import SharingSet, queries_through, sharing_sets
from elsinore.trends.engine.tables import NO_ADDEND, NO_RANK
from elsinore.trends.engine.updates import Update, Updates

MOST_PARTS = 8  # of a shared graphlet; with more, acting on all lanes is cheaper


class Weights(NamedTuple):
    """The places of addends and of columns of ranks among those of a sharing set."""

    addends: Mapping[int, int]
    ranks: Mapping[int, int]


NO_WEIGHTS = Weights({}, {})
Steps = list[tuple[int, list[int]]]  # each with its nodes in the order of their lanes


class SharingTables:
    """The sharing sets of a unit; `rows` are the tables of its program."""

    def __init__(
        self,
        updates: Updates,
        layout: Layout,
        rows: dict[str, list[Any]],
        add_steps: Callable[[Sequence[Update], Weights], Steps],
    ) -> None:
        self._updates, self._layout = updates, layout
        self._rows, self._add_steps = rows, add_steps
        self.sets = sharing_sets(updates)
        self.sizes = {"parts": 0, "weights": 0, "leasts": 0}
        self._passing = queries_through(updates.merged)
        self._set_of = {
            (sharing_set.type, node): number
            for number, sharing_set in enumerate(self.sets)
            for node in sharing_set.members
        }
        self._heard: dict[int, list[int]] = {}
        for number, sharing_set in enumerate(self.sets):
            for node in sharing_set.heard:
                self._heard.setdefault(node, []).append(number)
        for sharing_set in self.sets:
            self._add_set(sharing_set)

    def _add_set(self, sharing_set: SharingSet) -> None:
        rows, sizes = self._rows, self.sizes
        first = len(rows["cohorts"])
        holders = [self._update(n, sharing_set) for several in sharing_set.holders for n in several]
        twins = [self._update(n, sharing_set) for several in sharing_set.twins for n in several]
        weights = _weights(holders)
        spans = len(rows["spans"])
        for updates in (twins, holders):  # twins read what holders have before
            self._add_spans(self._add_steps(updates, weights), sharing_set)
        for several, beside in zip(sharing_set.holders, sharing_set.twins, strict=True):
            cells = sum(map(self._cells, (*several, *beside)))
            rows["cohorts"].append((len(set().union(*(self._passing[n] for n in several))),))
            rows["separate"].append(cell_price(cells))
            rows["values"].append(value_price(cells))
        cohorts = len(sharing_set.holders)
        parts = min(cohorts, MOST_PARTS)
        addends, ranks = len(rows["shared_addends"]), len(rows["shared_ranks"])
        rows["shared_addends"] += weights.addends
        rows["shared_ranks"] += weights.ranks
        rows["sets"].append(
            (
                first,
                first + cohorts,
                sizes["parts"],
                sizes["parts"] + parts,
                addends,
                len(rows["shared_addends"]),
                sizes["weights"],
                ranks,
                len(rows["shared_ranks"]),
                sizes["leasts"],
                spans,
                len(rows["spans"]),
                len(sharing_set.queries),
                int(sharing_set.has_sums),
            )
        )
        sizes["parts"] += parts
        sizes["weights"] += parts * len(weights.addends)
        sizes["leasts"] += parts * len(weights.ranks)

    def _update(self, node: int, sharing_set: SharingSet) -> Update:
        edges = self._updates.nodes[node].edges
        return self._updates.update(node, [e for e in edges if e.type == sharing_set.type])

    def _cells(self, node: int) -> int:
        block = self._layout.blocks[self._layout.block_of[node]]
        return block.overlap * (block.sums + block.extremes)

    def _add_spans(self, steps: Steps, sharing_set: SharingSet) -> None:
        rows = self._rows
        for step, nodes in steps:
            begin = len(rows["members"])
            rows["members"] += [sharing_set.members[node] for node in nodes]
            overlap = self._layout.blocks[self._layout.block_of[nodes[0]]].overlap
            rows["spans"].append((step, begin, len(rows["members"]), overlap))

    def sections(self, type_name: str, updates: Sequence[Update]) -> dict[int, list[Update]]:
        """Return which of a class's updates are of the states of each sharing set."""
        sections: dict[int, list[Update]] = {}
        for update in updates:
            number = self._set_of.get((type_name, update.node))
            if number is not None:
                sections.setdefault(number, []).append(update)
        return sections

    def add_sections(self, sections: Mapping[int, Sequence[Update]]) -> tuple[int, int]:
        """Add the sections of a class of events; return the first and the end.

        An event creates a snapshot for the cohorts that take it and the heaviest one does not, or
        the reverse: the `minority`.
        """
        rows = self._rows
        begin = len(rows["sections"])
        for number, updates in sections.items():
            sharing_set = self.sets[number]
            spans = len(rows["spans"])
            self._add_spans(self._add_steps(updates, NO_WEIGHTS), sharing_set)
            first = rows["sets"][number][0]
            cohorts = range(first, first + len(sharing_set.holders))
            taken = {first + sharing_set.members[update.node] for update in updates}
            takers = sorted(taken.intersection(cohorts))
            others = sorted(set(cohorts).difference(taken))
            heaviest = max(cohorts, key=rows["separate"].__getitem__, default=-1)
            minority = others if heaviest in taken else takers
            places = [len(rows["takers"])]
            for several in (takers, minority):
                rows["takers"] += several
                places.append(len(rows["takers"]))
            rows["sections"].append(
                (
                    self._part_of_price(takers, cohorts),
                    number,
                    spans,
                    len(rows["spans"]),
                    places[0],
                    places[1],
                    places[1],
                    places[2],
                )
            )
        return begin, len(rows["sections"])

    def _part_of_price(self, takers: Sequence[int], cohorts: Sequence[int]) -> float:
        prices = self._rows["separate"]
        every = sum(prices[cohort] for cohort in cohorts)
        return float(sum(prices[cohort] for cohort in takers) / every) if every else 1.0

    def add_breaks(self, type_name: str, changed: Sequence[int]) -> tuple[int, int]:
        """Add the sets whose bursts a class of events breaks; return the first and the end.

        changed: the nodes that it takes or empties.
        """
        rows = self._rows
        begin = len(rows["breaks"])
        broken = {number for node in changed for number in self._heard.get(node, ())}
        rows["breaks"] += sorted(n for n in broken if self.sets[n].type != type_name)
        return begin, len(rows["breaks"])


def _weights(updates: Sequence[Update]) -> Weights:
    """Return which addends and columns of ranks the sums and extremes of holders need."""
    addends = dict.fromkeys(part.addend for update in updates for part in update.sums)
    ranks = dict.fromkeys(extreme.rank for update in updates for extreme in update.extremes)
    addends.pop(NO_ADDEND, None)
    ranks.pop(NO_RANK, None)
    return Weights(
        {addend: place for place, addend in enumerate(addends)},
        {rank: place for place, rank in enumerate(ranks)},
    )
