"""A live run for programs that use asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

import pyarrow as pa

from elsinore.local.live.live import Live, Rows


class AsyncLive:
    """A live run that works in a thread, so that it does not block the event loop.

    Its methods are coroutines for those of `Live`; calls are serialized. Cancelling a call does not
    interrupt its work: the batch is still added.
    """

    def __init__(self, live: Live) -> None:
        self.live = live
        self._lock = asyncio.Lock()

    async def push(self, data: Any, *, partition: str = "") -> Rows:
        """Add a batch of events; return (query, rows) of final results (`Live.push`)."""
        async with self._lock:
            return await asyncio.to_thread(self.live.push, data, partition=partition)

    async def poll(self) -> Rows:
        """Return results that are final without further events (`Live.poll`)."""
        async with self._lock:
            return await asyncio.to_thread(self.live.poll)

    async def early(self) -> Rows:
        """Return the current values of open windows (`Live.early`)."""
        async with self._lock:
            return await asyncio.to_thread(self.live.early)

    async def end(self) -> Rows:
        """Return the remaining rows (`Live.end`)."""
        async with self._lock:
            return await asyncio.to_thread(self.live.end)

    async def save(self) -> bytes:
        """Return the state (`Live.save`)."""
        async with self._lock:
            return await asyncio.to_thread(self.live.save)

    async def follow(self, batches: AsyncIterable[Any]) -> AsyncIterator[tuple[str, pa.Table]]:
        """Push batches as they come and yield the rows; at their end, end the run."""
        async for batch in batches:
            for rows in await self.push(batch):
                yield rows
        for rows in await self.end():
            yield rows
