"""Keys of which the evaluator keeps its state from one closing to the next, with open windows.

Their rows are buffered like all others, so that they may leave at any time.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.model.window import Window
from elsinore.trends.arrangement import KeyOrder
from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.evaluators import Evaluator, Part
from elsinore.trends.keyed import Codes, Ints

AGAIN = 256  # rows of a key that later windows hold too: from so many on its state is kept
MOST_KEPT = 64  # keys whose state is kept


class Staying:
    """Which keys an evaluator keeps, and up to where their events have acted there."""

    def __init__(self, evaluator: Evaluator, windows: Collection[Window]) -> None:
        self._evaluator = evaluator
        self._windows = windows
        self._acted: dict[int, int] = {}  # key -> its events before then have acted

    def leave(self, key: int) -> None:
        """Let the evaluator keep nothing of a key."""
        if self._acted.pop(key, None) is not None:
            self._evaluator.forget(key)

    def leave_all(self, keys: Ints) -> None:
        """Let it keep nothing of some keys."""
        for key in keys.tolist() if self._acted else ():
            self.leave(key)

    def leave_late(self, keys: Codes, times: Ints) -> None:
        """Let it keep nothing of keys of which rows come that should have acted already."""
        if self._acted and times.min() < max(self._acted.values()):
            for key, acted in list(self._acted.items()):
                if np.any(times[keys == key] < acted):
                    self.leave(key)

    def part(
        self,
        table: pa.Table,
        rows: KeyOrder,
        times: Ints,
        ends: tuple[Ints, Ints, Ints],
        kept: NDArray[np.bool_],
    ) -> Part:
        """Return all keys, and of their rows those that a window may hold that is ready.

        Of a key that stays it is those that have not acted so far, up to where it stays. ends: of
        windows that are done, of those that are ready, and of the last one of these. kept: the rows
        that an open window may hold.
        """
        done, ready, last = ends
        wanted = times < rows.of_rows(last)
        stays = self._chosen(table.schema, rows.keys, ready, rows.count(kept & wanted))
        if stays or self._acted:
            ready = ready.copy()
        for key in stays.keys() | self._acted.keys():
            place = int(np.argmax(rows.keys == key))
            mine = slice(rows.begins[place], rows.begins[place + 1])
            ready[place] = stays.get(key, FOREVER)
            wanted[mine] = times[mine] >= self._acted.get(key, NEVER)
            wanted[mine] &= times[mine] < ready[place]
        self._acted = stays
        counted = np.concatenate(([0], np.cumsum(wanted)))
        chosen = rows.table(table.drop_columns(["key", "group", "time"]), wanted)
        chosen = chosen.append_column("time", pa.array(times if wanted.all() else times[wanted]))
        return Part(chosen, counted[rows.begins], done, ready, rows.keys, frozenset(stays))

    def _chosen(self, schema: pa.Schema, keys: Ints, ready: Ints, again: Ints) -> dict[int, int]:
        """Return the keys that the evaluator is to keep, and up to where their events act now.

        That is the last edge of windows. again: [key] rows that later windows are to hold too.
        """
        goes_on = ready != FOREVER
        places = [place for key in self._acted for place in np.flatnonzero(keys == key).tolist()]
        more = np.flatnonzero((again >= AGAIN) & goes_on)
        if len(more) > len(places) and self._evaluator.may_keep(schema):
            places += more[: max(MOST_KEPT - len(places), 0)].tolist()
        return {
            int(keys[place]): max(window.edge(int(ready[place])) for window in self._windows)
            for place in places
            if goes_on[place]
        }
