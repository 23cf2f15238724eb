"""Numbering keys and groups: from values of attributes to codes 0, 1, ... and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.kernels import enter
from elsinore.kernels.sorting import read_only
from elsinore.runtime.chunks import plain, same_floats
from elsinore.runtime.ranges import by_ranges
from elsinore.runtime.rows import first_rows, look_up_pairs, mark_pairs, number_from

LARGEST = 2**63 - 1
DENSE = 2**16  # a range of whole numbers up to so wide is its own numbering
AHEAD = 2**16  # rows among which there is mostly one of each group
TABLE = 2**22  # so many pairs of codes are numbered by a table of them, more by hashing

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Keys:
    """Codes of rows, and for each group code a row that has it.

    `key` and `group` are int32, [row]; key is -1 where a required attribute is null. `count` is
    the number of keys, `example[g]` a row of group g (-1 for a code that no row has).
    """

    key: Codes
    group: Codes
    count: int
    example: NDArray[np.int64]
    incomplete: bool  # whether some row has no key

    def of_rows(self, rows: slice | NDArray[np.int64]) -> Keys:
        """Return the codes of some rows."""
        return replace(self, key=self.key[rows], group=self.group[rows])

    def of_groups(self, column: pa.Array) -> pa.Array:
        """Return a column's value for each group code, null for a code that no row has."""
        column = column.take(pa.array(self.example, mask=self.example < 0))
        return same_floats(plain(column) if _has_floats(column.type) else column)


def encode_keys(
    groups: Sequence[pa.Array],
    others: Sequence[pa.Array],
    required: Sequence[pa.Array],
    rows: int,
    threads: int = 1,
) -> Keys:
    """Number the keys (group attributes and others together) and the groups of `rows` rows.

    A null is a value of its own, as in SQL's GROUP BY; a row with a null in one of `required`
    (the attributes of `[ ]`) has no key: null equals nothing, and NaN counts as null.
    """
    group, group_count = _codes(groups, rows, threads)
    key, count = group, group_count
    if others:
        parts = [(group, group_count), *(_code(column, threads) for column in others)]
        key, count = _combine(parts, threads)
    missing = [mask for column in required if (mask := _missing(column)) is not None]
    if missing:
        key = key.copy()
        for mask in missing:
            key[mask.to_numpy(zero_copy_only=False)] = -1
    if groups:
        example = _first_rows(read_only(group), group_count, threads)
    else:
        example = np.zeros(1, dtype=np.int64) if rows else np.full(1, -1, dtype=np.int64)
    return Keys(key, group, count, example, bool(missing))


def _has_floats(kind: pa.DataType) -> bool:
    """Return whether a type is a dictionary of floats."""
    return bool(pa.types.is_dictionary(kind) and pa.types.is_floating(kind.value_type))


def _missing(column: pa.Array) -> pa.Array | None:
    """Return where a column is null or NaN; None where it is nowhere."""
    if _has_floats(column.type):
        column = plain(column)
    if pa.types.is_floating(column.type):
        mask = column.is_null(nan_is_null=True)
        return mask if pc.any(mask).as_py() else None
    return column.is_null() if column.null_count else None


def _first_rows(codes: Codes, count: int, threads: int) -> NDArray[np.int64]:
    """Return the first row of each code, -1 where no row has it."""

    def find(begin: int, end: int) -> NDArray[np.int64]:
        rows = np.full(count, -1, dtype=np.int64)
        enter(first_rows, 5e-7 * (end - begin), codes[begin:end], rows)
        rows[rows >= 0] += begin
        return rows

    ahead = min(AHEAD, len(codes))
    first = find(0, ahead)
    if ahead == len(codes) or not (first < 0).any():
        return first
    later = by_ranges(
        lambda begin, end: find(ahead + begin, ahead + end),
        len(codes) - ahead,
        threads if count <= DENSE else 1,
    )
    for rows in later:
        np.copyto(first, rows, where=first < 0)
    return first


def _codes(columns: Sequence[pa.Array], rows: int, threads: int) -> tuple[Codes, int]:
    if not columns:
        return np.zeros(rows, dtype=np.int32), 1
    return _combine([_code(column, threads) for column in columns], threads)


