import pyarrow as pa
import pytest

from elsinore.errors import InputError
from elsinore.runtime.rejects import set_aside, unusable_reasons
from elsinore.runtime.times import to_ticks


def reasons_of(time, types=None):
    return unusable_reasons(time, to_ticks(time)[0], types).to_pylist()


def test_text_is_null_or_unparseable():
    time = pa.chunked_array([["1970-01-01", "soon"], [None]])
    assert reasons_of(time) == [None, "unparseable time", "null time"]


def test_text_that_is_a_time_or_a_number_may_be_out_of_range():
    assert reasons_of(pa.array(["1e30", "5", "9" * 18, "soon"])) == [
        "time out of range",
        None,
        "time out of range",
        "unparseable time",
    ]
    far = pa.array(["9999-12-31", "2024-02-30", "2024-01-01"])
    reasons = unusable_reasons(far, to_ticks(far, per_microsecond=1_000)[0])
    assert reasons.to_pylist() == ["time out of range", "unparseable time", None]


def test_floats_are_null_not_a_number_or_out_of_range():
    time = pa.array([1.0, float("nan"), 1e300, None])
    assert reasons_of(time) == [None, "time is not a number", "time out of range", "null time"]


def test_integers_and_timestamps_are_out_of_range():
    assert reasons_of(pa.array([2**62])) == ["time out of range"]
    assert reasons_of(pa.array([2**62]).cast(pa.timestamp("s"))) == ["time out of range"]


def test_a_null_type_is_a_reason_and_the_time_comes_first():
    time = pa.array([1, None, 3])
    assert reasons_of(time, pa.array([None, None, "A"])) == ["null type", "null time", None]


def test_usable_events_pass_whole():
    table = pa.table({"time": [1, 2]})
    kept, rejected = set_aside(table, pa.nulls(2, pa.string()), allowed=False)
    assert kept.equals(table)
    assert rejected.num_rows == 0
    assert rejected.column_names == ["time", "reject_reason"]


def test_unusable_events_are_set_aside_in_order_and_none_is_lost():
    table = pa.table({"time": [1, None, 3, None], "type": ["A", "B", None, "D"]})
    reasons = unusable_reasons(table["time"], to_ticks(table["time"])[0], table["type"])
    kept, rejected = set_aside(table, reasons, allowed=True)
    assert kept["type"].to_pylist() == ["A"]
    assert rejected["type"].to_pylist() == ["B", None, "D"]
    assert rejected["reject_reason"].to_pylist() == ["null time", "null type", "null time"]


def test_a_column_called_reject_reason_is_kept_beside_the_new_one():
    table = pa.table({"reject_reason": ["old"]})
    _, rejected = set_aside(table, pa.array(["null time"]), allowed=True)
    assert rejected.to_pylist() == [{"reject_reason": "old", "reject_reason_2": "null time"}]


def test_without_a_place_for_rejects_the_count_and_the_first_five_are_shown():
    table = pa.table({"time": [1] + [None] * 1200, "type": list(map(str, range(1201)))})
    reasons = unusable_reasons(table["time"], to_ticks(table["time"])[0])
    with pytest.raises(InputError) as caught:
        set_aside(table, reasons, allowed=False)
    lines = str(caught.value).splitlines()
    assert lines[0] == "1,200 events of 1,201 cannot be used (1,200 with null time)."
    assert lines[2:7] == [f"  row {n} (null time): time=null, type={n - 1}" for n in range(2, 7)]
    assert lines[7].endswith("rejects=True, which sets them aside.")
    assert len(lines) == 8


def test_a_long_row_is_shortened():
    table = pa.table({"text": ["x" * 10_000]})
    with pytest.raises(InputError) as caught:
        set_aside(table, pa.array(["null time"]), allowed=False)
    assert max(map(len, str(caught.value).splitlines())) < 300


def test_times_that_python_does_not_have_are_shown():
    table = pa.table({"time": pa.array([2**61], pa.timestamp("s"))})
    reasons = unusable_reasons(table["time"], to_ticks(table["time"])[0])
    with pytest.raises(InputError, match=f"time out of range.*{2**61}"):
        set_aside(table, reasons, allowed=False)
