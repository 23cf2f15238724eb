"""Choosing the reader of a pass's events: tasks that read Parquet files with Arrow, or Spark."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from urllib.parse import urlsplit

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type

from elsinore.errors import InputError
from elsinore.model.computed import ComputedName, columns_of
from elsinore.operators import OperatorStatistics, kind_for
from elsinore.plan import Unit
from elsinore.plan.modes import Scan
from elsinore.runtime.columnar import TRAVELS, Layout, Packing
from elsinore.runtime.options import RunOptions
from elsinore.spark.column_types import is_sent
from elsinore.spark.scan.combined import combining
from elsinore.spark.scan.computed import ComputedColumns, computed_columns
from elsinore.spark.scan.conditions import NotSimpleError, as_arrow
from elsinore.spark.scan.files import FileColumn, RowGroup, SelectedRowGroups, row_groups_in
from elsinore.spark.scan.parts import parts_of
from elsinore.spark.scan.ranges import span_of
from elsinore.spark.scan.relation import Relation, relation_of
from elsinore.spark.scan.selection import judge_row_groups, needed, skipping_of
from elsinore.spark.scan.storage import Storage, storage_of
from elsinore.spark.scan.tasks import Opens, ScanAndPack
from elsinore.spark.shuffle import known_cores, partitions_for, rows_at_once
from elsinore.spark.spreading import spread
from elsinore.spark.statistics import PLANNING, StatisticsAccumulator, TypesSeen
from elsinore.spark.times import NANOSECONDS_KEY
from elsinore.spark.workers import shipped

EVENT_BYTES = 16  # approximate size in a file, to choose the number of partitions
_INT96_CONVERSION = "spark.sql.parquet.int96TimestampConversion"
_TIMES = (T.TimestampType, T.TimestampNTZType, T.DateType)
_WHOLE_AND_FLOATING = (T.IntegralType, T.DoubleType, T.FloatType)


class Scanned(NamedTuple):
    """Blobs of a pass's events, their number of partitions, and the tasks that read and combine."""

    blobs: DataFrame
    partitions: int
    task: ScanAndPack


def scanned(
    frame: DataFrame,
    units: tuple[Unit, ...],
    options: RunOptions,
    layout: Layout,
    statistics: Sequence[StatisticsAccumulator | None] = (),
    seen: TypesSeen | None = None,
    source: DataFrame | None = None,
) -> Scanned | str:
    """Return the blobs of a pass's events, read by tasks, or the reason why Spark must read them.

    `source` is the frame without computed columns; None if it has none. `statistics` of units
    receive the numbers of combined events, `seen` the types unless row groups are skipped.

    Spark reads the events if `options.scan` says so, or if it leaves the choice and tasks could not
    read the same. Raises InputError if tasks must read them but cannot, and for files that cannot
    be opened or whose columns have different types.
    """
    if options.scan is Scan.SPARK:
        return "as requested (scan: spark)"
    try:
        scan, selection = task_of(frame, units, options, layout, source)
    except NotSimpleError as reason:
        if options.scan is Scan.ARROW:
            raise InputError(
                f"The events cannot be read by the tasks themselves: {reason}. Let Spark read them "
                "(scan: spark or auto)."
            ) from None
        return str(reason)
    except InputError as error:
        if options.scan is Scan.ARROW or not isinstance(error.__cause__, OSError):
            raise
        why = str(error.__cause__).partition("\n")[0]
        warnings.warn(f"Spark reads the files: Arrow cannot open them ({why}).", stacklevel=2)
        return f"Arrow cannot open the files ({why})"
    if statistics and statistics[0] is not None:
        statistics[0].add({PLANNING: _selection_statistics(units[0], selection)})
    if statistics and scan.combine is not None:
        scan = replace(scan, statistics=statistics[scan.combine.number])
    if seen is not None and not selection.skipped:
        scan = replace(scan, types=seen.accumulated)
        seen.tasks = len(scan.splits)
    count = len(scan.splits)
    numbers = frame.sparkSession.range(0, count, 1, max(1, count))
    return Scanned(
        numbers.mapInArrow(shipped(scan), from_arrow_schema(TRAVELS)),
        scan.packing.partitions,
        scan,
    )


