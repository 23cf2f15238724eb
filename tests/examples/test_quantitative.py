"""The quantitative examples against plain loops over the same events."""

import importlib.util
import sys
from collections import Counter, defaultdict, deque
from pathlib import Path
from statistics import median_low
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import elsinore.quantitative as qre
from elsinore.datasets.ads import ads as ads_events
from elsinore.datasets.auctions import auctions as auction_events
from elsinore.datasets.patients import patients as patient_events
from elsinore.datasets.ticks import with_ticks

FOLDER = Path(__file__).parents[2] / "examples" / "quantitative"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"quantitative_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for their module there
    spec.loader.exec_module(module)
    return module


patients, auctions, ads = (example(name) for name in ("patients", "auctions", "ads"))
PATIENTS = patient_events(4000, seed=5, patients=5)
AUCTIONS = auction_events(4000, seed=5, open_items=20)
INTERACTIONS = with_ticks(
    ads_events(1500, seed=5, campaigns=4, ads_per_campaign=3, users=40, rate=9000.0), 1
)


def values(query: Any, events: pa.Table) -> list[Any]:
    return query.run(events)["value"].to_pylist()


def days_of_patients() -> list[dict[int, list[list[float]]]]:
    """Return the days: of each patient seen so far, the measurements of each episode of the day."""
    days: list[dict[int, list[list[float]]]] = []
    seen: dict[int, list[list[float]]] = {}
    for row in PATIENTS.to_pylist():
        if row["type"] == "D":
            days.append(seen)
            seen = {patient: [] for patient in seen}
        elif row["type"] == "B":
            seen.setdefault(row["patient"], []).append([])
        elif row["type"] == "M":
            seen[row["patient"]][-1].append(row["value"])
    return days


def greatest(episodes: list[list[float]]) -> float:
    """Return the greatest mean; sums and quotients in the query's order are the same doubles."""
    return max([0.0, *(sum(e, 0.0) / len(e) for e in episodes if e)])


def test_the_policy_reports_each_patients_greatest_mean_of_the_day() -> None:
    expected = [{p: greatest(found) for p, found in day.items()} for day in days_of_patients()]
    assert len(expected) > 10
    assert [dict(found) for found in values(patients.policy(), PATIENTS)] == expected


def test_critical_patients_had_two_critical_days_running() -> None:
    days = [{p: greatest(e) > 85 for p, e in day.items()} for day in days_of_patients()]
    expected = [
        sorted(p for p in day if n and day[p] and days[n - 1].get(p, False))
        for n, day in enumerate(days)
    ]
    assert any(expected)
    assert values(patients.critical_patients(85.0), PATIENTS) == expected


def test_the_mean_after_the_last_extreme_measurement_is_reported_for_its_episodes() -> None:
    alone = PATIENTS.filter(
        pc.or_kleene(pc.equal(PATIENTS["patient"], 1), pc.equal(PATIENTS["type"], "D"))
    )
    expected = []
    episode: list[float] = []
    for row in alone.to_pylist():
        if row["type"] == "B":
            episode = []
        elif row["type"] == "M":
            episode.append(row["value"])
        elif row["type"] == "E":
            last = max((n for n, v in enumerate(episode) if v > 90), default=None)
            after = [] if last is None else episode[last + 1 :]
            expected.append(sum(after, 0.0) / len(after) if after else None)
    assert any(value is not None for value in expected)
    assert values(patients.after_extreme(90.0), alone) == expected


def test_p6_is_the_median_number_of_measurements_a_day_exact_and_within_eps() -> None:
    numbers = [sum(len(e) for p in day.values() for e in p) for day in days_of_patients()]
    expected = [median_low(numbers[: n + 1]) for n in range(len(numbers))]
    assert values(patients.median_measurements(qre.median()), PATIENTS) == expected
    near = values(patients.median_measurements(qre.approx_median(0.01)), PATIENTS)
    assert all(x <= true <= 1.01 * x + 1e-9 for x, true in zip(near, expected, strict=True))


@pytest.mark.parametrize("eps", [None, 0.1])
def test_p7_counts_atypical_measurements_among_the_last_events(eps: float | None) -> None:
    window: deque[int] = deque(maxlen=50)
    expected = []
    for value in PATIENTS["value"].to_pylist():
        window.append(int(value is not None and value > 80))
        expected.append(sum(window))
    found = values(patients.atypical(80.0, 50, eps), PATIENTS)
    if eps is None:
        assert found == expected
    else:
        assert all(abs(x - true) <= eps * true for x, true in zip(found, expected, strict=True))


def test_n1_counts_open_auctions_at_each_start_and_close() -> None:
    number, expected = 0, []
    for kind in AUCTIONS["type"].to_pylist():
        if kind in {"Item", "Close"}:
            number += 1 if kind == "Item" else -1
            expected.append(number)
    found = auctions.open_auctions().run(AUCTIONS)
    assert found["value"].to_pylist() == expected


def sales() -> list[tuple[int, float]]:
    """Return the category and the price of each item at its close, in order."""
    opened: dict[int, tuple[int, float]] = {}
    increments: dict[int, float] = defaultdict(float)
    found = []
    for row in AUCTIONS.to_pylist():
        item = row["item"]
        if row["type"] == "Item":
            opened[item] = row["category"], row["price"]
        elif row["type"] == "Bid":
            increments[item] += row["price"]
        elif row["type"] == "Close":
            category, price = opened[item]
            found.append((category, price + increments[item]))
    return found


