"""The fine shared engine as a pure function of sorted events."""

from __future__ import annotations

import time
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import enter
from elsinore.plan import Sharing, TrendUnit
from elsinore.trends.benefit import as_array
from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.hamlet import layout
from elsinore.trends.hamlet.kept import KeptKey, of_keys, past_of, room_after, together
from elsinore.trends.hamlet.layout import (
    COUNTS,
    DIGITS,
    MASKS,
    Events,
    Keys,
    Mode,
    Out,
    Program,
    Work,
)
from elsinore.trends.hamlet.moments import count_entries, list_entries
from elsinore.trends.hamlet.program import HamletProgram
from elsinore.trends.hamlet.run import run
from elsinore.trends.hamlet.storage import new_graphs
from elsinore.trends.keyed import Ints, KeyedEvents, WindowTotals, as_entered, size_of
from elsinore.trends.prices import GraphPrices, measured
from elsinore.trends.rows.due import bounds_of
from elsinore.trends.statistics import BurstRecord, SharingStatistics

_MODES = {
    Sharing.DYNAMIC: layout.DYNAMIC,
    Sharing.ALWAYS: layout.ALWAYS,
    Sharing.NEVER: layout.ALONE,
}
_SECONDS, _SECONDS_QUERY = 5e-4, 2e-4  # that an event takes in plain Python, and for each query


