"""Steps: what updates do to nodes, in addresses; neighbours that are changed alike in one step.

Updates have one *form* where they differ in addresses alone. Those of one form are worked on as
columns, an address of all of them at once: a class of events that changes a node of each of many
queries is one step, and many classes that each change a node of a query of their own are one list
of words (`elsinore.trends.sums.program`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.trends.core.arrays import Ints
from elsinore.trends.nodes.layout import Layout
from elsinore.trends.nodes.updates import Update, Updates, rounds

Address = int | Ints  # of one class, or of many alike

OWN, OPEN = -1, -2  # whose an address is: the updated node's, that of the cell of open windows


@dataclass(frozen=True, slots=True)
class Row:
    """A sum or an extreme of a step: what events add or are, and of which blocks its terms are."""

    what: int
    blocks: tuple[int, ...]


class Place(NamedTuple):
    """Where an address of a form is: in the node itself (OWN), the nth other it reads, or OPEN.

    There it is so far behind the first cell, or extreme, of that node.
    """

    whose: int
    extreme: bool
    offset: int


@dataclass(frozen=True, slots=True)
class Form:
    """What an update does, but for the addresses of its nodes."""

    number: int
    loop: bool
    sums: tuple[Row, ...]
    extremes: tuple[Row, ...]
    block: int
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What a class does to one node or a run of them; addresses are those of the first one.

    Of each sum these are its own and those of its terms, of each extreme its own and the extreme
    and number of trends of what it is compared with; `strides` says how far apart those of
    neighbours are, once there are two. `columns` are the addresses as they are written: of many
    classes that differ in nothing else, all at once.
    """

    form: Form
    index: int
    addresses: tuple[int, ...]
    columns: tuple[Address, ...]
    count: int = 1
    strides: tuple[int, ...] = ()

    @property
    def goes_on(self) -> tuple[bool, ...]:
        """Of each address whether that of the next lane is the next one; else it is one for all."""
        return tuple([stride != 0 for stride in self.strides]) or (True,) * len(self.columns)

    def of_lane(self, lane: int) -> list[Address]:
        """Return the addresses of a lane, in the order of `columns`."""
        return [
            at + lane if goes_on else at
            for at, goes_on in zip(self.columns, self.goes_on, strict=True)
        ]


