"""Compiled ranks of doubles: their bits converted to integers in the same order."""

from __future__ import annotations

import cython

MAGNITUDE = cython.declare(cython.longlong, 2**63 - 1)  # the bits of a double except its sign ...
INFINITE = cython.declare(cython.longlong, 0x7FF0000000000000)  # ... which exceed these in NaN
MINUS_ZERO = cython.declare(cython.longlong, -1)  # the rank of -0.0


def rank_bits(
    bits: cython.const_longlong[::1],
    ranks: cython.longlong[::1],
    known: cython.uchar[::1],
    minus_zero: cython.longlong,
) -> cython.Py_ssize_t:
    """Write the ranks of doubles, 0 for NaN, and which are numbers; return the number of NaNs.

    bits: of the doubles. minus_zero: the rank of -0.0.
    """
    missing: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t
    rank: cython.longlong
    exists: cython.longlong
    with cython.nogil:
        for row in range(bits.shape[0]):
            exists = (bits[row] & MAGNITUDE) <= INFINITE
            rank = bits[row] ^ ((bits[row] >> 63) & MAGNITUDE)
            rank = minus_zero if rank == MINUS_ZERO else rank
            known[row] = exists
            ranks[row] = rank * exists
            missing += 1 - exists
    return missing
