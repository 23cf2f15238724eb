"""Hashing texts, compiled."""

from __future__ import annotations

import cython

START = cython.declare(cython.ulonglong, 0xCBF29CE484222325)  # FNV-1a's constants
PRIME = cython.declare(cython.ulonglong, 0x100000001B3)
ALL_BITS = cython.declare(cython.ulonglong, 2**64 - 1)


def hash_texts(
    starts: cython.const_longlong[::1],
    text: cython.const_uchar[::1],
    words: cython.ulonglong[::1],
) -> None:
    """Put FNV-1a's number of text[starts[row] : starts[row + 1]] into words[row]."""
    row: cython.Py_ssize_t
    place: cython.Py_ssize_t
    word: cython.ulonglong
    with cython.nogil:
        for row in range(words.shape[0]):
            word = START
            for place in range(starts[row], starts[row + 1]):
                word ^= cython.cast(cython.ulonglong, text[place])
                word = (word * PRIME) & ALL_BITS
            words[row] = word
