"""Buckets: late events, timers, memory, and saved states."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from elsinore import Workload
from elsinore.errors import InvalidWorkloadError, QuerySemanticError, StateError
from elsinore.runtime.columnar import Packing
from elsinore.runtime.live import Bucket, LiveSetup, PassResults
from support.forged import check_forgeries
from support.live import setup_for

SCHEMA = pa.schema({"time": pa.int64(), "type": pa.string(), "g": pa.int64(), "v": pa.float64()})
TEXT = """
QUERY trends RETURN g, COUNT(*), SUM(B.v) PATTERN SEQ(A, B+) GROUP BY g WITHIN 10 SLIDE 5;
QUERY rising RETURN g, COUNT(*) PATTERN SEQ(A, B+ b) WHERE b[i].v > b[i-1].v GROUP BY g WITHIN 6;
QUERY matches RETURN a.v, b.v PATTERN SEQ(A a, B b, NOT A x) GROUP BY g WITHIN 4;
"""
SECOND = 1_000_000


def setup(text: str = TEXT) -> LiveSetup:
    return setup_for(Workload.parse(text), SCHEMA)


def events(times: list[int], types: str, keys: list[int]) -> pa.Table:
    columns = [pa.array(times), pa.array(list(types)), pa.array(keys), pa.array([1.0] * len(times))]
    return pa.table(columns, schema=SCHEMA)


def drawn(count: int, keys: int, seed: int = 0) -> pa.Table:
    draw = np.random.default_rng(seed)
    times = np.sort(draw.integers(0, count // 4, count))
    return pa.table(
        [times, draw.choice(list("AB"), count), draw.integers(0, keys, count), draw.random(count)],
        schema=SCHEMA,
    )


def rows_of(live: LiveSetup, rows: list[pa.RecordBatch]) -> dict[str, list[dict[str, object]]]:
    results = PassResults(live.passes[0], live.time)
    return {
        live.names[number]: results.presented(number, table).to_pylist()
        for number, table in results.finished(rows).items()
    }


def test_late_events_are_returned_and_counted_and_change_nothing() -> None:
    live = setup("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10;")
    bucket, reader = Bucket(live.passes[0]), live.reader()
    assert bucket.add(reader.read(events([1, 12], "AA", [0, 0]))[1][0]) is None
    assert list(bucket.advance(12 * SECOND)) == []
    late = bucket.add(reader.read(events([11, 12, 3], "BBB", [0, 0, 0]))[1][0])
    assert late is not None
    assert late.column("time").to_pylist() == [11 * SECOND, 3 * SECOND]
    assert bucket.late == 2
    bucket.add(reader.read(events([13], "B", [0]))[1][0])
    assert rows_of(live, list(bucket.end())) == {
        "q": [{"window_start": 10, "window_end": 20, "count(*)": 1.0}]
    }


def test_timers_say_when_something_is_final_and_when_all_is_released() -> None:
    live = setup("QUERY q RETURN g, COUNT(*) PATTERN SEQ(A, B) GROUP BY g WITHIN 10;")
    bucket, reader = Bucket(live.passes[0]), live.reader()
    assert bucket.deadline() is None
    assert bucket.idle_time() is None
    bucket.add(reader.read(events([1, 2, 3], "AAB", [0, 1, 0]))[1][0])
    assert bucket.deadline() == 1 * SECOND
    assert list(bucket.advance(5 * SECOND)) == []
    assert bucket.deadline() == 10 * SECOND
    rows = list(bucket.advance(10 * SECOND))
    assert rows_of(live, rows)["q"][0]["count(*)"] == 1.0
    assert bucket.deadline() is None
    bucket.save()
    assert bucket.keys == 0


@pytest.mark.parametrize("text", TEXT.strip().split("\n"))
def test_a_bucket_is_empty_after_its_idle_time(text: str) -> None:
    live = setup(text)
    bucket = Bucket(live.passes[0])
    bucket.add(live.reader().read(drawn(400, 20))[1][0])
    list(bucket.advance(101 * SECOND))  # all events came by 99
    idle = bucket.idle_time()
    assert idle is not None
    list(bucket.advance(idle - 1))
    assert len(bucket.open_keys()) > 0
    list(bucket.advance(idle))
    assert len(bucket.open_keys()) == 0
    assert bucket.idle_time() is None
    assert bucket.deadline() is None


def test_keys_that_come_and_go_leave_nothing() -> None:
    live = setup()
    bucket, reader = Bucket(live.passes[0]), live.reader()
    sizes = []
    for begin in range(0, 60_000, 2_000):
        keys = np.arange(begin, begin + 2_000)
        times = keys // 100  # 100 keys a second
        table = pa.table(
            [np.repeat(times, 2), np.tile(["A", "B"], 2_000), np.repeat(keys, 2), np.ones(4_000)],
            schema=SCHEMA,
        )
        bucket.add(reader.read(table)[1][0])
        list(bucket.advance(int(times[-1]) * SECOND))
        sizes.append((len(bucket.save()), bucket.keys, bucket._codes.size))
    before, after = np.array(sizes[5:15]), np.array(sizes[15:])
    assert (after.max(axis=0) <= 1.2 * before.max(axis=0)).all(), sizes


def test_packed_events_are_those_that_were_added() -> None:
    live = setup()
    of_pass = live.passes[0]
    read = live.reader().read(drawn(300, 5))[1][0]
    plain, packed = Bucket(of_pass), Bucket(of_pass)
    plain.add(read)
    for rows in Packing(layout=of_pass.layout, partitions=1, chunk_rows=70)(read.to_batches()):
        packed.add_packed(rows.column("blob"))
    assert rows_of(live, list(packed.end())) == rows_of(live, list(plain.end()))


def test_early_values_are_those_of_a_stream_that_ends_now() -> None:
    live = setup()
    bucket, reader = Bucket(live.passes[0]), live.reader()
    table = drawn(300, 5)
    bucket.add(reader.read(table.slice(0, 200))[1][0])
    list(bucket.advance(30 * SECOND))
    early = rows_of(live, list(bucket.early()))
    assert set(early) == {"trends", "rising"}
    ended = Bucket.load(live.passes[0], bucket.save())
    at_end = rows_of(live, list(ended.end()))
    assert early == {name: at_end[name] for name in early}
    bucket.add(reader.read(table.slice(200))[1][0])
    whole = Bucket(live.passes[0])
    whole.add(reader.read(table)[1][0])
    list(whole.advance(30 * SECOND))
    assert rows_of(live, list(bucket.end())) == rows_of(live, list(whole.end()))


def saved() -> tuple[LiveSetup, bytes]:
    live = setup()
    bucket = Bucket(live.passes[0])
    bucket.add(live.reader().read(drawn(200, 5))[1][0])
    list(bucket.advance(20 * SECOND))
    return live, bucket.save()


def test_a_state_is_continued_in_another_process(tmp_path: Path) -> None:
    live, blob = saved()
    (tmp_path / "state").write_bytes(blob)
    program = f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        sys.path.insert(0, {str(Path(__file__).parents[2])!r})
        import test_bucket as t
        bucket = t.Bucket.load(t.setup().passes[0], open("state", "rb").read())
        print(t.rows_of(t.setup(), list(bucket.end())))
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    expected = rows_of(live, list(Bucket.load(live.passes[0], blob).end()))
    assert done.stdout.strip() == str(expected)


def test_states_that_are_damaged_or_forged_are_refused() -> None:
    live, blob = saved()
    check_forgeries(lambda given: Bucket.load(live.passes[0], given), blob)


def test_a_state_of_other_queries_is_refused_by_name() -> None:
    _, blob = saved()
    other = setup(TEXT.replace("matches", "other"))
    with pytest.raises(StateError, match="trends, rising, matches, not of trends, rising, other"):
        Bucket.load(other.passes[0], blob)
    other = setup(TEXT.replace("SEQ(A, B+)", "SEQ(B, A+)"))
    with pytest.raises(StateError, match="other queries or options"):
        Bucket.load(other.passes[0], blob)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("QUERY q RETURN COUNT(*) PATTERN A+;", "without WITHIN there is one window"),
        ("QUERY q RETURN a.v PATTERN SEQ(A a, B b);", "no event can ever be forgotten"),
        ("QUERY q RETURN a.v PATTERN SEQ(A a, B b) WITHIN 5 LIMIT 3;", "LIMIT is about all rows"),
        ("QUERY q RETURN DISTINCT a.v PATTERN SEQ(A a, B b) WITHIN 5;", "DISTINCT compares"),
    ],
)
def test_queries_that_cannot_run_live_are_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises((QuerySemanticError, InvalidWorkloadError), match=why):
        setup(text)
