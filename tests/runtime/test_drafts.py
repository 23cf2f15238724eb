"""What bears a result's name is complete, or is not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from elsinore.errors import OutputError
from elsinore.runtime import drafts
from elsinore.runtime.drafts import draft


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    place = tmp_path / "q.csv"
    place.write_text("old")

    def write() -> None:
        with draft(place, overwrite=True) as new:
            new.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write()
    assert (place.read_text(), names(tmp_path)) == ("old", ["q.csv"])


def test_nothing_stands_under_the_name_while_it_is_written(tmp_path: Path) -> None:
    place = tmp_path / "results" / "q.csv"
    with draft(place) as new:
        new.mkdir()
        (new / "part-0").write_text("new")
        assert not place.exists()
        assert new.name.startswith(".")
    assert names(place) == ["part-0"]
    assert names(place.parent) == ["q.csv"]


@pytest.mark.parametrize("folder", [False, True])
def test_what_came_meanwhile_is_not_replaced(tmp_path: Path, folder: bool) -> None:
    place = tmp_path / "q.csv"

    def write() -> None:
        with draft(place) as new:
            if folder:
                new.mkdir()
            else:
                new.write_text("new")
            place.write_text("theirs")

    with pytest.raises(OutputError, match="made while this run went on"):
        write()
    assert (place.read_text(), names(tmp_path)) == ("theirs", ["q.csv"])


@pytest.mark.parametrize("was", ["file", "folder"])
@pytest.mark.parametrize("becomes", ["file", "folder"])
def test_files_and_folders_replace_one_another(tmp_path: Path, was: str, becomes: str) -> None:
    place = tmp_path / "q.csv"
    for turn in (was, becomes):
        with draft(place, overwrite=True) as new:
            if turn == "folder":
                new.mkdir()
                (new / "part-0").write_text(turn)
            else:
                new.write_text(turn)
    assert place.is_dir() == (becomes == "folder")
    assert names(tmp_path) == ["q.csv"]


def test_a_folder_with_something_else_in_it_stays(tmp_path: Path) -> None:
    place = tmp_path / "q.csv"
    place.mkdir()
    (place / "thesis.txt").write_text("mine")
    with pytest.raises(OutputError, match="thesis"), draft(place, overwrite=True) as new:
        new.write_text("new")
    assert (place / "thesis.txt").read_text() == "mine"
    assert names(tmp_path) == ["q.csv"]


def test_a_link_is_replaced_and_what_it_points_to_is_not(tmp_path: Path) -> None:
    (tmp_path / "precious.csv").write_text("precious")
    place = tmp_path / "q.csv"
    place.symlink_to("precious.csv")
    with draft(place, overwrite=True) as new:
        new.write_text("new")
    assert (tmp_path / "precious.csv").read_text() == "precious"
    assert (place.read_text(), place.is_symlink()) == ("new", False)


KILLED = """
import os, signal, sys
from pathlib import Path
from elsinore.runtime import drafts

path = Path(sys.argv[1])
with drafts.draft(path, overwrite=True) as place:
    place.mkdir()
    if path.exists():  # die when this is set aside, before the new one has its name
        rename = os.rename
        os.rename = lambda a, b: (rename(a, b), os.kill(os.getpid(), signal.SIGKILL))
    else:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(place: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(place)], check=False)
    assert done.returncode == -signal.SIGKILL


def test_what_a_killed_process_left_is_cleared_up(tmp_path: Path) -> None:
    place = tmp_path / "q.csv"
    killed(place)
    (left,) = names(tmp_path)
    living = left.replace(left.split(".")[-2], str(os.getppid()))
    elsewhere = left.replace(drafts._machine(), "0123456789ab")
    for name in (living, elsewhere, ".other.csv.part"):
        (tmp_path / name).write_text("")
    with draft(place) as new:
        new.write_text("new")
    assert names(tmp_path) == sorted(["q.csv", living, elsewhere, ".other.csv.part"])


def test_what_a_killed_process_set_aside_is_put_back(tmp_path: Path) -> None:
    place = tmp_path / "q.csv"
    place.mkdir()
    (place / "part-0").write_text("old")
    killed(place)
    assert not place.exists()
    with pytest.raises(OutputError, match="was killed had set it aside"), draft(place) as new:
        new.write_text("new")
    assert (names(tmp_path), names(place)) == (["q.csv"], ["part-0"])
