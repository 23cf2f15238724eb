"""Merging partial outputs of groups whose keys are in several buckets, within a micro-batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from elsinore.spark.live.rows import (
    EARLY,
    EARLY_PARTIAL,
    PARTIAL,
    RESULT,
    Answer,
    answers_batch,
    answers_of,
    from_bytes,
    to_bytes,
)
from elsinore.spark.live.tasks import StreamPlan, loaded_plan

MERGED_KINDS = {PARTIAL: RESULT, EARLY_PARTIAL: EARLY}


class MergePartials:
    """Computes results from partial outputs (`mapInArrow`); a share's rows are in one partition."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, with partial outputs replaced by results."""
        waiting: dict[tuple[str, int, int], list[pa.RecordBatch]] = {}
        for answer in answers_of(batches):
            if answer.kind in MERGED_KINDS:
                place = answer.kind, answer.generation, answer.number
                waiting.setdefault(place, []).extend(from_bytes(answer.blob).to_batches())
            else:
                yield answers_batch([answer])
        if waiting:
            plan = loaded_plan(self._payload)
            for (kind, generation, pass_number), rows in waiting.items():
                yield from _results(plan, MERGED_KINDS[kind], generation, pass_number, rows)


def _results(
    plan: StreamPlan, kind: str, generation: int, pass_number: int, rows: list[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for number, table in plan.results(generation, pass_number).finished(rows).items():
        blob = to_bytes(table, table.schema)
        yield answers_batch([Answer(kind, generation, number, 0, blob)])
