"""A generation: the queries of a live run that were planned together, with their buckets.

A run has one generation, unless it was resumed with another workload (`runtime.live.changes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import chain

import pyarrow as pa

from elsinore.arrow import no_table
from elsinore.model import Query
from elsinore.operators import OperatorStatistics, kind_for
from elsinore.plan import Unit
from elsinore.runtime.live import (
    Bucket,
    EventReader,
    LiveSetup,
    PassResults,
    Span,
    UsableEvents,
    split_by_key,
)
from elsinore.runtime.times import TimeKind


class Generation:
    """Queries that were planned together, and the state of their passes.

    queries, exact: what the setup was planned from. spans: for each query that the generation
    answers, the windows that it answers; queries of the setup that are not among them have been
    removed from the workload. begin: events before it are not for the generation.
    """

    def __init__(
        self,
        setup: LiveSetup,
        queries: Sequence[Query],
        spans: dict[str, Span],
        *,
        exact: bool,
        begin: int | None = None,
        buckets: Sequence[Sequence[Bucket]] | None = None,
        count: int = 1,
    ) -> None:
        """Begin with some `buckets`, or with `count` new ones for each pass."""
        self.setup = setup
        self.queries = tuple(queries)
        self.exact = exact
        self.spans = spans
        self.begin = begin
        self.buckets = buckets or [
            [Bucket(of_pass) for _ in range(count if len(of_pass.layout.keys) else 1)]
            for of_pass in setup.passes
        ]
        self.reader: EventReader = setup.reader()
        self._results = [PassResults(of_pass, setup.time) for of_pass in setup.passes]

    def add(self, events: UsableEvents) -> None:
        """Give events to the buckets of all passes."""
        if self.begin is not None:
            events = events.filter(events.times >= self.begin)
        travelling = self.reader.travelling(events)
        for of_pass, buckets, table in zip(
            self.setup.passes, self.buckets, travelling, strict=True
        ):
            shares = split_by_key(table, of_pass.layout, len(buckets))
            for bucket, share in zip(buckets, shares, strict=True):
                bucket.add(share)

    def advance(self, until: int) -> dict[str, pa.Table]:
        """Return the rows that are final if no event before `until` comes any more."""
        return self._rows([(b.advance(until) for b in buckets) for buckets in self.buckets])

    def end(self) -> dict[str, pa.Table]:
        """Return the rows that are left when the stream ends."""
        return self._rows([(b.end() for b in buckets) for buckets in self.buckets])

    def early(self) -> dict[str, pa.Table]:
        """Return the rows of open windows as if the stream ended now."""
        return self._rows([(b.early() for b in buckets) for buckets in self.buckets])

    def no_rows(self, name: str) -> pa.Table:
        """Return a result of a query without rows."""
        number = self.setup.names.index(name)
        (results,) = (of_pass for of_pass in self._results if number in of_pass.forms)
        return results.presented(number, no_table(results.forms[number].schema))

    @property
    def units(self) -> list[Unit]:
        """The units of all passes."""
        return [unit for of_pass in self.setup.passes for unit in of_pass.units]

    def statistics(self) -> list[OperatorStatistics]:
        """Return what the operators of each unit counted, in all buckets together."""
        by_unit = [
            of_unit
            for buckets in self.buckets
            for of_unit in zip(*(bucket.statistics for bucket in buckets), strict=True)
        ]
        return [reduce(lambda left, right: left.added(right), of_unit) for of_unit in by_unit]

    def open_windows(self, time: int) -> dict[str, int | None]:
        """Return how many windows of each query contain a time; None if that is unknown."""
        return {
            name: number
            for unit, statistics in zip(self.units, self.statistics(), strict=True)
            for name, number in zip(
                unit.names, kind_for(unit).open_windows(unit, time, statistics), strict=True
            )
            if name in self.spans
        }

    def windowed(self) -> set[str]:
        """Return the queries whose results are of windows, each of its window's events alone."""
        return {
            name
            for unit in self.units
            if not isinstance(kind_for(unit).windows(unit), str)
            for name in unit.names
        }

    def show_times_as(self, time: TimeKind) -> None:
        """Let results have times of some kind."""
        for results in self._results:
            results.time = time

    def is_over(self, watermark: int) -> bool:
        """Return whether all windows that the generation answers have ended."""
        for of_pass in self.setup.passes:
            for unit in of_pass.units:
                windows = kind_for(unit).windows(unit)
                for place, name in enumerate(unit.names):
                    span = self.spans.get(name)
                    if span is None:
                        continue
                    if span.stop is None or isinstance(windows, str):
                        return False
                    window = windows[place]
                    if window.bounds(window.last(span.stop - 1))[1] > watermark:
                        return False
        return True

    def _rows(self, by_pass: Sequence[Iterable[Iterable[pa.RecordBatch]]]) -> dict[str, pa.Table]:
        """Return the rows of answered queries, from what the buckets of each pass yield."""
        rows = {}
        for results, of_buckets in zip(self._results, by_pass, strict=True):
            for number, table in results.finished(chain.from_iterable(of_buckets)).items():
                span = self.spans.get(self.setup.names[number])
                if span is not None:
                    answered = span.filter(table, results.forms[number])
                    if answered.num_rows:
                        shown = results.presented(number, answered)
                        rows[self.setup.names[number]] = shown
        return rows
