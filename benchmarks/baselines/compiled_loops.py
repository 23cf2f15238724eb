"""StreamQRE's queries as loops over arrays that Numba compiles, where such a loop is natural.

Each takes codes of types and columns as arrays: what one would write for the least time.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pyarrow as pa


def codes(events: pa.Table, names: tuple[str, ...]) -> Any:
    """Return the place of each event's type among some names, their number for others."""
    kinds = events["type"].combine_chunks()
    if not pa.types.is_dictionary(kinds.type):
        kinds = kinds.dictionary_encode()
    place = [names.index(k) if k in names else len(names) for k in kinds.dictionary.to_pylist()]
    return np.array(place)[kinds.indices.to_numpy()]


def ints(events: pa.Table, name: str) -> Any:
    """Return a column of whole numbers, -1 where there is none."""
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
