"""The queries of StreamQRE's evaluation, their streams, and the rivals that can say them."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import elsinore.quantitative as qre
from benchmarks.baselines import compiled_loops, frames, loops, reactive
from elsinore.datasets import ads, auctions, patients, with_ticks

FOLDER = Path(__file__).parents[1] / "examples" / "quantitative"
TEN_MINUTES = 600  # seconds
LIMIT = 90.0  # above which a measurement is atypical


@dataclass(frozen=True, slots=True)
class Case:
    """A query, how its events are made, and rivals: functions of the events' table.

    `values` makes a list of values of what Elsinore returns, and `rival_values` of what a rival
    does that gives no such list itself.
    """

    name: str
    about: str
    query: Callable[[], Any]
    events: Callable[[int], pa.Table]
    rivals: Mapping[str, Callable[[pa.Table], Any]]
    values: Callable[[pa.Table], list[Any]]
    rival_values: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)


@cache
def example(name: str) -> ModuleType:
    """Return a module of the quantitative examples."""
    spec = importlib.util.spec_from_file_location(f"quantitative_{name}", FOLDER / f"{name}.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def advertisements(count: int) -> pa.Table:
    """Return views, clicks and purchases, 100 campaigns, 10,000 a second, with a tick a second."""
    return with_ticks(ads(count, seed=1), 1)


def auction(count: int) -> pa.Table:
    """Return the events of an auction, 1,000 a minute, with a tick each ten minutes."""
    return with_ticks(auctions(count, seed=1, rate=1_000.0), TEN_MINUTES)


def auction_alone(count: int) -> pa.Table:
    """Return the events of an auction without ticks."""
    return auctions(count, seed=1, rate=1_000.0)


def monitored(count: int) -> pa.Table:
    """Return the events of ten patients, about 300 of them a day."""
    return patients(count, seed=1)


def measured_days(count: int) -> pa.Table:
    """Return about `count` events: days of 10 to 100 measurements each."""
    numbers = np.random.default_rng(2).integers(10, 101, max(1, count // 56))
    ends = np.cumsum(numbers + 1) - 1
    kinds = np.zeros(int(ends[-1]) + 1, np.int32)
    kinds[ends] = 1
    types = pa.DictionaryArray.from_arrays(pa.array(kinds), pa.array(["M", "D"]))
    return pa.table({"time": np.arange(len(kinds)), "type": types})


def plain(found: pa.Table) -> list[Any]:
    """Return the values of a table: maps as dicts, structs as tuples."""
    values = found["value"].combine_chunks()
    if pa.types.is_map(values.type):
        return [{key: _tuple(value) for key, value in pairs} for pairs in values.to_pylist()]
    return [_tuple(value) for value in values.to_pylist()]


def _tuple(value: Any) -> Any:
    return tuple(value.values()) if isinstance(value, dict) else value


def with_category(found: pa.Table) -> list[Any]:
    """Return the values with their categories."""
    return list(zip(found["category"].to_pylist(), found["value"].to_pylist(), strict=True))


def _seconds(found: Any) -> list[dict[int, int]]:
    """Return the frame of views as a map for each second."""
    parts = found.partition_by("second", maintain_order=True)
    return [dict(part.select("campaign", "views").rows()) for part in parts]


def _campaigns(found: Any) -> list[dict[int, int]]:
    """Return the array of views as a map for each second."""
    return [{key: views for key, views in enumerate(row) if views >= 0} for row in found.tolist()]


def _best_ads(found: Any) -> list[dict[int, tuple[int, int]]]:
    """Return the array of best ads as a map for each second."""
    return [{key: (ad, n) for key, (ad, n) in enumerate(row) if ad >= 0} for row in found.tolist()]


def _means(found: Any) -> list[tuple[int, float]]:
    return list(zip(*(column.tolist() for column in found), strict=True))


def _offers(found: Any) -> list[float | None]:
    return [None if math.isnan(value) else value for value in found.tolist()]


def _pairs(found: Any) -> list[tuple[int, int]]:
    return [tuple(pair) for pair in found.tolist()]


def _column(found: Any) -> list[Any]:
    return found["value"].to_list()


def _array(found: Any) -> list[Any]:
    return found.tolist()


def cases() -> dict[str, Case]:
    """Return the queries of Figure 6 by name."""
    advertising, bids = example("ads"), example("auctions")
    rx, by_hand = "RxPY", "plain loop"
    found = [
        Case(
            "Y1",
            "views per campaign each second",
            advertising.views_per_campaign,
            advertisements,
            {by_hand: loops.y1, rx: reactive.y1, "polars": frames.y1, "Numba": compiled_loops.y1},
            plain,
            {"polars": _seconds, "Numba": _campaigns},
        ),
        Case(
            "Y2",
            "each campaign's ad with most users who purchase after viewing it",
            advertising.most_successful_ads,
            advertisements,
            {by_hand: loops.y2, rx: reactive.y2, "Numba": compiled_loops.y2},
            plain,
            {"Numba": _best_ads},
        ),
        Case(
            "N1",
            "open auctions",
            bids.open_auctions,
            auction_alone,
            {by_hand: loops.n1, rx: reactive.n1, "polars": frames.n1, "Numba": compiled_loops.n1},
            plain,
            {"polars": _column, "Numba": _array},
        ),
        Case(
            "N2",
            "average closing price",
            bids.average_closing_price,
            auction,
            {by_hand: loops.n2, rx: reactive.n2, "polars": frames.n2, "Numba": compiled_loops.n2},
            plain,
            {"polars": _column, "Numba": _array},
        ),
        Case(
            "N3",
            "average closing price per category",
            bids.average_closing_price_per_category,
            auction,
            {by_hand: loops.n3, rx: reactive.n3, "polars": frames.n3, "Numba": compiled_loops.n3},
            with_category,
            {"polars": lambda found: found.rows(), "Numba": _means},
        ),
        Case(
            "N4",
            "highest bid each ten minutes",
            bids.highest_bid,
            auction,
            {by_hand: loops.n4, rx: reactive.n4, "polars": frames.n4, "Numba": compiled_loops.n4},
            plain,
            {"polars": _column, "Numba": _offers},
        ),
        Case(
            "N5",
            "item with most bids in 24 hours, each ten minutes",
            bids.most_bids,
            auction,
            {by_hand: loops.n5, rx: reactive.n5, "Numba": compiled_loops.n5},
            plain,
            {"Numba": _pairs},
        ),
    ]
    return {case.name: case for case in found}


def median_case() -> Case:
    """Return P6 of Table 1, exact."""
    return Case(
        "P6",
        "median over all days of the number of measurements",
        lambda: example("patients").median_measurements(qre.median()),
        measured_days,
        {"plain loop": loops.p6, "RxPY": reactive.p6, "Numba": compiled_loops.p6},
        plain,
        {"Numba": _array},
    )


def check(case: Case, found: pa.Table, rivals: Mapping[str, Any]) -> None:
    """Raise AssertionError where a rival has other values.

    Doubles may differ in the last digits: polars adds in an order of its own.
    """
    expected = case.values(found)
    if not expected:
        raise AssertionError(f"{case.name} has no values")
    for name, values in rivals.items():
        told = case.rival_values.get(name, list)(values)
        if len(told) != len(expected) or not all(map(same, told, expected)):
            raise AssertionError(f"{case.name}: {name} has other values than Elsinore")


def same(left: Any, right: Any) -> bool:
    """Return whether two values are equal, doubles to nine digits.

    >>> same((1, 0.1 + 0.2), (1, 0.3)), same({1: None}, {1: 2})
    (True, False)
    """
    if isinstance(left, float) and isinstance(right, float):
        return abs(left - right) <= 1e-9 * max(abs(left), abs(right))
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


def first(events: pa.Table, count: int) -> pa.Table:
    """Return so many events at most, the last one a tick, or a day's end, where there are such."""
    some = events.slice(0, count)
    ends = pc.is_in(some["type"].cast(pa.string()), pa.array(["tick", "D"]))
    ticks = np.flatnonzero(ends.to_numpy())
    return some.slice(0, int(ticks[-1]) + 1) if len(ticks) else some
