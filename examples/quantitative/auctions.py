"""Queries over an online auction, after NEXMark (StreamQRE, Section 5).

Events are those of `elsinore generate auctions`: Person, Item (with its category and initial
price), Bid (with the increment by which it raises the price) and Close. N4 and N5 ask for an event
`tick` at the end of each ten minutes as well (`elsinore.datasets.with_ticks`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import elsinore.quantitative as qre

PERSON, ITEM, BID, CLOSE, TICK = (
    qre.event(name) for name in ("Person", "Item", "Bid", "Close", "tick")
)
DAY = 144  # ticks


@dataclass(frozen=True)
class Sale:
    """What an item was sold for."""

    category: int
    price: float


@dataclass(frozen=True)
class Offer:
    """What an item stands at after a bid; or, marked so, that ten minutes are over."""

    price: float
    is_tick: bool


def price(event: Any) -> float:
    """Return an item's initial price, or a bid's increment."""
    return float(event.price)


def open_auctions() -> qre.Query:
    """N1: return, at each start or close, how many auctions are open."""
    changes = qre.either(
        qre.atom(ITEM, lambda item: 1),
        qre.atom(CLOSE, lambda item: -1),
    )
    others = qre.match((PERSON | BID).star())
    change = qre.split(others, changes, qre.right)
    return qre.iterate1(change, 0, lambda number, by: number + by)


def sale() -> qre.Query:
    """Return, at its close, the category and the price of an item, of one item's events."""
    bids = qre.iterate(qre.atom(BID, price), qre.sum(0.0))
    item = qre.atom(ITEM, lambda item: Sale(int(item.category), float(item.price)))
    return qre.split(
        item,
        bids,
        qre.atom(CLOSE),
        lambda first, total, close: Sale(first.category, first.price + total),
    )


def average_price() -> qre.Query:
    """Return, at each sale, the mean price of all sales so far."""
    return qre.iterate1(qre.atom(qre.any, lambda sale: sale.price), qre.mean())


def average_closing_price() -> qre.Chain:
    """N2: return, at each close, the average price of the items sold so far."""
    return sale().by("item") >> average_price()


def average_closing_price_per_category() -> qre.Chain:
    """N3: return, at each close, the item's category and the average price of what it sold."""
    return sale().by("item") >> average_price().by("category")


def offers() -> qre.Query:
    """Return, at each bid, what the item stands at, of one item's events: Item Bid* Close.

    Ticks are of no item: theirs is a stream of its own, in which each is told.
    """
    standing = qre.split(
        qre.atom(ITEM, price),
        qre.iterate1(qre.atom(BID, price), qre.sum(0.0)),
        lambda first, total: Offer(first + total, False),
    )
    ends = qre.split(
        qre.match((PERSON | TICK).star()), qre.atom(TICK, lambda tick: Offer(0.0, True)), qre.right
    )
    return qre.either(standing, ends)


def highest_bid() -> qre.Chain:
    """N4: return, each ten minutes, the highest bid in them; None where there was none."""
    tick = qre.predicate(qre.item.is_tick, "end")
    bids = qre.iterate(qre.atom(~tick, lambda offer: offer.price), qre.max())
    return offers().by("item") >> qre.tumbling(
        qre.split(bids, qre.atom(tick), lambda most, end: most)
    )


def most_bids(ticks: int = DAY) -> qre.Query:
    """N5: return, each ten minutes, the item with most bids in 24 hours, and how many.

    Of several the least. Bids are counted once for each ten minutes; these counts enter the window
    of so many ticks and leave it.
    """
    bid = qre.split(
        qre.match((~(BID | TICK)).star()), qre.atom(BID, lambda bid: bid.item), qre.right
    )
    counted = qre.iterate(bid, qre.counts())
    others = qre.match(qre.seq((~(BID | TICK)).star(), TICK))
    day = qre.sliding(qre.split(counted, others, qre.left), ticks, qre.merged_counts())
    return qre.apply(day, qre.most_common)
