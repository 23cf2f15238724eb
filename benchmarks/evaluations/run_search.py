"""One match query evaluated by runs: their memory, and the matches that they come to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.evaluations import checks as se
from benchmarks.evaluations import counters as rc
from benchmarks.evaluations import main_counters as co
from benchmarks.evaluations import run_kernels as ru
from benchmarks.evaluations.arrays import Registers, Rules, values_of
from benchmarks.evaluations.interpret import STACK
from benchmarks.evaluations.kernel_search import begin_work, end_work
from benchmarks.evaluations.marked import MarkedSearch, Marks
from benchmarks.evaluations.possible import why_only_by_the_engine
from benchmarks.evaluations.statistics import QueryStatistics
from benchmarks.evaluations.tables import Header
from benchmarks.evaluations.versions import BUFFER_COLUMNS, FREE, RUN_COLUMNS
from benchmarks.evaluations.windows import columns_of
from elsinore.errors import InputError
from elsinore.matches.arrays import Doubles, Ints, Keys, MatchBatch
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.query import ANY_NUMBER, GUARD, longest, new_events
from elsinore.matches.template import MatchTemplate

MOST_RUNS = 1 << 22  # at once: about half a gigabyte
RUNS = 64  # runs, and events of a match, that there is room for at first


class RunSearch(MarkedSearch):
    """The search of one query by runs, as in SASE+ or with ZStream's buffers."""

    entries = rc.RUNS_PROGRESS

    is_zstream = False  # whether events wait in buffers for each state

    def __init__(
        self,
        template: MatchTemplate,
        layout: Layout,
        statistics: QueryStatistics,
    ) -> None:
        super().__init__(template, layout, statistics)
        self._runs = _Runs(self.tables.integers)

    def matches(self, operands: Operands, keys: Keys, limit: int) -> Iterator[MatchBatch]:
        """Yield the matches among the rows of `keys`, in pieces (see `QuerySearch.matches`).

        Raises InputError where more than `MOST_RUNS` are open at once.
        """
        negatives = self.pattern.latest_rows(operands, keys, self.window.within)
        room, runs = self.room, self._runs
        room.for_rows(longest(keys))
        progress = self._begun(limit)
        self.work.allow(new_events(keys))
        marks: Marks = {}
        while True:
            progress[rc.ROOM], progress[co.AT_ONCE] = runs.rows, room.found.shape[1]
            begin_work(self.work, progress)
            columns = columns_of(keys)
            rules = Rules(self.tables.constants, negatives, room.stack, runs.whole_stack)
            ru.scan_runs(
                self.tables.integers, rules, values_of(operands), columns,
                room.events, progress, ru.Runs(runs.runs, runs.buffer), room.path,
                Registers(runs.bound_rows, runs.numbers), room.given,
            )  # fmt: skip
            is_too_long = end_work(self.work, progress)
            status, found = self._taken(progress)
            if found is not None:
                yield self.unmarked(found, found.last, marks)
            if status in {se.DONE, se.LIMITED}:
                self.count(progress)
                return
            if is_too_long:
                raise self.too_long()
            if status == se.DEEP:
                room.path = np.concatenate([room.path, np.zeros_like(room.path)])
                runs.resize(progress, rows=len(room.path) + 2)
            elif status == ru.NO_RUNS:
                if len(runs.runs) >= MOST_RUNS:
                    raise self._too_many()
                runs.resize(progress, runs=2 * len(runs.runs))
            elif status == ru.NO_BUFFER:
                runs.lengthen()
            else:
                self._make_way(status, progress, widen=found is None)

    def _begun(self, limit: int) -> Ints:
        progress = self.begun(limit)
        progress[rc.NEXT_EVENT] = -1
        progress[se.BUDGET] = ANY_NUMBER
        # matches of a window that begins with them are not counted apart: runs have a bound
        by_match = self.window.within >= 0 and self.window.slide == 0
        progress[se.GUARD] = ANY_NUMBER if by_match or limit < ANY_NUMBER else GUARD
        progress[rc.ZSTREAM] = self.is_zstream
        return progress

    def _too_many(self) -> InputError:
        name = self.template.query.name
        return InputError(
            f"query {name}: more than {MOST_RUNS:,} runs are open at once. Make the window shorter."
        )


class _Runs:
    """The memory of runs: their columns and registers, and the events that they share.

    Registers of a run stand behind `rows` rows for the match that is being constructed.
    """

    def __init__(self, header: Ints) -> None:
        states = int(header[Header.STATES])
        self.rows = RUNS + 2
        self.runs = np.zeros((RUNS, RUN_COLUMNS), dtype=np.int64)
        self.buffer = np.zeros((4 * RUNS, BUFFER_COLUMNS), dtype=np.int64)
        self.bound_rows = np.zeros((self.rows + RUNS, int(header[Header.EVENTS])), dtype=np.int64)
        self.numbers: Doubles = np.zeros((self.rows + RUNS, int(header[Header.NUMBERS])))
        self.whole_stack = np.zeros(STACK + 1 + 2 * states, dtype=np.int64)

    def resize(self, progress: Ints, *, rows: int = 0, runs: int = 0) -> None:
        """Make room for longer matches, or for more runs; those under way go on."""
        rows, runs, had = max(rows, self.rows), max(runs, len(self.runs)), len(self.runs)
        added = np.zeros((runs - had, RUN_COLUMNS), dtype=np.int64)
        self.runs = np.concatenate([self.runs, added])
        free = int(progress[rc.FREE_RUNS])
        self.runs[free : free + runs - had, FREE] = np.arange(runs - 1, had - 1, -1)
        progress[rc.FREE_RUNS] += runs - had
        self.bound_rows = _moved(self.bound_rows, self.rows, had, rows, runs)
        self.numbers = _moved(self.numbers, self.rows, had, rows, runs)
        self.rows = rows

    def lengthen(self) -> None:
        """Make room for twice as many events."""
        self.buffer = np.concatenate([self.buffer, np.zeros_like(self.buffer)])


def _moved(array: Any, rows: int, runs: int, more_rows: int, more_runs: int) -> Any:
    """Return registers with more rows for a match and for runs."""
    moved = np.zeros((more_rows + more_runs, array.shape[1]), dtype=array.dtype)
    moved[:rows] = array[:rows]
    moved[more_rows : more_rows + runs] = array[rows : rows + runs]
    return moved


def why_not_by_runs(template: MatchTemplate) -> str | None:
    """Return why a query cannot be evaluated by runs, or None if it can."""
    for register in template.registers:
        if register.aggregate is not None and register.aggregate.initial is None:
            return f"the state of {register.aggregate.name} is an object, and runs keep numbers"
    return why_only_by_the_engine(template)
