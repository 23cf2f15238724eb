"""What tasks pack, buckets compute and the sink writes equals a batch run, without a JVM."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Iterator

import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from elsinore import Workload
from elsinore.connectors.checkpoint import Checkpoint
from elsinore.errors import ElsinoreError
from elsinore.runtime.live import PlannedGeneration, Span
from elsinore.spark.live.merging import MERGED_KINDS, MergePartials
from elsinore.spark.live.processor import BucketProcessor
from elsinore.spark.live.rows import Answer, Tick, answers_batch, answers_of
from elsinore.spark.live.sink import BatchWriter
from elsinore.spark.live.tasks import EventPacker, StreamPlan
from oracles.reference import ReferenceEvent
from support.drawn import CASES, Drawn
from support.live import LATENESS, assert_same_rows, batches_of, by_query, disordered, setup_for
from support.trends import Feature, table_of, trend_cases

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "20"))
RELAXED = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


class Collected:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.pieces: list[tuple[str, pa.Table]] = []

    def write(self, query: str, batch: int, rows: pa.Table) -> None:
        self.pieces.append((query, rows))

    def discard(self, query: str, batch: int) -> None:
        pass

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


def packed_rows(
    plan: StreamPlan, table: pa.Table, drawn: Drawn, *, end: bool
) -> Iterator[tuple[str, Row]]:
    """Yield the rows that the tasks of a micro-batch send to buckets."""
    for part in batches_of(table, drawn, most=2):
        packer = EventPacker(pickle.loads(pickle.dumps(plan)), tick=Tick(end=end))
        batches = [*packer.pack(part, "")]
        for batch in [*batches, packer.ticks()]:
            for row in batch.to_pylist():
                yield row["bucket"], Row(**row)


def streamed(workload: Workload, table: pa.Table, drawn: Drawn) -> dict[str, pa.Table]:
    """Return the rows of a stream over events that come out of order, in drawn micro-batches."""
    lateness = drawn.one(LATENESS)
    setup = setup_for(workload, table.schema)
    spans = {name: Span() for name in setup.names}
    generation = PlannedGeneration(setup=setup, queries=tuple(workload), spans=spans)
    plan = StreamPlan(
        generations={0: generation},
        buckets={0: drawn.number(1, 5)},
        lateness=lateness * 1_000_000,
        per_second=1_000_000,
        source="events",
    )
    payload = pickle.dumps(plan)
    tester = TwsTester(BucketProcessor(payload))
    sink = Collected()
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(folder)
        checkpoint.prepare()
        writer = BatchWriter(plan=plan, checkpoint=checkpoint, sink=sink, rejects=None)
        arriving = [*batches_of(disordered(table, lateness, drawn), drawn), table.slice(0, 0)]
        for number, batch in enumerate(arriving):
            is_last = number == len(arriving) - 1
            by_bucket: dict[str, list[Row]] = {}
            for bucket, row in packed_rows(plan, batch, drawn, end=is_last):
                by_bucket.setdefault(bucket, []).append(row)
            answers = [
                Answer(**row.asDict())
                for bucket, rows in by_bucket.items()
                for row in tester.test(bucket, rows)
            ]
            writer.write(met(payload, answers), number)
        assert writer.progress.late == 0
    return by_query(sink.pieces)


def met(payload: bytes, answers: list[Answer]) -> list[Answer]:
    """Return answers as they leave the shuffle by shares."""
    by_share: dict[int, list[Answer]] = {}
    for answer in answers:
        by_share.setdefault(answer.share, []).append(answer)
    batches = [
        batch
        for rows in by_share.values()
        for batch in MergePartials(payload)([answers_batch(rows)])
    ]
    finished = list(answers_of(batches))
    assert not any(answer.kind in MERGED_KINDS for answer in finished)
    return finished


def check(workload: Workload, table: pa.Table, drawn: Drawn) -> None:
    rows = streamed(workload, table, drawn)
    for name, result in workload.run(table).items():
        expected = result.to_arrow()
        live = rows.pop(name, expected.slice(0, 0))
        assert live.schema.equals(expected.schema), name
        assert_same_rows(live.to_pylist(), expected.to_pylist(), name)
    assert not rows


@RELAXED
@given(trend_cases(exact=None) | trend_cases(exact=None, features=tuple(Feature), most=12), CASES)
def test_of_drawn_trend_queries(case: tuple[object, list[ReferenceEvent]], drawn: Drawn) -> None:
    drawn_queries, events = case
    windowed = [query for query in drawn_queries if query.window is not None]
    assume(windowed)
    workload = Workload(*windowed, exact=drawn_queries.exact)
    try:
        workload.planned()
    except ElsinoreError:
        assume(False)
    check(workload, table_of(events), drawn)
