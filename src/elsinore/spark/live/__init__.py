"""Live streams on Spark: Structured Streaming with the state of buckets.

`stream` has the users' classes; `source` and `tasks` read events and pack them for their buckets;
`processor` runs buckets in `transformWithState`; `merging` adds up partial outputs of groups that
several buckets share; `sink` writes each micro-batch and keeps progress in the `checkpoint`.
"""

from elsinore.spark.live.planned import planned_stream
from elsinore.spark.live.stream import LiveStream, RunningStream

__all__ = ["LiveStream", "RunningStream", "planned_stream"]
