"""The streams of the HAMLET paper's evaluation (section 6.1)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from elsinore.datasets import GENERATORS, smarthome, stock, taxi
from elsinore.errors import InputError

EVENTS = 60_000


def per_minute(events: pa.Table) -> float:
    times = events["time"].cast(pa.int64()).to_numpy()
    return float(events.num_rows / ((times[-1] - times[0]) / 60e6))


@pytest.mark.parametrize(("name", "rate"), [("stock", 4_500), ("smarthome", 20_000), ("taxi", 200)])
def test_rates_are_the_papers(name: str, rate: float) -> None:
    assert per_minute(GENERATORS[name](EVENTS)) == pytest.approx(rate, rel=0.05)


@pytest.mark.parametrize("generator", [stock, smarthome, taxi])
def test_events_are_ordered_and_repeatable(generator: object) -> None:
    assert callable(generator)
    events = generator(5_000, 3)
    times = events["time"].cast(pa.int64()).to_numpy()
    assert len(times) == 5_000
    assert (np.diff(times) >= 0).all()
    assert events.equals(generator(5_000, 3))
    assert not events.equals(generator(5_000, 4))
    assert generator(0).num_rows == 0
    with pytest.raises(InputError, match="'events' is at least 0"):
        generator(-1)


def test_trades_come_in_bursts_of_one_company() -> None:
    kinds = stock(EVENTS)["type"].combine_chunks().indices.to_numpy()
    changes = int((np.diff(kinds) != 0).sum())
    assert 100 < EVENTS / changes < 140  # the paper: about 120
    assert len(np.unique(kinds)) > 100


def test_prices_move_little_from_trade_to_trade() -> None:
    trades = stock(EVENTS, companies=5)
    for name in trades["type"].unique().to_pylist():
        price = trades.filter(pc.equal(trades["type"].cast(pa.string()), name))["price"].to_numpy()
        assert np.abs(np.diff(price)).max() < 0.2


def test_the_work_of_a_plug_never_falls() -> None:
    events = smarthome(EVENTS, plugs=50)
    work = events.filter(pc.equal(events["type"].cast(pa.string()), "Work"))
    for plug in range(50):
        values = work.filter(pc.equal(work["plug"], plug))["value"].to_numpy()
        assert (np.diff(values) >= 0).all()
    places = events.group_by(["plug"]).aggregate(
        [("house", "count_distinct"), ("household", "count_distinct")]
    )
    assert set(places["house_count_distinct"].to_pylist()) == {1}
    assert set(places["household_count_distinct"].to_pylist()) == {1}
    assert pc.count_distinct(smarthome(EVENTS)["house"]).as_py() == 40


def test_a_driver_drops_off_whom_he_picked_up() -> None:
    events = taxi(EVENTS, drivers=20)
    for driver in range(20):
        own = events.filter(pc.equal(events["driver"], driver)).to_pylist()
        kinds = [event["type"] for event in own]
        assert kinds == ["Pickup", "Dropoff"] * (len(own) // 2) + ["Pickup"] * (len(own) % 2)
        for begin, end in zip(own[::2], own[1::2], strict=False):
            assert begin["passengers"] == end["passengers"]
            assert begin["price"] == 0 < end["price"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stock(1, companies=0), "'companies' is at least 1"),
        (lambda: stock(1, burst=0.5), "'burst' is at least 1"),
        (lambda: smarthome(1, houses=3, plugs=2), "'plugs' is at least 3"),
        (lambda: taxi(1, drivers=0), "'drivers' is at least 1"),
        (lambda: taxi(1, rate=0), "'rate' is at least"),
    ],
)
def test_sizes_that_make_no_stream_are_rejected(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=message):
        call()
