"""Rows of totals that are given out and those that stay, against a list of rows."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.kernels import Store, kernel
from elsinore.numeric import LIMB_BITS, THRESHOLD
from elsinore.trends.core.arrays import FOREVER, Codes, Doubles, Ints
from elsinore.trends.core.given_out import take_totals
from elsinore.trends.core.totals import find_total
from elsinore.trends.sums.store import STATE

QUERIES, FIELDS, OUTLIERS = 3, 2, 1
BUCKETS = 128
WHOLE = (int(FOREVER), 0, 0)  # the whole stream


@kernel
def give_out(
    headers: Any,
    ints: Ints,
    doubles: Doubles,
    until: int,
    group: int,
    wholes: Ints,
    numbers: Doubles,
    codes: Codes,
    place: int,
) -> int:
    """Call `take_totals`, as kernels do."""
    return take_totals(headers[0], ints, doubles, until, group, wholes, numbers, codes, place)


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


@settings(max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "30")))
@given(
    rows=ROWS,
    windows=st.lists(
        st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(0, 4)) | st.just(WHOLE),
        min_size=QUERIES,
        max_size=QUERIES,
    ),
    until=st.integers(-30, 30) | st.just(int(FOREVER)),
    kept=st.integers(-1, 4),
    before=st.integers(0, 3),
)
def test_what_is_due_is_given_out_and_the_rest_stays(
    rows: list[Any], windows: list[tuple[int, int, int]], until: int, kept: int, before: int
) -> None:
    sizes: dict[str, int] = dict.fromkeys(STATE.axes, 1)
    sizes |= {"row": 64, "bucket": BUCKETS, "field": FIELDS, "outlier": OUTLIERS}
    sizes["query"] = QUERIES
    store = Store(STATE, **sizes)
    header, ints, doubles = store.arguments
    for (query, group, window), values, extreme in rows:
        row = find_total(header, ints, doubles, query, group, window)
        store["total_cells"][row] = [cell for cell, _ in values]
        store["total_powers"][row] = [power for _, power in values]
        store["total_extremes"][row] = extreme
    for name, column in zip(("within", "step", "origin"), zip(*windows, strict=True), strict=True):
        store[name] = np.array(column)
    room = before + len(rows) + 3
    wholes = np.full((1 + OUTLIERS) * room, -1)
    numbers = np.full(FIELDS * room, -1.0)
    codes = np.full((2 + FIELDS) * room, -1, dtype=np.int32)
    count = give_out(*store.entered, until, kept, wholes, numbers, codes, before)
    numbered, extremes = wholes.reshape(-1, room)[:, before:]
    cells = numbers.reshape(-1, room)[:, before:]
    queries, groups, *powers = codes.reshape(-1, room)[:, before:]

    ends = [
        FOREVER if windows[query] == WHOLE else origin + window * step + within
        for (query, _, window), *_ in rows
        for within, step, origin in [windows[query]]
    ]
    due = [r for r, end in zip(rows, ends, strict=True) if end <= until and r[0][1] != kept]
    assert count == len(due)
    given_out = [
        (
            (queries[n], groups[n], numbered[n]),
            [_value(cell[n], int(power[n])) for cell, power in zip(cells, powers, strict=True)],
            extremes[n],
        )
        for n in range(count)
    ]
    assert given_out == [(p, [_value(c, 2 * w) for c, w in v], x) for p, v, x in due]
    assert np.all(np.abs(cells[:, :count]) < THRESHOLD)
    assert np.all(codes.reshape(-1, room)[:, :before] == -1)
    assert np.all(codes.reshape(-1, room)[:, before + count :] == -1)

    left = [row for row in rows if row not in due]
    assert store["totals"] == len(left)
    for row, (place, values, extreme) in enumerate(left):
        assert find_total(header, ints, doubles, *place) == row
        assert store["total_cells"][row].tolist() == [cell for cell, _ in values]
        assert store["total_powers"][row].tolist() == [power for _, power in values]
        assert store["total_extremes"][row].tolist() == [extreme]


def _value(cell: float, limbs: int) -> Fraction:
    return Fraction(float(cell)) * Fraction(2) ** (LIMB_BITS * limbs)
