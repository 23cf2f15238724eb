"""A wrapper of operators with an array row per slot: keys with open windows get slots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.model.window import Window
from elsinore.operators.open_end import final_rows
from elsinore.operators.slots import KeySlots

FEW_KEYS = 16  # with at most so many slots in use, idle keys are not searched for


class SlotOperator(Protocol):
    """An operator whose arrays have a row for each slot."""

    @property
    def open_group(self) -> int:
        """The first group that may still have outputs (`Operator.open_group`)."""

    def process(
        self, batch: pa.RecordBatch, slots: KeySlots | None = None, until: int | None = None
    ) -> pa.RecordBatch:
        """Process a batch; return final partial outputs. Without `slots`, key codes are slots."""

    def close(self, until: int | None = None) -> pa.RecordBatch:
        """Return partial outputs that are final if no event before `until` follows."""

    def deadline(self) -> int | None:
        """Return the next time at which `close` would return something."""

    def forget(self, slots: NDArray[np.int64]) -> None:
        """Clear slots whose keys have no open windows, so that other keys can have them."""

    def occupied(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the slots in use, and the time of the last event in each."""


class SlotAssigningOperator:
    """An `Operator` that assigns slots of an inner operator to keys.

    A key has a slot while it has open windows; slots of idle keys are released when the number of
    slots in use has doubled. Until `close` is first called with a time, a key's code is its slot.
    """

    def __init__(
        self,
        inner: SlotOperator,
        windows: Sequence[Window | None],
        *,
        one_slot: bool,
        slots: KeySlots | None = None,
        last_time: int | None = None,
    ) -> None:
        """Wrap `inner` for queries with these windows; `last_time`: see `OperatorOptions`."""
        self._inner = inner
        self._windows = windows
        self._distinct = set(windows)
        self._one_slot = one_slot
        self._slots = slots  # None: codes are slots
        self._until: int | None = None  # windows that end at or before it are closed
        self._last_time = last_time
        self._idle_search_size = FEW_KEYS  # slots in use from which idle keys are searched for
        self.open_rows = 0  # of windows that are open at the last time

    @property
    def open_group(self) -> int:
        """The first group that may still have outputs, with `one_slot`."""
        return self._inner.open_group

    def process(self, batch: pa.RecordBatch, until: int | None = None) -> Iterable[pa.RecordBatch]:
        """Process a batch; return totals that are already final (with `one_slot`, or `until`)."""
        if until is None:
            return self._filled(self._inner.process(batch, self._slots))
        if self._slots is None:  # from now on, slots are assigned
            return (*self._filled(self._inner.process(batch)), *self.close(until))
        totals = self._inner.process(batch, self._slots, until)
        self._forget_some(until)
        return self._filled(totals)

    def close(self, until: int | None = None) -> Iterable[pa.RecordBatch]:
        """Return the totals of all windows that end at or before `until`; None: of all."""
        totals = self._filled(self._inner.close(until))
        if until is not None and not self._one_slot:
            self._slots = self._key_slots()
            self._forget_some(until)
        return totals

    def _filled(self, totals: pa.RecordBatch) -> tuple[pa.RecordBatch, ...]:
        """Return totals as at most one batch; for an open stream, only final ones."""
        if totals.num_rows and self._last_time is not None:
            final = final_rows(totals, self._windows, self._last_time)
            self.open_rows += totals.num_rows - final.num_rows
            totals = final
        return (totals,) if totals.num_rows else ()

    def _forget_some(self, until: int) -> None:
        """Release the slots of idle keys if the number of slots in use has doubled."""
        self._until = until
        if self._slots is not None and self._slots.count >= self._idle_search_size:
            self._forget_idle()

    def _forget_idle(self) -> None:
        """Release the slots of keys without open windows."""
        if self._slots is None or self._until is None:
            return
        idle = self._slots.idle(self._until, self._distinct)
        if len(idle):
            self._inner.forget(idle)
            self._slots.release(idle)
        self._idle_search_size = max(FEW_KEYS, 2 * self._slots.count)

    def _key_slots(self) -> KeySlots:
        """Return the slots of keys; before slots are assigned, a key's code is its slot."""
        if self._slots is not None:
            return self._slots
        codes, last = self._inner.occupied()
        return KeySlots.from_arrays(codes, codes, last)

    def deadline(self) -> int | None:
        """Return the end of the first window that has totals to return."""
        self._forget_idle()
        return self._inner.deadline()

    def idle_time(self) -> int | None:
        """Return the end of the last window with an event of any key."""
        return self._key_slots().idle_time(self._distinct)

    def open_keys(self) -> NDArray[np.int32]:
        """Return the keys that have a slot."""
        self._forget_idle()
        if self._slots is None:
            return self._inner.occupied()[0].astype(np.int32)
        return self._slots.key_table.key[self._slots.used]

    def saved_slots(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of assigned slots, for `slots_from_arrays`."""
        self._forget_idle()
        return {} if self._slots is None else self._slots.arrays()


def slots_from_arrays(arrays: dict[str, NDArray[Any]]) -> KeySlots | None:
    """Return the slots of the arrays from `SlotAssigningOperator.saved_slots`."""
    if "slots" not in arrays:
        return None
    return KeySlots.from_arrays(arrays["slots"], arrays["keys"], arrays["last"])
