"""From sharing groups to the words that the kernels read, and the sizes of what they keep."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from elsinore.model.expression import Expression
from elsinore.trends.core.addends import NOTHING, ONE, VALUE
from elsinore.trends.core.step import EACH
from elsinore.trends.core.step import NOTHING as NO_ADDEND
from elsinore.trends.nodes.layout import Layout
from elsinore.trends.nodes.updates import Extreme, Sum, Update, Updates
from elsinore.trends.prices import SumPrices, measured
from elsinore.trends.sharing.clock import GROUP_WORDS
from elsinore.trends.sharing.groups import Group, groups_of

MOST_PARTS = 8  # of a burst; where there were more, lanes one by one would be cheaper


class Sections(NamedTuple):
    """What a class of events does, by sharing group.

    `parts[0]` are the updates of no group, `parts[1 + t]` those of group `ticks[t]`.
    """

    parts: tuple[tuple[Update, ...], ...]
    ticks: tuple[int, ...]
    takers: tuple[tuple[int, ...], ...]  # of each of these groups, the cohorts that take the event
    settled: tuple[tuple[int, tuple[int, ...]], ...]  # groups, and which of their holders are read
    breaks: tuple[int, ...]  # groups whose burst such an event ends


class Holder(NamedTuple):
    """A node in a group, and what each of the group's events does to it and to its twins."""

    group: int
    cohort: int  # its number in the group
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


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCost:
    """What a group's steps cost, in nanoseconds."""

    lazy: float  # an event moves the clock of a part
    settling: float  # a lane is brought up to date
    price: float  # all lanes are


