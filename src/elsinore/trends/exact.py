"""Trends in integers of any size: EXACT.

The same sums as `elsinore.trends.core`, in Python's integers and fractions. A count has a digit
for every three events or so: what that costs is the price of exactness. The kernels run uncompiled
take 10 to 17 times as long for an event, before their numbers are any but doubles: they are written
for words in arenas, which is what Python is slowest at. So here updates are taken from `updates`,
and what is shared with the kernels ends there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.errors import InputError, StateError
from elsinore.numeric.exact import Number, decode, encode, simple
from elsinore.operators.slots import KeySlots
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import FieldKind
from elsinore.plan.merged import Place
from elsinore.trends.columns import order_columns, out_of_order, slots_of, with_slots
from elsinore.trends.core.addends import NOTHING, ONE, VALUE
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.core.pairs import exact_pairs
from elsinore.trends.saved import pack, unpack
from elsinore.trends.statistics import TrendStatistics
from elsinore.trends.updates import Update, Updates


@dataclass(slots=True)
class OpenWindow:
    """What a key has in one window: sums by (node, number), and ranks of extremes likewise."""

    cells: dict[Place, Number] = field(default_factory=dict)
    extremes: dict[Place, int] = field(default_factory=dict)


@dataclass(slots=True)
class KeyState:
    """What is known of one key.

    Windows are found by kind and index; `pending` are the additions of the present moment, and
    `emptied` the nodes that it empties before.
    """

    group: int
    time: int
    windows: dict[tuple[int, int], OpenWindow] = field(default_factory=dict)
    pending: list[tuple[tuple[int, int], OpenWindow]] = field(default_factory=list)
    emptied: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Total:
    """Sums over the closed windows of a (query, group, window)."""

    cells: list[Number]
    extremes: list[int]


class ExactTrends:
    """Aggregates all trends of a unit's queries exactly; the contract is `TrendOperator`'s.

    `sum:<name>` columns have the attributes' own types. Totals have `digits<f>` in place of cells:
    whole numbers, or numerator/denominator.
    """

    def __init__(self, unit: TrendUnit, *, one_slot: bool = False, ordered: bool = False) -> None:
        self.unit = unit
        self.statistics = TrendStatistics()
        self._one_slot = one_slot
        self._ordered = ordered
        self._updates = Updates(unit)
        kinds = self._updates.kind_of
        self._seeds: dict[int, list[int]] = {kind: [] for kind in kinds}
        for seed in unit.merged.seeds:
            self._seeds[kinds[seed]].append(seed)
        self._effects: dict[int, tuple[list[Update], list[int]]] = {}
        self._keys: dict[int, KeyState] = {}
        self._totals: dict[tuple[int, int, int], Total] = {}

    @property
    def open_group(self) -> int:
        """The group of the key that goes on, with `one_slot`; -1 where there is none yet."""
        return next((state.group for state in self._keys.values()), -1)

    def process(self, batch: pa.RecordBatch, slots: KeySlots | None = None) -> pa.RecordBatch:
        """Take a batch; return totals that are final already (with `one_slot`), else none.

        slots: of keys; None: a key is its own slot. Raises InputError where a key's
        rows are not in time order, or for an infinite addend.
        """
        batch = batch if slots is None else with_slots(batch, slots_of(batch, slots))
        columns = [batch.column(name).to_pylist() for name in ("key", "group", "time", "class")]
        addends = [
            (batch.column(f"sum:{name}").to_pylist(), 2 if kind is FieldKind.SQUARE else 1)
            for kind, name in self.unit.addends
        ]
        orders, ordered = order_columns(self.unit, batch)
        ranked = [
            [rank if known else None for rank, known in zip(*column, strict=True)]
            for column in zip(orders.tolist(), ordered.tolist(), strict=True)
        ]
        self.statistics.events += batch.num_rows
        group = -1
        for row, (key, group, time, code) in enumerate(zip(*columns, strict=True)):
            updates, resets = self._effects_of(code) if code >= 0 else ([], [])
            if not updates and not resets:
                continue
            self.statistics.matched += 1
            state = self._keys.get(key)
            if state is None:
                if self._one_slot:
                    self._close_keys(None)
                state = self._keys[key] = KeyState(group, time)
            if time < state.time:
                raise out_of_order(time)
            if time > state.time or self._ordered:
                _settle(state)
                self._close_key(state, time)
                state.time = time
            values = [_powered(column[row], power) for column, power in addends]
            ranks = [column[row] for column in ranked]
            for node in resets:
                if self.unit.merged.nodes[node].seed:
                    self._open(state, self._updates.kind_of[node], time)
            state.emptied.update(resets)
            for update in updates:
                self._apply(state, update, time, values, ranks)
        if self._one_slot:
            return self._take(lambda _, of_group, __: of_group != group)
        return self._take(lambda _, __, ___: False)

    def close(self, until: int | None = None) -> pa.RecordBatch:
        """Return the totals of all windows that end at or before `until`; None: of all windows."""
        self._close_keys(until)

        def ended(query: int, _: int, index: int) -> bool:
            window = self.unit.templates[query].query.window
            return until is None or (window is not None and window.bounds(index)[1] <= until)

        return self._take(ended)

    def deadline(self) -> int | None:
        """Return the end of the first window of which there is something to give out."""
        open_windows = {found for state in self._keys.values() for found in state.windows}
        found = [(self._updates.windows[kind], index) for kind, index in open_windows]
        found += [
            (self.unit.templates[query].query.window, index) for query, _, index in self._totals
        ]
        ends = (window.bounds(index)[1] for window, index in found if window is not None)
        return min(ends, default=None)

    def forget(self, slots: NDArray[np.int64]) -> None:
        """Make slots ready for other keys; nothing of their keys is open."""
        for slot in slots.tolist():
            self._keys.pop(slot, None)

    def save(self) -> bytes:
        """Return all that is needed to go on later as if never stopped."""
        told = {
            "modes": [self._one_slot, self._ordered],
            "statistics": [getattr(self.statistics, name) for name in _STATISTICS],
            "keys": [
                [
                    key,
                    state.group,
                    state.time,
                    [_told(found, window) for found, window in state.windows.items()],
                    [_told(found, added) for found, added in state.pending],
                    sorted(state.emptied),
                ]
                for key, state in self._keys.items()
            ],
            "totals": [
                [*place, [encode(cell) for cell in total.cells], total.extremes]
                for place, total in self._totals.items()
            ],
        }
        text = np.frombuffer(json.dumps(told).encode(), dtype=np.uint8)
        return pack(self.unit.fingerprint, {"exact": text})

    @classmethod
    def load(cls, unit: TrendUnit, blob: bytes) -> ExactTrends:
        """Return the operator that `save` made the bytes of.

        Raises StateError where the bytes are damaged or of another version or workload.
        """
        arrays = unpack(unit.fingerprint, blob)
        if "exact" not in arrays:
            raise StateError("The saved state is not of an EXACT run: run without EXACT.")
        told = json.loads(arrays["exact"].tobytes())
        one_slot, ordered = told["modes"]
        operator = cls(unit, one_slot=one_slot, ordered=ordered)
        for name, value in zip(_STATISTICS, told["statistics"], strict=True):
            setattr(operator.statistics, name, value)
        for key, group, time, windows, pending, emptied in told["keys"]:
            operator._keys[key] = KeyState(
                group, time, dict(map(_heard, windows)), list(map(_heard, pending)), set(emptied)
            )
        for query, group, index, cells, extremes in told["totals"]:
            operator._totals[query, group, index] = Total(
                [decode(cell) for cell in cells], extremes
            )
        return operator

    def _effects_of(self, code: int) -> tuple[list[Update], list[int]]:
        """Return what a class of events does to nodes, and which nodes it empties."""
        if code not in self._effects:
            told = self.unit.classes.decode(code)
            self._effects[code] = self._updates.updates(*told), self._updates.resets(*told)
            self.statistics.classes += 1
        return self._effects[code]

    def _windows(self, kind: int, time: int) -> range:
        """Return the indices of all windows of a kind that hold a time."""
        window = self._updates.windows[kind]
        first, last = (0, 0) if window is None else (window.first(time), window.last(time))
        return range(first, last + 1)

    def _open(self, state: KeyState, kind: int, time: int) -> None:
        """Open all windows of a kind that hold a time."""
        for index in self._windows(kind, time):
            if (kind, index) not in state.windows:
                cells: dict[Place, Number] = {(seed, 0): 1 for seed in self._seeds[kind]}
                state.windows[kind, index] = OpenWindow(cells)

    def _apply(
        self,
        state: KeyState,
        update: Update,
        time: int,
        values: list[Number | None],
        ranks: list[int | None],
    ) -> None:
        """Work out what an event adds to one node, in each window open at `time`."""
        kind = self._updates.kind_of[update.node]
        if update.start or self._seeds[kind]:
            self._open(state, kind, time)
        for index in self._windows(kind, time):
            place = state.windows.get((kind, index))
            if place is None:
                continue
            trends = int(update.start) + _add_up(place, update.sums[0].sources)
            if not trends:
                continue
            added = OpenWindow({(update.node, 0): trends})
            for number, part in enumerate(update.sums[1:], start=1):
                own: Number | None = None
                if part.contribution == ONE:
                    own = 1
                elif part.contribution != NOTHING:
                    own = values[(part.contribution - VALUE) >> 1]
                    own = 1 if own is not None and part.contribution & 1 else own
                before = _add_up(place, part.sources)
                added.cells[update.node, number] = before + trends * (own or 0)
            for number, extreme in enumerate(update.extremes):
                found = [
                    place.extremes[source, at]
                    for source, at in extreme.sources
                    if at is not None and (source, at) in place.extremes
                ]
                rank = ranks[extreme.attribute >> 1] if extreme.attribute >= 0 else None
                if rank is not None:
                    found.append(~rank if extreme.attribute & 1 else rank)
                if found:
                    added.extremes[update.node, number] = min(found)
            state.pending.append(((kind, index), added))

    def _close_keys(self, until: int | None) -> None:
        for key, state in list(self._keys.items()):
            if until is None or state.time < until:  # else the moment may not be over
                _settle(state)
            self._close_key(state, until)
            if until is None or not state.windows:
                del self._keys[key]

    def _close_key(self, state: KeyState, until: int | None) -> None:
        """Add a key's windows that end at or before `until` to its group's totals."""
        for (kind, index), place in list(state.windows.items()):
            window = self._updates.windows[kind]
            if until is not None and (window is None or window.bounds(index)[1] > until):
                continue
            del state.windows[kind, index]
            for query, ends in enumerate(self.unit.merged.ends):
                if self.unit.templates[query].query.window != window:
                    continue
                cells = [_add_up(place, places) for places in ends.linear]
                if ends.pairs:
                    one, other, both = map(int, cells)
                    cells = [exact_pairs(one - both, other - both, both)]
                if not cells[0]:
                    continue
                total = self._totals.setdefault(
                    (query, state.group, index),
                    Total([0] * len(cells), [_NOTHING] * len(ends.extremes)),
                )
                for field_number, number in enumerate(cells):
                    total.cells[field_number] += number
                for field_number, places in enumerate(ends.extremes):
                    found = [place.extremes[at] for at in places if at in place.extremes]
                    total.extremes[field_number] = min([*found, total.extremes[field_number]])

    def _take(self, chosen: Callable[[int, int, int], bool]) -> pa.RecordBatch:
        """Remove the totals chosen by (query, group, window) and return them."""
        places = [place for place in self._totals if chosen(*place)]
        totals = [self._totals.pop(place) for place in places]
        self.statistics.totals += len(places)
        columns: list[pa.Array] = [
            pa.array([query for query, _, _ in places], pa.int32()),
            pa.array([group for _, group, _ in places], pa.int32()),
            pa.array([window for _, _, window in places], pa.int64()),
        ]
        names = ["query", "group", "window"]
        for f in range(max(len(one.aggregation.linear) for one in self.unit.templates)):
            names.append(f"digits{f}")
            digits = [encode(total.cells[f]) if f < len(total.cells) else "0x0" for total in totals]
            columns.append(pa.array(digits, pa.string()))
        for x in range(max(len(one.aggregation.extremes) for one in self.unit.templates)):
            names.append(f"extreme{x}")
            ranks = [total.extremes[x] if x < len(total.extremes) else _NOTHING for total in totals]
            columns.append(pa.array(ranks, pa.int64()))
        return pa.RecordBatch.from_arrays(columns, names=names)


_NOTHING = int(FOREVER)
_STATISTICS = ("events", "matched", "classes", "totals", "state_bytes")


def _add_up(window: OpenWindow, places: Sequence[Place]) -> Number:
    return sum(window.cells.get(place, 0) for place in places)


def _told(found: tuple[int, int], window: OpenWindow) -> list[object]:
    """Return a window, or what is added to it, in lists; `_heard` makes it of them again."""
    return [
        *found,
        [[*place, encode(cell)] for place, cell in window.cells.items()],
        [[*place, rank] for place, rank in window.extremes.items()],
    ]


def _heard(told: list[Any]) -> tuple[tuple[int, int], OpenWindow]:
    kind, index, cells, extremes = told
    window = OpenWindow(
        {(node, number): decode(cell) for node, number, cell in cells},
        {(node, number): rank for node, number, rank in extremes},
    )
    return (kind, index), window


def _settle(state: KeyState) -> None:
    """Let the additions of a moment that is over take effect."""
    if state.emptied:
        for window in state.windows.values():
            for numbers in (window.cells, window.extremes):
                for place in [place for place in numbers if place[0] in state.emptied]:
                    del numbers[place]
        state.emptied.clear()
    for found, added in state.pending:
        window = state.windows[found]
        for place, number in added.cells.items():
            window.cells[place] = window.cells.get(place, 0) + number
        for place, rank in added.extremes.items():
            window.extremes[place] = min(window.extremes.get(place, rank), rank)
    state.pending.clear()


def _powered(value: object, power: int) -> Number | None:
    """Return a value, or its square: the shift of deviations is 0 where nothing is rounded."""
    number = exact_number(value)
    return None if number is None else number**power


def exact_number(value: object) -> Number | None:
    """Return a value as an exact number; None for null and NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float | Decimal):
        try:
            return simple(Fraction(value))
        except OverflowError:
            raise InputError(
                f"EXACT cannot add up the value {value}: it is not finite. Filter such events out."
            ) from None
    raise InputError(f"EXACT cannot add up the value {value!r}.")
