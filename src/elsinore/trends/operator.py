"""The trend operator: ordered Arrow batches in, totals of closed windows out (DESIGN 4)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.plan import Unit
from elsinore.trends import kernels
from elsinore.trends.kernels import FOREVER, UNKNOWN, Program, State, Totals
from elsinore.trends.partials import totals_batch
from elsinore.trends.program import Layout, Update, assemble, tangled
from elsinore.trends.state import (
    copy_rows,
    grown_totals,
    new_state,
    new_totals,
    pack,
    size_of,
    unpack,
)
from elsinore.trends.statistics import OperatorStatistics

TABLE_LIMIT = 2**22  # so many classes are looked up in a table; more are found by sorting
FIRST_ROWS = 64  # rows of totals to begin with


class TrendOperator:
    """Aggregates all trends of a unit's queries, coarse granularity (COGRA; HAMLET, Section 3.2).

    A batch has the columns `key` and `group` (int32 codes; a key has one group), `time` (int64,
    microseconds), `class` (int64, see `elsinore.plan.classes`; below 0: of no interest), and of
    each attribute its double `sum:<name>` or its order-keeping integer `rank:<name>`. Each key's
    rows are in time order.

    `one_slot`: keys come one after another, those of a group together, and never again; memory
    is then one key's, and totals are given out as groups end. `ordered`: no key has two events of
    one time, or those are in an order of their own: each event is a moment.
    """

    def __init__(self, unit: Unit, *, one_slot: bool = False, ordered: bool = False) -> None:
        self.unit = unit
        self.statistics = OperatorStatistics()
        self._one_slot = one_slot
        self._layout = Layout(unit)
        self._updates: list[list[Update]] = []  # [class]
        self._compiled: list[int] = []  # [class] -> its code
        self._places: dict[int, int] = {}  # code -> place in `_known`, where codes are too many
        self._ordered = ordered
        self._remember = not ordered
        self._known = np.full(min(unit.classes.size, TABLE_LIMIT) + 1, UNKNOWN, dtype=np.int32)
        self._program: Program = assemble(self._layout, [])
        self._state: State = new_state(self._layout, 1, exponents=False, moments=self._remember)
        self._totals: Totals = new_totals(self._layout, FIRST_ROWS)
        self._counters = np.zeros(1, dtype=np.int64)

    @property
    def open_group(self) -> int:
        """The group of the key that goes on, with `one_slot`; -1 where there is none yet."""
        return int(self._state.group[0]) if self._state.key[0] >= 0 else -1

    @staticmethod
    def bytes_per_key(unit: Unit) -> int:
        """Return how much memory each key takes, but with `one_slot`."""
        layout = Layout(unit)
        cells = 2 * (layout.cells + layout.extremes)
        return 8 * (cells + len(layout.merged.nodes) + layout.open_lanes)

    def process(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Take a batch; return totals that are final already (with `one_slot`), else none.

        Raises InputError where a key's rows are not in time order.
        """
        keys = _codes(batch, "key")
        groups = _codes(batch, "group")
        times = _ints(batch, "time")
        self.statistics.events += len(keys)
        if len(keys) == 0:
            return self._take(np.zeros(self._totals.count[0], dtype=np.bool_))
        codes = self._codes(_ints(batch, "class"))
        values, present = _matrix(batch, "sum:", self.unit.summed, np.float64)
        orders, ordered = _matrix(batch, "rank:", self.unit.ranked, np.int64)
        if not self._one_slot:
            self._need_slots(int(keys.max()) + 1)
        event = 0
        while True:
            how, event = kernels.run(
                self._program,
                self._state,
                self._totals,
                event,
                times,
                keys,
                codes,
                self._known,
                values,
                present,
                orders,
                ordered,
                groups,
                self._one_slot,
                self._remember,
                not self._ordered,
                self._layout.most_closed,
                self._counters,
            )
            if how == kernels.DONE:
                break
            if how == kernels.COMPILE:
                self._compile(int(codes[event]))
            elif how == kernels.GROW:
                self._grow_totals()
            elif how == kernels.EXPONENTS:
                self._give_exponents()
            else:
                raise InputError(
                    f"Events of a key are out of time order: time {times[event]} came after a "
                    "later one. Sort the input by time."
                )
        self.statistics.matched = int(self._counters[0])
        self._measure()
        if self._one_slot:
            done = self._totals.group[: self._totals.count[0]] != self._state.group[0]
            return self._take(done)
        return self._take(np.zeros(self._totals.count[0], dtype=np.bool_))

    def close(self, until: int | None = None) -> pa.RecordBatch:
        """Return the totals of all windows that end at or before `until`; None: of all windows."""
        time = FOREVER if until is None else np.int64(until)
        slot = 0
        while slot < len(self._state.key):
            slot = kernels.close_until(
                self._program, self._state, self._totals, slot, time, self._layout.most_closed
            )
            if slot < len(self._state.key):
                self._grow_totals()
        self._measure()
        count = int(self._totals.count[0])
        if until is None:
            return self._take(np.ones(count, dtype=np.bool_))
        kinds = np.array(self._layout.window_of)[self._totals.query[:count]]
        within = self._program.within[kinds]
        starts = (
            self._program.origin[kinds] + self._program.step[kinds] * self._totals.window[:count]
        )
        ended = within != FOREVER
        ended[ended] = starts[ended] + within[ended] <= time
        return self._take(ended)

    def _codes(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return codes that index the table of known classes.

        Where there are more classes than a table should have rows, those that occur are numbered
        anew, by sorting.
        """
        if self.unit.classes.size <= TABLE_LIMIT:
            return codes
        unique, inverse = np.unique(codes, return_inverse=True)
        for code in unique[unique >= 0].tolist():
            if code not in self._places:
                self._places[code] = len(self._places)
        if len(self._places) > len(self._known):
            more = np.full(2 * len(self._places) - len(self._known), UNKNOWN, dtype=np.int32)
            self._known = np.concatenate((self._known, more))
        places = [self._places[code] if code >= 0 else -1 for code in unique.tolist()]
        return np.array(places, dtype=np.int64)[inverse]

    def _compile(self, place: int) -> None:
        """Compile the class at a place of the table of known classes."""
        code = place
        if self.unit.classes.size > TABLE_LIMIT:
            code = next(code for code, number in self._places.items() if number == place)
        updates = self._layout.updates(*self.unit.classes.decode(code))
        self._known[place] = -1
        if updates:
            self._known[place] = len(self._updates)
            self._updates.append(updates)
            self._compiled.append(code)
            self._program = assemble(self._layout, self._updates)
            if not self._remember and tangled(updates):
                self._remember_moments()
        self.statistics.classes += 1

    def save(self) -> bytes:
        """Return all that is needed to go on later as if never stopped."""
        arrays = {f"state.{name}": rows for name, rows in self._state._asdict().items()}
        arrays |= {f"totals.{name}": rows for name, rows in self._totals._asdict().items()}
        arrays |= {
            "codes": np.array(self._compiled, dtype=np.int64),
            "counters": self._counters,
            "modes": np.array([self._one_slot, self._ordered]),
            "statistics": np.array([self.statistics.events, self.statistics.totals]),
        }
        return pack(self.unit.fingerprint, arrays)

    @classmethod
    def load(cls, unit: Unit, blob: bytes) -> TrendOperator:
        """Return the operator that `save` made the bytes of.

        Raises StateError where the bytes are damaged or of another version or workload.
        """
        arrays = unpack(unit.fingerprint, blob)
        one_slot, ordered = arrays["modes"].tolist()
        operator = cls(unit, one_slot=one_slot, ordered=ordered)
        for place in operator._codes(arrays["codes"]).tolist():
            operator._compile(place)
        operator._state = State(*(arrays[f"state.{name}"] for name in State._fields))
        operator._totals = Totals(*(arrays[f"totals.{name}"] for name in Totals._fields))
        operator._counters = arrays["counters"]
        operator.statistics.events, operator.statistics.totals = arrays["statistics"].tolist()
        operator.statistics.matched = int(operator._counters[0])
        operator._measure()
        return operator

    def _need_slots(self, slots: int) -> None:
        """Make room for keys up to `slots`, at least doubling what there is."""
        have = len(self._state.key)
        if slots > have:
            self._move_state(max(slots, 2 * have if have > 1 else 1))

    def _give_exponents(self) -> None:
        """Make room for exponents: a number has passed 2**384."""
        self._move_state(len(self._state.key), exponents=True)

    def _remember_moments(self) -> None:
        """Keep what states were before the present moment from now on."""
        self._remember = True
        self._move_state(len(self._state.key))

    def _move_state(self, slots: int, *, exponents: bool = False) -> None:
        exponents = exponents or len(self._state.powers) > 0
        state = new_state(self._layout, slots, exponents=exponents, moments=self._remember)
        copy_rows(self._state, state)
        self._state = state

    def _grow_totals(self) -> None:
        have = len(self._totals.query)
        rows = 2 * have
        while rows < self._totals.count[0] + self._layout.most_closed:
            rows *= 2
        self._totals = grown_totals(self._layout, self._totals, rows)

    def _take(self, chosen: NDArray[np.bool_]) -> pa.RecordBatch:
        """Remove the chosen rows from the totals and return them."""
        batch = totals_batch(self._layout, self._totals, chosen)
        if batch.num_rows:
            keep = ~chosen
            kept = int(keep.sum())
            rest = new_totals(self._layout, len(self._totals.query))
            for name, rows in self._totals._asdict().items():
                if name not in {"table", "count"}:
                    getattr(rest, name)[:kept] = rows[: len(keep)][keep]
            rest.count[0] = kept
            kernels.rebuild_table(rest)
            self._totals = rest
            self.statistics.totals += batch.num_rows
        return batch

    def _measure(self) -> None:
        size = size_of(self._state, self._totals)
        self.statistics.state_bytes = max(self.statistics.state_bytes, size)


def _codes(batch: pa.RecordBatch, name: str) -> NDArray[np.int32]:
    """Return a column of codes, without copying where it is int32 already."""
    return np.ascontiguousarray(batch.column(name).to_numpy(zero_copy_only=False), dtype=np.int32)


def _ints(batch: pa.RecordBatch, name: str) -> NDArray[np.int64]:
    """Return a column of whole numbers, without copying where it is int64 already."""
    return np.ascontiguousarray(batch.column(name).to_numpy(zero_copy_only=False), dtype=np.int64)


def _matrix(
    batch: pa.RecordBatch, prefix: str, names: tuple[str, ...], kind: type[np.generic]
) -> tuple[NDArray[np.generic], NDArray[np.uint8]]:
    """Return columns as rows of one matrix, nulls as 0, and where they are not null."""
    values = np.zeros((len(names), batch.num_rows), dtype=kind)
    present = np.ones((len(names), batch.num_rows), dtype=np.uint8)
    for row, name in enumerate(names):
        column = batch.column(prefix + name)
        if column.null_count:
            present[row] = column.is_valid().to_numpy(zero_copy_only=False)
            column = column.fill_null(0)
        values[row] = column.to_numpy(zero_copy_only=False)
    return values, present
