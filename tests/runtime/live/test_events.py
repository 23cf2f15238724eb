"""Which events of a batch a live run adds: neither late ones nor those too far ahead."""

from __future__ import annotations

import pyarrow as pa
import pytest

from elsinore import InputError, Workload
from elsinore.runtime.live import EventReader, setup_for
from elsinore.runtime.request import RunRequest

WORKLOAD = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 5 seconds;")
SECOND = 1_000_000


def reader(table: pa.Table, *, rejects: bool) -> EventReader:
    return setup_for(WORKLOAD, table.schema, RunRequest(rejects=rejects)).reader()


def events(*times: int) -> pa.Table:
    return pa.table({"time": list(times), "type": ["A"] * len(times)})


def test_late_events_and_those_too_far_ahead_are_parted_with_reasons() -> None:
    table = events(3, 9, 12, 99, 4)
    reads = reader(table, rejects=True)
    admission = reads.admit(reads.usable(table), watermark=9 * SECOND, latest=50 * SECOND)
    assert admission.events.table["time"].to_pylist() == [9, 12]
    assert (admission.late_count, admission.rejected_count) == (2, 1)
    reasons = [
        (row["time"], row["reject_reason"])
        for rejected in admission.rejected
        for row in rejected.to_pylist()
    ]
    assert reasons == [
        (99, "time too far ahead of the clock"),
        (3, "late: before the watermark"),
        (4, "late: before the watermark"),
    ]


def test_late_events_show_that_their_partition_is_not_idle() -> None:
    table = events(3, 4)
    reads = reader(table, rejects=False)
    admission = reads.admit(reads.usable(table), watermark=9 * SECOND, latest=None)
    assert (admission.greatest, len(admission.events.times)) == (4 * SECOND, 0)


def test_without_bounds_all_usable_events_are_added() -> None:
    table = events(3, 99)
    reads = reader(table, rejects=False)
    admission = reads.admit(reads.usable(table), watermark=None, latest=None)
    assert admission.events.table.equals(table)
    assert admission.rejected == []


def test_an_event_too_far_ahead_is_an_error_unless_it_may_be_rejected() -> None:
    table = events(3, 99)
    reads = reader(table, rejects=False)
    with pytest.raises(InputError, match=r"1 event of 2 .* too far ahead .*\n.*\n.*row 2"):
        reads.admit(reads.usable(table), watermark=None, latest=50 * SECOND)
