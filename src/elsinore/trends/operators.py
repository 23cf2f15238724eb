"""The operators of trend queries, by the contract of all kinds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from elsinore.errors import StateError
from elsinore.kernels.saved import pack, reading_state, unpack
from elsinore.operators.lending import LendingOperator, slots_from_arrays
from elsinore.operators.slots import KeySlots, slots_of, with_slots
from elsinore.plan import TrendUnit
from elsinore.trends.engine.operator import EngineOperator
from elsinore.trends.engine.program import engine_unit
from elsinore.trends.sets.operator import SetsOperator
from elsinore.trends.statistics import SAVED_BY, TrendStatistics

if TYPE_CHECKING:
    from elsinore.trends.graphlets.recording import Recorder


TrendsOperator = EngineOperator | SetsOperator


class GivingOut(LendingOperator):
    """An operator of trends that gives slots to keys, and may record its events."""

    def __init__(
        self,
        inner: TrendsOperator,
        *,
        one_slot: bool,
        slots: KeySlots | None = None,
        recorder: Recorder | None = None,
        last_time: int | None = None,
    ) -> None:
        windows = [member.query.window for member in inner.unit.members]
        super().__init__(inner, windows, one_slot=one_slot, slots=slots, last_time=last_time)
        self._inner = inner
        self._recorder = recorder

    @property
    def statistics(self) -> TrendStatistics:
        """What the operator has done so far."""
        statistics = self._inner.statistics
        if self._recorder is not None:
            statistics.recording = self._recorder.recording(statistics.sharing)
        if self.open_rows:
            return replace(statistics, totals=statistics.totals - self.open_rows)
        return statistics

    def process(self, batch: pa.RecordBatch, until: int | None = None) -> Iterable[pa.RecordBatch]:
        """Take a batch; return totals that are final already (with `one_slot`, or `until`)."""
        if self._recorder is not None:
            slots = self._slots
            taken = batch if slots is None else with_slots(batch, slots_of(batch, slots))
            self._recorder.take(taken, batch.column("key"))
        return super().process(batch, until)

    def save(self) -> bytes:
        """Return all that is needed to go on later as if never stopped."""
        arrays = self.saved_slots()
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
        inner = operator_class(unit).load(unit, arrays["inner"].tobytes())
        one_slot = bool(arrays["one_slot"][0])
        return cls(inner, one_slot=one_slot, slots=slots_from_arrays(arrays))


def operator_class(unit: TrendUnit) -> type[TrendsOperator]:
    """Return the class of a unit's operators."""
    return SetsOperator if engine_unit(unit) is None else EngineOperator
