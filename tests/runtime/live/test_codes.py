"""Codes of keys: equal values have one code while it is in use, and released codes are reused."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.runtime.live import codes as module
from elsinore.runtime.live.codes import CodeTable, KeyCodes

TEXTS = [None, "", "a", "b", "c", "d"]
FLOATS = [None, 0.0, -0.0, 1.5, math.nan, -math.nan]
TYPES = [pa.string(), pa.float64()]


def told(row: tuple[object, ...]) -> tuple[object, ...]:
    """Return a row as its key tells it: NaNs are equal, and 0.0 equals -0.0."""
    return tuple("NaN" if value != value else 0.0 if value == 0 else value for value in row)  # noqa: PLR0124


rows = st.tuples(st.sampled_from(TEXTS), st.sampled_from(FLOATS))
steps = st.lists(st.tuples(st.lists(rows, max_size=12), st.integers(0, 2**16)), max_size=12)


@pytest.mark.parametrize("hashes", ["good", "few", "one"])
@settings(deadline=None)
@given(steps=steps)
def test_codes_are_those_of_a_dict(
    hashes: str, steps: list[tuple[list[tuple[object, ...]], int]]
) -> None:
    patch = pytest.MonkeyPatch()
    if hashes != "good":  # many rows have another row's hash
        good = module.hash_rows
        size = np.uint64(1 if hashes == "one" else 3)
        patch.setattr(module, "hash_rows", lambda columns, count: good(columns, count) % size)
    try:
        table, known = CodeTable(TYPES), dict[tuple[object, ...], int]()
        for batch, kept in steps:
            columns = (
                [
                    pa.array(list(c), kind)
                    for c, kind in zip(zip(*batch, strict=True), TYPES, strict=True)
                ]
                if batch
                else [pa.array([], kind) for kind in TYPES]
            )
            codes, new, examples = table.encode(columns, len(batch))
            before = set(known)
            for row, code in zip(batch, codes.tolist(), strict=True):
                assert known.setdefault(told(row), code) == code
            assert len(set(known.values())) == len(known) == table.count
            assert sorted(new.tolist()) == sorted(known[key] for key in set(known) - before)
            assert [codes[row] for row in examples.tolist()] == new.tolist()
            values = [
                told(row)
                for row in zip(*(c.to_pylist() for c in table.take(table.codes)), strict=True)
            ]
            assert dict(zip(values, table.codes.tolist(), strict=True)) == known
            known = {key: code for key, code in known.items() if kept >> (code % 16) & 1}
            table.release_except(np.array(sorted(known.values()), np.int32))
            used = table.codes
            table = CodeTable.restored(TYPES, table.take(used), used)
    finally:
        patch.undo()


def test_codes_do_not_grow_if_keys_come_and_go() -> None:
    codes = KeyCodes([pa.int64(), pa.int64()], 1)
    for begin in range(0, 100_000, 1_000):
        numbers = np.arange(begin, begin + 1_000)
        key, group = codes.encode([pa.array(numbers // 10), pa.array(numbers)], 1_000)
        assert codes.groups(group)[0].to_pylist() == (numbers // 10).tolist()
        codes.release_except(key[-10:])
    assert codes.size <= 1_010
    assert codes.count == 10


def test_a_stream_without_keys_has_one_code() -> None:
    codes = KeyCodes([], 0)
    for _ in range(2):
        key, group = codes.encode([], 3)
        assert key.tolist() == group.tolist() == [0, 0, 0]
    assert codes.groups(group) == []