def _check_tasks(spark: SparkSession, file: str, storage: Storage) -> None:
    """Check once per object store that a task can open a file there; else raise InputError.

    Tasks on this machine need no check: the driver has opened the file.
    """
    place = urlsplit(file)
    if place.scheme in {"", "file"} or str(spark.sparkContext.master).startswith("local"):
        return
    storage_key = (spark.sparkContext.applicationId, place.scheme, place.netloc)
    if storage_key not in _opened:
        single_row = spark.range(0, 1, 1, 1)
        answers = single_row.mapInArrow(shipped(Opens(file, storage)), "reason string").collect()
        _opened[storage_key] = answers[0]["reason"] if answers else None
    reason = _opened[storage_key]
    if reason is not None:
        raise InputError(f"Tasks cannot open the files: {reason}") from OSError(reason)


_opened: dict[tuple[str, str, str], str | None] = {}  # error of a session's tasks, if any


def _selection_statistics(unit: Unit, selection: SelectedRowGroups) -> OperatorStatistics:
    """Return the numbers of all and of skipped row groups as a unit's statistics."""
    planning = kind_for(unit).statistics()
    planning.not_combined = selection.not_combined
    planning.row_groups = len(selection.groups) + selection.skipped
    planning.skipped_groups, planning.skipped_files = selection.skipped, selection.unopened
    return planning


def task_of(
    frame: DataFrame,
    units: tuple[Unit, ...],
    options: RunOptions,
    layout: Layout,
    source: DataFrame | None = None,
) -> tuple[ScanAndPack, SelectedRowGroups]:
    """Return the function by which tasks read and pack a pass's events, and the row groups.

    `source` is the frame without computed columns; None if it has none.

    Raises NotSimpleError if tasks could not read the same as Spark, and InputError for files that
    cannot be opened or whose columns have different types.
    """
    relation = relation_of(frame if source is None else source)
    if frame.sparkSession.conf.get(_INT96_CONVERSION, "false") == "true":
        raise NotSimpleError(f"{_INT96_CONVERSION} is set")
    types = {field.name: field.dataType for field in frame.schema.fields}
    attributes = needed(units, options)
    for name in dict.fromkeys(
        column_names for attribute in attributes for column_names in columns_of(attribute)
    ):
        if name in types and NANOSECONDS_KEY in frame.schema[name].metadata:
            raise NotSimpleError(f"'{name}' has nanoseconds")
    _refuse(units, options, types)
    computed_names = [name for name in attributes if isinstance(name, ComputedName)]
    names = _stored_names(attributes, relation)
    computed = _computed(computed_names, types, relation, frame.sparkSession)
    column_names = dict.fromkeys(
        [*names.values(), *computed.names.values(), *sorted(relation.condition_reads)]
    )
    columns = tuple(_file_column(name, relation) for name in column_names)
    keys = [name for name in (options.type, *units[0].key) if name in names]
    dictionary_columns = frozenset(names[n] for n in keys if isinstance(types[n], T.StringType))
    skipping = skipping_of(units, options, names, columns, relation.condition)
    files = [file for file in relation.files if not skipping.skips_file(file)]
    storage = storage_of(frame.sparkSession, files)
    selection = row_groups_in(files, columns, partial(judge_row_groups, skipping, options), storage)
    if files:
        _check_tasks(frame.sparkSession, files[0], storage)
    selection = selection._replace(unopened=len(relation.files) - len(files))
    groups = selection.groups
    spark = frame.sparkSession
    rows = sum(group.rows for group in groups)
    parts = parts_of(groups, known_cores(spark))
    combine_or_why = combining(units, parts, options)
    combine = None
    if isinstance(combine_or_why, str):
        selection = selection._replace(not_combined=combine_or_why)
        partitions, stretches = spread(
            frame, units, options, layout, size=rows * EVENT_BYTES, span=_span(groups)
        )
    else:
        combine = combine_or_why
        partitions = partitions_for(frame, rows * EVENT_BYTES) if len(layout.keys) else 1
        stretches = None
    scan = ScanAndPack(
        splits=parts,
        columns=columns,
        names=names
        | {
            str(name): column.name
            for name, column in zip(computed_names, computed.columns, strict=True)
        },
        computed=computed,
        dictionary_columns=dictionary_columns - set(relation.folders),
        condition=None if relation.condition is None else as_arrow(relation.condition),
        units=units,
        options=options,
        storage=storage,
        packing=Packing(
            layout=layout,
            partitions=partitions,
            stretches=stretches,
            rows_per_task=rows_at_once(spark),
        ),
        combine=combine,
    )
    return scan, selection


