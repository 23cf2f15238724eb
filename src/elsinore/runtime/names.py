# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Finding each of many texts among a few names, compiled.

A text is told by its length, its first eight bytes and its last eight, as whole words; only of one
longer than both are bytes compared. So what a short text costs does not depend on which it is.
Short texts are compared with each of a few names, block by block, in vector instructions; others
are hashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_arrow
from elsinore.kernels import enter, kernel
from elsinore.kernels.sorting import read_only
from elsinore.runtime.numbering import Codes, Numbering

Words = NDArray[np.uint64]
Values = NDArray[Any]  # whole numbers, at least as great as -1
WORD = np.uint64(8)  # bytes
TOLD = 3  # of a name: its first bytes, its last ones, its length
NO_LENGTH = np.uint64(2**64 - 1)
FEW_NAMES = 8  # each of which takes less time than a text's hash
BLOCK = 2**10  # texts that are compared with a name at once
_ONE, _TWICE, _THREE, _BITS = np.uint64(1), np.uint64(16), np.uint64(3), np.uint64(63)


def text_numbers(texts: pa.Array, names: Sequence[str]) -> Numbering:
    """Return the place of each text in `names`, -1 where it is not among them; a null is any text.

    >>> text_numbers(pa.array(["B", "A", "a name of many letters"]), ["A", "B"]).whole().tolist()
    [1, 0, -1]
    """
    width = "int64" if pa.types.is_large_string(texts.type) else "int32"
    starts, letters = _bytes_of(texts, width)
    name_starts, name_letters = _bytes_of(to_arrow(names, texts.type), width)
    words = letters[: len(letters) // 8 * 8].view(np.uint64)
    if not words.flags.aligned:
        words = words.copy()
    words.flags.writeable = False

    places = np.append(np.arange(len(names), dtype=np.int32), np.int32(-1))

    def look_up(begin: int, end: int, table: Values) -> Values:
        numbers = np.empty(end - begin, dtype=table.dtype)
        known = np.full((len(names) + 1) * TOLD, NO_LENGTH)
        hashed = np.full(_places(len(names)), len(names), dtype=np.int32)
        size = int(starts[end]) - int(starts[begin])
        seconds = 1e-5 * (end - begin + len(name_starts)) + 2e-6 * (size + len(name_letters))
        enter(
            name_numbers,
            seconds,
            starts[begin : end + 1],
            letters,
            words,
            name_starts,
            name_letters,
            known,
            hashed,
            np.empty((3, BLOCK), dtype=np.uint64),
            read_only(table),
            numbers,
        )
        return numbers

    def find(begin: int, end: int) -> Codes:
        return look_up(begin, end, places)

    return Numbering(len(texts), len(names), find, look_up)


def _places(names: int) -> int:
    """Return how many places a table of names has: so many that few other texts find one taken."""
    return max(2**8, 4 << names.bit_length())


def _bytes_of(column: pa.Array, width: str) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Return where each text begins in the bytes, and the bytes; no copies."""
    _, starts, text = column.buffers()
    offsets = np.frombuffer(starts, dtype=width)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(text, dtype=np.uint8) if text else np.frombuffer(b"", dtype=np.uint8)
    return offsets, data


@kernel
def name_numbers(
    starts: NDArray[np.int32],
    text: NDArray[np.uint8],
    words: Words,
    name_starts: NDArray[np.int32],
    names: NDArray[np.uint8],
    known: Words,
    table: NDArray[np.int32],
    block: NDArray[np.uint64],
    values: Values,
    out: Values,
) -> None:
    """Find each text among a few names: out[row] = values[its place], the last where it is none.

    Text r is text[starts[r] : starts[r + 1]], name n likewise; `words` are the bytes of `text`,
    eight by eight, but for the last. Names are found by hashing: `table` is full of their number,
    its length a power of two and more than they are, and `known` of NO_LENGTH. block: three rows
    of BLOCK words to work with.
    """
    mask, none = np.uint64(len(table) - 1), len(name_starts) - 1
    for name in range(none):
        begin, end = np.uint64(name_starts[name]), np.uint64(name_starts[name + 1])
        first, last = _ends(names, begin, end)
        place = _mixed(first, last, end - begin) & mask
        while table[place] != none:
            place = (place + _ONE) & mask
        table[place] = name
        known[TOLD * name] = first
        known[TOLD * name + 1] = last
        known[TOLD * name + 2] = end - begin
    for row in range(0, len(out), BLOCK):
        after = min(row + BLOCK, len(out))
        whole = starts[after] < 8 * (len(words) - 1)  # the block's texts can be read by words
        some, found = starts[row : after + 1], out[row:after]
        few = none <= FEW_NAMES and whole
        if not few or not _compare(some, words, known, none, block, values, found):
            _hash(some, text, words, name_starts, names, known, table, values, found)


@kernel
def _compare(
    starts: NDArray[np.int32],
    words: Words,
    known: Words,
    names: int,
    block: NDArray[np.uint64],
    values: Values,
    out: Values,
) -> bool:
    """Compare texts, all read by words, with each name; return False where one is long."""
    firsts, sizes, numbers = block[0], block[1], block[2].view(np.int64)
    if _read(starts, words, firsts, sizes, len(out)) > WORD:
        return False
    numbers[:] = values[names]
    for name in range(names):
        first, size = known[TOLD * name], known[TOLD * name + 2]
        _mark(firsts, sizes, first, size, np.int64(values[name]), numbers, len(out))
    for row in range(len(out)):
        out[row] = numbers[row]
    return True


@kernel
def _read(starts: NDArray[np.int32], words: Words, firsts: Words, sizes: Words, count: int) -> int:
    """Read the first word of so many texts, and their sizes; return the longest."""
    for row in range(count):
        firsts[row] = _word(words, np.uint64(starts[row]))
    longest = np.uint64(0)
    for row in range(count):
        size = np.uint64(starts[row + 1] - starts[row])
        firsts[row] &= _letters(size)
        sizes[row] = size
        longest = max(longest, size)
    return longest


@kernel
def _mark(
    firsts: Words, sizes: Words, first: int, size: int, value: int, numbers: Values, count: int
) -> None:
    """Put the value of a name where so many texts are it."""
    for row in range(count):
        differs = (firsts[row] ^ first) | (sizes[row] ^ size)
        numbers[row] = value if differs == np.uint64(0) else numbers[row]


@kernel(linked=True)
def _hash(
    starts: NDArray[np.int32],
    text: NDArray[np.uint8],
    words: Words,
    name_starts: NDArray[np.int32],
    names: NDArray[np.uint8],
    known: Words,
    table: NDArray[np.int32],
    values: Values,
    out: Values,
) -> None:
    """Look texts up in the table of names."""
    mask, none = np.uint64(len(table) - 1), len(name_starts) - 1
    whole = np.uint64(8 * max(len(words) - 1, 0))  # texts that end before can be read by words
    for row in range(len(out)):
        begin, end = np.uint64(starts[row]), np.uint64(starts[row + 1])
        size = end - begin
        if end < whole:
            first = _word(words, begin) & _letters(size)
            last = np.uint64(0)
            if size > WORD:
                last = _word(words, end - WORD)
        else:
            first, last = _ends(text, begin, end)
        place = _mixed(first, last, size) & mask
        while True:
            name = np.uint64(table[place])
            told = np.uint64(TOLD) * name
            same = known[told] == first
            same &= known[told + _ONE] == last
            same &= known[told + _ONE + _ONE] == size
            if size > _TWICE and same:
                same = _equal(text, begin, names, np.uint64(name_starts[name]), size)
            if same | (name == np.uint64(none)):
                break
            place = (place + _ONE) & mask
        out[row] = values[name if same else np.uint64(none)]


@kernel(inline=True)
def _letters(size: int) -> int:
    """Return ones for the bytes of a text's first word that are its own."""
    four = np.uint64(4) * np.uint64(min(size, WORD))
    return ((_ONE << four) << four) - _ONE


@kernel(inline=True)
def _word(words: Words, begin: int) -> int:
    """Return eight bytes, from byte `begin` on, that are not in the last word."""
    place, shift = begin >> _THREE, (begin & np.uint64(7)) << _THREE
    return (words[place] >> shift) | ((words[place + _ONE] << (_BITS - shift)) << _ONE)


@kernel
def _ends(text: NDArray[np.uint8], begin: int, end: int) -> tuple[int, int]:
    """Return the first eight bytes of a text, or all, and its last eight if it has more."""
    first = last = np.uint64(0)
    if end - begin > WORD:
        for byte in range(8):
            last |= np.uint64(text[end - WORD + np.uint64(byte)]) << np.uint64(8 * byte)
    for byte in range(8):
        if np.uint64(byte) < end - begin:
            first |= np.uint64(text[begin + np.uint64(byte)]) << np.uint64(8 * byte)
    return first, last


@kernel(inline=True)
def _mixed(first: int, last: int, size: int) -> int:
    """Mix what a text is told by into one number (multiplicative hashing with odd constants)."""
    mixed = (first ^ (last * np.uint64(0xC2B2AE3D27D4EB4F))) + size
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    return mixed >> np.uint64(40)


@kernel
def _equal(
    text: NDArray[np.uint8], begin: int, names: NDArray[np.uint8], name: int, size: int
) -> bool:
    """Return whether so many bytes are the same."""
    for byte in range(size):
        if text[begin + np.uint64(byte)] != names[name + np.uint64(byte)]:
            return False
    return True
