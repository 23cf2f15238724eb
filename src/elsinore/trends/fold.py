"""Applying actions and events to the windows of keys, in the order of time.

Keys arrive batch by batch, and windows stay open from one batch to the next.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy
from elsinore.model.window import Window, overlap_of
from elsinore.numeric import LIMB_BITS
from elsinore.numeric.arrays import added, normal
from elsinore.numeric.spread import Extended, moved_by
from elsinore.operators.open_end import final_rows
from elsinore.operators.panes import ActionSize, CannotFoldError, Combiner, Folder
from elsinore.plan import TrendUnit
from elsinore.plan.merged import QueryEnds
from elsinore.trends.engine.constants import FOREVER
from elsinore.trends.fold_sums import Numbers, fold, pairs_of_rows
from elsinore.trends.panes import Actions, ActionShape, ints, pane_numbers
from elsinore.trends.partials import totals_fields
from elsinore.trends.values import Codes, Doubles, Ints, Rows, Shifts

BEYOND = 2.0**28  # the power of infinities and NaN in the engine
LIMBS = 2  # powers of `elsinore.numeric` in one of the engine


class States(NamedTuple):
    """Windows of one kind, and their sums: [window] -> key, group, number, and [window, cell].

    A sum is `numbers * 2**(512 * powers)`.
    """

    key: Ints
    group: Ints
    window: Ints
    numbers: NDArray[np.float64]
    powers: NDArray[np.float64]
    least: Ints

    def between(self, first: int, stop: int) -> States:
        """Return some of the windows."""
        return States._make(column[first:stop] for column in self)


class Acts(NamedTuple):
    """Actions in order: [action] -> key, group, first moment, and the numbers of each."""

    key: Ints
    group: Ints
    time: Ints
    numbers: Numbers


class Fold:
    """Applies the actions and events of keys, one key after another."""

    def __init__(self, shape: ActionShape, *, ordered: bool, last_time: int | None = None) -> None:
        """Prepare for actions of a shape; `ordered`: simultaneous events are in order.

        `last_time`: see `OperatorOptions`.
        """
        self._unit = unit = shape.unit
        self._shape = shape
        self._last_time = last_time
        self._combiner = Actions(shape, ordered=ordered)
        self._waiting: pa.RecordBatch | None = (
            None  # the last moment, which may continue in the next batch
        )
        self._after: tuple[int, int] | None = (
            None  # the last key, and its last moment that was applied
        )
        self._shifts = Shifts(unit)  # of keys, and of epochs
        self._folding = shape.folding()
        places, sums = np.zeros((3, 0), np.int64), np.zeros((2, 0, shape.cells))
        none = States._make([*places, *sums, np.zeros((0, shape.extremes), np.int64)])
        self._open = [none for _ in unit.merged.windows]

    def process(
        self, events: pa.RecordBatch, actions: pa.RecordBatch, *, final: bool
    ) -> list[pa.RecordBatch]:
        """Apply events and actions; return the totals of windows that have ended."""
        if self._waiting is not None:
            both = pa.Table.from_batches([self._waiting, events]).combine_chunks()
            events, self._waiting = both.to_batches()[0], None
        if not final:
            whole = _whole_moments(events, actions)
            if whole < events.num_rows:
                self._waiting, events = events.slice(whole), events.slice(0, whole)
        acts = self._acts(events, actions)
        totals: list[pa.RecordBatch] = []
        for number, window in enumerate(self._unit.merged.windows):
            states, spans = self._states(window, acts, self._open[number])
            fold(self._folding, spans, acts.numbers, *states[3:])
            over = count = len(states.key)
            if not final and self._after is not None:
                key, last = self._after
                is_open = states.key == key
                if window is not None:
                    is_open &= window.bounds(states.window)[1] > last
                over -= int(np.count_nonzero(is_open))  # they are the last
            self._open[number] = states.between(over, count)
            totals += self._totals(window, states.between(0, over))
        if self._after is not None:
            self._shifts.keep(self._shifts.groups == self._after[0])
        if self._last_time is None:
            return totals
        windows = [member.query.window for member in self._unit.members]
        return [final_rows(batch, windows, self._last_time) for batch in totals]

    def _acts(self, events: pa.RecordBatch, actions: pa.RecordBatch) -> Acts:
        """Return all actions in order, those of events too. Raises CannotFoldError for overlaps."""

        def both(name: str, other: str) -> Ints:
            columns = (to_numpy(events.column(name)), to_numpy(actions.column(other)))
            return np.concatenate(columns).astype(np.int64)

        key, group = both("key", "key"), both("group", "group")
        first, last = both("time", "time"), both("time", "last")
        # Keys come in the order of their groups, then of their codes.
        order = np.lexsort((first, key, group))
        acted = order >= events.num_rows
        self._check(key[order], first[order], last[order], acted)
        begins, ends = self._runs(key[order], first[order], acted)
        begun = order[begins]
        of_events = self._combiner.actions_of(begun, begun + ends - begins, events)
        rows = np.concatenate((begun, np.arange(events.num_rows, len(order))))
        in_order = np.lexsort((first[rows], key[rows], group[rows]))
        every = np.concatenate((of_events, _bytes(actions.column("action"))))[in_order]
        rows = rows[in_order]
        numbers = self._numbers(key[rows], first[rows], every.view(self._shape.dtype)[:, 0])
        return Acts(key[rows], group[rows], first[rows], numbers)

    def _numbers(self, key: Ints, time: Ints, actions: NDArray[Any]) -> Numbers:
        """Return the numbers of actions, with the deviations of a key and epoch from one shift."""
        mantissas = np.ascontiguousarray(actions["mantissas"])
        powers = np.where(np.isfinite(mantissas), actions["powers"].astype(np.float64), BEYOND)
        by: dict[int, NDArray[np.float64]] = {}
        first = self._shape.first_number
        for place, turn, cells in self._shape.spreads:
            if place not in by:
                by[place] = self._less(place, key, time, actions["shifts"][:, place])
            parts = [slice(first[cell], first[cell + 1]) for cell in cells]
            sums = [_extended(mantissas[:, part], powers[:, part]) for part in parts]
            for part, moved in zip(parts, moved_by(by[place][turn][:, None], *sums), strict=False):
                mantissas[:, part], powers[:, part] = _engine_numbers(*moved)
        return Numbers(mantissas, powers, np.ascontiguousarray(actions["ranks"]))

    def _less(
        self, place: int, key: Ints, time: Ints, shift: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return [turn, action] the shifts of actions minus those of epochs."""
        rows = Rows(
            cells=self._shifts.cells(place, key),
            times=time,
            values=np.ascontiguousarray(shift),
            present=(~np.isnan(shift)).view(np.uint8),
        )
        return np.array(self._shifts.deviations(rows, self._unit.squared[place].window))

    def _runs(self, key: Ints, first: Ints, acted: NDArray[np.bool_]) -> tuple[Ints, Ints]:
        """Return where runs of consecutive events of one key and pane begin and end."""
        fresh = np.ones(len(key), np.bool_)
        panes = pane_numbers(self._unit, first)
        fresh[1:] = acted[1:] | acted[:-1] | (key[1:] != key[:-1]) | (panes[1:] != panes[:-1])
        begins = np.flatnonzero(fresh)
        ends = np.append(begins, len(key))[1:]
        of_events = ~acted[begins]
        return begins[of_events], ends[of_events]

    def _check(self, key: Ints, first: Ints, last: Ints, acts: NDArray[np.bool_]) -> None:
        """Raise CannotFoldError if the events of an action overlap in time with others."""
        if not len(key):
            return
        keys, lasts, before = key, last, acts
        if self._after is not None:
            keys = np.concatenate(([self._after[0]], key))
            lasts = np.concatenate(([self._after[1]], last))
            first = np.concatenate(([self._after[1]], first))
            before = np.concatenate(([True], acts))
        touching = (keys[1:] == keys[:-1]) & (first[1:] <= lasts[:-1]) & (before[1:] | before[:-1])
        if touching.any():
            raise CannotFoldError(
                "Events were combined whose times overlap: the statistics of a file do not say "
                "what it holds, or files have changed since the run began. Write the files again, "
                "or run without combining (combine: never)."
            )
        self._after = (int(key[-1]), int(last[-1]))

    def _states(
        self, window: Window | None, acts: Acts, carried: States
    ) -> tuple[States, NDArray[np.int64]]:
        """Return windows that were open or contain actions, and their actions: [first, end).

        For each action, the windows of its key of which it is the first, or the last, action are
        consecutive: both lists are the windows in order. The windows that were open count as one
        action.
        """
        first = last = np.zeros(len(acts.time), np.int64)
        if window is not None:  # the last window is less than the first if none contains a time
            first, last = window.first(acts.time), window.last(acts.time)
        keys, groups, opened = acts.key, acts.group, int(len(carried.key) > 0)
        if opened:
            keys = np.append(carried.key[0], keys)
            groups = np.append(carried.group[0], groups)
            first = np.append(carried.window[0], first)
            last = np.append(carried.window[-1], last)
        start, stop = first.copy(), last + 1
        same = keys[1:] == keys[:-1]
        np.maximum(first[1:], last[:-1] + 1, out=start[1:], where=same)
        np.minimum(last[:-1] + 1, first[1:], out=stop[:-1], where=same)
        begun, ended = np.maximum(last + 1 - start, 0), np.maximum(stop - first, 0)
        places = np.arange(len(keys))
        act = np.repeat(places, begun)
        index = np.arange(len(act)) + np.repeat(start - (np.cumsum(begun) - begun), begun)
        spans = np.stack((act, np.repeat(places + 1, ended)), axis=1) - opened
        np.maximum(spans, 0, out=spans)
        shape, count = self._shape, len(carried.key)
        numbers = np.zeros((len(act), shape.cells))
        numbers[:, shape.seeds] = 1.0
        powers = np.zeros(numbers.shape)
        least = np.full((len(act), shape.extremes), FOREVER)
        numbers[:count], powers[:count] = carried.numbers, carried.powers
        least[:count] = carried.least
        return States(keys[act], groups[act], index, numbers, powers, least), spans

    def _totals(self, window: Window | None, states: States) -> list[pa.RecordBatch]:
        """Return the totals of queries in windows that have ended and contain trends."""
        unit, count = self._unit, len(states.key)
        queries = [
            n for n, template in enumerate(unit.templates) if template.query.window == window
        ]
        if not count or not queries:
            return []
        schema = totals_fields(unit, exact=False)
        known: dict[object, dict[str, NDArray[Any]]] = {}  # by the ends of queries
        for ends in (unit.merged.ends[query] for query in queries):
            if ends not in known:
                known[ends] = self._columns(ends, states, schema)
        of_queries = [known[unit.merged.ends[query]] for query in queries]
        rows = [len(columns["cell0"]) for columns in of_queries]
        arrays = [to_arrow(np.repeat(np.array(queries, np.int32), rows))]
        for entry in schema:
            if entry.name != "query":
                every = np.concatenate([columns[entry.name] for columns in of_queries])
                arrays.append(to_arrow(every.astype(entry.type.to_pandas_dtype())))
        return [pa.RecordBatch.from_arrays(arrays, schema=schema)]

    def _columns(
        self, ends: QueryEnds, states: States, schema: pa.Schema
    ) -> dict[str, NDArray[Any]]:
        """Return the totals of windows that contain trends of a query."""
        shape = self._shape
        linear = [ints([shape.first_cell[node] + n for node, n in left]) for left in ends.linear]
        ended = linear if ends.pairs else linear[:1]
        there = np.zeros(len(states.key), np.bool_)
        for cell in np.concatenate(ended):
            there |= states.numbers[:, cell] != 0.0
        rows = np.flatnonzero(there)
        columns: dict[str, NDArray[Any]] = {name: np.zeros(len(rows)) for name in schema.names}
        columns |= {name: np.full(len(rows), FOREVER) for name in schema.names if "extreme" in name}
        columns |= {"window": states.window[rows], "group": states.group[rows]}
        of_query = np.full(len(rows), self._unit.merged.ends.index(ends))
        shifts = self._shifts.columns(of_query, states.key[rows], states.window[rows])
        columns |= {f"shift{place}": column for place, column in enumerate(shifts)}
        sums = [_added_up(states, rows, cells) for cells in linear]
        if ends.pairs:
            counts = zip(*(_engine_numbers(*count) for count in sums), strict=True)
            total = np.zeros((2, len(rows)))
            pairs_of_rows(*map(np.stack, counts), *total)
            sums = [_extended(*total)]
        for field, number in enumerate(sums):
            columns[f"cell{field}"], columns[f"power{field}"] = number
        for field, places in enumerate(ends.extremes):
            extremes = ints([shape.first_extreme[node] + n for node, n in places])
            if len(extremes):
                columns[f"extreme{field}"] = states.least[rows[:, None], extremes].min(axis=1)
        if ends.pairs:
            some = columns["cell0"] != 0.0
            return {name: column[some] for name, column in columns.items()}
        return columns


