"""Slots that are lent to keys, against a dictionary."""

from __future__ import annotations

import os

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.model import Window
from elsinore.operators.slots import FIRST_SLOTS, KeySlots

often = settings(max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "50")))
# Keys that the first table looks for at the same place, of whose entries each moves up when one
# before it is removed; and many that make it grow.
mixed = np.arange(2**14) * 2654435761
meeting = np.flatnonzero(((mixed ^ (mixed >> 32)) & (4 * FIRST_SLOTS - 1)) == 4 * FIRST_SLOTS - 2)
keys = st.one_of(st.sampled_from(meeting[:7].tolist()), st.integers(0, 2**31 - 1))
batches = st.lists(st.lists(keys, min_size=1, max_size=120), min_size=1, max_size=12)


@often
@given(batches, st.integers(1, 5), st.booleans())
def test_every_key_keeps_its_slot_until_its_windows_are_over(
    drawn: list[list[int]], within: int, saved: bool
) -> None:
    slots, model, last = KeySlots(), {}, {}
    window = Window(within)
    for time, batch in enumerate(drawn):
        actual = slots.slots_of(np.array(batch, np.int32), np.full(len(batch), time)).tolist()
        for key, slot in zip(batch, actual, strict=True):
            assert model.setdefault(key, slot) == slot
            last[key] = time
        assert len(set(model.values())) == len(model)  # no two keys have one slot
        over = {key for key in model if window.bounds(window.last(last[key]))[1] <= time}
        idle = slots.idle(time, [window])
        assert sorted(idle.tolist()) == sorted(model[key] for key in over)
        slots.release(idle)
        model = {key: slot for key, slot in model.items() if key not in over}
        assert sorted(slots.used.tolist()) == sorted(model.values())
        if saved:
            slots = KeySlots.from_arrays(**slots.arrays())


@often
@given(st.permutations(meeting[:6].tolist()), st.sets(st.integers(0, 5)))
def test_keys_that_meet_in_the_table_are_found_when_others_have_gone(
    order: list[int], gone: set[int]
) -> None:
    slots = KeySlots()
    actual = slots.slots_of(np.array(order, np.int32), np.zeros(6, np.int64))
    slots.release(actual[sorted(gone)].astype(np.int64))
    kept = [place for place in range(6) if place not in gone]
    again = slots.slots_of(np.array(order, np.int32)[kept], np.ones(len(kept), np.int64))
    assert again.tolist() == actual[kept].tolist()


def test_a_window_without_an_end_leaves_all_keys_their_slots() -> None:
    slots = KeySlots()
    slots.slots_of(np.array([4, 7], np.int32), np.array([0, 1]))
    assert len(slots.idle(10**9, [Window(5), None])) == 0


def test_keys_that_are_none_get_no_slot() -> None:
    slots = KeySlots()
    assert slots.slots_of(np.array([-1, 3, -1], np.int32), np.arange(3)).tolist() == [-1, 0, -1]
    assert slots.used.tolist() == [0]
