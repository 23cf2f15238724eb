"""Live streams on Spark: Structured Streaming with the state of buckets.

`stream` is what users handle; `source` and `tasks` read events and pack them for their buckets;
`processor` runs buckets in `transformWithState`; `meeting` adds up what several buckets have of a
group; `sink` writes each micro-batch and keeps progress in the `checkpoint`.
"""

from elsinore.spark.live.planned import planned_stream
from elsinore.spark.live.stream import LiveStream, RunningStream

__all__ = ["LiveStream", "RunningStream", "planned_stream"]
