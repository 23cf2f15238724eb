import datetime as dt
import decimal
import pickle
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.errors import InputError
from elsinore.runtime import times
from elsinore.runtime.times import (
    TimeKind,
    from_ticks,
    to_ticks,
    within,
)

I64 = st.integers(-(2**63) + 1, 2**63 - 1)
CENTURIES = st.integers(-2_000_000_000_000_000, 2_000_000_000_000_000)  # around 1907 to 2033
PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}


def toward_zero(value, step):
    return abs(value) // step * step * (1 if value > 0 else -1)


def optional(values):
    return st.lists(st.none() | values, max_size=20)


@given(
    optional(I64), st.sampled_from(["s", "ms", "us", "ns"]), st.sampled_from([None, "Asia/Tokyo"])
)
def test_timestamps_of_any_unit_come_back_as_they_were(values, unit, zone):
    factor = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}[unit]
    step = 1000 if unit == "ns" else 1
    kept = [None if v is None else toward_zero(v, factor * step) // factor for v in values]
    column = pa.array(kept, pa.int64()).cast(pa.timestamp(unit, zone))
    micros, kind = to_ticks(column)
    assert micros.null_count == column.null_count
    assert from_ticks(micros, kind).equals(column)
    assert kind == TimeKind(form="timestamp", unit=unit, zone=zone)


@given(st.lists(I64, max_size=20).map(sorted), I64.map(abs), st.integers(1, 3))
def test_of_ticks_that_never_fall_the_first_and_the_last_are_the_furthest(values, largest, threads):
    ticks = pa.array(values, pa.int64())
    actual = within(ticks, largest, threads, ascending=True)
    assert actual.equals(within(ticks, largest, threads))
    assert actual.to_pylist() == [v if abs(v) <= largest else None for v in values]
    assert actual is ticks or actual.null_count


@given(optional(I64), st.sampled_from(["s", "ms", "us"]))
def test_integers_are_exact_or_null_and_come_back(values, unit):
    column = pa.array(values, pa.int64())
    micros, kind = to_ticks(column, unit)
    expected = [v if v is None or abs(v * PER_UNIT[unit]) < 2**63 else None for v in values]
    assert micros.to_pylist() == [v if v is None else v * PER_UNIT[unit] for v in expected]
    back = from_ticks(micros, kind)
    assert back.type == pa.int64()
    assert back.to_pylist() == expected


@given(optional(CENTURIES), st.sampled_from(["s", "ms", "us"]))
def test_microseconds_survive_the_way_through_floats(values, unit):
    kind = TimeKind(form="float", unit=unit)
    floats = from_ticks(pa.array(values, pa.int64()), kind)
    assert floats.type == pa.float64()
    assert to_ticks(floats, unit)[0].to_pylist() == values


@given(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from(["s", "ms", "us"]))
def test_a_float_becomes_the_nearest_microsecond_or_null(value, unit):
    (result,) = to_ticks(pa.array([value], pa.float64()), unit)[0].to_pylist()
    if not np.isfinite(value) or abs(value) * PER_UNIT[unit] >= 2**63:
        assert result is None
    elif result is not None:
        exact = decimal.Decimal(value) * PER_UNIT[unit]
        assert abs(result - exact) <= decimal.Decimal("0.5000001")


@given(st.lists(st.datetimes(min_value=dt.datetime(1, 1, 1)), max_size=10))
def test_iso_text_is_read_as_its_timestamp(moments):
    micros, kind = to_ticks(pa.array([m.isoformat() for m in moments], pa.string()))
    assert from_ticks(micros, kind).to_pylist() == moments


@given(
    st.lists(
        st.datetimes(
            min_value=dt.datetime(1000, 1, 2),
            max_value=dt.datetime(9999, 12, 30),
            timezones=st.integers(-23 * 60, 23 * 60).map(
                lambda minutes: dt.timezone(dt.timedelta(minutes=minutes))
            ),
        ),
        max_size=10,
    )
)
def test_unreadable_text_leaves_the_other_rows_as_they_are(moments):
    texts = [m.isoformat() for m in moments]
    alone, _ = to_ticks(pa.array(texts, pa.string()))
    beside, _ = to_ticks(pa.array([*texts, "soon"], pa.string()))
    assert beside.to_pylist() == [*alone.to_pylist(), None]
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    assert alone.to_pylist() == [(m - epoch) // dt.timedelta(microseconds=1) for m in moments]


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T01", 3_600_000_000),
        ("1970-01-01 00:01", 60_000_000),
        ("1970-01-01T00:00:01,25", 1_250_000),
        ("1970-01-01T00:00:00.123456789", 123_456),
        ("1970-01-01T02:00:00+0200", 0),
        ("1970-01-01T02:00:00+02", 0),
        ("1969-12-31T22:30-01:30", 0),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("1970-02-30", None),
        ("1970-01-01T24:00:00", None),
        ("1970-01-01T00:00:60", None),
        ("1970-01-01T00:00+99:00", None),
        ("", None),
        (None, None),
    ],
)
def test_each_spelling_of_iso_8601(text, micros):
    assert to_ticks(pa.array([text], pa.string()))[0].to_pylist() == [micros]
    both = to_ticks(pa.array([text, "soon"], pa.string()))[0].to_pylist()
    assert both == [micros, None]


