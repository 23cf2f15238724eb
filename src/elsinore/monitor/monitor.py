"""The observed state of a running stream: progress, recent micro-batches, last results."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow as pa

from elsinore.connectors.contract import Sink
from elsinore.runtime.live.progress import ProgressLog, StreamProgress

POINTS = 900  # micro-batches in charts: a quarter of an hour with triggers of a second
LATEST_ROWS = 10  # of each query
LONGEST_VALUE = 200  # characters of a value that is shown


class StreamMonitor:
    """Collects a stream's reports; other threads may read it.

    queries: each query's text by its name. source: the name of the source of events.
    """

    def __init__(self, queries: Mapping[str, str], source: str) -> None:
        self.queries = dict(queries)
        self.source = source
        self.started = time.time()
        self._log = ProgressLog()
        self.revision = 0  # incremented by every change
        self._points: deque[tuple[int, dict[str, Any]]] = deque(maxlen=POINTS)
        self._latest: dict[str, tuple[list[str], list[list[str]]]] = {}
        self._lock = threading.Lock()

    def progress(self, progress: StreamProgress) -> None:
        """Record the progress of a micro-batch."""
        with self._lock:
            before = self._log.recent[-1].finished if self._log.recent else None
            seconds = progress.seconds if before is None else progress.finished - before
            self._log.add(progress)
            self.revision += 1
            point = {
                "time": progress.finished,
                "rate": progress.events / seconds if seconds > 0 else 0.0,
                "lag": progress.lag,
                "delay": progress.watermark_delay,
                "seconds": progress.seconds,
            }
            self._points.append((self._log.batches, point))

    def rows(self, query: str, rows: pa.Table) -> None:
        """Add result rows of a query; the last rows are stored."""
        if not rows.num_rows:
            return
        last_rows = rows.slice(max(0, rows.num_rows - LATEST_ROWS))
        texts = [[value_text(value) for value in row.values()] for row in last_rows.to_pylist()]
        with self._lock:
            _, before = self._latest.get(query, ([], []))
            self._latest[query] = (list(rows.column_names), (before + texts)[-LATEST_ROWS:])
            self.revision += 1

    def totals(self) -> ProgressLog:
        """Return a copy of the totals since the start."""
        with self._lock:
            return replace(self._log, rows=dict(self._log.rows), recent=self._log.recent.copy())

    def last(self) -> StreamProgress | None:
        """Return the progress of the last micro-batch; None before the first one."""
        with self._lock:
            return self._log.recent[-1] if self._log.recent else None

    def watermark_delay(self) -> float | None:
        """Return the seconds by which the watermark is behind the machine's clock now."""
        last_batch = self.last()
        if last_batch is None or last_batch.watermark_delay is None:
            return None
        return last_batch.watermark_delay + max(0.0, time.time() - last_batch.finished)

    def snapshot(self, after: int = 0) -> dict[str, Any]:
        """Return the page's content as JSON values, with chart points of batches after `after`.

        `batches` of one snapshot is `after` for the next one.
        """
        with self._lock:
            log = self._log
            last_batch = log.recent[-1] if log.recent else None
            return {
                "source": self.source,
                "started": self.started,
                "batches": log.batches,
                "points": [point for number, point in self._points if number > after],
                "totals": {"events": log.events, "late": log.late, "rejected": log.rejected},
                "rate": log.events_per_second(),
                "now": None if last_batch is None else _last(last_batch),
                "sharing": [
                    {
                        "pattern": counts.pattern,
                        "queries": list(counts.queries),
                        "bursts": counts.bursts,
                        "shared": counts.shared,
                        "now": _of_batch(last_batch, counts.pattern, counts.queries),
                    }
                    for counts in log.sharing
                ],
                "queries": [self._query(name, last_batch) for name in self._names()],
            }

    def _names(self) -> list[str]:
        return [*self.queries, *(name for name in self._latest if name not in self.queries)]

    def _query(self, name: str, last_batch: StreamProgress | None) -> dict[str, Any]:
        columns, rows = self._latest.get(name, ([], []))
        return {
            "name": name,
            "text": self.queries.get(name, ""),
            "rows": self._log.rows.get(name, 0),
            "windows": None if last_batch is None else last_batch.open_windows.get(name),
            "columns": columns,
            "latest": rows,
        }


class WatchedSink:
    """Writes to a sink, and passes the rows to a monitor."""

    def __init__(self, sink: Sink, monitor: StreamMonitor) -> None:
        self._sink, self._monitor = sink, monitor

    def write(self, query: str, batch: int, rows: pa.Table) -> object:
        """Write the rows of a query."""
        result = self._sink.write(query, batch, rows)
        self._monitor.rows(query, rows)
        return result

    def discard(self, query: str, batch: int) -> object:
        """Remove rows that an earlier attempt wrote of a query's micro-batch."""
        return self._sink.discard(query, batch)

    def flush(self) -> None:
        """Return when everything is written durably."""
        self._sink.flush()

    def close(self) -> None:
        """Release what is open."""
        self._sink.close()


def value_text(value: Any) -> str:
    """Return a value of a result as text, truncated to `LONGEST_VALUE` characters.

    >>> value_text(3.0), value_text(0.1 + 0.2), value_text(None)
    ('3', '0.3', 'null')
    """
    if value is None:
        return "null"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else f"{value:.6g}"
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def _last(last_batch: StreamProgress) -> dict[str, Any]:
    """Return the page's content about the last micro-batch."""
    windows = [number for number in last_batch.open_windows.values() if number is not None]
    return {
        "finished": last_batch.finished,
        "lag": last_batch.lag,
        "watermark": None if last_batch.watermark is None else _to_seconds(last_batch.watermark),
        "delay": last_batch.watermark_delay,
        "windows": sum(windows) if windows else None,
        "keys": last_batch.keys,
        "waiting": last_batch.waiting,
        "state_bytes": last_batch.state_bytes,
        "seconds": last_batch.seconds,
    }


def _to_seconds(time: Any) -> str:
    return time.isoformat(" ", "seconds") if isinstance(time, datetime) else str(time)


def _of_batch(
    last_batch: StreamProgress | None, pattern: str, queries: Sequence[str]
) -> dict[str, int] | None:
    """Return the numbers of all and of shared bursts of a sub-pattern in the last micro-batch."""
    for counts in () if last_batch is None else last_batch.sharing:
        if counts.pattern == pattern and counts.queries == tuple(queries):
            return {"bursts": counts.bursts, "shared": counts.shared}
    return None
