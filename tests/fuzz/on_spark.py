"""Many cases in one Spark job: their queries together, each stream in a separate group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.plan import Granularity, Sharing
from elsinore.runtime.options import RunOptions
from elsinore.spark.driver import run
from fuzz.cases import Case
from trends.test_against_reference import compare

STREAM = "stream"  # the column that tells streams apart, by which all queries are grouped


def compared(
    spark: SparkSession, cases: Sequence[Case], sharing: Sharing, granularity: Granularity
) -> None:
    """Run cases, all exact or none of them and none ordered, in one job; compare each.

    Raises AssertionError with the case where a result is not brute force's.
    """
    queries = []
    for number, case in enumerate(cases):
        for query in case.workload:
            name = f"c{number}_{query.name}"
            queries.append(replace(query, name=name, group_by=(*query.group_by, STREAM)))
    workload = Workload(tuple(queries), exact=cases[0].workload.exact)
    streams = [
        case.table.append_column(STREAM, pa.array([number] * len(case.table), pa.int64()))
        for number, case in enumerate(cases)
    ]
    # In one chunk: Spark 4.3 drops all rows behind a chunk that is empty, as a stream may be.
    frame = spark.createDataFrame(pa.concat_tables(streams).combine_chunks())
    ready = plan(workload, granularity=granularity)
    results = run(ready, frame, RunOptions(sharing=sharing))
    for number, case in enumerate(cases):
        for query, expected in zip(case.workload, case.expected, strict=True):
            table = results[f"c{number}_{query.name}"].toArrow()
            try:
                mine = table.filter(pc.equal(table.column(STREAM), number))
                compare(query, expected, mine.to_pylist(), exact=workload.exact)
            except Exception as error:
                where = f"Spark, {sharing.value}, {granularity.value}, {query.name}"
                raise AssertionError(f"{where}: {error!r}\n{case}") from error
