"""One match query evaluated by postponing: a main run for each beginning, and matches from it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.evaluations import checks as se
from benchmarks.evaluations import main_counters as co
from benchmarks.evaluations.arrays import Bytes, Rules, values_of
from benchmarks.evaluations.construct import scan_main_runs
from benchmarks.evaluations.kernel_search import begin_work, end_work
from benchmarks.evaluations.main_run import SINCE, STAYS_FALSE, STAYS_TRUE, MainRun
from benchmarks.evaluations.marked import MarkedSearch, Marks
from benchmarks.evaluations.reach import EVENT_COLUMNS
from benchmarks.evaluations.statistics import QueryStatistics
from benchmarks.evaluations.windows import columns_of
from elsinore.errors import InputError
from elsinore.matches.arrays import Ints, Keys, MatchBatch
from elsinore.matches.conditions import Condition
from elsinore.matches.consistency import early_values
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.query import ANY_NUMBER, GUARD, longest, new_events
from elsinore.matches.registers import slot_of
from elsinore.matches.template import MatchTemplate
from elsinore.model.expression import attributes


class PostponedSearch(MarkedSearch):
    """The search of one query by postponing, with early filters or without."""

    filters_early = True

    def __init__(
        self,
        template: MatchTemplate,
        layout: Layout,
        statistics: QueryStatistics,
    ) -> None:
        super().__init__(template, layout, statistics)
        self._layout = layout
        self._flags = _flags_of(template) * np.uint8(self.filters_early)
        self.members = np.zeros((0, EVENT_COLUMNS), dtype=np.int64)
        self.labels: Bytes = np.zeros((0, len(template.edges)), dtype=np.uint8)
        self.whole_stack = np.zeros(SINCE + len(template.states), dtype=np.int64)

    def matches(self, operands: Operands, keys: Keys, limit: int) -> Iterator[MatchBatch]:
        """Yield the matches among the rows of `keys`, in pieces (see `QuerySearch.matches`)."""
        negatives = self.pattern.latest_rows(operands, keys, self.window.within)
        room = self.room
        room.for_rows(longest(keys))
        flags = self.ready(operands, longest(keys))
        progress = self.begun(limit)
        progress[co.EARLY] = flags.any()
        progress[se.GUARD] = ANY_NUMBER if limit < ANY_NUMBER else GUARD
        progress[se.BUDGET] = ANY_NUMBER
        self.work.allow(new_events(keys))
        marks: Marks = {}
        while True:
            progress[co.AT_ONCE] = room.found.shape[1]
            begin_work(self.work, progress)
            columns = columns_of(keys)
            rules = Rules(self.tables.constants, negatives, room.stack, self.whole_stack)
            scan_main_runs(
                self.tables.integers, rules, values_of(operands), columns,
                room.events, progress, self.main_run(flags), room.path, room.registers, room.given,
            )  # fmt: skip
            is_too_long = end_work(self.work, progress)
            status, found = self._taken(progress)
            if found is not None:
                yield self.unmarked(found, found.first, marks)
            if status in {se.DONE, se.LIMITED}:
                self.count(progress)
                return
            if is_too_long:
                raise self.too_long()
            self._make_way(status, progress, widen=found is None)

    def begun(self, limit: int) -> Ints:
        """Return `progress` before the first key."""
        progress = super().begun(limit)
        progress[co.MEMBERS], progress[co.EDGES] = -1, len(self.template.edges)
        return progress

    def main_run(self, flags: Bytes) -> MainRun:
        """Return room for a main run, with the flags for a batch."""
        return MainRun(self.members, self.labels, flags)

    def ready(self, operands: Operands, rows: int) -> Bytes:
        """Make room for keys of so many events; return the flags for a batch."""
        if len(self.members) < rows:
            self.members = np.zeros((rows, EVENT_COLUMNS), dtype=np.int64)
            self.labels = np.zeros((rows, len(self.template.edges)), dtype=np.uint8)
        return self._flags_for(operands)

    def _flags_for(self, operands: Operands) -> Bytes:
        """Return the flags for a batch: what is true of all may be unknown of some, for nulls."""
        if not (self._flags & STAYS_TRUE).any():
            return self._flags
        flags = self._flags.copy()
        for number, condition in enumerate(self.template.conditions):
            if any(
                self._layout.has_nulls(name, operands) for name in read_by(self.template, condition)
            ):
                flags[:, number] &= ~np.uint8(STAYS_TRUE)
        return flags

    def too_many(self, count: int) -> InputError:
        """Return the error that a window has more matches than may be returned."""
        return super().too_many(max(count, GUARD))


def _flags_of(template: MatchTemplate) -> Bytes:
    """Return STAYS_TRUE and STAYS_FALSE by edge, then by state (for matches that end there).

    There is one number for each condition.
    """
    rows = early_values(template)
    flags: Bytes = np.zeros((len(rows), len(template.conditions)), dtype=np.uint8)
    for place, row in enumerate(rows):
        for number, (stays_true, stays_false) in row.items():
            is_edge = place < len(template.edges)
            flags[place, number] = STAYS_TRUE * (stays_true and is_edge) + STAYS_FALSE * stays_false
    return flags


def read_by(template: MatchTemplate, condition: Condition) -> set[str]:
    """Return the attributes that a condition reads, of events or through aggregates of them."""
    slots = [slot_of(leaf) for leaf in attributes(condition.expression)]
    read = {slot.attribute for slot in slots if slot.attribute is not None}
    for slot in slots:
        if slot.register >= 0:
            read.update(template.registers[slot.register].attributes)
    return read
