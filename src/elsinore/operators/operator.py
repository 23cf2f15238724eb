"""The contract of operators: ordered Arrow batches in, partial outputs out, state that is saved.

Every engine implements this protocol; drivers know an engine only by it and by its entry in the
registry (`elsinore.operators.kind`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.operators.statistics import OperatorStatistics
from elsinore.plan import Sharing


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorOptions:
    """How a driver passes events to an operator, and the user's options.

    `one_slot`: keys come one after another, those of a group together, and never again; memory is
    then one key's. `ordered`: events of one key and time are in an order of their own; else they
    are simultaneous. `sharing` says what queries may share; with `record`, statistics keep what was
    decided, piece by piece.
    `last_time`: the stream is open, and this is the time of its last event. The operator returns
    only what `close(last_time)` would have returned, also at the end of a key and in `close()`.
    None: the stream ends with its last event.
    """

    one_slot: bool = False
    ordered: bool = False
    sharing: Sharing = Sharing.DYNAMIC
    record: bool = False
    last_time: int | None = None


class Operator(Protocol):
    """Answers the queries of one unit over (a part of) a keyed stream.

    A batch has the columns `key` and `group` (int32 codes; a key has one group; below 0: no key),
    `time` (int64), `class` (int64, see `elsinore.plan.classes`; below 0: of no interest), and the
    unit's `columns` by their names. Each key's rows are in time order; keys may interleave; batches
    may be cut anywhere.

    It returns *partial outputs*: batches with the columns that `Kind.partials` declares for their
    queries, including the place of a row's query in the unit (`query`, int32) and its group's code
    (`group`, int32). Queries with different columns are never in the same batch. `process` and
    `close` may be generators: the caller takes all batches before it calls again.

    Dividing batches differently, saving and loading anywhere, or interleaving keys differently
    changes no result. A key without an open window takes no memory.
    """

    @property
    def statistics(self) -> OperatorStatistics:
        """The statistics of the operator so far."""

    def process(self, batch: pa.RecordBatch, until: int | None = None) -> Iterable[pa.RecordBatch]:
        """Process a batch; return final partial outputs.

        until: no event before it comes any more after these; as `close(until)` behind it, and
        sooner done. Raises InputError where a key's rows are not in time order.
        """

    def close(self, until: int | None = None) -> Iterable[pa.RecordBatch]:
        """Return partial outputs that are final if no event before `until` follows; None: all.

        An event that comes though it is before `until` may be refused as one out of time order.

        Where a kind runs in threads, events that come after all was given out find what they would
        find in a new operator.
        """

    def deadline(self) -> int | None:
        """Return the next time at which `close` would return something; None if there is none."""

    def idle_time(self) -> int | None:
        """Return the time by which `close` releases all state if no further event comes.

        None: there is no state, or time alone does not release it. Drivers that are woken up by
        timers close operators then, so that keys that never come again take no memory.
        """

    def open_keys(self) -> NDArray[np.int32] | None:
        """Return the codes of keys that the operator still needs; None: of all keys so far.

        Other codes may be given to other keys, and so may the codes of groups without such a key.
        Not with `one_slot`.
        """

    def save(self) -> bytes:
        """Return the state, from which `Kind.load` continues as if it had never stopped."""

    @property
    def open_group(self) -> int:
        """With `one_slot`, the first group that may still have outputs.

        -1 if that is the group of the last row, or before the first row.
        """
        return -1
