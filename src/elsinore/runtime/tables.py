"""Small rules that hold for every table of events, whichever way it came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import InputError
from elsinore.runtime.chunks import plain


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
    """Return `table` with views as strings and bytes, and runs of values as values.

    Few Arrow functions take views, in lists and dictionaries neither, or runs; nor do engines take
    dictionaries whose places have no sign.

    >>> views = pa.table({"s": pa.array(["x"], pa.string_view())})
    >>> print(plain_views(views).schema.field("s").type)
    large_string
    """
    for index, field in enumerate(table.schema):
        kind = plain_type(field.type)
        if kind != field.type:
            chunks = [_plain(chunk, kind) for chunk in table.column(index).chunks]
            column = pa.chunked_array(chunks, kind)
            table = table.set_column(index, field.with_type(kind), column)
    return table


def plain_dictionaries(table: pa.Table) -> pa.Table:
    """Return `table` with values in place of dictionaries that hold null, which is a null then.

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


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column without views, runs and places without a sign.

    >>> print(plain_type(pa.list_(pa.string_view())), plain_type(pa.int64()))
    list<item: large_string> int64
    """
    types = pa.types
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if types.is_dictionary(kind):
        places = kind.index_type
        places = pa.int64() if types.is_unsigned_integer(places) else places
        return pa.dictionary(places, plain_type(kind.value_type), kind.ordered)
    if types.is_list(kind):
        return pa.list_(kind.value_field.with_type(plain_type(kind.value_type)))
    if types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(plain_type(kind.value_type)))
    if types.is_struct(kind):
        return pa.struct([field.with_type(plain_type(field.type)) for field in kind])
    return kind


def _plain(chunk: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_run_end_encoded(chunk.type):
        return _plain(pc.run_end_decode(chunk), kind)
    if pa.types.is_dictionary(chunk.type):
        return pa.DictionaryArray.from_arrays(
            chunk.indices.cast(kind.index_type),
            _plain(chunk.dictionary, kind.value_type),
            ordered=kind.ordered,
        )
    return chunk.cast(kind)
