"""Evaluating SQL expressions over single events with DuckDB in tasks that read files.

Tasks use the translation of `elsinore.runtime.sql`, whose values equal Spark's. If an expression
cannot be translated, Spark reads the files and evaluates it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import SparkSession

from elsinore.arrow import no_table
from elsinore.errors import InputError, QuerySemanticError
from elsinore.model.computed import ComputedName
from elsinore.model.expression import Call, walk
from elsinore.spark.scan.conditions import NotSimpleError

if TYPE_CHECKING:
    from elsinore.runtime.sql.evaluation import Translation

UTC = frozenset({"UTC", "Etc/UTC", "GMT", "Z"})
_ANSI = "spark.sql.ansi.enabled"
_OTHER_RULES = ("spark.sql.legacy.", "spark.sql.parser.")  # settings that change SQL's semantics
_OF_FILES = "spark.sql.legacy.parquet."  # settings of Spark's reader, which tasks do not use


@dataclass(frozen=True, slots=True)
class ComputedColumn:
    """A computed column: its name in tasks, its translation, and its type on Spark."""

    name: str
    translation: Translation
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class ComputedColumns:
    """Columns that tasks compute from the columns that they read.

    `names` maps the columns that expressions read to their names in the files.
    """

    columns: tuple[ComputedColumn, ...]
    names: Mapping[str, str]

    def added_to(self, table: pa.Table) -> pa.Table:
        """Return a table with the computed columns appended."""
        if not self.columns:
            return table
        from elsinore.runtime.sql.evaluation import (  # noqa: PLC0415 - DuckDB, where needed
            evaluate_translations,
        )

        events = pa.table({name: table.column(stored) for name, stored in self.names.items()})
        translations = {column.name: column.translation for column in self.columns}
        values = evaluate_translations(translations, events)
        for column in self.columns:
            table = table.append_column(column.name, values[column.name].cast(column.type))
        return table

    def prepare(self) -> None:
        """Prepare the DuckDB connection of a task if there are expressions."""
        if self.columns:
            from elsinore.runtime.sql.database import use_one_core  # noqa: PLC0415 - where needed

            use_one_core()


NOTHING_COMPUTED = ComputedColumns((), {})


def computed_columns(
    computed: Iterable[ComputedName],
    types: Mapping[str, pa.DataType],
    names: Mapping[str, str],
    stored: pa.Schema,
    spark: SparkSession,
) -> ComputedColumns:
    """Return the columns that tasks compute for the computed names of a pass.

    `types` are their types on Spark; `names` and `stored` have the files' names and the types of
    the columns that they read, by the events' names.

    Raises NotSimpleError if Spark might compute another value, or a value of another type.
    """
    expressions = {str(name): name.expression for name in computed}
    if not expressions:
        return NOTHING_COMPUTED
    from elsinore.runtime.sql.evaluation import (  # noqa: PLC0415 - DuckDB, where needed
        evaluate_translations,
        translate_all,
    )

    _refuse_other_rules(spark)
    for name, expression in expressions.items():
        if any(isinstance(node, Call) and node.function is not None for node in walk(expression)):
            raise NotSimpleError(f"a function of Python computes {name}")
    try:
        translations = translate_all(expressions, stored)
        values = evaluate_translations(translations, no_table(stored))
    except (InputError, QuerySemanticError) as error:
        raise NotSimpleError(f"only Spark computes all of {', '.join(expressions)}") from error
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    for name, translation in translations.items():
        if translation.has_times and zone not in UTC:
            raise NotSimpleError(f"{name} is computed in the time zone {zone}")
        if not _is_same(values[name].type, types[name]):
            raise NotSimpleError(f"{name} is {types[name]} on Spark alone")
    return ComputedColumns(
        tuple(
            ComputedColumn(f"sql.{number}", translation, types[name])  # files have no dots in names
            for number, (name, translation) in enumerate(translations.items())
        ),
        {name: names[name] for name in stored.names},
    )


def _refuse_other_rules(spark: SparkSession) -> None:
    """Raise NotSimpleError if settings of the session change the semantics of SQL."""
    if spark.conf.get(_ANSI) != "true":
        raise NotSimpleError(f"{_ANSI} is false")
    for setting in sorted(spark.conf.getAll):
        if setting.startswith(_OTHER_RULES) and not setting.startswith(_OF_FILES):
            raise NotSimpleError(f"{setting} is set")


def _is_same(computed: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a computed type is Spark's, or is cast to it without changing values."""
    types = pa.types
    if types.is_timestamp(computed) and types.is_timestamp(target):
        return bool(computed.unit == target.unit)
    if types.is_signed_integer(computed) and types.is_signed_integer(target):
        return bool(computed.bit_width <= target.bit_width)
    return bool(computed == target)
