"""Codes of the keys and groups of a live stream; codes that are no longer in use are reused.

Operators identify keys by int32 codes, and some have an array element per code. A stream may have
any number of keys over time, of which few are open at once. So codes are released when no operator
uses them, and assigned to the next new keys.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.runtime.chunks import same_floats
from elsinore.runtime.columnar.hashing import hash_rows
from elsinore.runtime.keys import encode_keys

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]

MOST_CHUNKS = 16  # of values, before they are copied into one array
FREE = -1  # the row of a code that is not in use


class CodeTable:
    """Maps rows of values to codes, which can be released.

    Values are found by their 64-bit hash, and compared. Rows whose hash equals that of another row
    are found in a dict.

    >>> table = CodeTable([pa.string()])
    >>> codes, new, _ = table.encode([pa.array(["x", "y", "x"])], 3)
    >>> codes.tolist(), new.tolist()
    ([0, 1, 0], [0, 1])
    >>> table.release_except(np.array([1], np.int32))
    >>> table.encode([pa.array(["z", "y"])], 2)[0].tolist()
    [0, 1]
    >>> table.take(np.array([1, 0], np.int32))[0].to_pylist()
    ['y', 'z']
    """

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._hashes = np.zeros(0, np.uint64)  # of the codes in use, ascending
        self._codes_by_hash = np.zeros(0, np.int32)  # the code of each hash
        self._colliding: dict[tuple[object, ...], int] = {}  # codes of rows with another row's hash
        self._values = [pa.chunked_array([], kind) for kind in types]
        self._rows = 0  # of values, including those of released codes
        self._row_of = np.zeros(0, np.int64)  # [code] -> its row of values, or FREE
        self._free: list[int] = []  # released codes; the last is assigned next

    @property
    def size(self) -> int:
        """The number of codes ever assigned, including released ones."""
        return len(self._row_of)

    @property
    def codes(self) -> Codes:
        """The codes in use, ascending."""
        return np.flatnonzero(self._row_of >= 0).astype(np.int32)

    @property
    def count(self) -> int:
        """The number of codes in use."""
        return len(self._row_of) - len(self._free)

    def encode(self, columns: Sequence[pa.Array], rows: int) -> tuple[Codes, Codes, Ints]:
        """Return the code of each row, the codes of new values, and an example row of each.

        columns: plain arrays of the table's types.
        """
        row_codes = encode_keys(columns, [], [], rows)
        present = np.flatnonzero(row_codes.example >= 0)
        example = row_codes.example[present]
        distinct = [same_floats(column.take(pa.array(example))) for column in columns]
        codes = self._look_up(distinct, len(example))
        new = np.flatnonzero(codes == FREE)
        if len(new):
            codes[new] = self._take_codes(len(new))
            self._insert([column.take(pa.array(new)) for column in distinct], codes[new])
        codes_by_number = np.full(len(row_codes.example), FREE, np.int32)
        codes_by_number[present] = codes
        return codes_by_number[row_codes.group], codes[new], example[new]

    def take(self, codes: Codes) -> list[pa.Array]:
        """Return the values of some codes in use."""
        rows = pa.array(self._row_of[codes])
        return [_whole(values.take(rows)) for values in self._values]

    def release_except(self, codes: Codes) -> None:
        """Release all codes except `codes`."""
        in_use = np.zeros(self.size, dtype=bool)
        in_use[codes] = True
        released = np.flatnonzero(~in_use & (self._row_of >= 0))
        if not len(released):
            return
        self._row_of[released] = FREE
        self._free += released[::-1].tolist()
        stay = in_use[self._codes_by_hash]
        self._hashes, self._codes_by_hash = self._hashes[stay], self._codes_by_hash[stay]
        self._colliding = {key: code for key, code in self._colliding.items() if in_use[code]}
        if self._rows > 2 * self.count:
            self._compact()

    @classmethod
    def restored(
        cls, types: Sequence[pa.DataType], values: Sequence[pa.Array], codes: Codes
    ) -> CodeTable:
        """Return a table with a code for each row of values, and no other codes in use."""
        table = cls(types)
        table._row_of = np.full(int(codes.max(initial=-1)) + 1, FREE, np.int64)
        table._insert(list(values), codes)
        table._free = np.flatnonzero(table._row_of < 0)[::-1].tolist()
        return table

    def _look_up(self, distinct: Sequence[pa.Array], rows: int) -> Codes:
        """Return the codes of distinct rows; FREE for new values."""
        codes = np.full(rows, FREE, np.int32)
        if not len(self._hashes):
            return codes
        hashes = hash_rows(distinct, rows)
        places = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        matching = np.flatnonzero(self._hashes[places] == hashes)
        codes[matching] = self._codes_by_hash[places[matching]]
        stored_values = self.take(codes[matching])
        equal = np.ones(len(matching), dtype=bool)
        for column, values in zip(distinct, stored_values, strict=True):
            equal &= _equal(column.take(pa.array(matching)), values)
        for row in matching[~equal].tolist():
            codes[row] = self._colliding.get(_row(distinct, row), FREE)
        return codes

    def _take_codes(self, count: int) -> Codes:
        """Return codes that are not in use: released ones first."""
        reused = [self._free.pop() for _ in range(min(count, len(self._free)))]
        fresh = range(self.size, self.size + count - len(reused))
        self._row_of = np.append(self._row_of, np.full(len(fresh), FREE, np.int64))
        return np.array([*reused, *fresh], np.int32)

    def _insert(self, values: list[pa.Array], codes: Codes) -> None:
        """Assign codes to distinct rows of new values."""
        hashes = hash_rows(values, len(codes))
        order = np.argsort(hashes, kind="stable")
        hashes, sorted_codes = hashes[order], codes[order]
        first = np.ones(len(hashes), dtype=bool)
        first[1:] = hashes[1:] != hashes[:-1]
        if len(self._hashes):
            places = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
            first &= self._hashes[places] != hashes
        for place in np.flatnonzero(~first).tolist():
            self._colliding[_row(values, int(order[place]))] = int(sorted_codes[place])
        places = np.searchsorted(self._hashes, hashes[first])
        self._hashes = np.insert(self._hashes, places, hashes[first])
        self._codes_by_hash = np.insert(self._codes_by_hash, places, sorted_codes[first])
        self._row_of[codes] = np.arange(self._rows, self._rows + len(codes))
        self._rows += len(codes)
        self._values = [
            _append(values_before, added)
            for values_before, added in zip(self._values, values, strict=True)
        ]

    def _compact(self) -> None:
        """Drop the values of released codes."""
        codes = self.codes
        values = self.take(codes)
        self._values = [pa.chunked_array([column]) for column in values]
        self._row_of[codes] = np.arange(len(codes))
        self._rows = len(codes)


class KeyCodes:
    """Codes of keys and of their groups; a group is the first columns of its keys.

    >>> codes = KeyCodes([pa.string(), pa.int64()], group_columns=1)
    >>> key, group = codes.encode([pa.array(["x", "x", "y"]), pa.array([1, 2, 1])], 3)
    >>> key.tolist(), group.tolist()
    ([0, 1, 2], [0, 0, 1])
    >>> [column.to_pylist() for column in codes.groups(group)]
    [['x', 'x', 'y']]
    """

    def __init__(self, types: Sequence[pa.DataType], group_columns: int) -> None:
        self._types, self._group_columns = list(types), group_columns
        self._keys = CodeTable(types)
        # the table of keys also serves groups if every key is a group of its own
        self._groups = (
            self._keys
            if group_columns == len(self._types)
            else CodeTable(self._types[:group_columns])
        )
        self._group_of = np.zeros(0, np.int32)  # [key code]

    @property
    def count(self) -> int:
        """The number of keys whose codes are in use."""
        return self._keys.count

    @property
    def size(self) -> int:
        """The number of codes ever assigned to keys, including released ones."""
        return self._keys.size

    def encode(self, columns: Sequence[pa.Array], rows: int) -> tuple[Codes, Codes]:
        """Return the codes of the key and the group of each row."""
        codes, new, examples = self._keys.encode(columns, rows)
        if self._groups is self._keys:
            return codes, codes
        if len(new):
            example_rows = pa.array(examples)
            new_values = [column.take(example_rows) for column in columns[: self._group_columns]]
            self._put_groups(new, self._groups.encode(new_values, len(new))[0])
        return codes, self._group_of[codes]

    def groups(self, codes: Codes) -> list[pa.Array]:
        """Return the attributes of the groups of some codes."""
        return self._groups.take(codes)

    def release_except(self, keys: Codes) -> None:
        """Release the codes of all keys except `keys`, and of groups without keys."""
        self._keys.release_except(keys)
        if self._groups is not self._keys:
            self._groups.release_except(self._group_of[keys])

    def saved(self) -> tuple[Codes, Codes, list[pa.Array]]:
        """Return the codes of keys in use, the codes of their groups, and the keys' attributes."""
        codes = self._keys.codes
        groups = codes if self._groups is self._keys else self._group_of[codes]
        return codes, groups, self._keys.take(codes)

    @classmethod
    def restored(
        cls,
        types: Sequence[pa.DataType],
        group_columns: int,
        saved: tuple[Codes, Codes, Sequence[pa.Array]],
    ) -> KeyCodes:
        """Return the codes that `saved` returned."""
        keys, groups, values = saved
        codes = cls(types, group_columns)
        codes._keys = CodeTable.restored(types, values, keys)
        if group_columns == len(codes._types):
            codes._groups = codes._keys
            return codes
        group_codes, examples = np.unique(groups, return_index=True)
        group_values = [column.take(pa.array(examples)) for column in values[:group_columns]]
        codes._groups = CodeTable.restored(
            types[:group_columns], group_values, group_codes.astype(np.int32)
        )
        codes._put_groups(keys, groups)
        return codes

    def _put_groups(self, keys: Codes, groups: Codes) -> None:
        missing = self._keys.size - len(self._group_of)
        self._group_of = np.append(self._group_of, np.full(missing, FREE, np.int32))
        self._group_of[keys] = groups


def _append(known: pa.ChunkedArray, added: pa.Array) -> pa.ChunkedArray:
    chunks = [*known.chunks, added]
    if len(chunks) > MOST_CHUNKS:
        chunks = [pa.concat_arrays(chunks)]
    return pa.chunked_array(chunks, known.type)


def _equal(left: pa.Array, right: pa.Array) -> NDArray[np.bool_]:
    """Return where two columns have equal values; nulls are equal, and so are NaNs."""
    equal = pc.equal(left, right)
    if pa.types.is_floating(left.type):
        equal = pc.or_(equal, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    both_null = pc.and_(left.is_null(), right.is_null())
    is_equal: NDArray[np.bool_] = pc.or_(both_null, pc.fill_null(equal, False)).to_numpy(
        zero_copy_only=False
    )
    return is_equal


def _row(columns: Sequence[pa.Array], row: int) -> tuple[object, ...]:
    """Return the values of a row as a tuple that equals those of equal rows."""
    values = (column[row].as_py() for column in columns)
    return tuple("NaN" if value != value else value for value in values)  # noqa: PLR0124


def _whole(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
