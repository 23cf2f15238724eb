"""Packed, sent and merged, every event comes to its key's partition, in order, and none is lost."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import os
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.errors import InputError
from elsinore.model.window import Window
from elsinore.runtime.columnar import Layout, Merging, Packing, Stretches
from elsinore.runtime.columnar.hashing import hash_rows
from elsinore.runtime.columnar.runs import LOCAL_DIRECTORIES

DAY = dt.date(2024, 2, 29)
NOON = dt.datetime(2024, 2, 29, 12)
KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "integers": (pa.int64(), [0, -1, 2**62, 7, None]),
    "small integers": (pa.int8(), [0, -128, 127, None]),
    "unsigned": (pa.uint64(), [0, 2**64 - 1, None]),
    "doubles": (pa.float64(), [0.0, -0.0, 1.5, math.nan, -math.nan, math.inf, None]),
    "floats": (pa.float32(), [0.0, -0.0, 1.5, math.nan, None]),
    "texts": (pa.string(), ["", "a", "aa", "ä", "a\0", None]),
    "long texts": (pa.large_string(), ["", "a", None]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["", "a", "aa", None]),
    "bytes": (pa.binary(), [b"", b"\0", b"\0\0", None]),
    "booleans": (pa.bool_(), [True, False, None]),
    "decimals": (pa.decimal128(20, 2), [Decimal("0.00"), Decimal("-1.25"), Decimal(10**17), None]),
    "dates": (pa.date32(), [DAY, dt.date(1969, 12, 31), None]),
    "times": (pa.timestamp("us", "Asia/Kathmandu"), [NOON, dt.datetime(1969, 1, 1), None]),
    "nothing": (pa.null(), [None]),
}  # fmt: skip
SMALL = {"chunk_rows": 7, "chunk_bytes": 400, "blob_bytes": 60}


def text_of(value: Any) -> str:
    """Return a text that equal values have in common, and no others."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(value + 0.0)
    return repr(value)


def plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def tables(kinds: list[str], rows: int, seed: int) -> tuple[pa.Table, Layout]:
    """Return events with keys of some kinds, in no order of time, and how they travel."""
    chance = np.random.default_rng(seed)
    columns: dict[str, pa.Array] = {}
    for number, kind in enumerate(kinds):
        type_, values = KEYS[kind]
        chosen = [values[n] for n in chance.integers(0, len(values), rows)]
        columns[f"k{number}"] = pa.array(chosen, plain(type_)).cast(type_)
    columns["time"] = pa.array(chance.integers(-5, 25, rows))
    columns["row"] = pa.array(np.arange(rows))
    columns["text"] = pa.array(
        [None if n % 5 == 0 else "x" * int(n % 4) for n in range(rows)], pa.string()
    )
    columns["turn"] = pa.array(chance.choice(["a", "b", "c"], rows), pa.string())
    columns["other"] = pa.array(
        [None if n == 0 else math.nan if n == 1 else n / 2 for n in chance.integers(0, 6, rows)]
    )
    table = pa.table(columns)
    keys = pa.schema([(f"k{n}", plain(KEYS[kind][0])) for n, kind in enumerate(kinds)])
    names = ("time", "row", "text", "turn", "other")
    return table, Layout(keys, pa.schema([table.schema.field(name) for name in names]))


def shuffled(
    table: pa.Table, layout: Layout, partitions: int, tasks: int, **sizes: int
) -> dict[int, list[pa.Array]]:
    """Return the blobs of each partition, as tasks that hold consecutive events pack them."""
    packing = Packing(layout=layout, partitions=partitions, **sizes)
    found: dict[int, list[pa.Array]] = {}
    size = max(1, -(-table.num_rows // tasks))
    for start in range(0, table.num_rows, size):
        for batch in packing(table.slice(start, size).to_batches(max_chunksize=5)):
            for row in range(batch.num_rows):
                target = batch.column("pid")[row].as_py()
                found.setdefault(target, []).append(batch.column("blob").slice(row, 1))
    return found


@settings(max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "60")))
@given(
    kinds=st.lists(st.sampled_from(list(KEYS)), max_size=2),
    group=st.integers(0, 2),
    rows=st.integers(0, 80),
    seed=st.integers(0, 2**16),
    partitions=st.integers(1, 5),
    tasks=st.integers(1, 4),
    memory=st.sampled_from([100, 1_000, 1 << 28]),
    orders=st.sampled_from([(), ("turn",), ("other", "turn")]),
    backwards=st.booleans(),
)
def test_each_keys_events_come_together_in_order(
    kinds: list[str],
    group: int,
    rows: int,
    seed: int,
    partitions: int,
    tasks: int,
    memory: int,
    orders: tuple[str, ...],
    backwards: bool,
) -> None:
    table, layout = tables(kinds, rows, seed)
    group = min(group, len(kinds))
    keys = [f"k{n}" for n in range(len(kinds))]
    seen: dict[tuple[str, ...], int] = {}
    found: list[dict[str, Any]] = []
    for target, blobs in shuffled(table, layout, partitions, tasks, **SMALL).items():
        assert 0 <= target < partitions
        merging = Merging(layout, group, orders, memory=memory, batch_rows=9)
        for blob in reversed(blobs) if backwards else blobs:
            merging.add(blob)
        past_groups: list[int] = []
        past_keys: list[int] = []
        previous: tuple[Any, ...] | None = None
        for batch in merging.batches():
            assert 0 < len(batch.key) <= 9
            values = merging.codes
            for place, event in enumerate(batch.events.to_pylist()):
                code, of_group = int(batch.key[place]), int(batch.group[place])
                key = tuple(text_of(column[code].as_py()) for column in values.keys)
                told = tuple(text_of(column[of_group].as_py()) for column in values.groups)
                assert told == key[:group]
                assert seen.setdefault(key, target) == target
                if not past_keys or past_keys[-1] != code:
                    assert code not in past_keys
                    past_keys.append(code)
                if not past_groups or past_groups[-1] != of_group:
                    assert of_group not in past_groups
                    past_groups.append(of_group)
                place_in_order = (code, event["time"], *(rank(event[name]) for name in orders))
                if previous is not None and previous[0] == code:
                    assert previous <= place_in_order
                previous = place_in_order
                found.append(event | dict(zip(keys, key, strict=True)))
    expected = [row | {name: text_of(row[name]) for name in keys} for row in table.to_pylist()]
    assert sorted(map(comparable, found)) == sorted(map(comparable, expected))


