"""Baselines for StreamQRE's queries in RxPY (`reactivex`), with its own operators if it has them.

Each takes the events as an Arrow table and returns the values in order, as the plain loops do.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import reactivex as rx
from reactivex import operators as ops
from reactivex.subject import Subject

from benchmarks.baselines.loops import CAMPAIGNS, DAY, columns, most_frequent


def pushed(items: Iterable[Any], query: Callable[[rx.Observable[Any]], Any]) -> list[Any]:
    """Return the values of a query for items that are pushed one by one."""
    found: list[Any] = []
    source: Subject[Any] = Subject()
    query(source).subscribe(found.append)
    for item in items:
        source.on_next(item)
    source.on_completed()
    return found


def y1(events: pa.Table) -> list[dict[int, int]]:
    """Views of each campaign in each second: a buffer between ticks."""

    def views(second: list[tuple[str, int]]) -> dict[int, int]:
        counted: dict[int, int] = {}
        for kind, campaign in second:
            counted[campaign] = counted.get(campaign, 0) + (kind == "view")
        return counted

    def query(source: rx.Observable[Any]) -> Any:
        ticks = source.pipe(ops.filter(lambda event: event[0] == "tick"))
        return source.pipe(
            ops.filter(lambda event: event[0] != "tick"), ops.buffer(ticks), ops.map(views)
        )

    # the last buffer is that after the last tick
    return pushed(columns(events, "type", "campaign"), query)[:-1]


def y2(events: pa.Table) -> list[dict[int, tuple[int, int] | None]]:
    """Each campaign's ad with most users who purchased after viewing it, each second."""
    campaigns = CAMPAIGNS.tolist()
    has_bought: dict[tuple[int, int], bool] = {}  # by users and ads that they have viewed

    def is_success(event: Any) -> bool:
        kind, *viewed = event
        place = tuple(viewed)
        if kind == "view":
            has_bought.setdefault(place, False)
        if kind != "purchase" or has_bought.get(place) is not False:
            return False
        has_bought[place] = True
        return True

    def step(successes: dict[int, Counter[int]], event: Any) -> dict[int, Counter[int]]:
        if event[0] != "tick":
            successes.setdefault(campaigns[event[2]], Counter())[event[2]] += 1
        return successes

    def query(source: rx.Observable[Any]) -> Any:
        return source.pipe(
            ops.filter(lambda event: event[0] == "tick" or is_success(event)),
            ops.scan(lambda state, event: (event[0], step(state[1], event)), ("", {})),
            ops.filter(lambda state: state[0] == "tick"),
            ops.map(lambda state: {key: most_frequent(of) for key, of in state[1].items()}),
        )

    return pushed(columns(events, "type", "user", "ad"), query)


def n1(events: pa.Table) -> list[int]:
    """Open auctions at each start or close."""

    def query(source: rx.Observable[Any]) -> Any:
        return source.pipe(
            ops.filter(lambda event: event[0] in {"Item", "Close"}),
            ops.map(lambda event: 1 if event[0] == "Item" else -1),
            ops.scan(lambda number, by: number + by, 0),
        )

    return pushed(columns(events, "type"), query)


def _sales(source: rx.Observable[Any]) -> Any:
    """Return the category and the price of each item at its close: a group for each item."""

    def of_item(group: rx.Observable[Any]) -> Any:
        return group.pipe(
            ops.take_while(lambda event: event[0] != "Close"),
            ops.reduce(_bid, (0, 0.0, 0.0)),
            ops.map(lambda sale: (sale[0], sale[1] + sale[2])),
        )

    return source.pipe(
        ops.filter(lambda event: event[0] in {"Item", "Bid", "Close"}),
        ops.group_by_until(
            lambda event: event[1],
            None,
            lambda group: group.pipe(ops.filter(lambda event: event[0] == "Close")),
        ),
        ops.flat_map(of_item),
    )


def _bid(sale: tuple[int, float, float], event: Any) -> tuple[int, float, float]:
    kind, _, category, price = event
    return (category, price, 0.0) if kind == "Item" else (sale[0], sale[1], sale[2] + price)


