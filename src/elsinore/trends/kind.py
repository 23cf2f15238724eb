"""Trend queries as a kind: planning, operators and results, by the contract of all kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.errors import StateError
from elsinore.model.kinds import Kind as QueryKind
from elsinore.model.pattern import is_single
from elsinore.model.query import Query
from elsinore.model.window import Window
from elsinore.operators import (
    Kind,
    Operator,
    OperatorOptions,
    OperatorStatistics,
    ResultForm,
    Sample,
)
from elsinore.operators.kind import QUERY
from elsinore.operators.open_end import windows_at
from elsinore.operators.panes import Panes
from elsinore.operators.slot_assignment import SlotAssigningOperator, slots_from_arrays
from elsinore.operators.slots import KeySlots, slots_of, with_slots
from elsinore.plan import (
    Partition,
    PlanOptions,
    Sharing,
    TrendUnit,
    Unit,
    plan_trends,
)
from elsinore.plan.explain import (
    TemplateGraph,
    query_warnings,
    template_graph,
    unit_facts,
    unit_lines,
)
from elsinore.plan.panes import can_combine
from elsinore.saved_states import pack, reading_state, unpack
from elsinore.trends.engine.operator import EngineOperator
from elsinore.trends.engine.program import engine_unit
from elsinore.trends.exact import ExactOperator
from elsinore.trends.explain import sharing_facts, sharing_text
from elsinore.trends.fold import TrendPanes
from elsinore.trends.partials import totals_fields
from elsinore.trends.recording import Recorder
from elsinore.trends.results import families, family_table, result_form
from elsinore.trends.statistics import SAVED_BY, TrendStatistics

TrendsOperator = EngineOperator | ExactOperator
NO_WINDOW = (
    "without WITHIN there is one window, which ends when the stream does, so that nothing is "
    "returned before. Add WITHIN."
)


class KeyedOperator(SlotAssigningOperator):
    """An operator of trend queries that assigns slots to keys, and may record its events."""

    def __init__(
        self,
        inner: TrendsOperator,
        *,
        one_slot: bool,
        slots: KeySlots | None = None,
        recorder: Recorder | None = None,
        last_time: int | None = None,
    ) -> None:
        windows = [member.query.window for member in inner.unit.members]
        super().__init__(inner, windows, one_slot=one_slot, slots=slots, last_time=last_time)
        self._slotted = inner
        self._recorder = recorder

    @property
    def statistics(self) -> TrendStatistics:
        """What the operator has done so far."""
        statistics = self._slotted.statistics
        if self._recorder is not None:
            statistics.recording = self._recorder.recording(statistics.sharing)
        if self.open_rows:
            return replace(statistics, totals=statistics.totals - self.open_rows)
        return statistics

    def process(self, batch: pa.RecordBatch, until: int | None = None) -> Iterable[pa.RecordBatch]:
        """Process a batch; return totals that are already final (with `one_slot`, or `until`)."""
        if self._recorder is not None:
            slots = self._slots
            taken = batch if slots is None else with_slots(batch, slots_of(batch, slots))
            self._recorder.take(taken, batch.column("key"))
        return super().process(batch, until)

    def save(self) -> bytes:
        """Return the state as bytes from which `load` continues."""
        arrays = self.saved_slots()
        arrays["one_slot"] = np.array([self._one_slot])
        arrays["inner"] = np.frombuffer(self._slotted.save(), dtype=np.uint8)
        return pack(SAVED_BY, self._slotted.unit.fingerprint, arrays)

    @classmethod
    @reading_state(SAVED_BY)
    def load(cls, unit: TrendUnit, blob: bytes) -> KeyedOperator:
        """Return the operator whose state `save` returned.

        Raises StateError if the bytes are damaged or of another version or workload.
        """
        arrays = unpack(SAVED_BY, unit.fingerprint, blob)
        if "inner" not in arrays:
            raise StateError("The saved state is damaged: it has no operator in it.")
        inner = operator_class(unit).load(unit, arrays["inner"].tobytes())
        one_slot = bool(arrays["one_slot"][0])
        return cls(inner, one_slot=one_slot, slots=slots_from_arrays(arrays))


def operator_class(unit: TrendUnit) -> type[TrendsOperator]:
    """Return the class of a unit's operators."""
    return ExactOperator if engine_unit(unit) is None else EngineOperator


