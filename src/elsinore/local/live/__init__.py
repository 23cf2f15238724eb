"""Live streams in this process: batches of events in, rows as soon as they are final."""

from elsinore.local.live.asynchronous import AsyncLive
from elsinore.local.live.live import Live, LiveStatistics
from elsinore.local.live.resume import resume, start

__all__ = ["AsyncLive", "Live", "LiveStatistics", "resume", "start"]
