"""Probabilities of events' possible times, from a column with a distribution for each event.

A cell has the probabilities from the first possible time to the last: a list of numbers, or a text
of numbers with commas, semicolons or blanks between. Without a cell, times are equally probable.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_arrow, to_numpy, to_scalar
from elsinore.errors import InputError, option
from elsinore.runtime.uncertain import SUM_TOLERANCE

NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
BETWEEN = r"\s*[,;\s]\s*"
NUMBERS = rf"^\s*{NUMBER}(?:{BETWEEN}{NUMBER})*\s*$"
LISTS = pa.list_(pa.float64())


def distributions(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return a column's distributions, scaled to a sum of 1, and which events have invalid ones.

    Invalid are lists of anything but probabilities, and those that do not add up to 1. Raises
    InputError for a column that is neither of lists of numbers nor of text.

    >>> lists, is_invalid = distributions(pa.array(["0.5, 0.5", None, "1 1"]))
    >>> lists.to_pylist(), is_invalid.to_pylist()
    ([[0.5, 0.5], None, None], [False, False, True])
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    lists = _lists(column)
    missing = to_numpy(column.is_null())
    lengths = to_numpy(pc.list_value_length(lists), 0).astype(np.int64)
    weights = to_numpy(lists.flatten(), float("nan"))
    list_of = np.repeat(np.arange(len(lengths)), lengths)
    good = (weights >= 0.0) & (weights <= 1.0)
    totals = np.bincount(list_of, weights=np.where(good, weights, np.nan), minlength=len(lengths))
    usable = np.abs(totals - 1.0) <= SUM_TOLERANCE  # NaN is not
    is_valid = usable[list_of]
    starts = np.concatenate([[0], np.cumsum(np.where(usable, lengths, 0))]).astype(np.int32)
    probabilities = (weights / totals[list_of])[is_valid]
    offsets = to_arrow(starts, mask=np.append(~usable, False))
    scaled_lists = pa.ListArray.from_arrays(offsets, to_arrow(probabilities))
    return scaled_lists.cast(LISTS), to_arrow(~usable & ~missing)


def _lists(column: pa.Array) -> pa.Array:
    """Return a column as lists of doubles; null for texts that are not lists of numbers."""
    kind = column.type
    if pa.types.is_null(kind):
        return pa.nulls(len(column), LISTS)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        fits = pc.fill_null(pc.match_substring_regex(column, NUMBERS), to_scalar(False))
        number_lists = pc.if_else(fits, pc.utf8_trim_whitespace(column), to_scalar(None, kind))
        return pc.split_pattern_regex(number_lists, BETWEEN).cast(LISTS)
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if (is_list or pa.types.is_fixed_size_list(kind)) and _are_numbers(kind.value_type):
        return column.cast(LISTS)
    raise InputError(
        f"{option('time_distribution')} names a column of {kind}: give it lists of probabilities, "
        "or text such as '0.25,0.5,0.25'."
    )


def _are_numbers(kind: pa.DataType) -> bool:
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return bool(is_number or pa.types.is_decimal(kind) or pa.types.is_null(kind))
