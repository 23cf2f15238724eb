"""From sharing groups to the arrays that the kernels read (`Groups`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.model.expression import Expression
from elsinore.plan.merged import Edge
from elsinore.trends.arrays import NOTHING, ONE, VALUE
from elsinore.trends.lazy.arrays import ADDEND_WIDTH, EVENTS, HEAD, PRESENT, SUM, Groups
from elsinore.trends.lazy.cost import CoarseCost
from elsinore.trends.lazy.groups import Group, groups_of
from elsinore.trends.program import Layout, Sections, Update, ints, starts


@dataclass(frozen=True, slots=True)
class Holder:
    """A node in a group, and what each of the group's events does to it."""

    group: int
    update: Update


class GroupLayout:
    """The groups of a unit and where their clocks stand; without groups where none are wanted."""

    def __init__(self, layout: Layout, *, share: bool, cost: CoarseCost | None = None) -> None:
        self._layout = layout
        self._cost = cost or CoarseCost()
        self.groups: list[Group] = (
            groups_of(layout.unit, layout.labels, layout.lanes) if share else []
        )
        group_of = {node: g for g, group in enumerate(self.groups) for node in group.nodes}
        self._group_of = group_of
        self._holder_of = {node: h for h, node in enumerate(sorted(group_of))}
        self._holders = [
            Holder(group_of[node], layout.update(node, self._edges(node)))
            for node in self._holder_of
        ]
        self._readers: dict[int, list[int]] = {}
        for holder in self._holders:
            for source, _ in holder.update.sums[0].sources:
                if source != holder.update.node:
                    self._readers.setdefault(source, []).append(holder.update.node)
        self._heard: dict[int, list[int]] = {}
        for g, group in enumerate(self.groups):
            for node in group.heard:
                self._heard.setdefault(node, []).append(g)
        self._fixed = self._fixed_arrays()

    def sections(
        self, updates: Sequence[Update], type_name: str, true: frozenset[Expression]
    ) -> Sections:
        """Split what a class of events does: what is of no group, and each group's part."""
        ticking: dict[int, list[Update]] = {}
        rest: list[Update] = []
        for update in updates:
            group = self._group_of.get(update.node)
            if group is not None and self.groups[group].loop.takes(type_name, true):
                ticking.setdefault(group, []).append(update)
            else:
                rest.append(update)
        touched: dict[int, set[int]] = {}
        for update in updates:
            read = [source for source, _ in update.sums[0].sources]
            for node in (*read, update.node, *self._readers.get(update.node, ())):
                group = self._group_of.get(node)
                if group is not None and group not in ticking:
                    touched.setdefault(group, set()).add(self._holder_of[node])
        heard = {g for update in updates for g in self._heard.get(update.node, ())}
        return Sections(
            parts=(tuple(rest), *(tuple(part) for part in ticking.values())),
            ticks=tuple(ticking),
            settled=tuple((group, tuple(sorted(held))) for group, held in touched.items()),
            breaks=tuple(sorted(g for g in heard if self.groups[g].label.type != type_name)),
        )

    def arrays(self, classes: Sequence[Sections], words: Sequence[int]) -> Groups:
        """Return the kernels' arrays; words: [section] -> how many words its updates take."""
        runs = [run for sections in classes for run in sections.settled]
        return Groups(
            **self._fixed,
            runs=starts([len(sections.settled) for sections in classes]),
            run_group=ints([group for group, _ in runs]),
            run=starts([len(held) for _, held in runs]),
            settled=ints([holder for _, held in runs for holder in held]),
            ticks=starts([len(sections.ticks) for sections in classes]),
            tick_group=ints([group for sections in classes for group in sections.ticks]),
            section=starts([len(part) for sections in classes for part in sections.parts]),
            section_act=starts(words),
            breaks=starts([len(sections.breaks) for sections in classes]),
            broken=ints([group for sections in classes for group in sections.breaks]),
        )

    def _edges(self, node: int) -> list[Edge]:
        """Return the edges by which a group's events enter one of its nodes."""
        group = self.groups[self._group_of[node]]
        entering = self._layout.merged.nodes[node].edges
        return [edge for edge in entering if self._layout.labels.of(edge) == group.label]

    def _fixed_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what does not depend on the classes that have occurred."""
        layout, held = self._layout, [holder.update for holder in self._holders]
        members = [[self._holder_of[node] for node in group.nodes] for group in self.groups]
        addends: list[list[int]] = []
        ranked: list[list[int]] = []
        for one in members:
            own = [held[h] for h in one]
            whats = {part.contribution for update in own for part in update.sums}
            addends.append(sorted({(what - VALUE) >> 1 for what in whats if what >= VALUE}))
            wanted = {extreme.attribute for update in own for extreme in update.extremes}
            ranked.append(sorted(wanted - {-1}))
        first_stack = starts([len(own) for own in ranked])
        widths = [1 + ADDEND_WIDTH * len(own) for own in addends]
        group_of = [holder.group for holder in self._holders]

        def weight(update: Update, number: int) -> int:
            what = update.sums[number].contribution
            if what in {NOTHING, ONE}:
                return EVENTS if what == ONE else -1
            own = addends[self._group_of[update.node]]
            return ADDEND_WIDTH * own.index((what - VALUE) >> 1) + (PRESENT if what & 1 else SUM)

        def stack(update: Update, number: int) -> int:
            attribute, group = update.extremes[number].attribute, self._group_of[update.node]
            return -1 if attribute < 0 else int(first_stack[group]) + ranked[group].index(attribute)

        clocks, marks = starts(widths), starts([widths[group] for group in group_of])
        words: list[list[int]] = []
        place = 0
        for update, group, mark in zip(held, group_of, marks.tolist(), strict=False):
            sums: list[int] = []
            for number, part in enumerate(update.sums):
                others = [source for source in part.sources if source[0] != update.node]
                sums += [layout.cell_of(update.node, number), weight(update, number), len(others)]
                sums += [layout.cell_of(*source) for source in others]
            extremes: list[int] = []
            for number, extreme in enumerate(update.extremes):
                compared = [source for source in extreme.sources if source[0] != update.node]
                told = [
                    layout.extreme_of(update.node, number),
                    stack(update, number),
                    len(compared),
                ]
                for source in compared:
                    told += [layout.extreme_of(*source), layout.cell_of(source[0], 0)]
                extremes += told
            kind = layout.kind_of[update.node]
            opening = layout.opening[kind] if update.start else -1
            head = [int(clocks[group]), mark, widths[group], layout.overlaps[kind], opening]
            head += [len(update.sums), len(update.extremes), place + HEAD + len(sums)]
            words.append([*head, *sums, *extremes])
            place += len(words[-1])
        cells = [
            [layout.lanes[held[h].node] * (len(held[h].sums) + len(held[h].extremes)) for h in one]
            for one in members
        ]
        kinds = [layout.kind_of[update.node] for update in held]
        return {
            "members": starts([len(one) for one in members]),
            "member": ints([h for one in members for h in one]),
            "clock": clocks,
            "addends": starts([len(own) for own in addends]),
            "addend": ints([a for own in addends for a in own]),
            "stacks": first_stack,
            "ranked": ints([a for own in ranked for a in own]),
            "every": ints(range(len(held))),
            "group": ints(group_of),
            "marks": ints([sum(widths[group] for group in group_of)]),
            "words": ints([word for own in words for word in own]),
            "first_word": starts([len(own) for own in words])[:-1],
            "kind_holders": starts([kinds.count(kind) for kind in range(len(layout.windows))]),
            "eager": np.array([self._cost.eager(own) for own in cells]),
            "lazy": np.array(
                [self._cost.lazy(len(a) + len(r)) for a, r in zip(addends, ranked, strict=True)]
            ),
            "settling": np.array([self._cost.settling(own) for own in cells]),
            "eager_big": np.array([self._cost.eager(own, big=True) for own in cells]),
            "settling_big": np.array([self._cost.settling(own, big=True) for own in cells]),
            "boundary": np.array([self._cost.boundary]),
        }
