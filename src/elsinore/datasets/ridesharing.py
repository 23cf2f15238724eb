"""A ride stream like that of the HAMLET paper (sections 1 and 6.1): trips of drivers with riders.

Twenty event types make up life cycles: Quote, Request, Accept, Travel in bursts on the way to the
rider, Pickup, more Travel, Dropoff, Pay; or Cancel on the way; or NoShow at the door. A driver
serves one trip after another. Traffic, and so the rate of the stream, rises and falls by the hour.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from elsinore.datasets.columns import (
    MICROSECONDS_PER_MINUTE,
    check_share,
    check_size,
    named_codes,
)

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DISTRICTS = (
    "Harbor", "Old Town", "Station", "Airport", "University", "Market", "Riverside", "Castle",
    "Northgate", "Southbank", "Westend", "Eastfield",
)  # fmt: skip

# How a trip can end, with its share of trips. The paper's q1 looks for trips without a Pickup, q3
# for those cancelled.
COMPLETED, CANCELLED, NO_SHOW = 0, 1, 2
OUTCOME_SHARES = (0.78, 0.15, 0.07)
POOL_SHARE = 0.3

# Travel events come in bursts: most follow the last within seconds, some after a longer drive.
WITHIN_BURST_SHARE = 0.8
WITHIN_BURST_SECONDS = 2.0
IDLE_SECONDS = 120.0  # mean time between a driver's trips

START = 1_704_067_200_000_000  # 2024-01-01T00:00:00
SWING_SECONDS = 3600.0
SWING_DEPTH = 0.6  # the rate swings by 1 / (1 ± depth)
EVENTS_PER_DRIVER = 200
MOST_DRIVERS = 4400  # give about 10,000 events a minute, the paper's rate
RATE_OF_MOST = 10_000
SURPLUS = 1.3  # factor of generated events, so that several drivers are active at the end
MICROSECONDS = 1_000_000
LEAST_GAP = 10  # microseconds; still above 0 when the swing compresses times most


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a trip: its event type, the outcomes that have it, its count, and its gaps.

    `share` is the probability that a trip has the step; `mean_count` the mean length of a run of
    such events (geometric; 1 for a single event); `seconds` the mean gap before each.
    """

    event_type: str
    outcomes: tuple[int, ...]
    share: float = 1.0
    mean_count: float = 1.0
    seconds: float = 10.0


ALL = (COMPLETED, CANCELLED, NO_SHOW)
STEPS = (
    Step("Quote", ALL, share=0.5, seconds=IDLE_SECONDS),
    Step("Request", ALL, seconds=IDLE_SECONDS),
    Step("Accept", ALL, seconds=15),
    Step("Message", ALL, share=0.2, seconds=20),
    Step("Travel", ALL, mean_count=5, seconds=40),
    Step("Reroute", ALL, share=0.1),
    Step("Travel", ALL, share=0.5, mean_count=3, seconds=40),
    Step("Cancel", (CANCELLED,), seconds=30),
    Step("Refund", (CANCELLED,), share=0.4),
    Step("Arrive", (COMPLETED, NO_SHOW), seconds=30),
    Step("Wait", (COMPLETED, NO_SHOW), share=0.4, mean_count=1.5, seconds=60),
    Step("NoShow", (NO_SHOW,), seconds=180),
    Step("Pickup", (COMPLETED,), seconds=30),
    Step("Pool", (COMPLETED,), seconds=10),  # only if the rider requested a pool
    Step("Travel", (COMPLETED,), mean_count=7, seconds=40),
    Step("Stop", (COMPLETED,), share=0.15, seconds=30),
    Step("Toll", (COMPLETED,), share=0.1, seconds=20),
    Step("Travel", (COMPLETED,), share=0.5, mean_count=4, seconds=40),
    Step("Dropoff", (COMPLETED,), seconds=30),
    Step("Pay", (COMPLETED,), seconds=5),
    Step("Tip", (COMPLETED,), share=0.3, seconds=20),
    Step("Rate", (COMPLETED,), share=0.4, seconds=30),
    Step("Report", ALL, share=0.03, seconds=60),
)
EVENT_TYPES = tuple(dict.fromkeys(step.event_type for step in STEPS))
REQUEST_TYPES = ("Regular", "Pool")


