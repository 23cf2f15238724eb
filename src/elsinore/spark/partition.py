"""Running the operators of a pass over one partition's events in Spark's Python workers.

Events arrive as blobs (`elsinore.runtime.columnar`). They are merged in the order of groups, keys
and times. Memory is limited to one key's state and the
memory limit of merging.
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
from elsinore.operators.ties import TieCounter
from elsinore.plan import Unit
from elsinore.runtime.columnar import MEMORY, Layout, Merging, SortedEvents, paired_batches
from elsinore.runtime.finishing import Outputs
from elsinore.runtime.travelling import operator_batch
from elsinore.spark.spreading import Share
from elsinore.spark.statistics import StatisticsAccumulator, count
from elsinore.spark.waiting import Waiting
from elsinore.spark.workers import MapInArrow

LOG = logging.getLogger("elsinore.spark")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOperators:
    """Runs the operators of a pass's units: `mapInArrow` calls it with a partition's batches.

    Its input is blobs of travelling events (columns: `elsinore.runtime.travelling`), its output the
    columns of `Outputs`. The operators' statistics are added to `statistics`, one for each unit,
    when the partition ends. `memory` limits the bytes of events that are merged without spilling.

    With `actions`, the schema of actions, blobs may contain actions, which replace events of the
    unit `combined`. If actions overlap, they cannot be folded: then `again` reads the blobs of some
    partitions again without actions, and the unit `only` is run over them; `uncombined` is the
    number of its events that had not been combined, `uncombined_tied` of which were tied
    (`elsinore.operators.ties`).

    If events near the borders of stretches are sent twice, `share` selects the partition's windows.
    """

    units: tuple[Unit, ...]
    outputs: Outputs
    layout: Layout
    options: OperatorOptions
    orders: tuple[str, ...] = ()
    memory: int = MEMORY
    statistics: tuple[StatisticsAccumulator | None, ...] = ()
    actions: pa.Schema | None = None
    combined: int = 0
    again: Callable[[Sequence[int]], Iterable[pa.RecordBatch]] | None = None
    only: int | None = None
    uncombined: int = 0
    uncombined_tied: int = 0
    share: Share | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield partial outputs as groups end, from a partition's blobs."""
        merging = Merging(self.layout, len(self.units[0].group_by), self.orders, memory=self.memory)
        actions_merging = self._actions_merging(merging)
        bound_for: set[int] = set()
        for batch in batches:
            blobs = batch.column("blob")
            bound_for.update(pc.unique(batch.column("pid")).to_pylist())
            if actions_merging is not None:
                actions_merging.add(blobs.filter(batch.column("acted")))
                blobs = blobs.filter(pc.invert(batch.column("acted")))
            merging.add(blobs)
        if actions_merging is not None:
            yield from self._with_actions(merging, actions_merging, sorted(bound_for))
            return
        operators = self._operators(
            [self.only] if self.only is not None else range(len(self.units))
        )
        outputs_of_units = PartitionOutputs(self, merging, sorted(bound_for))
        has_events = False
        for events in merging.batches():
            has_events = True
            for number, operator in operators.items():
                events_of_unit = self.operator_input(events, number)
                outputs_of_units.count(number, events_of_unit)
                yield from outputs_of_units.rows(number, operator.process(events_of_unit))
        if not has_events:
            return
        for number, operator in operators.items():
            yield from outputs_of_units.rows(number, operator.close())
        counted = {n: outputs_of_units.statistics(n, running) for n, running in operators.items()}
        self._count(counted, merging.spilled_bytes)

    def _operators(self, numbers: Iterable[int]) -> dict[int, Operator]:
        """Return new operators of some of the units."""
        units = {number: self.units[number] for number in numbers}
        return {n: kind_for(unit).operator(unit, self.options) for n, unit in units.items()}

    def _count(self, by_unit: Mapping[int, OperatorStatistics], spilled: int) -> None:
        """Report the operators' statistics, and the bytes spilled for all of them."""
        next(iter(by_unit.values())).spilled_bytes = spilled
        if self.only is not None:  # combined events were counted before the shuffle
            statistics = by_unit[self.only]
            twice = statistics.events - self.uncombined
            statistics.events -= twice
            statistics.matched -= twice
            statistics.combined -= twice
            statistics.tied = self.uncombined_tied
        for number, statistics in by_unit.items():
            if number < len(self.statistics):
                counted = self.statistics[number]
                if counted is not None:
                    count(counted, statistics)

    def _actions_merging(self, merging: Merging) -> Merging | None:
        """Return a `Merging` of actions, with the same key codes; None if there are no actions."""
        if self.actions is None:
            return None
        layout = Layout(self.layout.keys, self.actions)
        return Merging(layout, merging.group_columns, memory=self.memory, shared=merging.codes)

    def _with_actions(
        self, merging: Merging, actions_merging: Merging, partitions: Sequence[int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield partial outputs; those of the combined unit at the end.

        If actions overlap, these are discarded and the task reads its events again.
        """
        operators = self._operators(n for n in range(len(self.units)) if n != self.combined)
        outputs_of_units, folding = (
            PartitionOutputs(self, merging, partitions),
            Folding(self, merging, actions_merging),
        )
        failure: CannotFoldError | None = None
        rows = 0  # events of the combined unit that were not combined
        with closing(Waiting(memory=self.memory)) as waiting:
            for actions, events in paired_batches(actions_merging, merging):
                for number, operator in operators.items():
                    if len(events.key):
                        events_of_unit = self.operator_input(events, number)
                        outputs_of_units.count(number, events_of_unit)
                        yield from outputs_of_units.rows(number, operator.process(events_of_unit))
                events_of_unit = self.operator_input(events, self.combined)
                outputs_of_units.count(self.combined, events_of_unit)
                rows += events_of_unit.num_rows
                if failure is None:
                    failure = folding.store(folding.process(events_of_unit, actions), waiting)
            for number, operator in operators.items():
                yield from outputs_of_units.rows(number, operator.close())
            if failure is None:
                failure = folding.store(folding.close(), waiting)
            counted = {
                n: outputs_of_units.statistics(n, operator_of)
                for n, operator_of in operators.items()
            }
            if failure is None:
                yield from waiting.batches(0)
                counted[self.combined] = replace(
                    folding.statistics(), tied=outputs_of_units.tied(self.combined)
                )
        if counted:
            self._count(counted, merging.spilled_bytes + actions_merging.spilled_bytes)
        if failure is not None:
            if self.again is None:
                raise failure
            LOG.warning("A task reads its events again, none combined: %s", failure)
            alone = replace(
                self,
                actions=None,
                again=None,
                only=self.combined,
                uncombined=rows,
                uncombined_tied=outputs_of_units.tied(self.combined),
            )
            yield from alone(self.again(partitions))

    def operator_input(self, events: SortedEvents, number: int) -> pa.RecordBatch:
        """Return events in the columns that the operator of a unit reads."""
        return operator_batch(self.units, number, events.events, events.key, events.group)


class Folding:
    """Folds the combined unit's actions and events; keys without actions go to the operator."""

    def __init__(self, run: RunOperators, merging: Merging, actions_merging: Merging) -> None:
        self._run, self._merging, self._actions_merging = run, merging, actions_merging
        self._unit = run.units[run.combined]
        panes = kind_for(self._unit).panes(self._unit)
        assert isinstance(panes, Panes), panes
        self._folder = panes.folder(ordered=bool(run.orders), last_time=run.options.last_time)
        self._operator = kind_for(self._unit).operator(self._unit, run.options)
        self._rows = 0  # of partial outputs

    def process(self, events: pa.RecordBatch, actions: SortedEvents) -> Iterator[pa.RecordBatch]:
        """Yield partial outputs. Raises CannotFoldError if actions overlap."""
        folds = np.isin(events.column("key").to_numpy(), self._actions_merging.sorted_keys)
        operator_events = events
        if not folds.all():
            yield from self._operator.process(events.filter(pa.array(~folds)))
            operator_events = events.filter(pa.array(folds))
        if operator_events.num_rows or actions.events.num_rows:
            yield from self._folder.process(operator_events, _of_actions(actions), final=False)

    def close(self) -> Iterator[pa.RecordBatch]:
        """Yield the remaining partial outputs. Also raises CannotFoldError."""
        yield from self._operator.close()
        nothing = self._run.operator_input(
            SortedEvents.empty(self._merging.layout), self._run.combined
        )
        actions = _of_actions(SortedEvents.empty(self._actions_merging.layout))
        yield from self._folder.process(nothing, actions, final=True)

    def store(self, partials: Iterable[pa.RecordBatch], waiting: Waiting) -> CannotFoldError | None:
        """Store partial outputs as rows of the data frame; return the error, if any."""
        try:
            for partial in partials:
                if partial.num_rows:
                    self._rows += partial.num_rows
                    groups = _groups(self._merging, partial)
                    waiting.add(0, self._run.outputs.row(self._unit, partial, groups))
        except CannotFoldError as error:
            return error
        return None

    def statistics(self) -> OperatorStatistics:
        """Return the statistics of folding."""
        return replace(self._operator.statistics, totals=self._rows)


class PartitionOutputs:
    """Filters operators' outputs to the partition's own windows, and adjusts their statistics."""

    def __init__(self, run: RunOperators, merging: Merging, own_partitions: Sequence[int]) -> None:
        self._run = run
        self._merging = merging
        self._own_partitions = own_partitions  # the partitions that this task computes
        self._first = np.zeros(0, np.int64)  # [group], see `Share.first_partitions`
        # Counts of what other partitions report, by unit:
        self._events = [0] * len(run.units)
        self._matched = [0] * len(run.units)  # events of interest
        self._rows = [0] * len(run.units)
        ordered = run.options.ordered
        self._ties = [None if ordered else TieCounter(unit) for unit in run.units]

    def count(self, number: int, events: pa.RecordBatch) -> None:
        """Count the events of a unit's batch that belong to other partitions, or are tied."""
        share, ties, own_events = self._run.share, self._ties[number], events
        if share is not None:
            of_other_partitions = ~share.events_of_partitions(
                events, self._partitions(share), self._own_partitions
            )
            self._events[number] += int(np.count_nonzero(of_other_partitions))
            of_interest = events.column("class").to_numpy() >= 0
            self._matched[number] += int(np.count_nonzero(of_other_partitions & of_interest))
            own_events = events.filter(pa.array(~of_other_partitions))
        if ties is not None:
            ties.add(own_events)

    def tied(self, number: int) -> int:
        """Return the number of a unit's tied events among those counted."""
        ties = self._ties[number]
        return 0 if ties is None else ties.total()

    def rows(self, number: int, partials: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the outputs of a unit's operator as rows of the data frame."""
        share = self._run.share
        for output in partials:
            partial = output
            if share is not None and output.num_rows:
                rows_of_partitions = share.rows_of_partitions(
                    number, output, self._partitions(share), self._own_partitions
                )
                partial = output.take(pa.array(rows_of_partitions))
                self._rows[number] += output.num_rows - partial.num_rows
            if partial.num_rows:
                groups = _groups(self._merging, partial)
                yield self._run.outputs.row(self._run.units[number], partial, groups)

    def statistics(self, number: int, operator: Operator) -> OperatorStatistics:
        """Return the statistics of a unit's operator without events of other partitions."""
        statistics = operator.statistics
        return replace(
            statistics,
            events=statistics.events - self._events[number],
            matched=statistics.matched - self._matched[number],
            totals=statistics.totals - self._rows[number],
            tied=self.tied(number),
        )

    def _partitions(self, share: Share) -> NDArray[np.int64]:
        """Return the partition of the first stretch of each group seen so far."""
        groups = self._merging.codes.groups
        count = len(groups[0]) if groups else 1
        if len(self._first) != count:
            self._first = share.first_partitions(groups, count)
        return self._first


def _of_actions(actions: SortedEvents) -> pa.RecordBatch:
    """Return actions with their codes."""
    columns = {"key": pa.array(actions.key), "group": pa.array(actions.group)}
    columns |= dict(zip(actions.events.schema.names, actions.events.columns, strict=True))
    return pa.RecordBatch.from_pydict(columns)


def _groups(merging: Merging, partial: pa.RecordBatch) -> dict[str, pa.Array]:
    """Return the groups' values of a partial output."""
    codes = partial.column("group")
    return {f"g{n}": column.take(codes) for n, column in enumerate(merging.codes.groups)}


@dataclass(frozen=True, slots=True)
class Chained:
    """The composition of two functions for `mapInArrow`."""

    first: MapInArrow
    second: MapInArrow

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the result of the second function over that of the first."""
        return self.second(self.first(batches))
