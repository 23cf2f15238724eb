"""Keys that hold too many of the events: cut by panes, worked on apart, and folded.

One partition must hold a key's events for the operator to see them in order, so a key with most of
the events would keep one core busy and the others waiting. Where a kind of query can work on panes
apart (`elsinore.operators.panes`), stage 1 computes what a pane's events do for each (key, pane),
wherever, and stage 2 folds a key's actions in the order of its panes. The result is the same.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from elsinore.model.clock import Clock
from elsinore.operators import kind_for
from elsinore.operators.panes import Action, ActionSize, PaneActions, Panes
from elsinore.plan import Unit
from elsinore.spark.partition import Outputs, differs, read_columns
from elsinore.spark.times import to_ticks

MOST_KEYS = 64  # keys that are cut; where more are as large, they fill the cores by themselves
SAMPLE = 0.02  # the share of events that are counted
SURELY = 100  # counted events from which a share is trusted
PANES_PER_CORE = 8
MANY = 10**9  # events, if all were of one key, with which it must pay for keys to be counted
MOST_CORES = 1 << 16  # rows from whose partitions cores are counted

# What work costs, in microseconds; measured, and rough: only their ratios decide. A task's way into
# Python keeps more than one core busy, so an event of a whole key costs less time than work.
EVENT = 1.8  # time for an event of a whole key, through the shuffle and the sort into Python
SPREAD = 2.2  # work for an event where all cores are busy with others
COUNTING = 0.5  # work to look for large keys, for each event
SCANNING = 0.65  # work to read an event once more: those that are cut apart from the others
UPDATE = 0.1  # an event's part in the sums of one window, or of one row of an action
ACTION = 40.0  # beginning a pane's action and handing it on
READING = 10.0  # reading an action again
APPLYING = 0.2  # letting an action act on a window's sums, and for each pair of a sum and a node:
TERM = 0.01
WORTH = 1.25  # how many times faster it must be


@dataclass(frozen=True, slots=True)
class Cut:
    """The keys that are cut, as rows of comparable values, and how.

    No window's edge lies within a stretch of `length` from `origin` on. Panes are as long as
    `part`, and the last of a stretch is what is left of it.
    """

    keys: tuple[tuple[object, ...], ...]
    length: int
    part: int
    origin: int

    def pane(self, time: Column) -> Column:
        """Return the first moment of the pane that holds a time."""
        into_stretch = F.pmod(time - F.lit(self.origin), F.lit(self.length))
        return time - F.pmod(into_stretch, F.lit(self.part))


def find_cut(unit: Unit, frame: DataFrame, least: int) -> Cut | None:
    """Return which keys are to be cut by panes; None where none is.

    `frame` is what travels to the operator. A key is cut where it holds at least `least` events
    (0: none is), more than a core's fair share of all, and where that is expected to pay
    (`pays`). Costs a count of a sample of the keys, if it could pay at all.
    """
    panes_of_unit = kind_for(unit).panes(unit) if least >= 1 else "none is to be cut"
    if isinstance(panes_of_unit, str):
        return None
    size = panes_of_unit.size
    cores = cores_of(frame.sparkSession)
    if cores < 2 or not pays(size, MANY, MANY, cores, cores):
        return None
    share = SAMPLE if least * SAMPLE >= SURELY else 1.0
    total, rows = _largest(unit, frame, share, least)
    rows = [row for row in rows if not _key_names(unit) or row["n"] * cores > total]
    if not rows:
        return None
    span = max(row["hi"] for row in rows) - min(row["lo"] for row in rows) + 1
    wanted = cores * PANES_PER_CORE
    length, origin = panes_of_unit.length(max(1, span // wanted))
    part = -(-length // max(1, -(-length * wanted // span)))

    def is_worth_it(row: Row) -> bool:
        panes = (row["hi"] - row["lo"]) // part + 1
        return pays(size, row["n"] / share, total / share, panes, cores)

    names = _key_names(unit)
    keys = tuple(tuple(row[name] for name in names) for row in rows if is_worth_it(row))
    return Cut(keys, length, part, origin) if keys else None


def pays(size: ActionSize, events: float, total: float, panes: int, cores: int) -> bool:
    """Return whether a key with `events` of `total` events is done sooner in so many panes.

    A key that is whole is one task's work. Cut, it is spread over all cores with the others; but
    large keys must be found first, what is cut is read apart from what is not, and an event then
    acts on a row of the pane's action per node in place of the windows that are open; each action
    costs something however few its events, and one core must read a key's actions and let each act
    on every window that holds the pane. Where few events come within a pane, that is far more work
    than the events are. So, with R rows, W open windows, S sums and N nodes,

        whole = events*(EVENT + W*UPDATE)
        cut   = (total*(COUNTING + SCANNING + SPREAD) + (total - events)*W*UPDATE
                 + events*R*UPDATE + panes*ACTION) / cores
                + panes*(READING + W*(APPLYING + S*N*TERM))
    """
    open_windows = size.open_windows
    panes = min(panes, math.ceil(events))
    spread = total * (COUNTING + SCANNING + SPREAD) + panes * ACTION
    spread += ((total - events) * open_windows + events * size.rows) * UPDATE
    applying = APPLYING + size.sums * size.nodes * TERM
    folding = panes * (READING + open_windows * applying)
    whole = events * (EVENT + open_windows * UPDATE)
    return WORTH * (spread / cores + folding) < whole


def _largest(unit: Unit, frame: DataFrame, share: float, least: int) -> tuple[int, list[Row]]:
    """Return how many events a sample holds, and the keys of which at least `least` are expected.

    Keys come with their number `n` in the sample, and their first and last moment there, `lo` and
    `hi`. All events are a set of the grouping beside the keys, so that one pass counts both and
    only large keys leave their partitions.
    """
    columns = [comparable(frame, name).alias(name) for name in _key_names(unit)]
    looked_at = frame if share == 1.0 else frame.sample(fraction=share, seed=1)
    looked_at = looked_at.select("time", *columns)
    told = [F.count("*").alias("n"), F.min("time").alias("lo"), F.max("time").alias("hi")]
    enough = F.col("n") >= least * share
    if not columns:
        rows = looked_at.agg(*told).filter(enough).collect()
        return (rows[0]["n"] if rows else 0), rows
    names = _key_names(unit)
    counted = looked_at.groupingSets([[*names], []], *names)
    large = counted.agg(*told, (F.grouping_id() > 0).alias("all")).filter(enough)
    rows = large.orderBy(F.desc("all"), F.desc("n")).limit(MOST_KEYS + 1).collect()
    return (rows[0]["n"], rows[1:]) if rows else (0, [])


def comparable(frame: DataFrame, name: str) -> Column:
    """Return a column as values that come back from Python as they went there.

    Times do not: what Python makes of them depends on its own time zone, which may be another than
    the session's, and an hour of each year is twice in it.
    """
    field = frame.schema[name]
    if isinstance(field.dataType, T.TimestampType | T.TimestampNTZType):
        return to_ticks(F.col(name), field, "us", Clock())[0]
    return F.col(name)


def cores_of(spark: SparkSession) -> int:
    """Return how many tasks a session runs at once.

    Over Spark Connect, which does not tell, a tiny job's numbers of partitions do: Spark makes one
    a core.
    """
    try:
        return int(spark.sparkContext.defaultParallelism)
    except (PySparkException, AttributeError):
        return int(spark.range(MOST_CORES).select(F.spark_partition_id()).distinct().count())


def is_cut(unit: Unit, frame: DataFrame, cut: Cut) -> Column:
    """Return whether the key of an event of `frame` is one of those that are cut."""
    columns = [comparable(frame, name) for name in _key_names(unit)]
    keys = (
        functools.reduce(
            operator.and_,
            (column.eqNullSafe(F.lit(value)) for column, value in zip(columns, key, strict=True)),
            F.lit(True),
        )
        for key in cut.keys
    )
    return functools.reduce(operator.or_, keys)


def partials_by_panes(
    unit: Unit,
    outputs: Outputs,
    frame: DataFrame,
    cut: Cut,
    order: list[str],
    schema: T.StructType,
) -> DataFrame:
    """Return the partial outputs of keys that are cut, as the operator would give them.

    `frame` holds their events only; `order` names columns that order simultaneous ones.
    """
    names = _key_names(unit)
    panes = frame.withColumn("pane", cut.pane(F.col("time")))
    panes = panes.repartition(*names, "pane").sortWithinPartitions(*names, "pane", "time", *order)
    kept = T.StructType(
        [frame.schema[name] for name in names]
        + [T.StructField("pane", T.LongType())]
        + [T.StructField(part.name, T.BinaryType()) for part in _panes(unit).parts]
    )
    acted = panes.drop(*order).mapInArrow(Act(unit, bool(order)), kept)
    sorted_panes = acted.repartition(*names) if names else acted.repartition(1)
    return sorted_panes.sortWithinPartitions(*names, "pane").mapInArrow(
        FoldPanes(unit, outputs), schema
    )


@dataclass(frozen=True, slots=True)
class Act:
    """Stage 1: a partition's events, pane after pane, to one action each."""

    unit: Unit
    ordered: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take a partition's batches; yield the actions of its panes.

        Of a pane that goes on its action is kept, and the events of its last moment: memory does
        not grow with panes.
        """
        names = [*_key_names(self.unit), "pane"]
        actions = _panes(self.unit).actions(ordered=self.ordered)
        moment: pa.Table | None = None  # the rows of the moment that may go on
        current: Acted | None = None
        for batch in batches:
            if batch.num_rows == 0:
                continue
            table = pa.Table.from_batches([batch])
            if moment is not None:
                table = pa.concat_tables([moment, table]).combine_chunks()
            whole = int(_runs(table, [*names, "time"])[-1])
            moment = table.slice(whole).combine_chunks()
            if whole:
                done, current = self._extended(actions, table.slice(0, whole), current)
                yield from done
        if moment is not None:
            done, current = self._extended(actions, moment, current)
            yield from done
        if current is not None:
            yield current.batch(names, self.unit)

    def _extended(
        self, actions: PaneActions, table: pa.Table, current: Acted | None
    ) -> tuple[list[pa.RecordBatch], Acted]:
        """Return the actions of the panes that are over, and that of the last one."""
        names = [*_key_names(self.unit), "pane"]
        starts = _runs(table, names)
        columns = {"time": table.column("time"), "class": table.column("class0")}
        columns |= read_columns((self.unit,), table.combine_chunks().to_batches()[0], self.unit)
        batch = pa.table(columns).combine_chunks().to_batches()[0]
        firsts = table.take(pa.array(starts)).select(names)
        goes_on = (
            current is not None
            and len(
                _runs(pa.concat_tables([current.of, firsts.slice(0, 1)]).combine_chunks(), names)
            )
            == 1
        )
        done = [current.batch(names, self.unit)] if current is not None and not goes_on else []
        parts = actions.of(
            np.append(starts, table.num_rows),
            batch,
            current.parts if current is not None and goes_on else None,
        )
        last = len(starts) - 1
        if last:
            done.append(
                Acted(firsts.slice(0, last), tuple(p[:last] for p in parts)).batch(names, self.unit)
            )
        return done, Acted(firsts.slice(last).combine_chunks(), tuple(p[last:] for p in parts))


@dataclass(frozen=True, slots=True)
class Acted:
    """The actions of some panes: their keys and first moments, and their arrays."""

    of: pa.Table
    parts: Action

    def batch(self, names: list[str], unit: Unit) -> pa.RecordBatch:
        """Return the rows that travel to stage 2."""
        made = {name: self.of.column(name).combine_chunks() for name in names}
        for part, values in zip(_panes(unit).parts, self.parts, strict=True):
            made[part.name] = pa.array([one.tobytes() for one in values], pa.binary())
        return pa.RecordBatch.from_pydict(made)


@dataclass(frozen=True, slots=True)
class FoldPanes:
    """Stage 2: a partition's actions, key after key and pane after pane, to partial outputs."""

    unit: Unit
    outputs: Outputs

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take a partition's actions; yield partial outputs with the group's attributes."""
        found = [batch for batch in batches if batch.num_rows]
        if not found:
            return
        table = pa.Table.from_batches(found).combine_chunks()
        panes, outputs = _panes(self.unit), self.outputs
        starts = _runs(table, _key_names(self.unit))
        for first, last in zip(starts, [*starts[1:], table.num_rows], strict=True):
            mine = table.slice(first, last - first)
            action = tuple(
                np.stack(
                    [
                        np.frombuffer(blob, dtype=part.dtype).reshape(part.shape)
                        for blob in mine.column(part.name).to_pylist()
                    ]
                )
                for part in panes.parts
            )
            partials = panes.fold(mine.column("pane").to_numpy(), action)
            for partial in partials.combine_chunks().to_batches():
                groups = {}
                for number in range(len(self.unit.group_by)):
                    value = mine.column(f"g{number}").slice(0, 1).combine_chunks()
                    groups[f"g{number}"] = value.take(partial.column("group"))
                yield outputs.row(self.unit, partial, groups)


def _panes(unit: Unit) -> Panes:
    panes = kind_for(unit).panes(unit)
    assert not isinstance(panes, str), panes  # only units that can be cut come here
    return panes


def _key_names(unit: Unit) -> list[str]:
    names = [f"g{n}" for n in range(len(unit.group_by))]
    return names + [f"k{n}" for n in range(len(unit.equivalence))]


def _runs(table: pa.Table, names: list[str]) -> NDArray[np.int64]:
    """Return where a run of rows with equal values in some columns begins."""
    fresh = np.zeros(table.num_rows, dtype=np.bool_)
    fresh[0] = True
    for name in names:
        fresh[1:] |= differs(table.column(name).combine_chunks())
    return np.flatnonzero(fresh)
