"""The program: all that the kernels read of a unit's queries, as one array of whole numbers.

Its first words tell where the lists of kinds of windows, of sharing groups and of blocks are; what
each class of events does is added behind when such an event first occurs: of the many classes that
predicates could make, few do.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from elsinore.model.expression import Expression
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.core.step import EACH
from elsinore.trends.core.step import NOTHING as NO_ADDEND
from elsinore.trends.families import Family, Run
from elsinore.trends.layout import Layout
from elsinore.trends.moments import BLOCKS, FAMILY, SECTIONS
from elsinore.trends.run import OF_NO_INTEREST
from elsinore.trends.sharing.bursts import GROUPS
from elsinore.trends.sharing.holders import SharedGroups
from elsinore.trends.updates import (
    NOTHING,
    ONE,
    VALUE,
    Update,
    Updates,
    rank_codes,
    rounds,
    tangled,
)
from elsinore.trends.windows import KINDS

_HEAD = max(KINDS, GROUPS, BLOCKS) + 1
NARROW = 16  # cells that an event changes no slower than it waits for the next of its class
WIDE = 16  # lanes that are sooner changed row by row than cell by cell


@dataclass(frozen=True, slots=True)
class Row:
    """A sum or an extreme of a step: what events add or are, and of which blocks its terms are."""

    what: int
    blocks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What a class does to one node or a run of them; addresses are those of the first one.

    Of each sum these are its own and those of its terms, of each extreme its own and the extreme
    and number of trends of what it is compared with; `strides` says how far apart those of
    neighbours are, once there are two.
    """

    loop: bool
    sums: tuple[Row, ...]
    extremes: tuple[Row, ...]
    block: int
    index: int
    addresses: tuple[int, ...]
    form: int  # the same for two where loop, sums, extremes and block are
    count: int = 1
    strides: tuple[int, ...] = ()


