"""The watermark: the least of all partitions' times, less the bound, whoever is idle."""

from __future__ import annotations

from elsinore.runtime.live import Watermark


def test_it_is_the_least_of_the_partitions_and_never_goes_back() -> None:
    watermark = Watermark(lateness=5)
    assert watermark.at(0.0) is None
    watermark.observe(100, "a", now=0.0)
    assert watermark.at(0.0) == 95
    watermark.observe(50, "b", now=0.0)
    assert watermark.at(0.0) == 95
    watermark.observe(200, "a", now=0.0)
    watermark.observe(120, "b", now=0.0)
    watermark.observe(90, "b", now=0.0)
    assert watermark.at(0.0) == 115


def test_a_partition_that_is_expected_is_waited_for_until_it_is_idle() -> None:
    watermark = Watermark(lateness=0, idle_timeout=10.0)
    watermark.expect("a", now=0.0)
    watermark.expect("b", now=0.0)
    watermark.observe(100, "a", now=5.0)
    assert watermark.at(6.0) is None
    assert watermark.at(11.0) == 100


def test_while_all_partitions_are_idle_time_moves_on_with_the_clock() -> None:
    watermark = Watermark(lateness=20, idle_timeout=10.0, per_second=2)
    watermark.observe(100, now=1.0)
    assert watermark.at(11.0) == 80
    assert watermark.at(12.0) == 100 + 22 - 20
    watermark.observe(110, now=12.0)
    assert watermark.at(12.0) == 102


def test_a_saved_watermark_continues() -> None:
    watermark = Watermark(lateness=5)
    watermark.observe(100, "a", now=0.0)
    watermark.observe(70, "b", now=0.0)
    assert watermark.at(0.0) == 65
    restored = Watermark(lateness=5)
    restored.restore(watermark.saved(), now=3.0)
    restored.observe(110, "a", now=3.0)
    assert restored.at(3.0) == 65
    restored.observe(80, "b", now=3.0)
    assert restored.at(3.0) == 75
