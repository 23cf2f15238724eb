"""What searches of other evaluations share: what they count, and matches that are found twice."""

from __future__ import annotations

import numpy as np

from benchmarks.evaluations import checks as se
from benchmarks.evaluations import main_counters as co
from benchmarks.evaluations.kernel_search import KernelSearch
from benchmarks.evaluations.statistics import QueryStatistics
from benchmarks.evaluations.windows import FIRST_CALL
from elsinore.matches.arrays import Ints, MatchBatch
from elsinore.matches.operands import Layout
from elsinore.matches.template import MatchTemplate

Marks = dict[int, set[tuple[int, bytes]]]


class MarkedSearch(KernelSearch):
    """A search that counts its work, and whose pieces may be cut anywhere.

    `go` is how far it goes: for measurements it may stop before matches are made.
    """

    go = co.GO_CONSTRUCT
    entries = co.EVALUATION_PROGRESS  # of `progress`

    def __init__(
        self,
        template: MatchTemplate,
        layout: Layout,
        statistics: QueryStatistics,
    ) -> None:
        super().__init__(template, layout)
        self.statistics = statistics

    def begun(self, limit: int) -> Ints:
        """Return `progress` before the first key."""
        progress = np.zeros(self.entries, dtype=np.int64)
        progress[[se.WINDOW, se.BEGIN]] = FIRST_CALL
        progress[[se.EVENTS, se.DEPTH, se.WAYS_TO]] = -1
        progress[se.LIMIT] = limit
        progress[se.WITH_PATHS] = self.wants_paths
        progress[[se.WITHIN, se.SLIDE, se.ORIGIN]] = self.window
        progress[co.GO] = self.go
        return progress

    def count(self, progress: Ints) -> None:
        """Take over what was counted."""
        statistics = self.statistics
        statistics.runs += int(progress[co.RUNS])
        statistics.peak = max(statistics.peak, int(progress[co.PEAK]))
        statistics.stored += int(progress[co.STORED])
        statistics.predicates += int(progress[co.LOOKED])
        statistics.candidates += int(progress[co.CANDIDATES])

    def unmarked(self, found: MatchBatch, rows: Ints, marks: Marks) -> MatchBatch:
        """Return the matches that are not marked yet, and mark them.

        Equal ones have one row in `rows`, and come right after one another: marks of others go.
        """
        if not self.template.duplicates:
            return found
        kept = []
        for number, mark in enumerate(self.marks(found)):
            row = int(rows[number])
            if row not in marks:
                marks.clear()
                marks[row] = set()
            if mark not in marks[row]:
                marks[row].add(mark)
                kept.append(number)
        return found.take(np.array(kept, dtype=np.int64))
