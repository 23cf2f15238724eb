"""Looking up many texts in a short list of names (compiled).

A text is identified by its length, its first eight bytes and its last eight, as whole words; only
texts longer than both are compared byte by byte. So the cost of a short text does not depend on
which text it is. The *key* of a text of up to eight bytes is a single word: its bytes, and in the
last of them its length if that is less than eight. Keys are compared with those of a few names,
block by block, so that the compiler makes vector instructions of it; other texts are hashed.
"""

from __future__ import annotations

import cython

FEW_NAMES = cython.declare(cython.int, 8)  # up to so many, comparing with all is fastest
NO_KEY = cython.declare(cython.ulonglong, 1)  # an impossible key: length 0 with a nonzero byte
ALL_BITS = cython.declare(cython.ulonglong, 2**64 - 1)
LAST_FACTOR = cython.declare(cython.ulonglong, 0xC2B2AE3D27D4EB4F)  # odd constants of the hash
FACTOR = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)


def index_names(
    starts: cython.const_longlong[::1],
    text: cython.const_uchar[::1],
    known: cython.ulonglong[:, ::1],
    table: cython.int[::1],
) -> None:
    """Enter names into a hash table, for `find_names`.

    Name n is text[starts[n] : starts[n + 1]]. table: full of the number of names, its length a
    power of two that is greater; known: [name] -> first bytes, last bytes, length and key.
    """
    mask: cython.ulonglong = table.shape[0] - 1
    names: cython.int = starts.shape[0] - 1
    name: cython.int
    with cython.nogil:
        for name in range(names):
            begin: cython.ulonglong = cython.cast(cython.ulonglong, starts[name])
            end: cython.ulonglong = cython.cast(cython.ulonglong, starts[name + 1])
            first: cython.ulonglong = _first_bytes(text, begin, end)
            last: cython.ulonglong = _last_bytes(text, begin, end)
            known[name, 0], known[name, 1] = first, last
            known[name, 2], known[name, 3] = end - begin, _key(first, end - begin)
            place: cython.ulonglong = _hash(first, last, end - begin) & mask
            while table[place] != names:
                place = (place + 1) & mask
            table[place] = name


