"""The users' classes of streams in this process: planned, started, awaited and stopped.

They have the methods of the streams on Spark (`elsinore.spark.live`), and need no JVM.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from elsinore.connectors.checkpoint import Checkpoint
from elsinore.connectors.contract import Limit, Sink
from elsinore.connectors.files_sink import FileFormat
from elsinore.connectors.places import Place, columns_of, place_of
from elsinore.connectors.targets import (
    EarlyWrite,
    ForeachBatch,
    check_outputs,
    early_to,
    rejects_to,
    target_of,
)
from elsinore.errors import InputError, kind_of_value
from elsinore.local.stream import LocalStream, Pace
from elsinore.runtime.live import (
    Change,
    Length,
    LiveOptions,
    Planner,
    ProgressLog,
    StreamProgress,
    seconds_of,
)

LOG = logging.getLogger("elsinore.live")

Trigger = Mapping[str, Any]


class PlannedLocalStream:
    """A planned stream, to be started; returned by `Workload.stream(engine="local")`."""

    def __init__(self, planner: Planner, options: LiveOptions, place: Place, pace: Pace) -> None:
        self._planner, self._reading, self._place, self._pace = planner, options, place, pace
        self.schema = columns_of(place)
        # also raises errors for queries that cannot run, before anything is started
        planner.plan(planner.queries, planner.exact, self.schema, options, False)

    def start(
        self,
        path: str | Path | None = None,
        *,
        checkpoint: str | Path,
        format: FileFormat = "parquet",  # noqa: A002 - as on Spark
        sink: Sink | None = None,
        foreach_batch: ForeachBatch | None = None,
        early: EarlyWrite | None = None,
        rejects: str | Path | None = None,
        trigger: Trigger | None = None,
        on_progress: Callable[[StreamProgress], object] | None = None,
    ) -> RunningLocalStream:
        """Start the stream in a thread; return a handle on it.

        The arguments are those of `elsinore.spark.live.LiveStream.start`. trigger: a micro-batch
        begins every {"processingTime": "1 second"} (by default), if there are events; with
        {"availableNow": True} the stream stops when all available events have been read.

        Raises OutputError for a checkpoint that cannot be written, StateError for one of another
        engine or version.
        """
        check_outputs(self._reading, self._pace.early, rejects, early)
        pace = _with_trigger(self._pace, trigger)
        target = target_of(path, format, sink, foreach_batch, self._planner.queries)
        if early is None and pace.early is not None:
            early = early_to(target)
        stream = LocalStream(
            self._planner,
            self._place,
            self._reading,
            Checkpoint(checkpoint),
            target,
            pace=pace,
            rejects=None if rejects is None else rejects_to(rejects),
            early=early,
        )
        return RunningLocalStream(stream, on_progress)


class RunningLocalStream:
    """A stream that was started in this process.

    `changes` has the change of each query, by name, after a restart with another workload.
    """

    def __init__(
        self, stream: LocalStream, on_progress: Callable[[StreamProgress], object] | None
    ) -> None:
        self.changes: Mapping[str, Change] = stream.changes
        self._stream = stream
        self._failure: BaseException | None = None
        self._thread = threading.Thread(
            target=self._work, args=(on_progress,), name="elsinore stream", daemon=True
        )
        self._thread.start()

    @property
    def is_active(self) -> bool:
        """Whether the stream runs."""
        return self._thread.is_alive()

    @property
    def progress(self) -> ProgressLog:
        """The progress since the stream was started."""
        return self._stream.progress

    @property
    def recent_progress(self) -> list[StreamProgress]:
        """The progress of the last micro-batches, the last one last."""
        return list(self.progress.recent)

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the stream ends, at most `timeout` seconds; return whether it has ended.

        Raises the error that stopped a failed stream: InputError for unusable events, OutputError
        for a place that cannot be written.
        """
        self._thread.join(timeout)
        if self._failure is not None:
            raise self._failure
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Stop the stream after its micro-batch; it can be continued from its checkpoint."""
        self._stream.stop()
        self._thread.join()

    def _work(self, on_progress: Callable[[StreamProgress], object] | None) -> None:
        try:
            self._stream.run(on_progress)
        except BaseException as error:  # raised by await_termination
            self._failure = error


def planned_local(
    planner: Planner,
    source: Any,
    options: LiveOptions,
    *,
    early: Length | None,
    end_on_idle: Length | None,
    batch_rows: int,
    schema: str | pa.Schema | None,
    kafka: Mapping[str, Any],
) -> PlannedLocalStream:
    """Return the stream in this process that `Workload.stream` describes.

    kafka: the arguments of `place_of` that describe a topic.
    """
    if isinstance(source, str | Path):
        rejects = options.request.rejects
        source = place_of(str(source), schema=schema, rejects=rejects, report=LOG.info, **kafka)
    if not hasattr(source, "open"):
        raise InputError(
            'stream(engine="local") reads a folder or kafka:TOPIC@HOST:PORT, not '
            f"{kind_of_value(source)}. Leave the engine out for a streaming DataFrame of Spark; "
            "Workload.live takes batches of events."
        )
    pace = Pace(
        early=None if early is None else seconds_of(early, "early"),
        end_on_idle=None if end_on_idle is None else seconds_of(end_on_idle, "end_on_idle"),
        limit=Limit(rows=batch_rows),
    )
    return PlannedLocalStream(planner, options, source, pace)


def _with_trigger(pace: Pace, trigger: Trigger | None) -> Pace:
    """Return the pace with one of Spark's triggers. Raises InputError for unsupported ones."""
    if not trigger:
        return pace
    match dict(trigger):
        case {"processingTime": every, **rest} if not rest:
            return replace(pace, every=seconds_of(every, "trigger"))
        case {"availableNow": True, **rest} if not rest:
            return replace(pace, every=0.0, once=True)
    raise InputError(
        f"A stream in this process has no trigger {dict(trigger)}. Name one of "
        '{"processingTime": "1 second"} and {"availableNow": True}.'
    )