class TrendPanes:
    """Combining the events of panes to actions, and applying these to windows."""

    def __init__(self, unit: TrendUnit) -> None:
        self._unit = unit
        self._shape = ActionShape(unit)

    @property
    def size(self) -> ActionSize:
        """The numbers on which the cost of an action depends."""
        merged = self._unit.merged
        touched: Counter[str] = Counter()
        for node in merged.nodes:
            for name in {edge.type for edge in node.edges}:
                touched[name] += len(node.linear) + len(node.extremes)
        return ActionSize(
            rows=self._shape.rows,
            open_windows=sum(map(overlap_of, merged.windows)),
            sums=self._shape.cells + self._shape.extremes,
            touched=max(touched.values(), default=0),
            bytes=self._shape.dtype.itemsize,
        )

    def numbers(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the pane of each time; 0 if no query has windows."""
        return pane_numbers(self._unit, times)

    def combiner(self, *, ordered: bool) -> Combiner:
        """Return the computation of actions."""
        return Actions(self._shape, ordered=ordered)

    def folder(self, *, ordered: bool, last_time: int | None = None) -> Folder:
        """Return the application of actions to windows."""
        return Fold(self._shape, ordered=ordered, last_time=last_time)


def _added_up(states: States, rows: Ints, cells: Ints) -> Extended:
    """Return the sum of some cells in each row."""
    total: Extended = np.zeros(len(rows)), np.zeros(len(rows), np.int32)
    for cell in cells:
        total = added(*total, *_extended(states.numbers[rows, cell], states.powers[rows, cell]))
    return total


def _extended(mantissas: Doubles, powers: Doubles) -> Extended:
    """Return numbers of the engine as those of `elsinore.numeric`."""
    return normal(mantissas, LIMBS * powers.astype(np.int64))


def _engine_numbers(mantissas: Doubles, exponents: Codes) -> tuple[Doubles, Doubles]:
    """Return numbers of `elsinore.numeric` as the engine's."""
    powers, odd = np.divmod(exponents, LIMBS)
    return np.ldexp(mantissas, LIMB_BITS * odd), powers.astype(np.float64)


def _whole_moments(events: pa.RecordBatch, actions: pa.RecordBatch) -> int:
    """Return the number of events whose moment is complete."""
    rows: int = events.num_rows
    if not rows:
        return 0
    columns = [to_numpy(events.column(name)) for name in ("group", "key", "time")]
    final = tuple(int(column[-1]) for column in columns)
    if actions.num_rows:
        after = tuple(int(actions.column(n)[-1].as_py()) for n in ("group", "key", "time"))
        if after > final:
            return rows
    same = np.ones(rows, np.bool_)
    for column, value in zip(columns, final, strict=True):
        same &= column == value
    return rows - int(np.count_nonzero(same))


def _bytes(column: pa.Array) -> NDArray[np.uint8]:
    """Return the bytes of actions: [action, byte]."""
    width = column.type.byte_width
    data = np.frombuffer(column.buffers()[1] or b"", np.uint8)
    data = data[column.offset * width : (column.offset + len(column)) * width]
    return data.reshape(len(column), width)
