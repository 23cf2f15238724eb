"""Baselines for StreamQRE's queries: loops over arrays, compiled by Numba.

Each takes codes of types and columns as arrays, and is written for minimal time.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pyarrow as pa

from benchmarks.baselines.loops import CAMPAIGNS


def codes(events: pa.Table, names: tuple[str, ...]) -> Any:
    """Return the index of each event's type in a list of names; its length for other types."""
    kinds = events["type"].combine_chunks()
    if not pa.types.is_dictionary(kinds.type):
        kinds = kinds.dictionary_encode()
    place = [names.index(k) if k in names else len(names) for k in kinds.dictionary.to_pylist()]
    return np.array(place)[kinds.indices.to_numpy()]


def ints(events: pa.Table, name: str) -> Any:
    """Return a column of integers, with -1 for null."""
    return events[name].combine_chunks().fill_null(-1).to_numpy()


@numba.njit
def _n1(kinds: Any) -> Any:
    found = np.empty(len(kinds), np.int64)
    number = rows = 0
    for kind in kinds:
        if kind < 2:
            number += 1 - 2 * kind
            found[rows] = number
            rows += 1
    return found[:rows]


def n1(events: pa.Table) -> Any:
    """Open auctions at each start or close."""
    return _n1(codes(events, ("Item", "Close")))


@numba.njit
def _n2(kinds: Any, items: Any, prices: Any, number_of_items: int) -> Any:
    first = np.zeros(number_of_items)
    bids = np.zeros(number_of_items)
    found = np.empty(len(kinds))
    total, rows = 0.0, 0
    for place in range(len(kinds)):
        kind, item = kinds[place], items[place]
        if kind == 1:
            bids[item] += prices[place]
        elif kind == 0:
            first[item] = prices[place]
        elif kind == 2:
            total += first[item] + bids[item]
            rows += 1
            found[rows - 1] = total / rows
    return found[:rows]


def n2(events: pa.Table) -> Any:
    """The average closing price so far, at each close; items are numbered from 0."""
    items = ints(events, "item")
    prices = events["price"].combine_chunks().fill_null(0.0).to_numpy()
    kinds = codes(events, ("Item", "Bid", "Close"))
    return _n2(kinds, items, prices, int(items.max()) + 1)


@numba.njit
def _p7(marks: Any, size: int) -> Any:
    found = np.empty(len(marks), np.int64)
    total = 0
    for place in range(len(marks)):
        total += marks[place]
        if place >= size:
            total -= marks[place - size]
        found[place] = total
    return found


def p7(events: pa.Table, size: int, limit: float) -> Any:
    """How many of the last events were measurements above the limit, at each event."""
    values = events["value"].combine_chunks().fill_null(-np.inf).to_numpy()
    return _p7((values > limit).astype(np.int64), size)


@numba.njit
def _y1(kinds: Any, campaigns: Any, number: int) -> Any:
    seconds = 0
    for kind in kinds:
        seconds += kind == 1
    found = np.full((seconds, number), -1)
    second = 0
    for place in range(len(kinds)):
        if kinds[place] == 1:
            second += 1
        elif second < seconds:
            found[second, campaigns[place]] = max(0, found[second, campaigns[place]])
            found[second, campaigns[place]] += kinds[place] == 0
    return found


def y1(events: pa.Table) -> Any:
    """Views of each campaign (numbered from 0) in each second; -1 where it had no event."""
    campaigns = ints(events, "campaign")
    return _y1(codes(events, ("view", "tick")), campaigns, int(campaigns.max()) + 1)


@numba.njit
def _y2(kinds: Any, users: Any, ads: Any, campaigns: Any, most_users: int) -> Any:
    seconds = 0
    for kind in kinds:
        seconds += kind == 2
    state = np.zeros((most_users, len(campaigns)), np.int8)  # 1 has viewed, 2 has bought, too
    successes = np.zeros(len(campaigns), np.int64)
    best = np.full((campaigns.max() + 1, 2), -1)  # -1 has no success
    found = np.empty((seconds, len(best), 2), np.int64)
    second = 0
    for place in range(len(kinds)):
        kind, user, ad = kinds[place], users[place], ads[place]
        if kind == 2:
            found[second] = best
            second += 1
        elif kind == 0:
            state[user, ad] = max(1, state[user, ad])
        elif kind == 1 and state[user, ad] == 1:
            state[user, ad] = 2
            successes[ad] += 1
            count, leader = successes[ad], best[campaigns[ad], 0]
            if count > best[campaigns[ad], 1] or (count == best[campaigns[ad], 1] and ad < leader):
                best[campaigns[ad], 0], best[campaigns[ad], 1] = ad, count
    return found