def rank(value: Any) -> tuple[int, Any]:
    """Return what orders values: themselves, then NaN, then null."""
    if value is None:
        return (2, 0)
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


def comparable(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(text_of(row[name]) for name in sorted(row))


def test_simultaneous_events_of_a_stream_in_order_stay_as_they_came() -> None:
    rows = 500
    table, layout = tables(["integers"], rows, 3)
    table = table.set_column(1, "time", pa.array(np.arange(rows) // 20))
    merged = []
    for blobs in shuffled(table, layout, 2, 1, chunk_rows=50).values():
        merging = Merging(layout, 1)
        for blob in blobs:
            merging.add(blob)
        for batch in merging.batches():
            merged += zip(
                batch.key, batch.times, batch.events.column("row").to_pylist(), strict=True
            )
    for (key, time, row), (next_key, next_time, next_row) in itertools.pairwise(merged):
        if key == next_key and time == next_time:
            assert row < next_row


def test_a_number_is_that_of_the_value_whatever_the_encoding() -> None:
    values = pa.array(["b", None, "a", "b"])
    backwards = pa.DictionaryArray.from_arrays([1, None, 0, 1], ["a", "b"])
    expected = hash_rows([values], 4)
    assert hash_rows([values.dictionary_encode()], 4).tolist() == expected.tolist()
    assert hash_rows([backwards], 4).tolist() == expected.tolist()
    assert hash_rows([values.slice(2)], 2).tolist() == expected[2:].tolist()
    assert len(set(expected.tolist())) == 3
    with pytest.raises(InputError, match="cannot be a key"):
        hash_rows([pa.array([[1]])], 1)


def test_keys_are_spread_evenly() -> None:
    targets = hash_rows([pa.array(np.arange(100_000) * 1_000)], 100_000) % np.uint64(7)
    counts = np.bincount(targets.astype(np.int64), minlength=7)
    assert abs(counts - 100_000 / 7).max() < 600


@pytest.mark.parametrize("window", [Window(10), Window(10, 5)])
def test_a_key_with_most_of_the_events_is_spread_evenly(window: Window) -> None:
    chance = np.random.default_rng(4)
    key = chance.integers(0, 50, 40_000)
    key[chance.random(40_000) < 0.8] = 0
    table = pa.table({"k": key, "time": chance.permutation(40_000) // 40})  # 1,000 moments
    layout = Layout(pa.schema([("k", pa.int64())]), pa.schema([("time", pa.int64())]))
    counts = {}
    for stretches in (None, Stretches(20, 0, (window,))):
        packing = Packing(layout=layout, partitions=4, stretches=stretches)
        merging = [Merging(layout, 1) for _ in range(4)]
        for blobs in packing(table.to_batches()):
            for pid, part in enumerate(merging):
                part.add(blobs.filter(pa.compute.equal(blobs.column("pid"), pid)).column("blob"))
        counts[stretches] = np.array([part.rows for part in merging])
    alone, spread = counts.values()
    assert alone.max() / alone.mean() > 3
    assert spread.max() / spread.mean() < 1.1
    twice = 10 / 20 if window.overlap > 1 else 0  # events in windows of two stretches
    assert spread.sum() == pytest.approx(40_000 * (1 + twice), rel=0.3)


def test_many_targets_cost_no_schema_each() -> None:
    keys = pa.schema([("a_rather_long_name_of_a_key", pa.int64())])
    names = ["time", *(f"a_rather_long_name_of_an_attribute_{n}" for n in range(20))]
    layout = Layout(keys, pa.schema([(name, pa.int64()) for name in names]))
    numbers = pa.array(np.arange(2_000))
    table = pa.table(dict.fromkeys([*keys.names, *names], numbers))
    (batch,) = Packing(layout=layout, partitions=1_000)(table.to_batches())
    assert batch.num_rows > 800
    payload = 2_000 * 8 * (len(names) + 2)
    described = table.schema.serialize().size * batch.num_rows
    assert batch.nbytes < payload + described


def test_what_does_not_fit_on_the_disk_is_told_with_the_place(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LOCAL_DIRECTORIES, f"{tmp_path / 'gone'},{tmp_path}")
    table, layout = tables(["integers"], 400, 5)
    ((_, blobs),) = shuffled(table, layout, 1, 4, chunk_rows=50).items()
    merging = Merging(layout, 1, memory=1_000)
    for blob in blobs:
        merging.add(blob)
    assert merging.spilled_bytes > 0
    assert sum(len(batch.key) for batch in merging.batches()) == 400
    assert list(tmp_path.iterdir()) == []  # runs have no names, so nothing stays behind
