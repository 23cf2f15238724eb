"""Events and queries of the benchmark of live streams, as files and as messages of Kafka."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import elsinore as el

GROUPS = 1_000
QUERIES = 20
WINDOW = 10  # seconds
DENSITY = 100_000  # events in a second of the events' time, so 1,000 for a group and window
EVENTS_OF_A_KEY = 10  # where keys come and go
LIVING = 1_000  # keys at any time, where keys come and go
START = 1_700_000_000  # time of the first event in files: Spark's own streams drop one at 0 as late
ROW_GROUPS = 4  # of a file, so that several tasks can read it
QUERY = """QUERY q{number} RETURN g, COUNT(*) AS trends PATTERN SEQ(X{number} x, B b+) GROUP BY g
WITHIN {window} seconds;"""
JSON_SCHEMA = pa.schema(
    [("time", pa.int64()), ("type", pa.string()), ("g", pa.int64()), ("v", pa.float64())]
)
TYPES = np.array([*(f"X{number}" for number in range(QUERIES)), "B"], dtype=object)


def workload(*, window: float = WINDOW) -> el.Workload:
    """Return 20 queries that share the trends of B events."""
    return el.Workload.parse(
        "\n".join(QUERY.format(number=number, window=window) for number in range(QUERIES))
    )


def events(
    first: int, count: int, *, start: int = 0, density: int = DENSITY, moving: bool = False
) -> pa.Table:
    """Return the events from number `first` on, in order; every second one is a B.

    start: the time of event 0 in microseconds since the epoch. density: events in a second.
    moving: every key has about EVENTS_OF_A_KEY events and is never seen again.
    """
    random = np.random.default_rng(first)
    numbers = np.arange(first, first + count)
    kinds = np.where(random.random(count) < 0.5, QUERIES, random.integers(0, QUERIES, count))
    if moving:
        groups = numbers // EVENTS_OF_A_KEY + random.integers(0, LIVING, count)
    else:
        groups = random.integers(0, GROUPS, count)
    return pa.table(
        {
            "time": pa.array(start + numbers * 1_000_000 // density, pa.timestamp("us", "UTC")),
            "type": pa.DictionaryArray.from_arrays(
                pa.array(kinds.astype(np.int32)), pa.array(TYPES)
            ).cast(pa.string()),
            "g": groups,
            "v": random.random(count),
        }
    )


def write_file(table: pa.Table, folder: Path, number: int) -> None:
    """Add a file to a folder in one step."""
    draft = folder / f".events-{number:06}.parquet"
    pq.write_table(table, draft, row_group_size=-(-table.num_rows // ROW_GROUPS))
    os.rename(draft, folder / f"events-{number:06}.parquet")


def write_folder(folder: Path, files: int, rows: int, *, moving: bool = False) -> None:
    """Write files of so many rows each, of the length of a window, modified in their order."""
    folder.mkdir()
    for number in range(files):
        begun = START * 1_000_000
        table = events(number * rows, rows, start=begun, density=rows // WINDOW, moving=moving)
        write_file(table, folder, number)
        seconds = START + number
        os.utime(folder / f"events-{number:06}.parquet", (seconds, seconds))


def messages(table: pa.Table) -> Iterator[bytes]:
    """Yield events as messages in JSON, times in microseconds."""
    columns = [table.column("time").cast(pa.int64()), *table.columns[1:]]
    for time, kind, group, value in zip(*(c.to_pylist() for c in columns), strict=True):
        yield b'{"time":%d,"type":"%b","g":%d,"v":%.4f}' % (time, kind.encode(), group, value)