def test_n2_is_the_average_closing_price_of_all_items_so_far() -> None:
    prices = [price for _, price in sales()]
    assert len(prices) > 100
    found = auctions.average_closing_price().run(AUCTIONS)
    closes = AUCTIONS.filter(pc.equal(AUCTIONS["type"], "Close"))
    assert found["time"].to_pylist() == closes["time"].to_pylist()
    assert found["value"].to_pylist() == [
        sum(prices[:number], 0.0) / number for number in range(1, len(prices) + 1)
    ]


def test_n3_is_the_average_closing_price_of_the_category() -> None:
    by_category: dict[int, list[float]] = defaultdict(list)
    expected = []
    for category, price in sales():
        by_category[category].append(price)
        expected.append((category, sum(by_category[category], 0.0) / len(by_category[category])))
    found = auctions.average_closing_price_per_category().run(AUCTIONS)
    assert len(by_category) > 5
    columns = [found[name].to_pylist() for name in ("category", "value")]
    assert list(zip(*columns, strict=True)) == expected


def test_n2_and_n3_agree_with_polars_over_all_sales() -> None:
    events = pl.DataFrame(AUCTIONS).cast({"type": pl.String})
    sold = events.filter(pl.col("type") == "Close")["item"]
    prices = (
        events.filter(pl.col("item").is_in(sold.to_list()))
        .group_by("item")
        .agg(pl.col("price").sum(), pl.col("category").first())
    )
    overall = auctions.average_closing_price().run(AUCTIONS)["value"][-1].as_py()
    assert overall == pytest.approx(prices["price"].mean())
    per_category = auctions.average_closing_price_per_category().run(AUCTIONS)
    last = {row["category"]: row["value"] for row in per_category.to_pylist()}
    means = prices.group_by("category").agg(pl.col("price").mean())
    assert last == pytest.approx(dict(means.rows()))


SLOW = with_ticks(auction_events(4000, seed=6, open_items=20, rate=40.0), 600)  # 100 minutes


def test_n4_is_the_highest_bid_of_each_ten_minutes() -> None:
    standing: dict[int, float] = {}
    increments: dict[int, float] = {}
    most, expected = None, []
    for row in SLOW.to_pylist():
        item = row["item"]
        if row["type"] == "Item":
            standing[item], increments[item] = row["price"], 0.0
        elif row["type"] == "Bid":
            increments[item] += row["price"]
            offer = standing[item] + increments[item]
            most = offer if most is None else max(most, offer)
        elif row["type"] == "tick":
            expected.append(most)
            most = None
    assert len(expected) > 8
    found = auctions.highest_bid().run(SLOW)
    assert found["value"].to_pylist() == expected
    ticks = SLOW.filter(pc.equal(SLOW["type"], "tick"))
    assert found["time"].to_pylist() == ticks["time"].to_pylist()


def test_n5_is_the_item_with_most_bids_in_the_last_ticks() -> None:
    ticks = 3
    windows: deque[Counter[int]] = deque([Counter()], maxlen=ticks)
    expected = []
    for row in SLOW.to_pylist():
        if row["type"] == "Bid":
            windows[-1][row["item"]] += 1
        elif row["type"] == "tick":
            bids = sum(windows, Counter())
            expected.append(min((-number, item) for item, number in bids.items()))
            windows.append(Counter())
    found = values(auctions.most_bids(ticks), SLOW)
    assert len({item for _, item in expected}) > 3
    assert [(-best["_2"], best["_1"]) for best in found] == expected


def test_y1_is_the_number_of_views_of_each_campaign_each_second() -> None:
    views: Counter[int] = Counter()
    touched: set[int] = set()
    expected = []
    for row in INTERACTIONS.to_pylist():
        if row["type"] == "tick":
            expected.append({campaign: views[campaign] for campaign in touched})
            views, touched = Counter(), set()
            continue
        touched.add(row["campaign"])
        views[row["campaign"]] += row["type"] == "view"
    assert len(expected) > 5
    assert [dict(found) for found in values(ads.views_per_campaign(), INTERACTIONS)] == expected


def test_y2_counts_users_who_purchase_after_viewing_each_once() -> None:
    viewed: set[tuple[int, int]] = set()
    succeeded: set[tuple[int, int]] = set()
    expected = []
    early = again = 0
    rows = INTERACTIONS.to_pylist()
    for row in rows[::3]:
        if row["type"] == "purchase":  # by someone who may not have viewed the ad
            row["user"] = (row["user"] + 1) % 40
    for row in rows:
        place = row["ad"], row["user"]
        if row["type"] == "tick":
            users = Counter(ad for ad, _ in succeeded)
            ranked = sorted((number, -ad) for ad, number in users.items())
            expected.append({-ad // 3: (-ad, number) for number, ad in ranked})
        elif row["type"] == "view":
            viewed.add(place)
        elif row["type"] == "purchase":
            early += place not in viewed
            again += place in succeeded
            if place in viewed:
                succeeded.add(place)
    assert early > 5
    assert again > 5
    found = values(ads.most_successful_ads(np.arange(12) // 3), pa.Table.from_pylist(rows))
    assert [{key: tuple(best.values()) for key, best in second} for second in found] == expected
