"""The memory of a trend operator: making, growing, saving and restoring it."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from elsinore.errors import StateError
from elsinore.trends.kernels import BEFORE_ALL, FOREVER, NEVER, State, Totals, rebuild_table
from elsinore.trends.lazy.arrays import Bursts, Clocks
from elsinore.trends.moments.arrays import Held
from elsinore.trends.program import Layout

MAGIC = b"ELSI"
VERSION = 4
_HEADER = struct.Struct("<4sB16s")

Rows = TypeVar("Rows", State, Totals, Clocks, Held)


def new_state(layout: Layout, slots: int, *, exponents: bool, moments: bool) -> State:
    """Return `slots` empty slots.

    `exponents`: with room for exponents; `moments`: with room for what states were before the
    present moment.
    """
    kinds = len(layout.windows)
    before = slots if moments else 0
    added = before if layout.merged.has_resets else 0
    powers = slots if exponents else 0
    return State(
        cells=np.zeros((slots, layout.cells)),
        powers=np.zeros((powers, layout.cells), dtype=np.int32),
        extremes=np.full((slots, layout.extremes), FOREVER),
        cells_before=np.zeros((before, layout.cells)),
        powers_before=np.zeros((min(powers, before), layout.cells), dtype=np.int32),
        extremes_before=np.full((before, layout.extremes), FOREVER),
        cells_added=np.zeros((added, layout.cells)),
        powers_added=np.zeros((min(powers, added), layout.cells), dtype=np.int32),
        extremes_added=np.full((added, layout.extremes), FOREVER),
        stamp=np.full((slots, len(layout.merged.nodes)), NEVER),
        opened=np.zeros((slots, layout.open_lanes)),
        first=np.zeros((slots, kinds), dtype=np.int64),
        last=np.full((slots, kinds), BEFORE_ALL),
        edge=np.full(slots, NEVER),
        time=np.full(slots, NEVER),
        key=np.full(slots, -1, dtype=np.int32),
        group=np.zeros(slots, dtype=np.int32),
        big=np.zeros(slots, dtype=np.uint8),
    )


def new_totals(layout: Layout, rows: int) -> Totals:
    """Return room for `rows` totals (a power of two)."""
    return Totals(
        table=np.full(2 * rows, -1, dtype=np.int64),
        query=np.zeros(rows, dtype=np.int32),
        group=np.zeros(rows, dtype=np.int32),
        window=np.zeros(rows, dtype=np.int64),
        cells=np.zeros((rows, layout.widest)),
        powers=np.zeros((rows, layout.widest), dtype=np.int32),
        extremes=np.full((rows, layout.most_extremes), FOREVER),
        count=np.zeros(1, dtype=np.int64),
    )


def copy_rows(old: Rows, new: Rows, *leave: str) -> None:
    """Copy the rows of `old` into the first rows of `new`, but for the fields in `leave`."""
    for name in old._fields:
        if name not in leave:
            before = getattr(old, name)
            getattr(new, name)[: len(before)] = before


def grown_totals(layout: Layout, old: Totals, rows: int) -> Totals:
    """Return `old` with room for `rows` totals."""
    new = new_totals(layout, rows)
    copy_rows(old, new, "table")
    rebuild_table(new)
    return new


def size_of(*rows: State | Totals | Clocks | Bursts | Held) -> int:
    """Return the bytes that states and totals take."""
    return sum(array.nbytes for part in rows for array in part)


def pack(fingerprint: str, arrays: Mapping[str, Any]) -> bytes:
    """Return arrays as bytes: magic, version and fingerprint of the plan, then NumPy's npz."""
    buffer = io.BytesIO()
    buffer.write(_HEADER.pack(MAGIC, VERSION, fingerprint.encode()))
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def unpack(fingerprint: str, blob: bytes) -> dict[str, Any]:
    """Return the arrays of `pack`.

    Raises StateError where the bytes are damaged, of another version, or of another plan.
    """
    try:
        magic, version, saved = _HEADER.unpack_from(blob)
    except struct.error as error:
        raise StateError("The saved state is cut short: it has no header.") from error
    if magic != MAGIC:
        raise StateError("These bytes are not a saved state of Elsinore.")
    if version != VERSION:
        raise StateError(
            f"The saved state has version {version}; this Elsinore reads version {VERSION}. "
            "Finish the old run with the release that began it."
        )
    if saved != fingerprint.encode():
        raise StateError(
            "The saved state belongs to another workload. Restore it with the queries it was "
            "saved by, or begin anew."
        )
    try:
        with np.load(io.BytesIO(blob[_HEADER.size :]), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception as error:
        raise StateError(f"The saved state is damaged: {error}") from error
