"""An online auction like that of NEXMark (Tucker et al., 2002), as in StreamQRE's evaluation.

People register, items are opened, bid on, and closed. A bid has the increment by which it raises
the item's price, so the price is the sum of all of an item's bids.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from elsinore.datasets.columns import check_share, check_size, named_codes, times_at_rate

Ints = npt.NDArray[np.int64]

PERSON, ITEM, BID, CLOSE = range(4)
EVENT_TYPES = ("Person", "Item", "Bid", "Close")
MIX = (1, 3, 46)  # people, items and bids: NEXMark's shares
HOT_ITEMS = 3  # the newest items, which get more of the bids


def auctions(
    events: int,
    seed: int = 0,
    *,
    open_items: int = 100,
    categories: int = 10,
    hot: float = 0.5,
    rate: float = 600_000.0,
) -> pa.Table:
    """Return `events` events ordered by time, no two at once, the same for the same arguments.

    Columns: time (timestamp[us]), type, person (who registers, sells or bids; null for Close), item
    and category (null for Person), price (dollars: the initial price of an Item, the increment of a
    Bid; else null) and duration (seconds that an Item stays open; else null; also null where the
    stream ends before). An item is open for half of `open_items` to `open_items` further items;
    every bid is on an open one, a share of `hot` on one of the three newest. `rate` is in events
    per minute. People, items and bids come as 1 : 3 : 46, in an order of its own in each fifty.

    Raise InputError for a negative number of events, fewer than two open items, no category, a
    share outside 0 to 1 or a rate that is not above 0.

    >>> auctions(200, seed=1).slice(0, 1).select(["type", "person"]).to_pylist()
    [{'type': 'Person', 'person': 0}]
    """
    check_size("events", events, least=0)
    check_size("open_items", open_items, least=2)
    check_size("categories", categories, least=1)
    check_share("hot", hot)
    rng = np.random.default_rng(seed)
    kinds = _kinds(rng, events)
    opened_items = np.cumsum(kinds == ITEM)  # [event] -> items opened so far
    items = int(opened_items[-1]) if events else 0
    # the number of items opened before each is closed
    stays = rng.integers((open_items + 1) // 2, open_items + 1, items)
    item = np.where(kinds == PERSON, -1, opened_items - 1)
    bids = np.flatnonzero(kinds == BID)
    item[bids] = _bid_on(rng, opened_items[bids] - 1, stays, open_items, hot)

    # a Close follows the Item event that is `stays` items later
    starts = np.flatnonzero(kinds == ITEM)
    closed_by = np.arange(items) + stays
    closing = np.flatnonzero(closed_by < items)
    place = np.r_[np.arange(events, dtype=np.float64), starts[closed_by[closing]] + 0.5]
    order = np.argsort(place, kind="stable")[:events]
    kinds = np.r_[kinds, np.full(len(closing), CLOSE)][order]
    item = np.r_[item, closing][order]
    time = times_at_rate(rng, events, rate)

    duration = np.full(events, np.nan)
    opens, closes = np.flatnonzero(kinds == ITEM), np.flatnonzero(kinds == CLOSE)
    start_of = np.zeros(items, np.int64)
    start_of[item[opens]] = opens
    duration[start_of[item[closes]]] = (time[closes] - time[start_of[item[closes]]]) / 1e6
    category = rng.integers(0, categories, max(items, 1))
    return pa.table(
        {
            "time": pa.array(time).cast(pa.timestamp("us")),
            "type": named_codes(kinds, EVENT_TYPES),
            "person": _people(rng, kinds),
            "item": pa.array(item, mask=kinds == PERSON),
            "category": pa.array(category[item], mask=kinds == PERSON),
            "price": _prices(rng, kinds),
            "duration": pa.array(duration, mask=np.isnan(duration)),
        }
    )


def _kinds(rng: np.random.Generator, events: int) -> Ints:
    """Return Person, Item and Bid in their shares, shuffled in blocks of 50; first a Person."""
    fifty = np.repeat([PERSON, ITEM, BID], MIX)
    blocks = np.tile(fifty, (events // len(fifty) + 1, 1))
    blocks[1:] = rng.permuted(blocks[1:], axis=1)  # the first in order: no bid without items
    return blocks.ravel()[:events].astype(np.int64)


def _bid_on(
    rng: np.random.Generator, newest: Ints, stays: Ints, open_items: int, hot: float
) -> Ints:
    """Return an open item for each bid; newest: [bid] -> the last item opened."""
    distance = np.where(
        rng.random(len(newest)) < hot,
        rng.integers(0, HOT_ITEMS, len(newest)),
        rng.integers(0, open_items, len(newest)),
    )
    chosen = np.maximum(newest - distance, 0)
    is_closed = newest - chosen >= stays[chosen]
    return np.where(is_closed, newest, chosen)


def _people(rng: np.random.Generator, kinds: Ints) -> pa.Array:
    registered_people = np.cumsum(kinds == PERSON)
    person = (rng.random(len(kinds)) * registered_people).astype(np.int64)
    return pa.array(np.where(kinds == PERSON, registered_people - 1, person), mask=kinds == CLOSE)


def _prices(rng: np.random.Generator, kinds: Ints) -> pa.Array:
    initial = np.round(rng.lognormal(3.5, 1.0, len(kinds)), 2)
    increment = np.round(0.5 + rng.exponential(4.0, len(kinds)), 2)
    has_none = (kinds != ITEM) & (kinds != BID)
    return pa.array(np.where(kinds == ITEM, initial, increment), mask=has_none)