def _code(column: pa.Array, threads: int) -> tuple[Codes, int]:
    """Number one column's values."""
    if pa.types.is_integer(column.type) and not column.null_count and len(column):
        bounds = by_ranges(
            lambda begin, end: pc.min_max(column.slice(begin, end - begin)), len(column), threads
        )
        least = min(bound["min"].as_py() for bound in bounds)
        most = max(bound["max"].as_py() for bound in bounds)
        if most - least < DENSE:
            return _numbered_from(column, least, threads), most - least + 1
    if not pa.types.is_dictionary(column.type) or _has_twins(column.dictionary):
        column = plain(column)
        return _encoded(
            lambda begin, end: same_floats(column.slice(begin, end - begin)).dictionary_encode(),
            len(column),
            threads,
        )
    indices, size = column.indices, len(column.dictionary)
    if indices.null_count:
        indices, size = indices.fill_null(size), size + 1
    return np.asarray(indices.to_numpy(), dtype=np.int32), size


def _has_twins(dictionary: pa.Array) -> bool:
    """Return whether a value is in a dictionary twice, which Arrow allows.

    >>> _has_twins(pa.array(["x", "y"])), _has_twins(pa.array(["x", "x"]))
    (False, True)
    """
    size, dictionary = len(dictionary), same_floats(dictionary)
    return size > 1 and bool(pc.count_distinct(dictionary, mode="all").as_py() < size)


def _numbered_from(column: pa.Array, least: int, threads: int) -> Codes:
    """Return whole numbers as they are but for the least of them."""
    codes = np.empty(len(column), dtype=np.int32)
    first = least - 2**64 if least > LARGEST else least

    def number(begin: int, end: int) -> None:
        # as integers of 64 bits, whose differences fit where these bits are unsigned too
        numbers = column.slice(begin, end - begin).cast(pa.int64(), safe=False).to_numpy()
        enter(number_from, 5e-7 * len(numbers), numbers, first, codes[begin:end])

    by_ranges(number, len(column), threads)
    return codes


def _encoded(
    encode: Callable[[int, int], pa.DictionaryArray], rows: int, threads: int
) -> tuple[Codes, int]:
    """Number the values of ranges of rows, each encoded by itself; a null comes last."""
    parts = by_ranges(encode, rows, threads)
    dictionary, places = parts[0].dictionary, None
    if len(parts) > 1:
        together = pa.concat_arrays([part.dictionary for part in parts]).dictionary_encode()
        dictionary, places = together.dictionary, together.indices.to_numpy()
    size, begins = len(dictionary), np.cumsum([0] + [len(part.dictionary) for part in parts])
    codes = np.empty(rows, dtype=np.int32)
    ends = np.cumsum([len(part) for part in parts])

    def number(place: int) -> None:
        part, end = parts[place], ends[place]
        indices, own = part.indices, len(part.dictionary)
        if indices.null_count:
            indices = indices.fill_null(own)
        found = indices.to_numpy()
        if places is not None:
            found = np.append(places[begins[place] : begins[place + 1]], np.int32(size))[found]
        codes[end - len(part) : end] = found

    def number_all(begin: int, end: int) -> None:
        for place in range(begin, end):
            number(place)

    by_ranges(number_all, len(parts), threads)
    return codes, size + any(part.indices.null_count for part in parts)


def _combine(parts: Sequence[tuple[Codes, int]], threads: int) -> tuple[Codes, int]:
    """Number the combinations of several numberings."""
    codes, count = parts[0]
    for more, size in parts[1:]:
        if count == 1:
            codes, count = more, size
        elif count * size <= TABLE:
            codes, count = _looked_up(codes, more, (count, size), threads)
        else:
            codes, count = _hashed(codes, more, size, threads)
    return codes, count


def _looked_up(
    codes: Codes, more: Codes, sizes: tuple[int, int], threads: int
) -> tuple[Codes, int]:
    """Number pairs of codes by a table of all that there might be."""
    there = np.zeros(sizes, dtype=np.uint8)
    found = np.empty(len(codes), dtype=np.int32)
    codes, more = read_only(codes), read_only(more)

    def mark(begin: int, end: int) -> None:
        enter(mark_pairs, 1e-6 * (end - begin), codes[begin:end], more[begin:end], there)

    def number(begin: int, end: int) -> None:
        rows = slice(begin, end)
        enter(look_up_pairs, 1e-6 * (end - begin), codes[rows], more[rows], table, found[rows])

    by_ranges(mark, len(codes), threads)
    table = np.cumsum(there, dtype=np.int32).reshape(sizes)
    count = int(table[-1, -1]) if there.size else 0
    by_ranges(number, len(codes), threads)
    return found, count


def _hashed(codes: Codes, more: Codes, size: int, threads: int) -> tuple[Codes, int]:
    """Number pairs of codes, which could be too many for a table."""

    def encode(begin: int, end: int) -> pa.DictionaryArray:
        pairs = codes[begin:end].astype(np.int64) * size + more[begin:end]
        return pa.array(pairs).dictionary_encode()

    return _encoded(encode, len(codes), threads)
