"""The kind of match queries: the interface of planning, drivers and results to the engine.

Only planning is loaded with this module; the engine comes with the first operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from elsinore.arrow import to_arrow, to_numpy, whole
from elsinore.matches.columns import column_type
from elsinore.matches.explain import template_facts, template_lines, window_warnings
from elsinore.matches.returns import group_column, is_windowed
from elsinore.matches.spec import MatchStatistics, plan_matches, spec_of
from elsinore.model.clock import LARGEST
from elsinore.model.kinds import Kind as QueryKind
from elsinore.model.pattern import is_single
from elsinore.model.query import Query
from elsinore.operators import (
    Kind,
    Operator,
    OperatorOptions,
    OperatorStatistics,
    ResultForm,
)
from elsinore.operators.open_end import windows_at
from elsinore.plan import PlanOptions, Unit

NO_WINDOW = (
    "without WITHIN a match may contain events from the stream's beginning, so that no event can "
    "ever be forgotten. Add WITHIN."
)
LIMIT = "LIMIT is about all rows of a result, and a live stream's result never ends. Leave it out."
DISTINCT = (
    "DISTINCT compares each row with all rows before, which a live stream does not keep. Leave it "
    "out, and remove duplicates where the rows are read."
)


class Matches(Kind):
    """The matches of a pattern, one row each."""

    name = "matches"

    def claims(self, query: Query) -> bool:
        """Return whether a query returns values of single matches."""
        return query.kind is QueryKind.MATCHES

    def plan(self, queries: Sequence[tuple[int, Query]], options: PlanOptions) -> Sequence[Unit]:
        """Plan match queries: a unit for each partition."""
        return plan_matches(
            queries,
            __name__,
            options.aggregates,
            options.attributes,
            options.uncertain,
            options.clock,
        )

    def operator(self, unit: Unit, options: OperatorOptions) -> Operator:
        """Return a new operator."""
        from elsinore.matches.operator import MatchOperator  # noqa: PLC0415 - loads the engine

        return MatchOperator(unit, options)

    def statistics(self) -> MatchStatistics:
        """Return the statistics of a new operator."""
        return MatchStatistics()

    def load(self, unit: Unit, blob: bytes) -> Operator:
        """Return the operator from the bytes that `save` returned."""
        from elsinore.matches.operator import MatchOperator  # noqa: PLC0415 - loads the engine

        return MatchOperator.load(unit, blob)

    def partials(self, unit: Unit, types: Mapping[str, pa.DataType]) -> Sequence[pa.Schema]:
        """Return the columns of each query's matches."""
        return spec_of(unit).partials(types)

    def result(
        self,
        unit: Unit,
        query: int,
        groups: Sequence[pa.DataType],
        types: Mapping[str, pa.DataType],
    ) -> ResultForm:
        """Return the form of a query's result: group attributes, window, columns of RETURN."""
        template = spec_of(unit).templates[query]
        by_name = dict(zip(unit.group_by, groups, strict=True))
        request = template.query
        fields = [pa.field(group_column(request, name), by_name[name]) for name in request.group_by]
        times = {}
        if is_windowed(request):
            times = {"window_start": request.window, "window_end": request.window}
            fields += [pa.field(name, pa.int64()) for name in times]
        fields += [pa.field(c.name, column_type(c, template, types)) for c in template.columns]
        limit = None if request.limit is None else min(request.limit, LARGEST)
        return ResultForm(
            schema=pa.schema(fields), times=times, limit=limit, distinct=request.distinct
        )

    def finish(
        self,
        unit: Unit,
        query: int,
        partials: pa.Table,
        groups: Sequence[pa.Array],
        types: Mapping[str, pa.DataType],
    ) -> pa.Table:
        """Return a query's result from its matches, in their order."""
        template = spec_of(unit).templates[query]
        form = self.result(unit, query, [column.type for column in groups], types)
        by_name = dict(zip(unit.group_by, groups, strict=True))
        columns: list[pa.ChunkedArray | pa.Array] = []
        if template.query.group_by:
            codes = whole(partials.column("group"))
            columns += [by_name[name].take(codes) for name in template.query.group_by]
        window = template.query.window
        if window is not None and is_windowed(template.query):
            columns += map(to_arrow, window.bounds(to_numpy(partials.column("window"))))
        columns += [partials.column(f"c{n}") for n in range(len(template.columns))]
        typed = [
            column if column.type == f.type else column.cast(f.type)
            for column, f in zip(columns, form.schema, strict=True)
        ]
        return pa.table(typed, schema=form.schema)

    def tied_types(self, unit: Unit) -> Sequence[Sequence[str]]:
        """Return the types of each pattern; none of single events, or if times are uncertain."""
        templates = spec_of(unit).templates
        return [
            () if is_single(template.query.pattern) or template.uncertain else types
            for types, template in zip(unit.types_of, templates, strict=True)
        ]

    def open_windows(
        self, unit: Unit, last_time: int, statistics: OperatorStatistics | None
    ) -> Sequence[int | None]:
        """Return how many windows of each query are open; each first event of a match has its own.

        With SLIDE or without WITHIN, windows depend on time alone.
        """
        counted = statistics.open_windows if isinstance(statistics, MatchStatistics) else ()
        numbers: list[int | None] = []
        for place, template in enumerate(spec_of(unit).templates):
            window = template.query.window
            if window is None or is_windowed(template.query):
                numbers.append(windows_at(window, last_time))
            else:
                numbers.append(counted[place] if counted else None)
        return numbers

    def adds_up(self, unit: Unit) -> bool:
        """Return False: each match is a row of the result."""
        return False

    def streams(self, unit: Unit) -> Sequence[tuple[int, str]]:
        """Return the queries without WITHIN, and those with LIMIT or DISTINCT."""
        return [
            (place, reason)
            for place, template in enumerate(spec_of(unit).templates)
            for applies, reason in (
                (template.query.window is None and not template.is_local, NO_WINDOW),
                (template.query.limit is not None, LIMIT),
                (template.query.distinct, DISTINCT),
            )
            if applies
        ]

    def warnings(self, unit: Unit) -> Sequence[tuple[int, str]]:
        """Return possible mistakes, such as conditions that contradict each other."""
        return [
            (place, text)
            for place, template in enumerate(spec_of(unit).templates)
            for text in (*window_warnings(template.query), *template.warnings)
        ]

    def facts(self, unit: Unit) -> dict[str, Any]:
        """Return the facts about the queries: strategy, states, conditions."""
        spec = spec_of(unit)
        return {"queries": [template_facts(template) for template in spec.templates]}

    def lines(self, unit: Unit, facts: Mapping[str, Any]) -> Sequence[str]:
        """Return the facts as lines of text."""
        return [line for query in facts["queries"] for line in template_lines(query)]


KIND = Matches()