def ridesharing(
    events: int,
    seed: int = 0,
    drivers: int | None = None,
    *,
    rate: float | None = None,
    burstiness: float = WITHIN_BURST_SHARE,
) -> pa.Table:
    """Return `events` ride events ordered by time, the same for the same arguments.

    Columns: time (timestamp[us]), type, district, driver, rider, speed (miles per hour, 0 where the
    car stands), duration (seconds since the trip's last event), price (dollars: the trip's fare; of
    Tip, Toll and Refund the amount) and request_type (Regular or Pool). District, rider and
    request_type are those of the trip. Without `drivers` there is one per 200
    events, up to the 4400 that give the paper's 10,000 events a minute.

    `rate` is the number of events per minute at all times: gaps between events are scaled to it,
    and without `drivers` their number is chosen for it. `burstiness` is the share of
    Travel events that follow the last one within seconds.

    Raise InputError for a negative number of events, fewer than one driver, a rate that is not
    above 0 or a burstiness outside 0 to 1.

    >>> ridesharing(1000, seed=7).slice(0, 1).select(["type", "request_type"]).to_pylist()
    [{'type': 'Quote', 'request_type': 'Pool'}]
    """
    check_size("events", events, least=0)
    check_share("burstiness", burstiness)
    if rate is not None:
        check_size("rate", rate, least=1e-9)
    if drivers is None and rate is not None:
        drivers = max(1, round(MOST_DRIVERS * rate / RATE_OF_MOST))
    elif drivers is None:
        drivers = min(max(1, events // EVENTS_PER_DRIVER), MOST_DRIVERS)
    check_size("drivers", drivers, least=1)
    rng = np.random.default_rng(seed)
    per_driver = int(events * SURPLUS / _mean_trip_length() / drivers) + 5
    trips = drivers * per_driver

    outcome = rng.choice(len(OUTCOME_SHARES), size=trips, p=OUTCOME_SHARES).astype(np.int8)
    pool = rng.random(trips) < POOL_SHARE
    counts = _step_counts(rng, outcome, pool)
    trip = np.repeat(np.arange(trips), counts.sum(axis=1))
    step = np.repeat(np.tile(np.arange(len(STEPS)), trips), counts.ravel())
    del counts
    first = np.r_[True, trip[1:] != trip[:-1]]
    gaps = _gaps(rng, step, first, burstiness)
    offsets, depth = rng.exponential(600, drivers), SWING_DEPTH
    if rate is not None:
        factor = drivers * MICROSECONDS_PER_MINUTE / gaps.mean() / rate
        gaps = np.maximum(gaps * factor, LEAST_GAP).astype(np.int64)
        trip_seconds = gaps.mean() * _mean_trip_length() / MICROSECONDS
        offsets = -rng.random(drivers) * trip_seconds  # at time 0 in the middle of a first trip
        depth = 0.0
    time = _driver_times(gaps, trip // per_driver, offsets, depth)

    del gaps
    duration = np.where(first, 0, np.diff(time, prepend=0)) / MICROSECONDS
    order = np.argsort(time, kind="stable")
    order = order[np.searchsorted(time, 0, sorter=order) :][:events]
    trip, step, time, duration = trip[order], step[order], time[order], duration[order]
    del first, order
    district = _zipf(rng, trips, len(DISTRICTS))
    type_of_step = np.array([EVENT_TYPES.index(trip_step.event_type) for trip_step in STEPS])
    codes = type_of_step[step]
    return pa.table(
        {
            "time": pa.array(time + START, pa.int64()).cast(pa.timestamp("us")),
            "type": named_codes(codes, EVENT_TYPES),
            "district": named_codes(district[trip], DISTRICTS),
            "driver": pa.array(trip // per_driver),
            "rider": pa.array(rng.integers(0, 20 * drivers, trips)[trip]),
            "speed": pa.array(_speed(rng, codes, trip, district, time)),
            "duration": pa.array(duration),
            "price": pa.array(_price(rng, codes, trip, trips)),
            "request_type": named_codes(pool[trip].astype(np.int64), REQUEST_TYPES),
        }
    )


def _mean_trip_length() -> float:
    """Return the mean number of events of a trip."""
    return sum(
        trip_step.share
        * trip_step.mean_count
        * sum(OUTCOME_SHARES[outcome] for outcome in trip_step.outcomes)
        for trip_step in STEPS
    )


def _step_counts(
    rng: np.random.Generator, outcome: npt.NDArray[np.int8], pool: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int16]:
    """Return the number of events of each trip (row) and step (column)."""
    counts = np.zeros((len(outcome), len(STEPS)), np.int16)
    for index, trip_step in enumerate(STEPS):
        has_step = np.isin(outcome, trip_step.outcomes)
        if trip_step.event_type == "Pool":
            has_step &= pool
        if trip_step.share < 1:
            has_step &= rng.random(len(outcome)) < trip_step.share
        if trip_step.mean_count > 1:
            runs = rng.geometric(1 / trip_step.mean_count, len(outcome))
            counts[:, index] = np.where(has_step, np.minimum(runs, 1000), 0)
        else:
            counts[:, index] = has_step
    return counts


def _gaps(
    rng: np.random.Generator, step: Ints, first: npt.NDArray[np.bool_], burstiness: float
) -> Ints:
    """Return the microseconds between each event and the driver's event before."""
    mean = np.array([trip_step.seconds for trip_step in STEPS])[step]
    travel = np.array([trip_step.event_type == "Travel" for trip_step in STEPS])[step]
    again = np.r_[False, travel[1:] & travel[:-1]]
    again &= rng.random(len(step)) < burstiness
    mean[again] = WITHIN_BURST_SECONDS
    # A Request soon follows its Quote; there is a long gap only before a trip's first event.
    mean[~first & (mean == IDLE_SECONDS)] = 10.0
    gaps: Ints = (rng.standard_exponential(len(step)) * mean * MICROSECONDS).astype(np.int64)
    return gaps + LEAST_GAP


def _driver_times(gaps: Ints, driver: Ints, offsets: Floats, depth: float) -> Ints:
    """Return the times of events: cumulative gaps of each driver, shorter in rush hours."""
    total = np.cumsum(gaps)
    begins = np.flatnonzero(np.r_[True, driver[1:] != driver[:-1]])
    base = total[begins] - gaps[begins] - (offsets * MICROSECONDS).astype(np.int64)
    time = total - base[driver]
    period = SWING_SECONDS * MICROSECONDS
    # Monotonic for every depth below 1, which preserves the order of a driver's events.
    swing = depth * period / (2 * np.pi) * np.sin(2 * np.pi / period * time)
    swung: Ints = time + swing.astype(np.int64)
    return swung


def _zipf(rng: np.random.Generator, size: int, choices: int) -> Ints:
    weights = 1 / np.arange(1, choices + 1)
    return rng.choice(choices, size=size, p=weights / weights.sum()).astype(np.int64)


def _speed(rng: np.random.Generator, codes: Ints, trip: Ints, district: Ints, time: Ints) -> Floats:
    """Return the speed of Travel events, low during a district's jams; 0 for other events."""
    period = SWING_SECONDS * MICROSECONDS
    travel = np.flatnonzero(codes == EVENT_TYPES.index("Travel"))
    where = district[trip[travel]]
    flow = 16 + 8 * np.sin(2 * np.pi * (time[travel] / period + where / len(DISTRICTS)))
    speed = np.zeros(len(codes))
    speed[travel] = np.round(np.maximum(flow + rng.normal(0, 5, len(travel)), 0.5), 1)
    return speed


def _price(rng: np.random.Generator, codes: Ints, trip: Ints, trips: int) -> Floats:
    """Return the trip's fare, or the amount of a Tip, Toll or Refund."""
    price: Floats = np.round(5 + rng.gamma(2.0, 8.0, trips), 2)[trip]
    for name, share in (("Tip", 0.15), ("Toll", 0.1), ("Refund", 0.5)):
        rows = codes == EVENT_TYPES.index(name)
        price[rows] = np.round(price[rows] * share, 2)
    return price
