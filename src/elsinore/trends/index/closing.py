"""Closing windows of one key by an index that is there already, as a live stream does for long.

What Python does for a close takes else as long as the index takes for some thousand events.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.kernels import enter
from elsinore.trends.graph.evaluator import GraphEvaluator, OnlyGroup
from elsinore.trends.graph.windows import wanted_of
from elsinore.trends.index import close_windows as w
from elsinore.trends.index.evaluator import GroupIndex, Indexes
from elsinore.trends.partials import TotalsRoom
from elsinore.trends.rows.encoded import EncodedRows

_ROWS = ("time", "class", "compared", "known", "values", "present", "orders", "ordered")
_OF_CLOSE = Struct(f"{w.OF_CLOSE}q")  # into arrays sooner than NumPy puts a tuple there
_SECONDS = 1e-4  # that an event takes in plain Python


class Closed(NamedTuple):
    """Totals of the windows that end by `ready`, if any, and how many rows no other needs."""

    totals: pa.RecordBatch | None
    ready: int
    gone: int


class Closing:
    """Closes windows of a group's queries, which are all there are, over rows of one key.

    It reads the arrays of its index and the rows.
    """

    def __init__(
        self,
        only: OnlyGroup,
        index: GroupIndex,
        rows: EncodedRows,
        room: TotalsRoom,
    ) -> None:
        group, program, chosen = only
        self._group = group
        self._index, self._room = index, room
        self._classes = len(rows.classes)
        call = np.zeros(w.CALL, dtype=np.int64)
        call[w.WITHIN : w.ORIGIN + 1] = wanted_of(group.template.query.window)
        fields, extremes = room.fields, room.extremes
        call[w.FIELDS], call[w.EXTREMES] = fields, extremes
        call[w.MOMENT], call[w.FINALS] = index.rooms.moment, max(group.finals) + 1
        queries = np.full((len(group.queries), w.OWN + fields + extremes), -1, dtype=np.int64)
        for row, place in zip(queries, np.argsort(group.queries).tolist(), strict=True):
            sums, ranks = chosen[place]
            if len(group.queries) == 1:
                sums, ranks = list(range(fields)), list(range(extremes))
            row[: w.OWN] = group.queries[place], group.finals[place]
            row[w.OWN : w.OWN + len(sums)] = sums
            row[w.OWN + fields : w.OWN + fields + len(ranks)] = ranks
        self._call, self._words = call, call.data  # whose words are sooner read one by one
        tables: list[NDArray[Any]] = [program.linear, program.extreme, *index.sums]
        self._lent = [self._lend(w.QUERIES, [queries]), self._lend(w.LINEAR, tables)]
        self._read(rows)
        self._make_room(1)

    @classmethod
    def of(
        cls, graph: GraphEvaluator, indexes: Indexes, rows: EncodedRows, room: TotalsRoom
    ) -> Closing | None:
        """Return what closes windows of all queries over such rows; None: not all are one group.

        None, too, where the group has no index yet, or one for other rows.
        """
        only = graph.only_group(rows.classes) if rows.numbered else None
        index = None if only is None else indexes.last(only.group)
        if only is None or index is None or not index.fits(rows):
            return None
        return cls(only, index, rows, room)

    def serves(self, indexes: Indexes, rows: EncodedRows) -> bool:
        """Return whether the index is the group's last, and for the classes of the rows."""
        return self._classes == len(rows.classes) and self._index is indexes.last(self._group)

    def close(self, rows: EncodedRows, done: int, until: int) -> Closed | None:
        """Close the windows that end after `done` and at or before `until` or the last row.

        None: the index is not for such rows.
        """
        if self._arrays is not rows.arrays:
            self._read(rows)
        call, words, index = self._call, self._words, self._index
        begin, end, number = rows.places
        _OF_CLOSE.pack_into(words, 0, begin, end, number, done, until, rows.first[1])
        seconds = _SECONDS * (end - begin)
        while (how := enter(w.close_windows, seconds, call, index.words, index.work)) != w.CLOSED:
            if how == w.OTHER_INDEX:
                return None
            self._make_room(words[w.GIVEN])
        index.first = number
        totals, given = None, words[w.GIVEN]
        if given:
            totals = self._room.cut(given)
            words[w.PLACE] = self._room.begin
        return Closed(totals, words[w.UNTIL], words[w.GONE])

    def _lend(self, place: int, tables: Iterable[NDArray[Any]]) -> list[NDArray[Any]]:
        """Tell the call of tables, from a place on; return what must be kept for it."""
        lent = [np.ascontiguousarray(np.atleast_2d(table)) for table in tables]
        words = [word for table in lent for word in (table.ctypes.data, *table.shape)]
        self._call[place : place + len(words)] = words
        return lent

    def _read(self, rows: EncodedRows) -> None:
        """Read the arrays that rows have now."""
        self._arrays = rows.arrays
        self._lend(w.TIMES, (rows.arrays[name] for name in _ROWS))

    def _make_room(self, rows: int) -> None:
        """Make room for so many totals."""
        arrays, call = self._room.arrays(rows), self._call
        call[w.PLACE], call[w.PLACES] = self._room.begin, self._room.rows
        call[w.WHOLES : w.CODES + 1] = [array.ctypes.data for array in arrays]