class Program:
    """Words for the kernels; `words` is their array, and grows."""

    def __init__(self, updates: Updates, layout: Layout, sharing: SharedGroups) -> None:
        self._updates = updates
        self._layout = layout
        self._sharing = sharing
        self._ranks = rank_columns(updates)
        self._words = [0] * _HEAD
        self._step_of: dict[int, Step] = {}
        self._forms: dict[object, tuple[int, tuple[Row, ...], tuple[Row, ...]]] = {}
        self._families: dict[str, Family] = {}  # by the type of events
        self._most_sums = max((len(one.linear) for one in updates.merged.nodes), default=1)
        self.classes = 0
        self._words[BLOCKS] = len(self._words)
        for block in layout.blocks:
            self._words += [
                block.cell,
                block.width * block.sums,
                block.extreme,
                block.width * block.extremes,
            ]
        places, pointers = sharing.words(len(self._words), self._ranks)
        self._words += places
        self._groups, holders = pointers
        self._words[GROUPS] = self._list(self._groups)
        kinds = [self._kind(number, holders) for number in range(len(layout.kinds))]
        self._words[KINDS] = len(self._words)
        self._words += [len(kinds), *(word for kind in kinds for word in kind)]
        self._holders = holders
        self._frozen = len(self._words)
        self.words: NDArray[np.int64] = np.array(self._words, dtype=np.int64)

    def freeze(self) -> None:
        """Bring `words` up to date with the classes that were added.

        Families come behind all classes: these stay where they are, whenever they are added.
        """
        known = self.words[: self._frozen]
        more = np.array(self._words[self._frozen :], dtype=np.int64)
        self._frozen = len(self._words)
        parts, at = [known, more], self._frozen
        families = [one for one in self._families.values() if len(one.places) > 1]
        parts += [np.array(family.words(), dtype=np.int64) for family in families]
        self.words = np.concatenate(parts)
        for family, words in zip(families, parts[2:], strict=True):
            self.words[np.array(family.places) + FAMILY] = at
            at += len(words)

    def _join_family(self, type_name: str, place: int, steps: Sequence[Step]) -> None:
        """Let a class, each of whose steps can be repeated, be of its type's family if it may."""
        runs = []
        for step in steps:
            lanes = self._lanes(step)
            target, source = step.addresses
            one = bool(step.strides and step.strides[1] == 0)
            runs.append(Run(step.block, target, lanes, source, one, step.loop))
        self._families.setdefault(type_name, Family()).join(place, runs)

    def add_class(self, type_name: str, true: frozenset[Expression]) -> int:
        """Add what a class of events does; return where, or OF_NO_INTEREST."""
        updates = self._updates.updates(type_name, true)
        resets = self._updates.resets(type_name, true)
        if not updates and not resets:
            return OF_NO_INTEREST
        sections = self._sharing.sections(updates, resets, type_name, true)
        steps = self._steps(updates)
        all_steps = self._steps_list(steps)
        step_lists, costs = [all_steps], [0]
        if len(sections.ticks) == 1 and not sections.parts[0]:  # all are of one group
            step_lists, costs = [self._steps_list(()), all_steps], [0, self._cost(steps)]
        elif sections.ticks:
            of_parts = [self._steps(part) for part in sections.parts]
            step_lists = [self._steps_list(several) for several in of_parts]
            costs = [self._cost(several) for several in of_parts]
        read: set[int] = set().union(*[update.reads for update in updates])
        emptied = self._resets(resets, read)
        reads = {self._layout.block_of[node] for node in read}
        changed = [*[update.node for update in updates], *resets]
        blocks = {self._layout.block_of[node] for node in changed}
        order = 2 * max([len(self._updates.before[node]) for node in changed]) + bool(resets)
        lists = [
            self._list(sorted(reads | {self._layout.block_of[node] for node in resets})),
            self._list(sorted(blocks)),
            emptied,
            self._list(sections.breaks),
            self._runs(sections.settled),
        ]
        ticks = (0, *(self._groups[group] for group in sections.ticks))
        apart = tangled(updates, resets)
        serial = not (apart or resets) and self._updates.composes
        changing = {update.node for update in updates}
        quick = (
            serial
            and all(_is_single(step, self._lanes(step)) for step in steps)
            and not any((update.reads & changing) - {update.node} for update in updates)
        )
        lists += [all_steps, all_steps if quick else 0, 0, *self._noted(steps if quick else ())]
        at_once = not (apart or resets) and not (quick and self._cells(steps) > NARROW)
        lists += [all_steps if at_once else 0, self._cells_list(steps) if at_once else 0]
        takers = [
            self._add(self._sharing.takers_words(group, several))
            for group, several in zip(sections.ticks, sections.takers, strict=True)
        ]
        at = len(self._words)
        self._words += [self.classes, order, int(apart), int(serial), *lists]
        if len(self._words) - at != SECTIONS:
            raise AssertionError("a class has other words than `moments` tells")
        if quick:
            self._join_family(type_name, at, steps)
            costs = [round(self._sharing.cost.composed * cost) for cost in costs]
        self._words.append(len(ticks))
        for number, (group, place) in enumerate(zip(ticks, step_lists, strict=True)):
            of_group = (0, 0) if number == 0 else (costs[number], takers[number - 1])
            self._words += [group, place, *of_group]
        self.classes += 1
        return at

    def _noted(self, steps: Sequence[Step]) -> tuple[int, int]:
        """Return where a family takes note of events, at the first lane and behind the last."""
        if len(steps) != 1 or not steps[0].loop:
            return -1, -1
        first = steps[0].addresses[0] + steps[0].block
        return first, first + self._lanes(steps[0])

    def _list(self, words: Iterable[int]) -> int:
        """Add a list, its length first; return where it is."""
        at = len(self._words)
        listed = list(words)
        self._words += [len(listed), *listed]
        return at

    def _add(self, words: Sequence[int]) -> int:
        """Add words; return where they are."""
        at = len(self._words)
        self._words += words
        return at

    def _cost(self, steps: Sequence[Step]) -> int:
        """Return what an event costs that takes steps, in tenths of nanoseconds."""
        return round(10 * self._sharing.cost.eager(len(steps), self._cells(steps)))

    def _cells(self, steps: Sequence[Step]) -> int:
        """Return how many numbers some steps change."""
        return sum(self._lanes(step) * (len(step.sums) + len(step.extremes)) for step in steps)

    def _kind(self, number: int, holders: Sequence[int]) -> list[int]:
        """Return the words of a kind of window."""
        window, layout = self._updates.windows[number], self._layout
        place, kind_of = layout.kinds[number], self._updates.kind_of
        unit = self._updates.unit
        seeds = [n for n in unit.merged.seeds if kind_of[n] == number]
        queries: list[int] = []
        chosen = [q for q, one in enumerate(unit.templates) if one.query.window == window]
        for query in chosen:
            ends = unit.merged.ends[query]
            queries += [query, len(ends.linear), len(ends.extremes)]
            for places in ends.linear:
                queries += [len(places), *(layout.cell_of(*one) for one in places)]
            for places in ends.extremes:
                queries += [len(places), *(layout.extreme_of(*one) for one in places)]
        at = len(self._words)
        self._words += [len(chosen), *queries]
        mine = [
            holder
            for holder, node in zip(holders, self._sharing.nodes, strict=True)
            if kind_of[node] == number
        ]
        told = (
            (int(FOREVER), 1, 0) if window is None else (window.within, window.step, window.origin)
        )
        return [
            *told,
            layout.overlaps[number],
            place.cell,
            place.last_cell,
            place.extreme,
            place.last_extreme,
            place.open,
            self._list(layout.cell_of(seed, 0) for seed in seeds),
            at,
            self._list(mine),
        ]

    def _runs(self, settled: Sequence[tuple[int, tuple[int, ...]]]) -> int:
        """Add the holders to be settled before a class; return where."""
        words = [len(settled)]
        for group, holders in settled:
            words += [self._groups[group], len(holders), *(self._holders[h] for h in holders)]
        return self._add(words)

    def _resets(self, nodes: Sequence[int], read: set[int]) -> int:
        """Add what a class empties; return where."""
        layout = self._layout
        told: list[list[int]] = []
        for node in sorted(nodes, key=lambda n: (layout.block_of[n], layout.index_of[n])):
            number = layout.block_of[node]
            block = layout.blocks[number]
            cell, late = layout.cell_of(node, 0), int(node in read)
            if told and told[-1][:2] == [number, late] and told[-1][2] + told[-1][3] == cell:
                told[-1][3] += block.overlap
                continue
            extreme = block.extreme + layout.index_of[node] * block.overlap
            shape = [block.sums, block.width, extreme, block.extremes, block.width]
            told.append([number, late, cell, block.overlap, *shape])
        at = len(self._words)
        self._words += [len(told), *(word for reset in told for word in reset)]
        return at

    def _steps(self, updates: Sequence[Update]) -> list[Step]:
        """Return the steps of some updates, neighbours that are changed alike in one."""
        layout = self._layout
        found: list[Step] = []
        for together in rounds(updates):
            steps = [self._step(update) for update in together]
            steps.sort(key=attrgetter("block", "index"))
            first = 0
            while first < len(steps):
                overlap = layout.blocks[steps[first].block].overlap
                count, strides = _alike(steps, first, overlap)
                step = steps[first]
                found.append(step if count == 1 else replace(step, count=count, strides=strides))
                first += count
        return found

    def _step(self, update: Update) -> Step:
        """Return what an update does, as a step on one node."""
        if id(update) not in self._step_of:  # updates are kept by who made them
            self._step_of[id(update)] = self._new_step(update)
        return self._step_of[id(update)]

    def _new_step(self, update: Update) -> Step:
        layout, node = self._layout, update.node
        loop = (node, 0) in update.sums[0].sources
        open_cell = layout.kinds[self._updates.kind_of[node]].open
        addresses: list[int] = []
        sums: list[tuple[int, tuple[int, ...]]] = []
        extremes: list[tuple[int, tuple[int, ...]]] = []
        for number, part in enumerate(update.sums):
            sources = list(part.sources)
            if loop:
                sources.remove((node, number))
            addresses.append(layout.cell_of(node, number))
            blocks = [layout.block_of[source] for source, _ in sources]
            if update.start and number == 0:
                addresses.append(open_cell)
                blocks = [len(layout.blocks), *blocks]  # a block that no event changes
            addresses += [layout.cell_of(*source) for source in sources]
            sums.append((part.contribution, tuple(blocks)))
        for number, extreme in enumerate(update.extremes):
            addresses.append(layout.extreme_of(node, number))
            compared = [(one, place) for one, place in extreme.sources if place is not None]
            for one, place in compared:
                addresses += [layout.extreme_of(one, place), layout.cell_of(one, 0)]
            blocks = [layout.block_of[one] for one, _ in compared]
            extremes.append((extreme.attribute, tuple(blocks)))
        block = layout.block_of[node]
        told = (loop, tuple(sums), tuple(extremes), block)
        if told not in self._forms:
            sum_rows, extreme_rows = tuple(starmap(Row, sums)), tuple(starmap(Row, extremes))
            self._forms[told] = len(self._forms), sum_rows, extreme_rows
        form, sum_rows, extreme_rows = self._forms[told]
        index = layout.index_of[node]
        return Step(loop, sum_rows, extreme_rows, block, index, tuple(addresses), form)

    def _steps_list(self, steps: Sequence[Step]) -> int:
        """Add the words of some steps; return where they are."""
        words = [len(steps)]
        for step in steps:
            words += self._step_words(step)
        return self._add(words)

    def _step_words(self, step: Step) -> list[int]:
        """Return the words of a step, as `core.step` reads them."""
        lanes = self._lanes(step)
        strides = step.strides or (1,) * len(step.addresses)
        told = iter(zip(step.addresses, strides, strict=True))
        body: list[int] = []
        for row in step.sums:
            body += [next(told)[0], _addend(row.what), len(row.blocks)]
            for block in row.blocks:
                cell, stride = next(told)
                body += [cell, block, int(stride == 0)]
        for row in step.extremes:
            body += [next(told)[0], self._rank(row.what), len(row.blocks)]
            for block in row.blocks:
                extreme, (cell, stride) = next(told)[0], next(told)
                body += [extreme, cell, block, int(stride == 0)]
        head = [lanes, step.block, int(step.loop), len(step.sums), len(step.extremes)]
        return [2 + len(head) + len(body), *head, int(_is_single(step, lanes)), *body]

    def _cells_list(self, steps: Sequence[Step]) -> int:
        """Add the words of all cells that steps change, if `add_cells` does it well; return where.

        A list is filled up to what an event could do to a node, so that it is as long as those of
        other classes. Else that is 0: where no node has more than a number, or steps have many
        lanes, extremes, or several predecessors.
        """
        if (
            self._most_sums == 1
            or any(step.extremes or self._lanes(step) >= WIDE for step in steps)
            or any(len(row.blocks) > 1 for step in steps for row in step.sums)
        ):
            return 0
        zero, first = self._layout.cells, steps[0].addresses[0]
        cells = [cell for step in steps for cell in self._cells_of(step, zero)]
        missing = max(self._most_sums - len(cells), 0)
        cells += [(first, zero, zero, zero, zero, -1 - zero)] * missing
        added = 0  # to so many of a longer list a single cell is added, before others change
        while self._most_sums < len(cells) and added < len(cells):
            _, own, _, _, _, times = cells[added]
            if own != zero or times != -1 - zero:
                break
            added += 1
        words = [word for to, _, of, *_ in cells[:added] for word in (to, of)]
        words += [word for cell in cells[added:] for word in cell]
        return self._add([added, len(cells) - added, *words])

    def _cells_of(self, step: Step, zero: int) -> Iterable[tuple[int, ...]]:
        """Return the words of each cell that a step changes, as `core.plain` reads them.

        zero: a cell that is always 0.
        """
        strides = step.strides or (1,) * len(step.addresses)
        for lane in range(self._lanes(step)):
            told = (
                cell + lane * (stride != 0)
                for cell, stride in zip(step.addresses, strides, strict=True)
            )
            cells = [(next(told), next(told) if row.blocks else zero) for row in step.sums]
            trends, before = cells[0]
            own = trends if step.loop else zero
            for row, (to, of) in zip(step.sums[1:], cells[1:], strict=True):
                times = _addend(row.what)
                if times < 0:
                    times = -1 - (zero if times == NO_ADDEND else self._open_cell(step, lane))
                yield to, to if step.loop else zero, of, own, before, times
            yield trends, own, before, zero, zero, -1 - zero

    def _open_cell(self, step: Step, lane: int) -> int:
        """Return the cell that is 1 while the window of a step's lane is open."""
        block = self._layout.blocks[step.block]
        node = self._layout.block_of.index(step.block)
        return self._layout.kinds[self._updates.kind_of[node]].open + lane % block.overlap

    def _lanes(self, step: Step) -> int:
        return step.count * self._layout.blocks[step.block].overlap

    def _rank(self, attribute: int) -> int:
        return NO_ADDEND if attribute < 0 else self._ranks.index(attribute)


