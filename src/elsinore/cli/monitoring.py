"""Showing the progress of `elsinore stream`: on the terminal, as a log, metrics and a page."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table

from elsinore.cli.console import ArgumentError, cell, say
from elsinore.cli.streaming import StreamJob
from elsinore.errors import InputError
from elsinore.language import render
from elsinore.words import count

if TYPE_CHECKING:
    from elsinore.connectors.contract import Sink
    from elsinore.monitor import StreamMonitor
    from elsinore.runtime.live import StreamProgress


@dataclass(frozen=True, slots=True)
class Monitoring:
    """Receives the progress and the results of a running stream."""

    monitor: StreamMonitor
    log: str
    display: Live | None

    def watched(self, sink: Sink) -> Sink:
        """Return a sink that also shows what is written to it."""
        from elsinore.monitor import WatchedSink  # noqa: PLC0415 - loads Arrow

        return WatchedSink(sink, self.monitor)

    def progress(self, progress: StreamProgress) -> None:
        """Show the progress of a micro-batch."""
        self.monitor.progress(progress)
        if self.log == "json":
            sys.stderr.write(json.dumps(progress.facts(), default=str) + "\n")
            sys.stderr.flush()
        elif self.display is not None:
            self.display.update(progress_table(self.monitor), refresh=True)
        elif self.log == "text":
            say(progress_line(progress))


@contextmanager
def serve_monitor(job: StreamJob) -> Iterator[Monitoring]:
    """Serve metrics and the page during the block if requested; print their addresses.

    Raises ArgumentError for an address that cannot be bound.
    """
    from elsinore import monitor as watch  # noqa: PLC0415 - loads Arrow

    texts = {query.name: render(query) for query in job.workload}
    monitor = watch.StreamMonitor(texts, job.source)
    with ExitStack() as stack:
        try:
            if job.metrics is not None:
                address = stack.enter_context(
                    watch.serve_metrics(monitor, watch.listening_at(job.metrics))
                )
                say(f"Metrics: {address}")
            if job.page is not None:
                address = stack.enter_context(
                    watch.serve_page(monitor, watch.listening_at(job.page))
                )
                say(f"Page: {address}")
        except InputError as error:
            raise ArgumentError(str(error)) from error
        display = None
        console = Console(stderr=True, markup=False, highlight=False, emoji=False)
        if job.log == "text" and console.is_terminal:
            table = progress_table(monitor)
            display = stack.enter_context(Live(table, console=console, auto_refresh=False))
        yield Monitoring(monitor, job.log, display)


def progress_table(monitor: StreamMonitor) -> Table:
    """Return the state of the stream after the last micro-batch as a table of one row."""
    log, last = monitor.totals(), monitor.last()
    shared = sum(counts.shared for counts in log.sharing)
    bursts = sum(counts.bursts for counts in log.sharing)
    windows = [] if last is None else [n for n in last.open_windows.values() if n is not None]
    figures = {
        "events/s": f"{log.events_per_second():,.0f}",
        "events": f"{log.events:,}",
        "lag": "-" if last is None or last.lag is None else f"{last.lag:,}",
        "watermark": "-" if last is None or last.watermark is None else str(last.watermark),
        "open windows": f"{sum(windows):,}" if windows else "-",
        "rows": f"{sum(log.rows.values()):,}",
        "late": f"{log.late:,}",
        "rejected": f"{log.rejected:,}",
        "shared bursts": f"{shared:,} of {bursts:,}" if bursts else "-",
    }
    table = Table()
    for name in figures:
        table.add_column(name, justify="right")
    table.add_row(*map(cell, figures.values()))
    return table


def progress_line(progress: StreamProgress) -> str:
    """Return the progress of a micro-batch as one line."""
    rate = progress.events / progress.seconds if progress.seconds else 0.0
    parts = [
        f"batch {progress.batch}",
        f"{count(progress.events, 'event')} ({rate:,.0f}/s)",
        f"{count(sum(progress.rows.values()), 'row')}",
        f"watermark {progress.watermark}",
    ]
    if progress.lag is not None:
        parts.append(f"lag {progress.lag:,}")
    if progress.late:
        parts.append(f"{progress.late:,} late")
    if progress.rejected:
        parts.append(f"{progress.rejected:,} rejected")
    windows = sum(number or 0 for number in progress.open_windows.values())
    if windows:
        parts.append(count(windows, "open window"))
    if progress.bursts:
        parts.append(f"{progress.shared:,} of {progress.bursts:,} bursts shared")
    return ", ".join(parts)
