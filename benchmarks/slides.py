"""Closing after every slide of a window, as live streams do, against closing once at the end.

The operators alone, warm, on one core. They are given the same events in three ways: as one batch,
closed at the end; as one batch per slide, closed at the end; and as one batch per slide, where each
call also says until when to close. Processor time, the least of several runs in turn; results are
compared. Sums ("coarse"), one query that compares neighbours ("index"), and many of them
("graph"); slides of 100 to 10,000 events. The target is for closing alone, against the same batches
closed once. Beside it stand the time against one whole batch, what each batch costs for being one
of many, and what each closing costs. Slides of few events are also given twenty at a time: results
of windows that end in between come with the last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice, product

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.in_process import TYPES, events
from benchmarks.measure import Row, assert_same, seconds
from benchmarks.regimes import BASE
from elsinore.language import parse_workload
from elsinore.local.driver import prepare
from elsinore.operators import OperatorOptions, kind_for, plan, specialize
from elsinore.operators.partials import results_of
from elsinore.plan import Plan, Sharing
from elsinore.runtime.classify import type_places
from elsinore.runtime.options import RunOptions
from elsinore.runtime.schema import plain_type
from elsinore.runtime.units import batch_of, event_classes, keys_of

RUNS = 10
MOST = 1.3
COMMAND = "python -m benchmarks slides"
SECOND = 10**6


@dataclass(frozen=True, slots=True)
class Work:
    """Queries over events a millisecond apart, how many seconds a slide has, slides of a batch."""

    name: str
    text: str
    slide: float
    table: Callable[[bool], pa.Table]
    together: int = 1


def _query(window: str, name: str = "q", types: Iterable[str] = "ABC", where: str = "") -> str:
    first, many, last = types
    return (
        f"QUERY {name} RETURN COUNT(*) PATTERN SEQ({first} a, {many} b+, {last} c) "
        f"{where}WITHIN {window};"
    )


def _many(window: str, queries: int) -> str:
    return "\n".join(
        _query(window, f"q{number}", types)
        for number, types in enumerate(islice(product(TYPES, repeat=3), queries))
    )


def _neighbours(window: str, queries: int) -> str:
    return "\n".join(
        f"QUERY q{number} RETURN LOG2(COUNT(*)) AS trends PATTERN SEQ(X{number} x, B b+) "
        f"WHERE b[i].v >= b[i-1].v WITHIN {window};"
        for number in range(queries)
    )


def _coarse(quick: bool) -> pa.Table:
    return events(100_000 if quick else 1_000_000)


def _fine(quick: bool) -> pa.Table:
    return events(20_000 if quick else 200_000)


def _bursts(quick: bool) -> pa.Table:
    return replace(BASE, events=20_000 if quick else 60_000).table()


RISING = "WHERE b[i].v >= b[i-1].v "
KEYED = """QUERY q RETURN key, COUNT(*), SUM(b.v) PATTERN SEQ(A a, B b+, C c) GROUP BY key
WITHIN 60 seconds SLIDE 5 seconds;"""
WORKS = (
    Work("coarse, tumbling 10 s", _query("10 seconds"), 10, _coarse),
    Work("coarse, 60 SLIDE 5, 50 queries", _many("60 seconds SLIDE 5 seconds", 50), 5, _coarse),
    Work("coarse, 60 SLIDE 5, 1,000 keys", KEYED, 5, _coarse),
    Work("coarse, 10 SLIDE 1", _query("10 seconds SLIDE 1 second"), 1, _coarse),
    Work("coarse, tumbling 1 s", _query("1 second"), 1, _coarse),
    Work("coarse, tumbling 0.5 s", _query("0.5 seconds"), 0.5, _coarse),
    Work("coarse, tumbling 0.1 s", _query("0.1 seconds"), 0.1, _coarse),
    Work("coarse, tumbling 0.1 s, 20 a batch", _query("0.1 seconds"), 0.1, _coarse, 20),
    Work("index, tumbling 10 s", _query("10 seconds", where=RISING), 10, _fine),
    Work("index, 10 SLIDE 5", _query("10 seconds SLIDE 5 seconds", where=RISING), 5, _fine),
    Work("index, 10 SLIDE 1", _query("10 seconds SLIDE 1 second", where=RISING), 1, _fine),
    Work("graph, tumbling 10 s, 10 queries", _neighbours("10 seconds", 10), 10, _bursts),
    Work(
        "graph, 10 SLIDE 5, 10 queries", _neighbours("10 seconds SLIDE 5 seconds", 10), 5, _bursts
    ),
    Work(
        "graph, 10 SLIDE 5, 50 queries", _neighbours("10 seconds SLIDE 5 seconds", 50), 5, _bursts
    ),
    Work("graph, 10 SLIDE 1, 50 queries", _neighbours("10 seconds SLIDE 1 second", 50), 1, _bursts),
)


@dataclass(frozen=True, slots=True)
class Fed:
    """What operators of a plan's only unit are given: a batch, and where its slides end."""

    plan: Plan
    batch: pa.RecordBatch
    groups: list[pa.Array]
    types: dict[str, pa.DataType]
    ends: NDArray[np.int64]  # of batches, microseconds
    rows: NDArray[np.int64]  # behind the last event of each

    @classmethod
    def of(cls, work: Work, table: pa.Table) -> Fed:
        """Return the events as the operator takes them."""
        kinds = dict(zip(table.schema.names, table.schema.types, strict=True))
        query_plan = specialize(plan(parse_workload(work.text)), kinds, declared=False)
        (unit,) = query_plan.units
        stream, _ = prepare(table, RunOptions())
        keys = keys_of(unit, stream.column, len(stream.times))
        places, names = type_places(stream.types, query_plan.types)
        step = work.slide * work.together * SECOND
        ends = np.arange(1, stream.times[-1] // step + 2) * step
        return cls(
            query_plan,
            batch_of(
                unit,
                keys.codes_of(0, len(stream.times)),
                stream.times,
                event_classes(unit, places.whole(), names, stream.column),
                stream.column,
            ),
            [keys.group_values(stream.column(name)) for name in unit.group_by],
            {name: plain_type(stream.column(name).type) for name in unit.carried},
            ends.astype(np.int64),
            np.searchsorted(stream.times, ends),
        )

    def run(self, *, cut: bool, closing: bool) -> list[pa.RecordBatch]:
        """Give a new operator the events, at once or cut; return all that it gives."""
        (unit,) = self.plan.units
        options = OperatorOptions(
            one_slot=False, ordered=True, sharing=Sharing.DYNAMIC, record=False
        )
        operator = kind_for(unit).operator(unit, options)
        given: list[pa.RecordBatch] = []
        if cut:
            begin = 0
            for row, end in zip(self.rows.tolist(), self.ends.tolist(), strict=True):
                batch = self.batch.slice(begin, row - begin)
                given += operator.process(batch, end if closing else None)
                begin = row
        else:
            given += operator.process(self.batch)
        given += operator.close()
        return given

    def results(self, given: list[pa.RecordBatch]) -> dict[str, pa.Table]:
        """Return each query's result, in order of windows and groups."""
        (unit,) = self.plan.units
        found = {}
        for name, (table, _) in zip(
            unit.names, results_of(unit, given, self.groups, self.types), strict=True
        ):
            order = [(column, "ascending") for column in ("window_start", *unit.group_by)]
            found[name] = table.sort_by(order)
        return found


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    pa.set_cpu_count(1)
    rows = []
    for work in WORKS:
        fed = Fed.of(work, work.table(quick))
        ways = {
            "whole": lambda fed=fed: fed.run(cut=False, closing=False),
            "cut": lambda fed=fed: fed.run(cut=True, closing=False),
            "closing": lambda fed=fed: fed.run(cut=True, closing=True),
        }
        whole = fed.results(ways["whole"]())
        for way in ("cut", "closing"):
            assert_same(fed.results(ways[way]()), whole)
        taken = dict.fromkeys(ways, np.inf)
        for _ in range(RUNS):
            for way, once in ways.items():
                taken[way] = min(taken[way], seconds(once, time.process_time))
        closings, times = len(fed.ends), taken["closing"] / taken["cut"]
        batch, closing = (
            1e6 * (taken[way] - taken[before]) / closings
            for way, before in (("cut", "whole"), ("closing", "cut"))
        )
        rows.append(
            Row(
                f"{work.name}: {fed.batch.num_rows:,} events, {closings:,} closings",
                f"{times:.2f} times as long as the same batches closed once, "
                f"{taken['closing'] / taken['whole']:.2f} times as whole "
                f"({1e3 * taken['whole']:.1f} ms); a batch {batch:.1f} us, a closing "
                f"{closing:.1f} us",
                f"at most {MOST}",
                times <= MOST,
            )
        )
    return rows
