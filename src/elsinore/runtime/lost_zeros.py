"""Warnings for columns of CSV that were read as integers and lost leading zeros.

`007` and `7` are the same number but may be different names, such as of riders or towns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_scalar
from elsinore.errors import option

BEGINS = r"^\s*[+-]?0\d"  # a cell that loses zeros if read as an integer


def begins_with_zero(content: bytes, delimiter: str) -> bool:
    r"""Return whether a cell, quoted or not, may begin with a zero and another digit.

    >>> begins_with_zero(b"a,b\n10,0\n", ","), begins_with_zero(b"a\n07\n", ",")
    (False, True)
    """
    data = np.frombuffer(content, dtype=np.uint8)
    before, digit = np.zeros((2, 256), dtype=np.bool_)
    before[list(delimiter.encode() + b'\r\n"')] = True
    digit[list(b"0123456789")] = True
    zeros = np.flatnonzero(data[1:-1] == ord("0"))
    zeros = zeros[before[data[zeros]]]
    return bool(digit[data[zeros + 2]].any())


def lost_zeros(table: pa.Table, texts: Callable[[list[str]], pa.Table]) -> Iterator[str]:
    """Yield a warning for each integer column of `table` that lost leading zeros.

    `texts` reads some columns as text.
    """
    numbers = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    if not numbers:
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
