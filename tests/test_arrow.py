"""Arrays made and read without pandas are those that pyarrow makes and reads."""

from __future__ import annotations

import datetime as dt
import gc
import math
import subprocess
import sys
from collections import OrderedDict
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from elsinore.arrow import to_arrow, to_numpy, to_scalar, whole

NOON = dt.datetime(2024, 2, 29, 12, 0, 0, 1)
VALUES = (
    *(None, True, 0, -(2**63), 2**63, 2**64, 1.5, float("nan"), "", "text", "\ud800", b"bytes"),
    *(Decimal("1.50"), Decimal("NaN"), 1j, NOON, NOON.replace(tzinfo=dt.UTC), NOON.date()),
    *(NOON.time(), dt.timedelta(1, 2, 3), {"a": 1}, {}, OrderedDict(a=2), [1, 2], [], ("x",), {1}),
    *(np.float32(1.5), np.float64(2.5), np.uint64(2**63), np.bool_(True), np.str_("s")),
    *(np.datetime64("2024-02-29T12:00:00", "ns"), np.datetime64("NaT"), np.array([1.0, 2.0])),
    *(pd.NaT, pd.NA, pd.Timestamp("2024-02-29", tz="Europe/Berlin"), pd.Timedelta("3s")),
    *(pa.scalar(5), pa.scalar(None), object(), range(3), bytearray(b"c")),
)
DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
KINDS = [None, pa.bool_(), pa.int32(), pa.int64(), pa.uint8(), pa.float64(), pa.string()]
KINDS += [pa.large_string(), pa.timestamp("us"), pa.dictionary(pa.int32(), pa.string())]
FROM_TEXTS = (None, pa.string(), pa.large_string())  # asked for others, pyarrow may crash


def outcome(make: Any, *arguments: Any, **named: Any) -> tuple[Any, ...]:
    """Return an array's type, values and nulls; what is raised where it cannot be made."""
    try:
        array = make(*arguments, **named)
    except (pa.ArrowInvalid, OverflowError):  # pyarrow raises the one or the other for a number
        return (pa.ArrowInvalid,)
    except Exception as error:  # whatever pyarrow raises
        return (type(error),)
    array.validate(full=True)
    return array.type, array.to_string(window=1000), array.null_count, len(array)


def same(values: Any, *arguments: Any, **named: Any) -> None:
    expected = outcome(pa.array, values, *arguments, **named)
    assert outcome(to_arrow, values, *arguments, **named) == expected


SIMPLE = st.sampled_from(
    (None, True, False, -(2**63), 2**63, 2**53 + 1, 7, -0.0, 1.5, math.nan, "", "\ud800", "é")
)
ZONES = st.sampled_from((None, dt.UTC, dt.timezone(dt.timedelta(hours=2)), ZoneInfo("Asia/Tokyo")))
LISTS = st.one_of(
    st.lists(SIMPLE),
    *(
        st.lists(st.none() | kind)
        for kind in (st.integers(-9, 300), st.floats(), st.text(), st.booleans(), st.dates())
    ),
    *(
        st.lists(st.none() | st.datetimes(timezones=zones))
        for zones in (st.none(), st.just(dt.UTC), ZONES)
    ),
)


@given(LISTS, st.sampled_from(KINDS))
def test_values_make_what_pyarrow_makes_of_them(values: list[Any], kind: pa.DataType) -> None:
    same(values, kind)
    same(tuple(values), kind)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_each_value_is_one_kind_of_column(value: Any) -> None:
    for values in ([value], [None, value], [value, value], [1, value], ["a", value], [NOON, value]):
        same(values)


@st.composite
def numbers(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None]:
    """Draw numbers of any kind, in one piece or not, and which of them are null."""
    dtype = draw(st.sampled_from((*DTYPES, "M8[us]", "m8[s]", "U3", "O")))
    rows = draw(st.integers(0, 70))
    drawn = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    values = np.array(drawn, "i8").astype(dtype)
    hidden = draw(st.lists(st.booleans(), min_size=rows, max_size=rows) | st.none())
    part = draw(st.sampled_from((slice(None), slice(1, None), slice(None, None, 2))))
    return values[part], None if hidden is None else np.array(hidden, bool)[part]