def test_text_with_a_zone_comes_out_as_utc_and_without_one_as_local_time():
    _, zoned = to_ticks(pa.array(["1970-01-01T00:00:00Z", "1970-01-01"]))
    _, local = to_ticks(pa.array(["1970-01-01"]))
    assert zoned.arrow_type == pa.timestamp("us", "UTC")
    assert local.arrow_type == pa.timestamp("us")


def test_a_zone_in_one_chunk_counts_for_all():
    column = pa.chunked_array([["1970-01-01"], ["1970-01-02T00:00:00+00:00"]])
    micros, kind = to_ticks(column)
    assert kind.zone == "UTC"
    assert micros.to_pylist() == [0, 86_400_000_000]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: pa.array(["1970-01-01"]).dictionary_encode(),
        lambda: pa.array(["1970-01-01"], pa.large_string()),
        lambda: pa.array(["1970-01-01"], pa.string_view()),
        lambda: pa.array([0], pa.int8()),
        lambda: pa.array([0], pa.uint64()),
        lambda: pa.array([0], pa.float32()),
        lambda: pa.array([dt.date(1970, 1, 1)], pa.date32()),
        lambda: pa.array([dt.date(1970, 1, 1)], pa.date64()),
        lambda: pa.chunked_array([pa.array([], pa.int64()), pa.array([0])]),
    ],
)
def test_every_kind_of_column_is_read(make, unit):
    assert to_ticks(make(), unit)[0].to_pylist() == [0]


def test_times_outside_64_bits_become_null_and_never_wrap():
    assert to_ticks(pa.array([2**63], pa.uint64()), "us")[0].to_pylist() == [None]
    assert to_ticks(pa.array([2**31 - 1], pa.int32()).cast(pa.date32()))[0].null_count == 1
    seconds = pa.array([2**62]).cast(pa.timestamp("s"))
    assert to_ticks(seconds)[0].to_pylist() == [None]
    assert to_ticks(pa.array([1e300, float("nan"), 2.0**63]))[0].null_count == 3
    assert to_ticks(pa.array([2.0**63]), "us")[0].null_count == 1


@settings(max_examples=30)
@given(
    st.lists(st.none() | st.floats(width=32) | st.integers(-(10**6), 10**6), max_size=12),
    st.sampled_from([pa.float64(), pa.int32(), pa.timestamp("s"), pa.date32()]),
    st.integers(1, 3),
    st.integers(1, 5),
)
def test_times_converted_slice_by_slice_are_those_converted_at_once(
    values, data_type, threads, at_once
):
    if not pa.types.is_floating(data_type):
        values = [None if v is None or not abs(v) < 10**6 else int(v) for v in values]
    plain = pa.int64() if pa.types.is_timestamp(data_type) else pa.int32()
    plain = data_type if pa.types.is_floating(data_type) else plain
    column = pa.array(values, plain).cast(data_type)
    for chunk in (column, column.dictionary_encode()):
        whole, kind = to_ticks(chunk)
        with mock.patch.object(times, "SLICE_ROWS", at_once):
            by_slices, same_kind = to_ticks(chunk, threads=threads)
        assert by_slices.equals(whole)
        assert same_kind == kind


def test_nanoseconds_are_cut_to_the_microsecond_before():
    column = pa.array([1_999, -1]).cast(pa.timestamp("ns"))
    assert to_ticks(column)[0].to_pylist() == [1, -1]


def test_timestamps_get_the_coarsest_unit_that_is_exact():
    kind = TimeKind(form="timestamp", unit="s")
    assert from_ticks(pa.array([1_000_000]), kind).type == pa.timestamp("s")
    assert from_ticks(pa.array([1_500_000]), kind).type == pa.timestamp("ms")
    assert from_ticks(pa.array([1]), kind).type == pa.timestamp("us")
    nanos = TimeKind(form="timestamp", unit="ns")
    assert from_ticks(pa.array([2**62]), nanos).type == pa.timestamp("us")


def test_dates_stay_dates_where_they_are_whole_days():
    kind = TimeKind(form="date")
    assert from_ticks(pa.array([86_400_000_000, None]), kind).to_pylist() == [
        dt.date(1970, 1, 2),
        None,
    ]
    assert from_ticks(pa.array([1]), kind).type == pa.timestamp("us")


@pytest.mark.parametrize("form", ["timestamp", "date", "integer", "float", "text"])
def test_an_empty_result_has_the_type_of_its_kind(form):
    kind = TimeKind(form=form, unit="us")
    for empty in (pa.array([], pa.int64()), pa.chunked_array([], pa.int64())):
        assert from_ticks(empty, kind).type == kind.arrow_type


def test_a_column_of_nulls_only_is_all_null():
    assert to_ticks(pa.nulls(3))[0].to_pylist() == [None] * 3


@pytest.mark.parametrize("column", [pa.array([True]), pa.array([[1]]), pa.array([b"1"])])
def test_a_column_that_cannot_be_a_time_is_refused_with_what_can(column):
    with pytest.raises(InputError, match=r"cannot be a time\. A time is a timestamp, a date"):
        to_ticks(column)


def test_an_unknown_unit_is_refused():
    with pytest.raises(InputError, match="Unknown time unit 'min'"):
        to_ticks(pa.array([1]), "min")


def test_a_kind_can_be_pickled():
    kind = TimeKind(form="timestamp", unit="ns", zone="UTC")
    assert pickle.loads(pickle.dumps(kind)) == kind
