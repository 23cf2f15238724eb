"""Workloads as their users see them: parsed or built, run, and explained."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal
from warnings import catch_warnings, simplefilter

from elsinore.errors import (
    ElsinoreError,
    InputError,
    InvalidWorkloadError,
    QueryError,
    QuerySemanticError,
    Source,
    did_you_mean,
    kind_of_value,
    option,
    raise_errors,
)
from elsinore.language import parse_workload, render
from elsinore.language.builder import QueryBuilder
from elsinore.language.modules import Modules
from elsinore.model import Attribute, PythonQuery, Query
from elsinore.model import Workload as Queries
from elsinore.model.clock import NANOSECONDS, Clock, clock_for, largest_time, set_to, windows_set_to
from elsinore.model.collecting import without_collecting
from elsinore.model.expression import Call, walk
from elsinore.model.query import Form
from elsinore.operators import bind, plan
from elsinore.operators.explain import explain_json, explain_mermaid, explain_svg, explain_text
from elsinore.operators.planning import attributes_read, doubts
from elsinore.plan import Granularity, Plan
from elsinore.plan.modes import (
    CombineName,
    Evaluation,
    EvaluationName,
    GranularityName,
    ScanName,
    SharingName,
    Uncertainty,
    mode_named,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from elsinore.runtime.asked import Asked
    from elsinore.runtime.options import RunOptions
    from elsinore.runtime.results import Results
    from elsinore.runtime.times import TimeUnit

ExplainFormat = Literal["text", "json", "mermaid", "svg"]

EXPLAINERS = {
    "text": explain_text,
    "json": explain_json,
    "mermaid": explain_mermaid,
    "svg": explain_svg,
}


class Explained(str):
    """What `explain` tells: text that a notebook shows as it is meant, a picture as a picture."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self) if self.startswith("<svg") else f"<pre>{escape(self)}</pre>"


