"""Encoding keys and groups: from values of attributes to codes 0, 1, ... and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy
from elsinore.runtime.chunks import plain, same_floats
from elsinore.runtime.codes import first_rows, look_up_pairs, mark_pairs, number_from
from elsinore.runtime.numbering import Codes, Numbering
from elsinore.runtime.ranges import by_ranges

LARGEST = 2**63 - 1
DENSE = 2**16  # integers within a range up to this width need no hashing
AHEAD = 2**16  # first rows; usually they contain all groups
TABLE = 2**22  # up to so many pairs of codes are encoded by a table, more by hashing


@dataclass(frozen=True, slots=True)
class Keys:
    """The key and group codes of rows, and an example row for each group code.

    `key` and `group` are int32, [row]; key is -1 if a required attribute is null. `count` is the
    number of keys, `example[g]` a row of group g (-1 for a code without rows).
    """

    key: Codes
    group: Codes
    count: int
    example: NDArray[np.int64]
    incomplete: bool  # whether some row has no key

    def group_values(self, column: pa.Array) -> pa.Array:
        """Return a column's value for each group code, null for a code that no row has."""
        return group_values(column, self.example)


@dataclass(frozen=True, slots=True)
class NumberedKeys:
    """Keys whose codes are computed when they are read; see `Keys`."""

    key: Numbering
    group: Numbering
    example: NDArray[np.int64]
    incomplete: bool

    @property
    def count(self) -> int:
        """The number of keys."""
        return self.key.size

    def codes_of(self, begin: int, end: int) -> Keys:
        """Return the codes of a range of rows."""
        group = self.group.make(begin, end)
        key = group if self.key is self.group else self.key.make(begin, end)
        return Keys(key, group, self.count, self.example, self.incomplete)

    def materialized(self, threads: int = 1) -> NumberedKeys:
        """Return the same keys with all codes in memory."""
        group = self.group.materialized(threads)
        key = group if self.key is self.group else self.key.materialized(threads)
        return replace(self, key=key, group=group)

    def group_values(self, column: pa.Array) -> pa.Array:
        """Return a column's value for each group code, null for a code that no row has."""
        return group_values(column, self.example)


def group_values(column: pa.Array, example: NDArray[np.int64]) -> pa.Array:
    """Return a column's values in the example rows, null for rows below 0."""
    column = column.take(to_arrow(example, mask=example < 0))
    return same_floats(plain(column) if _has_floats(column.type) else column)


def encode_keys(
    groups: Sequence[pa.Array],
    further: Sequence[pa.Array],
    required: Sequence[pa.Array],
    rows: int,
) -> Keys:
    """Encode the keys of all rows (`number_keys`)."""
    return number_keys(groups, further, required, rows).codes_of(0, rows)


def number_keys(
    groups: Sequence[pa.Array],
    further: Sequence[pa.Array],
    required: Sequence[pa.Array],
    rows: int,
    threads: int = 1,
) -> NumberedKeys:
    """Number the keys (group attributes and others together) and the groups of `rows` rows.

    Nulls form one group, as in SQL's GROUP BY. A row with null or NaN in one of `required` (the
    attributes of `[ ]`) has no key, because null equals nothing.
    """
    numbering_of_keys = (
        [Numbering.constant(rows)]
        if not groups
        else [_number_column(column_of_group, threads) for column_of_group in groups]
    )
    group = _combine(numbering_of_keys, threads)
    key = _combine([group, *(_number_column(column, threads) for column in further)], threads)
    missing = [mask for column in required if (mask := _is_missing(column)) is not None]
    if missing:
        key = _without(key, missing)
    if groups:
        example = _first_rows(group, threads)
    else:
        example = np.zeros(1, dtype=np.int64) if rows else np.full(1, -1, dtype=np.int64)
    return NumberedKeys(key, group, example, bool(missing))


def _without(key: Numbering, missing: Sequence[pa.Array]) -> Numbering:
    """Return keys with -1 in rows where a required attribute is missing."""

    def make(begin: int, end: int) -> Codes:
        codes = key.make(begin, end).copy()
        for mask in missing:
            codes[to_numpy(mask.slice(begin, end - begin))] = -1
        return codes

    return replace(key, make=make)


def _has_floats(kind: pa.DataType) -> bool:
    """Return whether a type is a dictionary of floats."""
    return bool(pa.types.is_dictionary(kind) and pa.types.is_floating(kind.value_type))


def _is_missing(column: pa.Array) -> pa.Array | None:
    """Return the mask of a column's nulls and NaNs; None if there are none."""
    if _has_floats(column.type):
        column = plain(column)
    if pa.types.is_floating(column.type):
        mask = column.is_null(nan_is_null=True)
        return mask if pc.any(mask).as_py() else None
    return column.is_null() if column.null_count else None


def _first_rows(codes: Numbering, threads: int) -> NDArray[np.int64]:
    """Return the first row of each code, -1 where no row has it."""

    def find(begin: int, end: int) -> NDArray[np.int64]:
        rows = np.full(codes.size, -1, dtype=np.int64)
        first_rows(codes.make(begin, end), rows)
        rows[rows >= 0] += begin
        return rows

    ahead = min(AHEAD, codes.rows)
    first = find(0, ahead)
    if ahead == codes.rows or not (first < 0).any():
        return first
    if codes.size > DENSE:
        later = [find(ahead, codes.rows)]
    else:
        remaining = codes.rows - ahead
        later = by_ranges(lambda begin, end: find(ahead + begin, ahead + end), remaining, threads)
    for rows in later:
        np.copyto(first, rows, where=first < 0)
    return first


