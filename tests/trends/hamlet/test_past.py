"""Merged epochs give the same sums, wherever their ranks lie."""

from __future__ import annotations

import os
from types import SimpleNamespace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.kernels import uncompiled
from elsinore.trends.core.arrays import FOREVER, Ints
from elsinore.trends.hamlet.forms import sum_past
from elsinore.trends.hamlet.layout import (
    END,
    ENDS,
    EPOCHS,
    EQUAL,
    FIRST,
    INFO,
    PREFIX,
    PRESENT,
    ROWS,
    STRICT,
    Rows,
    Shape,
)
from elsinore.trends.hamlet.past import merge_two, move_ranks

KEYS = 8  # different keys
Entries = list[tuple[int, int]]  # key, number

often = settings(max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "100")), deadline=None)
epochs = st.lists(
    st.lists(st.tuples(st.integers(0, KEYS - 1), st.integers(1, 9)), max_size=6),
    min_size=2,
    max_size=5,
)


class Index:
    """An index by one condition, all of whose epochs are past, with a column more than is live."""

    def __init__(self, kind: int, of_epochs: list[Entries], dropped: int) -> None:
        sizes = [len({key for key, _ in entries}) + len(entries) % 2 for entries in of_epochs]
        room = dropped + 2 * sum(sizes)
        self.kind, self.info = kind, np.zeros(INFO, dtype=np.int64)
        self.info[ROWS], self.info[FIRST], self.info[EPOCHS] = 1 + room, dropped, len(sizes)
        self.info[ENDS : ENDS + len(sizes)] = dropped + np.cumsum(sizes)
        self.info[PRESENT] = self.info[END] = dropped + sum(sizes)
        self.shape = Shape(1, 1, 3, 1, 3, big=False)
        self.rows = Rows(
            np.zeros(3 * (1 + room)),
            np.zeros(3 * (1 + room), dtype=np.int32),
            np.full(3 * (1 + room), FOREVER),
            3,
        )
        self.keys, self.used = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
        begin = dropped
        for entries, size in zip(of_epochs, sizes, strict=True):
            keys = sorted({key for key, _ in entries})
            self.keys[begin : begin + size] = keys + [FOREVER] * (size - len(keys))
            for rank in range(begin, begin + size):
                self.used[rank] = 1
                key = self.keys[rank]
                mine = [n for k, n in entries if (k == key if kind == EQUAL else k <= key)]
                cell = 3 * (1 + rank)
                self.rows.numbers[cell + 1 : cell + 3] = sum(mine), 2 * sum(mine)
                self.rows.least[cell + 1 : cell + 3] = min(mine, default=FOREVER)
            begin += size

    def bounds(self) -> Ints:
        """Return where epochs begin, and where the last one ends."""
        return np.concatenate(
            ([self.info[FIRST]], self.info[ENDS : ENDS + self.info[EPOCHS]])
        ).astype(np.int64)

    def graph(self) -> SimpleNamespace:
        return SimpleNamespace(info=self.info, keys=self.keys, used=self.used, rows=self.rows)

    def merge_last(self) -> None:
        """Make one epoch of the last two."""
        first, second, end = self.bounds()[-3:].tolist()
        uncompiled(merge_two)(self.graph(), self.kind, first, second, end, self.shape)
        self.info[EPOCHS] -= 1
        self.info[ENDS + self.info[EPOCHS] - 1] = end

    def sums(self) -> list[list[float]]:
        """Return for each value what `sum_past` adds up, and the least."""
        found = []
        for value in range(-1, KEYS + 1):
            to = Rows(np.zeros(3), np.zeros(3, dtype=np.int32), np.full(3, FOREVER), 3)
            uncompiled(sum_past)(
                to, 0, self.kind, value, self.keys, self.rows, 1, self.info, self.shape
            )
            found.append([*to.numbers.tolist(), *to.least.tolist()])
        return found


@often
@given(st.sampled_from((PREFIX, STRICT, EQUAL)), epochs, st.integers(0, 9))
def test_merged_epochs_give_the_same_sums(
    kind: int, of_epochs: list[Entries], dropped: int
) -> None:
    index = Index(kind, of_epochs, dropped)
    expected = index.sums()
    entries = [entry for epoch in of_epochs for entry in epoch]
    for value, found in zip(range(-1, KEYS + 1), expected, strict=True):
        precedes = {PREFIX: int.__le__, STRICT: int.__lt__, EQUAL: int.__eq__}[kind]
        assert found[1] == sum(number for key, number in entries if precedes(key, value))
    while index.info[EPOCHS] > 1:
        index.merge_last()
        assert index.sums() == expected
        for first, end in zip(index.bounds(), index.bounds()[1:], strict=False):
            assert (np.diff(index.keys[first:end]) >= 0).all()


@often
@given(st.sampled_from((PREFIX, STRICT, EQUAL)), epochs, st.integers(0, 30))
def test_ranks_that_move_down_give_the_same_sums(
    kind: int, of_epochs: list[Entries], dropped: int
) -> None:
    index = Index(kind, of_epochs, dropped)
    expected, ranks = index.sums(), int(index.info[END]) - dropped
    index.rows.numbers[3 : 3 * (1 + dropped)] = 7.0  # what was dropped may be anything
    index.rows.least[3 : 3 * (1 + dropped)] = 7
    uncompiled(move_ranks)(index.graph(), 1, index.info[ROWS] - 1, index.shape)
    assert index.sums() == expected
    assert index.info[[FIRST, PRESENT, END]].tolist() == [0, ranks, ranks]
    assert index.used.tolist() == [1] * ranks + [0] * (len(index.used) - ranks)
    assert not index.rows.numbers[3 : 3 * (1 + ranks) : 3].any()  # the column that is not live
