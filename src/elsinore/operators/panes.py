"""Combining events by panes: what a kind offers to drivers that work on parts of a key's events.

What a stretch of a key's events does within a pane is computed wherever they are, as an *action*: a
few numbers. A key's actions are then folded in the order of time, together with events of which no
actions were made, and give the partial outputs that its operator would have given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.errors import InputError

Ints = NDArray[np.int64]

# Why events are not combined, whatever their kind.
KEEPS_ALL = "every event counts, including those of types that no query names"
OVERLAP = "windows overlap, and a group has several keys"  # why a key's windows are not spread


class CannotFoldError(InputError):
    """Actions cannot be folded: what they stand for has to be read again, event by event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionSize:
    """What an action's price depends on."""

    rows: int  # of each sum: what begins, and what becomes of what was there
    open_windows: int  # that an event acts on where no action is made
    sums: int
    touched: int  # sums that an event of one type changes, at most
    bytes: int


class Stretches(NamedTuple):
    """The actions of stretches of events, in the order of their rows."""

    first: Ints  # [stretch] -> its first row
    last: Ints  # [stretch] -> its last row
    actions: NDArray[np.uint8]  # [stretch, byte]
    failed: NDArray[np.bool_]  # [run] -> whether its events have to travel as they are


class Combiner(Protocol):
    """Computes actions of events."""

    def of(self, begins: Ints, ends: Ints, batch: pa.RecordBatch) -> Stretches:
        """Return the actions of runs, the rows of `batch` from begins[run] to ends[run] - 1.

        A run is of one key and one pane, in time order, and has all events of its moments; it may
        become several stretches. The batch is one for the operator, without `key` and `group`.
        """


class Folder(Protocol):
    """Folds the actions and events of keys, one key after another, each in the order of time."""

    def process(
        self, events: pa.RecordBatch, actions: pa.RecordBatch, *, final: bool
    ) -> list[pa.RecordBatch]:
        """Take events and actions; return what is final already; all, where nothing more comes.

        Both have `key` and `group`; events are as for the operator, actions have `time` and `last`
        (of the events they stand for) and `action` (its bytes). Both are in the order in which an
        operator with `one_slot` gets its events; all that is given later comes after both, but
        simultaneous events may be cut anywhere.

        Raises CannotFoldError where what an action stands for is not apart from other events in
        time, or numbers of simultaneous events leave the range of doubles.
        """


@runtime_checkable
class Panes(Protocol):
    """How the events of one unit are combined by panes."""

    @property
    def size(self) -> ActionSize:
        """What an action's price depends on."""

    def numbers(self, times: Ints) -> Ints:
        """Return the number of the pane that each time is in."""

    def combiner(self, *, ordered: bool) -> Combiner:
        """Return what computes actions; `ordered`: simultaneous events are in an order."""

    def folder(self, *, ordered: bool, last_time: int | None = None) -> Folder:
        """Return what folds them; see `OperatorOptions` for `last_time`."""


def action_type(size: ActionSize) -> Any:
    """Return the type that actions have in Arrow."""
    return pa.binary(size.bytes)
