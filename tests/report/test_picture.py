"""The files that are drawn and written."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from elsinore.errors import OutputError
from elsinore.report import draw, panels, picture, records_table
from elsinore.runtime.times import TimeKind
from elsinore.trends.statistics import BurstRecord, SharingStatistics, TrendStatistics

SECONDS = TimeKind(form="float", unit="s")
STAMPS = TimeKind(form="timestamp", unit="us", zone="Europe/Berlin")


def statistics(bursts: int, sets: int = 1) -> list[TrendStatistics]:
    records = [
        BurstRecord(10**6 * n, n % 7 + 1, 2, 2 * (n % 2), float(n % 5 - 2)) for n in range(bursts)
    ]
    return [
        TrendStatistics(
            sharing=[
                SharingStatistics(f"B{n}+", ("q<1>", "q & 2"), records=records) for n in range(sets)
            ]
        )
    ]


@pytest.mark.parametrize("kind", [SECONDS, STAMPS, TimeKind(form="date")])
@pytest.mark.parametrize("bursts", [1, 2, 5000])
def test_a_png_and_an_svg_are_drawn(tmp_path: Path, kind: TimeKind, bursts: int) -> None:
    png, svg = draw(panels(statistics(bursts)), kind, tmp_path / "new" / "sharing")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in svg.read_text()


def test_the_same_bursts_give_the_same_files(tmp_path: Path) -> None:
    shown = panels(statistics(40))
    one, other = (draw(shown, STAMPS, tmp_path / name / "sharing") for name in ("a", "b"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_a_picture_has_so_many_panels_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture, "MOST_PANELS", 2)
    _, svg = draw(panels(statistics(3, sets=4)), SECONDS, tmp_path / "sharing")
    text = svg.read_text()
    assert "<!-- B1+ of" in text
    assert "<!-- B2+ of" not in text


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file/sharing"):
        draw(panels(statistics(3)), SECONDS, tmp_path / "file" / "sharing")


def test_records_have_the_inputs_kind_of_time() -> None:
    rows = records_table(statistics(2), SECONDS).to_pylist()
    assert rows[1] == {
        "pass": 1,
        "pattern": "B0+",
        "queries": "q<1>, q & 2",
        "time": 1.0,
        "events": 2,
        "could_share": 2,
        "shared": 2,
        "benefit": -1.0,
    }
    stamp = records_table(statistics(1), TimeKind(form="timestamp")).column("time")[0].as_py()
    assert stamp == datetime(1970, 1, 1)


def test_without_matplotlib_its_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from elsinore.errors import SetupError\n"
        "try:\n    import elsinore.report\nexcept SetupError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'elsinore[report]'" in done.stdout
