"""Live runs of drawn workloads, with drawn batches, disorder, saved states and buckets."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore import Workload
from elsinore.runtime import live as runtime_live
from elsinore.runtime.live import LiveSetup, bucket
from elsinore.runtime.request import RunRequest
from support.drawn import Drawn
from support.matches import ATTRIBUTES, as_arrow_value, streams

MOST_BUCKETS = 5
LATENESS = (0, 0, 1, 3, 10)  # seconds
Pieces = Iterable[tuple[str, pa.Table]]


def setup_for(workload: Workload, schema: pa.Schema, **options: Any) -> LiveSetup:
    """Return the setup of a workload's live run, pickled and unpickled as for another process."""
    setup = runtime_live.setup_for(workload, schema, RunRequest(**options))
    unpickled: LiveSetup = pickle.loads(pickle.dumps(setup))
    return unpickled


def disordered(table: pa.Table, lateness: int, drawn: Drawn) -> pa.Table:
    """Return events of whole seconds out of order by up to `lateness`; simultaneous ones stay."""
    times = table.column("time").to_pylist()
    delays = {time: drawn.number(0, lateness) for time in sorted(set(times))}
    arrival = np.array([time + delays[time] for time in times], np.int64)
    return table.take(pa.array(np.argsort(arrival, kind="stable")))


def batches_of(table: pa.Table, drawn: Drawn, most: int = 8) -> Iterator[pa.Table]:
    """Yield a table in pieces, cut at drawn places; some may be empty."""
    cuts = sorted([0, table.num_rows, *drawn.cuts(table.num_rows, most)])
    for begin, end in itertools.pairwise(cuts):
        yield table.slice(begin, end - begin)


def live_pieces(
    workload: Workload, table: pa.Table, drawn: Drawn, *, lateness: int, **options: Any
) -> Iterator[tuple[str, pa.Table]]:
    """Yield the outputs of a live run with drawn batches, buckets and times of saving.

    The number of keys from which unused codes are released is drawn, too; it is usually a thousand.
    """
    bucket.FEW_KEYS = drawn.one((0, 2, 1 << 10))
    live = workload.live(
        table.schema, lateness=lateness, buckets=drawn.number(1, MOST_BUCKETS), **options
    )
    for batch in batches_of(table, drawn):
        yield from live.push(batch)
        if drawn.number(0, 2) == 0:
            live = workload.resume(live.save())
    yield from live.end()


def check_live_is_batch(workload: Workload, table: pa.Table, drawn: Drawn, **options: Any) -> None:
    """Check that a live run over events in any order within the bound equals a batch run."""
    lateness = drawn.one(LATENESS)
    arriving = disordered(table, lateness, drawn)
    pieces = by_query(live_pieces(workload, arriving, drawn, lateness=lateness, **options))
    for name, result in workload.run(table, **options).items():
        expected = result.to_arrow()
        rows = pieces.pop(name, expected.slice(0, 0))
        assert rows.schema.equals(expected.schema), name
        assert_same_rows(rows.to_pylist(), expected.to_pylist(), name)
    assert not pieces


def by_query(pieces: Pieces) -> dict[str, pa.Table]:
    """Return the rows of each query that has rows."""
    tables: dict[str, list[pa.Table]] = {}
    for name, rows in pieces:
        assert rows.num_rows, name
        tables.setdefault(name, []).append(rows)
    return {name: pa.concat_tables(rows) for name, rows in tables.items()}


def assert_same_rows(rows: list[Any], expected: list[Any], name: str) -> None:
    """Check that two lists of rows are equal in any order, floats nearly."""
    assert sorted(map(comparable, rows)) == sorted(map(comparable, expected)), name


def comparable(value: Any) -> str:
    """Return a text that is equal for nearly equal values."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{value + 0.0:.9g}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {comparable(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(comparable, value)) + "]"
    return repr(value)


def match_table(drawn: Drawn) -> pa.Table:
    """Draw events for match queries."""
    events = streams(drawn, 14)
    columns = {
        "time": pa.array([event.time // 1_000_000 for event in events], pa.int64()),
        "type": pa.array([event.type for event in events], pa.string()),
    }
    columns |= {
        name: pa.array([as_arrow_value(event.attributes.get(name)) for event in events], kind)
        for name, kind in ATTRIBUTES.items()
    }
    return pa.table(columns)