class Trends(Kind):
    """Aggregates over all trends: COUNT(*), SUM(T.x), MIN(T.x) and so on."""

    name = "trends"

    def claims(self, query: Query) -> bool:
        """Return whether a query aggregates trends and returns no single matches."""
        return query.kind is QueryKind.TRENDS

    def plan(self, queries: Sequence[tuple[int, Query]], options: PlanOptions) -> Sequence[Unit]:
        """Plan trend queries: a unit for each partition and path."""
        return plan_trends(queries, __name__, options)

    def operator(self, unit: Unit, options: OperatorOptions) -> Operator:
        """Return a new operator: the engine's, or the exact one."""
        spec, recorder = spec_of(unit), None
        if options.record:
            recorder = Recorder(spec, ordered=options.ordered)
        inner = operator_class(spec)(
            spec,
            one_slot=options.one_slot,
            ordered=options.ordered,
            sharing=options.sharing,
            record=options.record,
        )
        return KeyedOperator(
            inner, one_slot=options.one_slot, recorder=recorder, last_time=options.last_time
        )

    def load(self, unit: Unit, blob: bytes) -> Operator:
        """Return the operator whose state `save` returned."""
        return KeyedOperator.load(spec_of(unit), blob)

    def partials(
        self,
        unit: Unit,
        types: Mapping[str, pa.DataType],
    ) -> Sequence[pa.Schema]:
        """Return the columns of totals, which all queries of a unit share."""
        spec = spec_of(unit)
        return [totals_fields(spec, exact=spec.exact)] * len(unit.queries)

    def result(
        self,
        unit: Unit,
        query: int,
        groups: Sequence[pa.DataType],
        types: Mapping[str, pa.DataType],
    ) -> ResultForm:
        """Return the form of a query's result: group attributes, window, aggregates."""
        return result_form(unit, spec_of(unit), query, groups, types)

    def finish(
        self,
        unit: Unit,
        query: int,
        partials: pa.Table,
        groups: Sequence[pa.Array],
        types: Mapping[str, pa.DataType],
    ) -> pa.Table:
        """Return a query's result from its totals."""
        return self.finish_family(unit, [query], partials, groups, types).drop_columns([QUERY])

    def families(self, unit: Unit) -> Sequence[Sequence[int]]:
        """Return lists of queries whose results have the same columns."""
        return families(spec_of(unit))

    def finish_family(
        self,
        unit: Unit,
        family: Sequence[int],
        partials: pa.Table,
        groups: Sequence[pa.Array],
        types: Mapping[str, pa.DataType],
    ) -> pa.Table:
        """Return the results of the queries of one family in one table, with their places."""
        return family_table(unit, spec_of(unit), family, partials, groups, types)

    def bytes_per_key(self, unit: Unit) -> int:
        """Return how much memory each key takes, beside buffered events."""
        return operator_class(spec_of(unit)).bytes_per_key(spec_of(unit))

    def runs_in_threads(self, unit: Unit) -> bool:
        """Return whether compiled code does all the work, which lets other threads run."""
        return engine_unit(spec_of(unit)) is not None

    def keeps_batches(self, unit: Unit) -> bool:
        """Return whether events are buffered until windows close."""
        return engine_unit(spec_of(unit)) is None

    def panes(self, unit: Unit) -> Panes | str:
        """Return how a unit's events are combined by panes, or why they cannot be."""
        why_not = can_combine(spec_of(unit))
        if why_not is not None:
            return why_not
        return TrendPanes(spec_of(unit))

    def windows(self, unit: Unit) -> Sequence[Window] | str:
        """Return the window of each query: a trend reads no event beyond its window."""
        windows = [template.query.window for template in spec_of(unit).members]
        known = [window for window in windows if window is not None]
        return known if len(known) == len(windows) else "a query has no WITHIN"

    def tied_types(self, unit: Unit) -> Sequence[Sequence[str]]:
        """Return the types of each pattern; none if its trends are single events."""
        members = spec_of(unit).members
        return [
            () if is_single(member.query.pattern) else types
            for types, member in zip(unit.types_of, members, strict=True)
        ]

    def open_windows(
        self,
        unit: Unit,
        last_time: int,
        statistics: OperatorStatistics | None,
    ) -> Sequence[int | None]:
        """Return how many windows of each query contain the time of the last event."""
        windows = [template.query.window for template in spec_of(unit).members]
        return [windows_at(window, last_time) for window in windows]

    def streams(self, unit: Unit) -> Sequence[tuple[int, str]]:
        """Return the queries without WITHIN: their only window ends with the stream."""
        return [
            (place, NO_WINDOW)
            for place, template in enumerate(spec_of(unit).members)
            if template.query.window is None
        ]

    def statistics(self) -> TrendStatistics:
        """Return empty statistics."""
        return TrendStatistics()

    def warnings(self, unit: Unit) -> Sequence[tuple[int, str]]:
        """Return warnings about likely mistakes, for example gaps between windows."""
        warnings_by_query: list[tuple[int, str]] = []
        for place, template in enumerate(spec_of(unit).members):
            texts = [*query_warnings(template.query), *template.warnings]
            if not template.accepting and template.warnings:
                texts[-len(template.warnings)] = f"no events can match, for {template.warnings[0]}"
            elif not template.accepting:
                texts.append("no events can match: its conditions contradict each other.")
            warnings_by_query += [(place, text) for text in texts]
        return warnings_by_query

    def facts(self, unit: Unit) -> dict[str, Any]:
        """Return the facts about the unit's templates."""
        return unit_facts(spec_of(unit))

    def lines(self, unit: Unit, facts: Mapping[str, Any]) -> Sequence[str]:
        """Return the same in words."""
        return unit_lines(dict(facts))

    def summary(
        self, units: Sequence[Unit], sample: Sample | None, sharing: Sharing
    ) -> dict[str, Any]:
        """Return facts about which queries share what, and why others do not."""
        return {"sharing": sharing_facts(trend_units(units), sample, sharing)}

    def summary_lines(
        self, units: Sequence[Unit], sample: Sample | None, sharing: Sharing
    ) -> Sequence[str]:
        """Return the same in words."""
        return sharing_text(trend_units(units), sample, sharing)

    def graph(self, unit: Unit) -> TemplateGraph:
        """Return the merged template."""
        return template_graph(spec_of(unit).members)


def trend_units(units: Sequence[Unit]) -> list[tuple[Partition, TrendUnit]]:
    """Return the specs of the units of trend queries among others, with their partitions."""
    return [(unit.partition, spec_of(unit)) for unit in units if unit.kind == __name__]


def spec_of(unit: Unit) -> TrendUnit:
    """Return the spec of a unit of trend queries."""
    assert isinstance(unit.spec, TrendUnit)
    return unit.spec


KIND = Trends()
