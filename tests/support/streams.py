"""Runs of `elsinore stream` as users start them, killed at drawn moments and started again."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from elsinore import Workload
from support.live import assert_same_rows

TEXT = """
    QUERY sums RETURN g, COUNT(*), SUM(B.v) PATTERN SEQ(A, B+) WHERE [k] GROUP BY g
      WITHIN 10 seconds SLIDE 5 seconds;
    QUERY pairs RETURN a.g, a.time, a.seq, b.seq, b.v PATTERN SEQ(A a, B b) WHERE [g] AND b.v > 8
      STRATEGY SKIP TILL NEXT MATCH WITHIN 5 seconds;
    QUERY equals RETURN b.v PATTERN SEQ(A a, B b) WHERE [g] AND b.v > 8
      STRATEGY SKIP TILL NEXT MATCH WITHIN 5 seconds;
"""
LATENESS = 3  # seconds
READING = ("--lateness", f"{LATENESS} seconds", "--order-by", "seq")
TO_THE_END = ("--trigger", "once", "--end-on-idle", "1 second")
TIMEOUT_SECONDS = 600.0  # seconds until a process that neither ends nor works fails the test
PRELOADED = [
    "elsinore.cli.app",
    "elsinore.cli.stream_local",
    "elsinore.local.live",
    "elsinore.connectors.places",
    "pyarrow.dataset",
]


def events(rows: int = 600, *, seed: int = 1, seconds: int = 60) -> pa.Table:
    """Return events of whole seconds, out of order by up to LATENESS."""
    draw = np.random.default_rng(seed)
    times = np.sort(draw.integers(0, seconds, rows))
    table = pa.table(
        {
            "time": times,
            "type": draw.choice(["A", "B"], rows),
            "g": draw.integers(0, 3, rows),
            "k": draw.integers(0, 20, rows),
            "v": draw.integers(0, 10, rows).astype(float),
            "seq": np.arange(rows),
        }
    )
    arrival = np.argsort(times + draw.integers(0, LATENESS + 1, rows), kind="stable")
    return table.take(pa.array(arrival))


def write_files(table: pa.Table, folder: Path, files: int = 1, *, first: int = 0) -> None:
    """Write a table as Parquet files of a folder, in row groups of ten events."""
    folder.mkdir(exist_ok=True)
    size = -(-table.num_rows // files)
    for number in range(files):
        path = folder / f"{first + number:03}.parquet"
        pq.write_table(table.slice(number * size, size), path, row_group_size=10)


def check_files(out: Path, table: pa.Table, text: str = TEXT, file_format: str = "parquet") -> None:
    """Check that the files of results have each row of a batch run once."""
    for name, expected in batch_rows(table, text).items():
        rows = ds.dataset(out / name, format=file_format).to_table()
        assert_same_rows(rows.select(expected.column_names).to_pylist(), expected.to_pylist(), name)


def check_messages(messages: Iterable[Any], table: pa.Table, text: str = TEXT) -> None:
    """Check that messages have each row of a batch run once, if the last of each key counts."""
    by_query: dict[str, dict[bytes, Any]] = {}
    for message in messages:
        (query,) = (value.decode() for name, value in message.headers() if name == "query")
        by_query.setdefault(query, {})[message.key()] = json.loads(message.value())
    for name, expected in batch_rows(table, text).items():
        assert_same_rows(list(by_query[name].values()), expected.to_pylist(), name)


def batch_rows(table: pa.Table, text: str = TEXT) -> dict[str, pa.Table]:
    """Return the results of a batch run over events."""
    results = Workload.parse(text).run(table, order_by="seq")
    return {name: result.to_arrow() for name, result in results.items()}


def command(folder: Path, *options: str, text: str = TEXT) -> list[str]:
    """Return the arguments of a stream of a folder's workload, with its checkpoint there."""
    (folder / "w.cep").write_text(text)
    start = ["stream", str(folder / "w.cep"), "--checkpoint", str(folder / "checkpoint")]
    return [*start, *READING, *options]


class Stream:
    """A process group that runs `elsinore`; its standard error goes to a file."""

    def __init__(self, arguments: Sequence[str], log: Path, settings: Mapping[str, str]) -> None:
        self._log = log
        self._process = _context().Process(
            target=_run_command, args=(list(arguments), str(log), dict(settings))
        )
        self._process.start()

    @property
    def pid(self) -> int:
        """The process's id, which is that of its group."""
        pid = self._process.pid
        assert pid is not None
        return pid

    @property
    def said(self) -> str:
        """What the process has written by now."""
        return self._log.read_text() if self._log.exists() else ""

    @property
    def batches(self) -> int:
        """How many micro-batches the process has reported."""
        return sum(line.startswith("batch ") for line in self.said.splitlines())

    def status(self) -> int | None:
        """Return the exit status; None while the process runs."""
        return self._process.exitcode

    def wait(self, batches: int | None = None) -> int | None:
        """Wait until the process has ended or reported so many micro-batches; return its status."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while self.status() is None and (batches is None or self.batches < batches):
            assert time.monotonic() < deadline, self.said
            self._process.join(0.01)
        return self.status()

    def kill(self) -> None:
        """Kill the process group."""
        if self.status() is None:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:  # it has no group of its own yet
                self._process.kill()
        self._process.join()


@contextmanager
def running(arguments: Sequence[str], log: Path, **settings: str) -> Iterator[Stream]:
    """Run `elsinore` in a new process group, with variables of the environment."""
    stream = Stream(arguments, log, settings)
    try:
        yield stream
    finally:
        stream.kill()


def crash(
    arguments: Sequence[str], folder: Path, *, kills: int, seed: int, batch: float, least: int = 0
) -> None:
    """Run a stream, which must be long enough, to its end, killing it so many times.

    Each kill comes after a drawn number of micro-batches, two at most, and a drawn part of the
    seconds that one takes.
    """
    draw = random.Random(seed)
    for number in range(kills):
        with running(arguments, folder / f"{number}.log") as stream:
            batches_before_kill = draw.randint(least, 2)
            if stream.wait(batches_before_kill) is None:
                time.sleep(draw.random() * batch)
            stream.kill()
            assert stream.status() == -signal.SIGKILL, stream.said
    with running(arguments, folder / "last.log") as stream:
        assert stream.wait() == 0, stream.said


def _context() -> Any:
    """Return a starter of processes forked from one that has loaded Elsinore, which is fast."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def _run_command(arguments: list[str], log: str, settings: dict[str, str]) -> None:
    """Run the command line in this process, as its own process group."""
    os.setsid()
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.environ.update(settings)
    sys.argv = ["elsinore", *arguments]
    from elsinore.cli import main

    main()
