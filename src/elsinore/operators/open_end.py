"""Open streams: what is final when the last event has come and more events may follow.

A result is final at a time T if no event at T or later can change it. Operators return exactly
these results from `close(T)`. A run over an open stream gives its operators T, the time of the
stream's last event, in advance (`OperatorOptions.last_time`), as some of them finish a key before
they have seen the other keys. (docs/ARCHITECTURE.md, "The contract of operators".)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_arrow, to_numpy
from elsinore.model.window import Window


def final_rows(
    partial: pa.RecordBatch, windows: Sequence[Window | None], last_time: int
) -> pa.RecordBatch:
    """Return the rows of a partial output whose windows end at or before `last_time`.

    `windows` holds the window of each query of the unit; None, the whole stream, never ends. The
    batch has the columns `query` and `window` (the window's index).

    >>> batch = pa.record_batch({"query": [0, 0, 1], "window": [0, 1, 0]})
    >>> final_rows(batch, [Window(10, 5), None], 10).to_pydict()
    {'query': [0], 'window': [0]}
    """
    queries, indices = to_numpy(partial.column("query")), to_numpy(partial.column("window"))
    # ends by query: those of window 0, and the distance from one end to the next
    first = np.array([0 if window is None else window.bounds(0)[1] for window in windows])
    step = np.array([0 if window is None else window.step for window in windows])
    ends_at_all = np.array([window is not None for window in windows])
    final = ends_at_all[queries] & (first[queries] + step[queries] * indices <= last_time)
    return partial if final.all() else partial.filter(to_arrow(final))


def windows_at(window: Window | None, time: int) -> int:
    """Return how many of a query's windows contain a time; the whole stream is one window.

    If it is the time of the last event, these are the windows that the run leaves open.

    >>> windows_at(Window(10, 5), 12), windows_at(None, 12)
    (2, 1)
    """
    return 1 if window is None else max(0, window.last(time) - window.first(time) + 1)
