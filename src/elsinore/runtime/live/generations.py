"""Generations: queries of a live run that were planned together, and the windows they answer.

A run has one generation, unless it was continued with another workload (`changes`). Both drivers
save the result of `described` with the state of the buckets, and plan again with `planned_again`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from elsinore.errors import ElsinoreError, StateError
from elsinore.language import parse_workload, render
from elsinore.model import PythonQuery, Query
from elsinore.operators import kind_for
from elsinore.plan import Unit
from elsinore.runtime.live.changes import Span
from elsinore.runtime.live.options import LiveOptions
from elsinore.runtime.live.planner import Planner
from elsinore.runtime.live.setup import LiveSetup
from elsinore.saved_states import reading_state


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedGeneration:
    """Queries that were planned together.

    `queries` and `exact` are the input of planning the setup. `spans` has the windows of each query
    that the generation answers; other queries of the setup have been removed from the workload.
    Events before `begin` do not belong to the generation.
    """

    setup: LiveSetup
    queries: tuple[Query, ...]
    spans: Mapping[str, Span]
    exact: bool = False
    begin: int | None = None

    @property
    def units(self) -> list[Unit]:
        """The units of all passes."""
        return [unit for unit_pass in self.setup.passes for unit in unit_pass.units]

    def windowed(self) -> set[str]:
        """Return the queries with results of windows that depend only on the window's events."""
        return {
            name
            for unit in self.units
            if not isinstance(kind_for(unit).windows(unit), str)
            for name in unit.names
        }

    def open_windows(self, time: int) -> dict[str, int | None]:
        """Return the number of windows of each answered query that contain a time in ticks.

        None if windows begin with events, which operators only count at the end of a run.
        """
        return {
            name: number
            for unit in self.units
            for name, number in zip(
                unit.names, kind_for(unit).open_windows(unit, time, None), strict=True
            )
            if name in self.spans
        }

    def is_over(self, watermark: int) -> bool:
        """Return whether all windows of the generation have ended."""
        for unit in self.units:
            windows = kind_for(unit).windows(unit)
            for place, name in enumerate(unit.names):
                span = self.spans.get(name)
                if span is None:
                    continue
                if span.stop is None or isinstance(windows, str):
                    return False
                window = windows[place]
                if window.bounds(window.last(span.stop - 1))[1] > watermark:
                    return False
        return True

    def described(self) -> dict[str, Any]:
        """Return the generation as JSON values, without the schema.

        Queries are texts, from which they are planned again; None for those written in Python.
        """
        return {
            "texts": {query.name: _text(query) for query in self.queries},
            "exact": self.exact,
            "spans": {name: [span.start, span.stop] for name, span in self.spans.items()},
            "begin": self.begin,
        }


def first_generation(
    planner: Planner, schema: pa.Schema, options: LiveOptions
) -> PlannedGeneration:
    """Return the generation of a new run."""
    setup = planner.plan(planner.queries, planner.exact, schema, options, False)
    spans = {name: Span() for name in setup.names}
    queries = tuple(planner.queries)
    return PlannedGeneration(setup=setup, queries=queries, spans=spans, exact=planner.exact)


def planned_again(
    owner: str,
    planner: Planner,
    unchanged: Mapping[str, Query],
    described: Mapping[str, Any],
    schema: pa.Schema,
    options: LiveOptions,
    *,
    fine: bool,
) -> PlannedGeneration | None:
    """Return a generation planned from its description; None if it answers no unchanged query.

    `owner` names the owner of the state in errors. `unchanged` are the workload's unchanged
    queries; the others are planned from their saved text.

    Raises StateError if that is impossible.
    """
    queries: list[Query] = []
    with reading_state(owner):
        exact, begin = bool(described["exact"]), described["begin"]
        spans = {
            name: Span(*span) for name, span in described["spans"].items() if name in unchanged
        }
        for name, text in described["texts"].items():
            if name in spans:  # only answered queries; others may have changed their meaning
                queries.append(unchanged[name])
            elif text is not None:  # the others are units of their own, which are dropped
                queries += parse_workload(text).queries
    if not spans:
        return None
    try:
        setup = planner.plan(queries, exact, schema, options, fine)
    except ElsinoreError as error:
        raise StateError(
            f"The plan of the saved state cannot be restored: {error} Queries that were removed "
            "belong to it until their windows have ended: their modules must be available."
        ) from error
    return PlannedGeneration(
        setup=setup, queries=tuple(queries), spans=spans, exact=exact, begin=begin
    )


def handed_over(
    generations: Sequence[PlannedGeneration],
    planner: Planner,
    unchanged: set[str],
    schema: pa.Schema,
    options: LiveOptions,
    *,
    fine: bool,
    begin: int | None,
) -> list[PlannedGeneration]:
    """Return generations with a new one for added queries and for future windows.

    The new generation answers windows that begin at `begin` or later. Without queries for a new
    one, the generations are returned unchanged.
    """
    windowed: set[str] = set()
    ending = []
    for generation in generations:
        with_windows = generation.windowed() & set(generation.spans)
        windowed |= with_windows
        spans = {
            name: Span(span.start, begin) if name in with_windows and span.stop is None else span
            for name, span in generation.spans.items()
        }
        ending.append(replace(generation, spans=spans))
    queries = [q for q in planner.queries if q.name not in unchanged or q.name in windowed]
    if not queries:
        return ending
    setup = planner.plan(queries, planner.exact, schema, options, fine)
    if setup.options.clock.per_microsecond > 1 and not fine and begin is not None:
        raise StateError(
            "A query's window needs nanoseconds, and the times of the saved state are in "
            "microseconds. Start anew, or use windows of whole microseconds."
        )
    new = PlannedGeneration(
        setup=setup,
        queries=tuple(queries),
        spans={query.name: Span(begin) for query in queries},
        exact=planner.exact,
        begin=begin,
    )
    return [*ending, new]


def _text(query: Query) -> str | None:
    """Return the text of a query; None for one that is written in Python."""
    return None if isinstance(query, PythonQuery) else render(query)
