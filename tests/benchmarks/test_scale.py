"""The figure of scale: points in processes of their own, exponents, and what is over its time."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from benchmarks.papers import figure, scale


def test_a_point_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    point = scale.Point("in process", events=2_000, queries=3, groups=5, windows=2)
    point.write(tmp_path / "events.parquet")
    events = pq.read_table(tmp_path / "events.parquet")
    assert events.num_rows == 2_000
    found = scale.measure_point(point, 120)
    assert found.note == ""
    assert (found.seconds or 0) > 0
    assert (found.memory or 0) > 1e7
    assert (found.rows or 0) > 100


def test_a_point_over_its_time_is_marked() -> None:
    point = scale.Point("in process", events=2_000, queries=1, groups=1, windows=1)
    assert scale.measure_point(point, 0.01) == scale.Measured(note="over its time")


def test_exponents_and_missing_points_are_named_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def linear(point: scale.Point, budget: float) -> scale.Measured:
        if point.queries == 10_000 and point.system == "Spark":
            return scale.Measured(note="over its time")
        seconds = point.events * 1e-6 * point.queries**0.5
        return scale.Measured(seconds, 1e8, point.events)

    monkeypatch.setattr(scale, "measure_point", linear)
    made = scale.measure(quick=False)
    for axis, power in (("events", "1.00"), ("queries", "0.50")):
        assert (
            f"{axis}, in process: time grows with the power {power}, with {power} between the two "
            "greatest; memory with 0.00."
        ) in made.remarks
    assert "10,000 queries, Spark: over its time." in made.remarks
    assert made.remarks[-1] == "Both ways return as many rows at all points but 0."
    figure.write(made, [tmp_path / f"x{ending}" for ending in (".csv", ".png", ".svg")])
    assert (tmp_path / "x.png").stat().st_size
