"""Keys of which the evaluator keeps its state from one closing to the next, with open windows.

Their rows wait like all others, so that they may leave at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from elsinore.model.window import Window
from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.keyed import Ints
from elsinore.trends.rows.arrangement import KeyOrder

AGAIN = 256  # rows of a key that later windows hold too: from so many on its state is kept
MOST_KEPT = 64  # keys whose state is kept

Flags = NDArray[np.bool_]


class Staying:
    """Which keys an evaluator keeps, and up to where their events have acted there.

    `forget`: what lets it keep nothing of a key.
    """

    def __init__(self, forget: Callable[[int], None], windows: Collection[Window]) -> None:
        self._forget = forget
        self._windows = windows
        # key -> its events before then have acted, and so many of them wait for open windows
        self._acted: dict[int, tuple[int, int]] = {}

    def leave(self, key: int) -> None:
        """Let the evaluator keep nothing of a key."""
        if self._acted.pop(key, None) is not None:
            self._forget(key)

    def leave_all(self, keys: Ints) -> None:
        """Let it keep nothing of some keys."""
        for key in keys.tolist() if self._acted else ():
            self.leave(key)

    def choose(
        self, rows: KeyOrder, times: Ints, ready: Ints, wanted: Flags, needed: Flags
    ) -> tuple[Ints, frozenset[int]]:
        """Return up to where the events of each key act now, and which keys stay.

        Of those, rows are `wanted` then that have not acted so far, up to where they stay: the last
        edge of windows that are `ready`. times: in the order of `rows`; wanted: rows that these
        windows may hold; needed: rows that later ones may.
        """
        places = self._going_on(rows, times)
        goes_on = ready != FOREVER
        again = np.flatnonzero((rows.count(needed & wanted) >= AGAIN) & goes_on).tolist()
        newcomers = [place for place in again if place not in places]
        chosen = [place for place in places if goes_on[place]]
        chosen += newcomers[: max(MOST_KEPT - len(places), 0)]
        until = ready.copy() if chosen else ready
        for place in chosen:
            until[place] = max(window.edge(int(ready[place])) for window in self._windows)
        acted = {}
        for place in {*places, *chosen}:
            mine, key = rows.of_key(place), int(rows.keys[place])
            wanted[mine] = times[mine] >= (self._acted[key][0] if place in places else NEVER)
            if place in chosen:
                has_acted = times[mine] < until[place]
                wanted[mine] &= has_acted
                acted[key] = int(until[place]), int(np.count_nonzero(has_acted & needed[mine]))
        self._acted = acted
        return until, frozenset(acted)

    def _going_on(self, rows: KeyOrder, times: Ints) -> set[int]:
        """Return the places of the keys that are kept; those of which rows came late are not."""
        if not self._acted:
            return set()
        present = {key: place for place, key in enumerate(rows.keys.tolist())}
        for key, (acted, waiting) in list(self._acted.items()):
            mine = rows.of_key(present[key]) if key in present else slice(0)
            if np.count_nonzero(times[mine] < acted) != waiting:
                self.leave(key)
        return {present[key] for key in self._acted}
