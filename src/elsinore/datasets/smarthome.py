"""Smart plugs in houses, like the smart home stream of the HAMLET paper (section 6.1).

The paper uses the recordings of the DEBS 2014 challenge: 2,125 plugs in 40 houses, 20,000
measurements a minute. Each plug reports in turn. A device is on or off for some time, so a plug's
load is near 0 or near one level, and its work is monotonic.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from elsinore.datasets.columns import check_size, named_codes, times_at_rate

MEASUREMENTS_PER_MINUTE = 20_000.0
PROPERTIES = ("Load", "Work")
HOUSEHOLDS = 4  # in a house
SWITCHED = 0.02  # the share of a plug's reports at which it switches on or off


def smarthome(
    events: int,
    seed: int = 0,
    *,
    houses: int = 40,
    plugs: int = 2_125,
    rate: float = MEASUREMENTS_PER_MINUTE,
) -> pa.Table:
    """Return `events` measurements in order of time, the same for the same arguments.

    Columns: time (timestamp[us]), type (Load or Work), house, household, plug (numbers from 0; a
    plug is in one household of one house) and value (of Load watts, of Work kilowatt hours so far).
    `rate` is in events per minute.

    Raise InputError for a negative number of events, no house, fewer plugs than houses or a rate
    that is not above 0.

    >>> smarthome(2, plugs=1, houses=1)["type"].to_pylist()
    ['Load', 'Work']
    """
    check_size("events", events, least=0)
    check_size("houses", houses, least=1)
    check_size("plugs", plugs, least=houses)
    rng = np.random.default_rng(seed)
    time = times_at_rate(rng, events, rate)
    report = np.arange(events) // 2  # Load, then Work, of one plug after another
    is_work = np.arange(events) % 2 == 1
    plug = rng.permutation(plugs)[report % plugs]
    reports = report[-1] + 1 if events else 0
    rounds = -(-reports // plugs)
    changes = rng.random((rounds, plugs)) < SWITCHED
    is_on = (np.cumsum(changes, axis=0) + rng.integers(0, 2, plugs)) % 2 == 1
    load = np.where(is_on, rng.gamma(2.0, 60.0, plugs), 0.0)
    load = np.round(np.maximum(load + rng.normal(0, 1.0, load.shape) * is_on, 0.0), 3)
    hours = plugs * 2 / rate / 60
    work = np.round(np.cumsum(load, axis=0) * hours / 1000, 3)
    at = report // plugs, plug
    house_of = rng.integers(0, houses, plugs)
    house_of[:houses] = np.arange(houses)
    return pa.table(
        {
            "time": pa.array(time, pa.int64()).cast(pa.timestamp("us")),
            "type": named_codes(is_work.astype(np.int64), PROPERTIES),
            "house": pa.array(house_of[plug]),
            "household": pa.array(rng.integers(0, HOUSEHOLDS, plugs)[plug]),
            "plug": pa.array(plug),
            "value": pa.array(np.where(is_work, work[at], load[at])),
        }
    )
