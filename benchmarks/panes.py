"""Combining a key's events of a pane, and folding the result, beside the plain operator.

This is what Spark's tasks do before and after the shuffle, in process, warm, on one core: all
events of a key and pane become actions, and the actions are folded. The rival is the operator,
given the same events key after key. Processor time, the least of several runs in turn; results are
compared. One query `SEQ(A a, B b+, C c)` and 50 that differ in their types; panes of 10,000 and of
20 events; and the cases in which an action is worth least: panes of 2 events, and windows of 12
panes of 20 events. The network traffic that combining saves is not counted:
`elsinore.spark.combining` weighs it, and makes no action of so few events that it would cost more.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.in_process import queries
from benchmarks.measure import Row, assert_same, seconds
from benchmarks.slides import Fed, Work
from elsinore.operators import OperatorOptions, kind_for
from elsinore.operators.panes import Panes, action_type
from elsinore.plan import Sharing

COMMAND = "python -m benchmarks panes"
KEYS, RUNS = 100, 4
EVENTS, FEW = 1_000_000, 200_000  # of shapes with large panes, and with small ones
LARGE = 10_000  # events of a pane
MOST, MOST_OF_FEW = 2.0, 3.0  # times the operator: of one query and 20 events a pane, and of others
QUERY = """QUERY {name} RETURN key, {returns}
PATTERN SEQ({first} a, {many} b+, {last} c) GROUP BY key WITHIN {window};"""
COUNT, AVG, MAX = "COUNT(*)", "COUNT(*), AVG(b.v)", "MAX(b.v)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Queries, the events of a key in a pane, and the panes of a window."""

    events: int
    number: int = 1
    returns: str = COUNT
    panes: int = 1
    tied: bool = False  # events of a key come in moments of about five

    @property
    def name(self) -> str:
        """What it is called in the results."""
        lines = [f"{self.number} quer{'y' if self.number == 1 else 'ies'}", self.returns]
        lines += [f"{self.events:,} events a pane"]
        lines += [f"{self.panes} panes a window"] * (self.panes > 1) + ["ties"] * self.tied
        return ", ".join(lines)

    @property
    def text(self) -> str:
        """The queries."""
        pane = self.events * KEYS  # milliseconds
        window = f"{self.panes * pane} milliseconds SLIDE {pane} milliseconds"
        return "\n".join(
            QUERY.format(
                name=f"q{place}",
                returns=self.returns,
                first=first,
                many=many,
                last=last,
                window=window,
            )
            for place, (first, many, last) in enumerate(queries(self.number))
        )

    def table(self, count: int) -> pa.Table:
        """Return events a millisecond apart; types and keys at random."""
        random = np.random.default_rng(7)
        times = np.arange(count)
        if self.tied:
            times = times // (5 * KEYS) * (5 * KEYS)
        return pa.table(
            {
                "time": pa.array(times * 1_000).cast(pa.timestamp("us")),
                "type": pa.array(np.array(list("ABCD"))[random.integers(0, 4, count)]),
                "key": random.integers(0, KEYS, count),
                "v": random.random(count),
            }
        )


SHAPES = (
    Shape(events=LARGE),
    Shape(events=LARGE, returns=AVG),
    Shape(events=LARGE, returns=MAX),
    Shape(events=LARGE, number=50),
    Shape(events=LARGE, number=50, returns=AVG),
    Shape(events=20),
    Shape(events=20, returns=AVG),
    Shape(events=20, number=50),
    Shape(events=20, number=50, returns=AVG),
    Shape(events=100, returns=AVG, tied=True),
    Shape(events=20, returns=AVG, panes=12),
    Shape(events=2, returns=AVG),
    Shape(events=2, number=50, returns=AVG),
)


@dataclass(frozen=True, slots=True)
class ByKey:
    """Events key after key, and the runs of rows of one key and pane."""

    fed: Fed
    panes: Panes
    batch: pa.RecordBatch
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, shape: Shape, count: int) -> ByKey:
        """Return the events of a shape."""
        table = shape.table(count)
        fed = Fed.of(Work(shape.name, shape.text, count, lambda _: table), table)
        panes = kind_for(fed.plan.units[0]).panes(fed.plan.units[0])
        assert not isinstance(panes, str), panes
        keys = fed.batch.column("key").to_numpy()
        batch = fed.batch.take(pa.array(np.argsort(keys, kind="stable")))
        key, pane = batch.column("key").to_numpy(), panes.numbers(batch.column("time").to_numpy())
        edges = np.flatnonzero((key[1:] != key[:-1]) | (pane[1:] != pane[:-1])) + 1
        return cls(fed, panes, batch, np.append(0, edges), np.append(edges, batch.num_rows))

    def combine(self) -> NDArray[np.uint8]:
        """Return the actions of all runs [run, byte]."""
        return self.panes.combiner(ordered=False).actions_of(self.begins, self.ends, self.batch)

    def actions(self, made: NDArray[np.uint8]) -> pa.RecordBatch:
        """Return them as they come out of the shuffle."""
        first, last = pa.array(self.begins), pa.array(self.ends - 1)
        columns = {name: self.batch.column(name).take(first) for name in ("key", "group", "time")}
        columns["last"] = self.batch.column("time").take(last)
        flat = np.ascontiguousarray(made)
        columns["action"] = pa.Array.from_buffers(
            action_type(self.panes.size), len(flat), [None, pa.py_buffer(flat)]
        )
        return pa.RecordBatch.from_pydict(columns)

    def fold(self, actions: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Return what the actions of all keys come to."""
        none = self.batch.slice(0, 0)
        return self.panes.folder(ordered=False).process(none, actions, final=True)

    def operate(self) -> list[pa.RecordBatch]:
        """Return what the operator gives for the events, key after key."""
        (unit,) = self.fed.plan.units
        options = OperatorOptions(
            one_slot=True, ordered=False, sharing=Sharing.DYNAMIC, record=False
        )
        operator = kind_for(unit).operator(unit, options)
        return [*operator.process(self.batch), *operator.close()]


def main(quick: bool) -> list[Row]:
    """Measure; with `quick` a tenth of the events."""
    pa.set_cpu_count(1)
    part = 10 if quick else 1
    counts = [EVENTS if shape.events == LARGE else FEW for shape in SHAPES]
    return [_measure(shape, count // part) for shape, count in zip(SHAPES, counts, strict=True)]


def _measure(shape: Shape, count: int) -> Row:
    """Measure events of a shape beside the operator."""
    fed = ByKey.of(shape, count)
    actions = fed.actions(fed.combine())
    assert_same(fed.fed.results(fed.fold(actions)), fed.fed.results(fed.operate()))
    ways = {"combine": fed.combine, "fold": lambda: fed.fold(actions), "operate": fed.operate}
    taken = dict.fromkeys(ways, np.inf)
    for _ in range(RUNS):
        for way, once in ways.items():
            taken[way] = min(taken[way], seconds(once, time.process_time))
    times = (taken["combine"] + taken["fold"]) / taken["operate"]
    most = MOST if shape.number == shape.panes == 1 and shape.events >= 20 else MOST_OF_FEW
    return Row(
        shape.name,
        f"{times:.2f} times the operator: combining {1e9 * taken['combine'] / count:.0f} ns an "
        f"event, folding {1e6 * taken['fold'] / actions.num_rows:.2f} us an action of "
        f"{fed.panes.size.bytes:,} bytes, of {count / actions.num_rows:.0f} events; "
        f"the operator {1e9 * taken['operate'] / count:.0f} ns an event",
        f"at most {most:.0f} times the operator",
        times <= most,
    )
