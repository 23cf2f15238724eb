"""From sharing groups to the arrays that the kernels read (`Groups`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.model.expression import Expression
from elsinore.trends.arrays import NOTHING, ONE, VALUE
from elsinore.trends.lazy.arrays import ADDEND_WIDTH, EVENTS, HEAD, PRESENT, SUM, Groups
from elsinore.trends.lazy.cost import CoarseCost
from elsinore.trends.lazy.groups import Group, groups_of
from elsinore.trends.program import (
    Extreme,
    Layout,
    Sections,
    Sum,
    Update,
    ints,
    read_by,
    starts,
)


@dataclass(frozen=True, slots=True)
class Holder:
    """A node in a group, and what each of the group's events does to it and to its twins."""

    group: int
    update: Update
    twins: tuple[Update, ...]

    def beside(
        self, number: int, parts_of: Callable[[Update], Sequence[Sum | Extreme]]
    ) -> list[tuple[int, int]]:
        """Return the sums or extremes of twins, as (node, number), that go with one of the node's.

        parts_of: gives an update's sums, or its extremes.
        """
        mine = (self.update.node, number)
        return [
            (twin.node, place)
            for twin in self.twins
            for place, part in enumerate(parts_of(twin))
            if mine in part.sources
        ]


class GroupLayout:
    """The groups of a unit and where their clocks stand; without groups where none are wanted."""

    def __init__(self, layout: Layout, *, share: bool, cost: CoarseCost | None = None) -> None:
        self._layout = layout
        self._cost = cost or CoarseCost()
        self.groups: list[Group] = (
            groups_of(layout.unit, layout.labels, layout.lanes) if share else []
        )
        group_of = {node: g for g, group in enumerate(self.groups) for node in group.nodes}
        self._holder_of = {node: h for h, node in enumerate(sorted(group_of))}
        twins = {
            node: beside
            for group in self.groups
            for node, beside in zip(group.nodes, group.twins, strict=True)
        }
        self._group_of = group_of | {
            twin: group_of[node] for node, beside in twins.items() for twin in beside
        }
        self._holders = [
            Holder(group_of[node], self._update(node), tuple(map(self._update, twins[node])))
            for node in self._holder_of
        ]
        for node, beside in twins.items():
            self._holder_of |= dict.fromkeys(beside, self._holder_of[node])
        self._readers: dict[int, list[int]] = {}
        for holder in self._holders:
            for source in read_by(holder.update) - {holder.update.node}:
                self._readers.setdefault(source, []).append(holder.update.node)
        self._heard: dict[int, list[int]] = {}
        for g, group in enumerate(self.groups):
            for node in group.heard:
                self._heard.setdefault(node, []).append(g)
        self._fixed = self._fixed_arrays()

    def sections(
        self,
        updates: Sequence[Update],
        resets: Sequence[int],
        type_name: str,
        true: frozenset[Expression],
    ) -> Sections:
        """Split what a class of events does: what is of no group, and each group's part.

        A node that is emptied and changed is emptied first; one that is read, last.
        """
        ticking: dict[int, list[Update]] = {}
        rest: list[Update] = []
        for update in updates:
            group = self._group_of.get(update.node)
            if group is not None and self.groups[group].loop.takes(type_name, true):
                ticking.setdefault(group, []).append(update)
            else:
                rest.append(update)
        touched: dict[int, set[int]] = {}
        read = set().union(*(read_by(update) for update in updates))
        changed = [*(update.node for update in updates), *resets]
        readers = [reader for node in changed for reader in self._readers.get(node, ())]
        for node in (*read, *changed, *readers):
            group = self._group_of.get(node)
            if group is not None and group not in ticking:
                touched.setdefault(group, set()).add(self._holder_of[node])
        heard = {g for node in changed for g in self._heard.get(node, ())}
        return Sections(
            parts=(tuple(rest), *(tuple(part) for part in ticking.values())),
            resets=tuple((node, node in read) for node in resets),
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

    def _update(self, node: int) -> Update:
        """Return what a group's events do to one of its nodes, or to a twin."""
        group = self.groups[self._group_of[node]]
        entering = self._layout.merged.nodes[node].edges
        edges = [edge for edge in entering if self._layout.labels.of(edge) == group.label]
        return self._layout.update(node, edges)

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
        for holder, mark in zip(self._holders, marks.tolist(), strict=False):
            update, group = holder.update, holder.group
            sums: list[int] = []
            for number, part in enumerate(update.sums):
                others = [source for source in part.sources if source[0] != update.node]
                beside = holder.beside(number, lambda twin: twin.sums)
                sums += [layout.cell_of(update.node, number), weight(update, number), len(others)]
                sums += [layout.cell_of(*source) for source in others]
                sums += [len(beside), *(layout.cell_of(*twin) for twin in beside)]
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
                twins = holder.beside(number, lambda twin: twin.extremes)
                extremes += [*told, len(twins), *(layout.extreme_of(*twin) for twin in twins)]
            kind = layout.kind_of[update.node]
            opening = layout.opening[kind] if update.start else -1
            head = [int(clocks[group]), mark, widths[group], layout.overlaps[kind], opening]
            head += [len(update.sums), len(update.extremes), place + HEAD + len(sums)]
            words.append([*head, *sums, *extremes])
            place += len(words[-1])
        cells = [
            [
                sum(
                    layout.lanes[update.node] * (len(update.sums) + len(update.extremes))
                    for update in (self._holders[h].update, *self._holders[h].twins)
                )
                for h in one
            ]
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
