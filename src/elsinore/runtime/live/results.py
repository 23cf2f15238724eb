"""The results of a pass, from the partial outputs that its buckets yield at one watermark."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.runtime.live.setup import PassSetup
from elsinore.runtime.presentation import presented
from elsinore.runtime.times import TimeKind


class PassResults:
    """Computes the result rows of a pass's queries.

    time: the kind of times that results have. forms: the form of each query's result, by number.
    """

    def __init__(self, setup: PassSetup, time: TimeKind) -> None:
        self._outputs = setup.outputs
        self._finishes = setup.finishes()
        self.forms = setup.forms()
        self.time = time

    def finished(self, rows: Iterable[pa.RecordBatch]) -> dict[int, pa.Table]:
        """Return results by the queries' numbers, times in ticks; queries without rows are absent.

        rows: what buckets yielded at one watermark, in the columns of `Outputs`: all partial
        outputs of each group and window, possibly only of some groups or some queries.
        """
        by_query: dict[int, list[pa.RecordBatch]] = {}
        for batch in rows:
            numbers = batch.column("query").to_numpy()
            for number in np.unique(numbers).tolist():
                query_rows = batch
                if not (numbers == number).all():
                    query_rows = batch.filter(pc.equal(batch.column("query"), number))
                fields = self._outputs.fields_of(number, query_rows)
                by_query.setdefault(number, []).append(fields)
        results: dict[int, pa.Table] = {}
        for finish in self._finishes:
            batches = [batch for number in finish.numbers for batch in by_query.get(number, ())]
            if batches:
                partials = pa.Table.from_batches(batches).combine_chunks()
                finished = finish.finished(partials)
                results |= {number: table for number, table in finished.items() if table.num_rows}
        return dict(sorted(results.items()))

    def presented(self, number: int, table: pa.Table) -> pa.Table:
        """Return a query's result with times of the input's kind, sorted as `Workload.run` does."""
        return presented(table, self.forms[number], self.time)
