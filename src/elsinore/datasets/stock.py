"""Trades of many companies in bursts, like the stock stream of the HAMLET paper (section 6.1).

The paper's sample has 2 million trades of 220 companies in 8 hours, 4,500 a minute, in bursts of
about 120 events of one company. Here a burst belongs to one company, whose price changes a
little with each trade; a company has the same share of trades all day.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from elsinore.datasets.columns import check_size, named_codes, times_at_rate

LEVELS = 10
TRADES_PER_MINUTE = 4_500.0


def stock(
    events: int,
    seed: int = 0,
    *,
    companies: int = 220,
    burst: float = 120.0,
    rate: float = TRADES_PER_MINUTE,
) -> pa.Table:
    """Return `events` trades ordered by time, no two at once, the same for the same arguments.

    Columns: time (timestamp[us]), type (the company, S0 and on), level (0 to 9, one for a burst:
    where in the order book it trades), price (dollars) and volume (shares, 1 and more). `burst` is
    the mean number of trades in a row of one company (geometric), `rate` is in events per minute.

    Raise InputError for a negative number of events, no company, a burst shorter than 1 or a rate
    that is not above 0.

    >>> stock(3, seed=1, companies=1).select(["type"]).to_pydict()
    {'type': ['S0', 'S0', 'S0']}
    """
    check_size("events", events, least=0)
    check_size("companies", companies, least=1)
    check_size("burst", burst, least=1)
    rng = np.random.default_rng(seed)
    time = times_at_rate(rng, events, rate)
    begins = rng.random(events) < 1 / burst
    begins[:1] = True
    number = np.cumsum(begins) - 1
    bursts = int(begins.sum())
    weights = 1 / np.arange(1, companies + 1) ** 0.5
    company = rng.choice(companies, size=bursts, p=weights / weights.sum())[number]
    # a random walk of each company: its trades in order, each a few cents from the last
    first = rng.uniform(20, 400, companies)
    order = np.argsort(company, kind="stable")
    steps = np.cumsum(np.round(rng.normal(0, 0.03, events), 2))
    starts = np.flatnonzero(np.r_[True, np.diff(company[order]) != 0][:events])
    base = np.repeat(steps[starts], np.diff(np.r_[starts, events]))
    price = np.empty(events)
    price[order] = np.maximum(first[company[order]] + steps - base, 0.01)
    return pa.table(
        {
            "time": pa.array(time, pa.int64()).cast(pa.timestamp("us")),
            "type": named_codes(company, [f"S{number}" for number in range(companies)]),
            "level": pa.array(rng.integers(0, LEVELS, bursts)[number]),
            "price": pa.array(np.round(price, 2)),
            "volume": pa.array(1 + rng.geometric(1 / 60, events)),
        }
    )
