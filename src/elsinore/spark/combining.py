"""Map-side combining: replacing a key's events of a pane by an action before the shuffle.

A task that reads its own row groups knows from the files' statistics at which times no other task
has events. It combines the events of one key and pane at these times into an action
(`elsinore.operators.panes`) if a cost model says that this is cheaper; other events are shuffled
unchanged. The reducing task processes both in time order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.operators import OperatorStatistics, kind_for
from elsinore.operators.panes import KEEPS_ALL, ActionSize, Panes, action_type
from elsinore.operators.ties import TieCounter
from elsinore.plan import Unit
from elsinore.plan.modes import Combine
from elsinore.runtime.columnar import CombinedChunk
from elsinore.runtime.columnar.segments import with_sorted_ties
from elsinore.runtime.travelling import read_columns

Ints = NDArray[np.int64]

# Costs in microseconds of a core; only their ratios matter. Measured on the x86-64 machine
# that the project is developed on, of SEQ(A, B+, C) with COUNT and AVG and of ten such queries with
# all orders of types (7 and 40 sums, 3 and 13 touched by an event; 3 rows): an event on an action
# 0.06 and 0.1, in the operator 0.06 and 0.15, in twelve windows 0.11 and 0.36; folding 0.4 and 1.4
# an action, in twelve windows 1.5 and 6.5.
# The costs of shuffling events and actions are estimates.
SENDING = 0.4  # shuffling and sorting an event
EVENT = 0.04  # an event in the operator, and for each sum that it touches:
STEP = 0.007
WINDOW = 0.0015  # that for each window that is open
ACTING = 0.03  # an event on an action, and for each number that it touches:
NUMBER = 0.0028
ACTION = 2.0  # shuffling an action, and for each of its bytes:
BYTE = 0.002
APPLYING = 0.03  # applying an action to a window, and for each sum and row:
TERM = 0.0055


def least_events(size: ActionSize, mode: Combine, *, unsent_share: float = 1.0) -> int | None:
    """Return the least number of events for which an action is cheaper; None: never.

    `unsent_share` is the share of combined events that are not shuffled, as no other unit reads
    them. With W open windows, S sums of which an event updates T, and R rows of an action, a
    shuffled event costs unsent_share*SENDING + EVENT + T*(STEP + W*WINDOW), a combined one
    ACTING + T*R*NUMBER, and an action ACTION + bytes*BYTE + W*(APPLYING + S*(R - 1)*TERM), in
    microseconds.
    """
    if mode is Combine.NEVER:
        return None
    if mode is Combine.ALWAYS:
        return 1
    windows = size.open_windows
    cost_of_event = unsent_share * SENDING + EVENT + size.touched * (STEP + windows * WINDOW)
    cost_of_combined = ACTING + size.touched * size.rows * NUMBER
    if cost_of_combined >= cost_of_event:
        return None
    action = ACTION + size.bytes * BYTE
    action += windows * (APPLYING + size.sums * (size.rows - 1) * TERM)
    return max(2, math.ceil(action / (cost_of_event - cost_of_combined)))


def panes_of(unit: Unit) -> Panes | str:
    """Return the panes by which a unit's events are combined, or the reason why they cannot be."""
    if unit.keeps_all:
        return KEEPS_ALL
    return kind_for(unit).panes(unit)


def action_fields(size: ActionSize) -> pa.Schema:
    """Return the columns of actions: their first and last times, and their contents."""
    return pa.schema([("time", pa.int64()), ("last", pa.int64()), ("action", action_type(size))])


