"""`elsinore stream --engine local`: the stream in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from elsinore.cli.console import say
from elsinore.cli.monitoring import Monitoring, serve_monitor
from elsinore.cli.streaming import StreamJob
from elsinore.connectors.checkpoint import Checkpoint
from elsinore.connectors.contract import Limit
from elsinore.connectors.targets import early_to, rejects_to
from elsinore.local.stream import LocalStream, Pace
from elsinore.runtime.live import options_of


def stream_local(job: StreamJob) -> None:
    """Run the stream until it ends or is stopped."""
    with serve_monitor(job) as monitoring:
        _run(job, monitoring)


def _run(job: StreamJob, monitoring: Monitoring) -> None:
    """Start the stream, show its progress, and wait for its end."""
    sink = monitoring.watched(job.sink())
    early: Callable[..., Any] | None = None if job.early is None else early_to(sink)
    place = job.place()
    stream = LocalStream(
        job.workload.live_planner(),
        place,
        options_of(**job.reading, buckets=job.buckets or 1),
        Checkpoint(job.checkpoint),
        sink,
        pace=Pace(
            every=job.every,
            early=job.seconds("early", job.early),
            end_on_idle=job.seconds("end_on_idle", job.end_on_idle),
            once=job.once,
            limit=Limit(rows=job.batch_rows),
        ),
        rejects=None if job.rejects is None else rejects_to(job.rejects),
        early=early,
    )
    job.keep_schema(place)
    for name, change in stream.changes.items():
        say(f"{name} is {change.value}.")
    stream.run(monitoring.progress)
