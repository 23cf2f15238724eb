from __future__ import annotations

import urllib.request
from pathlib import Path

import pyarrow as pa
import pytest

from elsinore import Workload
from elsinore.errors import InputError
from elsinore.monitor import Listening, StreamMonitor, serve_metrics
from support.running import RunningStream

WORKLOAD = Workload.parse("""
    QUERY few RETURN g, COUNT(*) PATTERN SEQ(A, B+) WHERE B.v < 3 GROUP BY g WITHIN 10;
    QUERY many RETURN g, COUNT(*) PATTERN SEQ(A, B+) WHERE B.v < 9 GROUP BY g WITHIN 10 SLIDE 5;
""")


def events(first: int, last: int) -> pa.Table:
    """Return an A and bursts of B for each second, and one event without a type."""
    times = [second for second in range(first, last) for _ in range(20)]
    return pa.table(
        {
            "time": times,
            "type": [None, *(("A" if n % 20 == 0 else "B") for n in range(1, len(times)))],
            "g": ["x"] * len(times),
            "v": [n % 10 for n in range(len(times))],
        }
    )


def scraped(address: str) -> dict[str, float]:
    """Return the samples at an address by their names and labels."""
    prometheus = pytest.importorskip("prometheus_client.parser")
    with urllib.request.urlopen(address, timeout=30) as answer:
        text = answer.read().decode()
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in prometheus.text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_of_a_running_stream_are_what_it_did(tmp_path: Path) -> None:
    stream = RunningStream(WORKLOAD, tmp_path)
    with (
        stream.running(events(0, 20)),
        serve_metrics(stream.monitor, Listening("127.0.0.1", 0)) as address,
    ):
        stream.add(events(20, 40))
        stream.add(events(5, 6))  # late
        samples = scraped(address)
        log, last = stream.monitor.totals(), stream.monitor.last()
    assert last is not None
    assert samples["elsinore_events_total"] == log.events == 820
    assert samples["elsinore_rejected_events_total"] == 3
    assert samples["elsinore_late_events_total"] == 19
    results = WORKLOAD.run(events(0, 40), rejects=True, end="open")
    for name in ("few", "many"):
        assert samples[f"elsinore_rows_total {name}"] == results[name].num_rows > 0
    assert samples["elsinore_open_windows many"] == 2
    place = "B+ few, many"
    assert samples[f"elsinore_bursts_total {place}"] > 0
    assert (
        samples[f"elsinore_shared_bursts_total {place}"]
        <= samples[f"elsinore_bursts_total {place}"]
    )
    assert samples["elsinore_lag_events"] == 0
    assert samples["elsinore_state_bytes"] == last.state_bytes > 0
    assert samples["elsinore_keys"] == last.keys
    assert samples["elsinore_watermark_delay_seconds"] > 1_700_000_000  # times are of 1970
    assert samples["elsinore_micro_batch_seconds_count"] == log.batches >= 3
    assert samples["elsinore_micro_batch_seconds_sum"] > 0


def test_before_the_first_micro_batch_there_are_counters_alone() -> None:
    monitor = StreamMonitor({"q": "QUERY q"}, "nothing")
    with serve_metrics(monitor, Listening("127.0.0.1", 0)) as address:
        samples = scraped(address)
    assert samples["elsinore_events_total"] == samples["elsinore_rows_total q"] == 0
    assert "elsinore_lag_events" not in samples


def test_a_port_that_is_taken_is_an_error() -> None:
    monitor = StreamMonitor({}, "nothing")
    with serve_metrics(monitor, Listening("127.0.0.1", 0)) as address:
        port = int(address.split(":")[2].split("/")[0])
        with (
            pytest.raises(InputError, match="Cannot listen at"),
            serve_metrics(monitor, Listening("127.0.0.1", port)),
        ):
            pass
