"""The words of classes of events as kernels read them, of one or in columns of many alike.

Classes are alike where their words differ in numbers of nodes, holders and classes alone: each
changes one node, and these have one form (`elsinore.trends.sums.node_steps`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.trends.core.arrays import Ints
from elsinore.trends.core.step import EACH
from elsinore.trends.core.step import NOTHING as NO_ADDEND
from elsinore.trends.nodes.layout import Layout
from elsinore.trends.nodes.updates import Update, Updates, tangled
from elsinore.trends.sharing.holders import Sections, SharedGroups, addend_word
from elsinore.trends.sums.cell_lists import Cell, cell_words
from elsinore.trends.sums.class_layout import SECTIONS
from elsinore.trends.sums.families import Run
from elsinore.trends.sums.node_steps import Address, Step, Steps

NARROW = 16  # cells that an event changes no slower than it waits for the next of its class
WIDE = 16  # lanes that are sooner changed row by row than cell by cell


class Deed(NamedTuple):
    """What events of a class do."""

    type: str
    updates: Sequence[Update]
    resets: Sequence[int]
    sections: Sections


class Here(NamedTuple):
    """The place of a word among those of its class."""

    offset: int


Word = int | Ints | Here  # of one class; of each of many, if it is an array


@dataclass(frozen=True, slots=True)
class Words:
    """The words of alike classes; each one's begin where it is put and are told of at `head`."""

    words: Sequence[Word]
    head: int
    steps: Sequence[Step] | None  # where their moments may be composed
    lanes: Sequence[int]  # of each step

    @property
    def length(self) -> int:
        """The words of a class."""
        return len(self.words)

    def put(self, into: NDArray[np.int64], begins: NDArray[np.int64], base: int) -> None:
        """Put the words of each class where they begin in an array, whose first place is `base`."""
        if len(begins) == 1:
            begin = int(begins[0])
            into[begin : begin + self.length] = [
                base + begin + word.offset if isinstance(word, Here) else word
                for word in self.words
            ]
            return
        for offset, word in enumerate(self.words):
            at = begins + offset
            into[at] = base + begins + word.offset if isinstance(word, Here) else word

    def runs(self, number: int) -> list[Run]:
        """Return what steps of one of the classes do that can be repeated."""
        runs = []
        for step, lanes in zip(self.steps or (), self.lanes, strict=True):
            target, source = (at if isinstance(at, int) else int(at[number]) for at in step.columns)
            from_one_cell = not step.goes_on[1]
            runs.append(Run(step.form.block, target, lanes, source, from_one_cell, step.form.loop))
        return runs


