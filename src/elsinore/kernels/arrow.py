# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Columns of an Arrow batch, read by kernels where they lie.

To make an array of each column takes Python longer than a kernel takes for some hundred events. A
batch lends all of its columns at once, by Arrow's C data interface: a struct of words whose address
is a number like any other.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.kernels.decorator import kernel
from elsinore.kernels.foreign import call_at

# words of an `ArrowArray`: how many rows, the first of them, where the addresses are of what there
# is in memory (of a column: which values are there, 0 where all are, and the values), and where
# those of its columns are
LENGTH, OFFSET, BUFFERS, CHILDREN, WORDS = 0, 2, 5, 6, 7
VALIDITY, VALUES = 0, 1
_RELEASE, _ALL_WORDS = 8, 10  # what lets go of it, by its address; 0: there is nothing to let go of

_releasing = cache(ctypes.PYFUNCTYPE(None, ctypes.c_void_p))  # by its address, always the same


class Lender:
    """Lends kernels a batch by its address, one at a time.

    Without its schema, which takes Arrow longer than all else.

    >>> lender = Lender()
    >>> address = lender.lend(pa.record_batch({"number": [5, 7]}))
    >>> array_at(address, WORDS, np.int64)[LENGTH]
    np.int64(2)
    >>> lender.take_back()
    """

    __slots__ = ("_address", "_words")

    def __init__(self) -> None:
        self._words = (ctypes.c_int64 * _ALL_WORDS)()
        self._address = ctypes.addressof(self._words)

    def lend(self, batch: pa.RecordBatch) -> int:
        """Return the address of a batch, good until it is taken back, which it must be."""
        batch._export_to_c(self._address)
        return self._address

    def take_back(self) -> None:
        """Let go of the batch that is lent, if any."""
        release = self._words[_RELEASE]
        if release:
            _releasing(release)(self._address)


def array_at(address: int, length: int, kind: type[np.generic]) -> NDArray[Any]:
    """Return the numbers at an address as an array, for as long as they are there.

    Nobody may write to those that Arrow lends.

    >>> numbers = np.array([5, 7])
    >>> array_at(numbers.ctypes.data, 2, np.int64).tolist()
    [5, 7]
    """
    dtype: np.dtype[Any] = np.dtype(kind)
    memory = (ctypes.c_char * (int(length) * dtype.itemsize)).from_address(int(address))
    return np.frombuffer(memory, dtype=dtype)  # type: ignore[call-overload]


@kernel(borrows=True, linked=True)
def let_go(batch: int) -> None:
    """Let go of the batch at an address, so that `Lender.take_back` need not."""
    call_at(array_at(batch, _ALL_WORDS, np.int64)[_RELEASE], batch)


@kernel(borrows=True, inline=True)
def column_of(batch: int, place: int, kind: type[np.generic]) -> NDArray[Any]:
    """Return a column of the batch at an address, of numbers of a kind; any, where one is null."""
    values, first, after = _buffer_of(batch, place, VALUES)
    return array_at(values, after, kind)[first:]


@kernel(borrows=True, inline=True)
def validity_of(batch: int, place: int) -> tuple[NDArray[np.uint8], int]:
    """Return the bits that tell which of a column's values are there, and which is the first's.

    Without bits all are: `is_there` reads them.
    """
    bits, first, after = _buffer_of(batch, place, VALIDITY)
    return array_at(bits, 0 if bits == 0 else (after + 7) >> 3, np.uint8), first


@kernel(borrows=True, linked=True)
def is_there(bits: NDArray[np.uint8], bit: int) -> bool:
    """Return whether a value is no null, by its bit of what `validity_of` returns."""
    return len(bits) == 0 or (bits[bit >> 3] >> (bit & 7)) & 1 != 0


@kernel(borrows=True, linked=True)
def _buffer_of(batch: int, place: int, buffer: int) -> tuple[int, int, int]:
    """Return the address of a column's buffer, the batch's first value in it, the one behind."""
    rows = array_at(batch, WORDS, np.int64)
    column = array_at(array_at(rows[CHILDREN], place + 1, np.int64)[place], WORDS, np.int64)
    first = rows[OFFSET] + column[OFFSET]
    return array_at(column[BUFFERS], VALUES + 1, np.int64)[buffer], first, first + rows[LENGTH]
