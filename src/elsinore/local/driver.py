"""Running a plan in this process, from Arrow columns to Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.model import AttributeKind
from elsinore.plan import Plan, Unit, bind
from elsinore.runtime.classify import classify, type_numbers
from elsinore.runtime.expressions import values
from elsinore.runtime.finish import result_tables
from elsinore.runtime.inputs import as_table
from elsinore.runtime.kernels import has_simultaneous, is_sorted, rows_by_type
from elsinore.runtime.keys import encode_keys
from elsinore.runtime.options import RunOptions
from elsinore.runtime.rejects import set_aside, unusable_reasons
from elsinore.runtime.results import Results
from elsinore.runtime.schema import kind_of, schema_of
from elsinore.runtime.sql import evaluate_sql, whole
from elsinore.runtime.times import TimeKind, from_microseconds, kind_of_bounds, to_microseconds
from elsinore.trends import OperatorStatistics, bytes_per_key, operator_of, to_ranks

STATE_LIMIT = 2**28  # bytes of state beyond which keys are taken one after another
SEEN_TYPES = 12  # types listed in a warning


@dataclass(frozen=True, slots=True)
class Stream:
    """Usable events in time order: their attributes, times in microseconds, and types."""

    table: pa.Table
    times: NDArray[np.int64]
    types: pa.Array
    kind: TimeKind
    ordered: bool  # whether simultaneous events are in an order of their own

    def column(self, name: str) -> pa.Array:
        """Return an attribute as one array."""
        return whole(self.table.column(name))


def run(plan: Plan, data: object, options: RunOptions) -> Results[pa.Table]:
    """Run a plan over the events in `data`; return a table per query.

    Raises QueryError where a query does not fit the columns and InputError where events cannot be
    used (unless `options.allow_rejects`).
    """
    table = as_table(data)
    bind(plan.workload, schema_of(table.schema))
    stream, rejected = prepare(table, options)
    tables: dict[str, pa.Table] = {}
    statistics: list[OperatorStatistics] = []
    numbers = type_numbers(stream.types, plan.types)
    for unit in plan.units:
        found, counted = _run_unit(plan, unit, stream, numbers, options)
        tables |= found
        statistics.append(counted)
    warnings = tuple(_type_warnings(plan, stream.types, numbers))
    return Results(
        {query.name: tables[query.name] for query in plan.workload},
        rejected=rejected,
        find_statistics=lambda: tuple(statistics),
        find_warnings=lambda: warnings,
    )


def prepare(table: pa.Table, options: RunOptions) -> tuple[Stream, pa.Table | None]:
    """Return a table's usable events in time order, and those that are not usable, if any.

    Raises InputError for unknown columns, and for unusable events unless they are allowed.
    """
    time = evaluate_sql(options.time, table, "time")
    types = evaluate_sql(options.type, table, "type")
    if kind_of(types.type) is not AttributeKind.STRING:
        types = types.cast(pa.string())
    micros, kind = to_microseconds(time, options.time_unit)
    rejected: pa.Table | None = None
    if micros.null_count or types.null_count:
        reasons = unusable_reasons(time, micros, types)
        usable = reasons.is_null()
        table, rejected = set_aside(table, reasons, allowed=options.allow_rejects)
        micros, types = micros.filter(usable), types.filter(usable)
    times = micros.to_numpy()
    if options.order_by or not is_sorted(times):
        keys = {"time": micros} | {
            f"order{n}": evaluate_sql(name, table, "order")
            for n, name in enumerate(options.order_by)
        }
        order = pc.sort_indices(pa.table(keys), [(name, "ascending") for name in keys])
        table, types, times = table.take(order), types.take(order), times[order.to_numpy()]
    return Stream(table, times, types, kind, bool(options.order_by)), rejected


def _type_warnings(plan: Plan, types: pa.Array, numbers: NDArray[np.int32]) -> Iterator[str]:
    """Yield a sentence for each query that names types which never occur."""
    counts = np.bincount(numbers + 1, minlength=len(plan.types) + 1)[1:]
    missing = {name for name, count in zip(plan.types, counts, strict=True) if count == 0}
    if not missing:
        return
    seen = pc.value_counts(types).to_pylist()
    seen.sort(key=lambda entry: -entry["counts"])
    shown = ", ".join(str(entry["values"]) for entry in seen[:SEEN_TYPES])
    more = f" and {len(seen) - SEEN_TYPES} more" if len(seen) > SEEN_TYPES else ""
    for unit in plan.units:
        for template in unit.members:
            absent = sorted(missing.intersection(template.predicates))
            if absent:
                yield (
                    f"query {template.query.name}: no event has type "
                    f"{' or '.join(absent)}. Types seen: {shown or 'none'}{more}."
                )


def _run_unit(
    plan: Plan, unit: Unit, stream: Stream, numbers: NDArray[np.int32], options: RunOptions
) -> tuple[dict[str, pa.Table], OperatorStatistics]:
    groups = [stream.column(name) for name in unit.group_by]
    keys = encode_keys(
        groups,
        [stream.column(name) for name in unit.equivalence],
        [stream.column(name) for name in unit.required],
        len(stream.times),
    )
    columns = {name: stream.column(name) for name in unit.classes.attributes}
    codes = classify(unit.classes, numbers, plan.types, columns)
    if keys.incomplete:
        codes = np.where(keys.key < 0, -1, codes)
    exact = plan.workload.exact
    batch = pa.RecordBatch.from_pydict(
        {
            "key": pa.array(keys.key),
            "group": pa.array(keys.group),
            "time": pa.array(stream.times),
            "class": pa.array(codes),
        }
        | {f"sum:{name}": _addend(stream.column(name), exact=exact) for name in unit.summed}
        | {f"rank:{name}": to_ranks(_plain(stream.column(name))) for name in unit.ranked}
        | {f"pair:{name}": _plain(stream.column(name)) for name in unit.compared}
    )
    ordered = stream.ordered or not has_simultaneous(stream.times, keys.key, keys.count)
    one_slot = keys.count * bytes_per_key(unit) > STATE_LIMIT
    if one_slot:
        rows, _ = rows_by_type(keys.key, keys.count)
        batch = batch.take(pa.array(rows))
    operator = operator_of(
        unit,
        one_slot=one_slot,
        ordered=ordered,
        sharing=options.sharing,
        record=options.record,
    )
    totals = pa.Table.from_batches([operator.process(batch), operator.close()])
    values_of_groups = [keys.of_groups(column) for column in groups]
    types = {name: stream.column(name).type for name in unit.summed + unit.ranked}
    results = result_tables(unit, totals, values_of_groups, types)
    windows = {template.query.name: template.query.window for template in unit.members}
    return {
        name: _presented(table, kind_of_bounds(stream.kind, windows[name]))
        for name, table in results.items()
    }, operator.statistics


def _presented(table: pa.Table, kind: TimeKind) -> pa.Table:
    """Give windows the input's kind of time; sort by group attributes and window."""
    for name in ("window_start", "window_end"):
        column = table.column(name)
        if column.null_count == len(column):
            shown = pa.nulls(len(column), kind.arrow_type)
        else:
            shown = from_microseconds(column, kind)
        table = table.set_column(table.column_names.index(name), name, shown)
    first = table.column_names[: table.column_names.index("window_start") + 1]
    if len(first) == 1:  # without groups rows are in the order of windows already
        return table
    keys = pa.table({name: _plain(whole(table.column(name))) for name in first})
    return table.take(pc.sort_indices(keys, [(name, "ascending") for name in first]))


def _addend(column: pa.Array, *, exact: bool) -> pa.Array:
    """Return what SUM and AVG read: doubles with NaN as null; as they are for exact sums."""
    column = _plain(column) if exact else values(column)
    return column if exact else column.cast(pa.float64(), safe=False)


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
