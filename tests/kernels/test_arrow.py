"""Columns that kernels read where Arrow has them."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from elsinore.kernels import kernel, uncompiled
from elsinore.kernels.arrow import Lender, column_of, is_there, let_go, validity_of

CODE, NUMBER = 0, 1
LENDER = Lender()


@kernel
def copy_columns(batch: int, codes: NDArray[np.int32], numbers: NDArray[np.int64]) -> None:
    """Fill arrays with the columns of a batch."""
    codes[:] = column_of(batch, CODE, np.int32)
    numbers[:] = column_of(batch, NUMBER, np.int64)


@pytest.mark.parametrize("copy", [copy_columns, uncompiled(copy_columns)])
@settings(max_examples=30)
@given(st.integers(1, 40), st.data())
def test_a_slice_of_a_slice_is_read_as_it_is(copy: object, rows: int, data: st.DataObject) -> None:
    whole = pa.record_batch(
        {
            "code": pa.array(np.arange(rows, dtype=np.int32)),
            "number": pa.array(np.arange(rows) * 2**40),
            "text": pa.array([str(row) for row in range(rows)]),
        }
    )
    first, second = (data.draw(st.integers(0, rows - 1)) for _ in range(2))
    batch = whole.slice(first).slice(min(second, rows - first - 1))
    codes, numbers = np.zeros(batch.num_rows, np.int32), np.zeros(batch.num_rows, np.int64)
    assert callable(copy)
    copy(LENDER.lend(batch), codes, numbers)
    LENDER.take_back()
    assert codes.tolist() == batch.column("code").to_pylist()
    assert numbers.tolist() == batch.column("number").to_pylist()


@kernel
def copy_known(batch: int, known: NDArray[np.bool_]) -> None:
    """Tell which values of a batch's first column are there."""
    bits, first = validity_of(batch, 0)
    for row in range(len(known)):
        known[row] = is_there(bits, first + row)


@pytest.mark.parametrize("copy", [copy_known, uncompiled(copy_known)])
@settings(max_examples=30)
@given(
    st.lists(st.none() | st.floats(), min_size=1, max_size=40) | st.just([1.0, 2.0]),
    st.integers(0, 39),
)
def test_nulls_are_told_from_other_values(
    copy: object, values: list[float | None], first: int
) -> None:
    batch = pa.record_batch({"value": pa.array(values, pa.float64())})
    batch = batch.slice(min(first, len(values) - 1))
    known = np.zeros(batch.num_rows, dtype=np.bool_)
    assert callable(copy)
    copy(LENDER.lend(batch), known)
    LENDER.take_back()
    assert known.tolist() == [value is not None for value in batch.column("value").to_pylist()]


@kernel
def give_up(batch: int) -> None:
    """Let go of a batch."""
    let_go(batch)


@pytest.mark.parametrize("give_up", [give_up, uncompiled(give_up)])
def test_what_a_kernel_lets_go_of_is_not_taken_back_again(give_up: object) -> None:
    memory = np.arange(1000)
    held = sys.getrefcount(memory)
    for first in range(200):
        batch = pa.record_batch({"number": memory})
        address = LENDER.lend(batch.slice(first))
        del batch
        assert sys.getrefcount(memory) > held
        assert callable(give_up)
        give_up(address)
        assert sys.getrefcount(memory) == held
        LENDER.take_back()


def test_what_is_taken_back_is_let_go_of() -> None:
    before = pa.total_allocated_bytes()
    memory = np.arange(1000)
    held = sys.getrefcount(memory)
    for first in range(200):
        batch = pa.record_batch({"number": memory, "copy": pa.array(memory.tolist())})
        LENDER.lend(batch.slice(first))
        del batch
        assert sys.getrefcount(memory) > held
        assert pa.total_allocated_bytes() > before
        LENDER.take_back()
        LENDER.take_back()  # nothing is lent
        assert sys.getrefcount(memory) == held
        assert pa.total_allocated_bytes() == before