@dataclass(slots=True, kw_only=True)
class CombineEvents:
    """Combines a chunk's events into actions if a key has at least `least` of them in a pane.

    Only one of the `units` of a pass is combined, by its `number`; events are still sent to the
    other units, without a class for the combined unit. Events at the times `shared` are not
    combined, because other tasks may have events at these times: shared[2n] is the start of the nth
    stretch, shared[2n + 1] its end (exclusive). `orders` are the columns that order simultaneous
    events. `statistics` counts combined events.
    """

    units: tuple[Unit, ...]
    number: int = 0
    least: int
    shared: Ints
    orders: tuple[str, ...]
    statistics: OperatorStatistics = field(init=False)
    _panes: Panes = field(init=False)

    def __post_init__(self) -> None:
        self.statistics = kind_for(self.unit).statistics()
        panes = panes_of(self.unit)
        assert not isinstance(panes, str), panes
        self._panes = panes

    @property
    def unit(self) -> Unit:
        """The unit whose events are combined."""
        return self.units[self.number]

    @property
    def layout(self) -> pa.Schema:
        """The columns of actions."""
        return action_fields(self._panes.size)

    def __call__(self, starts: Ints, events: pa.RecordBatch) -> CombinedChunk:
        """Combine events; rows starts[key] to starts[key + 1] - 1 are a key's, in time order."""
        times = events.column("time").to_numpy()
        if self.orders:
            key_of_row = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
            orders = [events.column(name) for name in self.orders]
            rows = with_sorted_ties(np.arange(len(times)), key_of_row, times, orders)
            events = events.take(pa.array(rows))
        if len(self.units) == 1:
            remaining, key, actions = self._combined(starts, events)
            return CombinedChunk(remaining, _selected_rows(events, remaining), key, actions)
        is_of_unit = events.column(f"class{self.number}").to_numpy() >= 0
        unit_starts = np.concatenate(([0], np.cumsum(is_of_unit)))[starts]
        not_combined, key, actions = self._combined(unit_starts, _selected_rows(events, is_of_unit))
        travels_for_unit = is_of_unit.copy()  # [row] -> whether it is sent for the combined unit
        travels_for_unit[is_of_unit] = not_combined
        remaining = travels_for_unit.copy()
        for number, unit in enumerate(self.units):
            if number != self.number:
                remaining |= unit.keeps_all or events.column(f"class{number}").to_numpy() >= 0
        sent = _selected_rows(events, remaining)
        name = f"class{self.number}"
        place = sent.schema.get_field_index(name)
        classes = np.where(travels_for_unit[remaining], sent.column(place).to_numpy(), -1)
        kind = sent.schema.field(place)
        sent = sent.set_column(place, kind, pa.array(classes, kind.type))
        return CombinedChunk(remaining, sent, key, actions)

    def _combined(
        self, starts: Ints, events: pa.RecordBatch
    ) -> tuple[NDArray[np.bool_], Ints, pa.RecordBatch]:
        """Return the mask of events that are not combined, the actions' keys, and the actions."""
        times = events.column("time").to_numpy()
        begins, ends = self._runs(starts, times)
        batch = pa.RecordBatch.from_pydict(
            {
                "time": events.column("time"),
                "class": events.column(f"class{self.number}").cast(pa.int64()),
            }
            | read_columns(self.units, events, self.unit)
        )
        acts = self._panes.combiner(ordered=bool(self.orders)).actions_of(begins, ends, batch)
        combined = int((ends - begins).sum())
        remaining = np.zeros(len(times), np.bool_)
        if combined < len(times):  # rows between the runs
            edges = np.concatenate(([0], np.stack((begins, ends), axis=1).ravel(), [len(times)]))
            remaining = np.repeat(np.arange(len(edges) - 1) % 2 == 0, np.diff(edges))
        self.statistics.events += combined
        self.statistics.matched += combined
        self.statistics.combined += combined
        if combined and not self.orders:
            self.statistics.tied += self._tied(starts, batch, ~remaining)
        column = pa.Array.from_buffers(
            action_type(self._panes.size), len(acts), [None, pa.py_buffer(acts)]
        )
        actions = pa.RecordBatch.from_arrays(
            [pa.array(times[begins]), pa.array(times[ends - 1]), column], schema=self.layout
        )
        return remaining, np.searchsorted(starts, begins, side="right") - 1, actions

    def _tied(self, starts: Ints, batch: pa.RecordBatch, combined: NDArray[np.bool_]) -> int:
        """Return the number of combined events that are simultaneous with another of their key."""
        keys = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
        columns = {"key": pa.array(keys), "time": batch["time"], "class": batch["class"]}
        ties = TieCounter(self.unit)
        ties.add(pa.RecordBatch.from_pydict(columns).filter(pa.array(combined)))
        return ties.total()

    def _runs(self, starts: Ints, times: Ints) -> tuple[Ints, Ints]:
        """Return the begins and ends of runs of rows to combine."""
        if not len(times):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        panes = self._panes.numbers(times)
        is_start = np.zeros(len(times), np.bool_)
        np.not_equal(panes[1:], panes[:-1], out=is_start[1:])
        first_rows = starts[:-1]
        is_start[first_rows[first_rows < len(times)]] = True  # a key may have none
        among = np.searchsorted(self.shared, (times.min(), times.max()), side="right")
        stretch = None
        if among[0] < among[1]:
            stretch = np.searchsorted(self.shared, times, side="right")
            is_start[1:] |= stretch[1:] != stretch[:-1]
        begins = np.flatnonzero(is_start)
        ends = np.append(begins[1:], len(times))
        chosen = ends - begins >= self.least
        if stretch is not None:
            chosen &= stretch[begins] % 2 == 0
        elif among[0] % 2:
            chosen[:] = False
        return begins[chosen], ends[chosen]


def _selected_rows(events: pa.RecordBatch, mask: NDArray[np.bool_]) -> pa.RecordBatch:
    """Return the selected events, without a copy if all or none are."""
    if mask.all():
        return events
    return events.filter(pa.array(mask)) if mask.any() else events.slice(0, 0)


def shared_times(ranges: list[tuple[int, int]]) -> Ints:
    """Return the times in more than one of the ranges (first, last), as disjoint stretches.

    >>> shared_times([(0, 5), (5, 9), (20, 30), (7, 8)]).tolist()
    [5, 6, 7, 9]
    """
    if not ranges:
        return np.zeros(0, np.int64)
    bounds = np.array(ranges, np.int64)
    edges = np.concatenate((bounds[:, 0], bounds[:, 1] + 1))
    steps = np.repeat([1, -1], len(ranges))
    places, inverse = np.unique(edges, return_inverse=True)
    depth = np.cumsum(np.bincount(inverse, weights=steps)).astype(np.int64)
    several = depth > 1
    changes = np.diff(several, prepend=False)
    return np.asarray(places[changes], dtype=np.int64)


def share_outside(ranges: list[tuple[int, int]], rows: list[int], shared: Ints) -> float:
    """Return the share of rows outside of shared times, if times in each range are uniform."""
    begins, ends = shared[::2], shared[1::2]
    total = 0.0
    for (first, last), count in zip(ranges, rows, strict=True):
        overlaps = np.minimum(ends, last + 1) - np.maximum(begins, first)
        total += count * (1.0 - float(np.maximum(overlaps, 0).sum()) / (last + 1 - first))
    return total / max(1, sum(rows))
