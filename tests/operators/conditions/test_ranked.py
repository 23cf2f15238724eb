"""Codes of texts and exact numbers keep their order, whatever comes later."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from elsinore.operators.conditions import ranked
from elsinore.operators.conditions.ranked import OrderCodes, recoded

TEXTS = st.lists(st.text(max_size=3), max_size=8)


@given(st.lists(TEXTS, min_size=1, max_size=5), st.sampled_from([0, 64]), st.text(max_size=3))
def test_all_codes_are_in_the_order_of_values(
    batches: list[list[str]], few: int, constant: str
) -> None:
    ordered, values = OrderCodes(), []
    ordered.pin([constant])
    codes = np.zeros(0, np.int64)
    usual, ranked.FEW = ranked.FEW, few  # 0: all are numbered anew
    try:
        for batch in batches:
            changed = ordered.learn(batch)
            if changed is not None:
                codes = recoded(codes, *changed)
            codes = np.concatenate((codes, ordered.encoded(batch)))
            values += batch
    finally:
        ranked.FEW = usual
    for one, value in zip(codes, values, strict=True):
        for other, beside in zip(codes, values, strict=True):
            assert (one < other) == (value < beside)
        assert (one < ordered.code_of(constant)) == (value < constant)
        assert (one == ordered.code_of(constant)) == (value == constant)


def test_values_that_nobody_needs_are_forgotten() -> None:
    ordered = OrderCodes()
    ordered.pin(["m"])
    ordered.learn("abcd")
    needed = ordered.encoded("bd")
    ordered.keep(needed)
    assert [value for value, _ in sorted(ordered.items())] == ["b", "d", "m"]
    assert ordered.encoded("bd").tolist() == needed.tolist()


def test_codes_are_the_same_after_a_stop() -> None:
    ordered, other = OrderCodes(), OrderCodes()
    ordered.learn("bda")
    other.restore(ordered.items())
    for codes in (ordered, other):
        assert codes.learn("c") is None
    assert other.encoded("abcd").tolist() == ordered.encoded("abcd").tolist()


def test_numbers_of_all_kinds_have_one_order() -> None:
    values: list[Any] = [Decimal("0.5"), 1, 2**64, 0.25, Decimal("1.0")]
    ordered = OrderCodes()
    ordered.learn(values)
    codes = [ordered.code_of(value) for value in (0.25, Decimal("0.5"), 1, 2**64)]
    assert codes == sorted(set(codes))
    assert ordered.code_of(1) == ordered.code_of(1.0)
