"""Selecting the row groups that a pass reads, by their statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from elsinore.operators import specialize
from elsinore.plan import Plan, Unit
from elsinore.runtime.options import RunOptions
from elsinore.runtime.schema import plain_type
from elsinore.spark.scan.bounds import Statistics
from elsinore.spark.scan.combined import combining
from elsinore.spark.scan.conditions import Condition, NotSimpleError
from elsinore.spark.scan.files import (
    FileColumn,
    RowGroupDecision,
    SelectedRowGroups,
    in_file,
    row_groups_in,
)
from elsinore.spark.scan.parts import parts_of
from elsinore.spark.scan.ranges import ranges_of
from elsinore.spark.scan.skipping import Skipping, interests_of
from elsinore.threads import cores


def needed(units: Sequence[Unit], options: RunOptions) -> list[str]:
    """Return the distinct attributes that a pass reads."""
    names = dict.fromkeys([options.time, options.type, *options.order_by])
    for unit in units:
        names |= dict.fromkeys(unit.attributes)
    return list(names)


def skipping_of(
    units: Sequence[Unit],
    options: RunOptions,
    names: Mapping[str, str],
    columns: Sequence[FileColumn],
    condition: Condition | None = None,
) -> Skipping:
    """Return the rules by which a pass skips row groups.

    `names` maps the events' columns, except computed ones, to names in the files; `condition` is
    the data frame's filter.
    """
    by_name = {column.name: column for column in columns}
    kind = names[options.type]
    return Skipping(
        condition=condition,
        interests=interests_of(units, names, by_name[kind].type, kind),
        required=tuple(names[name] for name in units[0].required if name in names),
        time=names[options.time],
        type=kind,
        strict=not options.allow_rejects,
        columns=by_name,
    )


def judge_row_groups(
    skipping: Skipping,
    options: RunOptions,
    uri: str,
    metadata: pq.FileMetaData,
    schema: pa.Schema,
) -> list[RowGroupDecision]:
    """Return whether each row group of a file is read, and the span of its times."""
    time = skipping.columns[skipping.time]
    name = None if time.folder else in_file(time.name, schema, uri)
    spans: list[tuple[int, int] | None] = [None] * metadata.num_row_groups
    if name is not None:
        spans = ranges_of(metadata, schema.field(name), time, options)
    statistics = Statistics(uri, metadata, schema, skipping.columns)
    return [
        RowGroupDecision(not skipping.skips(statistics, number, usable=span is not None), span)
        for number, span in enumerate(spans)
    ]


def row_groups_of(
    plan: Plan, files: Sequence[str], options: RunOptions
) -> list[SelectedRowGroups] | None:
    """Return the selected row groups of local Parquet files, for each pass of a plan.

    They include the reason why events are not combined before the shuffle, if any, in a run on all
    cores of this machine.

    Returns None if tasks would not read the files: times or types are expressions or partition
    columns, or times are of a kind that Spark reads itself.
    """
    schema = pq.read_schema(files[0])
    types = {field.name: _as_spark(field.type) for field in schema}
    if options.uncertain is not None or not {options.time, options.type} <= types.keys():
        return None
    plan = specialize(plan, types, declared=True)
    looks = []
    for numbers in plan.passes:
        units = [plan.units[number] for number in numbers]
        names = needed(units, options)
        if not set(names) <= types.keys() or _reads_times(units, types):
            return None
        columns = [FileColumn(name, types[name]) for name in names]
        skipping = skipping_of(units, options, {name: name for name in names}, columns)
        try:
            selection = row_groups_in(files, columns, partial(judge_row_groups, skipping, options))
        except NotSimpleError:
            return None
        combine = combining(units, parts_of(selection.groups, cores()), options)
        why = combine if isinstance(combine, str) else ""
        looks.append(selection._replace(not_combined=why))
    return looks


def _reads_times(units: Sequence[Unit], types: Mapping[str, pa.DataType]) -> bool:
    """Return whether conditions read times: Spark reads the events then."""
    computed = {name for unit in units for name in unit.classes.attributes}
    return any(pa.types.is_temporal(types[name]) for name in computed)


def _as_spark(kind: pa.DataType) -> pa.DataType:
    """Return the type as which Spark reads a column of a file."""
    kind = plain_type(kind)
    if pa.types.is_timestamp(kind) and kind.unit != "ns":
        return pa.timestamp("us", kind.tz and "UTC")
    return pa.string() if pa.types.is_large_string(kind) else kind
