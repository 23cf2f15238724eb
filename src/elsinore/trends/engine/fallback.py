"""An operator that buffers events where the engine cannot compare their values as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.kernels.saved import pack, reading_state, unpack
from elsinore.operators.slots import KeySlots
from elsinore.plan import TrendUnit
from elsinore.trends.buffered.operator import BufferedTrends
from elsinore.trends.engine.bounds import is_steady
from elsinore.trends.engine.operator import EngineOperator
from elsinore.trends.engine.units import engine_unit
from elsinore.trends.statistics import SAVED_BY, TrendStatistics


class FallbackOperator:
    """Chooses by the types of the first batch; the contract is that of `TrendsOperator`."""

    def __init__(self, unit: TrendUnit, **modes: Any) -> None:
        self.unit = unit
        self._begin: Callable[[type[Any]], Any] = lambda kind: kind(unit, **modes)
        self._inner: Any = EngineOperator(unit, **modes)
        self._is_chosen = False

    @property
    def statistics(self) -> TrendStatistics:
        """What the operator has done so far."""
        statistics: TrendStatistics = self._inner.statistics
        return statistics

    @property
    def open_group(self) -> int:
        """The group of the key that goes on, with `one_slot`; -1 where there is none yet."""
        return int(self._inner.open_group)

    def process(
        self, batch: pa.RecordBatch, slots: KeySlots | None = None, until: int | None = None
    ) -> pa.RecordBatch:
        """Take a batch; do what the chosen operator does."""
        if not self._is_chosen:
            self._is_chosen = True
            chosen = engine_unit(self.unit)
            assert chosen is not None
            columns = [field for field in batch.schema if field.name.startswith("pair:")]
            types = {field.name.removeprefix("pair:"): field.type for field in columns}
            if not is_steady(chosen.templates, types):
                self._inner = self._begin(BufferedTrends)
        return self._inner.process(batch, slots, until)

    def close(self, until: int | None = None) -> pa.RecordBatch:
        """Return the totals of all windows that end at or before `until`; None: of all windows."""
        return self._inner.close(until)

    def deadline(self) -> int | None:
        """Return the end of the first window of which there is something to give out."""
        deadline: int | None = self._inner.deadline()
        return deadline

    def forget(self, slots: NDArray[np.int64]) -> None:
        """Make slots ready for other keys; nothing of their keys is open."""
        self._inner.forget(slots)

    def occupied(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the slots that keys have, and the time of each one's last event."""
        occupied: tuple[NDArray[np.int64], NDArray[np.int64]] = self._inner.occupied()
        return occupied

    def save(self) -> bytes:
        """Return all that is needed to go on later as if never stopped."""
        is_buffered = isinstance(self._inner, BufferedTrends)
        arrays: dict[str, NDArray[Any]] = {
            "choice": np.array([self._is_chosen, is_buffered]),
            "inner": np.frombuffer(self._inner.save(), dtype=np.uint8),
        }
        return pack(SAVED_BY, self.unit.fingerprint, arrays)

    @classmethod
    @reading_state(SAVED_BY)
    def load(cls, unit: TrendUnit, blob: bytes) -> FallbackOperator:
        """Return the operator that `save` made the bytes of."""
        arrays = unpack(SAVED_BY, unit.fingerprint, blob)
        is_chosen, is_buffered = arrays["choice"].tolist()
        kind: type[Any] = BufferedTrends if is_buffered else EngineOperator
        operator = cls(unit)
        operator._inner = kind.load(unit, arrays["inner"].tobytes())
        operator._is_chosen = is_chosen
        modes = operator._inner.modes if not is_buffered else {}
        operator._begin = lambda of: of(unit, **modes)
        return operator
