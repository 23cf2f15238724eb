"""The operator of the trend engine: batches of events in, totals of closed windows out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import SmallBatches, no_rows, numbers_of, to_arrow
from elsinore.numeric.arrays import normal
from elsinore.numeric.sorting import rows_by_code
from elsinore.operators.open_end import WindowEnds
from elsinore.operators.slots import KeySlots, slots_of
from elsinore.plan import Sharing, TrendUnit
from elsinore.saved_states import pack, reading_state, schema_from_bytes, unpack
from elsinore.trends.engine.conditions import ConditionColumns
from elsinore.trends.engine.constants import ALWAYS, DYNAMIC, FOREVER, NO_SHARING, UNKNOWN
from elsinore.trends.engine.process import close, free_slot, process
from elsinore.trends.engine.program import ProgramBuilder, engine_unit
from elsinore.trends.engine.sharing.bursts import SharingCounts
from elsinore.trends.engine.store import Store, bytes_per_slot, load_store, save_store
from elsinore.trends.engine.tables import Batch, no_attributes
from elsinore.trends.engine.windows import rebuild
from elsinore.trends.partials import totals_fields
from elsinore.trends.statistics import SAVED_BY, TrendStatistics
from elsinore.trends.values import (
    Shifts,
    addend_columns,
    great_addends,
    out_of_order,
    rank_columns,
)

CHUNK = 2**16  # events whose columns fit into the processor's cache
AHEAD = 2**14  # events that are searched for new classes
_COUNTED = ("events", "totals", "state_bytes")  # statistics that are saved
_MODES = {Sharing.NEVER: NO_SHARING, Sharing.DYNAMIC: DYNAMIC, Sharing.ALWAYS: ALWAYS}
LIMBS = 2  # powers of `elsinore.numeric` in one of the engine


class EngineOperator:
    """Aggregates all trends of a unit's queries."""

    def __init__(
        self,
        unit: TrendUnit,
        *,
        one_slot: bool = False,
        ordered: bool = False,
        sharing: Sharing = Sharing.DYNAMIC,
        record: bool = False,
    ) -> None:
        self.unit = unit
        self._modes: dict[str, Any] = {  # the arguments
            "one_slot": one_slot,
            "ordered": ordered,
            "record": record,
            "sharing": sharing,
        }
        self._one_slot = one_slot
        self._statistics = TrendStatistics()
        self._read = (
            *(f"sum:{name}" for name in unit.summed),
            *(f"rank:{name}" for name in unit.ranked),
            *(f"pair:{name}" for name in unit.compared),
        )
        self._has_begun = False
        self._compared = pa.schema([])  # the attributes that conditions compare
        self._begin(None)
        self._shifts = Shifts(unit)
        schema = totals_fields(unit, exact=False)
        self._nothing = no_rows(schema)
        self._batches = SmallBatches(schema)
        self._window_ends = WindowEnds([member.query.window for member in unit.members])

    def _begin(self, schema: pa.Schema | None) -> None:
        """Build the program and an empty state for events of a schema; None: before any event.

        Conditions depend on the types of the attributes that they compare.
        """
        prefix, types = "pair:", None
        if schema is not None:
            self._compared = pa.schema([f for f in schema if f.name.startswith(prefix)])
            self._has_begun = True
            if not len(self._compared):  # nothing depends on types
                return
            types = {field.name.removeprefix(prefix): field.type for field in self._compared}
        in_engine = engine_unit(self.unit, types)
        assert in_engine is not None
        self._engine_unit = in_engine
        self._builder = builder = ProgramBuilder.shared(in_engine)
        expressions = () if types is None else tuple(builder.steps.conditions)
        self._conditions = ConditionColumns(
            expressions,
            builder.steps.lists,
            types or {},
            builder.bounds.attributes,
            [(block.order, block.is_falling) for block in builder.layout.blocks],
        )
        modes, shape = self._modes, builder.shape(self._conditions.count)
        self._shared = SharingCounts(self.unit, builder.sharing.sets, record=modes["record"])
        mode = _MODES[modes["sharing"]]
        self._store = Store(shape, modes["ordered"], modes["one_slot"], mode)
        self._store.conditions = self._conditions.conditions
        self._store.anchor_columns = self._conditions.anchor_columns
        self._take_tables()
        if self._one_slot:
            self._store.grow_slots(1)
        self._events = Batch(no_attributes())

    @property
    def statistics(self) -> TrendStatistics:
        """The statistics so far."""
        self._statistics.matched = self._store.matched
        self._statistics.classes = int(np.count_nonzero(self._store.seen))
        self._statistics.state_bytes = max(self._statistics.state_bytes, self._store.nbytes)
        self._statistics.sharing = self._shared.statistics(self._program, self._store)
        return self._statistics

    @staticmethod
    def bytes_per_key(unit: TrendUnit) -> int:
        """Return the memory of each key, without rows of many events."""
        in_engine = engine_unit(unit)
        assert in_engine is not None
        builder = ProgramBuilder.shared(in_engine)
        return bytes_per_slot(builder.shape(len(builder.steps.conditions)))

    @property
    def open_group(self) -> int:
        """With `one_slot`, the group of the current key; -1 before the first one."""
        slot = self._store.per_slot["slots"][0]
        return int(slot["group"]) if slot["key"] >= 0 else -1

    def process(
        self, batch: pa.RecordBatch, slots: KeySlots | None = None, until: int | None = None
    ) -> pa.RecordBatch:
        """Process a batch; with `one_slot`, return the totals that are final.

        slots: of keys; None: a key is its own slot. until: close windows as `close` does. Raises
        InputError if a key's rows are not in time order.
        """
        missing = [name for name in self._read if batch.schema.get_field_index(name) < 0]
        if missing:
            raise ValueError(f"A batch of events has no column {' nor '.join(missing)}.")
        if batch.num_rows:
            self._statistics.events += batch.num_rows
            if not self._has_begun:
                self._begin(batch.schema)
            if self._one_slot and self.unit.squared:  # others are final
                self._shifts.keep(self._shifts.groups == self.open_group)
            for begin in range(0, batch.num_rows, CHUNK):
                self._process_events(self._take_events(batch.slice(begin, CHUNK), slots))
        if until is not None:
            return self.close(until)
        if not self._one_slot:
            return self._nothing
        group = self.open_group
        return self._take(lambda totals: totals["group"] != group)

    def _take_events(self, batch: pa.RecordBatch, slots: KeySlots | None) -> NDArray[np.int64]:
        """Read the columns of a batch, with a slot for each event; return the events' classes."""
        of_keys = numbers_of(batch, "key", np.int32) if slots is None else slots_of(batch, slots)
        if not self._one_slot:
            count = int(of_keys.max(initial=-1)) + 1
            self._store.grow_slots(count)
            if self._store.shape.row_blocks and count > 1:
                # rows of one key stay in the processor's cache
                by_key, _ = rows_by_code(of_keys, count)
                batch, of_keys = batch.take(to_arrow(by_key)), of_keys[by_key]
        columns: dict[str, Any] = {
            "slots": of_keys,
            "keys": numbers_of(batch, "key", np.int32),
            "groups": numbers_of(batch, "group", np.int32),
            "times": numbers_of(batch, "time", np.int64),
            "codes": self._builder.numbers(numbers_of(batch, "class", np.int64)),
        }
        if self._read or self._conditions.count or self._builder.bounds.has_columns:
            columns |= self._attributes(batch, columns["groups"])
        self._events.take(columns)
        codes: NDArray[np.int64] = columns["codes"]
        return codes

    def _attributes(self, batch: pa.RecordBatch, groups: NDArray[np.int32]) -> dict[str, Any]:
        """Return the columns of attributes: addends, and values that conditions compare."""
        addends, present = np.empty((0, len(groups))), np.empty((0, len(groups)), np.uint8)
        if self.unit.addends:
            addends, present = addend_columns(self.unit, batch, groups, self._shifts)
        return {
            "addends": addends,
            "present": present,
            "has_great": great_addends(addends),
            "ranks": rank_columns(self._builder.updates.ranks, batch),
            "values": self._conditions.columns(batch, self._program, self._store),
            **self._builder.bounds.columns(batch, self._conditions.text_codes),
        }

    def _process_events(self, codes: NDArray[np.int64]) -> None:
        """Process all events of a batch; add classes and room when the loop stops for them."""
        store, batch, event = self._store, self._events, 0
        self._shared.make_room(store, len(codes))
        if self._builder.is_numbered:  # classes were numbered anew
            self._take_tables()
        while (event := process(self._program, store, batch, event)) < len(codes):
            if codes[event] >= 0 and self._program.known[codes[event]] == UNKNOWN:
                seen = np.unique(codes[event : event + AHEAD])
                self._builder.add_classes(seen[seen >= 0].tolist())
                self._take_tables()
            elif not self._make_room():
                raise out_of_order(batch.times[event])
        self._conditions.check()

    def _take_tables(self) -> None:
        """Use the tables with the classes that were added since."""
        self._program = self._builder.tables()
        self._store.grow_reads(self._builder.most_reads)
        self._store.grow_classes(len(self._program.classes))

    def _make_room(self, expected: int = 0) -> bool:
        """Make room for totals or for rows of events; return False if there was enough.

        expected: an estimate of the number of totals.
        """
        store = self._store
        if store.needs_rows:
            store.grow_rows(len(store.row_orders) + 1)
            store.needs_rows = False
            return True
        if store.total_count + store.most_totals > len(store.totals):
            store.grow_totals(expected)
            rebuild(store)
            return True
        return False

    def close(self, until: int | None = None) -> pa.RecordBatch:
        """Return the totals of all windows that end at or before `until`; None: of all windows."""
        time = FOREVER if until is None else until
        store, slot = self._store, 0
        self._shared.make_room(store, 0)
        while (slot := close(self._program, store, time, slot)) < len(store.slots):
            self._make_room(store.total_count * len(store.slots) // max(slot, 1))
        if until is None:
            totals = self._take(None)
        else:
            totals = self._take(lambda rows: self._ends(rows) <= time)
        self._shifts.forget(until)
        return totals

    def _ends(self, totals: dict[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Return the times at which the windows of totals end."""
        return self._window_ends.end_times(totals["query"], totals["window"])

    def _take(self, is_chosen: Any) -> pa.RecordBatch:
        """Remove the chosen totals from the store and return them; None: all."""
        store = self._store
        if not store.total_count:
            return self._nothing
        arrays = store.total_arrays()
        chosen = np.ones(store.total_count, np.bool_)
        if is_chosen is not None:
            chosen = is_chosen(arrays["totals"])
            if not chosen.any():
                return self._nothing
        removed = {name: array[chosen] for name, array in arrays.items()}
        store.set_totals({n: array[~chosen] for n, array in arrays.items()}, len(store.totals))
        rebuild(store)
        self._statistics.totals += int(chosen.sum())
        cells, powers = normal(
            removed["total_cells"], LIMBS * removed["total_powers"].astype(np.int64)
        )
        columns: dict[str, NDArray[Any]] = {
            name: removed["totals"][name] for name in ("query", "group", "window")
        }
        for field in range(self.unit.linear):
            columns[f"cell{field}"], columns[f"power{field}"] = cells[:, field], powers[:, field]
        for number in range(self.unit.extremes):
            columns[f"extreme{number}"] = removed["total_extremes"][:, number]
        if self.unit.squared:
            places = (columns[name] for name in ("query", "group", "window"))
            shifts = self._shifts.columns(*map(np.ascontiguousarray, places))
            columns |= {f"shift{k}": row for k, row in enumerate(shifts)}
        return self._batches.of([columns[name] for name in self._batches.schema.names])

    def deadline(self) -> int | None:
        """Return the earliest end of a window that is open or has totals; None without any."""
        arrays = self._store.per_slot
        used = arrays["slots"]["key"] >= 0
        totals = self._store.total_arrays()["totals"]
        of_totals = self._ends(totals)
        ends = [of_totals[of_totals != FOREVER]]
        for kind, window in enumerate(self._engine_unit.merged.windows):
            if window is not None:
                first, last = arrays["first"][:, kind], arrays["last"][:, kind]
                is_open = used & (first <= last)
                ends.append(window.bounds(first[is_open])[1])
        return min((int(some.min()) for some in ends if len(some)), default=None)

    def forget(self, slots: NDArray[np.int64]) -> None:
        """Free slots without open windows for other keys."""
        for slot in slots[slots < len(self._store.slots)].tolist():
            free_slot(self._program, self._store, slot)
        self._store.release(slots[slots < len(self._store.slots)])

    def occupied(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the slots of keys, and the time of each key's last event."""
        slots = self._store.per_slot["slots"]
        used = np.flatnonzero(slots["key"] >= 0)
        return used, slots["time"][used]

    def save(self) -> bytes:
        """Return the state as bytes from which `load` continues."""
        shifted, shifts = self._shifts.saved
        arrays: dict[str, NDArray[Any]] = {
            **{f"store.{name}": a for name, a in save_store(self._program, self._store).items()},
            "modes": np.array([self._modes[name] for name in ("one_slot", "ordered", "record")]),
            "sharing": np.array(self._modes["sharing"].value),
            "shifts": shifts,
            "shifted": shifted,
            "classes": np.array(self._builder.codes(np.flatnonzero(self._store.seen).tolist())),
            "statistics": np.array([getattr(self._statistics, name) for name in _COUNTED]),
            "records": self._shared.saved(self._store),
            "ranked": np.array(self._conditions.save()),
        }
        if self._has_begun:
            arrays["compared"] = np.frombuffer(self._compared.serialize(), dtype=np.uint8)
        return pack(SAVED_BY, self.unit.fingerprint, arrays)

    @classmethod
    @reading_state(SAVED_BY)
    def load(cls, unit: TrendUnit, blob: bytes) -> EngineOperator:
        """Return the operator whose state `save` returned.

        Raises StateError if the bytes are damaged or of another version or workload.
        """
        arrays = unpack(SAVED_BY, unit.fingerprint, blob)
        one_slot, ordered, record = arrays["modes"].tolist()
        sharing = Sharing(str(arrays["sharing"]))
        operator = cls(unit, one_slot=one_slot, ordered=ordered, sharing=sharing, record=record)
        if "compared" in arrays:
            operator._begin(schema_from_bytes(arrays["compared"].tobytes()))
            operator._conditions.load(str(arrays["ranked"]))
        builder, prefix = operator._builder, "store."
        saved = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
        load_store(operator._program, operator._store, saved)
        rebuild(operator._store)
        numbers = builder.numbers(arrays["classes"].astype(np.int64)).tolist()
        builder.add_classes(numbers)
        operator._take_tables()
        seen = np.asarray(operator._store.seen)
        seen[[operator._program.known[number] for number in numbers]] = 1
        operator._shifts.load(arrays["shifted"], arrays["shifts"])
        for name, value in zip(_COUNTED, arrays["statistics"].tolist(), strict=True):
            setattr(operator._statistics, name, value)
        operator._shared.load(arrays["records"])
        return operator