class ClassWords:
    """What writes the words of classes for one unit and one way of sharing.

    groups, holders: the places of their words.
    """

    def __init__(
        self,
        updates: Updates,
        layout: Layout,
        sharing: SharedGroups,
        groups: Sequence[int],
        holders: Sequence[int],
    ) -> None:
        self._updates = updates
        self._layout = layout
        self._sharing = sharing
        self._groups = groups
        self._holders = np.array(holders, dtype=np.int64)
        self._steps = Steps(updates, layout)
        self._most_sums = max((len(node.linear) for node in updates.merged.nodes), default=1)

    def key_of(self, deed: Deed) -> object:
        """Return in what alike classes agree; None for a class that is like no other."""
        if len(deed.updates) != 1 or deed.resets:
            return None
        update, sections = deed.updates[0], deed.sections
        form = self._steps.form_of(update)
        inside = form.block in {block for row in form.sums for block in row.blocks}
        return (
            form.number,
            # a step within its own block may read what it changes
            inside and _is_single(self._steps.of_one(form, [update]), self._lanes_of(form.block)),
            len(self._updates.before[update.node]),
            sections.ticks,
            sections.takers,
            tuple([(group, len(members)) for group, members in sections.settled]),
            sections.breaks,
        )

    def of(self, deeds: Sequence[Deed], numbers: NDArray[np.int64]) -> Words:
        """Return the words of alike classes, whose numbers are given."""
        first, written = deeds[0], _Writer()
        updates, resets, sections = first.updates, first.resets, first.sections
        if len(deeds) == 1:
            steps = self._steps.of(updates)
        else:
            form = self._steps.form_of(updates[0])
            steps = [self._steps.of_one(form, [deed.updates[0] for deed in deeds])]
        all_steps = self._write_steps(written, steps)
        step_lists: list[Here] = [all_steps]
        costs = [0]
        if len(sections.ticks) == 1 and not sections.parts[0]:  # all are of one group
            step_lists = [self._write_steps(written, ()), all_steps]
            costs = [0, self._cost(steps)]
        elif sections.ticks:
            of_parts = [self._steps.of(part) for part in sections.parts]
            step_lists = [self._write_steps(written, several) for several in of_parts]
            costs = [self._cost(several) for several in of_parts]
        read: set[int] = set().union(*[update.reads for update in updates])
        emptied = self._write_resets(written, resets, read)
        reads = {self._layout.block_of[node] for node in read}
        changed = [*[update.node for update in updates], *resets]
        blocks = {self._layout.block_of[node] for node in changed}
        order = 2 * max([len(self._updates.before[node]) for node in changed]) + bool(resets)
        lists = [
            written.list(sorted(reads | {self._layout.block_of[node] for node in resets})),
            written.list(sorted(blocks)),
            emptied,
            written.list(sections.breaks),
            self._write_settled(written, [deed.sections.settled for deed in deeds]),
        ]
        apart = tangled(updates, resets)
        serial = not (apart or resets) and self._updates.composes
        changing = {update.node for update in updates}
        quick = (
            serial
            and all(_is_single(step, self._lanes(step)) for step in steps)
            and not any((update.reads & changing) - {update.node} for update in updates)
        )
        at_once = not (apart or resets) and not (quick and self._cells(steps) > NARROW)
        gains = self._layout.gains and not resets
        by_cells = at_once and not (quick and len(steps) == 1)  # a single step is one sum
        cells = self._write_cells(written, steps, range(0)) if by_cells else 0
        gain_cells = self._write_cells(written, steps, self._layout.gained) if gains else 0
        takers = [
            written.add(self._sharing.takers_words(group, several))
            for group, several in zip(sections.ticks, sections.takers, strict=True)
        ]
        head = [
            *(numbers if len(deeds) > 1 else int(numbers[0]), order, int(apart), int(serial)),
            *lists,
            *(all_steps, all_steps if quick else 0, 0),
            *self._noted(steps if quick else ()),
            *(all_steps if at_once else 0, cells),
            *(all_steps if gains else 0, gain_cells, 0),
        ]
        if len(head) != SECTIONS:
            raise AssertionError("a class has other words than `class_layout` tells")
        if quick:
            costs = [round(self._sharing.cost.composed * cost) for cost in costs]
        head.append(1 + len(sections.ticks))
        ticks = (0, *(self._groups[group] for group in sections.ticks))
        for number, (group, place) in enumerate(zip(ticks, step_lists, strict=True)):
            of_group = (0, 0) if number == 0 else (costs[number], takers[number - 1])
            head += [group, place, *of_group]
        at = written.add(head).offset
        lanes = [self._lanes(step) for step in steps] if quick else []
        return Words(written.words, at, steps if quick else None, lanes)

    def _noted(self, steps: Sequence[Step]) -> tuple[Address, Address]:
        """Return where a family takes note of events, at the first lane and behind the last."""
        if len(steps) != 1 or not steps[0].form.loop:
            return -1, -1
        first = steps[0].columns[0] + steps[0].form.block
        return first, first + self._lanes(steps[0])

    def _cost(self, steps: Sequence[Step]) -> int:
        """Return what an event costs that takes steps, in tenths of nanoseconds."""
        return round(10 * self._sharing.cost.eager(len(steps), self._cells(steps)))

    def _cells(self, steps: Sequence[Step]) -> int:
        """Return how many numbers some steps change."""
        return sum(
            self._lanes(step) * (len(step.form.sums) + len(step.form.extremes)) for step in steps
        )

    def _write_settled(
        self, written: _Writer, settled: Sequence[Sequence[tuple[int, tuple[int, ...]]]]
    ) -> Here:
        """Write the holders to be settled before each of some classes; return where."""
        words: list[Word] = [len(settled[0])]
        for turn, (group, members) in enumerate(settled[0]):
            words += [self._groups[group], len(members)]
            if len(settled) == 1:
                words += self._holders[list(members)].tolist()
            else:
                words += list(
                    self._holders[np.array([of_group[turn][1] for of_group in settled])].T
                )
        return written.add(words)

    def _write_resets(self, written: _Writer, nodes: Sequence[int], read: set[int]) -> Here:
        """Write what a class empties; return where."""
        layout = self._layout
        merged: list[list[int]] = []
        before: tuple[int, int] | None = None
        for node in sorted(nodes, key=lambda n: (layout.block_of[n], layout.index_of[n])):
            number = layout.block_of[node]
            block = layout.blocks[number]
            cell, late = layout.cell_of(node, 0), int(node in read)
            if before == (number, late) and merged[-1][1] + merged[-1][2] == cell:
                merged[-1][2] += block.overlap
                continue
            before = number, late
            extreme = block.extreme + layout.index_of[node] * block.overlap
            shape = [block.sums, block.width, extreme, block.extremes, block.width]
            merged.append([late, cell, block.overlap, *shape])
        return written.add([len(merged), *(word for reset in merged for word in reset)])

    def _write_steps(self, written: _Writer, steps: Sequence[Step]) -> Here:
        """Write some steps; return where they are."""
        return written.add([len(steps), *(word for step in steps for word in self._words_of(step))])

    def _words_of(self, step: Step) -> list[Word]:
        """Return the words of a step, as `core.step` reads them."""
        lanes, form = self._lanes(step), step.form
        columns = iter(zip(step.columns, step.goes_on, strict=True))
        body: list[Word] = []
        for row in form.sums:
            body += [next(columns)[0], addend_word(row.what), len(row.blocks)]
            for block in row.blocks:
                cell, goes_on = next(columns)
                body += [cell, block, int(not goes_on)]
        for row in form.extremes:
            body += [next(columns)[0], self._rank(row.what), len(row.blocks)]
            for block in row.blocks:
                extreme, (cell, goes_on) = next(columns)[0], next(columns)
                body += [extreme, cell, block, int(not goes_on)]
        head = [lanes, form.block, int(form.loop), len(form.sums), len(form.extremes)]
        return [2 + len(head) + len(body), *head, int(_is_single(step, lanes)), *body]

    def _write_cells(self, written: _Writer, steps: Sequence[Step], gained: range) -> Here | int:
        """Write all that steps add to cells, if `add_cells` does it well; return where.

        gained: to these cells it is not added, but to their gains, which lie behind all cells.
        Returns 0 where steps have many lanes, or extremes.
        """
        if any(step.form.extremes or self._lanes(step) >= WIDE for step in steps):
            return 0
        behind = self._layout.cells + 1 - gained.start  # how far each gain is
        rows = [
            [
                cell._replace(
                    to=cell.to + ((gained.start <= cell.to) & (cell.to < gained.stop)) * behind
                )
                for cell in row
            ]
            for step in steps
            for row in self._rows_of(step)
        ]
        return written.add(cell_words(rows, self._most_sums, self._layout.cells))

    def _rows_of(self, step: Step) -> Iterator[tuple[Cell, ...]]:
        """Yield the cells that a step changes, row by row; the numbers of trends last."""
        return zip(*[self._cells_of(step, n) for n in range(self._lanes(step))], strict=True)

    def _cells_of(self, step: Step, lane: int) -> Iterator[Cell]:
        """Yield the cells that a step changes in a lane, the number of trends last."""
        cells_left = iter(step.of_lane(lane))
        cells = []
        for row in step.form.sums:
            to = next(cells_left)
            terms = [*[to] * step.form.loop, *(next(cells_left) for _ in row.blocks)]
            cells.append((to, terms, addend_word(row.what)))
        trends = cells[0][1]
        for to, terms, times in [*cells[1:], cells[0]]:
            if times == NO_ADDEND:
                yield Cell(to, terms, (), -1 - self._layout.cells)
            else:
                added = -1 - self._open_cell(step, lane) if times == EACH else times
                yield Cell(to, terms, trends, added)

    def _open_cell(self, step: Step, lane: int) -> int:
        """Return the cell that is 1 while the window of a step's lane is open; of rows, always."""
        block = self._layout.blocks[step.form.block]
        first = self._layout.kinds[self._updates.kind_of[block.nodes[0]]].open
        return first + lane % block.overlap * self._layout.are_windows

    def _lanes(self, step: Step) -> int:
        return step.count * self._lanes_of(step.form.block)

    def _lanes_of(self, block: int) -> int:
        return self._layout.blocks[block].overlap

    def _rank(self, attribute: int) -> int:
        return NO_ADDEND if attribute < 0 else self._updates.ranks.index(attribute)


class _Writer:
    """Words of a class, list after list."""

    def __init__(self) -> None:
        self.words: list[Word] = []

    def add(self, words: Iterable[Word]) -> Here:
        """Add words; return where they are."""
        at = Here(len(self.words))
        self.words += words
        return at

    def list(self, words: Sequence[int]) -> Here:
        """Add a list, its length first; return where it is."""
        return self.add([len(words), *words])


def _is_single(step: Step, lanes: int) -> bool:
    """Return whether a step adds one row that is apart from its own to a number of trends."""
    sums = step.form.sums
    if len(sums) > 1 or step.form.extremes or len(sums[0].blocks) != 1:
        return False
    target, source = step.addresses
    width = lanes if step.goes_on[1] else 1
    return source + width <= target or target + lanes <= source
