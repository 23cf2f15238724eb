"""What bears a result's name is complete, or is not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
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

    with pytest.raises(OutputError, match="created during this run"):
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


def test_threads_of_one_process_write_beside_one_another(tmp_path: Path) -> None:
    place = tmp_path / "q.csv"
    both_write = threading.Barrier(2, timeout=60)

    def write(text: str) -> str:
        with draft(place, overwrite=True) as new:
            new.write_text(text)
            both_write.wait()
            written = new.read_text()
            both_write.wait()
        return written

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(write, ["one", "two"])) == ["one", "two"]
    assert place.read_text() in {"one", "two"}
    assert names(tmp_path) == ["q.csv"]


@pytest.mark.parametrize("is_folder", [False, True])
def test_the_content_is_on_disk_before_it_gets_its_name(
    tmp_path: Path, is_folder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "q.csv"
    synced: list[tuple[str, bool]] = []
    sync = os.fsync

    def recorded(handle: int) -> None:
        target = os.readlink(f"/proc/self/fd/{handle}")
        synced.append((Path(target).name, os.path.lexists(place)))
        sync(handle)

    monkeypatch.setattr(os, "fsync", recorded)
    with draft(place) as new:
        if is_folder:
            new.mkdir()
        part = new / "part-0" if is_folder else new
        part.write_text("new")
    assert (part.name, False) in synced
    assert synced[-1] == (tmp_path.name, True)


TERMINATED = """
import os, signal, sys
from pathlib import Path
from elsinore.cli import interrupt
from elsinore.runtime import drafts

def write():
    with drafts.draft(Path(sys.argv[1])) as place:
        place.write_text("half")
        print("writing", flush=True)
        while True:
            signal.pause()

interrupt.guarded(write)
"""


def test_a_draft_is_removed_when_the_command_is_asked_to_end(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TERMINATED, str(tmp_path / "q.csv")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        assert len(names(tmp_path)) == 1
        process.terminate()
        _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (143, "Terminated.\n")
    assert names(tmp_path) == []


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
    living = left.replace(left.split(".")[-3], str(os.getppid()))
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
    with (
        pytest.raises(OutputError, match="restored after a run that was killed"),
        draft(place) as new,
    ):
        new.write_text("new")
    assert (names(tmp_path), names(place)) == (["q.csv"], ["part-0"])
