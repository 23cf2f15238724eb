"""Taxi trips, like the New York stream of the HAMLET paper (section 6.1): 200 events a minute.

A trip is two events, Pickup and Dropoff, of one driver; drivers work one trip after another
between zones of which a few are much busier than the rest.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from elsinore.datasets.columns import START, check_size, named_codes

EVENTS_PER_MINUTE = 200.0
ZONES = 263  # of the city's map
KINDS = ("Pickup", "Dropoff")
MICROSECONDS = 1_000_000
IDLE_SECONDS = 600.0
METRES_PER_SECOND = 5.0
SURPLUS = 1.3  # factor of generated events, so that several drivers are active at the end


def taxi(
    events: int, seed: int = 0, *, drivers: int | None = None, rate: float = EVENTS_PER_MINUTE
) -> pa.Table:
    """Return `events` pickups and dropoffs ordered by time, the same for the same arguments.

    Columns: time (timestamp[us]), type (Pickup or Dropoff), driver, zone (1 to 263: where it
    happens), passengers (1 to 6), distance (miles) and price (dollars); distance and price are 0 at
    the pickup. Without `drivers` their number is chosen for `rate` events per minute.

    Raise InputError for a negative number of events, fewer than one driver or a rate that is not
    above 0.

    >>> taxi(4, drivers=1)["type"].to_pylist()
    ['Pickup', 'Dropoff', 'Pickup', 'Dropoff']
    """
    check_size("events", events, least=0)
    check_size("rate", rate, least=1e-9)
    rng = np.random.default_rng(seed)
    if drivers is None:
        mean_seconds = (IDLE_SECONDS + 1609 * 3.0 / METRES_PER_SECOND) / 2
        drivers = max(1, round(rate * mean_seconds / 60))
    check_size("drivers", drivers, least=1)
    trips = int(events * SURPLUS / 2 / drivers) + 5
    shape = (drivers, trips)
    distance = np.round(rng.gamma(1.5, 2.0, shape) + 0.1, 2)
    idle = rng.exponential(IDLE_SECONDS, shape) + 1
    ride = distance * 1609 / METRES_PER_SECOND * rng.uniform(0.6, 1.4, shape)
    gaps = np.stack([idle, ride], axis=2).reshape(drivers, -1)
    time = (np.cumsum(gaps, axis=1) * MICROSECONDS).astype(np.int64)
    order = np.argsort(time.ravel(), kind="stable")[:events]
    trip = order // 2
    is_end = order % 2 == 1
    weights = 1 / np.arange(1, ZONES + 1) ** 0.8
    zone = 1 + rng.choice(ZONES, size=2 * drivers * trips, p=weights / weights.sum())
    passengers = np.minimum(rng.geometric(0.65, drivers * trips), 6)
    price = np.round(3.0 + 2.8 * distance.ravel() + rng.gamma(1.0, 1.5, drivers * trips), 2)
    return pa.table(
        {
            "time": pa.array(START + time.ravel()[order], pa.int64()).cast(pa.timestamp("us")),
            "type": named_codes(is_end.astype(np.int64), KINDS),
            "driver": pa.array(trip // trips),
            "zone": pa.array(zone[order]),
            "passengers": pa.array(passengers[trip]),
            "distance": pa.array(np.where(is_end, distance.ravel()[trip], 0.0)),
            "price": pa.array(np.where(is_end, price[trip], 0.0)),
        }
    )
