"""Queries over interactions with advertisements, after the Yahoo benchmark (StreamQRE, Section 5).

Events are those of `elsinore generate ads`, with an event `tick` at the end of each second.
"""

from __future__ import annotations

import elsinore.quantitative as qre

VIEW, PURCHASE, TICK = (qre.event(name) for name in ("view", "purchase", "tick"))


def views_per_campaign() -> qre.Query:
    """Y1: return, each second, how many views each campaign had in it."""
    views = qre.iterate(
        qre.either(qre.atom(VIEW, lambda event: 1), qre.atom(~(VIEW | TICK), lambda event: 0)),
        qre.sum(),
    )
    second = qre.split(views, qre.atom(TICK), lambda number, tick: number)
    return qre.iter_last(qre.map_collect(TICK, "campaign", second, TICK))


def most_successful_ads() -> qre.Query:
    """Return, each second, each campaign's ad with the most purchases so far, and how many.

    Of several the least. A campaign without a purchase has none. StreamQRE's query Y2 is another
    one: its success of an ad is the number of users who purchase after viewing the ad. This query
    counts purchases, whoever makes them and whether or not the ad was viewed before.
    """
    purchases = qre.split(
        qre.match((~PURCHASE).star()),
        qre.atom(PURCHASE, lambda event: event.ad),
        qre.right,
    )
    counted = qre.iterate(purchases, qre.counts())
    since = qre.match(qre.seq((~PURCHASE).star(), TICK))
    return qre.map_collect(
        TICK, "campaign", qre.apply(qre.split(counted, since, qre.left), qre.most_common)
    )
