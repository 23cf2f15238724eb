"""Interactions of users with advertisements, like the Yahoo streaming benchmark's.

Every ad belongs to one campaign. Users view ads; some click on or purchase what they have viewed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from elsinore.datasets.columns import check_share, check_size, named_codes, times_at_rate

Ints = npt.NDArray[np.int64]

VIEW, CLICK, PURCHASE = range(3)
EVENT_TYPES = ("view", "click", "purchase")
VIEWS_SHARE = 0.7
CLICKS_SHARE = 0.2


def ads(
    events: int,
    seed: int = 0,
    *,
    campaigns: int = 100,
    ads_per_campaign: int = 10,
    users: int = 10_000,
    hot: float = 0.2,
    rate: float = 600_000.0,
) -> pa.Table:
    """Return `events` events ordered by time, no two at once, the same for the same arguments.

    Columns: time (timestamp[us]), type (view, click or purchase), user, page, ad and campaign (all
    whole numbers from 0). Ad a belongs to campaign a // `ads_per_campaign`. A share of `hot` of the
    views goes to the first ad. A click or a purchase is by a user who has viewed the ad before.
    `rate` is in events per minute.

    Raise InputError for a negative number of events, no campaign, ad or user, a share outside 0 to
    1 or a rate that is not above 0.

    >>> ads(3, seed=1, campaigns=2)["type"].to_pylist()
    ['view', 'purchase', 'view']
    """
    check_size("events", events, least=0)
    check_size("campaigns", campaigns, least=1)
    check_size("ads_per_campaign", ads_per_campaign, least=1)
    check_size("users", users, least=1)
    check_share("hot", hot)
    rng = np.random.default_rng(seed)
    draws = rng.random(events)
    kinds = np.where(draws < VIEWS_SHARE, VIEW, PURCHASE)
    kinds[(draws >= VIEWS_SHARE) & (draws < VIEWS_SHARE + CLICKS_SHARE)] = CLICK
    kinds[:1] = VIEW
    user = rng.integers(0, users, events)
    ad = rng.integers(0, campaigns * ads_per_campaign, events)
    ad[rng.random(events) < hot] = 0
    views = np.flatnonzero(kinds == VIEW)
    after = np.flatnonzero(kinds != VIEW)
    before = np.cumsum(kinds == VIEW)[after]  # views so far
    viewed_rows = views[(rng.random(len(after)) * before).astype(np.int64)]
    user[after], ad[after] = user[viewed_rows], ad[viewed_rows]
    return pa.table(
        {
            "time": pa.array(times_at_rate(rng, events, rate)).cast(pa.timestamp("us")),
            "type": named_codes(kinds, EVENT_TYPES),
            "user": pa.array(user),
            "page": pa.array(rng.integers(0, 1000, events)),
            "ad": pa.array(ad),
            "campaign": pa.array(ad // ads_per_campaign),
        }
    )
