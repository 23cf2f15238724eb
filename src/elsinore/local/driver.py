"""Running a plan in this process, from Arrow columns to Arrow tables."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import no_table, to_numpy, whole
from elsinore.local.events import Events
from elsinore.local.shares import shares_of
from elsinore.local.threads import outputs_of, run_in_threads, threads_for
from elsinore.local.ties import count_tied
from elsinore.model.clock import largest_time
from elsinore.operators import (
    OperatorOptions,
    OperatorStatistics,
    ResultForm,
    bind,
    kind_for,
    specialize,
)
from elsinore.operators.partials import results_of
from elsinore.operators.planning import open_windows, query_warnings
from elsinore.plan import Plan, Unit
from elsinore.plan.modes import End
from elsinore.runtime.chunks import plain, with_combined_chunks
from elsinore.runtime.classify import type_places
from elsinore.runtime.fields import derived_names, schema_with_derived, with_derived
from elsinore.runtime.guessed import guess_again
from elsinore.runtime.inputs import as_table
from elsinore.runtime.keys import NumberedKeys
from elsinore.runtime.memory import retain_freed_memory
from elsinore.runtime.numbering import Numbering
from elsinore.runtime.options import RunOptions
from elsinore.runtime.possible_times import possible_times
from elsinore.runtime.presentation import presented
from elsinore.runtime.rejects import (
    set_aside,
    unusable_reasons,
    with_ragged_rows,
)
from elsinore.runtime.results import Results
from elsinore.runtime.rows import has_ties, order_in_ranges
from elsinore.runtime.schema import check_order, kind_of, plain_type, schema_of
from elsinore.runtime.simultaneous import ASCENDING, DISORDERED, DISTINCT
from elsinore.runtime.sql import evaluate_sql
from elsinore.runtime.text_orders import text_orders
from elsinore.runtime.times import (
    TimeKind,
    as_ticks,
    kind_of_column,
    numbers_for_text,
    schema_with_numbers,
    within,
)
from elsinore.runtime.types import types_of
from elsinore.runtime.units import keys_of
from elsinore.runtime.warnings import (
    absent_types,
    always_null,
    finer_times,
    first_few,
    overflow,
    overflown_columns,
    tied_events,
    types_by_frequency,
    warn_of_no_rows,
    warn_of_ties,
)

Pieces = Generator[tuple[str, pa.Table], None, Results[pa.Table]]

STATE_LIMIT = 2**28  # bytes of state beyond which keys are processed one after another


@dataclass(frozen=True, slots=True)
class Stream:
    """Usable events in time order: their attributes, times in ticks, and types.

    Attributes are sorted when they are read: a table may have many more.
    """

    table: pa.Table  # in the order of the input
    rows: pa.Array | None  # the row of each event in it, unless it is already in order
    times: NDArray[np.int64]
    types: pa.Array
    kind: TimeKind
    ordered: bool  # whether no events are simultaneous, or they are ordered by `order_by`
    whole: dict[str, pa.Array] = field(default_factory=dict)  # attributes read so far

    def column(self, name: str) -> pa.Array:
        """Return an attribute as one array."""
        if name not in self.whole:
            column = whole(self.table.column(name))
            self.whole[name] = column if self.rows is None else column.take(self.rows)
        return self.whole[name]

    def is_null(self, name: str) -> bool:
        """Return whether there are events, all with null in an attribute."""
        return 0 < len(self.times) == int(self.column(name).null_count)


def run(plan: Plan, data: object, options: RunOptions) -> Results[pa.Table]:
    """Run a plan over the events in `data`; return a table per query.

    Raises QueryError if a query does not fit the columns and InputError for unusable events (unless
    `options.allow_rejects`).
    """
    running = _running(plan, data, options, in_pieces=False)
    try:
        next(running)
    except StopIteration as end:
        results: Results[pa.Table] = end.value
        return results
    raise AssertionError("rows were yielded in pieces without being requested")


def pieces(plan: Plan, data: object, options: RunOptions) -> Pieces:
    """Run a plan; yield pieces of rows with the query's name as soon as they are computed.

    Only queries with unordered, independent rows yield pieces. The generator's return value is that
    of `run`, with the tables of all other queries.
    """
    return _running(plan, data, options, in_pieces=True)


def _running(plan: Plan, data: object, options: RunOptions, *, in_pieces: bool) -> Pieces:
    """Read events, run all passes, and return the results; see `pieces` for `in_pieces`."""
    retain_freed_memory()
    table, no_events, unusable = guess_again(as_table(data), options)
    derived_columns = derived_names(plan.workload)
    schema = schema_with_derived(schema_with_numbers(table, options.time), derived_columns)
    bind(plan.workload, schema_of(schema).with_ticks(dict(options.clock.numeric_times)))
    if unusable is not None:
        raise unusable
    plan = specialize(plan, dict(zip(schema.names, schema.types, strict=True)), declared=False)
    furthest = min(options.largest_time, largest_time(query.window for query in plan.workload))
    options = replace(options, largest_time=furthest)
    is_open = options.end is End.OPEN
    threads = threads_for(table.num_rows, options.threads)
    attributes_read = (name for unit in plan.units for name in unit.attributes)
    columns_read = itertools.chain((options.time, options.type), attributes_read)
    stream, rejected = prepare(with_combined_chunks(table, columns_read, threads), options, threads)
    stream = replace(stream, table=with_derived(stream.table, derived_columns))
    if is_open and len(stream.times):
        options = replace(options, last_time=int(stream.times[-1]))
    tables: dict[int, pa.Table] = {}
    statistics: dict[int, OperatorStatistics] = {}
    places, names = type_places(stream.types, plan.types)
    types = places.materialized(threads) if len(plan.units) > 1 else places, names
    for together in plan.passes:
        unit = plan.units[together[0]]
        keys = keys_of(unit, stream.column, len(stream.times), threads)
        keys = keys.materialized(threads) if len(together) > 1 else keys
        for number in together:
            unit = plan.units[number]
            results, statistics[number] = yield from _run_unit(
                unit, stream, keys, types, options, in_pieces=in_pieces
            )
            tables |= dict(zip(unit.queries, results, strict=True))
    event_types = stream.types
    late = warnings_of_times(stream, options)
    about_texts = texts_compared(plan, table)
    if not in_pieces:
        queries = enumerate(plan.workload)
        empty = frozenset(query.name for place, query in queries if not tables[place].num_rows)
        odd = itertools.chain(late, always_null(plan, stream.is_null))
        warn_of_no_rows(plan, empty, partial(types_by_frequency, event_types), odd)
    ties = tied_events(plan.units, [statistics[n] for n in range(len(plan.units))])
    warn_of_ties(ties)

    @cache
    def warnings() -> tuple[str, ...]:
        overflown = {
            query.name: overflown_columns(query, tables[number])
            for number, query in enumerate(plan.workload)
        }
        missing = (
            *absent_types(plan, types_by_frequency(event_types)),
            *first_few(always_null(plan, stream.is_null), "have such keys"),
        )
        # in the order in which Spark's driver lists the same warnings
        return late + missing + about_texts + overflow(plan.workload, overflown) + ties

    return Results(
        {query.name: tables[number] for number, query in enumerate(plan.workload)},
        rejected=_rejects(table, no_events, rejected, options),
        find_statistics=lambda: tuple(statistics[n] for n in range(len(plan.units))),
        find_warnings=warnings,
        find_query_warnings=lambda: tuple(query_warnings(plan)),
        find_open_windows=lambda: open_windows(
            plan, options.last_time, [statistics[n] for n in range(len(plan.units))]
        ),
    )


def _rejects(
    table: pa.Table, no_events: pa.Table | None, rejected: pa.Table | None, options: RunOptions
) -> pa.Table | None:
    """Return the rows rejected before types were guessed, after it, and by the file's reader."""
    if no_events is not None and rejected is not None:
        rejected = pa.concat_tables([no_events, rejected.cast(no_events.schema)])
    rejected = no_events if rejected is None else rejected
    if options.ragged_rows:
        if rejected is None:
            _, rejected = set_aside(table.slice(0, 0), pa.nulls(0, pa.string()), allowed=True)
        rejected = with_ragged_rows(rejected, options.ragged_rows)
    return rejected