def y2(events: pa.Table) -> Any:
    """Each campaign's ad with most users who purchased after viewing it, each second.

    Users and ads are numbered from 0; a table has a byte for each user and ad.
    """
    users, ads = ints(events, "user"), ints(events, "ad")
    kinds = codes(events, ("view", "purchase", "tick"))
    return _y2(kinds, users, ads, CAMPAIGNS, int(users.max()) + 1)


@numba.njit
def _n3(kinds: Any, items: Any, categories: Any, prices: Any, number: int, kind_count: int) -> Any:
    first, bids = np.zeros(number), np.zeros(number)
    of = np.zeros(number, np.int64)
    totals, sold = np.zeros(kind_count), np.zeros(kind_count, np.int64)
    found_of, found = np.empty(len(kinds), np.int64), np.empty(len(kinds))
    rows = 0
    for place in range(len(kinds)):
        kind, item = kinds[place], items[place]
        if kind == 1:
            bids[item] += prices[place]
        elif kind == 0:
            first[item], of[item] = prices[place], categories[place]
        elif kind == 2:
            category = of[item]
            totals[category] += first[item] + bids[item]
            sold[category] += 1
            found_of[rows], found[rows] = category, totals[category] / sold[category]
            rows += 1
    return found_of[:rows], found[:rows]


def n3(events: pa.Table) -> Any:
    """The item's category and its average closing price so far, at each close."""
    items, categories = ints(events, "item"), ints(events, "category")
    prices = events["price"].combine_chunks().fill_null(0.0).to_numpy()
    kinds = codes(events, ("Item", "Bid", "Close"))
    sizes = int(items.max()) + 1, int(categories.max()) + 1
    return _n3(kinds, items, categories, prices, *sizes)


@numba.njit
def _n4(kinds: Any, items: Any, prices: Any, number: int) -> Any:
    first, bids = np.zeros(number), np.zeros(number)
    found = np.empty(len(kinds))
    most, rows = np.nan, 0
    for place in range(len(kinds)):
        kind, item = kinds[place], items[place]
        if kind == 1:
            bids[item] += prices[place]
            offer = first[item] + bids[item]
            if not offer <= most:
                most = offer
        elif kind == 0:
            first[item] = prices[place]
        elif kind == 2:
            found[rows], most = most, np.nan
            rows += 1
    return found[:rows]


def n4(events: pa.Table) -> Any:
    """The highest bid of each ten minutes, NaN where there was none."""
    items = ints(events, "item")
    prices = events["price"].combine_chunks().fill_null(0.0).to_numpy()
    return _n4(codes(events, ("Item", "Bid", "tick")), items, prices, int(items.max()) + 1)


@numba.njit
def _n5(kinds: Any, items: Any, number: int, ticks: int) -> Any:
    day = np.zeros(number, np.int64)
    found = np.empty((len(kinds), 2), np.int64)
    ends = np.empty(len(kinds), np.int64)  # the place after each tick
    begin = rows = 0
    for place in range(len(kinds)):
        if kinds[place] == 0:
            day[items[place]] += 1
        elif kinds[place] == 1:
            ends[rows] = place + 1
            if rows >= ticks:
                end = ends[rows - ticks]
                for old in range(begin, end):
                    if kinds[old] == 0:
                        day[items[old]] -= 1
                begin = end
            best = np.argmax(day)
            found[rows, 0], found[rows, 1] = best, day[best]
            rows += 1
    return found[:rows]


def n5(events: pa.Table, ticks: int = 144) -> Any:
    """The item with most bids in so many ticks, and how many; items are numbered from 0."""
    items = ints(events, "item")
    return _n5(codes(events, ("Bid", "tick")), items, int(items.max()) + 1, ticks)


@numba.njit
def _p6(kinds: Any) -> Any:
    found, days = np.empty(len(kinds), np.int64), np.empty(len(kinds), np.int64)
    number = rows = 0
    for kind in kinds:
        if kind == 0:
            number += 1
        elif kind == 1:
            place = np.searchsorted(days[:rows], number)
            days[place + 1 : rows + 1] = days[place:rows].copy()
            days[place], number = number, 0
            found[rows] = days[rows // 2]
            rows += 1
    return found[:rows]


def p6(events: pa.Table) -> Any:
    """The median over all days of the number of measurements of a day, each day."""
    return _p6(codes(events, ("M", "D")))
