"""Arrays that searches take and return: the rows of events, key by key, and matches.

`keys` [key] says where the rows of a key begin and end, which row is its first new one, and until
which times its events were (`passed`) and are (`reached`) complete: no event at or before them will
come. No match begins before `next_row`, and none ends by time `quiet`, if a query selects matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Doubles = NDArray[np.float64]
Bools = NDArray[np.bool_]
Keys = np.recarray[Any, Any]  # of `elsinore.matches.engine.tables.KEY`

NEVER, EVER = -(2**63), 2**63 - 1  # EVER: reached by keys that are over
NO_WINDOW = -1  # WITHIN of queries without a window


@dataclass(frozen=True, slots=True)
class MatchBatch:
    """Matches: first and last rows, windows and registers; `paths` are their events, if requested.

    `events` [match, register] are rows, below 0 if there is none; `numbers` [match, register].
    The path of match n is rows `starts[n]` to `starts[n + 1]` of `paths`: event row and state. The
    arrays are valid until the next batch is requested.
    """

    first: Ints
    last: Ints
    window: Ints
    events: Ints
    numbers: Doubles
    starts: Ints
    paths: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.first)

    def copy(self) -> MatchBatch:
        """Return a copy of the matches: the search overwrites its arrays."""
        return MatchBatch(
            self.first.copy(), self.last.copy(), self.window.copy(), self.events.copy("K"),
            self.numbers.copy("K"), self.starts, self.paths.copy(),
        )  # fmt: skip

    def take(self, numbers: Ints) -> MatchBatch:
        """Return some of the matches, by their numbers."""
        lengths = np.diff(self.starts)[numbers]
        rows = np.repeat(self.starts[:-1][numbers] - np.cumsum(lengths) + lengths, lengths)
        paths = self.paths[rows + np.arange(len(rows))] if len(self.paths) else self.paths
        return MatchBatch(
            self.first[numbers], self.last[numbers], self.window[numbers], self.events[numbers],
            self.numbers[numbers], np.concatenate([[0], np.cumsum(lengths)]), paths,
        )  # fmt: skip


def bounded_parts(sizes: Ints, most: int, items: int = EVER) -> Iterator[slice]:
    """Yield parts of a sequence of items of some sizes: up to `items` of them, `most` in total.

    An item that is larger is a part of its own.

    >>> list(bounded_parts(np.array([2, 2, 9, 1]), 4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    totals, start = np.cumsum(sizes), 0
    while start < len(sizes):
        before = totals[start - 1] if start else 0
        end = int(np.searchsorted(totals, before + most, side="right"))
        end = min(max(end, start + 1), start + items)
        yield slice(start, end)
        start = end
