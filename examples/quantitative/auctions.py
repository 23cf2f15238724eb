"""Queries over an online auction, after NEXMark (StreamQRE, Section 5).

Events are those of `elsinore generate auctions`: Person, Item (with its initial price), Bid (with
the increment by which it raises the price) and Close.
"""

from __future__ import annotations

from typing import Any

import elsinore.quantitative as qre

PERSON, ITEM, BID, CLOSE = (qre.event(name) for name in ("Person", "Item", "Bid", "Close"))


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


def closing_price() -> qre.Query:
    """Return, at its close, the price of an item, of one item's events: Item Bid* Close."""
    bids = qre.iterate(qre.atom(BID, price), 0.0, lambda total, bid: total + bid)
    return qre.split(
        qre.atom(ITEM, price), bids, qre.atom(CLOSE), lambda first, total, close: first + total
    )


def sale() -> qre.Query:
    """Return, at its close, the category and the price of an item, of one item's events."""
    bids = qre.iterate(qre.atom(BID, price), 0.0, lambda total, bid: total + bid)
    item = qre.atom(ITEM, lambda item: (int(item.category), float(item.price)))
    return qre.split(
        item, bids, qre.atom(CLOSE), lambda first, total, close: (first[0], first[1] + total)
    )
