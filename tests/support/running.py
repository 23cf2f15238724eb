"""A stream that runs in a thread while a test observes it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from elsinore import Workload
from elsinore.connectors.checkpoint import Checkpoint
from elsinore.connectors.files_sink import FilesSink
from elsinore.connectors.places import FolderPlace
from elsinore.language import render
from elsinore.local.stream import LocalStream, Pace
from elsinore.monitor import StreamMonitor, WatchedSink
from elsinore.runtime.live import options_of

TIMEOUT_SECONDS = 60.0  # seconds


class RunningStream:
    """A stream over the files of a folder, and its monitor."""

    def __init__(self, workload: Workload, folder: Path) -> None:
        self._in = folder / "in"
        self._in.mkdir()
        self._files = 0
        self._failures: list[BaseException] = []
        self.workload, self.folder = workload, folder
        texts = {query.name: render(query) for query in workload}
        self.monitor = StreamMonitor(texts, "the folder")

    def add(self, events: pa.Table) -> None:
        """Add a file; return when its events have been processed."""
        before = self.monitor.totals().events
        self._write(events)
        self._wait_for(lambda: self.monitor.totals().events >= before + events.num_rows)

    def _write(self, events: pa.Table) -> None:
        path = self._in / f"{self._files:03}.parquet"
        draft = path.with_suffix(".draft")
        pq.write_table(events, draft)
        draft.rename(path)
        self._files += 1

    @contextmanager
    def running(self, first: pa.Table) -> Iterator[None]:
        """Run the stream, which begins with some events."""
        self._write(first)
        stream = LocalStream(
            self.workload.live_planner(),
            FolderPlace(folder=str(self._in), order="name", rejects=True),
            options_of(lateness=0, rejects=True),
            Checkpoint(self.folder / "checkpoint"),
            WatchedSink(FilesSink(self.folder / "out"), self.monitor),
            pace=Pace(every=0.05),
        )

        def work() -> None:
            try:
                stream.run(self.monitor.progress)
            except BaseException as error:
                self._failures.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            self._wait_for(lambda: self.monitor.last() is not None)
            yield
        finally:
            stream.stop()
            thread.join()

    def _wait_for(self, is_true: Callable[[], bool]) -> None:
        wait_for(lambda: bool(self._failures) or is_true())
        if self._failures:
            raise self._failures[0]


def wait_for(is_true: Callable[[], bool]) -> None:
    """Return once a condition is true; fail if it does not become so."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not is_true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
