"""Live streams in this process: batches of events in, rows as soon as they are final."""

from elsinore.local.live.asynchronous import AsyncLive
from elsinore.local.live.live import Live, LiveStatistics
from elsinore.local.live.options import LiveOptions, options_of, schema_from
from elsinore.local.live.resume import Planner, resume, start

__all__ = [
    "AsyncLive",
    "Live",
    "LiveOptions",
    "LiveStatistics",
    "Planner",
    "options_of",
    "resume",
    "schema_from",
    "start",
]