def n2(events: pa.Table) -> list[float]:
    """The average closing price so far, at each close."""

    def query(source: rx.Observable[Any]) -> Any:
        return _sales(source).pipe(
            ops.scan(lambda state, sale: (state[0] + sale[1], state[1] + 1), (0.0, 0)),
            ops.map(lambda state: state[0] / state[1]),
        )

    closes = events["type"].to_pylist().count("Close")  # items that stay open are no sales
    return pushed(columns(events, "type", "item", "category", "price"), query)[:closes]


def n3(events: pa.Table) -> list[tuple[int, float]]:
    """The item's category and its average closing price so far, at each close."""

    def of_category(group: Any) -> Any:
        return group.pipe(
            ops.scan(lambda state, sale: (state[0] + sale[1], state[1] + 1), (0.0, 0)),
            ops.map(lambda state: (group.key, state[0] / state[1])),
        )

    def query(source: rx.Observable[Any]) -> Any:
        return _sales(source).pipe(ops.group_by(lambda sale: sale[0]), ops.flat_map(of_category))

    closes = events["type"].to_pylist().count("Close")
    return pushed(columns(events, "type", "item", "category", "price"), query)[:closes]


def n4(events: pa.Table) -> list[float | None]:
    """The highest bid of each ten minutes: a buffer between ticks of what items stand at."""

    def of_item(group: rx.Observable[Any]) -> Any:
        return group.pipe(
            ops.scan(
                lambda state, event: (
                    (event[2], 0.0) if event[0] == "Item" else (state[0], state[1] + event[2])
                ),
                (0.0, 0.0),
            ),
            ops.skip(1),
            ops.map(lambda state: state[0] + state[1]),
        )

    def query(source: rx.Observable[Any]) -> Any:
        ticks = source.pipe(ops.filter(lambda event: event[0] == "tick"))
        return source.pipe(
            ops.filter(lambda event: event[0] in {"Item", "Bid"}),
            ops.group_by(lambda event: event[1]),
            ops.flat_map(of_item),
            ops.buffer(ticks),
            ops.map(lambda offers: max(offers, default=None)),
        )

    return pushed(columns(events, "type", "item", "price"), query)[:-1]


def n5(events: pa.Table) -> list[tuple[int, int] | None]:
    """The item with most bids in 24 hours, each ten minutes: a buffer of buffers' counts."""
    panes: deque[Counter[int]] = deque()
    day: Counter[int] = Counter()

    def most(pane: Counter[int]) -> tuple[int, int] | None:
        panes.append(pane)
        day.update(pane)
        if len(panes) > DAY:
            for item, number in panes.popleft().items():
                day[item] -= number
                if not day[item]:
                    del day[item]
        return most_frequent(day)

    def query(source: rx.Observable[Any]) -> Any:
        ticks = source.pipe(ops.filter(lambda event: event[0] == "tick"))
        return source.pipe(
            ops.filter(lambda event: event[0] == "Bid"),
            ops.map(lambda event: event[1]),
            ops.buffer(ticks),
            ops.map(Counter),
            ops.map(most),
        )

    return pushed(columns(events, "type", "item"), query)[:-1]


def p6(events: pa.Table) -> list[int]:
    """The median over all days of the number of measurements of a day, each day."""

    def query(source: rx.Observable[Any]) -> Any:
        days = source.pipe(ops.filter(lambda event: event[0] == "D"))
        return source.pipe(
            ops.filter(lambda event: event[0] == "M"),
            ops.buffer(days),
            ops.scan(_with_day, []),
            ops.map(lambda numbers: numbers[(len(numbers) - 1) // 2]),
        )

    # the last buffer is that after the last day
    return pushed(columns(events, "type"), query)[:-1]


def _with_day(numbers: list[int], day: list[Any]) -> list[int]:
    insort(numbers, len(day))
    return numbers


def p7(events: pa.Table, size: int, limit: float) -> list[int]:
    """How many of the last events were measurements above the limit, at each event."""
    window: deque[int] = deque()

    def step(total: int, event: Any) -> int:
        mark = int(event[0] is not None and event[0] > limit)
        window.append(mark)
        return total + mark - (window.popleft() if len(window) > size else 0)

    return pushed(columns(events, "value"), lambda source: source.pipe(ops.scan(step, 0)))
