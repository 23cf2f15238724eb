"""Guessing types of CSV columns again without unusable rows.

The counterpart of `elsinore.runtime.guessed`, for files that were passed to Spark.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from elsinore.errors import InputError
from elsinore.model.spark_sql import quoted
from elsinore.runtime.numbers_in_text import NUMBER
from elsinore.runtime.options import RunOptions
from elsinore.spark.events import Events, unusable_report

MISFIT_KEY = "elsinore.misfit"  # there too: the error if it is text in only some of the files
GUESSED_KEY = "elsinore.guessed"  # in the metadata of a column that was guessed as text
_MINUTES = r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?"
_TYPES = {  # Spark's types, narrowest first, with a pattern that all texts of the type match
    "bigint": r"^[+-]?\d{1,18}$",
    "double": NUMBER,
    "boolean": "^(true|false|True|False|TRUE|FALSE)$",
    "date": r"^\d{4}-\d{2}-\d{2}$",
    "timestamp_ntz": f"{_MINUTES}$",
    "timestamp": rf"{_MINUTES}(Z|[+-]\d{{2}}(:?\d{{2}})?)$",
}


def mark_guessed(frame: DataFrame, names: list[str], misfits: Mapping[str, str]) -> DataFrame:
    """Mark columns of a data frame, by metadata, whose type text was guessed from values.

    `misfits` has the columns that are text in only some of several files, each with the error to
    raise if they remain text.
    """
    for name in names:
        misfit = {MISFIT_KEY: misfits[name]} if name in misfits else {}
        frame = frame.withMetadata(name, {GUESSED_KEY: True} | misfit)
    return frame


def _refuse_misfits(frame: DataFrame) -> None:
    """Raise InputError if a column is text in only some of several files."""
    for field in frame.schema.fields:
        if isinstance(field.dataType, T.StringType) and MISFIT_KEY in field.metadata:
            raise InputError(field.metadata[MISFIT_KEY])


def guess_again(frame: DataFrame, options: RunOptions) -> tuple[DataFrame, InputError | None]:
    """Guess types of columns without unusable rows; return the events and the error for such rows.

    One job examines the guessed columns, if there are any. Unusable rows get null for texts of
    another type. The error is None if unusable rows are allowed; callers raise it after errors of
    the query, which may concern a column that is text because of usable rows. Raise InputError for
    columns that are text in only some of several files even without unusable rows.
    """
    names = [field.name for field in frame.schema.fields if GUESSED_KEY in field.metadata]
    if not names:
        return frame, None
    # Usability becomes a column first: an aggregate may not contain `null_if_failing` expressions.
    texts = [F.col(quoted(name)).alias(f"text{place}") for place, name in enumerate(names)]
    rows = frame.select(Events(frame, options).reason.isNull().alias("usable"), *texts)
    usable = F.col("usable")
    columns = [F.col(f"text{place}") for place in range(len(names))]
    counts = rows.select(
        F.count_if(~usable),
        *(F.count_if(usable & ~text.rlike(form)) for text in columns for form in _TYPES.values()),
        *(F.count_if(usable & text.isNotNull()) for text in columns),
    ).collect()[0]
    unusable, misfits, values = counts[0], counts[1 : -len(names)], counts[-len(names) :]
    if not unusable:
        _refuse_misfits(frame)
        return frame, None
    report = None if options.allow_rejects else unusable_report(frame, options)
    for place, name in enumerate(names):
        name_misfits = misfits[place * len(_TYPES) : (place + 1) * len(_TYPES)]
        kind = next((kind for kind, odd in zip(_TYPES, name_misfits, strict=True) if not odd), None)
        if kind is not None and values[place]:
            frame = frame.withColumn(name, F.trim(F.col(quoted(name))).try_cast(kind))
    _refuse_misfits(frame)
    return frame, None if report is None else InputError(report)
