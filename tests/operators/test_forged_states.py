"""A saved state that was damaged or forged is refused, whatever operator it is for."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from elsinore.errors import StateError
from elsinore.language import parse_workload
from elsinore.operators import OperatorOptions, kind_for, plan, registered, specialize
from elsinore.plan import Unit
from elsinore.saved_states import pack, seal, table_from_bytes, table_to_bytes, unpack
from oracles.matches import Happening
from support.forged import allocating_little, check_forgeries
from support.matches import ATTRIBUTES, batch_of
from support.units import unit_inputs
from trends.test_saved_states import EVENTS, HALF, WORKLOADS

TRENDS = {name: f"RETURN COUNT(*), SUM(b.v) PATTERN {each}" for name, each in WORKLOADS.items()}
MATCHES = {
    "matches": "RETURN a.v, b.v PATTERN SEQ(A a, B b) WHERE b.v >= a.v WITHIN 6 MICROSECONDS",
    "matches with NOT": "RETURN a.v PATTERN SEQ(A a, NOT B b) WITHIN 6 MICROSECONDS",
}


def planned(text: str) -> Unit:
    ready = plan(parse_workload(f"QUERY {text};"))
    (unit,) = specialize(ready, ATTRIBUTES, declared=False).units
    return unit


@pytest.mark.parametrize("name", TRENDS)
def test_a_forged_state_of_trends_is_refused(name: str) -> None:
    ready = plan(parse_workload(f"QUERY q {TRENDS[name]};"))
    (inputs,) = unit_inputs(ready, EVENTS, exact=False)
    unit = inputs.planned
    operator = kind_for(unit).operator(unit, OperatorOptions())
    list(operator.process(inputs.batch.slice(0, HALF)))
    check_forgeries(lambda blob: kind_for(unit).load(unit, blob), operator.save())


@pytest.mark.parametrize("name", MATCHES)
def test_a_forged_state_of_matches_is_refused(name: str) -> None:
    unit = planned(f"q {MATCHES[name]}")
    events = [Happening(n, "ABB"[n % 3], {"v": n % 4}) for n in range(12)]
    batch, _ = batch_of(unit, events)
    operator = kind_for(unit).operator(unit, OperatorOptions())
    list(operator.process(batch))
    check_forgeries(lambda blob: kind_for(unit).load(unit, blob), operator.save())


def test_a_forged_state_of_sums_is_refused() -> None:
    with registered("support.toy_kind") as kind:
        unit = planned("toy RETURN COUNT(*) PATTERN A")
    batch = pa.record_batch({name: range(4) for name in ("key", "group", "time", "class")})
    operator = kind.operator(unit, OperatorOptions())
    list(operator.process(batch.set_column(1, "group", pa.array([0, 1, 0, 1], pa.int32()))))
    check_forgeries(lambda blob: kind.load(unit, blob), operator.save())


def sealed_arrays(*listed: tuple[str, str, tuple[int, ...]]) -> bytes:
    table = json.dumps(listed).encode()
    return seal("test", "f", struct.pack("<I", len(table)) + table + bytes(64))


@pytest.mark.parametrize(
    "arrays",
    [
        [("a", "<f8", (1 << 40,))],
        [("a", "<f8", (1 << 70,))],
        [("a", "<f8", (1 << 31, 1 << 31, 4))],
        [("a", "<f8", (-1, 8))],
        [("a", "|O", (8,))],
        [("a", "V8", (8,))],
        [("a", "<U1000000000", (1,))],
        [("a", "<f8", (8,)), ("b", "<f8", (1,))],
    ],
)
def test_arrays_larger_than_their_state_or_of_objects_are_refused(
    arrays: list[tuple[str, str, tuple[int, ...]]],
) -> None:
    with pytest.raises(StateError, match="damaged"), allocating_little():
        unpack("test", "f", sealed_arrays(*arrays))


def test_arrays_are_restored_with_their_types_and_shapes() -> None:
    arrays = {
        "none": np.zeros((0, 3)),
        "text": np.array("a text"),
        "flags": np.array([True, False]),
        "whole": np.arange(6, dtype=np.int32).reshape(2, 3)[:, ::2],
        "single": np.array([np.int64(5)])[0],
    }
    restored = unpack("test", "f", pack("test", "f", arrays))
    assert restored.keys() == arrays.keys()
    for name, array in restored.items():
        assert array.flags.writeable
        assert (array.dtype, array.shape) == (arrays[name].dtype, np.shape(arrays[name]))
        assert array.tolist() == arrays[name].tolist()


def changed_offsets(content: bytes) -> bytes:
    last = struct.pack("<iii", 0, 1, 3)
    assert content.count(last) == 1
    return content.replace(last, struct.pack("<iii", 0, 1, 1 << 30))


@pytest.mark.parametrize("change", [changed_offsets, lambda content: content[:-60]])
def test_a_table_that_refers_beyond_its_bytes_is_refused(change: Callable[[bytes], bytes]) -> None:
    content = table_to_bytes(pa.table({"t": ["a", "bc"]}))
    assert table_from_bytes(content).to_pylist() == [{"t": "a"}, {"t": "bc"}]
    with pytest.raises(StateError, match="damaged"):
        table_from_bytes(change(content))
