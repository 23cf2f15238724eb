"""The quantitative examples against plain loops over the same events."""

import importlib.util
from collections import Counter, defaultdict, deque
from pathlib import Path
from statistics import mean, median_low
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import elsinore.quantitative as qre
from elsinore.datasets.ads import ads as ads_events
from elsinore.datasets.auctions import auctions as auction_events
from elsinore.datasets.patients import patients as patient_events

FOLDER = Path(__file__).parents[2] / "examples" / "quantitative"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"quantitative_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


patients, auctions, ads = (example(name) for name in ("patients", "auctions", "ads"))
PATIENTS = patient_events(4000, seed=5, patients=5)
AUCTIONS = auction_events(4000, seed=5, open_items=20)


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
    for compiled in (False, True):
        found = auctions.open_auctions().run(AUCTIONS, compiled=compiled)
        assert found["value"].to_pylist() == expected


def test_n2_and_n3_rest_on_the_price_of_each_item_at_its_close() -> None:
    prices: dict[int, float] = {}
    increments: dict[int, float] = defaultdict(float)
    category: dict[int, int] = {}
    expected, sales = [], []
    for row in AUCTIONS.to_pylist():
        item = row["item"]
        if row["type"] == "Item":
            prices[item], category[item] = row["price"], row["category"]
        elif row["type"] == "Bid":
            increments[item] += row["price"]
        elif row["type"] == "Close":
            expected.append(prices[item] + increments[item])
            sales.append((category[item], expected[-1]))
    events = AUCTIONS.filter(pc.not_equal(AUCTIONS["type"], "Person"))
    found = auctions.closing_price().by("item").run(events, compiled=True)["value"].to_pylist()
    assert len(found) > 100
    assert found == expected
    sold = auctions.sale().by("item").run(events)["value"].to_pylist()
    assert [(sale["_1"], sale["_2"]) for sale in sold] == sales
    average = qre.iterate1(qre.atom(qre.any, lambda sale: sale[1]), qre.mean())
    assert average.start().extend(sales)[1][-1] == pytest.approx(mean(expected))


def with_ticks(events: pa.Table) -> pa.Table:
    """Return events with one more, of type tick, at the end of each second."""
    seconds = pc.floor_temporal(events["time"], unit="second")
    ends = pc.add(pc.unique(seconds), pa.scalar(1_000_000, pa.duration("us")))
    ticks = pa.table({"time": ends, "type": pa.array(["tick"] * len(ends))})
    both = pa.concat_tables(
        [events.set_column(1, "type", events["type"].cast(pa.string())), ticks],
        promote_options="default",
    )
    return both.take(pc.sort_indices(both, [("time", "ascending"), ("type", "descending")]))


def test_y1_and_y2_report_each_campaign_each_second() -> None:
    events = with_ticks(ads_events(1500, seed=5, campaigns=4, ads_per_campaign=3, rate=9000.0))
    views: Counter[int] = Counter()
    bought: dict[int, Counter[int]] = {}
    per_second, so_far = [], []
    touched: set[int] = set()
    for row in events.to_pylist():
        if row["type"] == "tick":
            per_second.append({campaign: views[campaign] for campaign in touched})
            so_far.append(
                {
                    c: min(((-n, ad) for ad, n in counted.items()), default=None)
                    for c, counted in bought.items()
                }
            )
            views, touched = Counter(), set()
            continue
        touched.add(row["campaign"])
        views[row["campaign"]] += row["type"] == "view"
        counted = bought.setdefault(row["campaign"], Counter())
        if row["type"] == "purchase":
            counted[row["ad"]] += 1
    assert len(per_second) > 5
    assert [dict(found) for found in values(ads.views_per_campaign(), events)] == per_second
    found = values(ads.most_successful_ads(), events)
    told = [{c: v and (-v["_2"], v["_1"]) for c, v in second} for second in found]
    assert told == so_far
