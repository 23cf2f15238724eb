"""Codes of texts and exact numbers keep their order, whatever comes later."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from elsinore.operators.conditions.orders import NULL
from elsinore.operators.conditions.ranked import RankedValues

TEXTS = st.lists(st.none() | st.text(max_size=3), max_size=8)


def encoded(values: list[str | None]) -> pa.DictionaryArray:
    return pa.array(values, pa.string()).dictionary_encode()


@given(st.lists(TEXTS, min_size=1, max_size=5), st.text(max_size=3))
def test_all_codes_are_in_the_order_of_values(batches: list[list[str | None]], text: str) -> None:
    ranked, kept = RankedValues(), []
    codes: list[int] = []
    for batch in batches:
        column = encoded(batch)
        changed = ranked.learn([column])
        if changed is not None:
            codes = [code if code == NULL else int(changed[code >> 1]) for code in codes]
        codes += ranked.codes(column).tolist()
        kept += batch
    for one, value in zip(codes, kept, strict=True):
        assert (one == NULL) == (value is None)
        for other, beside in zip(codes, kept, strict=True):
            if value is not None and beside is not None:
                assert (one < other) == (value < beside)
        if value is not None:
            assert (one < ranked.code(text)) == (value < text)
            assert (one == ranked.code(text)) == (value == text)


def test_values_that_nobody_needs_are_forgotten() -> None:
    ranked = RankedValues(["a", "b", "c", "d"])
    needed = ranked.codes(encoded(["b", None, "d"]))
    changed = ranked.keep(needed)
    assert ranked.values == ["b", "d"]
    assert [int(changed[code >> 1]) for code in needed.tolist() if code != NULL] == [0, 2]


def test_numbers_of_all_kinds_have_one_order() -> None:
    values = [Decimal("0.5"), 1, 2**64, 0.25, Decimal("1.0")]
    ranked = RankedValues(set(values))
    assert ranked.code(0.25) < ranked.code(Decimal("0.5")) < ranked.code(1) < ranked.code(2**64)
    assert ranked.code(1) == ranked.code(1.0)
