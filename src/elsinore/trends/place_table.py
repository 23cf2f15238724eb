"""The places of totals, query by query, group by group and window by window, compiled."""

from __future__ import annotations

import cython
import numpy as np

NEVER = cython.declare(cython.longlong, np.iinfo(np.int64).min)
FOREVER = cython.declare(cython.longlong, np.iinfo(np.int64).max)


@cython.cclass
class PlaceRange:
    """The range of the places that rows of some queries have, found piece by piece.

    first, last: the queries whose rows count; rows: how many rows were counted; ascending: whether
    each row's place follows that of the row before.
    """

    first: cython.longlong
    last: cython.longlong
    rows = cython.declare(cython.longlong, visibility="public")
    ascending = cython.declare(cython.bint, visibility="public")
    low_query: cython.longlong
    low_group: cython.longlong
    low_window: cython.longlong
    high_query: cython.longlong
    high_group: cython.longlong
    high_window: cython.longlong
    query: cython.longlong  # of the row before, as its group and window
    group: cython.longlong
    window: cython.longlong

    def __init__(self, first: cython.longlong, last: cython.longlong) -> None:
        self.first, self.last, self.rows, self.ascending = first, last, 0, True
        self.low_query = self.low_group = self.low_window = FOREVER
        self.high_query = self.high_group = self.high_window = NEVER
        self.query = self.group = self.window = NEVER

    def count(
        self,
        queries: cython.const_int[::1],
        groups: cython.const_int[::1],
        windows: cython.const_longlong[::1],
    ) -> None:
        """Count the rows of a piece, and widen the range by their places."""
        row: cython.Py_ssize_t
        with cython.nogil:
            for row in range(queries.shape[0]):
                query: cython.longlong = queries[row]
                group: cython.longlong = groups[row]
                window: cython.longlong = windows[row]
                if query < self.first or query > self.last:
                    continue
                if self.ascending and self.rows > 0:
                    follows: cython.bint = group > self.group or (
                        group == self.group and window > self.window
                    )
                    self.ascending = query > self.query or (query == self.query and follows)
                self.low_query = min(self.low_query, query)
                self.low_group = min(self.low_group, group)
                self.low_window = min(self.low_window, window)
                self.high_query = max(self.high_query, query)
                self.high_group = max(self.high_group, group)
                self.high_window = max(self.high_window, window)
                self.query, self.group, self.window = query, group, window
                self.rows += 1

    def room(self) -> int:
        """Return how many places there are in the range, of any size."""
        queries: int = int(self.high_query) - int(self.low_query) + 1
        groups: int = int(self.high_group) - int(self.low_group) + 1
        windows: int = int(self.high_window) - int(self.low_window) + 1
        return queries * groups * windows

    def enter(
        self,
        queries: cython.const_int[::1],
        groups: cython.const_int[::1],
        windows: cython.const_longlong[::1],
        taken: cython.int[::1],
        begin: cython.longlong,
    ) -> cython.bint:
        """Enter a piece's rows, numbered from `begin`, in `taken`; return False if a place is.

        taken: [place] -> the number of the row that has it, or -1.
        """
        groups_per_query: cython.longlong = self.high_group - self.low_group + 1
        windows_per_group: cython.longlong = self.high_window - self.low_window + 1
        is_free: cython.bint = True
        row: cython.Py_ssize_t
        with cython.nogil:
            for row in range(queries.shape[0]):
                query: cython.longlong = queries[row]
                if query < self.low_query or query > self.high_query:
                    continue
                line: cython.longlong = (query - self.low_query) * groups_per_query
                line += groups[row] - self.low_group
                place: cython.longlong = line * windows_per_group + windows[row] - self.low_window
                if taken[place] >= 0:
                    is_free = False
                    break
                taken[place] = cython.cast(cython.int, begin + row)
        return is_free

    def put_in_order(
        self,
        taken: cython.const_int[::1],
        order: cython.int[::1],
        queries: cython.int[::1],
        groups: cython.int[::1],
        windows: cython.longlong[::1],
    ) -> None:
        """Write the rows' numbers in the order of their places, with queries, groups, windows."""
        place: cython.Py_ssize_t = 0
        count: cython.Py_ssize_t = 0
        query: cython.longlong
        group: cython.longlong
        window: cython.longlong
        with cython.nogil:
            for query in range(self.low_query, self.high_query + 1):
                for group in range(self.low_group, self.high_group + 1):
                    for window in range(self.low_window, self.high_window + 1):
                        if taken[place] >= 0:
                            order[count] = taken[place]
                            queries[count] = cython.cast(cython.int, query)
                            groups[count] = cython.cast(cython.int, group)
                            windows[count] = window
                            count += 1
                        place += 1
