"""Workloads, as users see them: parsed or built, run, and explained."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
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
    is_on_the_command_line,
    kind_of_value,
    option,
    raise_errors,
)
from elsinore.language import parse_workload, render
from elsinore.language.builder import QueryBuilder
from elsinore.language.modules import Modules
from elsinore.language.terms import constant_for
from elsinore.model import Attribute, Kind, Negation, PythonQuery, Query
from elsinore.model import Workload as Queries
from elsinore.model.clock import (
    NANOSECONDS,
    ROWS,
    Clock,
    clock_for,
    in_ticks,
    largest_time,
    units_change_queries,
    windows_in_ticks,
    with_units,
)
from elsinore.model.durations import has_durations
from elsinore.model.expression import Call, Constant, walk
from elsinore.model.garbage import without_garbage_collection
from elsinore.model.parameters import parameters_of, with_parameters
from elsinore.model.pattern import walk as pattern_nodes
from elsinore.model.query import Form
from elsinore.operators import bind, plan
from elsinore.operators.explain import explain_json, explain_mermaid, explain_svg, explain_text
from elsinore.operators.planning import columns_named, columns_read, query_warnings
from elsinore.plan import Granularity, Plan
from elsinore.plan.modes import (
    CombineName,
    EndName,
    GranularityName,
    ScanName,
    SharingName,
    Uncertainty,
    mode_named,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from elsinore.connectors.places import Messages, Start
    from elsinore.local.live import Live
    from elsinore.local.started import PlannedLocalStream
    from elsinore.runtime.live import Length, LiveOptions, LiveSetup, Planner
    from elsinore.runtime.options import RunOptions
    from elsinore.runtime.request import RunRequest
    from elsinore.runtime.results import Results
    from elsinore.runtime.times import TimeUnit
    from elsinore.spark.live import LiveStream

ExplainFormat = Literal["text", "json", "mermaid", "svg"]

EXPLAINERS = {
    "text": explain_text,
    "json": explain_json,
    "mermaid": explain_mermaid,
    "svg": explain_svg,
}


class Explained(str):
    """What `explain` returns: text that a notebook shows as such, and a picture as a picture."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self) if self.startswith("<svg") else f"<pre>{escape(self)}</pre>"


