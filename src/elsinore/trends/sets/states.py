"""Sums per state in integers of any size, where no two events are compared.

The same sums as `elsinore.trends.engine`, in Python's integers and fractions, from the same
updates. A count has a digit for every three events or so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from elsinore.model.window import Window
from elsinore.numeric.exact import Number
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import Addend, FieldKind
from elsinore.plan.merged import Place, QueryEnds
from elsinore.trends.engine.tables import NO_ADDEND, ONE, VALUE
from elsinore.trends.engine.updates import Source, Update, Updates
from elsinore.trends.sets.sums import exact_number, exact_pairs
from elsinore.trends.values.arrays import FOREVER
from elsinore.trends.values.columns import EDGE

RECENT = 2**16  # exact numbers that are kept: those of rows of windows that overlap are read again
_NOTHING = int(FOREVER)  # the least of no ranks
Totals = tuple[int, list[Number], list[int]]  # a query, its sums and extremes


class Columns(NamedTuple):
    """What events add up, by addend, and compare, by column of ranks; each by row."""

    values: Sequence[Callable[[int], Number | None]]
    ranks: Sequence[Sequence[int | None]]

    @classmethod
    def of(
        cls,
        unit: TrendUnit,
        rows: Mapping[str, Sequence[Any]],
        ranks: Mapping[str, Sequence[int | None]],
    ) -> Columns:
        """Return the columns of a unit: of deviations those of one turn, from 0, are enough."""

        @lru_cache(maxsize=RECENT)
        def number(name: str, row: int) -> Number | None:
            return exact_number(rows[name][row])

        def value(addend: Addend, row: int) -> Number | None:
            found = None if addend.turn else number(addend.attribute, row)
            return found**2 if found is not None and addend.kind is FieldKind.SQUARE else found

        values = [partial(value, addend) for addend in unit.addends]
        return cls(values, [_in_order(kind, ranks[name]) for kind, name in Updates(unit).ranks])


def _in_order(kind: FieldKind, ranks: Sequence[int | None]) -> Sequence[int | None]:
    """Return ranks of which the least is taken: inverted for the greatest, or 0 at an edge."""
    if kind is FieldKind.LEAST:
        return ranks
    if kind is FieldKind.GREATEST:
        return [None if rank is None else ~rank for rank in ranks]
    return [0 if rank == EDGE[kind] else None for rank in ranks]


class _Window(NamedTuple):
    """What a key has in one window: sums by (node, number), and ranks of extremes likewise."""

    cells: dict[Place, Number]
    extremes: dict[Place, int]


class States:
    """The sums of a unit's queries over all trends in a window."""

    def __init__(self, unit: TrendUnit) -> None:
        self._unit = unit
        self._updates = Updates(unit)
        self._effects: dict[tuple[int, int], tuple[list[Update], list[int]]] = {}

    def totals(
        self,
        columns: Columns,
        codes: Sequence[int],
        window: Window | None,
        moments: Iterable[Sequence[int]],
    ) -> Iterator[Totals]:
        """Yield the queries of a window that have trends, with their sums and extremes.

        codes: the classes by row; moments: the rows of each.
        """
        kind = self._updates.windows.index(window)
        seeds = (seed for seed in self._unit.merged.seeds if self._updates.kind_of[seed] == kind)
        open_window = _Window({(seed, 0): 1 for seed in seeds}, {})
        for moment in moments:
            added: list[_Window] = []
            emptied: list[int] = []
            for row in moment:
                updates, resets = self._effects_of(codes[row], kind)
                emptied += resets
                for update in updates:
                    before = _places(update.sums[0].sources)
                    trends = int(update.starts is not None) + _add_up(open_window, before)
                    if trends:
                        added.append(_added(open_window, update, trends, row, columns))
            if added or emptied:
                _settle(open_window, added, emptied)
        for query, ends in enumerate(self._unit.merged.ends):
            if self._unit.templates[query].query.window == window:
                cells = _ended(open_window, ends)
                if cells[0]:
                    extremes = [_least(open_window, places) for places in ends.extremes]
                    yield query, cells, extremes

    def _effects_of(self, code: int, kind: int) -> tuple[list[Update], list[int]]:
        """Return what a class of events does to a kind of windows' nodes, and which it empties."""
        if (code, kind) not in self._effects:
            updates: list[Update] = []
            resets: list[int] = []
            if code >= 0:
                decoded, kinds = self._unit.classes.decode(code), self._updates.kind_of
                updates = [
                    update
                    for update in self._updates.updates(*decoded)
                    if kinds[update.node] == kind
                ]
                resets = [node for node in self._updates.resets(*decoded) if kinds[node] == kind]
            self._effects[code, kind] = updates, resets
        return self._effects[code, kind]


def _added(before: _Window, update: Update, trends: Number, row: int, columns: Columns) -> _Window:
    """Return what an event adds to one node, in which so many trends end."""
    added = _Window({(update.node, 0): trends}, {})
    for number, part in enumerate(update.sums[1:], start=1):
        addend: Number | None = None
        if part.addend == ONE:
            addend = 1
        elif part.addend != NO_ADDEND:
            addend = columns.values[(part.addend - VALUE) >> 1](row)
            addend = 1 if addend is not None and part.addend & 1 else addend
        sums = _add_up(before, _places(part.sources))
        added.cells[update.node, number] = sums + trends * (addend or 0)
    for number, extreme in enumerate(update.extremes):
        ranks = [
            before.extremes[place] for place in _places(extreme.sources) if place in before.extremes
        ]
        rank = columns.ranks[extreme.rank][row] if extreme.rank >= 0 else None
        if rank is not None:
            ranks.append(rank)
        if ranks:
            added.extremes[update.node, number] = min(ranks)
    return added


def _places(sources: Sequence[Source]) -> list[Place]:
    """Return the nodes of sources, and the numbers of their sums or extremes there."""
    return [(source.node, source.row) for source in sources]


def _settle(window: _Window, added: Sequence[_Window], emptied: Sequence[int]) -> None:
    """Let what a moment empties and adds take effect."""
    if emptied:
        for numbers in window:
            for place in [place for place in numbers if place[0] in emptied]:
                del numbers[place]
    for addition in added:
        for place, number in addition.cells.items():
            window.cells[place] = window.cells.get(place, 0) + number
        for place, rank in addition.extremes.items():
            window.extremes[place] = min(window.extremes.get(place, rank), rank)


def _ended(window: _Window, ends: QueryEnds) -> list[Number]:
    """Return the sums over a query's trends."""
    cells = [_add_up(window, places) for places in ends.linear]
    if ends.pairs:
        left, right, both = map(int, cells)
        return [exact_pairs(left - both, right - both, both)]
    return cells


def _least(window: _Window, places: Sequence[Place]) -> int:
    return min((window.extremes[at] for at in places if at in window.extremes), default=_NOTHING)


def _add_up(window: _Window, places: Sequence[Place]) -> Number:
    return sum(window.cells.get(place, 0) for place in places)
