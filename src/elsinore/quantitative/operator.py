"""Quantitative queries over a keyed stream: the operator that drivers bring events to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy
from elsinore.operators import OperatorOptions, OperatorStatistics
from elsinore.plan import Unit
from elsinore.quantitative.conditions import Conditions
from elsinore.quantitative.encoded_values import exactly
from elsinore.quantitative.encoding import decode, encode
from elsinore.quantitative.fingerprint import fingerprint
from elsinore.quantitative.regex import TYPE
from elsinore.quantitative.runnable import Keyed, Runnable
from elsinore.quantitative.streams import Streams
from elsinore.quantitative.values import as_array
from elsinore.saved_states import reading_state, seal, unseal

SAVED_BY = "quantitative operator 6"  # the number is that of the layout of its states
ITEM = "item "  # what a column of an attribute is called, before its name
PART = "condition "  # what a column of truth values is called, before its number
SHOWN = "shown time"  # what a column of times is called that are given out as they are
BESIDE = ("query", "group", "time", "value")


@dataclass(frozen=True, slots=True)
class Spec:
    """What an operator needs to know of its query.

    `value` is the type of its values, None where it is known by the values alone: these are then
    given out as bytes. `called` is what the result calls the time; `shown` the attribute, and its
    type, that is given out for it where ticks are too coarse. `after` are the queries that take the
    values of all keys.
    """

    query: Runnable
    by: tuple[str, ...]
    conditions: Conditions
    items: tuple[str, ...] = ()  # the attributes that items have
    types: tuple[tuple[str, pa.DataType], ...] = ()  # of these
    value: pa.DataType | None = None
    called: str = "time"
    shown: tuple[str, pa.DataType] | None = None
    after: tuple[Runnable | Keyed, ...] = ()

    @property
    def time(self) -> pa.DataType:
        """The type of times that are given out."""
        return pa.int64() if self.shown is None else self.shown[1]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the output."""
        kinds = (pa.int32(), pa.int32(), self.time, self.value or pa.binary())
        return pa.schema(list(zip(BESIDE, kinds, strict=True)))


class QuantitativeOperator:
    """Runs one query, a stream for each key (see `elsinore.operators.Operator`)."""

    def __init__(self, unit: Unit, options: OperatorOptions) -> None:
        spec = unit.spec
        assert isinstance(spec, Spec)
        self._spec, self._one_slot = spec, options.one_slot
        self._streams = Streams(spec.query.programs)
        self._last = -1  # the key of the last row, where keys come one after another
        self._keys = 0
        self.statistics = OperatorStatistics()

    @property
    def open_group(self) -> int:
        """Nothing is given out later than at its event."""
        return -1

    def process(self, batch: pa.RecordBatch, until: int | None = None) -> Iterator[pa.RecordBatch]:
        """Process a batch; yield the values after its events."""
        del until  # all is final at its event
        if batch.num_rows == 0:
            return
        spec = self._spec
        classes = to_numpy(batch.column("class"))
        truths = [batch.column(f"{PART}{n}") for n in range(len(spec.conditions.parts))]
        bits = spec.conditions.bits(classes, truths)
        columns = {name: _typed(batch.column(f"{ITEM}{name}"), kind) for name, kind in spec.types}
        if TYPE in spec.items:
            columns[TYPE] = spec.conditions.types_of(classes, columns.get(TYPE))
        table = pa.table(columns) if columns else _bare(batch.num_rows)
        codes, count = self._codes(to_numpy(batch.column("key")))
        outputs = self._streams.run(table, bits, codes, count)
        if self._one_slot:
            self._streams.keep_only(int(codes[-1]))
        self.statistics.events += batch.num_rows
        self.statistics.matched += int(np.count_nonzero(bits))
        self.statistics.totals += len(outputs.places)
        if not len(outputs.places):
            return
        rows = to_arrow(outputs.places)
        values = outputs.column()
        if spec.value is None:
            values = to_arrow([encode(value) for value in values.to_pylist()], pa.binary())
        elif values.type != spec.value:
            values = values.cast(spec.value)
        time = "time" if spec.shown is None else SHOWN
        yield pa.record_batch(
            [
                to_arrow(np.zeros(len(rows), np.int32)),
                batch.column("group").take(rows),
                batch.column(time).take(rows),
                values,
            ],
            schema=spec.schema,
        )

    def close(self, until: int | None = None) -> Iterator[pa.RecordBatch]:
        """Give out nothing: all was final at its event."""
        del until
        yield from ()

    def deadline(self) -> int | None:
        """Return None: nothing becomes final by time."""
        return None

    def idle_time(self) -> int | None:
        """Return None: a stream's next value may depend on all of its events."""
        return None

    def open_keys(self) -> NDArray[np.int32]:
        """Return the keys whose streams continue otherwise than new ones; forget the others.

        A key that is between two matches of what is iterated is not open: `iter_last` of episodes
        keeps nothing of a patient between two episodes.
        """
        return self._streams.open_codes(self._keys)

    def save(self) -> bytes:
        """Return the states of all streams that are no longer as a new one would be.

        Raises StateError for values that saved states do not hold.
        """
        codes = self.open_keys().tolist()
        head = encode((self._one_slot, self._last, self._keys, codes))
        content = b"\n".join([head, *map(self._streams.save, codes)])
        return seal(SAVED_BY, fingerprint(self._spec.query.stages), content)

    @classmethod
    @reading_state(SAVED_BY)
    def load(cls, unit: Unit, blob: bytes) -> QuantitativeOperator:
        """Return the operator that `save` made the bytes of.

        Raises StateError where they are damaged or of another query.
        """
        spec = unit.spec
        assert isinstance(spec, Spec)
        content = unseal(SAVED_BY, fingerprint(spec.query.stages), blob)
        head, *states = bytes(content).split(b"\n")
        one_slot, last, keys, codes = decode(head)
        operator = cls(unit, OperatorOptions(one_slot=exactly(bool, one_slot)))
        operator._last, operator._keys = exactly(int, last), exactly(int, keys)
        for code, state in zip(codes, states, strict=True):
            if not 0 <= code < operator._keys:
                raise ValueError("a key beyond the number of keys")
            operator._streams.load(code, state)
        return operator

    def _codes(self, keys: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the numbers of rows' streams: those of keys, or of runs of one key."""
        if not self._one_slot:
            self._keys = max(self._keys, int(keys.max()) + 1)
            return keys, self._keys
        new = np.diff(keys, prepend=keys[0]) != 0
        new[0] = self._last not in {-1, int(keys[0])}
        self._last, self._keys = int(keys[-1]), 1
        codes = np.cumsum(new).astype(np.int32)
        return codes, int(codes[-1]) + 1


def _bare(rows: int) -> pa.Table:
    """Return events without attributes that are read."""
    return pa.table({"nothing": pa.nulls(rows)})


def _typed(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a column as the events have it: on Spark times travel without their zone."""
    return column if column.type == kind else column.cast(kind)


def decoded(values: pa.Array) -> pa.Array:
    """Return values that were given out as bytes as a column."""
    return as_array([decode(value) for value in values.to_pylist()])
