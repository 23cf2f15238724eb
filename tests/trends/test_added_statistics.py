"""Adding up the statistics of several operators."""

from __future__ import annotations

from dataclasses import fields

from elsinore.trends.statistics import BurstRecord, SharingStatistics, TrendStatistics


def numbered(start: int, *, name: str = "T+", time: int = 0) -> SharingStatistics:
    """Return statistics in which every number is another."""
    counts = [f.name for f in fields(SharingStatistics) if f.name not in KEPT]
    return SharingStatistics(
        name,
        ("q1", "q2"),
        records=[BurstRecord(time, 1, 2, 2, 0.0)],
        **{field: start + n for n, field in enumerate(counts)},
    )


KEPT = {"name", "queries", "records"}


def test_counts_are_added_and_what_one_operator_held_is_not() -> None:
    one = TrendStatistics(events=10, matched=8, classes=3, totals=2, state_bytes=100)
    other = TrendStatistics(events=1, matched=1, classes=5, totals=1, state_bytes=40)
    assert one.added(other) == TrendStatistics(
        events=11, matched=9, classes=5, totals=3, state_bytes=100
    )


def test_one_sharing_set_is_added_up_and_others_stay_apart() -> None:
    one = TrendStatistics(sharing=[numbered(1, time=9), numbered(5, name="A+")])
    other = TrendStatistics(sharing=[numbered(100, time=3)])
    both, alone = one.added(other).sharing
    assert alone == numbered(5, name="A+")
    for field in fields(SharingStatistics):
        if field.name not in KEPT:
            a, b = (getattr(found.sharing[0], field.name) for found in (one, other))
            expected = max(a, b) if field.name == "most_propagated" else a + b
            assert getattr(both, field.name) == expected, field.name
    assert [record.time for record in both.records] == [3, 9]


def test_adding_changes_neither() -> None:
    one, other = (TrendStatistics(sharing=[numbered(n)]) for n in (1, 2))
    one.added(other)
    assert one == TrendStatistics(sharing=[numbered(1)])
    assert other == TrendStatistics(sharing=[numbered(2)])