class Steps:
    """The steps of updates; forms and addresses are worked out once."""

    def __init__(self, updates: Updates, layout: Layout) -> None:
        self._updates = updates
        self._layout = layout
        self._forms: dict[object, Form] = {}
        cells, extremes = layout.first_cells, layout.first_extremes
        self._first = {False: cells, True: extremes}
        self._arrays = {False: np.array(cells), True: np.array(extremes)}
        self._index_of = np.array(layout.index_of)

    def form_of(self, update: Update) -> Form:
        """Return an update's form; it is one object for all that have it."""
        node, block_of = update.node, self._layout.block_of
        sources = _others(update)
        key: tuple[object, ...] = (
            block_of[node],
            update.start,
            len(sources) < len(update.sums[0].sources),
            *[block_of[source] for source in sources],
        )
        if len(update.sums) > 1 or update.extremes or len(sources) > 1:
            turns = {source: turn for turn, source in enumerate(sources)}
            key += tuple([_told(part.sources, part.contribution, turns) for part in update.sums])
            key += tuple([_told(part.sources, part.attribute, turns) for part in update.extremes])
        form = self._forms.get(key)
        if form is None:
            form = self._forms[key] = self._new_form(update, sources)
        return form

    def _new_form(self, update: Update, others: Sequence[int]) -> Form:
        layout, node = self._layout, update.node
        loop = (node, 0) in update.sums[0].sources
        places: list[Place] = []
        sums: list[Row] = []
        extremes: list[Row] = []

        def place(of: int, number: int, *, extreme: bool) -> Place:
            block = layout.blocks[layout.block_of[of]]
            whose = OWN if of == node else others.index(of)
            return Place(whose, extreme, number * block.width)

        for number, part in enumerate(update.sums):
            sources = list(part.sources)
            if loop:
                sources.remove((node, number))
            places.append(place(node, number, extreme=False))
            blocks = [layout.block_of[source] for source, _ in sources]
            if update.start and number == 0:
                open_cell = layout.kinds[self._updates.kind_of[node]].open
                places.append(Place(OPEN, False, open_cell))
                blocks = [len(layout.blocks), *blocks]  # a block that no event changes
            places += [place(*source, extreme=False) for source in sources]
            sums.append(Row(part.contribution, tuple(blocks)))
        for number, extreme in enumerate(update.extremes):
            places.append(place(node, number, extreme=True))
            compared = [(of, at) for of, at in extreme.sources if at is not None]
            for of, at in compared:
                places += [place(of, at, extreme=True), place(of, 0, extreme=False)]
            blocks = [layout.block_of[of] for of, _ in compared]
            extremes.append(Row(extreme.attribute, tuple(blocks)))
        block = layout.block_of[node]
        return Form(len(self._forms), loop, tuple(sums), tuple(extremes), block, tuple(places))

    def of_one(self, form: Form, updates: Sequence[Update]) -> Step:
        """Return the step of the first of some updates of a form, with the columns of all."""
        nodes = _nodes(updates[0])
        first = tuple(
            [
                at if whose == OPEN else self._first[extreme][nodes[whose]] + at
                for whose, extreme, at in form.places
            ]
        )
        columns = first if len(updates) == 1 else tuple(self._addresses(form, updates))
        return Step(form, self._layout.index_of[updates[0].node], first, columns)

    def of(self, updates: Sequence[Update]) -> list[Step]:
        """Return the steps of some updates, neighbours that are changed alike in one."""
        if len(updates) == 1:
            return [self.of_one(self.form_of(updates[0]), updates)]
        steps_of_all: list[Step] = []
        for together in rounds(updates):
            alike: dict[int, list[Update]] = {}
            forms = {}
            for update in together:
                form = self.form_of(update)
                forms[form.number] = form
                alike.setdefault(form.number, []).append(update)
            steps = [one for n, several in alike.items() for one in self._runs(forms[n], several)]
            steps.sort(key=lambda step: (step.form.block, step.index))
            steps_of_all += steps
        return steps_of_all

    def _runs(self, form: Form, updates: Sequence[Update]) -> list[Step]:
        """Return the steps of updates of one form: runs of lanes whose addresses go on alike."""
        if len(updates) == 1:
            return [self.of_one(form, updates)]
        index = self._index_of[[update.node for update in updates]]
        order = np.argsort(index)
        index = index[order]
        addresses = np.array(
            [np.broadcast_to(each, len(updates)) for each in self._addresses(form, updates)]
        )[:, order]
        overlap = self._layout.blocks[form.block].overlap
        between = np.diff(addresses)
        allowed = (between == overlap) | (between == (0 if overlap == 1 else overlap))
        joined = (np.diff(index) == 1) & allowed.all(axis=0)  # [n]: n and n + 1 may be one run
        turns = (between[:, 1:] != between[:, :-1]).any(axis=0)  # [n]: nor can n + 2
        ends = np.flatnonzero(turns | ~joined[1:]) + 1
        steps: list[Step] = []
        first = 0
        while first < len(updates):
            count, strides = 1, ()
            if first < len(joined) and joined[first]:
                last = _next(ends, first + 1, len(updates) - 1)
                count, strides = last - first + 1, tuple(between[:, first].tolist())
            at = tuple(addresses[:, first].tolist())
            steps.append(Step(form, int(index[first]), at, at, count, strides))
            first += count
        return steps

    def _addresses(self, form: Form, updates: Sequence[Update]) -> list[NDArray[np.int64] | int]:
        """Return the addresses of updates of one form: of each place, those of all updates."""
        nodes = np.array([_nodes(update) for update in updates])
        return [
            at if whose == OPEN else self._arrays[extreme][nodes[:, whose]] + at
            for whose, extreme, at in form.places
        ]


def _told(
    sources: Sequence[tuple[int, int | None]], what: int, turns: dict[int, int]
) -> tuple[object, ...]:
    """Return what tells a sum or an extreme of an update from that of another form."""
    return what, *[(turns.get(source, OWN), number) for source, number in sources]


def _others(update: Update) -> list[int]:
    """Return the nodes that an update reads beside its own, in turn."""
    return [source for source, _ in update.sums[0].sources if source != update.node]


def _nodes(update: Update) -> list[int]:
    """Return those nodes, and last the update's own: they are at the places of `Place.whose`."""
    return [*_others(update), update.node]


def _next(ascending: NDArray[np.intp], least: int, otherwise: int) -> int:
    """Return the first of ascending numbers that is not below another, or what to take instead."""
    place = int(np.searchsorted(ascending, least))
    return int(ascending[place]) if place < len(ascending) else otherwise
