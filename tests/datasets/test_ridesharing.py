import itertools

import numpy as np
import pyarrow.compute as pc
import pytest

from elsinore.datasets import ridesharing
from elsinore.datasets.ridesharing import EVENT_TYPES
from elsinore.errors import InputError

RIDES = ridesharing(50_000, seed=3)


def of_type(name):
    return RIDES.filter(pc.equal(RIDES["type"].cast("string"), name))


def trips():
    """Yield the event types of each trip that lies whole in the stream's middle."""
    rows = sorted(RIDES.to_pylist(), key=lambda row: row["driver"])
    for _, of_driver in itertools.groupby(rows, key=lambda row: row["driver"]):
        by_trip = itertools.groupby(of_driver, key=lambda row: row["rider"])
        whole = [list(trip) for _, trip in by_trip][1:-1]
        yield from whole


def test_the_stream_has_as_many_events_as_asked_in_order_of_time():
    assert RIDES.num_rows == 50_000
    times = RIDES["time"].cast("int64").to_numpy()
    assert (times[1:] >= times[:-1]).all()
    assert all(column.null_count == 0 for column in RIDES.columns)


@pytest.mark.parametrize("events", [0, 1, 7, 250])
def test_small_streams_are_possible(events):
    assert ridesharing(events).num_rows == events
    assert ridesharing(events).schema == RIDES.schema


def test_the_same_arguments_give_the_same_stream_and_another_seed_another():
    assert ridesharing(2000, seed=5).equals(ridesharing(2000, seed=5))
    assert not ridesharing(2000, seed=5).equals(ridesharing(2000, seed=6))


def test_all_twenty_event_types_occur():
    assert len(EVENT_TYPES) == 20
    assert set(RIDES["type"].cast("string").to_pylist()) == set(EVENT_TYPES)


def test_a_trip_is_requested_then_travelled_then_ends_one_way():
    seen = 0
    for trip in trips():
        types = [row["type"] for row in trip]
        if types.count("Request") != 1:  # two trips of one rider with one driver in a row
            continue
        seen += 1
        assert types.index("Request") < types.index("Accept") < types.index("Travel")
        assert sum(types.count(end) for end in ("Dropoff", "Cancel", "NoShow")) == 1
        assert ("Pickup" in types) == ("Dropoff" in types)
        if "Pickup" in types:
            between = types[types.index("Pickup") : types.index("Dropoff")]
            assert "Travel" in between
        if "Pool" in types:
            assert {row["request_type"] for row in trip} == {"Pool"}
        assert len({row["district"] for row in trip}) == 1
    assert seen > 1000


def test_a_driver_is_never_at_two_places_at_once():
    pairs = list(zip(RIDES["driver"].to_pylist(), RIDES["time"].to_pylist(), strict=True))
    assert len(set(pairs)) == len(pairs)


def test_the_papers_queries_find_work():
    travel = of_type("Travel")
    slow = pc.mean(pc.less(travel["speed"], 10).cast("int8")).as_py()
    assert 0.1 < slow < 0.5
    pool = pc.mean(pc.equal(RIDES["request_type"].cast("string"), "Pool").cast("int8")).as_py()
    assert 0.2 < pool < 0.4
    assert of_type("Cancel").num_rows > 200
    assert pc.min(travel["speed"]).as_py() > 0


def test_travel_comes_in_bursts_and_the_rate_swings():
    gaps = of_type("Travel")["duration"].to_numpy()
    assert np.median(gaps) < 5 < gaps.mean()
    seconds = RIDES["time"].cast("int64").to_numpy() // 300_000_000
    _, rates = np.unique(seconds, return_counts=True)
    full = rates[3:-1]
    assert full.max() > 1.8 * full.min()


def test_the_rate_is_the_papers_for_long_streams():
    rides = ridesharing(1_500_000)
    times = rides["time"].cast("int64").to_numpy()
    minutes = (times[-1] - times[0]) / 60e6
    assert 7_000 < rides.num_rows / minutes < 14_000


def test_impossible_sizes_are_refused():
    with pytest.raises(InputError, match="'events' is at least 0, not -1"):
        ridesharing(-1)
    with pytest.raises(InputError, match="'drivers' is at least 1, not 0"):
        ridesharing(10, drivers=0)
