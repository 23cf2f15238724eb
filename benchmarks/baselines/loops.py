"""Baselines for StreamQRE's queries: plain Python loops over dictionaries.

Each takes the events as an Arrow table and returns the values in order, as `run` has them.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

DAY = 144  # ticks in the window of N5
CAMPAIGNS = np.arange(1_000) // 10  # of each ad


def columns(events: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    """Return the events as tuples of some columns."""
    return zip(*(_values(events[name]) for name in names), strict=True)


def _values(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_dictionary(column.type):  # which `to_pylist` looks up one by one
        column = column.cast(column.type.value_type)
    values: list[Any] = column.to_pylist()
    return values


def y1(events: pa.Table) -> list[dict[int, int]]:
    """Views of each campaign in each second."""
    found: list[dict[int, int]] = []
    views: dict[int, int] = {}
    for kind, campaign in columns(events, "type", "campaign"):
        if kind == "tick":
            found.append(views)
            views = {}
        elif kind == "view":
            views[campaign] = views.get(campaign, 0) + 1
        elif campaign not in views:
            views[campaign] = 0
    return found


def y2(events: pa.Table) -> list[dict[int, tuple[int, int] | None]]:
    """Each campaign's ad with most users who purchased after viewing it, each second."""
    found: list[dict[int, tuple[int, int] | None]] = []
    campaigns = CAMPAIGNS.tolist()
    has_bought: dict[tuple[int, int], bool] = {}  # by users and ads that they have viewed
    successes: dict[int, dict[int, int]] = {}
    for kind, user, ad in columns(events, "type", "user", "ad"):
        if kind == "tick":
            found.append({key: most_frequent(counts) for key, counts in successes.items()})
        elif kind == "view":
            has_bought.setdefault((user, ad), False)
        elif kind == "purchase" and has_bought.get((user, ad)) is False:
            has_bought[user, ad] = True
            counts = successes.setdefault(campaigns[ad], {})
            counts[ad] = counts.get(ad, 0) + 1
    return found


def most_frequent(counts: dict[int, int]) -> tuple[int, int] | None:
    """Return the most frequent key, the least of several, and its count."""
    best = min(counts, key=lambda key: (-counts[key], key), default=None)
    return None if best is None else (best, counts[best])


def n1(events: pa.Table) -> list[int]:
    """Open auctions at each start or close."""
    found: list[int] = []
    number = 0
    for (kind,) in columns(events, "type"):
        if kind == "Item":
            number += 1
        elif kind == "Close":
            number -= 1
        else:
            continue
        found.append(number)
    return found


def n2(events: pa.Table) -> list[float]:
    """The average closing price so far, at each close."""
    found: list[float] = []
    standing: dict[int, tuple[float, float]] = {}
    total, number = 0.0, 0
    for kind, item, price in columns(events, "type", "item", "price"):
        if kind == "Bid":
            first, bids = standing[item]
            standing[item] = first, bids + price
        elif kind == "Item":
            standing[item] = price, 0.0
        elif kind == "Close":
            first, bids = standing.pop(item)
            total += first + bids
            number += 1
            found.append(total / number)
    return found


def n3(events: pa.Table) -> list[tuple[int, float]]:
    """The item's category and its average closing price so far, at each close."""
    found: list[tuple[int, float]] = []
    standing: dict[int, tuple[int, float, float]] = {}
    sold: dict[int, tuple[float, int]] = {}
    for kind, item, category, price in columns(events, "type", "item", "category", "price"):
        if kind == "Bid":
            of, first, bids = standing[item]
            standing[item] = of, first, bids + price
        elif kind == "Item":
            standing[item] = category, price, 0.0
        elif kind == "Close":
            of, first, bids = standing.pop(item)
            total, number = sold.get(of, (0.0, 0))
            total, number = total + (first + bids), number + 1
            sold[of] = total, number
            found.append((of, total / number))
    return found


def n4(events: pa.Table) -> list[float | None]:
    """The highest bid of each ten minutes."""
    found: list[float | None] = []
    standing: dict[int, tuple[float, float]] = {}
    most: float | None = None
    for kind, item, price in columns(events, "type", "item", "price"):
        if kind == "Bid":
            first, bids = standing[item]
            bids += price
            standing[item] = first, bids
            if most is None or first + bids > most:
                most = first + bids
        elif kind == "Item":
            standing[item] = price, 0.0
        elif kind == "Close":
            del standing[item]
        elif kind == "tick":
            found.append(most)
            most = None
    return found


def n5(events: pa.Table) -> list[tuple[int, int] | None]:
    """The item with most bids in 24 hours, each ten minutes."""
    found: list[tuple[int, int] | None] = []
    panes: deque[dict[int, int]] = deque()
    pane: dict[int, int] = {}
    day: dict[int, int] = {}
    for kind, item in columns(events, "type", "item"):
        if kind == "Bid":
            pane[item] = pane.get(item, 0) + 1
        elif kind == "tick":
            for key, count in pane.items():
                day[key] = day.get(key, 0) + count
            panes.append(pane)
            pane = {}
            if len(panes) > DAY:
                for key, count in panes.popleft().items():
                    day[key] -= count
                    if not day[key]:
                        del day[key]
            found.append(most_frequent(day))
    return found


def p6(events: pa.Table) -> list[int]:
    """The median over all days of the number of measurements of a day, each day."""
    found: list[int] = []
    days: list[int] = []
    number = 0
    for (kind,) in columns(events, "type"):
        if kind == "M":
            number += 1
        elif kind == "D":
            insort(days, number)
            number = 0
            found.append(days[(len(days) - 1) // 2])
    return found


def p7(events: pa.Table, size: int, limit: float) -> list[int]:
    """How many of the last events were measurements above the limit, at each event."""
    found: list[int] = []
    window: deque[int] = deque()
    total = 0
    for (value,) in columns(events, "value"):
        mark = 1 if value is not None and value > limit else 0
        window.append(mark)
        total += mark
        if len(window) > size:
            total -= window.popleft()
        found.append(total)
    return found


def ends_in_five(events: pa.Table, size: int) -> list[int]:
    """How many of the last events' values were written with a 5 as the last digit, at each."""
    found: list[int] = []
    window: deque[int] = deque()
    total = 0
    for (value,) in columns(events, "value"):
        mark = 1 if f"{value}"[-1] == "5" else 0
        window.append(mark)
        total += mark
        if len(window) > size:
            total -= window.popleft()
        found.append(total)
    return found
