"""Combining events by panes, for drivers that process parts of a key's events separately.

The effect of a stretch of a key's events within a pane is computed where the events are, as an
*action*: a few numbers. A key's actions are then folded in the order of time, together with events
that were not combined, with the same partial outputs as its operator's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.errors import InputError

Ints = NDArray[np.int64]

# Reasons for not combining events of any kind.
KEEPS_ALL = "every event counts, including those of types that no query names"
OVERLAP = "windows overlap, and a group has several keys"  # reason for not spreading windows


class CannotFoldError(InputError):
    """Actions cannot be folded: the events have to be read again, without combining."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionSize:
    """The sizes that determine the cost of an action."""

    rows: int  # of each sum: new trends, and coefficients of earlier sums
    open_windows: int  # that an event without an action is applied to
    sums: int
    touched: int  # sums that an event of one type changes, at most
    bytes: int


class Combiner(Protocol):
    """Computes actions of events."""

    def actions_of(self, begins: Ints, ends: Ints, batch: pa.RecordBatch) -> NDArray[np.uint8]:
        """Return the actions [run, byte] of rows begins[run] to ends[run] - 1 of a batch.

        A run belongs to one key and one pane, is in time order, and includes all events of its
        times. The batch has the operator's columns without `key` and `group`.
        """


class Folder(Protocol):
    """Folds the actions and events of keys, one key after another, each in the order of time."""

    def process(
        self, events: pa.RecordBatch, actions: pa.RecordBatch, *, final: bool
    ) -> list[pa.RecordBatch]:
        """Process events and actions; return final partial outputs, with `final` all that remain.

        Both have `key` and `group`. Events have the operator's columns; actions have `time` and
        `last`, the first and last time of their events, and `action`, their bytes. Both are in the
        order of an operator with `one_slot`, and later calls continue it; simultaneous events may
        be split between calls.

        Raises CannotFoldError if an action overlaps other events in time.
        """


@runtime_checkable
class Panes(Protocol):
    """Combines the events of a unit by panes."""

    @property
    def size(self) -> ActionSize:
        """The sizes that determine the cost of an action."""

    def numbers(self, times: Ints) -> Ints:
        """Return the number of the pane that contains each time."""

    def combiner(self, *, ordered: bool) -> Combiner:
        """Return a computer of actions; `ordered`: simultaneous events are ordered."""

    def folder(self, *, ordered: bool, last_time: int | None = None) -> Folder:
        """Return a folder of actions; see `OperatorOptions` for `last_time`."""


def action_type(size: ActionSize) -> Any:
    """Return the Arrow type of actions."""
    return pa.binary(size.bytes)
