"""The contract of operators: ordered Arrow batches in, partial outputs out, savable state.

Every engine implements this protocol; drivers use an engine only through it and through its kind in
the registry (`elsinore.operators.kind`).
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

    With `one_slot`, keys come one after another, those of a group together, and are never repeated;
    the operator needs memory for one key. With `ordered`, events of one key and time are ordered by
    their rows; else they are simultaneous. `sharing` limits what queries may share; with `record`,
    statistics contain each decision.

    `last_time` is the time of the last event of an open stream. The operator then returns only what
    `close(last_time)` would have returned, also at the end of a key and in `close()`. None: the
    stream ends with its last event.
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

        `until` says that no event before it will follow; the effect is that of `close(until)` after
        the batch, but faster. Raises InputError if a key's rows are not in time order.
        """

    def close(self, until: int | None = None) -> Iterable[pa.RecordBatch]:
        """Return partial outputs that are final if no event before `until` follows; None: all.

        A later event before `until` may be refused as out of time order. If a kind runs in threads,
        an operator after `close(None)` behaves as a new one.
        """

    def deadline(self) -> int | None:
        """Return the next time at which `close` would return something; None if there is none."""

    def idle_time(self) -> int | None:
        """Return the time by which `close` releases all state if no further event comes.

        None: there is no state, or time alone does not release it. Drivers with timers close
        operators at this time, so that idle keys take no memory.
        """

    def open_keys(self) -> NDArray[np.int32] | None:
        """Return the codes of keys that the operator still needs; None: of all keys so far.

        Other codes, and those of groups without such a key, may be reused for other keys. Not
        called with `one_slot`.
        """

    def save(self) -> bytes:
        """Return the state, from which `Kind.load` continues as if it had never stopped."""

    @property
    def open_group(self) -> int:
        """The first group that may still have outputs, with `one_slot`.

        -1 if that is the group of the last row, or before the first row.
        """
        return -1