def _span(groups: Sequence[RowGroup]) -> tuple[int, int] | None:
    """Return the first and the last time of all row groups; None if some are unknown."""
    if not groups or any(group.span is None for group in groups):
        return None
    return span_of(groups)


def _refuse(units: Sequence[Unit], options: RunOptions, types: dict[str, T.DataType]) -> None:
    """Raise NotSimpleError if Arrow might read a time, a type or a condition unlike Spark."""
    for role, text in (("time", options.time), ("type", options.type)):
        if text not in types:
            raise NotSimpleError(f"its {role} is an expression")
    for text in options.order_by:
        if text not in types:
            raise NotSimpleError("its order is an expression")
    time, kind = types[options.time], types[options.type]
    if not isinstance(time, (*_TIMES, *_WHOLE_AND_FLOATING)):
        raise NotSimpleError(f"its time is {time.simpleString()}")
    if not isinstance(kind, (T.StringType, T.IntegralType)) and any(unit.types for unit in units):
        raise NotSimpleError(f"its type is {kind.simpleString()}")
    for unit in units:
        computed = set(unit.classes.attributes)
        for column in unit.columns:
            if not isinstance(column.source, str):
                computed |= set(column.attributes)
        for name in sorted(computed):
            if isinstance(types[name], _TIMES):  # compared text would depend on the time zone
                raise NotSimpleError(f"a condition reads the time '{name}'")


def _stored_names(attributes: Sequence[str], relation: Relation) -> dict[str, str]:
    """Return the files' names of attributes that are not computed."""
    names = {}
    for name in attributes:
        if isinstance(name, ComputedName):
            continue
        if name not in relation.columns:
            raise NotSimpleError(f"'{name}' is a field of a struct, or computed")
        names[name] = relation.columns[name]
    return names


def _computed(
    names: Sequence[ComputedName],
    types: Mapping[str, T.DataType],
    relation: Relation,
    spark: SparkSession,
) -> ComputedColumns:
    """Return the columns that tasks compute; raise NotSimpleError if only Spark can."""
    attributes = dict.fromkeys(read for name in names for read in columns_of(name))
    read = _stored_names(list(attributes), relation)
    stored = [(name, _file_column(column, relation).type) for name, column in read.items()]
    for name, column in read.items():
        kind = relation.types[column]
        if isinstance(kind, T.StringType) and kind != T.StringType():
            raise NotSimpleError(f"'{name}' is of type {kind.simpleString()}")
    arrow_types = {str(name): _arrow_type(name, types[name]) for name in names}
    return computed_columns(names, arrow_types, read, pa.schema(stored), spark)


def _file_column(name: str, relation: Relation) -> FileColumn:
    kind = _arrow_type(name, relation.types[name])
    return FileColumn(name, kind, name in relation.folders)


def _arrow_type(name: str, kind: T.DataType) -> pa.DataType:
    """Return the type that a column has in tasks."""
    if not is_sent(kind):
        raise NotSimpleError(f"'{name}' is of type {kind.simpleString()}")
    arrow_type: pa.DataType = to_arrow_type(kind, timezone="UTC")
    if pa.types.is_nested(arrow_type):
        raise NotSimpleError(f"'{name}' is nested")
    return arrow_type