class SharedGroups:
    """The groups of a unit and their holders; without groups where none are wanted."""

    def __init__(
        self,
        updates: Updates,
        layout: Layout,
        *,
        share: bool,
        all_of_them: bool = True,
        cost: SumPrices | None = None,
    ) -> None:
        """Find the groups; without `all_of_them` not those of one query that can never pay."""
        self._updates = updates
        self._layout = layout
        cost = cost or measured().sums
        self.cost = cost
        lanes = [layout.blocks[block].overlap for block in layout.block_of]
        self.groups: list[Group] = groups_of(updates.unit, updates.labels) if share else []
        if not all_of_them:
            self.groups = [group for group in self.groups if self._may_pay(cost, group, lanes)]
        cohort_of = {
            node: (g, c)
            for g, group in enumerate(self.groups)
            for c, cohort in enumerate(group.cohorts)
            for node in cohort.nodes
        }
        self.nodes = tuple(sorted(cohort_of))  # the nodes of the holders
        self._holder_of = {node: h for h, node in enumerate(self.nodes)}
        twins = {
            node: beside
            for group in self.groups
            for cohort in group.cohorts
            for node, beside in zip(cohort.nodes, cohort.twins, strict=True)
        }
        self._cohort_of = cohort_of | {
            twin: cohort_of[node] for node, beside in twins.items() for twin in beside
        }
        self._holders = [
            Holder(*cohort_of[node], self._update(node), tuple(map(self._update, twins[node])))
            for node in self.nodes
        ]
        for node, beside in twins.items():
            self._holder_of |= dict.fromkeys(beside, self._holder_of[node])
        self._readers: dict[int, list[int]] = {}
        for holder in self._holders:
            for source in holder.update.reads - {holder.update.node}:
                self._readers.setdefault(source, []).append(holder.update.node)
        self._heard: dict[int, list[int]] = {}
        for g, group in enumerate(self.groups):
            for node in group.heard:
                self._heard.setdefault(node, []).append(g)
        self._members = [
            [self._holder_of[node] for cohort in group.cohorts for node in cohort.nodes]
            for group in self.groups
        ]
        self._clocks = [min(len(group.cohorts), MOST_PARTS) for group in self.groups]
        self._lanes = [lanes[node] for node in self.nodes]
        self._addends = [self._addends_of(members) for members in self._members]
        self._stacked = [self._stacked_of(members) for members in self._members]
        self.costs = [self._cost(cost, group) for group in range(len(self.groups))]

    @property
    def sizes(self) -> dict[str, int]:
        """The lengths of the store's axes: what is kept of groups, clocks, cohorts and lanes."""
        lanes = [sum(self._lanes[h] for h in held) for held in self._members]
        return {
            "group": len(self.groups),
            "cohort": sum(len(group.cohorts) for group in self.groups),
            "clock": sum(self._clocks),
            "weight": sum(map(operator.mul, map(len, self._addends), self._clocks)),
            "stack": sum(map(operator.mul, map(len, self._stacked), self._clocks)),
            "mark": sum(lanes),
            "mark_weight": sum(
                len(own) * width for own, width in zip(self._addends, lanes, strict=True)
            ),
        }

    def sections(
        self,
        updates: Sequence[Update],
        resets: Sequence[int],
        type_name: str,
        true: frozenset[Expression],
    ) -> Sections:
        """Split what a class of events does: what is of no group, and each group's part."""
        if not self.groups:
            return Sections(parts=(tuple(updates),), ticks=(), takers=(), settled=(), breaks=())
        ticking: dict[int, list[Update]] = {}
        takers: dict[int, set[int]] = {}
        unshared: list[Update] = []
        for update in updates:
            place = self._cohort_of.get(update.node)
            if place is not None and self._takes(*place, type_name, true):
                group, cohort = place
                ticking.setdefault(group, []).append(update)
                takers.setdefault(group, set()).add(cohort)
            else:
                unshared.append(update)
        read: Iterable[int] = updates[0].reads if len(updates) == 1 else ()
        if len(updates) > 1:
            read = set().union(*[update.reads for update in updates])
        changed = [*[update.node for update in updates], *resets]
        readers = [reader for node in changed for reader in self._readers.get(node, ())]
        touched: dict[int, set[int]] = {}
        for node in (*read, *changed, *readers):
            place = self._cohort_of.get(node)
            if place is not None and place[1] not in takers.get(place[0], ()):
                touched.setdefault(place[0], set()).add(self._holder_of[node])
        breaks = {
            g
            for node in changed
            for g in self._heard.get(node, ())
            if self.groups[g].type != type_name
        }
        return Sections(
            parts=(tuple(unshared), *map(tuple, ticking.values())),
            ticks=tuple(ticking),
            takers=tuple([tuple(sorted(takers[group])) for group in ticking]),
            settled=tuple([(group, tuple(sorted(held))) for group, held in touched.items()]),
            breaks=tuple(sorted(breaks)),
        )

    def _takes(self, group: int, cohort: int, type_name: str, true: frozenset[Expression]) -> bool:
        """Return whether an event goes round the loops of a cohort."""
        return self.groups[group].cohorts[cohort].loop.takes(type_name, true)

    def takers_words(self, group: int, takers: Sequence[int]) -> list[int]:
        """Return the words that tell which cohorts take an event: the lesser of both sides."""
        leaving = sorted(set(range(len(self.groups[group].cohorts))).difference(takers))
        if len(takers) < len(leaving):
            return [int(True), len(takers), *takers]
        return [int(False), len(leaving), *leaving]

    def words(self, base: int) -> tuple[list[int], tuple[list[int], list[int]]]:
        """Return the words of groups and holders, where `base` is the first one's place.

        Also returns where each group and holder is.
        """
        ranks = self._updates.ranks
        words: list[int] = []
        groups: list[int] = []
        places: list[int] = [0] * len(self._holders)
        weight = stack = mark = mark_weight = clock = cohort = 0
        for number, members in enumerate(self._members):
            addends, stacked = self._addends[number], self._stacked[number]
            lanes = sum(self._lanes[h] for h in members)
            at = base + len(words)
            groups.append(at)
            lists: list[int] = []
            begins = []
            body = [addend_word(what) for what in addends], [ranks.index(one) for one in stacked]
            for several in (*body, [0] * len(members)):
                begins.append(at + GROUP_WORDS + len(lists))
                lists += [len(several), *several]
            head = [number, begins[0], weight, begins[1], stack, mark, mark_weight, begins[2]]
            clocks, cohorts = self._clocks[number], len(self.groups[number].cohorts)
            words += [*head, lanes, clock, clocks, cohort, cohorts, *lists]
            own_mark, own_weight = mark, mark_weight
            for place, h in enumerate(members):
                places[h] = base + len(words)
                words[begins[2] - base + 1 + place] = places[h]
                words += [at, self._holders[h].cohort, own_mark, own_weight]
                words += self._holder_words(h)
                own_mark += self._lanes[h]
                own_weight += self._lanes[h] * len(addends)
            weight += len(addends) * clocks
            stack += len(stacked) * clocks
            clock += clocks
            cohort += cohorts
            mark += lanes
            mark_weight += lanes * len(addends)
        return words, (groups, places)

    def _holder_words(self, number: int) -> list[int]:
        """Return a holder's words from its lanes on, as `clock` reads them."""
        layout, holder = self._layout, self._holders[number]
        update, group = holder.update, holder.group
        open_cell = layout.kinds[self._updates.kind_of[update.node]].open
        words = [self._lanes[number], len(update.sums), len(update.extremes)]
        for place, part in enumerate(update.sums):
            terms = [layout.cell_of(*one) for one in part.sources if one[0] != update.node]
            if update.start and place == 0:
                terms.append(open_cell)
            what = part.contribution
            weight = NO_ADDEND if what == NOTHING else self._addends[group].index(what)
            twins = holder.beside(place, lambda twin: twin.sums)
            words += [layout.cell_of(update.node, place), weight, len(terms), *terms]
            words += [len(twins), *(layout.cell_of(*twin) for twin in twins)]
        for place, extreme in enumerate(update.extremes):
            compared = [one for one in extreme.sources if one[0] != update.node]
            attribute = extreme.attribute
            own = NO_ADDEND
            if attribute >= 0:
                own = self._stacked[group].index(attribute)
            words += [layout.extreme_of(update.node, place), own, len(compared)]
            for source in compared:
                words += [layout.extreme_of(*source), layout.cell_of(source[0], 0)]
            twins = holder.beside(place, lambda twin: twin.extremes)
            words += [len(twins), *(layout.extreme_of(*twin) for twin in twins)]
        return words

    def _update(self, node: int) -> Update:
        """Return what a cohort's events do to one of its nodes, or to a twin."""
        group, cohort = self._cohort_of[node]
        label = self.groups[group].cohorts[cohort].label
        of = self._updates.labels.of
        edges = [edge for edge in self._updates.merged.nodes[node].edges if of(edge) is label]
        return self._updates.update(node, edges)

    def _addends_of(self, members: Sequence[int]) -> list[int]:
        whats = {part.contribution for h in members for part in self._holders[h].update.sums}
        return sorted(whats - {NOTHING})

    def _stacked_of(self, members: Sequence[int]) -> list[int]:
        wanted = {one.attribute for h in members for one in self._holders[h].update.extremes}
        return sorted(wanted - {-1})

    def _may_pay(self, cost: SumPrices, group: Group, lanes: Sequence[int]) -> bool:
        """Return whether a group can pay: what the windows of one query share is told to nobody.

        Where other nodes lie beside its own, one step works on all of them.
        """
        if len(group.queries) > 1:
            return True
        of_cohorts = [node for cohort in group.cohorts for node in cohort.nodes]
        blocks = {self._layout.block_of[node] for node in of_cohorts}
        if all(set(self._layout.blocks[block].nodes) <= set(of_cohorts) for block in blocks):
            return True
        nodes = self._updates.merged.nodes
        beside = [several for cohort in group.cohorts for several in cohort.twins]
        held = [*of_cohorts, *(twin for several in beside for twin in several)]
        cells = sum(
            lanes[node] * (len(nodes[node].linear) + len(nodes[node].extremes)) for node in held
        )
        return cost.eager(0, cells) > cost.lazy(0)

    def _cost(self, cost: SumPrices, group: int) -> GroupCost:
        """Return what a group's steps cost."""
        members = self._members[group]
        cells = [
            self._lanes[h] * (len(update.sums) + len(update.extremes))
            for h in members
            for update in (self._holders[h].update, *self._holders[h].twins)
        ]
        lanes = sum(self._lanes[h] for h in members)
        settling = cost.settling(sum(cells) / lanes)
        return GroupCost(
            lazy=cost.lazy(len(self._addends[group]) + len(self._stacked[group])),
            settling=settling,
            price=lanes * settling,
        )


def addend_word(contribution: int) -> int:
    """Return what an event adds to a sum, as kernels read it (`elsinore.trends.core.step`)."""
    if contribution == NOTHING:
        return NO_ADDEND
    return EACH if contribution == ONE else contribution - VALUE