@given(numbers(), st.sampled_from(KINDS))
def test_numbers_of_numpy_make_what_pyarrow_makes_of_them(
    drawn: tuple[Any, Any], kind: pa.DataType | None
) -> None:
    values, mask = drawn
    assume(values.dtype.kind != "U" or kind in FROM_TEXTS)
    same(values, kind, mask=mask)


@example((np.array([], "O"), None), 0, 0, True, False)
@given(numbers(), st.integers(0, 20), st.integers(0, 70), st.booleans(), st.booleans())
def test_columns_are_read_as_pyarrow_reads_them(
    drawn: tuple[Any, Any], begin: int, rows: int, filled: bool, pieces: bool
) -> None:
    values, mask = drawn
    column = pa.array(values, mask=mask).slice(begin, rows)
    if pieces:
        column = pa.chunked_array([column.slice(0, 3), column.slice(3)])
    null, expected = None, whole(column)
    if filled and column.type not in {pa.string(), pa.null()}:
        null = pa.array([0]).cast(column.type, safe=False)[0].as_py()
        expected = expected.fill_null(null)
    expected = expected.to_numpy(zero_copy_only=False)
    found = to_numpy(column, null)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    assert found.flags.writeable == expected.flags.writeable


def test_nan_is_no_null() -> None:
    assert to_arrow(np.array([np.nan])).null_count == 0
    assert to_arrow([np.nan, None]).null_count == 1


def test_numbers_are_not_copied() -> None:
    numbers = np.arange(5)
    array = to_arrow(numbers)
    assert array.buffers()[1].address == numbers.ctypes.data == to_numpy(array).ctypes.data
    assert to_numpy(array[2:]).ctypes.data == numbers[2:].ctypes.data


def test_memory_lives_as_long_as_what_is_seen_of_it() -> None:
    arrays = [to_arrow(np.arange(10_000) + place) for place in range(20)]
    views = [to_numpy(array[5:]) for array in arrays]
    texts = to_arrow([f"text {place}" for place in range(10_000)])[9_000:]
    truths = to_arrow(np.ones(10_000, bool), mask=np.arange(10_000) > 9)
    del arrays
    gc.collect()
    _scratch = [np.full(10_000, -1) for _ in range(50)]
    assert [view.sum() for view in views] == [
        (np.arange(5, 10_000) + place).sum() for place in range(20)
    ]
    assert texts[999].as_py() == "text 9999"
    assert truths.true_count == 10


def test_columns_of_two_dimensions_are_refused() -> None:
    same(np.zeros((2, 2)))


def test_masks_are_heeded_and_of_the_length_of_what_they_hide() -> None:
    same(np.ma.masked_array([1, 2, 3], [0, 1, 0]))
    same(np.arange(4), mask=np.array([True]))


def test_numbers_of_the_other_byte_order_are_refused() -> None:
    same(np.arange(3).astype(">i4"))


def test_columns_without_pieces_are_empty() -> None:
    for kind in (pa.int64(), pa.bool_(), pa.string()):
        assert len(to_numpy(pa.chunked_array([], kind))) == 0


@pytest.mark.parametrize("value", [None, True, 7, 1.5, "text", b"bytes", NOON, [1]])
def test_scalars_are_those_of_pyarrow(value: object) -> None:
    assert to_scalar(value).equals(pa.scalar(value))
    if value is None or value == 7:
        for kind in (pa.uint8(), pa.int64(), pa.float64(), pa.float16()):
            assert to_scalar(value, kind).equals(pa.scalar(value, kind))


def test_converting_values_does_not_import_pandas() -> None:
    program = """
import datetime as dt, sys
import numpy as np, pyarrow as pa
from elsinore.arrow import to_arrow, to_numpy, to_scalar

held = [to_arrow(np.arange(3), mask=np.arange(3) == 1), to_arrow(np.arange(3) == 1)]
held += [to_arrow([1, None]), to_arrow([1.5], pa.float64()), to_arrow([], pa.int8())]
[to_numpy(column, 0) for column in held], to_numpy(held[1])
to_arrow(("a",)), to_arrow([], pa.string()), to_scalar(1, pa.int32()), to_scalar(None)
noon = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
to_arrow([noon, None]), to_arrow([noon.replace(tzinfo=None)]), to_arrow([None, noon.date()])
sys.exit("pandas" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