class HamletEvaluator:
    """Sums up the trends of a unit's queries in the shared graph of events.

    There must be no `obstacle` to its templates. `by_time`: events of one time do not precede one
    another; else each is its own moment. `prices`: other than measured ones. `record`: each burst
    is kept in `statistics`.
    """

    def __init__(
        self,
        unit: TrendUnit,
        *,
        sharing: Sharing = Sharing.DYNAMIC,
        by_time: bool = True,
        prices: GraphPrices | None = None,
        record: bool = False,
    ) -> None:
        self._program = HamletProgram(unit, mixed=sharing is Sharing.ALWAYS)
        self._most = 0  # bytes of all arrays that the last call had at once, at most
        self._kept: dict[int, KeptKey] = {}
        self._fields = _fields_of(unit)
        windows = (template.query.window for template in unit.templates)
        self._windows = {window for window in windows if window is not None}
        plain, ordered = prices or measured().graph, prices or measured().ordered
        costs = as_array(plain), as_array(ordered)
        self._mode = Mode(_MODES[sharing], by_time, *costs, record)
        # of each set, by its windows so far: EXPECTED (not known) and REACHED
        self._learnt = np.tile([-1.0, 1.0], (len(self._program.sets), 1))
        self._counted = [
            SharingStatistics(fine_set.sharing.name, self._program.queries(number))
            for number, fine_set in enumerate(self._program.sets)
        ]

    @property
    def statistics(self) -> list[SharingStatistics]:
        """What became of each set of several queries; a query on its own shares with nobody."""
        return [counted for counted in self._counted if len(counted.queries) > 1]

    @property
    def bytes_held(self) -> int:
        """How much memory the last call took at most, and keys take that are kept."""
        return self._most + sum(key.bytes_held for key in self._kept.values())

    def evaluate(
        self,
        events: KeyedEvents,
        columns: ComparedColumns,
        staying: Collection[int] = frozenset(),
    ) -> WindowTotals:
        """Return the sums of all windows that end after `done` and at or before `until`.

        `columns` are of the same events. `staying`: keys that are kept, by their codes, with all
        windows that are open at `until`, an edge of windows. The next call is given what of them
        comes after that, and nothing of what was before.
        """
        self._most = 0
        codes = [] if events.keys is None else events.keys.tolist()
        apart = {place for place, key in enumerate(codes) if key in staying or key in self._kept}
        if not apart:
            return self._evaluate(events, columns, slice(None), None, stays=False)
        parts = []
        leaving = [place for place in range(len(codes)) if place not in apart]
        if leaving:
            mine, rows = of_keys(events, leaving)
            parts.append((leaving, self._evaluate(mine, columns, rows, None, stays=False)))
        for place in sorted(apart):
            kept, stays = self._kept.get(codes[place]), codes[place] in staying
            if kept is None or not stays or kept.until != events.until[place]:
                mine, rows = of_keys(events, [place])
                totals = self._evaluate(mine, columns, rows, kept, stays=stays)
                parts.append(([place], totals))
        return together(parts) if parts else _totals(_out(*self._fields, 1))

    def forget(self, key: int) -> None:
        """Keep nothing of a key."""
        self._kept.pop(key, None)

    def _evaluate(
        self,
        events: KeyedEvents,
        columns: ComparedColumns,
        rows: slice | NDArray[np.int64],
        kept: KeptKey | None,
        *,
        stays: bool,
    ) -> WindowTotals:
        """Evaluate keys, or go on with one; `rows` are theirs in `columns`."""
        program = self._program.comparing(columns)
        classes = self._program.classes(events.codes, events.classes)
        actions, sets = self._program.actions, len(self._program.sets)
        entries = enter(count_entries, 1e-5 * len(classes), actions, classes, sets)
        lists, begins, listed = room_after(kept, entries)
        times = as_entered(events.times)
        enter(list_entries, 1e-5 * len(classes), actions, classes, times, begins, listed)
        unit = self._program.unit
        if kept is None:
            work = new_work(program, len(self._program.states))
            work.counts[:, layout.EXPECTED : layout.STANDING] = self._learnt
            graphs = enter(new_graphs, 1e-4 * sets, program)
        else:
            work, graphs = kept.work, kept.graphs
        before = work.counts.copy()
        compared = rows if columns.names else slice(None)  # of no attributes there are no rows
        given = Events(
            times=times,
            values=as_entered(events.values),
            present=as_entered(events.present),
            orders=as_entered(events.orders),
            ordered=as_entered(events.ordered),
            compared=as_entered(columns.compared[:, compared]),
            known=as_entered(columns.known[:, compared]),
            lists=lists,
            begins=begins,
            listed=listed,
        )
        counted, again = self._counted_by(events.done, kept), np.zeros((sets, layout.CYCLES + 1))
        began = time.perf_counter()
        out, graphs = enter(
            run,
            (_SECONDS + _SECONDS_QUERY * len(unit.templates)) * len(classes),
            program,
            actions,
            work,
            graphs,
            given,
            Keys(
                as_entered(events.starts),
                as_entered(events.done),
                as_entered(events.until),
                classes,
                kept is not None,
                stays,
                counted,
                again,
            ),
            self._mode,
            _out(*self._fields, _most_words(program)),
        )
        took = time.perf_counter() - began
        self._learnt = work.counts[:, layout.EXPECTED : layout.STANDING].copy()
        self._count(
            events, counted, work.counts, before, again, out, took / max(int(out.used[2]), 1)
        )
        size = size_of(given, work, out) + int(graphs.used[layout.PEAK])
        self._most = max(self._most, size)
        if events.keys is not None and len(events.keys) == 1:
            self._kept.pop(int(events.keys[0]), None)
            if stays:
                past, sizes = past_of(lists, work.bursts["oldest"], listed)
                now = KeptKey(int(events.until[0]), work, graphs, past, sizes)
                self._kept[int(events.keys[0])] = now
        return _totals(out)

    def _counted_by(self, done: Ints, kept: KeptKey | None) -> Ints:
        """Return for each key when the last window ended that was given out: its bursts counted."""
        if kept is not None:  # which is given what comes after it
            return np.full(len(done), NEVER)
        ends, _ = bounds_of(self._windows, np.where(done == NEVER, 0, done), ends=False)
        return np.where(done == NEVER, NEVER, ends)

    def _count(
        self,
        events: KeyedEvents,
        counted: NDArray[np.int64],
        now: NDArray[np.float64],
        before: NDArray[np.float64],
        again: NDArray[np.float64],
        out: Out,
        seconds_per_cycle: float,
    ) -> None:
        """Count what has happened between two states of `Work.counts`, but not once more."""
        happened = (now - before)[:, : layout.CYCLES + 1] - again
        for statistics, counts, most in zip(
            self._counted, happened, now[:, layout.MOST], strict=True
        ):
            statistics.bursts += int(counts[layout.BURSTS])
            statistics.graphlets += int(counts[layout.GRAPHLETS])
            statistics.shared_graphlets += int(counts[layout.SHARED_GRAPHLETS])
            statistics.splits += int(counts[layout.SPLITS])
            statistics.merges += int(counts[layout.MERGES])
            statistics.graphlet_snapshots += int(counts[layout.GRAPHLET_SNAPSHOTS])
            statistics.event_snapshots += int(counts[layout.EVENT_SNAPSHOTS])
            statistics.most_propagated = max(statistics.most_propagated, int(most))
            statistics.decisions += int(counts[layout.DECISIONS])
            statistics.decision_seconds += float(counts[layout.CYCLES]) * seconds_per_cycle
        if out.used[1] == 0:
            return
        of = out.record[: int(out.used[1])]
        keys = np.searchsorted(events.starts, of[:, 1], side="right") - 1
        fresh = events.times[of[:, 1]] >= counted[keys]
        of, keys = of[fresh], keys[fresh]
        for record, began, benefit, key, words in zip(
            of.tolist(),
            events.times[of[:, 1]].tolist(),
            out.benefit[: len(fresh)][fresh].tolist(),
            (keys if events.keys is None else events.keys[keys]).tolist(),
            out.sharers[: len(fresh)][fresh].tolist(),
            strict=True,
        ):
            number, _, length, queries, shared = record
            mask = sum(word << (64 * place) for place, word in enumerate(words))
            self._counted[number].records.append(
                BurstRecord(began, length, queries, shared, benefit, key, mask)
            )


