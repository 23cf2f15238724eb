"""Small rules that hold for every table of events, whichever way it came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pyarrow as pa

from elsinore.errors import InputError


def check_names(names: Iterable[str], where: str) -> None:
    """Raise InputError if two columns of the data called `where` bear one name.

    >>> check_names(["time", "type", "time"], "'trips.csv'")
    Traceback (most recent call last):
        ...
    elsinore.errors.InputError: Two columns of 'trips.csv' are named 'time'. Rename one of them.
    """
    for name, count in Counter(names).items():
        if count > 1:
            many = "Two" if count == 2 else str(count)
            raise InputError(f"{many} columns of {where} are named '{name}'. Rename one of them.")


def plain_views(table: pa.Table) -> pa.Table:
    """Return `table` with string views as strings; few Arrow functions take views."""
    for index, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):
            column = table.column(index).cast(pa.large_string())
            table = table.set_column(index, field.with_type(pa.large_string()), column)
    return table
