"""Workloads one and two of the HAMLET paper run over the streams that they are of."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from elsinore import Workload
from elsinore.datasets import GENERATORS, hamlet_workload, ridesharing
from elsinore.datasets.workloads import KINDS, STREAMS
from elsinore.errors import InputError


@pytest.mark.filterwarnings("ignore::elsinore.NoRowsWarning")
@pytest.mark.parametrize("neighbours", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stream", STREAMS)
def test_workloads_run_over_their_streams(stream: str, kind: str, neighbours: bool) -> None:
    text = hamlet_workload(stream, kind, 12, seed=3, neighbours=neighbours)
    assert text == hamlet_workload(stream, kind, 12, seed=3, neighbours=neighbours)
    assert text.count("[i-1]") == (12 if neighbours else 0)
    options = {"companies": 20} if stream == "stock" else {}
    results = Workload.parse(text).run(GENERATORS[stream](8_000, 1, **options))
    assert len(results) == 12
    assert any(table.num_rows for table in results.values())


@pytest.mark.parametrize("stream", STREAMS)
def test_the_first_workload_differs_in_patterns_alone(stream: str) -> None:
    queries = hamlet_workload(stream, "shared", 30).split("\n\n")
    clauses = {re.sub(r"(QUERY|PATTERN|WHERE).*\n", "", query).strip() for query in queries}
    assert len(clauses) == 1
    bodies = {query.split("\n", 1)[1].strip() for query in queries}
    assert len(bodies) == 30
    kleene = {match for query in queries for match in re.findall(r"(\w+) k\+", query)}
    assert len(kleene) == 1


def test_the_second_workload_is_diverse() -> None:
    text = hamlet_workload("ridesharing", "diverse", 60)
    lengths = {pattern.count(",") + 1 for pattern in re.findall(r"PATTERN (.*)", text)}
    assert lengths == {1, 2, 3}
    assert set(re.findall(r"WITHIN (\d+)", text)) == {"5", "10", "15", "20"}
    for word in ("COUNT(", "AVG(", "MAX(", "SUM(", "GROUP BY district", "GROUP BY driver", "WHERE"):
        assert word in text


def test_an_unknown_stream_or_kind_is_named() -> None:
    with pytest.raises(InputError, match=r"no stream 'stocks'.*Did you mean 'stock'\?"):
        hamlet_workload("stocks", "shared")
    with pytest.raises(InputError, match="no kind 'first' for workloads: shared, diverse"):
        hamlet_workload("stock", "first")


def _per_minute(events: pa.Table) -> float:
    times = events["time"].cast(pa.int64()).to_numpy()
    return float(events.num_rows / ((times[-1] - times[0]) / 60e6))


@pytest.mark.parametrize("rate", [500.0, 20_000.0])
@pytest.mark.parametrize("burstiness", [0.0, 0.95])
def test_rides_have_the_rate_that_is_asked_for(rate: float, burstiness: float) -> None:
    rides = ridesharing(150_000, rate=rate, burstiness=burstiness)
    assert _per_minute(rides) == pytest.approx(rate, rel=0.15)


def test_burstiness_puts_travel_events_next_to_one_another() -> None:
    def close(burstiness: float) -> float:
        rides = ridesharing(20_000, drivers=1, burstiness=burstiness)
        travel = rides.filter(pa.compute.equal(rides["type"], "Travel"))
        return float(pa.compute.mean(pa.compute.less(travel["duration"], 8.0)).as_py())

    assert close(0.0) < 0.3 < close(0.5) < 0.6 < close(0.95)


def test_rates_and_bursts_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="'rate' is at least"):
        ridesharing(10, rate=0.0)
    with pytest.raises(InputError, match="'drivers' is at least 1, not 0"):
        ridesharing(10, drivers=0, rate=500.0)
    with pytest.raises(InputError, match="'burstiness' is a share"):
        ridesharing(10, burstiness=1.5)
