"""Trend queries as a kind: what planning, drivers and results know of the engine.

Only planning is loaded with this module; the engine comes with the first operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
from elsinore.plan import (
    Partition,
    Plan,
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
from elsinore.trends.engine.program import engine_unit
from elsinore.trends.statistics import TrendStatistics

if TYPE_CHECKING:
    import pyarrow as pa

NO_WINDOW = (
    "without WITHIN there is one window, which ends when the stream does, so that nothing is "
    "returned before. Add WITHIN."
)


class Trends(Kind):
    """Aggregates over all trends: COUNT(*), SUM(T.x) and their like."""

    name = "trends"

    def claims(self, query: Query) -> bool:
        """Return whether a query aggregates trends, and asks for no values of single matches."""
        return query.kind is QueryKind.TRENDS

    def plan(self, queries: Sequence[tuple[int, Query]], options: PlanOptions) -> Sequence[Unit]:
        """Plan trend queries: a unit for each partition and path."""
        return plan_trends(queries, __name__, options)

    def operator(self, unit: Unit, options: OperatorOptions) -> Operator:
        """Return a new operator: that of the unit's path."""
        from elsinore.trends.operators import GivingOut, operator_class  # noqa: PLC0415 - the engine

        spec, recorder = spec_of(unit), None
        if options.record:
            from elsinore.trends.graphlets.recording import Recorder  # noqa: PLC0415 - for records alone

            recorder = Recorder(spec, ordered=options.ordered)
        inner = operator_class(spec)(
            spec,
            one_slot=options.one_slot,
            ordered=options.ordered,
            sharing=options.sharing,
            record=options.record,
        )
        return GivingOut(
            inner, one_slot=options.one_slot, recorder=recorder, last_time=options.last_time
        )

    def load(self, unit: Unit, blob: bytes) -> Operator:
        """Return the operator that `save` made the bytes of."""
        from elsinore.trends.operators import GivingOut  # noqa: PLC0415 - the engine

        return GivingOut.load(spec_of(unit), blob)

    def partials(
        self,
        unit: Unit,
        types: Mapping[str, pa.DataType],
    ) -> Sequence[pa.Schema]:
        """Return the columns of totals, which all queries of a unit share."""
        from elsinore.trends.partials import totals_fields  # noqa: PLC0415 - the engine

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
        from elsinore.trends.results import result_form  # noqa: PLC0415 - the engine

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
        """Return the queries whose results differ in their rows alone, in lists."""
        from elsinore.trends.results import families  # noqa: PLC0415 - the engine

        return families(spec_of(unit))

    def finish_family(
        self,
        unit: Unit,
        family: Sequence[int],
        partials: pa.Table,
        groups: Sequence[pa.Array],
        types: Mapping[str, pa.DataType],
    ) -> pa.Table:
        """Return the results of such queries in one table, with their places."""
        from elsinore.trends.results import family_table  # noqa: PLC0415 - the engine

        return family_table(unit, spec_of(unit), family, partials, groups, types)

    def bytes_per_key(self, unit: Unit) -> int:
        """Return how much memory each key takes, beside the events that are kept."""
        from elsinore.trends.operators import operator_class  # noqa: PLC0415 - the engine

        return operator_class(spec_of(unit)).bytes_per_key(spec_of(unit))

    def runs_in_threads(self, unit: Unit) -> bool:
        """Return whether all work is done in kernels, which let other threads run."""
        return engine_unit(spec_of(unit)) is not None

    def keeps_batches(self, unit: Unit) -> bool:
        """Return whether events are kept until windows close; else they act as they come."""
        return engine_unit(spec_of(unit)) is None

    def panes(self, unit: Unit) -> Panes | str:
        """Return how a unit's events are combined by panes, or why they cannot be."""
        why_not = can_combine(spec_of(unit))
        if why_not is not None:
            return why_not
        from elsinore.trends.actions import TrendPanes  # noqa: PLC0415 - the engine

        return TrendPanes(spec_of(unit))

    def windows(self, unit: Unit) -> Sequence[Window] | str:
        """Return the window of each query: trends lie in one, and read no event beyond it."""
        windows = [template.query.window for template in spec_of(unit).members]
        given = [window for window in windows if window is not None]
        return given if len(given) == len(windows) else "a query has no WITHIN"

    def tied_types(self, unit: Unit) -> Sequence[Sequence[str]]:
        """Return the types of each pattern, none if its matches are single events."""
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
        """Return the statistics of an operator that has done nothing."""
        return TrendStatistics()

    def warnings(self, unit: Unit) -> Sequence[tuple[int, str]]:
        """Return what may be a mistake, such as gaps between windows."""
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
        """Return which queries share what, and why others do not."""
        from elsinore.trends.explain import sharing_facts  # noqa: PLC0415 - the engine

        return {"sharing": sharing_facts(_specs(units), sample, sharing)}

    def summary_lines(
        self, units: Sequence[Unit], sample: Sample | None, sharing: Sharing
    ) -> Sequence[str]:
        """Return the same in words."""
        from elsinore.trends.explain import sharing_text  # noqa: PLC0415 - the engine

        return sharing_text(_specs(units), sample, sharing)

    def graph(self, unit: Unit) -> TemplateGraph:
        """Return the merged template."""
        return template_graph(spec_of(unit).members)


def trend_units(plan: Plan) -> list[tuple[Partition, TrendUnit]]:
    """Return what the engine reads of a plan's units of trend queries, and their partitions."""
    return _specs([unit for unit in plan.units if unit.kind == __name__])


def _specs(units: Sequence[Unit]) -> list[tuple[Partition, TrendUnit]]:
    return [(unit.partition, spec_of(unit)) for unit in units]


def spec_of(unit: Unit) -> TrendUnit:
    """Return what the engine reads of a unit."""
    assert isinstance(unit.spec, TrendUnit)
    return unit.spec


KIND = Trends()
