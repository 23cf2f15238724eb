"""A generation of a live run in this process: queries that were planned together, with buckets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import chain

import pyarrow as pa

from elsinore.arrow import no_table
from elsinore.operators import OperatorStatistics
from elsinore.runtime.live import (
    Bucket,
    EventReader,
    PassResults,
    PlannedGeneration,
    UsableEvents,
    split_by_key,
)
from elsinore.runtime.times import TimeKind


class Generation:
    """A planned generation, and the state of its passes."""

    def __init__(
        self,
        planned: PlannedGeneration,
        buckets: Sequence[Sequence[Bucket]] | None = None,
        *,
        count: int = 1,
    ) -> None:
        """Begin with some `buckets`, or with `count` new ones for each pass."""
        self.planned = planned
        self.setup = planned.setup
        self.buckets = buckets or [
            [Bucket(of_pass) for _ in range(count if len(of_pass.layout.keys) else 1)]
            for of_pass in self.setup.passes
        ]
        self.reader: EventReader = self.setup.reader()
        self._results = [PassResults(of_pass, self.setup.time) for of_pass in self.setup.passes]

    def add(self, events: UsableEvents) -> None:
        """Give events to the buckets of all passes."""
        begin = self.planned.begin
        if begin is not None:
            events = events.filter(events.times >= begin)
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
        """Return the remaining rows at the end of the stream."""
        return self._rows([(b.end() for b in buckets) for buckets in self.buckets])

    def early(self) -> dict[str, pa.Table]:
        """Return the rows of open windows as if the stream ended now."""
        return self._rows([(b.early() for b in buckets) for buckets in self.buckets])

    def no_rows(self, name: str) -> pa.Table:
        """Return a result of a query without rows."""
        number = self.setup.names.index(name)
        (results,) = (of_pass for of_pass in self._results if number in of_pass.forms)
        return results.presented(number, no_table(results.forms[number].schema))

    def statistics(self) -> list[OperatorStatistics]:
        """Return the statistics of each unit's operators, summed over all buckets."""
        by_unit = [
            of_unit
            for buckets in self.buckets
            for of_unit in zip(*(bucket.statistics for bucket in buckets), strict=True)
        ]
        return [reduce(lambda left, right: left.added(right), of_unit) for of_unit in by_unit]

    def open_windows(self, time: int) -> dict[str, int | None]:
        """Return the number of each query's windows that contain a time; None if unknown."""
        return self.planned.open_windows(time)

    def show_times_as(self, time: TimeKind) -> None:
        """Set the kind of times in results."""
        for results in self._results:
            results.time = time

    def _rows(self, by_pass: Sequence[Iterable[Iterable[pa.RecordBatch]]]) -> dict[str, pa.Table]:
        """Return the rows of answered queries, from what the buckets of each pass yield."""
        rows = {}
        for results, of_buckets in zip(self._results, by_pass, strict=True):
            for number, table in results.finished(chain.from_iterable(of_buckets)).items():
                span = self.planned.spans.get(self.setup.names[number])
                if span is not None:
                    answered_rows = span.filter(table, results.forms[number])
                    if answered_rows.num_rows:
                        shown = results.presented(number, answered_rows)
                        rows[self.setup.names[number]] = shown
        return rows
