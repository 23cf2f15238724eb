import itertools

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.datasets import GENERATORS, abc, generate
from elsinore.errors import InputError


@given(
    st.integers(0, 300),
    st.integers(0, 2**32),
    st.integers(1, 5),
    st.floats(1, 50),
    st.lists(st.text(min_size=1), min_size=1, max_size=6, unique=True),
)
def test_the_stream_is_as_asked_and_the_same_each_time(events, seed, keys, burst, types):
    table = abc(events, seed, keys=keys, burst=burst, types=types)
    assert table.num_rows == events
    assert table.equals(abc(events, seed, keys=keys, burst=burst, types=types))
    times = table["time"].cast(pa.int64()).to_pylist()
    assert all(early < late for early, late in itertools.pairwise(times))
    assert set(table["key"].to_pylist()) <= set(range(keys))
    assert set(table["type"].to_pylist()) <= set(types)


@pytest.mark.parametrize("burst", [1.0, 4.0, 30.0])
def test_bursts_within_a_key_have_the_mean_length_asked_for(burst):
    rows = sorted(abc(60_000, seed=1, keys=7, burst=burst).to_pylist(), key=lambda row: row["key"])
    runs = [
        sum(1 for _ in run)
        for _, run in itertools.groupby(rows, key=lambda row: (row["key"], row["type"]))
    ]
    assert sum(runs) / len(runs) == pytest.approx(burst, rel=0.1)


def test_the_rate_is_in_events_per_minute():
    times = abc(20_000, rate=600.0)["time"].cast(pa.int64()).to_numpy()
    assert (times[-1] - times[0]) / 60e6 == pytest.approx(20_000 / 600, rel=0.05)


@pytest.mark.parametrize(
    "options",
    [
        {"keys": 0},
        {"burst": 0.5},
        {"types": []},
        {"types": ["A", "A"]},
        {"rate": 0},
        {"rate": float("nan")},
    ],
)
def test_impossible_options_are_refused(options):
    (name,) = options
    with pytest.raises(InputError, match=f"'{name}'"):
        abc(10, **options)


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_streams_are_generated_by_name(name):
    assert generate(name, 100, seed=2).equals(GENERATORS[name](100, 2))


def test_an_unknown_stream_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match=r"called 'ridesharin'\..* Did you mean 'ridesharing'\?"):
        generate("ridesharin", 10)
    with pytest.raises(InputError, match=rf"Streams: {', '.join(GENERATORS)}\."):
        generate("taxis", 10)
