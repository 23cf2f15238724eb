"""Changed workloads: what happens to each query if a live run is resumed with another workload.

Queries that are unchanged keep their state. Added queries start with the next window, and queries
that were changed start anew as if they were added; removed queries end.

Windows are handed over without migrating state: the old plan answers the windows that begin before
a time T, and the new plan all others. T is after all events that came before the change, so the new
plan sees all events of its windows. When the last window that begins before T has ended, the old
plan is dropped. Queries without windows (`Kind.windows`) remain in their plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.operators import ResultForm


class Change(Enum):
    """What happens to a query if a live run is resumed."""

    UNCHANGED = "unchanged: it keeps its state"
    ADDED = "added: it starts with the next window"
    CHANGED = "changed: it starts anew with the next window"
    REMOVED = "removed: it ends"


def changes_between(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, Change]:
    """Return the change of each query; `before` and `after` map names to queries' meanings.

    >>> changes = changes_between({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "5", "d": "4"})
    >>> [(name, change.name) for name, change in changes.items()]
    [('a', 'UNCHANGED'), ('b', 'CHANGED'), ('d', 'ADDED'), ('c', 'REMOVED')]
    """
    changes = {}
    for name, meaning in after.items():
        if name not in before:
            changes[name] = Change.ADDED
        else:
            is_same = before[name] == meaning
            changes[name] = Change.UNCHANGED if is_same else Change.CHANGED
    return changes | {name: Change.REMOVED for name in before if name not in after}


@dataclass(frozen=True, slots=True)
class Span:
    """The windows of a query that a plan answers: those that begin from `start` to before `stop`.

    None: from the first one on, or to the last one. Times are in ticks.
    """

    start: int | None = None
    stop: int | None = None

    def filter(self, table: pa.Table, form: ResultForm) -> pa.Table:
        """Return the rows of a finished result, times in ticks, for the windows of the span.

        Rows that are not of windows (`window_start`) are answered all.
        """
        if START not in form.times:
            return table
        begins = table.column(START)
        if self.start is not None:
            table = table.filter(pc.greater_equal(begins, self.start))
            begins = table.column(START)
        if self.stop is not None:
            table = table.filter(pc.less(begins, self.stop))
        return table


START = "window_start"  # the column of results that has the beginning of windows
