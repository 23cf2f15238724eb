"""Sums over windows by an index over the events of each, for queries whose guards are ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from elsinore.kernels import enter
from elsinore.model.window import overlap_of
from elsinore.plan import TrendUnit
from elsinore.plan.indexed import Indexed, indexed
from elsinore.plan.joined import Joined
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.graph.codes import Order
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.graph.layout import Program, Stream
from elsinore.trends.graph.sums import Fields, Sums, new_sums
from elsinore.trends.graph.windows import Keys, Windows
from elsinore.trends.index.axes import Columns, InfiniteError
from elsinore.trends.index.close_windows import FEW_ROWS, MOST_ROOM
from elsinore.trends.index.layout import (
    SORTED,
    SORTED_FIRST,
    SORTED_LOW,
)
from elsinore.trends.index.windows import sum_windows
from elsinore.trends.index.words import Rooms, index_words
from elsinore.trends.keyed import Ints, size_of
from elsinore.trends.rows.encoded import EncodedRows

_SECONDS = 1e-4  # that an event takes in plain Python, in each window


@dataclass(slots=True)
class GroupIndex:
    """A group's words for events of some classes, and the room that they tell of.

    `first`: the number of the first event when it was asked last; see `ComparedColumns`.
    """

    classes: list[int]
    orders: Mapping[str, Order]  # of the attributes that are compared
    rooms: Rooms
    columns: Columns
    words: Ints
    work: Ints
    sums: Sums
    first: int | None = None

    def go_on(self, first: int | None) -> None:
        """Let events be numbered from another first one; None: they are others."""
        place = self.words[SORTED]
        if first is None or self.first is None:
            self.work[place + SORTED_LOW] = FOREVER  # nothing is sorted
        self.work[place + SORTED_FIRST] = first or 0
        self.first = first

    def fits(self, rows: EncodedRows) -> bool:
        """Return whether it serves for events of rows, if it has room, as their columns are."""
        return self.classes == rows.classes and self.columns.are_of(rows.columns)

    def serves(self, classes: Sequence[int], orders: Mapping[str, Order], rooms: Rooms) -> bool:
        """Return whether it serves for such events, and takes not much more room than need be."""
        return (
            self.classes == classes
            and (self.orders is orders or self.orders == orders)
            and self.rooms.by_time == rooms.by_time
            and self.rooms.moment >= rooms.moment
            and rooms.rows <= self.rooms.rows <= max(MOST_ROOM * rooms.rows, FEW_ROWS)
        )


class Indexes:
    """Adds up the trends of a unit's queries by indexes, where their guards are ranges.

    `elsinore.plan.indexed` says which those are. A group's index outlives the call: as long as
    no other classes of events occur, what follows from the plan is not worked out again.
    """

    def __init__(self, unit: TrendUnit) -> None:
        self._unit = unit
        self._kept: dict[tuple[int, ...], Indexed | None] = {}
        self._last: dict[tuple[int, ...], GroupIndex] = {}

    def sum_up(
        self,
        group: Joined,
        program: Program,
        classes: Sequence[int],
        stream: Stream,
        columns: ComparedColumns,
        keys: Keys,
        open_windows: Windows,
        totals: Sums,
    ) -> int | None:
        """Fill a row of totals for each window and each of a group's finals; return the bytes.

        `program` is the group's, `classes` those that occur, in the order of the stream's numbers.
        None where there is no index for the group, or none for such values.
        """
        template = group.template
        kept = self._of(group)
        if kept is None:
            return None
        window = template.query.window
        overlap = overlap_of(window)
        rooms = Rooms(open_windows.longest * min(overlap, 2), _longest_moment(keys), keys.by_time)
        index = self._last.get(group.queries)
        if index is None or not index.serves(classes, columns.orders, rooms):
            index = self._made(group, kept, program, classes, columns, rooms)
            self._last[group.queries] = index
        try:
            axes = index.columns.axes(columns, keys.times)
        except InfiniteError:
            return None
        index.go_on(columns.first)
        fields = Fields(program.linear, program.extreme)
        words, work, sums = index.words, index.work, index.sums
        seconds = _SECONDS * float(len(open_windows.key)) * float(open_windows.longest)
        enter(sum_windows, seconds, words, work, fields, stream, axes, open_windows, sums, totals)
        return size_of(sums, (words, work), axes)

    def last(self, group: Joined) -> GroupIndex | None:
        """Return the index that a group's trends were added up by last."""
        return self._last.get(group.queries)

    def _of(self, group: Joined) -> Indexed | None:
        if group.queries not in self._kept:
            form = indexed(group.template)
            self._kept[group.queries] = form if isinstance(form, Indexed) else None
        return self._kept[group.queries]

    def _made(
        self,
        group: Joined,
        kept: Indexed,
        program: Program,
        classes: Sequence[int],
        columns: ComparedColumns,
        rooms: Rooms,
    ) -> GroupIndex:
        """Return an index with room for twice as many rows, if it is not the group's first.

        That has, up to FEW_ROWS, room for windows that overlap when they are as long as they get.
        """
        rows = 2 * rooms.rows
        if group.queries not in self._last:
            fullest = overlap_of(group.template.query.window) * rooms.rows
            rows = max(rooms.rows, min(fullest, FEW_ROWS))
        rooms = Rooms(rows, rooms.moment, rooms.by_time)
        numbered = Columns(columns.without_rows())
        decoded = [self._unit.classes.decode(code) for code in classes]
        first = int(program.automata[-2])
        words, sizes = index_words(group, kept, decoded, numbered, first, rooms)
        shape = program.linear.shape[1], program.extreme.shape[1]
        return GroupIndex(
            classes=list(classes),
            orders=columns.orders,
            rooms=rooms,
            columns=numbered,
            words=words,
            work=np.zeros(sizes.arena, dtype=np.int64),
            sums=new_sums(sizes.rows, *shape),
        )


def _longest_moment(keys: Keys) -> int:
    """Return the most events in a row that are of one time, all keys' one after another."""
    if not keys.by_time or len(keys.times) < 2:
        return 1
    differs = keys.times[1:] != keys.times[:-1]
    if differs.all():
        return 1
    bounds = np.concatenate(([-1], np.flatnonzero(differs), [len(differs)]))
    return int(np.max(np.diff(bounds)))