class Workload:
    """Queries that run together over one stream of events.

    It is made from the builder's queries, or from text with `parse`. With `exact`, counts and sums
    of whole numbers are computed with integers of any size. `aggregates` maps the names that
    queries use to aggregates defined by the user (docs/matches.md). Raises QueryError if a query is
    invalid, or InvalidWorkloadError with all such errors.

    >>> workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 seconds;")
    >>> events = [{"time": 1, "type": "A"}, {"time": 2, "type": "B"}, {"time": 3, "type": "B"}]
    >>> workload.run(events)["q"].to_pylist()
    [{'window_start': 0, 'window_end': 10, 'count(*)': 3.0}]
    """

    __slots__ = ("_aggregates", "_modules", "_parameters", "_plans", "_queries", "_source")

    def __init__(
        self, *queries: Query, exact: bool = False, aggregates: Mapping[str, object] | None = None
    ) -> None:
        for query in queries:
            if not isinstance(query, Query):
                raise TypeError(_no_query(query))
        self._queries = Queries(tuple(queries), exact=exact)
        self._plans: dict[tuple[object, ...], Plan] = {}  # by the arguments of planning
        self._source: Source | None = None
        self._parameters: tuple[str, ...] | None = None  # computed on first use
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
        functions: Mapping[str, Callable[..., object]] | None = None,
        python: Sequence[str | ModuleType] = (),
    ) -> Workload:
        """Return the workload of a text; errors refer to it by `name`, such as its file's name.

        `exact` has the effect of `EXACT;` in the text. `aggregates` maps the names that queries
        use to classes with `init`, `step` and `value`, or to objects of such classes. `functions`
        maps the names that queries call to functions of Python, which say what they return
        (docs/language.md). `python` lists modules (or their names or files) whose objects the
        queries may name, aggregates by the names of their classes, functions by theirs; no other
        modules are imported, and no other code is run.
        All errors of the text are raised at once. Raises SetupError if a module cannot be imported.
        """
        modules = Modules.from_arguments(python)
        queries = parse_workload(text, name, _callable(modules, functions or {}))
        every = modules.aggregates() | dict(aggregates or {})
        made = cls(*queries, exact=exact or queries.exact, aggregates=every)
        made._source = Source(text, name)
        made._modules = modules
        with made._pointing():
            made._queries = _with_targets(made._queries, modules)
        return made

    @property
    def exact(self) -> bool:
        """Whether integers of any size are computed without rounding."""
        return self._queries.exact

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of parameters without a value, such as `limit` of `a.v > :limit`, sorted."""
        if self._parameters is None:
            names = {name for query in self._queries for name in parameters_of(query)}
            self._parameters = tuple(sorted(names))
        return self._parameters

    def bind(self, params: Mapping[str, object]) -> Workload:
        """Return the workload with values for all its parameters.

        A value is a number, a text, a timedelta, True, False or None. Raises InputError for a
        parameter without a value, and for names that no query has; QueryError for a value that does
        not fit where it stands.

        >>> workload = Workload.parse("QUERY q RETURN a.v PATTERN A a WHERE a.v > :limit;")
        >>> events = [{"time": n, "type": "A", "v": n} for n in range(5)]
        >>> workload.bind({"limit": 2}).run(events)["q"].to_pylist()
        [{'a.v': 3}, {'a.v': 4}]
        """
        names = self.parameters
        unknown = [name for name in params if name not in names]
        if unknown:
            hint = did_you_mean(unknown[0], names)
            shown = f" Parameters: {', '.join(names)}." if names else " There are none."
            raise InputError(f"No query has a parameter '{unknown[0]}'.{hint}{shown}")
        missing = [name for name in names if name not in params]
        if missing:
            raise _without_value(missing)
        if not names:
            return self
        values = {name: _constant(name, value) for name, value in params.items()}
        with self._pointing():
            queries = tuple(with_parameters(query, values) for query in self._queries)
        workload = Workload(*queries, exact=self.exact, aggregates=self._aggregates)
        workload._source, workload._modules = self._source, self._modules
        return workload

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
    ) -> Plan:
        """Return how the workload is run; `fine` keeps every event, as the paper does.

        `attributes` are the attributes that events have, for lists of whole events. `clock` says in
        which unit times are counted and what bare numbers after WITHIN mean; seconds if it is not
        known yet. `uncertain` says what is known about times that are intervals. Raises
        UnsupportedError for a clause that no engine here can run.
        """
        if self.parameters:
            raise _without_value(self.parameters)
        fineness = mode_named(Granularity, granularity, "granularity")
        if clock is None:
            clock = clock_for(self._queries, fine=False, number=NANOSECONDS["s"])
            clock = replace(clock, time_column="time")
        whole = tuple(attributes) if self._lists_whole_events else ()
        with self._pointing():
            windows = windows_in_ticks(self._queries, clock)
        units = clock.numeric_times if units_change_queries(self._queries, clock) else ()
        decides = self._may_decide_early and uncertain is None
        counted = (clock.time_column, clock.per_microsecond) if decides else ()
        key = (fineness, tuple(windows.values()), units, whole, uncertain, counted)
        if key not in self._plans:
            with self._pointing():
                self._plans[key] = plan(
                    in_ticks(self._queries, clock),
                    granularity=fineness,
                    aggregates=self._aggregates,
                    attributes=whole,
                    uncertain=uncertain,
                    clock=clock,
                )
        return self._plans[key]

    @property
    def _may_decide_early(self) -> bool:
        """Whether a query may have a NOT at its end that a limit of time decides."""
        return any(
            query.kind is Kind.MATCHES
            and has_durations(query)
            and any(isinstance(node, Negation) for node in pattern_nodes(query.pattern))
            for query in self._queries
        )

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
        """Possible mistakes in queries that can be run, such as gaps between windows."""
        return tuple(query_warnings(self.plan))

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
        end: EndName = "closed",
        spark: Any = None,
        params: Mapping[str, object] | None = None,
    ) -> Results[Any]:
        """Run the queries over the events in `data`; return a result per query.

        `data`: a Spark DataFrame is processed by Spark, and the results are Spark DataFrames.
        Anything else (a path to files, a pyarrow Table, a pandas or polars DataFrame, a dict of
        columns, a list of dicts) is processed in this process, and the results are pyarrow Tables.
        `results["q"]` has their methods, and `to_pandas`, `to_polars`, `to_arrow` and `to_pylist`
        wherever it was computed.

        time, type      columns, or SQL expressions over the columns. time="ROWS": events have no
                        time and come in the order of their rows, which are numbered from 1 in the
                        column ROWS; windows then count events. On Spark, only for files on this
                        machine that are read by path
        time_unit       the unit of times that are numbers, and of bare numbers after WITHIN: "s",
                        "ms", "us" or "ns"
        time_interval   if times are uncertain: the columns, or SQL expressions, with the first
                        and the last possible time of each event, in place of `time`
        time_granularity
                        if times are uncertain: how coarse they are. "15 seconds" means that an
                        event happened at its time or up to 15 seconds before; a dict sets this by
                        type
        time_step       the distance between possible times; by default one second, or 1 if times
                        are numbers
        time_distribution
                        the probabilities of the possible times, from the first to the last; by
                        default all are equally probable. A dict sets them by type; the name of a
                        column (or an SQL expression) of lists, or of texts such as "0.25,0.75",
                        sets them for each event
        time_sets       if times are uncertain: the events of a repeated variable that nothing
                        relates to one another are a set, in whatever order they happened
        order_by        columns by which events with the same time are ordered
        rejects         set aside events without a time or a type, and rows of CSV files with too
                        few or too many cells, in `results.rejected`; by default, they stop the run
        ordered         sort rows on Spark by group and window, which takes additional work there;
                        in this process, rows are always sorted
        sharing         "dynamic", "always" or "never": what queries share
        granularity     "auto" or "fine": keep sums where possible, or keep every event
        record          record in `results.statistics` what was decided on every burst and, in this
                        process and for a few thousand events, graphlets and snapshots
        scan            "auto": if the DataFrame is just a scan of Parquet files, with simple
                        projections and filters, tasks read the files in columns; "arrow" demands
                        this, and "spark" lets Spark read everything
        threads         in this process, the greatest number of threads over which windows or keys
                        are spread; by default one for each core. On Spark, its own settings apply
        combine         "auto": if the files' statistics show that they do not overlap in time, the
                        effect of a key's events of a pane is computed before Spark's shuffle,
                        provided that this is cheaper than sending them; "always": wherever
                        possible; "never"
        end             "closed": the stream ends with its last event, so every window has passed.
                        "open": more events may follow. Only results that no event at or after the
                        last event's time can change are returned, and `results.open_windows` counts
                        the windows that were left open. On Spark, one more job finds that time
        spark           a Spark session that reads the files if `data` is the location of files: a
                        path, a folder, or a pattern such as "trips/*.parquet"
        params          values for the queries' parameters: {"limit": 3} for `a.v > :limit`; see
                        `bind`

        `sharing`, `granularity`, `scan`, `combine` and `threads` change how the work
        is done, never a result.

        Raises QueryError if a query does not fit the columns, and InputError for missing columns
        and for events that cannot be used.
        """
        from elsinore.runtime.request import RunRequest  # noqa: PLC0415 - engines load on first use

        request = RunRequest(
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
            end=end,
            spark=spark,
        )
        workload = self if params is None else self.bind(params)
        results: Results[Any] = workload._run(data, request, in_pieces=False)
        return results

    def batches(self, data: Any, **options: Any) -> Generator[tuple[str, Any], None, Results[Any]]:
        """Run the queries in this process; yield (query, rows) as rows are found, in pieces.

        The rows of match queries come as they are found, some ten thousand at a time, so that there
        may be more of them than memory holds; those of DISTINCT and of trend queries are only known
        at the end, and come then. `options` are those of `run`. The generator's return value is
        what `run` returns, without the rows that were yielded before.

        >>> rising = Workload.parse("QUERY q RETURN b[].v PATTERN B{2} b WHERE b[i].v > b[i-1].v;")
        >>> events = [{"time": n, "type": "B", "v": n} for n in range(3)]
        >>> for name, rows in rising.batches(events):
        ...     print(name, rows["b[].v"].to_pylist())
        q [[0, 1], [0, 2], [1, 2]]
        """
        from elsinore.runtime.request import RunRequest  # noqa: PLC0415 - as above

        request = RunRequest(**options)
        if is_spark_frame(_bare(data)) or request.spark is not None:
            raise InputError(
                "batches() is for events in this process. Of a Spark DataFrame, run() gives data "
                "frames, which Spark writes piece by piece."
            )
        running = self._run(data, request, in_pieces=True)
        with self._pointing():
            results: Results[Any] = yield from running
        for name, table in results.tables.items():
            if table.num_rows:
                yield name, table
        return results

    def live(
        self,
        schema: Any,
        *,
        time: str = "time",
        type: str = "type",  # noqa: A002 - the word for it
        lateness: Length = 0,
        idle_timeout: Length | None = None,
        ahead: Length | None = None,
        marks: bool = False,
        buckets: int = 1,
        **options: Any,
    ) -> Live:
        """Start a live run in this process: batches of events in, rows as soon as they are final.

        schema          the columns of the events: a pyarrow Schema, a dict of names and types, a
                        text ("time TIMESTAMP, type STRING"), or events that have these columns
        time, type      columns, or SQL expressions over the columns
        lateness        by how much events may be out of order, such as "10 seconds". Later ones are
                        counted, and change no result
        idle_timeout    a partition of the source without events for longer does not hold results
                        back; while all are idle, time moves on with the machine's clock
        ahead           events whose time is further ahead of the machine's clock are rejected, so
                        that one wrong clock does not close all windows
        marks           rows have two more columns: `watermark`, at which they were returned, and
                        `early`, whether they are values of windows that are still open
        buckets         the number of parts into which the keys are split; no result depends on it

        Other options are those of `run`: `time_unit`, `time_interval`, `time_granularity`,
        `time_step`, `time_distribution`, `time_sets`, `order_by`, `rejects`, `sharing`
        and `granularity`.

        Raises QueryError if a query does not fit the columns or cannot run over a live stream, with
        the reason, and InputError for missing columns.

        >>> workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 5 seconds;")
        >>> live = workload.live([{"time": 0.0, "type": "A"}], lateness="1 second")
        >>> first = live.push([{"time": 2.0, "type": "B"}, {"time": 1.5, "type": "A"}])
        >>> [(name, rows["count(*)"].to_pylist()) for name, rows in live.end()]
        [('q', [1.0])]
        """
        from elsinore.local import live as in_process  # noqa: PLC0415 - engines load on first use
        from elsinore.runtime.live import options_of  # noqa: PLC0415

        chosen = options_of(
            time=time,
            type=type,
            lateness=lateness,
            idle_timeout=idle_timeout,
            ahead=ahead,
            marks=marks,
            buckets=buckets,
            **options,
        )
        return in_process.start(self.live_planner(), _columns(schema), chosen)

    def resume(self, state: bytes, *, schema: Any = None, **changes: Any) -> Live:
        """Continue the live run that was saved as `state` (`Live.save`).

        Queries that are unchanged keep their state. Queries that were added start with the next
        window, those that were changed start anew, and those that are no longer in the workload
        end; `changes` of the returned run has the queries' names. schema: of the events from now
        on, if new queries read further columns. changes: other values for `lateness`,
        `idle_timeout`, `ahead`, `marks` and `rejects`.

        Raises StateError for bytes that are damaged or of another version.

        >>> workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 5 seconds;")
        >>> live = workload.live([{"time": 0, "type": "A"}])
        >>> live.push([{"time": 1, "type": "A"}])
        []
        >>> resumed = workload.resume(live.save())
        >>> [(name, rows["count(*)"].to_pylist()) for name, rows in resumed.push([
        ...     {"time": 2, "type": "B"}, {"time": 7, "type": "B"}])]
        [('q', [1.0])]
        """
        from elsinore.local import live as in_process  # noqa: PLC0415 - engines load on first use

        given = None if schema is None else _columns(schema)
        return in_process.resume(self.live_planner(), state, given, changes)

    def stream(
        self,
        source: Any,
        *,
        time: str = "time",
        type: str = "type",  # noqa: A002 - the word for it
        lateness: Length = 0,
        idle_timeout: Length | None = None,
        ahead: Length | None = None,
        early: Length | None = None,
        end_on_idle: Length | None = None,
        buckets: int | None = None,
        batch_rows: int = 1_000_000,
        schema: Any = None,
        messages: Messages = "json",
        start: Start = "earliest",
        kafka_options: Sequence[str] | Mapping[str, str] = (),
        engine: Literal["spark", "local"] = "spark",
        spark: Any = None,
        **options: Any,
    ) -> LiveStream | PlannedLocalStream:
        """Plan a live run from a source to a sink; call `start` of the result to start it.

        source          a streaming DataFrame (`spark.readStream`); a folder to which files are
                        added; kafka:TOPIC@HOST:PORT; or a place of `elsinore.connectors.places`.
                        Tasks read folders and Kafka topics by themselves, which takes a fraction
                        of the time
        time, type, lateness, ahead
                        as in `live`; `ahead` and `idle_timeout` are not for DataFrames, of which
                        Spark does not tell the partitions
        early           how often values of windows that are still open are returned
        end_on_idle     the stream ends when no event has come for so long, and all windows with it
        buckets         into how many parts the keys, and the state, are split: 16 by default, or
                        as many as the checkpoint has. With another number, a stream on Spark goes
                        on with it from the next window
        batch_rows      how many events a micro-batch takes at most
        schema          the columns of the events: as in `live`, or as text ("time TIMESTAMP, type
                        STRING") or the name of a file with such a text; of messages in Avro, their
                        schema's file. By default, those of a folder's first file, or what a
                        topic's last messages in JSON contain
        messages        what a topic's messages are: "json", "avro", or "confluent-avro" (behind the
                        header of a schema registry)
        start           where a new stream begins to read a topic: "earliest" or "latest"
        kafka_options   options of the Kafka client, by librdkafka's names
        engine          "spark", or "local": in this process, without a JVM. It reads folders and
                        topics, and has one bucket unless `buckets` says otherwise
        spark           the Spark session; by default that of the DataFrame, or the active one

        Other options are those of `live`. What is returned has the same methods with both engines.
        Raises QueryError if a query does not fit the columns or
        cannot run over a live stream, and InputError for missing columns.
        """
        from elsinore.runtime.live import options_of, schema_from  # noqa: PLC0415 - loads engines

        reading: dict[str, Any] = {
            "time": time,
            "type": type,
            "lateness": lateness,
            "idle_timeout": idle_timeout,
            "ahead": ahead,
            **options,
        }
        planned: dict[str, Any] = {
            "early": early,
            "end_on_idle": end_on_idle,
            "batch_rows": batch_rows,
            "schema": schema if schema is None or isinstance(schema, str) else schema_from(schema),
            "kafka": {"messages": messages, "start": start, "kafka_options": kafka_options},
        }
        planner = self.live_planner()
        if engine == "local":
            from elsinore.local.started import planned_local  # noqa: PLC0415 - loads the engines

            chosen = options_of(buckets=1 if buckets is None else buckets, **reading)
            return planned_local(planner, source, chosen, **planned)
        if engine != "spark":
            raise InputError(f"{option('engine')} is {engine!r}: spark or local.")
        from elsinore.spark.live import planned_stream  # noqa: PLC0415 - an extra

        return planned_stream(
            planner, source, options_of(**reading), buckets=buckets, spark=spark, **planned
        )

    def live_planner(self) -> Planner:
        """Return the planner of live runs of this workload, also beside former queries."""
        from elsinore.runtime.live import Planner, setup_for  # noqa: PLC0415 - loads engines

        def plan(
            queries: Sequence[Query],
            exact: bool,
            schema: pa.Schema,
            options: LiveOptions,
            fine: bool,
        ) -> LiveSetup:
            if options.request.time_interval is None and options.request.time_granularity is None:
                self._refuse_uncertain()
            workload = Workload(*queries, exact=exact, aggregates=self._aggregates)
            if all(any(query is own for own in self) for query in queries):
                workload._source = self._source
            with workload._pointing():
                return setup_for(workload, schema, options.request, fine=fine)

        return Planner(tuple(self._queries), self.exact, plan)

    def _run(self, data: Any, request: RunRequest, *, in_pieces: bool) -> Any:
        """Run as `run` does; if in pieces, return a generator of them."""
        options = request.options()
        data = _bare(data)
        joined = _union(data)
        if options.by_rows and joined is not data:
            raise InputError(
                f"The rows of several tables have no common order, so {option('time', ROWS)} "
                f"cannot order their events. Name a column of times with {option('time')}."
            )
        data = joined
        if request.spark is not None and isinstance(data, str | Path):
            data, options = _read_place(data, request, options)
        if options.uncertain is None:
            self._refuse_uncertain()
        # queries that cannot run raise errors before events are read
        first = self.planned(request.granularity)
        if options.uncertain is not None:
            from elsinore.runtime.uncertain import refuse_misspelt_types  # noqa: PLC0415

            refuse_misspelt_types(options.uncertain, first.types)
        if is_spark_frame(data):
            from elsinore.spark import driver as spark_driver  # noqa: PLC0415 - an extra

            if options.by_rows:
                from elsinore.spark.row_order import (  # noqa: PLC0415 - an extra
                    refuse_without_row_numbers,
                )

                refuse_without_row_numbers(data)
            fine = spark_driver.nanosecond_columns(data)
            options = self.timed(options, *spark_driver.inspect_time(data, options), fine)
            known = options.uncertainty
            columns = data.columns
            ready = self.planned(request.granularity, options.clock, columns, known)
            with self._pointing():
                return spark_driver.run(ready, data, options)
        from elsinore.runtime.inputs import as_table, columns_to_convert, no_events  # noqa: PLC0415

        if isinstance(data, list) and not data:
            data = no_events(columns_named(first), options)
        if isinstance(data, str | Path):
            data, options = _read_place(data, request, options)
        few = None
        if not in_pieces and not self._lists_whole_events:
            few = columns_to_convert(data, columns_read(first), options)
        if few is None:
            return self._run_here(as_table(data), options, request, in_pieces=in_pieces)
        try:
            return self._run_here(as_table(data, few), options, request, in_pieces=False)
        except ElsinoreError as error:  # an error of any column ...
            try:
                table = as_table(data)
            except InputError:
                raise error from None  # ... unless only columns that no query reads have one
        return self._run_here(table, options, request, in_pieces=False)

    def _run_here(
        self, table: pa.Table, options: RunOptions, request: RunRequest, *, in_pieces: bool
    ) -> Any:
        """Run in this process."""
        from elsinore.local import inspect_time, pieces, run  # noqa: PLC0415 - loads the engines

        if options.by_rows:
            from elsinore.runtime.row_order import with_row_numbers  # noqa: PLC0415 - loads Arrow

            table = with_row_numbers(table)
        options = self.timed(options, *inspect_time(table, options))
        known = options.uncertainty
        columns = table.column_names
        ready = self.planned(request.granularity, options.clock, columns, known)
        with self._pointing():
            return pieces(ready, table, options) if in_pieces else run(ready, table, options)

    def _refuse_uncertain(self) -> None:
        """Refuse queries about the probability of matches if events have exact times."""
        passed: set[Form] = set()
        for query in self._queries:
            if query.form_instance is not None:
                if query.form_instance.form in passed:
                    continue
                passed.add(query.form_instance.form)
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

    def timed(
        self, options: RunOptions, numbers: bool, fine: bool, nanoseconds: Iterable[str] = ()
    ) -> RunOptions:
        """Return the options with the clock for times that are numbers or have nanoseconds.

        `nanoseconds` are columns of integers that are timestamps in nanoseconds.
        """
        unit = NANOSECONDS[options.time_unit] if numbers else None
        numeric = dict.fromkeys(nanoseconds, NANOSECONDS["ns"])
        if unit is not None and not options.by_rows:
            numeric |= dict.fromkeys(options.time_columns, unit)
        with self._pointing():
            clock = clock_for(self._queries, fine=fine, number=unit)
            clock = replace(clock, numeric_times=tuple(numeric.items()), rows=options.by_rows)
            clock = replace(clock, time_column=None if options.by_rows else options.time_columns[0])
            windows = windows_in_ticks(self._queries, clock)
        units = any("WITHIN" not in window.bare for window in windows)
        largest = largest_time(windows.values())
        return replace(options, clock=clock, largest_time=largest, units_written=units)

    def check(self, schema: Any, *, time: str = "time", time_unit: TimeUnit = "s") -> None:
        """Raise an error if the queries do not fit events of a pyarrow schema.

        `time` is the column of times; if it holds numbers, `time_unit` is their unit.
        """
        from elsinore.runtime.fields import (  # noqa: PLC0415 - Arrow loads on first use
            derived_names,
            schema_with_derived,
        )
        from elsinore.runtime.schema import schema_of  # noqa: PLC0415

        with self._pointing():
            full_schema = schema_with_derived(schema, derived_names(self._queries))
        attributes = schema_of(full_schema)
        kind = attributes.kind(time)
        units: dict[str, int] = {}
        if kind is not None and kind.is_numeric and time != ROWS:
            units = {time: NANOSECONDS[time_unit]}
        with self._pointing():
            queries = with_units(self._queries, units)
            bind(queries, attributes.with_ticks(units))

    def explain(self, format: ExplainFormat = "text") -> str:  # noqa: A002
        """Describe a run in words, as JSON, or as a picture of the merged template."""
        if format not in EXPLAINERS:
            raise ElsinoreError(
                f"Unknown format {format!r}. Formats: {', '.join(EXPLAINERS)}."
                f"{did_you_mean(str(format), EXPLAINERS)}"
            )
        with without_garbage_collection():
            return Explained(EXPLAINERS[format](self.plan))

    @contextmanager
    def _pointing(self) -> Iterator[None]:
        """Add the text, if there is one, to errors with a place in it."""
        try:
            yield
        except QueryError as error:
            if self._source is not None:
                error.located(self._source)
            raise
        except InvalidWorkloadError as error:
            if self._source is not None:
                for query_error in error.errors:
                    query_error.located(self._source)
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


def _read_place(
    place: str | Path, request: RunRequest, options: RunOptions
) -> tuple[Any, RunOptions]:
    """Return the events of a file, a folder or a pattern, and options with the rows left out."""
    ragged_rows: list[str] = []
    reject = ragged_rows.append if request.rejects else None
    type_from: Literal["auto"] | None = "auto" if options.type == "type" else None
    data: Any
    if request.spark is not None:
        from elsinore.spark.files import read_place  # noqa: PLC0415 - an extra

        data = read_place(request.spark, place, reject, type_from, by_rows=options.by_rows)
    else:
        from elsinore.runtime.files import read_events  # noqa: PLC0415 - readers load on first use

        data = read_events(place, reject=reject, type_from=type_from)
    return data, replace(options, ragged_rows=tuple(ragged_rows))


def _callable(
    modules: Modules, functions: Mapping[str, Callable[..., object]]
) -> dict[str, Callable[..., object]]:
    """Return the functions of Python that queries may call, by their names in upper case."""
    named = {name: f for name, f in modules.functions().items() if name not in functions}
    if not named and not functions:
        return {}
    from elsinore.runtime.user_functions import (  # noqa: PLC0415 - loads Arrow
        callable_in_queries,
        checked_functions,
    )

    return callable_in_queries(named) | checked_functions(functions)


def _columns(schema: Any) -> pa.Schema:
    """Return the columns of events from an argument of `Workload.live`."""
    from elsinore.connectors.records.schema_text import read_schema  # noqa: PLC0415 - loads Arrow
    from elsinore.runtime.live import schema_from  # noqa: PLC0415 - engines load on first use

    if is_spark_frame(schema):
        raise InputError(
            "live() takes batches of events in this process, and this is a DataFrame of Spark. "
            "Workload.stream answers queries over a streaming DataFrame."
        )
    return read_schema(schema) if isinstance(schema, str) else schema_from(schema)


def _with_targets(queries: Queries, modules: Modules) -> Queries:
    """Return queries with the objects that Python queries name; raise all errors at once."""
    errors: list[QueryError] = []
    with_targets: list[Query] = []
    for query in queries:
        if isinstance(query, PythonQuery):
            span = query.places.get("FROM", query.span)
            try:
                target = modules.attribute(query.source, span=span, query=query.name)
                query = replace(query, target=target)  # noqa: PLW2901
            except QueryError as error:
                errors.append(error)
        with_targets.append(query)
    raise_errors(errors)
    return replace(queries, queries=tuple(with_targets))


def _constant(name: str, value: object) -> Constant:
    """Return the constant that a parameter stands for."""
    try:
        return constant_for(value)
    except TypeError:
        raise InputError(
            f"Parameter '{name}' is {kind_of_value(value)}. Give a number, a text, a date, a "
            "timedelta, True, False or None."
        ) from None


def _without_value(names: Sequence[str]) -> InputError:
    """Return the error for parameters that have no value."""
    how = f"--param {names[0]}=..." if is_on_the_command_line() else f'params={{"{names[0]}": ...}}'
    return InputError(
        f"The queries have parameters without a value: {', '.join(names)}. Give them: {how}."
    )


def _no_query(given: object) -> str:
    """Return an error message for something that is not a query."""
    refusal = f"A workload is made of queries, and this is {kind_of_value(given)}."
    if isinstance(given, str):
        return f"{refusal} Text is read by Workload.parse(text)."
    if isinstance(given, QueryBuilder):
        return f"{refusal} A query is done when select(...) is called."
    if type(given).__module__ == "elsinore.quantitative.runnable":
        return f'{refusal} Give it a name: el.query("name").from_python(query).'
    if isinstance(given, list | tuple):
        return f"{refusal} Hand them over one by one: Workload(*queries)."
    return refusal


def _bare(data: Any) -> Any:
    """Return the frame of a result, Spark's frame for pandas on Spark, or else `data` itself."""
    from elsinore.runtime.result import Result  # noqa: PLC0415 - engines load on first use

    if isinstance(data, Result):
        return data.frame
    if type(data).__module__ == "pyspark.pandas.frame":
        with catch_warnings():
            simplefilter("ignore")  # advice to keep the index, which no query reads
            return data.to_spark()
    return data


def _union(data: Any) -> Any:
    """Return events from one table or Spark DataFrame per type as a single one."""
    if not isinstance(data, dict) or not data:
        return data
    if all(map(is_spark_frame, data.values())):
        from elsinore.spark.frames import union_by_type as union_on_spark  # noqa: PLC0415 - an extra

        return union_on_spark(data)
    from elsinore.runtime.frames import are_by_type, union_by_type  # noqa: PLC0415 - as above

    return union_by_type(data) if are_by_type(data) else data


def is_spark_frame(data: object) -> bool:
    """Return whether `data` is a Spark DataFrame, without importing Spark."""
    return any(
        kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame"
        for kind in type(data).__mro__
    )
