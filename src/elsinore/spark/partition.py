"""What runs in Spark's Python workers: the operators of a pass over one partition's events.

Events come packed (`elsinore.spark.columnar`); merged they come key after key, those of a group
together, each key's in time order. Memory is one key's, however many events it has, and what
merging is allowed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.operators import Operator, OperatorOptions, OperatorStatistics, kind_for
from elsinore.operators.panes import CannotFoldError, Panes
from elsinore.operators.ranks import to_ranks
from elsinore.plan import Carried, Travel, Unit
from elsinore.spark.columnar import MEMORY, Layout, Merging, Sorted, together
from elsinore.spark.spreading import Share
from elsinore.spark.statistics import StatisticsAccumulator, count
from elsinore.spark.waiting import Waiting
from elsinore.spark.workers import MapInArrow

LOG = logging.getLogger("elsinore.spark")


def travelling(units: Sequence[Unit]) -> dict[tuple[object, Travel], Carried]:
    """Return the columns that the units of a pass carry, those that are alike once."""
    found: dict[tuple[object, Travel], Carried] = {}
    for unit in units:
        for column in unit.columns:
            found.setdefault((column.source, column.travel), column)
    return found


class Outputs:
    """How partial outputs of a pass's queries lie in one data frame.

    Rows have the group's attributes `g0`, ..., and the query's number in the workload. Where all
    queries' columns are the same, these follow as `f0`, ...; else there is a struct of them for
    each different schema, `o0`, ..., and a row has one of them.
    """

    def __init__(self, units: Sequence[Unit], types: Sequence[Mapping[str, pa.DataType]]) -> None:
        """Lay out what the units' operators give out; `types`: of what each unit carries."""
        self._schemas: list[pa.Schema] = []
        self._place: dict[int, int] = {}  # query -> its schema
        for unit, carried in zip(units, types, strict=True):
            partials = kind_for(unit).partials(unit, carried)
            for number, declared in zip(unit.queries, partials, strict=True):
                schema = without_codes(declared)
                if schema not in self._schemas:
                    self._schemas.append(schema)
                self._place[number] = self._schemas.index(schema)

    @property
    def fields(self) -> pa.Schema:
        """The columns after the group's attributes."""
        if len(self._schemas) == 1:
            return pa.schema([("query", pa.int32()), *_numbered(self._schemas[0])])
        structs = [(f"o{n}", pa.struct(_numbered(one))) for n, one in enumerate(self._schemas)]
        return pa.schema([("query", pa.int32()), *structs])

    def fields_of(self, query: int, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of queries with a query's schema: the group's attributes, `query`, fields."""
        groups = [name for name in rows.schema.names if name[0] == "g"]
        fields = [name for name, _ in _numbered(self._schemas[self._place[query]])]
        if len(self._schemas) == 1:
            return rows.select([*groups, "query", *fields])
        struct = rows.column(f"o{self._place[query]}")
        columns = [*map(rows.column, (*groups, "query")), *struct.flatten()]
        return pa.RecordBatch.from_arrays(columns, names=[*groups, "query", *fields])

    def row(
        self, unit: Unit, partial: pa.RecordBatch, groups: dict[str, pa.Array]
    ) -> pa.RecordBatch:
        """Return a partial output as rows of the data frame, with the groups' values."""
        queries = np.array(unit.queries, dtype=np.int32)[partial.column("query").to_numpy()]
        columns = {**groups, "query": pa.array(queries)}
        place = self._place[int(queries[0])]
        parts = [partial.column(f.name).cast(f.type) for f in self._schemas[place]]
        if len(self._schemas) == 1:
            columns |= {f"f{n}": part for n, part in enumerate(parts)}
            return pa.RecordBatch.from_pydict(columns)
        for other, one in enumerate(self._schemas):
            kind = pa.struct(_numbered(one))
            columns[f"o{other}"] = (
                pa.StructArray.from_arrays(parts, fields=list(kind))
                if other == place
                else pa.nulls(partial.num_rows, kind)
            )
        return pa.RecordBatch.from_pydict(columns)


def without_codes(schema: pa.Schema) -> pa.Schema:
    """Return the columns of partial outputs but for `query` and `group`."""
    return pa.schema([field for field in schema if field.name not in {"query", "group"}])


def _numbered(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    return [(f"f{n}", field.type) for n, field in enumerate(schema)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOperators:
    """Runs the operators of a pass's units: `mapInArrow` calls it with a partition's batches.

    In: blobs of events, whose keys have the group's attributes `g0`, ... and the rest of the key
    `k0`, ..., and whose events have `time`, their class for each unit (`class0`, ...), what orders
    simultaneous ones (`o0`, ..., named by `orders`), and what travels (`c0`, ..., in the order of
    `travelling`). Out: see `Outputs`. What the operators counted is added to `statistics`, one for
    each unit, when the partition ends. `memory`: bytes of events that are merged without a disk.
    Where `actions` says what columns they have, blobs may hold actions of events of the one unit;
    `again` gives the blobs of some partitions once more, with none, in case they overlap after all;
    `uncombined` is then how many events had come without being combined.
    Where events travel twice, `share` tells which windows are the partition's own.
    """

    units: tuple[Unit, ...]
    outputs: Outputs
    layout: Layout
    options: OperatorOptions
    orders: tuple[str, ...] = ()
    memory: int = MEMORY
    statistics: tuple[StatisticsAccumulator | None, ...] = ()
    actions: pa.Schema | None = None
    again: Callable[[Sequence[int]], Iterable[pa.RecordBatch]] | None = None
    uncombined: int | None = None
    share: Share | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take a partition's blobs; yield partial outputs as groups end."""
        merging = Merging(self.layout, len(self.units[0].group_by), self.orders, memory=self.memory)
        acted = self._acted(merging)
        bound_for: set[int] = set()
        for batch in batches:
            blobs = batch.column("blob")
            bound_for.update(pc.unique(batch.column("pid")).to_pylist())
            if acted is not None:
                acted.add(blobs.filter(batch.column("acted")))
                blobs = blobs.filter(pc.invert(batch.column("acted")))
            merging.add(blobs)
        if acted is not None:
            yield from self._with_actions(merging, acted, sorted(bound_for))
            return
        operators = [kind_for(unit).operator(unit, self.options) for unit in self.units]
        taking = Taking(self, merging, sorted(bound_for))
        seen = False
        for events in merging.batches():
            seen = True
            for number, operator in enumerate(operators):
                given = self._given(events, number)
                taking.count(number, given)
                yield from taking.rows(number, operator.process(given))
        if not seen:
            return
        for number, operator in enumerate(operators):
            yield from taking.rows(number, operator.close())
        told = [taking.counted(n, one) for n, one in enumerate(operators)]
        self._count(told, merging.spilled_bytes)

    def _count(self, told: Sequence[OperatorStatistics], spilled: int) -> None:
        """Hand on what operators counted, and the bytes that were spilled for all of them."""
        told[0].spilled_bytes = spilled
        if self.uncombined is not None:  # who combined the others has counted them
            twice = told[0].events - self.uncombined
            told[0].events -= twice
            told[0].matched -= twice
            told[0].combined -= twice
        for one, counted in zip(told, self.statistics, strict=False):
            if counted is not None:
                count(counted, one)

    def _acted(self, merging: Merging) -> Merging | None:
        """Return what orders actions, by the same codes of keys; None where there are none."""
        if self.actions is None:
            return None
        layout = Layout(self.layout.keys, self.actions)
        return Merging(layout, merging.group_columns, memory=self.memory, shared=merging.codes)

    def _with_actions(
        self, merging: Merging, acted: Merging, partitions: Sequence[int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield partial outputs once all are there: where an overlap shows, none of them counts."""
        (unit,) = self.units
        operator = kind_for(unit).operator(unit, self.options)
        given = 0
        with closing(Waiting(memory=self.memory)) as waiting:
            try:
                for partial in self._folded(merging, acted, operator):
                    if partial.num_rows:
                        given += partial.num_rows
                        waiting.add(0, self.outputs.row(unit, partial, _groups(merging, partial)))
            except CannotFoldError as error:
                if self.again is None:
                    raise
                LOG.warning("A task reads its events again, none combined: %s", error)
                alone = replace(self, actions=None, again=None, uncombined=merging.rows)
                yield from alone(self.again(partitions))
                return
            yield from waiting.batches(0)
        operator.statistics.totals = given
        self._count([operator.statistics], merging.spilled_bytes + acted.spilled_bytes)

    def _folded(
        self, merging: Merging, acted: Merging, operator: Operator
    ) -> Iterator[pa.RecordBatch]:
        """Yield partial outputs: keys with actions are folded, others are the operator's."""
        panes = kind_for(self.units[0]).panes(self.units[0])
        assert isinstance(panes, Panes), panes
        folder = panes.folder(ordered=bool(self.orders))
        for actions, events in together(acted, merging):
            given, of_actions = self._given(events, 0), _of_actions(actions)
            folds = np.isin(events.key, acted.seen)
            if not folds.all():
                yield from operator.process(given.filter(pa.array(~folds)))
                given = given.filter(pa.array(folds))
            if given.num_rows or actions.events.num_rows:
                yield from folder.process(given, of_actions, final=False)
        nothing = self._given(Sorted.none(merging.layout), 0)
        yield from operator.close()
        yield from folder.process(nothing, _of_actions(Sorted.none(acted.layout)), final=True)

    def _given(self, events: Sorted, number: int) -> pa.RecordBatch:
        """Return events as the operator of one of the units reads them."""
        unit = self.units[number]
        given = pa.RecordBatch.from_pydict(
            {
                "key": pa.array(events.key),
                "group": pa.array(events.group),
                "time": events.events.column("time"),
                "class": events.events.column(f"class{number}").cast(pa.int64()),
            }
            | read_columns(self.units, events.events, unit)
        )
        if len(self.units) > 1 and not unit.keeps_all:  # others' events are among them
            given = given.filter(pc.greater_equal(given.column("class"), 0))
        return given


class Taking:
    """Takes what operators give out of a partition's events: rows of its own windows."""

    def __init__(self, run: RunOperators, merging: Merging, here: Sequence[int]) -> None:
        self._run = run
        self._merging = merging
        self._here = here  # the partitions that events are bound for
        self._first = np.zeros(0, np.int64)  # [group], see `Share.first_partitions`
        self._events = [0] * len(run.units)  # that belong to windows of others alone or as well,
        self._matched = [0] * len(run.units)  # of interest
        self._rows = [0] * len(run.units)  # that others give out

    def count(self, number: int, given: pa.RecordBatch) -> None:
        """Count which events that a unit's operator is given are others' own."""
        share = self._run.share
        if share is not None:
            others = ~share.own_events(given, self._partitions(share), self._here)
            self._events[number] += int(np.count_nonzero(others))
            of_interest = given.column("class").to_numpy() >= 0
            self._matched[number] += int(np.count_nonzero(others & of_interest))

    def rows(self, number: int, partials: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield what a unit's operator gives out as rows of the data frame."""
        share = self._run.share
        for given in partials:
            partial = given
            if share is not None and given.num_rows:
                own = share.own_rows(number, given, self._partitions(share), self._here)
                partial = given.take(pa.array(own))
                self._rows[number] += given.num_rows - partial.num_rows
            if partial.num_rows:
                groups = _groups(self._merging, partial)
                yield self._run.outputs.row(self._run.units[number], partial, groups)

    def counted(self, number: int, operator: Operator) -> OperatorStatistics:
        """Return what a unit's operator counted, but for what is others'."""
        found = operator.statistics
        return replace(
            found,
            events=found.events - self._events[number],
            matched=found.matched - self._matched[number],
            totals=found.totals - self._rows[number],
        )

    def _partitions(self, share: Share) -> NDArray[np.int64]:
        """Return the partition of the first stretch of each group that is known by now."""
        groups = self._merging.codes.groups
        count = len(groups[0]) if groups else 1
        if len(self._first) != count:
            self._first = share.first_partitions(groups, count)
        return self._first


def _of_actions(actions: Sorted) -> pa.RecordBatch:
    """Return actions with their codes."""
    columns = {"key": pa.array(actions.key), "group": pa.array(actions.group)}
    columns |= dict(zip(actions.events.schema.names, actions.events.columns, strict=True))
    return pa.RecordBatch.from_pydict(columns)


def _groups(merging: Merging, partial: pa.RecordBatch) -> dict[str, pa.Array]:
    """Return the values of the groups that a partial output is of."""
    codes = partial.column("group")
    return {f"g{n}": column.take(codes) for n, column in enumerate(merging.codes.groups)}


@dataclass(frozen=True, slots=True)
class Chained:
    """Two functions for `mapInArrow` as one, the second over what the first gives out."""

    first: MapInArrow
    second: MapInArrow

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield what the second function makes of a partition."""
        return self.second(self.first(batches))


def read_columns(units: Sequence[Unit], batch: pa.RecordBatch, unit: Unit) -> dict[str, pa.Array]:
    """Return the columns that one of the units of a pass carries, as its operator reads them."""
    places = {place: n for n, place in enumerate(travelling(units))}
    columns = {}
    for column in unit.columns:
        values = batch.column(f"c{places[column.source, column.travel]}")
        columns[column.name] = to_ranks(values) if column.travel is Travel.RANK else values
    return columns
