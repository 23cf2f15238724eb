"""Live streams in this process: batches of events in, rows as soon as they are final."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from elsinore.runtime.live import (
    Bucket,
    LiveSetup,
    PassResults,
    Watermark,
    split_by_key,
)


class LiveRun:
    """The buckets of a live stream in this process.

    `push` gives events to buckets and yields (query name, rows) for what is final at the watermark.
    """

    def __init__(self, setup: LiveSetup, watermark: Watermark, *, buckets: int = 1) -> None:
        self._setup = setup
        self._reader = setup.reader()
        self._watermark = watermark
        self._results = [PassResults(of_pass, setup.time) for of_pass in setup.passes]
        self._buckets = [
            [Bucket(of_pass) for _ in range(buckets if len(of_pass.layout.keys) else 1)]
            for of_pass in setup.passes
        ]

    def push(self, table: pa.Table, *, now: float) -> Iterator[tuple[str, pa.Table]]:
        """Add a batch of events; yield the rows that are final at the watermark."""
        events, passes = self._reader.read(table)
        self.add(passes)
        if len(events.times):
            self._watermark.observe(int(events.times.max()), now=now)
        until = self._watermark.at(now)
        if until is not None:
            yield from self._advance(until)

    def add(self, passes: list[pa.Table]) -> None:
        """Give events to the buckets of all passes."""
        for of_pass, buckets, events in zip(self._setup.passes, self._buckets, passes, strict=True):
            shares = split_by_key(events, of_pass.layout, len(buckets))
            for bucket, share in zip(buckets, shares, strict=True):
                bucket.add(share)

    def end(self) -> Iterator[tuple[str, pa.Table]]:
        """Yield the rows that are left when the stream ends."""
        yield from self._advance(None)

    def save(self) -> list[list[bytes]]:
        """Return the states of all buckets."""
        return [[bucket.save() for bucket in buckets] for buckets in self._buckets]

    def restore(self, blobs: list[list[bytes]]) -> None:
        """Continue from what `save` returned."""
        self._buckets = [
            [Bucket.load(of_pass, blob) for blob in of_buckets]
            for of_pass, of_buckets in zip(self._setup.passes, blobs, strict=True)
        ]

    def _advance(self, until: int | None) -> Iterator[tuple[str, pa.Table]]:
        for results, buckets in zip(self._results, self._buckets, strict=True):
            rows = [
                row
                for bucket in buckets
                for row in (bucket.end() if until is None else bucket.advance(until))
            ]
            for number, table in results.finished(rows).items():
                yield self._setup.names[number], results.presented(number, table)