def rank_columns(updates: Updates) -> list[int]:
    """Return the codes of the ranks that the kernels read."""
    wanted = {
        (signature.kind, signature.attribute)
        for node in updates.merged.nodes
        for signature in node.extremes
    }
    codes = rank_codes(updates.unit)
    return sorted(codes[kind, name] for kind, name in wanted if name is not None)


def _addend(contribution: int) -> int:
    if contribution == NOTHING:
        return NO_ADDEND
    return EACH if contribution == ONE else contribution - VALUE


def _is_single(step: Step, lanes: int) -> bool:
    """Return whether a step adds one row that is apart from its own to a number of trends."""
    if len(step.sums) > 1 or step.extremes or len(step.sums[0].blocks) != 1:
        return False
    target, source = step.addresses
    width = 1 if step.strides and step.strides[1] == 0 else lanes
    return source + width <= target or target + lanes <= source


def _alike(steps: Sequence[Step], first: int, overlap: int) -> tuple[int, tuple[int, ...]]:
    """Return how many steps from one on differ in nothing but their lanes, and the strides."""
    step, strides = steps[first], ()
    count = 1
    while first + count < len(steps):
        neighbour = steps[first + count]
        if neighbour.form != step.form or neighbour.index != step.index + count:
            break
        last = steps[first + count - 1].addresses
        between = tuple(map(operator.sub, neighbour.addresses, last))
        if count == 1:
            if not all(one in {overlap, 0 if overlap == 1 else overlap} for one in between):
                break
            strides = between
        elif between != strides:
            break
        count += 1
    return count, strides