def _number_column(column: pa.Array, threads: int) -> Numbering:
    """Number one column's values."""
    if pa.types.is_integer(column.type) and not column.null_count and len(column):
        bounds = by_ranges(
            lambda begin, end: pc.min_max(column.slice(begin, end - begin)), len(column), threads
        )
        least = min(bound["min"].as_py() for bound in bounds)
        largest = max(bound["max"].as_py() for bound in bounds)
        if largest - least < DENSE:
            return _subtract_least(column, least, largest - least + 1)
    if not pa.types.is_dictionary(column.type) or _has_duplicates(column.dictionary):
        column = plain(column)
        return _encode_in_ranges(
            lambda begin, end: same_floats(column.slice(begin, end - begin)).dictionary_encode(),
            len(column),
            threads,
        )
    indices, size = column.indices, len(column.dictionary)
    null_code = size if indices.null_count else None

    def take(begin: int, end: int) -> Codes:
        some = indices.slice(begin, end - begin).cast(
            pa.int32()
        )  # `null_code` may be too large before
        return to_numpy(some, null_code)

    return Numbering(len(column), size + (null_code is not None), take)


def _has_duplicates(dictionary: pa.Array) -> bool:
    """Return whether a dictionary has a duplicate value, which Arrow allows.

    >>> _has_duplicates(pa.array(["x", "y"])), _has_duplicates(pa.array(["x", "x"]))
    (False, True)
    """
    size, dictionary = len(dictionary), same_floats(dictionary)
    return size > 1 and bool(pc.count_distinct(dictionary, mode="all").as_py() < size)


def _subtract_least(column: pa.Array, least: int, size: int) -> Numbering:
    """Return integers less the least of them as codes."""
    first = least - 2**64 if least > LARGEST else least

    def number(begin: int, end: int) -> Codes:
        codes = np.empty(end - begin, dtype=np.int32)
        # as integers of 64 bits, whose differences fit where these bits are unsigned too
        numbers = to_numpy(column.slice(begin, end - begin).cast(pa.int64(), safe=False))
        number_from(numbers, first, codes)
        return codes

    return Numbering(len(column), size, number)


def _encode_in_ranges(
    encode: Callable[[int, int], pa.DictionaryArray], rows: int, threads: int
) -> Numbering:
    """Merge the dictionary codes of separately encoded ranges of rows; null is last."""
    parts = [encode(0, rows)] if threads == 1 else by_ranges(encode, rows, threads)
    dictionary, places = parts[0].dictionary, None
    if len(parts) > 1:
        merged = pa.concat_arrays([part.dictionary for part in parts]).dictionary_encode()
        dictionary, places = merged.dictionary, to_numpy(merged.indices)
    size, begins = len(dictionary), np.cumsum([0] + [len(part.dictionary) for part in parts])
    codes = np.empty(rows, dtype=np.int32)
    ends = np.cumsum([len(part) for part in parts])

    def number(place: int) -> None:
        part, end = parts[place], ends[place]
        indices, size_of_part = part.indices, len(part.dictionary)
        numbers = to_numpy(indices, size_of_part)
        if places is not None:
            numbers = np.append(places[begins[place] : begins[place + 1]], np.int32(size))[numbers]
        codes[end - len(part) : end] = numbers

    def number_all(begin: int, end: int) -> None:
        for place in range(begin, end):
            number(place)

    by_ranges(number_all, len(parts), threads)
    return Numbering.from_codes(codes, size + any(part.indices.null_count for part in parts))


def _combine(parts: Sequence[Numbering], threads: int) -> Numbering:
    """Number the combinations of several numberings."""
    codes = parts[0]
    for numbering in parts[1:]:
        if codes.size == 1:
            codes = numbering
        elif codes.size * numbering.size <= TABLE:
            codes = _encode_pairs_by_table(codes, numbering, threads)
        else:
            codes = _encode_pairs_by_hash(codes, numbering, threads)
    return codes


def _encode_pairs_by_table(codes: Numbering, second_codes: Numbering, threads: int) -> Numbering:
    """Encode pairs of codes by a table of all possible pairs."""
    exists = np.zeros((codes.size, second_codes.size), dtype=np.uint8)

    def mark(begin: int, end: int) -> None:
        mark_pairs(codes.make(begin, end), second_codes.make(begin, end), exists)

    def number(begin: int, end: int) -> Codes:
        numbers = np.empty(end - begin, dtype=np.int32)
        look_up_pairs(codes.make(begin, end), second_codes.make(begin, end), table, numbers)
        return numbers

    by_ranges(mark, codes.rows, threads)
    table = np.cumsum(exists, dtype=np.int32).reshape(exists.shape)
    return Numbering(codes.rows, int(table[-1, -1]) if exists.size else 0, number)


def _encode_pairs_by_hash(codes: Numbering, second_codes: Numbering, threads: int) -> Numbering:
    """Encode pairs of codes by hashing."""

    def encode(begin: int, end: int) -> pa.DictionaryArray:
        pairs = codes.make(begin, end).astype(np.int64) * second_codes.size + second_codes.make(
            begin, end
        )
        return to_arrow(pairs).dictionary_encode()

    return _encode_in_ranges(encode, codes.rows, threads)
