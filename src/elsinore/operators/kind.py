"""Kinds of query: the interface of an engine for drivers, results and the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import pyarrow as pa

from elsinore.errors import QueryError
from elsinore.language import render
from elsinore.model.query import Query
from elsinore.model.schema import Schema
from elsinore.model.window import Window
from elsinore.operators.bind import query_errors
from elsinore.operators.operator import Operator, OperatorOptions
from elsinore.operators.panes import Panes
from elsinore.operators.statistics import OperatorStatistics
from elsinore.plan import PlanOptions, Sharing, Unit
from elsinore.plan.explain import TemplateGraph
from elsinore.words import count, listed

QUERY = "\0query"  # the extra column of `Kind.finish_family`


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultForm:
    """The form of a query's result: columns, order, limits.

    `schema` has the columns that `Kind.finish` returns; those in `times` are int64 in ticks, which
    drivers convert to the input's kind of time. `times` maps columns of window bounds to the
    window, because bounds may be finer than the input's times, and columns of events' times to
    None. Rows are sorted by the columns `order`, nulls last; without any they are not sorted. With
    `distinct`, duplicate rows are removed. At most `limit` rows are returned.
    """

    schema: pa.Schema
    times: Mapping[str, Window | None] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    limit: int | None = None
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """Operators' statistics, by unit, of a run over the first `events` of `total` events."""

    events: int
    total: int
    statistics: tuple[OperatorStatistics, ...]


