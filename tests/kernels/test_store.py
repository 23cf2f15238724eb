"""A store holds what its layout declares, whatever is taken, grown and saved."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.errors import StateError
from elsinore.kernels import NONE_FREE, Field, Layout, Store, give_back, kernel, take, uncompiled
from elsinore.kernels.saved import pack, unpack

LAYOUT = Layout(
    "test",
    1,
    (
        Field("clock", np.int64, fill=-5),
        Field("share", np.float64, fill=0.5),
        Field("key", np.int64, ("slot",), fill=-1),
        Field("total", np.float64, ("slot", "lane")),
        Field("flag", np.uint8, ("lane",), fill=1),
        Field("code", np.int32, ("slot", "lane"), fill=7),
    ),
    recycled=("slot",),
)


@kernel
def count_up(header: Any, ints: Any, doubles: Any, codes: Any, flags: Any, slot: int) -> None:
    """Write to every kind of field."""
    header.clock += 1
    header.share *= 2
    ints[header.key + slot] = header.clock
    for lane in range(header.lane):
        place = slot * header.lane + lane
        doubles[header.total + place] = doubles[header.total + place] * 3 + 1
        codes[header.code + place] += lane
        flags[header.flag + lane] = slot


@kernel
def take_many(header: Any, ints: Any, doubles: Any, codes: Any, flags: Any, count: int) -> int:
    taken = 0
    while taken < count and take(ints, header.slot_free) != NONE_FREE:
        taken += 1
    return taken


@pytest.mark.parametrize("run", [count_up, uncompiled(count_up)])
def test_kernels_write_fields_through_header_and_arenas(run: Any) -> None:
    store = Store(LAYOUT, slot=3, lane=2)
    run(*store.arguments, 1)
    run(*store.arguments, 1)
    assert store["clock"] == -3
    assert store["share"] == 2.0
    assert store["key"].tolist() == [-1, -3, -1]
    assert store["total"].tolist() == [[0, 0], [4, 4], [0, 0]]
    assert store["code"].tolist() == [[7, 7], [7, 9], [7, 7]]
    assert store["flag"].tolist() == [1, 1]


def test_a_free_number_is_taken_once_until_it_is_given_back() -> None:
    store = Store(LAYOUT, slot=2, lane=1)
    assert [store.take("slot") for _ in range(3)] == [0, 1, 2]
    assert store.sizes["slot"] == 4
    store["total"][1] = 9
    store.give_back("slot", 1)
    assert store["total"][1, 0] == 0
    assert store.take("slot") == 1
    assert take_many(*store.arguments, 5) == 1
    give_back(store.arguments[1], store.header.slot_free, 2)
    assert store.free("slot") == 1
    assert take_many(*store.arguments, 5) == 1


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[str, int]]:
    kinds = st.sampled_from(["take", "give", "lane", "slot", "write", "save"])
    return draw(st.lists(st.tuples(kinds, st.integers(0, 9)), max_size=30))


@settings(max_examples=50)
@given(steps())
def test_whatever_is_done_a_store_holds_what_a_dictionary_would(
    todo: list[tuple[str, int]],
) -> None:
    store, lanes = Store(LAYOUT, slot=1, lane=1), 1
    totals: dict[int, list[float]] = {}
    for step, number in todo:
        if step == "take":
            slot = store.take("slot")
            assert slot not in totals
            totals[slot] = [0.0] * lanes
        elif step == "give" and totals:
            slot = sorted(totals)[number % len(totals)]
            store.give_back("slot", slot)
            del totals[slot]
        elif step == "lane":
            store.resize(lane=number)
            lanes = max(lanes, number)
            totals = {slot: row + [0.0] * (lanes - len(row)) for slot, row in totals.items()}
        elif step == "slot":
            store.grow(slot=number)
        elif step == "write":
            for slot, row in totals.items():
                row[number % lanes] = store["total"][slot, number % lanes] = slot + number
        elif step == "save":
            store = Store.load(LAYOUT, store.save())
    assert {slot: store["total"][slot].tolist() for slot in totals} == totals
    assert store.free("slot") == store.sizes["slot"] - len(totals)
    assert (np.delete(store["total"], list(totals), axis=0) == 0).all()
    assert (store["code"] == 7).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda blob: b"what" + blob, "not a saved state"),
        (lambda blob: blob[:7], "not a saved state"),
        (lambda blob: blob[:4] + bytes([9]) + blob[5:], "has version 9"),
        (lambda blob: blob[:-10], "damaged"),
        (lambda blob: blob[:200] + bytes([blob[200] ^ 1]) + blob[201:], "damaged"),
    ],
)
def test_bytes_that_are_not_what_was_saved_are_refused(change: Any, sentence: str) -> None:
    blob = Store(LAYOUT, slot=2, lane=2).save()
    with pytest.raises(StateError, match=sentence):
        Store.load(LAYOUT, change(blob))


def test_the_bytes_of_another_layout_are_refused() -> None:
    other = Layout("test", 1, (*LAYOUT.fields, Field("more", np.int64)), LAYOUT.recycled)
    with pytest.raises(StateError, match=r"The saved state is of test 1"):
        Store.load(other, Store(LAYOUT, slot=1, lane=1).save())


def test_a_layout_with_two_fields_of_one_name_is_refused() -> None:
    with pytest.raises(ValueError, match="one name"):
        Layout("test", 1, (Field("slot", np.int64, ("slot",)),))
    with pytest.raises(ValueError, match="no field has the axis lane"):
        Layout("test", 1, (Field("key", np.int64, ("slot",)),), recycled=("lane",))
    with pytest.raises(ValueError, match="float32 is none of"):
        Field("key", np.float32)


def test_sizes_are_told_by_field() -> None:
    store = Store(LAYOUT, slot=4, lane=8)
    assert store.bytes_of() == {"total": 256, "code": 128, "key": 32, "flag": 8}
    assert store.nbytes >= 256 + 128 + 32 + 8


@pytest.mark.parametrize(
    ("owner", "fingerprint", "told"),
    [
        ("trends 9", "a", "is of trends 9, and trends 10 is to be restored. Finish the old run"),
        ("trends 10", "b", "is of trends 10 with other queries or options than these"),
    ],
)
def test_whose_a_saved_state_is_says_what_to_do(owner: str, fingerprint: str, told: str) -> None:
    blob = pack(owner, fingerprint, {"counts": np.arange(3)})
    with pytest.raises(StateError, match=told):
        unpack("trends 10", "a", blob)
