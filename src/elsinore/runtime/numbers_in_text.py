"""Columns of text that are mostly numbers: one invalid cell in a CSV file makes them text."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_scalar

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
WHOLE = r"^\s*[+-]?\d{1,18}\s*$"  # fits in 64 bits, whatever the digits are


def are_most(numbers: int, texts: int) -> bool:
    """Return whether a column of texts counts as numeric with so many numbers.

    >>> are_most(1, 2), are_most(1, 3), are_most(0, 0)
    (True, False, False)
    """
    return numbers > 0 and texts <= 2 * numbers


def numbers_in_text(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return texts as numbers, null for others, integers if possible; None if few are numbers.

    >>> numbers_in_text(pa.chunked_array([["1", "soon", " 3", None]])).to_pylist()
    [1, None, 3, None]
    >>> numbers_in_text(pa.chunked_array([["2024-01-31", "1"], ["2024-02-01"]]))
    """
    is_number = pc.match_substring_regex(texts, NUMBER)
    if not are_most(pc.sum(is_number).as_py() or 0, len(texts) - texts.null_count):
        return None
    plain = pc.replace_substring_regex(texts, r"^\s*\+|\s+", "")
    numbers = pc.if_else(is_number, plain, to_scalar(None, pa.string()))
    whole = pc.all(pc.match_substring_regex(numbers, WHOLE)).as_py()
    return numbers.cast(pa.int64() if whole else pa.float64())
