"""Live runs of drawn workloads: batches, disorder, saved states and buckets drawn at random."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore import Workload
from elsinore.local.live import LiveRun
from elsinore.model.kinds import Kind
from elsinore.model.window import SECOND
from elsinore.runtime.live import LiveSetup, Watermark, plan_live
from elsinore.runtime.request import RunRequest
from elsinore.runtime.times import kind_of_column
from support.drawn import Drawn

MOST_BUCKETS = 5
LATENESS = (0, 0, 1, 3, 10)  # seconds


def setup_for(workload: Workload, schema: pa.Schema, **options: Any) -> LiveSetup:
    """Return what a live run of a workload needs, as it comes to another process."""
    request = RunRequest(**options)
    read = request.options()
    kind, fine = kind_of_column(pa.nulls(0, schema.field(read.time).type))
    read = workload.timed(read, kind.is_number, fine)
    plan = workload.planned(request.granularity, read.clock, schema.names)
    setup = plan_live(plan, schema, read)
    if any(query.kind is Kind.QUANTITATIVE for query in workload):
        return setup  # users' functions need more than the standard library to be pickled
    shipped: LiveSetup = pickle.loads(pickle.dumps(setup))
    return shipped


def disordered(table: pa.Table, lateness: int, drawn: Drawn) -> pa.Table:
    """Return events of whole seconds out of order by up to `lateness`; simultaneous ones stay."""
    times = table.column("time").to_numpy()
    delays = {time: drawn.number(0, lateness) for time in sorted(set(times.tolist()))}
    arrival = np.array([time + delays[time] for time in times.tolist()], np.int64)
    return table.take(pa.array(np.argsort(arrival, kind="stable")))


def live_pieces(
    setup: LiveSetup, table: pa.Table, drawn: Drawn, *, lateness: int, saves: bool = True
) -> Iterator[tuple[str, pa.Table]]:
    """Yield what a live run yields; batches, buckets and when it is saved are drawn."""
    run = LiveRun(
        setup, Watermark(lateness=lateness * SECOND), buckets=drawn.number(1, MOST_BUCKETS)
    )
    cuts = sorted({0, table.num_rows, *drawn.cuts(table.num_rows, 8)})
    for begin, end in itertools.pairwise(cuts):
        yield from run.push(table.slice(begin, end - begin), now=0.0)
        if saves and drawn.whether():
            blobs = run.save()
            run = LiveRun(setup, run._watermark, buckets=1)
            run.restore(blobs)
    yield from run.end()


def check_live_is_batch(workload: Workload, table: pa.Table, drawn: Drawn, **options: Any) -> int:
    """Check that a live run over events in any order within the bound equals a batch run.

    Returns the number of rows.
    """
    lateness = drawn.one(LATENESS)
    setup = setup_for(workload, table.schema, **options)
    pieces: dict[str, list[pa.Table]] = {}
    for name, rows in live_pieces(
        setup, disordered(table, lateness, drawn), drawn, lateness=lateness
    ):
        pieces.setdefault(name, []).append(rows)
    total = 0
    for name, result in workload.run(table, **options).items():
        expected = result.to_arrow()
        rows = pa.concat_tables(pieces.pop(name, [expected.slice(0, 0)]))
        assert rows.schema.equals(expected.schema), name
        assert_same_rows(rows.to_pylist(), expected.to_pylist(), name)
        total += expected.num_rows
    assert not pieces
    return total


def assert_same_rows(rows: list[Any], expected: list[Any], name: str) -> None:
    """Check that two lists of rows are equal in any order, floats nearly."""
    left, right = sorted(map(_key, rows)), sorted(map(_key, expected))
    assert left == right, name


def _key(value: Any) -> str:
    """Return a text that is equal for nearly equal values."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{value + 0.0:.9g}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_key(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_key, value)) + "]"
    return repr(value)
