"""Casts of SQL in process: a value that cannot be cast is null, and its row is reported."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_numpy, to_scalar
from elsinore.runtime.chunks import plain
from elsinore.runtime.iso8601 import parse_iso8601

Failed = NDArray[np.bool_]
MICROSECONDS = 1_000_000
_INTEGER = r"^\s*[+-]?\d+\s*$"
_NUMBER = r"^\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|(?i:inf|infinity)|(?i:nan))\s*$"
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")


def cast(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Failed]:
    """Return a column cast as Spark's ANSI mode does, null where that fails, and where it fails.

    Raise ArrowNotImplementedError or ArrowInvalid for types between which there is no cast.

    >>> values, failed = cast(pa.array(["7", "N/A", None]), pa.int64())
    >>> values.to_pylist(), failed.tolist()
    ([7, None, None], [False, True, False])
    """
    column, types = plain(column), pa.types
    if types.is_string(column.type) or types.is_large_string(column.type):
        values = _of_text(column.cast(pa.string()), kind)
    elif types.is_timestamp(kind) and (
        types.is_integer(column.type) or types.is_floating(column.type)
    ):
        seconds = column.cast(pa.float64()) if types.is_floating(column.type) else column
        values = _by_halves(
            lambda part: pc.multiply_checked(part, to_scalar(MICROSECONDS)).cast(
                pa.int64(), safe=False
            ),
            [seconds if types.is_floating(column.type) else column.cast(pa.int64())],
        ).cast(kind)
    elif types.is_integer(kind) and types.is_floating(column.type):
        whole = pc.trunc(column.cast(pa.float64()))
        bound = 2.0 ** (kind.bit_width - 1)
        fits = pc.and_(pc.greater_equal(whole, -bound), pc.less(whole, bound))
        values = pc.if_else(fits, whole, to_scalar(None, pa.float64())).cast(kind)
    elif types.is_integer(kind) and types.is_integer(column.type):
        values = _by_halves(lambda part: part.cast(kind), [column])
    else:
        values = column.cast(kind, safe=False)
    return values, lost(column, values)


def lost(column: pa.Array, values: pa.Array) -> Failed:
    """Return where a value became null."""
    failed: Failed = to_numpy(values.is_null()) & to_numpy(column.is_valid())
    return failed


def computed(
    function: Callable[..., pa.Array], arguments: list[pa.Array]
) -> tuple[pa.Array, Failed]:
    """Return what a function of columns gives, null where it overflows, and where that is."""
    values = _by_halves(function, arguments)
    known = np.ones(len(values), dtype=np.bool_)
    for argument in arguments:
        known &= to_numpy(argument.is_valid())
    return values, known & to_numpy(values.is_null())


def _by_halves(function: Callable[..., pa.Array], arguments: list[pa.Array]) -> pa.Array:
    """Return what a function of columns gives, null for the rows that it raises ArrowInvalid for.

    Few rows do; these are found by halving the columns.
    """
    try:
        return function(*arguments)
    except pa.ArrowInvalid:
        size = len(arguments[0])
        if size < 2:
            return pa.nulls(size, function(*(part.slice(0, 0) for part in arguments)).type)
    halves = [(0, size // 2), (size // 2, size - size // 2)]
    return pa.concat_arrays(
        [_by_halves(function, [part.slice(*half) for part in arguments]) for half in halves]
    )


def _of_text(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return texts cast to a type, each different text once."""
    if pa.types.is_string(kind):
        return texts
    encoded = texts.dictionary_encode()
    return _of_distinct(encoded.dictionary, kind).take(encoded.indices)


def _of_distinct(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    types = pa.types
    trimmed = pc.utf8_trim_whitespace(texts)
    if types.is_timestamp(kind):
        return parse_iso8601(trimmed)[0].cast(kind)
    if types.is_date(kind):
        return parse_iso8601(trimmed)[0].cast(pa.timestamp("us")).cast(pa.date32(), safe=False)
    if types.is_boolean(kind):
        lower = pc.utf8_lower(trimmed)
        true = pc.is_in(lower, value_set=pa.array(_TRUE))
        known = pc.or_(true, pc.is_in(lower, value_set=pa.array(_FALSE)))
        return pc.if_else(known, true, to_scalar(None, pa.bool_()))
    form = _INTEGER if types.is_integer(kind) else _NUMBER
    fits = pc.match_substring_regex(texts, form)
    digits = pc.utf8_ltrim(trimmed, "+")
    return _by_halves(
        lambda part: part.cast(kind), [pc.if_else(fits, digits, to_scalar(None, pa.string()))]
    )
