"""A bucket: the state of some of a live stream's keys, for one pass of a workload.

Every driver of live streams brings events to buckets: the one in this process, Spark's
`transformWithState`, and checkpoints in files. A key's events always go to the same bucket; results
do not depend on the number of buckets.

    bucket = Bucket(setup)                     # setup: a `PassSetup`
    bucket.add(events)                         # in any order; or bucket.add_packed(blobs)
    rows = list(bucket.advance(watermark))     # final partial outputs (see `Outputs`)
    blob = bucket.save()
    bucket = Bucket.load(setup, blob)
    rows = list(bucket.end())

Partial outputs of a group whose keys are in several buckets are final in all of them at the same
watermark: collect them from all buckets, then compute results (`elsinore.runtime.live.results`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import whole
from elsinore.errors import StateError
from elsinore.operators import Operator, OperatorStatistics, kind_for
from elsinore.plan import Unit
from elsinore.runtime.columnar.blobs import unpacked_events
from elsinore.runtime.live.buffer import ReorderBuffer
from elsinore.runtime.live.codes import KeyCodes
from elsinore.runtime.live.setup import PassSetup, column_meanings
from elsinore.runtime.live.state import pack_state, unpack_state
from elsinore.runtime.live.ties import Ties
from elsinore.runtime.travelling import operator_batch
from elsinore.saved_states import reading_state, table_from_bytes, table_to_bytes

OWNER = "a bucket of a live stream"
FEW_KEYS = 1 << 10  # with at most so many keys, unused codes are not searched for


class Bucket:
    """Waiting events, codes of keys, and the operators of a pass's units.

    Time is monotonic: after `advance(until)`, events before `until` are late. They are counted and
    returned by `add`, and do not change results.
    """

    def __init__(self, setup: PassSetup, operators: Sequence[Operator] | None = None) -> None:
        """Make the bucket of a pass, with new operators unless there are `operators`."""
        self.setup = setup
        self._columns = pa.schema([*setup.layout.keys, *setup.layout.events])
        key_types = [column.type for column in setup.layout.keys]
        self._codes = KeyCodes(key_types, setup.group_columns)
        self._buffer = ReorderBuffer(self._columns, setup.orders)
        if operators is None:
            operators = [kind_for(unit).operator(unit, setup.options) for unit in setup.units]
        self._operators = operators
        self._ties = [] if setup.options.ordered else [Ties(unit) for unit in setup.units]
        self._watermark: int | None = None
        self._late = 0
        self._release_size = FEW_KEYS

    # --- events

    def add(self, events: pa.Table) -> pa.Table | None:
        """Add events, with the layout's columns; return those that are late, if there are any."""
        if not events.num_rows:
            return None
        events = self._plain(events)
        late = None
        if self._watermark is not None:
            is_late = pc.less(events.column("time"), self._watermark)
            if pc.any(is_late).as_py():
                late = events.filter(is_late)
                events = events.filter(pc.invert(is_late))
                self._late += late.num_rows
        self._buffer.add(events)
        return late

    def add_packed(self, blobs: pa.Array) -> pa.Table | None:
        """Add the events of blobs (`elsinore.runtime.columnar.Packing`); return the late ones."""
        return self.add(unpacked_events(self.setup.layout, blobs))

    def advance(self, until: int) -> Iterator[pa.RecordBatch]:
        """Yield results that are final if no event before `until` follows, as rows of `Outputs`.

        Take all rows before calling the bucket again. An earlier `until` than before has no effect.
        """
        first = self._buffer.first
        moves = self._watermark is None or until > self._watermark
        if moves or (until == self._watermark and first is not None and first <= until):
            yield from self._run(until)
            self._watermark = until
            if self._codes.count >= self._release_size:
                self._release_codes()

    def end(self) -> Iterator[pa.RecordBatch]:
        """Yield all remaining outputs: the stream has ended. Nothing may be added afterwards."""
        yield from self._run(None)

    def early(self) -> Iterator[pa.RecordBatch]:
        """Yield the current values of open windows: the rows that `end` would yield.

        They include events that wait for the watermark. Queries that return matches have no such
        values. Costs as much as saving, loading and ending the bucket.
        """
        adds_up = [kind_for(unit).adds_up(unit) for unit in self.setup.units]
        if any(adds_up):
            copy = Bucket.load(self.setup, self.save())
            yield from copy._run(None, [n for n, is_windowed in enumerate(adds_up) if is_windowed])

    def _run(
        self, until: int | None, units: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Pass events to the operators of some units; yield their final outputs.

        Those are the events before `until`. Events at `until` are passed too, unless simultaneous
        events must be sorted, so that results need not wait for a later event.
        """
        before = until if until is None or self.setup.orders else until + 1
        events = self._buffer.take(before)
        key = group = np.zeros(0, np.int32)
        if events is not None:
            columns = [events.column(column.name) for column in self.setup.layout.keys]
            key, group = self._codes.encode(columns, events.num_rows)
        for number, operator in enumerate(self._operators):
            if units is not None and number not in units:
                continue
            if events is not None:
                batch = operator_batch(self.setup.units, number, events, key, group)
                if self._ties:
                    self._ties[number].observe(batch, self._codes.size)
                yield from self._rows(number, operator.process(batch, until))
            if until is None or events is None:
                yield from self._rows(number, operator.close(until))

    def _rows(self, number: int, partials: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield an operator's partial outputs as rows of `Outputs`."""
        for partial in partials:
            if partial.num_rows:
                values = self._codes.groups(partial.column("group").to_numpy())
                groups = {f"g{n}": column for n, column in enumerate(values)}
                yield self.setup.outputs.row(self.setup.units[number], partial, groups)

    def _plain(self, events: pa.Table) -> pa.Table:
        """Return events with the layout's columns, dictionaries decoded."""
        if events.schema.equals(self._columns):
            return events
        columns = []
        for column in self._columns:
            values = whole(events.column(column.name))
            if pa.types.is_dictionary(values.type):
                values = values.dictionary_decode()
            columns.append(values if values.type == column.type else values.cast(column.type))
        return pa.table(columns, schema=self._columns)

    # --- time

    @property
    def watermark(self) -> int | None:
        """The time that `advance` was last called with."""
        return self._watermark

    def deadline(self) -> int | None:
        """Return the least time at which `advance` would have an effect; None if there is none.

        Its effects: results become final, or waiting events are passed to operators.
        """
        deadlines = [operator.deadline() for operator in self._operators]
        first = self._buffer.first
        if first is not None:
            deadlines.append(first + 1 if self.setup.orders else first)
        return min((time for time in deadlines if time is not None), default=None)

    def idle_time(self) -> int | None:
        """Return the time by which `advance` releases all state if no further event comes.

        None if there is no state, or if time alone does not release it.
        """
        times = [operator.idle_time() for operator in self._operators]
        return max((time for time in times if time is not None), default=None)

    # --- statistics

    @property
    def late(self) -> int:
        """The number of events that were late."""
        return self._late

    @property
    def waiting(self) -> int:
        """The number of events that wait for the watermark."""
        return self._buffer.rows

    @property
    def keys(self) -> int:
        """The number of keys that have a code."""
        return self._codes.count

    @property
    def statistics(self) -> list[OperatorStatistics]:
        """The statistics of each unit's operator since the bucket was created or loaded.

        Tied events are those of the first batch that had some.
        """
        tied_counts = [ties.count for ties in self._ties] or [0] * len(self._operators)
        return [
            replace(operator.statistics, tied=count)
            for operator, count in zip(self._operators, tied_counts, strict=True)
        ]

    def open_keys(self) -> NDArray[np.int32]:
        """Return the codes of keys that some operator still needs, ascending."""
        by_operator = [operator.open_keys() for operator in self._operators]
        open_codes = [codes for codes in by_operator if codes is not None]
        if len(open_codes) < len(by_operator):
            return self._codes.saved()[0]
        return np.unique(np.concatenate(open_codes)).astype(np.int32, copy=False)

    def _release_codes(self) -> None:
        """Release the codes of keys that no operator needs."""
        self._codes.release_except(self.open_keys())
        self._release_size = max(FEW_KEYS, 2 * self._codes.count)

    # --- state

    def save(self) -> bytes:
        """Return the state as bytes: versioned, compressed, and readable by `load` alone."""
        self._release_codes()
        keys, groups, values = self._codes.saved()
        attributes = pa.table(values, names=self.setup.layout.keys.names) if values else None
        parts: dict[str, bytes] = {
            "key codes": keys.tobytes(),
            "group codes": groups.tobytes(),
        }
        if attributes is not None and len(keys):
            parts["keys"] = table_to_bytes(attributes)
        if self._buffer.rows:
            waiting = self._buffer.events.rename_columns(column_meanings(self.setup))
            parts["events"] = table_to_bytes(waiting)
        for unit, operator in zip(self.setup.units, self._operators, strict=True):
            parts[_part(unit)] = operator.save()
        facts = {
            "units": [list(unit.names) for unit in self.setup.units],
            "watermark": self._watermark,
            "late": self._late,
        }
        return pack_state(OWNER, facts, parts)

    @classmethod
    def load(cls, setup: PassSetup, blob: bytes, *, drop: bool = False) -> Bucket:
        """Return the bucket that was saved as `blob`.

        drop: the saved state may contain further units, which are dropped.
        Raises StateError if the bytes are damaged, of another version, or of other queries.
        """
        facts, parts = unpack_state(OWNER, blob)
        with reading_state(OWNER):
            saved_units, units = facts["units"], [list(unit.names) for unit in setup.units]
            if any(unit not in saved_units for unit in units) or not (
                drop or len(saved_units) == len(units)
            ):
                raise StateError(
                    f"The saved state is of the queries {_unit_names(saved_units)}, "
                    f"not of {_unit_names(units)}."
                )
            operators = [
                kind_for(unit).load(unit, bytes(parts[_part(unit)])) for unit in setup.units
            ]
            bucket = cls(setup, operators)
            bucket._watermark, bucket._late = facts["watermark"], facts["late"]
            bucket._restore(parts)
        return bucket

    def _restore(self, parts: dict[str, memoryview]) -> None:
        """Take the codes and waiting events of a saved state."""
        setup = self.setup
        keys = np.frombuffer(parts["key codes"], np.int32)
        groups = np.frombuffer(parts["group codes"], np.int32)
        types = [column.type for column in setup.layout.keys]
        values = [pa.nulls(0, kind) for kind in types]
        if "keys" in parts:
            values = [whole(column) for column in table_from_bytes(parts["keys"]).columns]
        self._codes = KeyCodes.restored(types, setup.group_columns, (keys, groups, values))
        if "events" in parts:
            waiting = table_from_bytes(parts["events"]).select(column_meanings(setup))
            self._buffer.add(self._plain(waiting.rename_columns(self._columns.names)))


def _part(unit: Unit) -> str:
    """Return the name of the part of a saved state with a unit's operator."""
    return f"operator of {', '.join(unit.names)}"


def _unit_names(units: Sequence[Sequence[str]]) -> str:
    return ", ".join(name for names in units for name in names)
