"""A case run in this process: in every mode and both granularities, driven in several ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from elsinore.local import run
from elsinore.model.window import SECOND
from elsinore.plan import Granularity, Plan, Sharing
from elsinore.plan.modes import Combine, End
from elsinore.runtime.options import RunOptions
from elsinore.spark.combining import panes_of
from fuzz.cases import Case
from spark.test_combining import results
from support.column_types import with_other_types
from support.units import UnitInput, unit_inputs
from trends.test_against_reference import compare

Rows = list[dict[str, Any]]
WAYS = ("as they are", "rows in any order", "in pieces", "keys interleaved", "key after key")
ON_SPARK = "as Spark's tasks"  # what they run, without Spark around it
OPEN = "as an open stream"  # its first events: what is final then


def compared(case: Case, random: Random) -> list[tuple[Sharing, Granularity, str]]:
    """Run a case in each mode and granularity; return the names of the comparisons.

    Raises AssertionError with the mode, granularity and way where a result is not brute force's.
    """
    done = []
    burst_first = random.random() < 0.5
    for number, sharing in enumerate(random.sample(list(Sharing), len(Sharing))):
        granularity = list(Granularity)[(number + burst_first) % len(Granularity)]
        tasks = not case.workload.exact and case.events
        way = random.choice((*WAYS, ON_SPARK) if tasks else WAYS)
        way = OPEN if case.events and random.random() < 0.15 else way
        ready = case.plans[granularity]
        try:
            if way == OPEN:
                last_time, results = _open(case, ready, sharing, random)
                _compare(case, results, SECOND, last_time)
            elif case.ordered or way in WAYS[:2]:
                way = "ordered by a column" if case.ordered else way
                _compare(case, _run(case, ready, sharing, way, random), SECOND)
            elif way == ON_SPARK:
                _compare(case, _in_tasks(case, ready, sharing, random), 1)
            else:
                _compare(case, _driven(case, ready, sharing, way, random), 1)
        except Exception as error:
            raise AssertionError(
                f"{sharing.value}, {granularity.value}, {way}: {error!r}"
            ) from error
        done.append((sharing, granularity, way))
    return done


def _compare(
    case: Case, results: Mapping[str, Rows], unit: int, last_time: int | None = None
) -> None:
    """Compare results with brute force's, of windows that end by `last_time` if there is one."""
    for query, rows in zip(case.workload, case.expected, strict=True):
        exact, expected = case.workload.exact, rows
        if last_time is not None:
            expected = [row for row in rows if row.window and row.window[1] <= last_time]
        compare(query, expected, results[query.name], exact=exact, unit=unit)


def _run(case: Case, ready: Plan, sharing: Sharing, way: str, random: Random) -> dict[str, Rows]:
    table = case.table
    options = RunOptions(sharing=sharing)
    if case.ordered:
        table = table.append_column("seq", pa.array(range(len(table)), pa.int64()))
        options = RunOptions(sharing=sharing, order_by=("seq",))
    if way != WAYS[0]:
        table = table.take(pa.array(random.sample(range(len(table)), len(table)), pa.int64()))
    found = run(ready, with_other_types(table, random), options)
    return {name: table.to_pylist() for name, table in found.items()}


def _open(case: Case, ready: Plan, sharing: Sharing, random: Random) -> tuple[int, dict[str, Rows]]:
    """Run over the first events of a stream that is open; return the time of the last of them."""
    count = random.randint(1, len(case.events))
    table, options = case.table, RunOptions(sharing=sharing, end=End.OPEN)
    if case.ordered:
        table = table.append_column("seq", pa.array(range(len(table)), pa.int64()))
        options = replace(options, order_by=("seq",))
    results = run(ready, table.slice(0, count), options)
    rows = {name: result.to_pylist() for name, result in results.items()}
    return case.events[count - 1].time, rows


def _in_tasks(case: Case, ready: Plan, sharing: Sharing, random: Random) -> dict[str, Rows]:
    """Scan a file, pack, shuffle, run and finish as tasks of Spark do, some events combined."""
    found: dict[str, Rows] = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        pq.write_table(case.table, path, row_group_size=random.randint(1, 6))
        for unit in ready.units:
            can = sharing is Sharing.DYNAMIC and not isinstance(panes_of(unit), str)
            combine = random.choice((Combine.NEVER, Combine.ALWAYS)) if can else Combine.NEVER
            options = RunOptions(sharing=sharing, combine=combine)
            ((rows,), _) = results((unit,), path, options, random.randint(1, 5))
            found |= rows
    return found


def _driven(case: Case, ready: Plan, sharing: Sharing, way: str, random: Random) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    drive = {"in pieces": _in_pieces, "keys interleaved": _interleaved}.get(way, _key_after_key)
    for given in unit_inputs(ready, case.table, exact=case.workload.exact):
        tables = given.results(drive(given, case, sharing, random))
        found |= {name: table.to_pylist() for name, table in tables.items()}
    return found


def _in_pieces(
    given: UnitInput, case: Case, sharing: Sharing, random: Random
) -> Sequence[pa.RecordBatch]:
    """Divide the stream anywhere; at some places close early, and continue from a saved state."""
    size = len(case.events)
    edges = [0, *sorted(random.choices(range(size + 1), k=random.randint(0, 4))), size]
    times = [event.time for event in case.events] if random.random() < 0.5 else []
    stops = [random.random() < 0.5 for _ in edges]
    return given.in_pieces(edges, stops, times, sharing)


def _interleaved(
    given: UnitInput, case: Case, sharing: Sharing, random: Random
) -> Sequence[pa.RecordBatch]:
    """Keep each key's order alone."""
    order = random.sample(range(len(given.keys)), len(given.keys))
    operator = given.operator(sharing=sharing)
    return [operator.process(given.interleaved(order)), operator.close()]


def _key_after_key(
    given: UnitInput, case: Case, sharing: Sharing, random: Random
) -> Sequence[pa.RecordBatch]:
    """Process the keys one after another, as Spark does, in two pieces."""
    cut = random.randint(0, len(case.events))
    return given.key_after_key(cut, stop=random.random() < 0.5, sharing=sharing)
