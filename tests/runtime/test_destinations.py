"""Where a run may write: never over what it reads, and over what exists only where asked to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from elsinore.errors import OutputError
from elsinore.runtime.destinations import LONGEST_NAME, Destination, check_destinations
from elsinore.runtime.drafts import LONGEST_PREFIX, draft


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder with a file of events, a folder of them, and links to both."""
    monkeypatch.chdir(tmp_path)
    Path("trips.csv").write_text("time,type\n")
    Path("days").mkdir()
    Path("days/monday.csv").write_text("time,type\n")
    Path("elsewhere").mkdir()
    Path("elsewhere/tuesday.csv").write_text("time,type\n")
    Path("days/tuesday.csv").symlink_to("../elsewhere/tuesday.csv")
    Path("link.csv").symlink_to("trips.csv")
    Path("link").symlink_to("days")
    os.link("trips.csv", "twin.csv")


def check(place: str | Path, *inputs: str | Path, overwrite: bool = True) -> None:
    read = [Path(one) for one in inputs]
    check_destinations([Destination(Path(place), "--out")], read, overwrite=overwrite)


@pytest.mark.parametrize(
    "place", ["trips.csv", "days/../trips.csv", "link.csv", "twin.csv", "./link/../trips.csv"]
)
@pytest.mark.parametrize("read", ["trips.csv", "link.csv", "days/../twin.csv"])
def test_an_input_is_never_written_by_any_of_its_names(place: str, read: str) -> None:
    with pytest.raises(OutputError, match=r"--out .* is .*, which this run reads"):
        check(place, read)


@pytest.mark.parametrize("place", ["days/monday.csv", "days/tuesday.csv", "elsewhere/tuesday.csv"])
@pytest.mark.parametrize("read", ["days", "link", Path("days").absolute])
def test_a_file_of_an_input_folder_is_never_written(place: str, read: object) -> None:
    with pytest.raises(OutputError, match="which this run reads"):
        check(place, read() if callable(read) else str(read))


@pytest.mark.parametrize("place", ["days/q.csv", "link/q.csv", "days/new/q.csv", "days/../link/q"])
def test_nothing_is_written_inside_an_input(place: str) -> None:
    with pytest.raises(OutputError, match=r"lies inside 'days'"):
        check(place, "days")


def test_a_link_inside_an_input_that_leads_out_of_it_is_not_written() -> None:
    Path("days/out.csv").symlink_to("../elsewhere/new.csv")
    with pytest.raises(OutputError, match="lies inside"):
        check("days/out.csv", "days")


@pytest.mark.parametrize("place", ["days", ".", "elsewhere/..", "elsewhere"])
def test_nothing_that_contains_an_input_is_written(place: str) -> None:
    with pytest.raises(OutputError, match="which this run reads"):
        check(place, "days")


def test_overwriting_is_to_be_asked_for() -> None:
    with pytest.raises(OutputError, match=r"'trips.csv' exists already. Add --overwrite"):
        check("trips.csv", overwrite=False)
    check("trips.csv")


def test_a_link_that_leads_nowhere_exists() -> None:
    Path("gone.csv").symlink_to("nowhere")
    with pytest.raises(OutputError, match="exists already"):
        check("gone.csv", overwrite=False)


def test_several_that_exist_are_counted() -> None:
    both = [Destination(Path(name), "--out") for name in ("trips.csv", "twin.csv")]
    with pytest.raises(OutputError, match=r"'trips.csv' and 1 more exist already.*replace them"):
        check_destinations(both, [])


def test_only_parts_of_results_are_deleted_with_a_folder() -> None:
    Path("q.csv").mkdir()
    Path("q.csv/part-00000.csv").write_text("")
    Path("q.csv/_SUCCESS").write_text("")
    check("q.csv")
    Path("q.csv/thesis.txt").write_text("")
    with pytest.raises(OutputError, match=r"holds 'thesis.txt', which is not part of a result"):
        check("q.csv")


def test_two_destinations_are_two_places() -> None:
    with pytest.raises(OutputError, match="are the same path"):
        check_destinations(
            [Destination(Path("q.csv"), "--out"), Destination(Path("days/../q.csv"), "--rejects")],
            [],
        )
    with pytest.raises(OutputError, match=r"--rejects 'q.csv/bad.csv' lies inside --out 'q.csv'"):
        check_destinations(
            [Destination(Path("q.csv"), "--out"), Destination(Path("q.csv/bad.csv"), "--rejects")],
            [],
        )


def test_beside_a_folder_that_is_not_there_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"--out '.*q.csv' .*: there is no folder '.*no'"):
        check_destinations([Destination(tmp_path / "no" / ".." / "q.csv", "--out")], [])
    (tmp_path / "yes").mkdir()
    check_destinations([Destination(tmp_path / "yes" / ".." / "q.csv", "--out")], [])


def test_a_file_holds_no_results() -> None:
    with pytest.raises(OutputError, match=r"'.*trips.csv' is not a folder"):
        check("trips.csv/results/q.csv")


def test_what_is_nobodys_may_be_written_beside_inputs() -> None:
    check("q.csv", "trips.csv", "days", overwrite=False)
    check("results/q.csv", "trips.csv", "days", overwrite=False)


@pytest.mark.parametrize("name", ["q" * 250, "größe" * 40])
def test_a_name_that_no_file_can_have_is_refused_before_anything_is_read(name: str) -> None:
    with pytest.raises(OutputError, match=r"at most 255 are possible"):
        check(f"out/{name}.parquet")


@pytest.mark.parametrize("size", range(LONGEST_PREFIX - 1, LONGEST_NAME + 1, 6))
def test_the_longest_names_can_be_written_with_drafts_by_any_process(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getpid", lambda: 2**64 - 1)
    monkeypatch.setattr("threading.get_native_id", lambda: 2**64 - 1)
    place = Path("out") / ("q" * size)
    check(place)
    with draft(place) as beside:
        beside.write_text("trends")
    assert place.read_text() == "trends"
    with draft(place, overwrite=True) as beside:
        beside.mkdir()
    with draft(place, overwrite=True) as beside:
        beside.mkdir()
        (beside / "part-0").write_text("more")
    assert [path.name for path in place.iterdir()] == ["part-0"]
    assert list(Path("out").iterdir()) == [place]
