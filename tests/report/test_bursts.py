"""Which bars and dots a picture has."""

from __future__ import annotations

import pytest

from elsinore.report import panels
from elsinore.report.bursts import LONGEST_TITLE, bursts_of
from elsinore.trends.statistics import BurstRecord, SharingStatistics, TrendStatistics


def record(time: int, events: int = 4, *, shared: int = 2, benefit: float = 1.0) -> BurstRecord:
    return BurstRecord(time, events, 2, shared, benefit)


def travel(*records: BurstRecord) -> SharingStatistics:
    return SharingStatistics("Travel+", ("q1", "q2"), records=list(records))


def test_few_bursts_are_shown_one_by_one_in_the_order_of_their_times() -> None:
    found = bursts_of(travel(record(20, 3, shared=0, benefit=-5.0), record(10, 7)))
    assert not found.binned
    assert found.time.tolist() == [10, 20]
    assert found.shared.tolist() == [7, 0]
    assert found.single.tolist() == [0, 3]
    assert found.benefit.tolist() == [1.0, -5.0]


def test_a_burst_that_one_query_alone_works_on_is_not_shared() -> None:
    assert bursts_of(travel(record(1, 5, shared=1))).single.tolist() == [5]


def test_many_bursts_are_binned_and_bins_without_any_left_out() -> None:
    times = [0, 1, 2, 100, 101]
    found = bursts_of(
        travel(*(record(t, 2, shared=t % 2 * 2, benefit=float(t)) for t in times)), most=4, bins=10
    )
    assert found.binned
    assert found.time.tolist() == [0, 99]
    assert found.until.tolist() == [11, 110]
    assert found.shared.tolist() == [2, 2]
    assert found.single.tolist() == [4, 2]
    assert found.benefit.tolist() == [1.0, 100.5]
    assert (found.least.tolist(), found.greatest.tolist()) == ([0.0, 100.0], [2.0, 101.0])


@pytest.mark.parametrize("bins", [1, 2, 7, 400])
def test_bins_lose_no_event(bins: int) -> None:
    records = [record(t * t, t, shared=2 * (t % 3 == 0)) for t in range(1, 60)]
    found = bursts_of(travel(*records), most=10, bins=bins)
    assert len(found.time) <= bins
    assert int(found.shared.sum() + found.single.sum()) == sum(range(1, 60))


def test_bursts_of_one_moment_fall_into_one_bin() -> None:
    found = bursts_of(travel(*[record(5)] * 20), most=10, bins=4)
    assert (found.time.tolist(), found.shared.tolist()) == ([5], [80])


def test_a_panel_says_what_it_shows_and_sets_that_share_nothing_have_none() -> None:
    single = SharingStatistics("A+", ("q1",), records=[record(1)])
    several = travel(record(1), record(2, shared=0))
    statistics = [TrendStatistics(sharing=[travel(), single, several])]
    (panel,) = panels(statistics)
    assert panel.title == "Travel+ of q1, q2 (operator 1)\n50% of 2 bursts shared"


def test_the_title_of_many_queries_is_cut() -> None:
    many = SharingStatistics("B+", tuple(f"query{n}" for n in range(50)), records=[record(1)])
    (panel,) = panels([TrendStatistics(sharing=[many])])
    assert panel.title.startswith("B+ of 50 queries: query0, query1, ")
    assert "… (operator 1)\n" in panel.title
    assert max(map(len, panel.title.splitlines())) <= LONGEST_TITLE