def warnings_of_times(stream: Stream, options: RunOptions) -> tuple[str, ...]:
    """Return warnings of the times of events."""
    if not len(stream.times):
        return ()
    return finer_times(int(stream.times[-1]), stream.kind, options)


def texts_compared(plan: Plan, table: pa.Table) -> tuple[str, ...]:
    """Return warnings of texts that queries compare."""
    attributes_read = dict.fromkeys(name for unit in plan.units for name in unit.attributes)
    present = [name for name in attributes_read if name in table.column_names]
    return tuple(text_orders(plan.workload, table.select(present)))


def inspect_time(table: pa.Table, options: RunOptions) -> tuple[bool, bool]:
    """Return whether the times of events are numbers, and whether they have nanoseconds.

    Raises InputError for unknown columns, and columns that cannot be a time.
    """
    time = evaluate_sql(options.time, no_table(table.schema), "time")
    kind, fine = kind_of_column(time, options.time_unit)
    if kind.form == "text":
        kind, fine = kind_of_column(evaluate_sql(options.time, table, "time"), options.time_unit)
    return kind.is_number or pa.types.is_null(time.type), fine  # nulls raise an error later


def prepare(
    table: pa.Table, options: RunOptions, threads: int = 1
) -> tuple[Stream, pa.Table | None]:
    """Return a table's usable events in time order, and the unusable ones, if any.

    Times that are numbers in text are numbers in the stream. Raises InputError for unknown columns,
    and for unusable events unless they are allowed.
    """
    time = evaluate_sql(options.time, table, "time")
    numbers = numbers_for_text(time)
    types = types_of(table, options.type)
    clock = options.clock.per_microsecond
    read_ticks, kind = as_ticks(numbers, options.time_unit, clock, threads)
    order = None if read_ticks.null_count else order_in_ranges(to_numpy(read_ticks), threads)
    ascending = order in {ASCENDING, DISTINCT}
    ticks = within(read_ticks, options.largest_time, threads, ascending=ascending)
    rejected: pa.Table | None = None
    time_columns: dict[str, pa.Array] = {}
    odd: pa.Array | None = None  # why an event's possible times are unusable
    if options.uncertain is not None:
        ticks, time_columns, odd = possible_times(table, ticks, types, options)
    if ticks.null_count or types.null_count or (odd is not None and odd.null_count < len(odd)):
        reasons = unusable_reasons(time, ticks, types)
        if odd is not None:
            reasons = pc.coalesce(reasons, odd)
        usable = reasons.is_null()
        table, rejected = set_aside(
            table, reasons, allowed=options.allow_rejects, time=options.time
        )
        ticks, types, numbers = (column.filter(usable) for column in (ticks, types, numbers))
        time_columns = {name: column.filter(usable) for name, column in time_columns.items()}
    for name, column in time_columns.items():
        table = table.append_column(name, column)
    if options.time in table.column_names and numbers.type != time.type:
        table = table.set_column(table.column_names.index(options.time), options.time, numbers)
    times = to_numpy(ticks)
    if order is None or ticks is not read_ticks:
        order = order_in_ranges(times, threads)
    rows: pa.Array | None = None
    if options.order_by or order == DISORDERED:
        keys = {"time": ticks} | {
            f"order{n}": _order(name, table) for n, name in enumerate(options.order_by)
        }
        rows = pc.sort_indices(pa.table(keys), [(name, "ascending") for name in keys])
        types, times = types.take(rows), times[to_numpy(rows)]
    ordered = bool(options.order_by) or order == DISTINCT
    return Stream(table, rows, times, types, kind, ordered), rejected


