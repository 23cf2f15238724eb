"""Rows of totals that are given out and those that stay, against a list of rows."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.kernels import Store
from elsinore.numeric import LIMB_BITS, THRESHOLD
from elsinore.trends.core.arrays import Codes, Doubles
from elsinore.trends.core.given_out import take_totals
from elsinore.trends.core.totals import find_total
from elsinore.trends.partials import new_rooms
from elsinore.trends.store import STATE

QUERIES, FIELDS, OUTLIERS = 3, 2, 1
BUCKETS = 128

ROWS = st.lists(
    st.tuples(
        st.tuples(st.integers(0, QUERIES - 1), st.integers(0, 4), st.integers(-3, 3)),
        st.lists(
            st.tuples(st.floats(-(2.0**511), 2.0**511), st.integers(0, 3)),
            min_size=FIELDS,
            max_size=FIELDS,
        ),
        st.integers(-(2**63), 2**63 - 1),
    ),
    unique_by=lambda row: row[0],
    max_size=40,
)


@settings(max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "30")), deadline=None)
@given(rows=ROWS, until=st.lists(st.integers(-4, 3), min_size=QUERIES), kept=st.integers(-1, 4))
def test_what_is_due_is_given_out_and_the_rest_stays(
    rows: list[Any], until: list[int], kept: int
) -> None:
    sizes: dict[str, int] = dict.fromkeys(STATE.axes, 1)
    sizes |= {"row": 64, "bucket": BUCKETS, "field": FIELDS, "outlier": OUTLIERS}
    store = Store(STATE, **sizes)
    header, ints, doubles = store.arguments
    for (query, group, window), numbers, extreme in rows:
        row = find_total(header, ints, doubles, query, group, window)
        store["total_cells"][row] = [cell for cell, _ in numbers]
        store["total_powers"][row] = [power for _, power in numbers]
        store["total_extremes"][row] = extreme
    wholes, numbers, codes = rooms = new_rooms(store)
    count = take_totals(*store.entered, np.array(until), kept, *rooms)

    due = [r for r in rows if r[0][2] <= until[r[0][0]] and r[0][1] != kept]
    assert count == len(due)
    given_out = [
        ((codes[n], codes[count + n], wholes[n]), _values(numbers, codes, count, n), extreme)
        for n, extreme in enumerate(wholes[count : 2 * count])
    ]
    assert given_out == [(p, [_value(c, 2 * w) for c, w in v], x) for p, v, x in due]
    assert np.all(np.abs(numbers[: FIELDS * count]) < THRESHOLD)

    left = [row for row in rows if row not in due]
    assert store["totals"] == len(left)
    for row, (place, cells, extreme) in enumerate(left):
        assert find_total(header, ints, doubles, *place) == row
        assert store["total_cells"][row].tolist() == [cell for cell, _ in cells]
        assert store["total_powers"][row].tolist() == [power for _, power in cells]
        assert store["total_extremes"][row].tolist() == [extreme]


def _values(numbers: Doubles, codes: Codes, count: int, row: int) -> list[Fraction]:
    return [
        _value(numbers[field * count + row], int(codes[(2 + field) * count + row]))
        for field in range(FIELDS)
    ]


def _value(cell: float, limbs: int) -> Fraction:
    return Fraction(float(cell)) * Fraction(2) ** (LIMB_BITS * limbs)
