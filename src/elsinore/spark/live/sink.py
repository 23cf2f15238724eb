"""The end of each micro-batch: results are written, then progress is saved, then Spark commits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from elsinore.connectors.checkpoint import Checkpoint
from elsinore.connectors.contract import Sink
from elsinore.runtime.live import ProgressLog, StreamProgress, summed_bursts
from elsinore.runtime.times import TimeKind, from_ticks
from elsinore.spark.live.rows import (
    COUNTS,
    EARLY,
    REJECTS,
    RESULT,
    Answer,
    BucketCounts,
    answers_of,
    from_bytes,
)
from elsinore.spark.live.tasks import StreamPlan

# Spark's classes of interruptions, which it searches for when a stream stops in a micro-batch
INTERRUPTIONS = (
    "java.lang.InterruptedException",
    "java.io.InterruptedIOException",
    "java.nio.channels.ClosedByInterruptException",
)
MAX_ERROR_CHARACTERS = 400  # characters of an error's text


class BatchError(Exception):
    """A micro-batch could not be written; the writer's `failure` is the cause."""


@dataclass(slots=True)
class BatchWriter:
    """Writes micro-batches: the function for `foreachBatch`.

    `sink` receives results, `rejects` rejected records, `early` values of open windows. `ended` is
    the micro-batch with which the stream ended, else None. `on_progress_saved` receives the saved
    progress, in the stream's thread.
    """

    plan: StreamPlan
    checkpoint: Checkpoint
    sink: Sink
    rejects: Callable[[int, pa.Table], object] | None
    early: Callable[[str, int, pa.Table], object] | None = None
    progress: ProgressLog = field(default_factory=ProgressLog)
    on_progress: Callable[[StreamProgress], object] | None = None
    failure: BaseException | None = None
    ended: int | None = None
    on_progress_saved: Callable[[Mapping[str, Any]], object] | None = None

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Write a micro-batch."""
        try:
            self.write(answers_of(frame.toArrow().to_batches()), batch)
        except BaseException as error:
            self.failure = error
            raise BatchError(_for_spark(str(error))) from None

    def write(self, rows_of_answers: Iterable[Answer], batch: int) -> None:
        """Write the results and rejects in the rows of a micro-batch."""
        start_time = time.monotonic()
        answers = list(rows_of_answers)
        rows = {}
        for name, table in self._results(answers, RESULT).items():
            self.sink.write(name, batch, table)
            rows[name] = table.num_rows
        for name in self.plan.query_names - rows.keys():
            self.sink.discard(name, batch)
        if self.early is not None:
            for name, table in self._results(answers, EARLY).items():
                self.early(name, batch, table)
        rejects = [from_bytes(answer.blob) for answer in answers if answer.kind == REJECTS]
        if rejects and self.rejects is not None:
            self.rejects(batch, pa.concat_tables(rejects))
        self.sink.flush()
        counts = [
            (answer.number, BucketCounts.load(answer.blob))
            for answer in answers
            if answer.kind == COUNTS
        ]
        if counts:
            self._save_progress(batch, counts, rows, start_time)

    def _results(self, answers: list[Answer], kind: str) -> dict[str, pa.Table]:
        """Return the result rows of one kind by the queries' names."""
        tables: dict[tuple[int, int], list[pa.Table]] = {}
        for answer in answers:
            if answer.kind == kind:
                tables.setdefault((answer.generation, answer.number), []).append(
                    from_bytes(answer.blob)
                )
        results: dict[str, list[pa.Table]] = {}
        for number, generation in self.plan.generations.items():
            setup = generation.setup
            for place in range(len(setup.passes)):
                pass_results = self.plan.results(number, place)
                for query, form in pass_results.forms.items():
                    span = generation.spans.get(setup.names[query])
                    pieces = tables.get((number, query))
                    if span is None or not pieces:
                        continue
                    rows = span.filter(pa.concat_tables(pieces), form)
                    if rows.num_rows:
                        table = pass_results.presented(query, rows)
                        results.setdefault(setup.names[query], []).append(table)
        return {name: pa.concat_tables(pieces) for name, pieces in results.items()}

    def _save_progress(
        self,
        batch: int,
        counts: list[tuple[int, BucketCounts]],
        rows: dict[str, int],
        start_time: float,
    ) -> None:
        """Save the progress after a micro-batch, and report it."""
        batch_counts = counts[0][1]  # of the whole micro-batch, the same in all
        late = batch_counts.task_late + late_events(counts)
        watermarks = [answer.watermark for _, answer in counts if answer.watermark is not None]
        times = [answer.greatest for _, answer in counts if answer.greatest is not None]
        newest = self.plan.generations[max(self.plan.generations)]
        kind = newest.setup.time
        greatest = max(times, default=None)
        open_windows = {} if greatest is None else newest.open_windows(greatest)
        if batch_counts.ended:
            open_windows = dict.fromkeys(open_windows, 0)
        reached_all = min(watermarks, default=None)
        now = time.time()
        progress = StreamProgress(
            batch=batch,
            events=batch_counts.events,
            rejected=batch_counts.rejected,
            late=late,
            rows=rows,
            watermark=_input_time(reached_all, kind),
            greatest=_input_time(greatest, kind),
            waiting=sum(answer.waiting for _, answer in counts),
            keys=sum(answer.keys for _, answer in counts),
            state_bytes=sum(answer.state_bytes for _, answer in counts),
            seconds=time.monotonic() - start_time,
            finished=now,
            lag=batch_counts.lag,
            open_windows=open_windows,
            sharing=summed_bursts(bursts for _, answer in counts for bursts in answer.sharing),
            watermark_delay=None
            if reached_all is None
            else now - reached_all / self.plan.per_second,
        )
        progress_facts = {
            "batch": batch,
            "before": self._watermark_before(batch),
            "watermark": None if batch_counts.ended else reached_all,
            "greatest": greatest,
        }
        self.checkpoint.save_progress(progress_facts)
        if self.on_progress_saved is not None:
            self.on_progress_saved(progress_facts)
        if batch_counts.ended:
            self.ended = batch
        self.progress.add(progress)
        if self.on_progress is not None:
            self.on_progress(progress)

    def _watermark_before(self, batch: int) -> Any:
        """Return the watermark before a micro-batch, which may be a replay of the last one."""
        saved_progress = self.checkpoint.progress()
        return saved_progress.get("before" if saved_progress.get("batch") == batch else "watermark")


def late_events(counts: Iterable[tuple[int, BucketCounts]]) -> int:
    """Return the number of events that only buckets detected as late: the maximum over passes."""
    by_pass: dict[int, int] = {}
    for pass_number, answer in counts:
        by_pass[pass_number] = by_pass.get(pass_number, 0) + answer.late
    return max(by_pass.values())


def _input_time(ticks: int | None, kind: TimeKind) -> Any:
    """Return a time in ticks as a time of the input."""
    return None if ticks is None else from_ticks(pa.array([ticks], pa.int64()), kind)[0].as_py()


def _for_spark(text: str) -> str:
    """Return an error's text, shortened because Spark searches it for interruptions.

    Its regular expression overflows the JVM's stack on the text of a Java error with stack trace.
    """
    for name in INTERRUPTIONS:
        if name in text:
            return f"py4j.protocol.Py4JJavaError: An error occurred while calling {name}"
    return text[:MAX_ERROR_CHARACTERS]