class Workload:
    """Queries that run together over one stream of events.

    Made from queries of the builder, or with `parse` from text. `exact` computes counts and sums
    of whole numbers with integers of any size; `aggregates` are classes of the user's own, by the
    names that queries call them by (docs/matches.md). Raises QueryError, or InvalidWorkloadError
    with all of them, where a query means nothing.

    >>> workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 seconds;")
    >>> events = [{"time": 1, "type": "A"}, {"time": 2, "type": "B"}, {"time": 3, "type": "B"}]
    >>> workload.run(events)["q"].to_pylist()
    [{'window_start': 0, 'window_end': 10, 'count(*)': 3.0}]
    """

    __slots__ = ("_aggregates", "_modules", "_plans", "_queries", "_source")

    def __init__(
        self, *queries: Query, exact: bool = False, aggregates: Mapping[str, object] | None = None
    ) -> None:
        for query in queries:
            if not isinstance(query, Query):
                raise TypeError(_no_query(query))
        self._queries = Queries(tuple(queries), exact=exact)
        self._plans: dict[tuple[object, ...], Plan] = {}  # by what was asked of them
        self._source: Source | None = None
        self._aggregates = dict(aggregates or {})
        self._modules = Modules()

    @classmethod
    def parse(
        cls,
        text: str,
        name: str = "<query>",
        *,
        exact: bool = False,
        aggregates: Mapping[str, object] | None = None,
        python: Sequence[str | ModuleType] = (),
    ) -> Workload:
        """Return the workload of a text; errors call the text by `name`, such as its file's name.

        `exact` is what `EXACT;` in the text says. `aggregates`: classes with `init`, `step` and
        `value` (or objects of such) by the names that queries call them by. `python`: modules, or
        names or files of such, whose objects the queries may name, aggregates by the names of their
        classes; no others are imported, and no code is run but theirs.
        All errors of the text are raised at once; SetupError where a module cannot be imported.
        """
        modules = Modules.of(python)
        queries = parse_workload(text, name)
        every = modules.aggregates() | dict(aggregates or {})
        made = cls(*queries, exact=exact or queries.exact, aggregates=every)
        made._source = Source(text, name)
        made._modules = modules
        with made._pointing():
            made._queries = _with_targets(made._queries, modules)
        return made

    @property
    def exact(self) -> bool:
        """Whether whole numbers are computed without rounding, whatever their size."""
        return self._queries.exact

    @property
    def plan(self) -> Plan:
        """How the workload is run.

        Raises UnsupportedError for a clause that no engine here can run.
        """
        return self.planned()

    def planned(
        self,
        granularity: GranularityName = "auto",
        clock: Clock | None = None,
        attributes: Sequence[str] = (),
        uncertain: Uncertainty | None = None,
        evaluation: EvaluationName = "auto",
    ) -> Plan:
        """Return how the workload is run; `fine` keeps every event, the regime of the paper.

        `attributes` are those that events have, for lists of them. `clock` says what times are
        counted in and what bare numbers after WITHIN mean: seconds where it is not known yet.
        `uncertain` is what is known of times that are intervals, `evaluation` how matches are
        searched for. Raises UnsupportedError for a clause that no engine here can run.
        """
        fineness = mode_named(Granularity, granularity, "granularity")
        search = mode_named(Evaluation, evaluation, "evaluation")
        if clock is None:
            clock = clock_for(self._queries, fine=False, number=NANOSECONDS["s"])
        whole = tuple(attributes) if self._lists_whole_events else ()
        with self._pointing():
            windows = windows_set_to(self._queries, clock)
        asked = (fineness, tuple(windows.values()), whole, uncertain, search)
        if asked not in self._plans:
            with self._pointing():
                self._plans[asked] = plan(
                    set_to(self._queries, clock),
                    granularity=fineness,
                    aggregates=self._aggregates,
                    attributes=whole,
                    uncertain=uncertain,
                    evaluation=search,
                )
        return self._plans[asked]

    @property
    def _lists_whole_events(self) -> bool:
        """Whether some query returns a list of whole events, `b[]`."""
        return any(
            isinstance(item.expression, Attribute) and item.expression.name is None
            for query in self._queries
            for item in query.returns
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may be a mistake in queries that can be run, such as gaps between windows."""
        return tuple(doubts(self.plan))

    def run(
        self,
        data: Any,
        *,
        time: str = "time",
        type: str = "type",  # noqa: A002 - the word for it
        time_unit: TimeUnit = "s",
        time_interval: Sequence[str] | None = None,
        time_granularity: str | Mapping[str, str] | None = None,
        time_step: str | float | None = None,
        time_distribution: str | Sequence[float] | Mapping[str, Sequence[float]] | None = None,
        time_sets: bool = False,
        order_by: str | Sequence[str] = (),
        rejects: bool = False,
        ordered: bool = False,
        sharing: SharingName = "dynamic",
        granularity: GranularityName = "auto",
        record: bool = False,
        scan: ScanName = "auto",
        threads: int | None = None,
        combine: CombineName = "auto",
        evaluation: EvaluationName = "auto",
        spark: Any = None,
    ) -> Results[Any]:
        """Run the queries over the events in `data`; return a result per query.

        `data`: a Spark DataFrame is worked on by Spark and gives Spark DataFrames. Anything else (a
        path to files, a pyarrow Table, a pandas or polars DataFrame, a dict of columns, a list of
        dicts) is worked on in this process and gives pyarrow Tables. `results["q"]` has the methods
        of those, and `to_pandas`, `to_polars`, `to_arrow` and `to_pylist` wherever it was computed.

        time, type      columns, or SQL expressions over the columns
        time_unit       the unit of times that are numbers, and of bare numbers after WITHIN: "s",
                        "ms", "us" or "ns"
        time_interval   where times are uncertain: the columns, or SQL expressions, with the first
                        and the last possible time of each event, in place of `time`
        time_granularity
                        or how coarse times are: an event was at its time or up to so long before
                        ("15 seconds"); by type where that is a dict
        time_step       how far possible times are apart: one second, or one where they are numbers
        time_distribution
                        how probable they are, from the first to the last; equally if not said;
                        by type where that is a dict, of each event where that names a column (or
                        SQL expression) of lists or texts such as "0.25,0.75"
        time_sets       where times are uncertain: the events of a repeated variable that nothing
                        relates to one another are a set, in whatever order they happened
        order_by        columns that order events of one time
        rejects         go on without events that have no time or no type, which stop the run
                        otherwise; `results.rejected` has them
        ordered         sort rows on Spark by group and window, which is work of its own there; in
                        this process they always are
        sharing         "dynamic", "always" or "never": what queries share
        granularity     "auto" or "fine": keep sums where they do, or every event
        record          keep in `results.statistics` what was decided of every burst; in this
                        process, of a few thousand events also graphlets and snapshots
        scan            "auto": where the DataFrame is but a scan of Parquet files, projected and
                        filtered simply, tasks read them in columns; "arrow" demands that, "spark"
                        has Spark read everything
        threads         in this process, over how many threads windows or keys are spread at most;
                        None: as many as there are cores. On Spark its settings say so
        combine         "auto": where files' statistics show that they lie apart in time, what a
                        key's events of a pane do is computed before Spark's shuffle, if that is
                        cheaper than to send them; "always" wherever it can be; "never"
        evaluation      how the matches of match queries are searched for: "auto" chooses by cost;
                        the others are in docs/matches.md
        spark           a session of Spark, which is to read the files where `data` is the place
                        of files: a path, a folder, a pattern such as "trips/*.parquet"

        `sharing`, `granularity`, `scan`, `combine`, `evaluation` and `threads` change how the work
        is done, never a result.

        Raises QueryError where a query does not fit the columns, InputError for columns that are
        not there and events that cannot be used.
        """
        from elsinore.runtime.asked import Asked  # noqa: PLC0415 - engines load on first use

        asked = Asked(
            time=time,
            type=type,
            time_unit=time_unit,
            time_interval=time_interval,
            time_granularity=time_granularity,
            time_step=time_step,
            time_distribution=time_distribution,
            time_sets=time_sets,
            order_by=order_by,
            rejects=rejects,
            ordered=ordered,
            sharing=sharing,
            granularity=granularity,
            record=record,
            scan=scan,
            threads=threads,
            combine=combine,
            evaluation=evaluation,
            spark=spark,
        )
        results: Results[Any] = self._run(data, asked, in_pieces=False)
        return results

    def batches(self, data: Any, **options: Any) -> Generator[tuple[str, Any], None, Results[Any]]:
        """Run the queries in this process; yield (query, rows) as rows are found, in pieces.

        The rows of match queries come as they are found, some ten thousand at a time, so that there
        may be more of them than memory holds; those of DISTINCT and of trend queries, which are
        known at the end, come at the end. `options` are those of `run`. The generator's value, for
        who asks, is what `run` returns, without the rows that were given out before.

        >>> rising = Workload.parse("QUERY q RETURN b[].v PATTERN B{2} b WHERE b[i].v > b[i-1].v;")
        >>> events = [{"time": n, "type": "B", "v": n} for n in range(3)]
        >>> for name, rows in rising.batches(events):
        ...     print(name, rows["b[].v"].to_pylist())
        q [[0, 1], [0, 2], [1, 2]]
        """
        from elsinore.runtime.asked import Asked  # noqa: PLC0415 - as above

        asked = Asked(**options)
        if is_spark_frame(_bare(data)) or asked.spark is not None:
            raise InputError(
                "batches() is for events in this process. Of a Spark DataFrame, run() gives data "
                "frames, which Spark writes piece by piece."
            )
        running = self._run(data, asked, in_pieces=True)
        with self._pointing():
            results: Results[Any] = yield from running
        for name, table in results.tables.items():
            if table.num_rows:
                yield name, table
        return results

    def _run(self, data: Any, asked: Asked, *, in_pieces: bool) -> Any:
        """Do what `run` was called for; in pieces, return the generator of them."""
        options = asked.options()
        data = _bare(data)
        if asked.spark is not None and isinstance(data, str | Path):
            from elsinore.spark.files import read_place  # noqa: PLC0415 - an extra

            data = read_place(asked.spark, data)
        if options.uncertain is None:
            self._refuse_uncertain()
        # what cannot run is refused before anything is looked at
        first = self.planned(asked.granularity, evaluation=asked.evaluation)
        if is_spark_frame(data):
            from elsinore.spark import driver as spark_driver  # noqa: PLC0415 - an extra

            options = self.timed(options, *spark_driver.look_at_time(data, options))
            known = options.uncertainty
            columns = data.columns
            ready = self.planned(asked.granularity, options.clock, columns, known, asked.evaluation)
            with self._pointing():
                return spark_driver.run(ready, data, options)
        from elsinore.runtime.inputs import as_table, columns_to_convert  # noqa: PLC0415

        few = None
        if not in_pieces and not self._lists_whole_events:
            few = columns_to_convert(data, attributes_read(first), options)
        if few is None:
            return self._run_here(as_table(data), options, asked, in_pieces=in_pieces)
        try:
            return self._run_here(as_table(data, few), options, asked, in_pieces=False)
        except ElsinoreError as error:  # what is wrong is told of all columns ...
            try:
                table = as_table(data)
            except InputError:
                raise error from None  # ... unless there are some that nobody reads
        return self._run_here(table, options, asked, in_pieces=False)

    def _run_here(
        self, table: pa.Table, options: RunOptions, asked: Asked, *, in_pieces: bool
    ) -> Any:
        """Run in this process."""
        from elsinore.local import look_at_time, pieces, run  # noqa: PLC0415 - loads Numba

        options = self.timed(options, *look_at_time(table, options))
        known = options.uncertainty
        columns = table.column_names
        ready = self.planned(asked.granularity, options.clock, columns, known, asked.evaluation)
        with self._pointing():
            return pieces(ready, table, options) if in_pieces else run(ready, table, options)

    def _refuse_uncertain(self) -> None:
        """Refuse queries that ask how probable matches are, of events with exact times."""
        passed: set[Form] = set()
        for query in self._queries:
            if query.alike is not None:
                if query.alike.form in passed:
                    continue
                passed.add(query.alike.form)
            places = [
                node.span
                for item in query.returns
                for node in walk(item.expression)
                if isinstance(node, Call) and node.name == "CONFIDENCE"
            ]
            if query.confidence is not None:
                places.append(query.places.get("CONFIDENCE", query.span))
            if places:
                with self._pointing():
                    raise QuerySemanticError(
                        "CONFIDENCE is about events with uncertain times, and these have exact "
                        f"ones. Name the first and the last possible time with "
                        f"{option('time_interval')}, or say how coarse times are with "
                        f"{option('time_granularity')}; else leave it out.",
                        span=places[0],
                        query=query.name,
                    )

    def timed(self, options: RunOptions, numbers: bool, fine: bool) -> RunOptions:
        """Return the options with the clock for times that are numbers, or have nanoseconds."""
        unit = NANOSECONDS[options.time_unit] if numbers else None
        with self._pointing():
            clock = clock_for(self._queries, fine=fine, number=unit)
            windows = windows_set_to(self._queries, clock)
        units = any("WITHIN" not in window.bare for window in windows)
        largest = largest_time(windows.values())
        return replace(options, clock=clock, largest_time=largest, units_written=units)

    def check(self, schema: Any) -> None:
        """Raise what is wrong with the queries for events of a pyarrow schema."""
        from elsinore.runtime.schema import schema_of  # noqa: PLC0415

        with self._pointing():
            bind(self._queries, schema_of(schema))

    def explain(self, format: ExplainFormat = "text") -> str:  # noqa: A002
        """Return what a run does, in words, as JSON, or as a picture of the merged template."""
        if format not in EXPLAINERS:
            raise ElsinoreError(
                f"Unknown format {format!r}. Formats: {', '.join(EXPLAINERS)}."
                f"{did_you_mean(str(format), EXPLAINERS)}"
            )
        with without_collecting():
            return Explained(EXPLAINERS[format](self.plan))

    @contextmanager
    def _pointing(self) -> Iterator[None]:
        """Let errors that know their place point at it in the text, where there is one."""
        try:
            yield
        except QueryError as error:
            if self._source is not None:
                error.located(self._source)
            raise
        except InvalidWorkloadError as error:
            if self._source is not None:
                for one in error.errors:
                    one.located(self._source)
            raise

    def __iter__(self) -> Iterator[Query]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)

    def __getitem__(self, name: str) -> Query:
        return self._queries[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workload) and self._queries == other._queries

    def __hash__(self) -> int:
        return hash(self._queries)

    def __str__(self) -> str:
        return render(self._queries)

    def __repr__(self) -> str:
        return f"Workload({', '.join(query.name for query in self)})"


def _with_targets(queries: Queries, modules: Modules) -> Queries:
    """Return queries with what those of Python name; all errors are raised at once."""
    errors: list[QueryError] = []
    found: list[Query] = []
    for query in queries:
        if isinstance(query, PythonQuery):
            span = query.places.get("FROM", query.span)
            try:
                target = modules.attribute(query.source, span=span, query=query.name)
                query = replace(query, target=target)  # noqa: PLW2901
            except QueryError as error:
                errors.append(error)
        found.append(query)
    raise_errors(errors)
    return replace(queries, queries=tuple(found))


def _no_query(given: object) -> str:
    """Say what is wrong with what is no query."""
    told = f"A workload is made of queries, and this is {kind_of_value(given)}."
    if isinstance(given, str):
        return f"{told} Text is read by Workload.parse(text)."
    if isinstance(given, QueryBuilder):
        return f"{told} A query is done when select(...) is called."
    if isinstance(given, list | tuple):
        return f"{told} Hand them over one by one: Workload(*queries)."
    return told


def _bare(data: Any) -> Any:
    """Return the table or data frame of a result, Spark's frame of pandas on Spark, else `data`."""
    from elsinore.runtime.result import Result  # noqa: PLC0415 - engines load on first use

    if isinstance(data, Result):
        return data.frame
    if type(data).__module__ == "pyspark.pandas.frame":
        with catch_warnings():
            simplefilter("ignore")  # advice to keep the index, which no query reads
            return data.to_spark()
    return data


def is_spark_frame(data: object) -> bool:
    """Return whether `data` is a DataFrame of Spark, without importing Spark."""
    return any(
        kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame"
        for kind in type(data).__mro__
    )
