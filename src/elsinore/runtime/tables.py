"""Checks and conversions of every table of events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pyarrow as pa

from elsinore.errors import InputError
from elsinore.runtime.chunks import plain


def check_names(names: Iterable[str], where: str) -> None:
    """Raise InputError if two columns of the data described by `where` have the same name.

    >>> check_names(["time", "type", "time"], "'trips.csv'")
    Traceback (most recent call last):
        ...
    elsinore.errors.InputError: Two columns of 'trips.csv' are named 'time'. Rename one of them.
    """
    for name, count in Counter(names).items():
        if count > 1:
            many = "Two" if count == 2 else str(count)
            raise InputError(f"{many} columns of {where} are named '{name}'. Rename one of them.")


def plain_dictionaries(table: pa.Table) -> pa.Table:
    """Return `table` with dictionaries that contain null decoded.

    >>> null = pa.DictionaryArray.from_arrays([0, 1], ["x", None])
    >>> plain_dictionaries(pa.table({"s": null})).column("s").null_count
    1
    """
    for index, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type) and any(
            chunk.dictionary.null_count for chunk in column.chunks
        ):
            kind = column.type.value_type
            values = pa.chunked_array([plain(chunk) for chunk in column.chunks], kind)
            table = table.set_column(index, table.schema.field(index).with_type(kind), values)
    return table