def find_names(
    starts: cython.const_longlong[::1],
    text: cython.const_uchar[::1],
    words: cython.const_ulonglong[::1],
    name_starts: cython.const_longlong[::1],
    names: cython.const_uchar[::1],
    known: cython.const_ulonglong[:, ::1],
    table: cython.const_int[::1],
    block: cython.ulonglong[:, ::1],
    codes: cython.int[::1],
) -> None:
    """Put the number of each text's name into `codes`, -1 for a text that is not a name.

    Text r is text[starts[r] : starts[r + 1]], name n likewise; `words` are the bytes of `text`,
    eight by eight, without an incomplete last word; `known` and `table` are those of
    `index_names`. block: two rows of words to work with, as many as texts are compared at once.
    """
    count: cython.Py_ssize_t = name_starts.shape[0] - 1
    row: cython.Py_ssize_t = 0
    after: cython.Py_ssize_t
    is_done: cython.bint
    with cython.nogil:
        while row < codes.shape[0]:
            after = min(row + block.shape[1], codes.shape[0])
            # Whether there are few names, and all texts of the block can be read by words.
            is_done = count <= FEW_NAMES and starts[after] < 8 * (words.shape[0] - 1)
            if is_done:
                is_done = _compare(starts, words, known, count, block, codes, row, after)
            if not is_done:
                _look_up(starts, text, words, name_starts, names, known, table, codes, row, after)
            row = after


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _compare(
    starts: cython.const_longlong[::1],
    words: cython.const_ulonglong[::1],
    known: cython.const_ulonglong[:, ::1],
    names: cython.Py_ssize_t,
    block: cython.ulonglong[:, ::1],
    codes: cython.int[::1],
    row: cython.Py_ssize_t,
    after: cython.Py_ssize_t,
) -> cython.bint:
    """Compare the keys of texts with that of each name; return False if a text has none.

    All of the texts can be read by words.
    """
    has_keys: cython.bint = True
    count: cython.Py_ssize_t = after - row
    place: cython.Py_ssize_t
    name: cython.int
    for place in range(count):
        begin: cython.ulonglong = cython.cast(cython.ulonglong, starts[row + place])
        size: cython.ulonglong = cython.cast(cython.ulonglong, starts[row + place + 1]) - begin
        block[0, place] = _key(_word(words, begin) & _mask(size), size)
        has_keys &= block[0, place] != NO_KEY
        block[1, place] = 0
    if not has_keys:
        return False
    for name in range(names):
        key: cython.ulonglong = known[name, 3]
        number: cython.ulonglong = name + 1
        for place in range(count):
            block[1, place] += (block[0, place] == key) * number  # for one name at most
    for place in range(count):
        codes[row + place] = cython.cast(cython.int, block[1, place]) - 1
    return True


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _look_up(
    starts: cython.const_longlong[::1],
    text: cython.const_uchar[::1],
    words: cython.const_ulonglong[::1],
    name_starts: cython.const_longlong[::1],
    names: cython.const_uchar[::1],
    known: cython.const_ulonglong[:, ::1],
    table: cython.const_int[::1],
    codes: cython.int[::1],
    row: cython.Py_ssize_t,
    after: cython.Py_ssize_t,
) -> cython.void:
    """Look texts up in the table of names."""
    mask: cython.ulonglong = table.shape[0] - 1
    none: cython.int = cython.cast(cython.int, name_starts.shape[0] - 1)
    # Texts that end before can be read by words.
    whole: cython.ulonglong = 8 * max(words.shape[0] - 1, 0)
    place: cython.Py_ssize_t
    for place in range(row, after):
        begin: cython.ulonglong = cython.cast(cython.ulonglong, starts[place])
        end: cython.ulonglong = cython.cast(cython.ulonglong, starts[place + 1])
        size: cython.ulonglong = end - begin
        first: cython.ulonglong
        last: cython.ulonglong = 0
        if end < whole:
            first = _word(words, begin) & _mask(size)
            if size > 8:
                last = _word(words, end - 8)
        else:
            first = _first_bytes(text, begin, end)
            last = _last_bytes(text, begin, end)
        entry: cython.ulonglong = _hash(first, last, size) & mask
        name: cython.int = table[entry]
        same: cython.bint
        while name != none:
            same = known[name, 0] == first and known[name, 1] == last and known[name, 2] == size
            if same and size > 16:
                same = _is_equal(text, begin, names, name_starts[name], size)
            if same:
                break
            entry = (entry + 1) & mask
            name = table[entry]
        codes[place] = name if name != none else -1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def _key(first: cython.ulonglong, size: cython.ulonglong) -> cython.ulonglong:
    """Return the key of a text with these first bytes, NO_KEY if it has none."""
    key: cython.ulonglong = first | ((size & 7) << 56)
    return key if (size < 8) | ((size == 8) & (first >> 56 >= 8)) else NO_KEY


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def _mask(size: cython.ulonglong) -> cython.ulonglong:
    """Return ones for those bytes of a text's first word that belong to the text."""
    unused: cython.ulonglong = 64 - 8 * size if size < 8 else 0
    return (ALL_BITS >> (unused & 63)) * (unused != 64)  # bits of a word are shifted by 63 at most


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def _word(words: cython.const_ulonglong[::1], begin: cython.ulonglong) -> cython.ulonglong:
    """Return the eight bytes from byte `begin` on, which are not in the last word."""
    place: cython.ulonglong = begin >> 3
    shift: cython.ulonglong = (begin & 7) << 3
    low: cython.ulonglong = cython.cast(cython.ulonglong, words[place])
    high: cython.ulonglong = cython.cast(cython.ulonglong, words[place + 1])
    return (low >> shift) | (((high << (63 - shift)) << 1) & ALL_BITS)


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _first_bytes(
    text: cython.const_uchar[::1], begin: cython.ulonglong, end: cython.ulonglong
) -> cython.ulonglong:
    """Return the first eight bytes of a text, or all of a shorter one."""
    word: cython.ulonglong = 0
    byte: cython.ulonglong
    for byte in range(min(end - begin, 8)):
        word |= cython.cast(cython.ulonglong, text[begin + byte]) << (8 * byte)
    return word


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _last_bytes(
    text: cython.const_uchar[::1], begin: cython.ulonglong, end: cython.ulonglong
) -> cython.ulonglong:
    """Return the last eight bytes of a text that has more than eight, else 0."""
    return _first_bytes(text, end - 8, end) if end - begin > 8 else 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def _hash(
    first: cython.ulonglong, last: cython.ulonglong, size: cython.ulonglong
) -> cython.ulonglong:
    """Return the hash of a text's first and last bytes and size; its lower 24 bits are mixed."""
    mixed: cython.ulonglong = (first ^ (last * LAST_FACTOR)) + size
    return (mixed * FACTOR) >> 40


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _is_equal(
    text: cython.const_uchar[::1],
    begin: cython.ulonglong,
    names: cython.const_uchar[::1],
    name: cython.ulonglong,
    size: cython.ulonglong,
) -> cython.bint:
    """Return whether `size` bytes are equal."""
    byte: cython.ulonglong
    for byte in range(size):  # noqa: SIM110 - compiled as it stands
        if text[begin + byte] != names[name + byte]:
            return False
    return True
