"""Open streams: results that are final at the last event, although more events may follow.

A result is final at a time T if no event at T or later can change it. Operators return exactly
these results from `close(T)`. A run over an open stream gives its operators T, the time of the
stream's last event, in advance (`OperatorOptions.last_time`), as some of them finish a key before
they have seen the other keys. (docs/ARCHITECTURE.md, "The contract of operators".)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy
from elsinore.model.window import Window

FOREVER = int(np.iinfo(np.int64).max)  # when the whole stream ends


class WindowEnds:
    """The end times of windows of a unit's queries.

    >>> ends = WindowEnds([Window(10, 5), None])
    >>> ends.end_times(np.array([0, 0, 1]), np.array([0, 1, 0])).tolist()
    [10, 15, 9223372036854775807]
    """

    def __init__(self, windows: Sequence[Window | None]) -> None:
        """`windows` has the window of each query; None, the whole stream, never ends."""
        # [query] the end of its window 0, and the distance to the end of the next window
        self._first = np.array([w.bounds(0)[1] if w else FOREVER for w in windows])
        self._step = np.array([w.step if w else 0 for w in windows], dtype=np.int64)

    def end_times(
        self, queries: NDArray[np.int64], indices: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the ends of windows by their queries and indices; FOREVER for whole streams."""
        ends: NDArray[np.int64] = self._first[queries] + self._step[queries] * indices
        return ends


def final_rows(
    partial: pa.RecordBatch, windows: Sequence[Window | None], last_time: int
) -> pa.RecordBatch:
    """Return the rows of a partial output whose windows end at or before `last_time`.

    `windows` has the window of each query of the unit; None, the whole stream, never ends. The
    batch has the columns `query` and `window` (the window's index).

    >>> batch = pa.record_batch({"query": [0, 0, 1], "window": [0, 1, 0]})
    >>> final_rows(batch, [Window(10, 5), None], 10).to_pydict()
    {'query': [0], 'window': [0]}
    """
    queries, indices = to_numpy(partial.column("query")), to_numpy(partial.column("window"))
    ends = WindowEnds(windows).end_times(queries, indices)
    final = (ends != FOREVER) & (ends <= last_time)
    return partial if final.all() else partial.filter(to_arrow(final))


def windows_at(window: Window | None, time: int) -> int:
    """Return the number of a query's windows that contain a time; the whole stream is one window.

    At the time of the last event, these are the open windows of the run.

    >>> windows_at(Window(10, 5), 12), windows_at(None, 12)
    (2, 1)
    """
    return 1 if window is None else max(0, window.last(time) - window.first(time) + 1)
