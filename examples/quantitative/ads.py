"""Queries over interactions with advertisements, after the Yahoo benchmark (StreamQRE, Section 5).

Events are those of `elsinore generate ads`, with an event `tick` at the end of each second.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import elsinore.quantitative as qre

VIEW, PURCHASE, TICK = (qre.event(name) for name in ("view", "purchase", "tick"))
CAMPAIGNS = np.arange(1_000) // 10  # of each ad, as `elsinore generate ads` numbers them


def views_per_campaign() -> qre.Query:
    """Y1: return, each second, how many views each campaign had in it."""
    views = qre.iterate(
        qre.either(qre.atom(VIEW, lambda event: 1), qre.atom(~(VIEW | TICK), lambda event: 0)),
        qre.sum(),
    )
    second = qre.split(views, qre.atom(TICK), lambda number, tick: number)
    return qre.iter_last(qre.map_collect(TICK, "campaign", second, TICK))


def most_successful_ads(campaigns: Any = CAMPAIGNS) -> qre.Chain:
    """Y2: return, each second, each campaign's most successful ad so far, and its success.

    The success of an ad is the number of users who purchase after viewing it; of several ads with
    the same success, the one with the least number is returned. A campaign without success is not
    in the map. `campaigns` is an array with the campaign of each ad.

    A user succeeds once for an ad: the pattern of a user and an ad ends at the first purchase after
    a view. Ticks have neither user nor ad, so that they are a group of their own.
    """
    success = qre.split(
        qre.match(qre.seq((~(VIEW | TICK)).star(), VIEW, (~(PURCHASE | TICK)).star())),
        qre.atom(PURCHASE, lambda event: 1),
        lambda viewed, one: one,
    )
    tick = qre.split(qre.match(TICK.star()), qre.atom(TICK, lambda event: 0), qre.right)
    second = qre.predicate(qre.item.value == 0, "second")
    successful = qre.split(
        qre.match(second.star()), qre.atom(~second, lambda item: item.ad), qre.right
    )
    counted = qre.iterate(successful, qre.counts())
    best = qre.apply(qre.split(counted, qre.match(second.plus()), qre.left), qre.most_common)
    per_campaign = qre.map_collect(second, lambda item: int(campaigns[int(item.ad)]), best)
    return qre.either(success, tick).by("user", "ad") >> per_campaign
