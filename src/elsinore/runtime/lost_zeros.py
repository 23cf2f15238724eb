"""Columns of CSV that are whole numbers, and lost zeros that their values began with.

`007` and `7` are one number and may be two names, of riders or of towns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_scalar
from elsinore.errors import option

BEGINS = r"^\s*[+-]?0\d"  # a cell that loses zeros as a whole number
STRETCH = 2**24  # bytes that are looked through at once


def begins_with_zero(content: pa.Buffer | bytes, delimiter: str) -> bool:
    r"""Return whether a cell, quoted or not, may begin with a zero and another digit.

    >>> begins_with_zero(b"a,b\n10,0\n", ","), begins_with_zero(b"a\n07\n", ",")
    (False, True)
    """
    read = np.frombuffer(content, dtype=np.uint8)
    before, digit = np.zeros((2, 256), dtype=np.bool_)
    before[list(delimiter.encode() + b'\r\n"')] = True
    digit[list(b"0123456789")] = True
    for begin in range(0, len(read), STRETCH):
        part = read[begin : begin + STRETCH + 2]
        zeros = np.flatnonzero(part[1:-1] == ord("0"))
        zeros = zeros[before[part[zeros]]]
        if digit[part[zeros + 2]].any():
            return True
    return False


def lost_zeros(
    content: pa.Buffer, delimiter: str, table: pa.Table, texts: Callable[[list[str]], pa.Table]
) -> Iterator[str]:
    """Yield a sentence for each column of `table`, which is what `content` holds, that lost zeros.

    `texts` reads some columns as text; it is called where a cell may begin with a zero.
    """
    numbers = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    if not numbers or not begins_with_zero(content, delimiter):
        return
    cells = texts(numbers)
    for name in numbers:
        column = cells.column(name)
        row = pc.index(pc.match_substring_regex(column, BEGINS), to_scalar(True)).as_py()
        if row >= 0:
            yield (
                f"Column '{name}' is read as whole numbers, and row {row + 1:,} holds "
                f"{column[row].as_py()!r}: its zeros are lost. If these are names, not numbers: "
                f"{option('text', name)}."
            )
