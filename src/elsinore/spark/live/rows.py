"""Schemas and encoding of the rows between the stages of a live stream on Spark.

    tasks that read  --EVENTS-->  buckets (transformWithState)  --ANSWERS-->  merging, sink

A row of EVENTS belongs to one bucket. It is a blob of packed events, or (without a blob) a *tick*:
the greatest times that a task has read, from which each bucket computes the watermark. Every task
sends its tick to every bucket, so that all buckets reach the same watermark in the same
micro-batch.

A row of ANSWERS has a blob of Arrow's IPC format or of JSON, according to its `kind`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.operators import BurstCounts

EVENTS = pa.schema([("bucket", pa.string()), ("blob", pa.binary()), ("tick", pa.string())])
ANSWERS = pa.schema(
    [
        ("kind", pa.string()),
        ("generation", pa.int32()),
        ("number", pa.int32()),
        ("share", pa.int32()),
        ("blob", pa.binary()),
    ]
)
EVENTS_DDL = "bucket string, blob binary, tick string"
ANSWERS_TYPE = from_arrow_schema(ANSWERS)

RESULT = "result"  # finished rows of query `number`, times in ticks
EARLY = "early"  # the same, of windows that are still open
PARTIAL = "partial"  # partial outputs of pass `number`, to be merged with other buckets'
EARLY_PARTIAL = "early partial"
REJECTS = "rejects"  # rejected records, in the columns of `connectors.rejects`
COUNTS = "counts"  # a bucket's `BucketCounts` of the micro-batch, as JSON

ASIDE = "aside"  # the name of the bucket that forwards rejected records


class BucketName(NamedTuple):
    """The name of a bucket: the generation of its plan, the key of its pass, and its number."""

    generation: int
    key: str
    number: int

    def __str__(self) -> str:
        return f"{self.generation}/{self.key}/{self.number}"

    @classmethod
    def parse(cls, text: str) -> BucketName:
        """Return the name parsed from its text.

        >>> BucketName.parse(str(BucketName(0, "('a/b',)", 15)))
        BucketName(generation=0, key="('a/b',)", number=15)
        """
        generation, _, rest = text.partition("/")
        key, _, number = rest.rpartition("/")
        return cls(int(generation), key, int(number))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """The times and counts of a task that reads in a micro-batch.

    `greatest` has the greatest time in ticks of each partition of the source, `expected` the
    partitions without events, for which the watermark waits. `now` is the seconds for which the
    stream has run, as recorded with the micro-batch. `end`: the stream ends with this micro-batch.
    `early`: values of open windows are requested. `events`, `rejected` and `late` are numbers of
    events. `lag` is the number of unread rows of the source after the micro-batch, if known.
    """

    greatest: dict[str, int] = field(default_factory=dict)
    expected: tuple[str, ...] = ()
    now: float = 0.0
    end: bool = False
    early: bool = False
    events: int = 0
    rejected: int = 0
    late: int = 0
    lag: int | None = None

    def dump(self) -> str:
        """Return the tick as JSON, for `load`."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> Tick:
        """Return the tick of a text.

        >>> Tick.load(Tick(greatest={"0": 5}, now=1.5).dump()).greatest
        {'0': 5}
        """
        facts = json.loads(text)
        return cls(**facts | {"expected": tuple(facts["expected"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketCounts:
    """The counts of a bucket in a micro-batch, and the size of its state after it.

    `watermark` is in ticks; None before the first event. `events`, `rejected`, `task_late`, `lag`
    and `ended` (the stream ended) are those of the whole micro-batch, equal in all buckets. `late`
    counts events that only the bucket detected as late. `sharing` has this bucket's bursts in this
    micro-batch. `waiting`, `keys` and `state_bytes` describe its state.
    """

    watermark: int | None
    greatest: int | None
    events: int
    rejected: int
    task_late: int
    late: int
    waiting: int
    keys: int
    state_bytes: int
    lag: int | None
    ended: bool
    sharing: tuple[BurstCounts, ...]

    def dump(self) -> bytes:
        """Return the counts as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def load(cls, text: bytes) -> BucketCounts:
        """Return the counts from the JSON of `dump`."""
        facts = json.loads(text)
        sharing = tuple(
            BurstCounts(**counts | {"queries": tuple(counts["queries"])})
            for counts in facts["sharing"]
        )
        return cls(**facts | {"sharing": sharing})


class Answer(NamedTuple):
    """A row of ANSWERS."""

    kind: str
    generation: int
    number: int
    share: int
    blob: bytes


def answers_batch(answers: Iterable[Answer]) -> pa.RecordBatch:
    """Return rows of ANSWERS as a batch."""
    columns = list(zip(*answers, strict=True)) or [()] * len(ANSWERS)
    arrays = [
        pa.array(list(column), field.type) for column, field in zip(columns, ANSWERS, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ANSWERS)


def answers_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Answer]:
    """Yield the rows of batches of ANSWERS."""
    for batch in batches:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield Answer(*row)


def to_bytes(batches: pa.Table | Iterable[pa.RecordBatch], schema: pa.Schema) -> bytes:
    """Return rows of a schema as a stream of Arrow's IPC format, compressed."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        if isinstance(batches, pa.Table):
            writer.write_table(batches)
        else:
            for batch in batches:
                writer.write_batch(batch)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def from_bytes(blob: bytes) -> pa.Table:
    """Return the rows of `to_bytes`."""
    return pa.ipc.open_stream(blob).read_all()
