"""`elsinore stream --engine spark`: the stream on Spark Structured Streaming."""

from __future__ import annotations

from typing import Any

from elsinore.cli.monitoring import serve_monitor
from elsinore.cli.streaming import StreamJob
from elsinore.connectors.targets import early_to
from elsinore.spark.session import local_session


def stream_spark(job: StreamJob, master: str) -> None:
    """Run the stream until it ends or is stopped."""
    place = job.place()
    trigger: dict[str, Any] = {"processingTime": f"{job.every} seconds"}
    with (
        serve_monitor(job) as monitoring,
        local_session(master, name="elsinore stream") as spark,
    ):
        sink = monitoring.watched(job.sink())
        planned_stream = job.workload.stream(
            place,
            **job.reading,
            early=job.early,
            end_on_idle=job.end_on_idle,
            buckets=job.buckets,
            batch_rows=job.batch_rows,
            spark=spark,
        )
        job.keep_schema(place)
        running = planned_stream.start(
            sink=sink,
            checkpoint=job.checkpoint,
            rejects=job.rejects,
            early=None if job.early is None else early_to(sink),
            trigger={"availableNow": True} if job.once else trigger,
            on_progress=monitoring.progress,
        )
        running.await_termination()
