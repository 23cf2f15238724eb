"""The operators of trend queries, by the contract of all kinds.

`EngineOperator` and `SetsOperator` have the same methods: `process`, `close`, `deadline`, `forget`,
`occupied`, `save` and `load`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.errors import StateError
from elsinore.kernels.saved import pack, reading_state, unpack
from elsinore.model.window import Window
from elsinore.operators.open_end import final_rows
from elsinore.operators.slots import KeySlots
from elsinore.plan import Sharing, TrendUnit
from elsinore.trends.engine.operator import EngineOperator
from elsinore.trends.engine.units import engine_unit
from elsinore.trends.sets.operator import SetsOperator
from elsinore.trends.statistics import SAVED_BY, TrendStatistics
from elsinore.trends.values.columns import slots_of, with_slots

if TYPE_CHECKING:
    from elsinore.trends.graphlets.recording import Recorder


TrendsOperator = EngineOperator | SetsOperator
FEW_KEYS = 16  # up to so many keys keep their slots


class GivingOut:
    """An operator of trends by the contract of all kinds: it gives slots to keys.

    A key has a slot of the inner operator while something of it is open, and until twice as many
    keys have one. Until `close` is first called with a time, a key's code is its slot.
    """

    def __init__(
        self,
        inner: TrendsOperator,
        *,
        one_slot: bool,
        slots: KeySlots | None = None,
        recorder: Recorder | None = None,
        last_time: int | None = None,
    ) -> None:
        self._inner = inner
        self._recorder = recorder
        self._one_slot = one_slot
        self._slots = slots  # None: codes are slots
        self._until: int | None = None  # windows that end by then are closed
        self._last_time = last_time  # see `OperatorOptions`
        self._open_rows = 0  # totals of windows that are not over at that time
        self._many = FEW_KEYS  # slots from which on idle keys are looked for

    @property
    def statistics(self) -> TrendStatistics:
        """What the operator has done so far."""
        statistics = self._inner.statistics
        if self._recorder is not None:
            statistics.recording = self._recorder.recording(statistics.sharing)
        if self._open_rows:
            return replace(statistics, totals=statistics.totals - self._open_rows)
        return statistics

    @property
    def open_group(self) -> int:
        """With `one_slot`, the first group of which more totals may be returned."""
        return self._inner.open_group

    def process(self, batch: pa.RecordBatch, until: int | None = None) -> Iterable[pa.RecordBatch]:
        """Take a batch; return totals that are final already (with `one_slot`, or `until`)."""
        slots = self._slots
        if self._recorder is not None:
            taken = batch if slots is None else with_slots(batch, slots_of(batch, slots))
            self._recorder.take(taken, batch.column("key"))
        if until is None:
            return self._filled(self._inner.process(batch, slots))
        if slots is None:  # are lent from now on
            return (*self._filled(self._inner.process(batch)), *self.close(until))
        totals = self._inner.process(batch, slots, until)
        self._until = until
        if slots.count >= self._many:
            self._forget_idle()
        return self._filled(totals)

    def close(self, until: int | None = None) -> Iterable[pa.RecordBatch]:
        """Return the totals of all windows that end at or before `until`; None: of all."""
        totals = self._filled(self._inner.close(until))
        if until is not None and not self._one_slot:
            self._slots = self._lent_slots()
            self._until = until
            if self._slots.count >= self._many:
                self._forget_idle()
        return totals

    def _filled(self, totals: pa.RecordBatch) -> tuple[pa.RecordBatch, ...]:
        """Return totals as no batch or one; of an open stream only those that are final."""
        if totals.num_rows and self._last_time is not None:
            windows = [member.query.window for member in self._inner.unit.members]
            final = final_rows(totals, windows, self._last_time)
            self._open_rows += totals.num_rows - final.num_rows
            totals = final
        return (totals,) if totals.num_rows else ()

    def _forget_idle(self) -> None:
        """Let keys of which nothing is open give their slots back."""
        if self._slots is None or self._until is None:
            return
        idle = self._slots.idle(self._until, self._windows)
        if len(idle):
            self._inner.forget(idle)
            self._slots.give_back(idle)
        self._many = max(FEW_KEYS, 2 * self._slots.count)

    def _lent_slots(self) -> KeySlots:
        """Return the slots of keys; as long as none are lent, a key's code is its slot."""
        if self._slots is not None:
            return self._slots
        codes, last = self._inner.occupied()
        return KeySlots.from_arrays(codes, codes, last)

    @cached_property
    def _windows(self) -> set[Window | None]:
        """The windows of the queries."""
        return {member.query.window for member in self._inner.unit.members}

    def deadline(self) -> int | None:
        """Return the end of the first window that has totals to return."""
        self._forget_idle()
        return self._inner.deadline()

    def idle_time(self) -> int | None:
        """Return when the last window of the last event of any key has ended."""
        return self._lent_slots().idle_time(self._windows)

    def open_keys(self) -> NDArray[np.int32]:
        """Return the keys that have a slot."""
        self._forget_idle()
        if self._slots is None:
            return self._inner.occupied()[0].astype(np.int32)
        return self._slots.lent.key[self._slots.used]

    def save(self) -> bytes:
        """Return all that is needed to go on later as if never stopped."""
        self._forget_idle()
        arrays = {} if self._slots is None else self._slots.arrays()
        arrays["one_slot"] = np.array([self._one_slot])
        arrays["inner"] = np.frombuffer(self._inner.save(), dtype=np.uint8)
        return pack(SAVED_BY, self._inner.unit.fingerprint, arrays)

    @classmethod
    @reading_state(SAVED_BY)
    def load(cls, unit: TrendUnit, blob: bytes) -> GivingOut:
        """Return the operator that `save` made the bytes of.

        Raises StateError where the bytes are damaged or of another version or workload.
        """
        arrays = unpack(SAVED_BY, unit.fingerprint, blob)
        if "inner" not in arrays:
            raise StateError("The saved state is damaged: it has no operator in it.")
        slots = None
        if "slots" in arrays:
            slots = KeySlots.from_arrays(arrays["slots"], arrays["keys"], arrays["last"])
        inner = load_operator(unit, arrays["inner"].tobytes())
        return cls(inner, one_slot=bool(arrays["one_slot"][0]), slots=slots)


def _operator_class(unit: TrendUnit) -> type[TrendsOperator]:
    """Return the class of a unit's operators."""
    return SetsOperator if engine_unit(unit) is None else EngineOperator


def operator_of(
    unit: TrendUnit,
    *,
    one_slot: bool = False,
    ordered: bool = False,
    sharing: Sharing = Sharing.DYNAMIC,
    record: bool = False,
) -> TrendsOperator:
    """Return a new operator for a unit.

    `one_slot`: keys come one after another, those of a group together, and never again. `ordered`:
    each event is a moment of its own; else simultaneous events of a key do not precede one another.
    `record`: each burst and what was decided is kept.
    """
    return _operator_class(unit)(
        unit, one_slot=one_slot, ordered=ordered, sharing=sharing, record=record
    )


def load_operator(unit: TrendUnit, blob: bytes) -> TrendsOperator:
    """Return the operator that `save` made the bytes of.

    Raises StateError where the bytes are damaged or of another version or workload.
    """
    return _operator_class(unit).load(unit, blob)


def bytes_per_key(unit: TrendUnit) -> int:
    """Return how much memory each key takes, beside rows of many events."""
    return 0 if engine_unit(unit) is None else EngineOperator.bytes_per_key(unit)
