"""Destinations of a stream's results: files, a sink, or a user's function."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa

from elsinore.connectors.contract import Sink
from elsinore.connectors.files_sink import FileFormat, RejectsSink
from elsinore.connectors.places import sink_of
from elsinore.errors import InputError
from elsinore.model import Query
from elsinore.model.kinds import Kind
from elsinore.runtime.live import Length, LiveOptions

ForeachBatch = Callable[[dict[str, pa.Table], int], object]
EarlyWrite = Callable[[str, int, pa.Table], object]


class EachBatch:
    """A sink that calls a function once per micro-batch."""

    def __init__(self, function: ForeachBatch) -> None:
        self._function = function
        self._results: dict[str, pa.Table] = {}
        self._batch = 0

    def write(self, query: str, batch: int, rows: pa.Table) -> None:
        """Collect the rows until `flush`."""
        self._results[query] = rows
        self._batch = batch

    def discard(self, query: str, batch: int) -> None:
        """Do nothing: on replay the function is called again with the batch's rows."""

    def flush(self) -> None:
        """Call the function, if there are rows."""
        results, self._results = self._results, {}
        if results:
            self._function(results, self._batch)

    def close(self) -> None:
        """Do nothing: the function is the user's."""


def early_to(sink: Sink) -> EarlyWrite:
    """Return a function that writes values of open windows to a sink, as QUERY.early."""
    return lambda name, batch, table: sink.write(early_name(name), batch, table)


def early_name(query: str) -> str:
    """Return the name under which values of open windows are written.

    >>> early_name("trips")
    'trips.early'
    """
    return f"{query}.early"


def key_columns(queries: Iterable[Query]) -> dict[str, tuple[str, ...]]:
    """Return the columns that identify a row of each query, for the keys of Kafka messages.

    They are the group and the window of trend queries, also for the values of open windows. Other
    queries are absent: their rows are identified by their values and their micro-batch.
    """
    return {
        name: (*query.group_by, *(("window_start",) if query.window is not None else ()))
        for query in queries
        if query.kind is Kind.TRENDS
        for name in (query.name, early_name(query.name))
    }


def target_of(
    path: str | Path | None,
    file_format: FileFormat,
    sink: Sink | None,
    foreach_batch: ForeachBatch | None,
    queries: Iterable[Query] = (),
) -> Sink:
    """Return the named sink. Raises InputError for none or several.

    `path` is a folder, or kafka:TOPIC@HOST:PORT; `queries` are those whose results are written.
    """
    targets: list[Sink] = []
    if not isinstance(path, str | os.PathLike | None):
        raise InputError(
            f"A path is a text or a Path, not {type(path).__name__}. Functions receive results as "
            "foreach_batch=..., sinks as sink=..."
        )
    if path is not None:
        targets.append(sink_of(str(path), file_format=file_format, keys=key_columns(queries)))
    if sink is not None:
        targets.append(sink)
    if foreach_batch is not None:
        targets.append(EachBatch(foreach_batch))
    if len(targets) != 1:
        raise InputError(
            "A stream writes its results to one place: name a path, a sink or a function "
            f"(foreach_batch), not {'several' if targets else 'none'} of them."
        )
    return targets[0]


def rejects_to(folder: str | Path) -> Callable[[int, pa.Table], object]:
    """Return a function that writes rejected records to a folder, a file per micro-batch."""
    return RejectsSink(folder).write


def check_outputs(
    options: LiveOptions,
    interval: Length | None,
    rejects: str | Path | None,
    early: EarlyWrite | None,
) -> None:
    """Raise InputError for an output that the stream was not planned for.

    `interval` is the interval at which values of open windows are written; None: never.
    """
    if rejects is not None and not options.request.rejects:
        raise InputError(
            "start(rejects=FOLDER) needs workload.stream(..., rejects=True): without that, an "
            "event that cannot be used stops the stream."
        )
    if early is not None and interval is None:
        raise InputError(
            'start(early=FUNCTION) needs workload.stream(..., early="10 seconds"), which says '
            "how often values of open windows are returned."
        )