def _order(text: str, table: pa.Table) -> pa.Array:
    """Return a column by which events of one time are ordered."""
    column = plain(evaluate_sql(text, table, "order"))
    check_order(text, kind_of(column.type))
    return column


def _run_unit(
    unit: Unit,
    stream: Stream,
    keys: NumberedKeys,
    places: tuple[Numbering, Sequence[str]],
    options: RunOptions,
    *,
    in_pieces: bool,
) -> Generator[tuple[str, pa.Table], None, tuple[list[pa.Table], OperatorStatistics]]:
    """Return the results of a unit's queries, and its operator's statistics.

    With `in_pieces`, independent rows are yielded instead, and are not in the results.
    """
    kind = kind_for(unit)
    threads = 1
    if kind.runs_in_threads(unit) and not options.record:
        threads = threads_for(len(stream.times), options.threads)
    alone = keys.count == 1  # then events with equal times have the same key
    ordered = stream.ordered or (not alone and not has_ties(stream.times, keys.key, threads))
    tied_count = (
        0 if ordered else count_tied(unit, stream.times, keys, places, stream.column, threads)
    )
    state = keys.count * kind.bytes_per_key(unit)
    one_slot = state > STATE_LIMIT
    operator_options = OperatorOptions(
        one_slot=one_slot,
        ordered=ordered,
        sharing=options.sharing,
        record=options.record,
        last_time=options.last_time,
    )
    events = Events(unit, keys, stream.times, *places, stream.column)
    events = events.by_key() if one_slot else events
    by_windows = threads * state <= STATE_LIMIT and options.uncertain is None
    shares = shares_of(events, threads, by_windows=by_windows and not one_slot)
    types = {name: plain_type(stream.column(name).type) for name in unit.carried}
    groups = [keys.group_values(stream.column(name)) for name in unit.group_by]
    after = kind.after(unit)

    def results(outputs: Iterable[pa.RecordBatch]) -> list[pa.Table]:
        def present(table: pa.Table, form: ResultForm) -> pa.Table:
            presented_table = presented(table, form, stream.kind)
            return presented_table if after is None else after(presented_table)

        result = results_of(unit, outputs, groups, types, present, threads)
        return [table for table, _ in result]

    if len(shares.by_thread) > 1:
        new_operator = partial(kind.operator, unit, operator_options)
        thread_outputs, thread_statistics = run_in_threads(shares, new_operator, len(events.times))
        return results(thread_outputs), replace(thread_statistics, tied=tied_count)
    operator = kind.operator(unit, operator_options)
    outputs = outputs_of(operator, shares.by_thread[0])
    if in_pieces and not kind.adds_up(unit) and after is None:
        forms = [
            kind.result(unit, place, [values.type for values in groups], types)
            for place in range(len(unit.queries))
        ]
        outputs_so_far = []
        for output in outputs:
            queries = to_numpy(output.column("query"))
            form = forms[queries[0]] if len(queries) and np.all(queries == queries[0]) else None
            if form is None or form.order or form.distinct:
                outputs_so_far.append(output)
                continue
            table = pa.Table.from_batches([output])
            result = kind.finish(unit, int(queries[0]), table, groups, types)
            yield unit.names[queries[0]], presented(result, form, stream.kind)
        return results(outputs_so_far), replace(operator.statistics, tied=tied_count)
    tables = results(outputs)
    return tables, replace(operator.statistics, tied=tied_count)
