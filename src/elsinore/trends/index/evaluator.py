"""Sums over windows by an index over the events of each, for queries whose guards are ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from elsinore.kernels import enter
from elsinore.plan import Path, TrendUnit
from elsinore.plan.guarded import GuardedTemplate, guarded_template
from elsinore.plan.indexed import Indexed, indexed
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.graph.layout import Program, Stream
from elsinore.trends.graph.sums import Fields, Sums, empty_sums
from elsinore.trends.graph.windows import Keys, Windows
from elsinore.trends.index.axes import Columns, InfiniteError
from elsinore.trends.index.windows import sum_windows
from elsinore.trends.index.words import Rooms, index_words
from elsinore.trends.keyed import size_of

MOST_WINDOWS = 16  # open at once: each is worked on by itself
_SECONDS = 1e-4  # that an event takes in plain Python, in each window


def can_index(unit: TrendUnit) -> bool:
    """Return whether a unit of the shared path is of one query that counts trends.

    It must not have many windows open at once.
    """
    if len(unit.templates) != 1:
        return False
    (template,) = unit.templates
    window, wanted = template.query.window, template.aggregation
    if window is not None and window.overlap > MOST_WINDOWS:
        return False
    return len(wanted.linear) == 1 and not wanted.extremes


def as_guarded(unit: TrendUnit) -> TrendUnit:
    """Return a unit of the shared path with guarded templates for its queries."""
    guarded = tuple(guarded_template(one.query) for one in unit.templates)
    return replace(unit, path=Path.GRAPH, templates=(), guarded=guarded)


class Indexes:
    """Adds up the trends of a unit's queries by indexes, where their guards are ranges.

    `elsinore.plan.indexed` says which those are.
    """

    def __init__(self, unit: TrendUnit) -> None:
        self._unit = unit
        self._kept: dict[int, Indexed | None] = {}

    def sum_up(
        self,
        query: int,
        program: Program,
        classes: Sequence[int],
        stream: Stream,
        columns: ComparedColumns,
        keys: Keys,
        held: Windows,
        totals: Sums,
    ) -> int | None:
        """Fill a row of totals for each window of a query; return the bytes that it took.

        `program` is the query's, `classes` those that occur, in the order of the stream's numbers.
        None where there is no index for the query, or none for such values.
        """
        template = self._unit.guarded[query]
        kept = self._of(query, template)
        if kept is None:
            return None
        window = template.query.window
        overlap = 1 if window is None else window.overlap
        compared = Columns(columns)
        rooms = Rooms(held.longest * min(overlap, 2), _longest_moment(keys), keys.by_time)
        told = [self._unit.classes.decode(code) for code in classes]
        try:
            words, sizes = index_words(
                template, kept, told, compared, int(program.automata[-2]), rooms
            )
        except InfiniteError:
            return None
        axes = compared.axes(keys.times)
        fields = Fields(program.linear, program.extreme)
        shape = fields.linear.shape[1], fields.extreme.shape[1]
        sums = enter(empty_sums, 1e-4, sizes.rows, *shape)
        work = np.zeros(sizes.arena, dtype=np.int64)
        seconds = _SECONDS * float(np.sum(held.high - held.low))
        enter(sum_windows, seconds, words, work, fields, stream, axes, held, sums, totals)
        return size_of(sums, (words, work), axes)

    def _of(self, query: int, template: GuardedTemplate) -> Indexed | None:
        if query not in self._kept:
            found = indexed(template)
            self._kept[query] = found if isinstance(found, Indexed) else None
        return self._kept[query]


def _longest_moment(keys: Keys) -> int:
    """Return the most events in a row that are of one time, all keys' one after another."""
    if not keys.by_time or len(keys.times) < 2:
        return 1
    changes = np.flatnonzero(keys.times[1:] != keys.times[:-1])
    bounds = np.concatenate(([-1], changes, [len(keys.times) - 1]))
    return int(np.max(np.diff(bounds)))
