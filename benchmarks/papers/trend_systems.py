"""Elsinore and the other systems, fed with small batches as a stream is, window by window."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from benchmarks.baselines.trends.greta import Greta
from benchmarks.baselines.trends.hamlet import Hamlet
from benchmarks.baselines.trends.mcep import Mcep
from benchmarks.baselines.trends.queries import Events, System
from benchmarks.baselines.trends.running_sums import RunningSums
from benchmarks.baselines.trends.sharon import Sharon
from benchmarks.papers.trend_cases import MINUTE, Case, Window
from elsinore.datasets.columns import START
from elsinore.language import parse_workload
from elsinore.local.driver import prepare
from elsinore.local.events import Events as EncodedEvents
from elsinore.operators import Operator, OperatorOptions, kind_for, plan
from elsinore.operators.partials import results_of
from elsinore.plan import Granularity, Plan, Sharing, Unit
from elsinore.runtime.classify import type_places
from elsinore.runtime.keys import NumberedKeys
from elsinore.runtime.options import RunOptions
from elsinore.runtime.units import keys_of

Found = dict[tuple[str, int, int], tuple[float, float]]
"""By query, begin of the window in minutes and group: the number of trends, and the sum."""


class Fed(Protocol):
    """A system that runs a case."""

    def feed(self, begin: int, end: int) -> None:
        """Take the events from one place up to another."""

    def close(self, minute: int) -> None:
        """Make the results of all windows that end at a minute."""

    def found(self) -> Found:
        """Return all results."""


class Baseline:
    """Another system, with an instance for each open window."""

    def __init__(self, make: Callable[..., System], case: Case) -> None:
        self._case, self._make = case, make
        self._events = case.events()
        self._open: dict[tuple[Window, int], System] = {}
        self._found: Found = {}
        self._kinds, self._groups = case.kinds, case.groups
        for window in case.queries:
            self._open_at(window, 0)

    def feed(self, begin: int, end: int) -> None:
        """Take the events from one place up to another."""
        events: Events = self._events.part(begin, end)
        for system in self._open.values():
            system.feed(events)

    def close(self, minute: int) -> None:
        """Make the results of all windows that end at a minute; open those that begin."""
        for window, begin in tuple(self._open):
            if begin + window.within == minute:
                self._keep(window, begin, self._open.pop((window, begin)))
        for window in self._case.queries:
            if minute % window.slide == 0:
                self._open_at(window, minute)

    def found(self) -> Found:
        """Return all results."""
        return self._found

    def _open_at(self, window: Window, minute: int) -> None:
        if minute + window.within <= self._case.minutes:
            queries = self._case.queries[window]
            self._open[window, minute] = self._make(queries, self._kinds, self._groups)

    def _keep(self, window: Window, begin: int, system: System) -> None:
        totals = system.totals()
        for number, query in enumerate(self._case.queries[window]):
            for group in np.flatnonzero(totals.counts[number]).tolist():
                total = float(totals.sums[number, group]) if query.adds else 0.0
                self._found[query.name, begin, group] = float(totals.counts[number, group]), total


@dataclass(slots=True)
class EncodedRun:
    """A unit of a workload, its encoded events, its operator and what that has given out."""

    unit: Unit
    keys: NumberedKeys
    events: EncodedEvents
    operator: Operator
    outputs: list[pa.RecordBatch]


def encoded_runs(ready: Plan, table: pa.Table, sharing: Sharing) -> list[EncodedRun]:
    """Return what runs a plan over a table's events, unit by unit."""
    stream, _ = prepare(table, RunOptions())
    runs = []
    for unit in ready.units:
        keys = keys_of(unit, stream.column, len(stream.times), 1)
        places = type_places(stream.types, unit.types)
        events = EncodedEvents(unit, keys, stream.times, *places, stream.column)
        operator = kind_for(unit).operator(unit, OperatorOptions(ordered=True, sharing=sharing))
        runs.append(EncodedRun(unit, keys, events, operator, []))
    return runs


class Elsinore:
    """The trend operators of a workload's units, fed with encoded batches."""

    def __init__(self, case: Case, sharing: Sharing, granularity: Granularity) -> None:
        begun = time.process_time()
        ready = plan(parse_workload(case.text()), granularity=granularity)
        self.analysis = time.process_time() - begun
        self._runs = encoded_runs(ready, case.table, sharing)
        self._batches: dict[tuple[int, int], list[pa.RecordBatch]] = {}

    def encode(self, begin: int, end: int) -> None:
        """Encode the events from one place up to another, as they are for all other systems."""
        self._batches[begin, end] = [run.events.batch(begin, end) for run in self._runs]

    def feed(self, begin: int, end: int) -> None:
        """Take the events from one place up to another."""
        batches = self._batches[begin, end]
        for run, batch in zip(self._runs, batches, strict=True):
            run.outputs.extend(run.operator.process(batch))

    def close(self, minute: int) -> None:
        """Make the results of all windows that end at a minute."""
        for run in self._runs:
            run.outputs.extend(run.operator.close(START + minute * MINUTE))

    def statistics(self) -> list[Any]:
        """Return what each unit's operator counted."""
        return [run.operator.statistics for run in self._runs]

    def found(self) -> Found:
        """Return all results of windows that are over, and that lie whole in the stream."""
        found: Found = {}
        for run in self._runs:
            unit, column = run.unit, run.events.column
            types = {name: column(name).type for name in unit.carried}
            groups = [run.keys.group_values(column(name)) for name in unit.group_by]
            tables = results_of(unit, run.outputs, groups, types, lambda table, _: table, 1)
            for name, (table, _) in zip(unit.names, tables, strict=True):
                found |= dict(_rows(name, table))
        return found


def _rows(name: str, table: pa.Table) -> Iterable[tuple[tuple[str, int, int], Any]]:
    """Yield the rows of a query as `found` has them."""
    for row in table.to_pylist():
        minute = (row["window_start"] - START) // MINUTE
        total = next((row[column] for column in row if column.startswith("sum(")), 0.0)
        if minute >= 0:
            yield (name, int(minute), int(row.get("g", 0))), (row["count(*)"], total or 0.0)


def sharon(case: Case) -> Baseline:
    """Return SHARON, told the length of the longest match as the paper's estimate."""
    events, times = case.events(), case.times
    names = case.kinds
    repeated = {
        names.index(step.kind)
        for queries in case.queries.values()
        for query in queries
        for step in query.steps
        if step.repeats
    }
    widest = max(window.within for window in case.queries)
    longest = 0
    for kind in repeated:
        of_kind = times[events.kinds == kind] // MINUTE
        per_minute = np.bincount(of_kind, minlength=case.minutes)
        longest = max(longest, int(np.convolve(per_minute, np.ones(widest, np.int64)).max()))
    return Baseline(partial(Sharon, longest=longest), case)


SYSTEMS: Mapping[str, Callable[[Case], Fed]] = MappingProxyType(
    {
        "Elsinore": lambda case: Elsinore(case, Sharing.DYNAMIC, Granularity.AUTO),
        "always": lambda case: Elsinore(case, Sharing.ALWAYS, Granularity.AUTO),
        "never": lambda case: Elsinore(case, Sharing.NEVER, Granularity.AUTO),
        "running sums": partial(Baseline, RunningSums),
        "HAMLET as written": partial(Baseline, Hamlet),
        "decided once": lambda case: Baseline(partial(Hamlet, decisions={}), case),
        "GRETA": partial(Baseline, Greta),
        "SHARON": sharon,
        "MCEP": partial(Baseline, Mcep),
    }
)