def _totals(out: Out) -> WindowTotals:
    rows = int(out.used[0])
    return WindowTotals(
        query=out.place[:rows, 0].astype(np.int32),
        key=out.place[:rows, 1].astype(np.int32),
        window=out.place[:rows, 2],
        cells=out.cells[:rows],
        powers=out.powers[:rows],
        extremes=out.extremes[:rows],
    )


def new_work(program: Program, states: int) -> Work:
    """Return what is known of a key before its first event."""
    kinds, sets = len(program.kinds) - 1, len(program.sets) - 1
    lanes = program.kinds["overlap"][program.states["window"][:-1]]
    cells = int(np.sum(lanes * np.diff(program.states["field"])))
    extremes = int(np.sum(lanes * np.diff(program.states["extreme"])))
    flags = np.zeros(states, dtype=layout.FLAGS)
    flags["dirty"] = 1
    return Work(
        cells=np.zeros((4, cells)),
        powers=np.zeros((4, cells), dtype=np.int32),
        least=np.full((4, extremes), FOREVER),
        flags=flags,
        touched=np.zeros(states + 1, dtype=np.int64),
        open=np.zeros(kinds, dtype=layout.OPEN),
        opened=np.zeros(int(program.kinds["openings"][-1])),
        queue=np.zeros(sets, dtype=np.int64),
        edge=np.full(1, NEVER),
        bursts=np.zeros(sets, dtype=layout.BURST),
        weight=np.full(int(program.sets["groups"][-1]), -1.0),
        masks=np.zeros((MASKS, _most_words(program)), dtype=np.uint64),
        worth=np.zeros((1 << DIGITS, 2)),
        counts=np.zeros((sets, COUNTS + int(program.kinds["openings"][-1]))),
    )


def _most_words(program: Program) -> int:
    return int(np.max(np.diff(program.sets["words"]), initial=1))


def _fields_of(unit: TrendUnit) -> tuple[int, int]:
    """Return how many linear fields, and how many extremes, the query with most has."""
    each = [aggregation.aggregation for aggregation in unit.templates]
    return max(len(aggregation.linear) for aggregation in each), max(
        len(aggregation.extremes) for aggregation in each
    )


def _out(linear: int, extremes: int, words: int) -> Out:
    return Out(
        used=np.zeros(3, dtype=np.int64),
        place=np.zeros((0, 3), dtype=np.int64),
        cells=np.zeros((0, linear)),
        powers=np.zeros((0, linear), dtype=np.int32),
        extremes=np.zeros((0, extremes), dtype=np.int64),
        record=np.zeros((0, 5), dtype=np.int64),
        benefit=np.zeros(0),
        sharers=np.zeros((0, words), dtype=np.uint64),
    )