class Kind(Protocol):
    """One kind of query: how it is planned, run and finished. A module has it as `KIND`.

    Its module is imported to plan any workload, and in Spark's workers: it is light, and loads its
    engine on first use.
    """

    name: str

    def claims(self, query: Query) -> bool:
        """Return whether a query is of this kind; exactly one kind claims each query."""

    def plan(self, queries: Sequence[tuple[int, Query]], options: PlanOptions) -> Sequence[Unit]:
        """Plan queries of this kind, with their numbers in the workload.

        Raises the errors of all of them at once.
        """

    def knows_attributes(self, unit: Unit) -> bool:
        """Return whether the attributes that a unit reads are known before it is `specialize`."""
        return True

    def specialize(self, unit: Unit, types: Mapping[str, pa.DataType], *, declared: bool) -> Unit:
        """Return a unit specialized for events with attributes of these types.

        With `declared`, the form of results must be known before the run. Raises QueryError if that
        is impossible.
        """
        return unit

    def operator(self, unit: Unit, options: OperatorOptions) -> Operator:
        """Return a new operator for a unit."""

    def load(self, unit: Unit, blob: bytes) -> Operator:
        """Return the operator whose `save` returned the bytes.

        Raises StateError if the bytes are damaged or of another version or workload.
        """

    def partials(self, unit: Unit, types: Mapping[str, pa.DataType]) -> Sequence[pa.Schema]:
        """Return the columns of each query's partial outputs.

        `types` are those of the attributes that the unit carries. `query` and `group` are among the
        columns; queries with equal columns may share batches.
        """

    def result(
        self,
        unit: Unit,
        query: int,
        groups: Sequence[pa.DataType],
        types: Mapping[str, pa.DataType],
    ) -> ResultForm:
        """Return the form of a query's result.

        `groups` are the types of the unit's `group_by`, `types` those of the attributes it carries.
        """

    def finish(
        self,
        unit: Unit,
        query: int,
        partials: pa.Table,
        groups: Sequence[pa.Array],
        types: Mapping[str, pa.DataType],
    ) -> pa.Table:
        """Return a query's result from its partial outputs, in any order and pieces.

        `groups` has the values of the unit's `group_by`, each by group code. If the kind `adds_up`,
        `partials` contains all partial outputs of its groups; else it may be any part of them, and
        the results of the parts together are the whole.
        """

    def after(self, unit: Unit) -> Callable[[Any], Any] | None:
        """Return a function from a query's complete result to the result that users get, or None.

        It takes and returns a table or a data frame.
        """
        del unit
        return None

    def families(self, unit: Unit) -> Sequence[Sequence[int]]:
        """Return lists of a unit's queries, by place, that `finish_family` can finish together.

        Their partial outputs and their results have equal columns, without limits or DISTINCT.
        """
        return [[query] for query in range(len(unit.queries))]

    def finish_family(
        self,
        unit: Unit,
        family: Sequence[int],
        partials: pa.Table,
        groups: Sequence[pa.Array],
        types: Mapping[str, pa.DataType],
    ) -> pa.Table:
        """Return the results of a family in one table, whose column `QUERY` has the query's place.

        Rows are in the order of queries. `family` is one of `families` or a range of it; partial
        outputs of other queries are ignored. Kinds with families of single queries do not need it.
        """
        return self.finish(unit, family[0], partials, groups, types)

    def adds_up(self, unit: Unit) -> bool:
        """Return whether a group's partial outputs, of all its keys, must be finished together."""
        return True

    def bytes_per_key(self, unit: Unit) -> int:
        """Return the least memory of an open key in bytes; 0 if it is small."""
        return 0

    def runs_in_threads(self, unit: Unit) -> bool:
        """Return whether a unit may be spread over threads: its operators release Python's lock."""
        return False

    def keeps_batches(self, unit: Unit) -> bool:
        """Return whether an operator still reads a batch after it has received the next one."""
        return True

    def panes(self, unit: Unit) -> Panes | str:
        """Return the panes by which a unit's events are combined, or the reason against it."""
        return "the queries need single events"

    def windows(self, unit: Unit) -> Sequence[Window] | str:
        """Return each query's window if windows are independent, or the reason why they are not.

        Windows are independent if a partial output depends only on its window's events; its column
        `window` has the window's index.
        """
        return "its results are not of windows"

    def tied_types(self, unit: Unit) -> Sequence[Sequence[str]]:
        """Return for each query the event types of its pattern if the order of events matters.

        Runs warn of simultaneous events with types of one query (`elsinore.operators.ties`).
        """
        return [()] * len(unit.queries)

    def open_windows(
        self,
        unit: Unit,
        last_time: int,
        statistics: OperatorStatistics | None,
    ) -> Sequence[int | None]:
        """Return the number of each query's windows that are open at a stream's last event.

        `statistics` are those of the unit's operators; None if unknown, as over Spark Connect. The
        number of a query that needs them is then None.
        """
        return [1] * len(unit.queries)  # the whole stream

    def meaning(self, query: Query) -> str:
        """Return a text that two queries share only if they have the same results."""
        return render(replace(query, name="query"))

    def streams(self, unit: Unit) -> Sequence[tuple[int, str]]:
        """Return the queries of a unit, by place, that cannot run over a live stream, with reasons.

        The reason is a sentence that ends with the remedy.
        """
        return ()

    def statistics(self) -> OperatorStatistics:
        """Return the statistics of a new operator."""
        return OperatorStatistics()

    def check(self, query: Query, schema: Schema) -> Iterator[QueryError]:
        """Yield the errors of a query for events of a schema."""
        return query_errors(query, schema)

    def warnings(self, unit: Unit) -> Sequence[tuple[int, str]]:
        """Return warnings of a unit's queries, each with the query's place."""
        return ()

    def facts(self, unit: Unit) -> dict[str, Any]:
        """Return the kind's facts about a unit for `explain`, as plain data."""
        return {}

    def lines(self, unit: Unit, facts: Mapping[str, Any]) -> Sequence[str]:
        """Return the lines about a unit for `explain`; `facts` has all facts about it."""
        types = listed(unit.types) if unit.types else "no type"
        classes = count(facts["classes"], "class", "classes")
        return [
            f"  {classes} of events, on {types}.",
            *(f"  {name}: {self.name}" for name in unit.names),
        ]

    def summary(
        self, units: Sequence[Unit], sample: Sample | None, sharing: Sharing
    ) -> dict[str, Any]:
        """Return the facts about all units of the kind together for `explain`, as plain data.

        `sharing`: the mode of sharing; a sample is from a run with `record`.
        """
        return {}

    def summary_lines(
        self, units: Sequence[Unit], sample: Sample | None, sharing: Sharing
    ) -> Sequence[str]:
        """Return the facts of `summary` as lines of text."""
        return ()

    def graph(self, unit: Unit) -> TemplateGraph | None:
        """Return the graph of a unit's patterns, or None."""
        return None
