"""What was compiled is there for the next process, and harm to it is no harm to a run."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numba.core.registry import cpu_target

from elsinore.kernels import FOLDER_VARIABLE, cache, compiled, folder_path, shelf, undocumented
from elsinore.kernels.shelf import Shelf


def raised(numbers: np.ndarray) -> None:
    for row in range(len(numbers)):
        numbers[row] += 1


raised.__module__ = "elsinore.kernels.source"  # what is compiled is kept for the package alone
QUERY = """
import numpy as np
from elsinore.kernels import SHELF, compiled

def grow(numbers):
    for row in range(len(numbers)):
        numbers[row] = numbers[row] + 1.0

grow.__module__ = "elsinore.kernels.source"  # what is compiled is kept for the package alone
numbers = np.array([2.0, 6.0])
compiled(grow)(numbers)
print(numbers.tolist(), end=" ")
print(len(SHELF.compiled) > 0, len(SHELF.loaded) > 0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder for compiled kernels, not made yet."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "new" / "kernels"))
    return tmp_path / "new" / "kernels"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> "Run":
    """Give what runs a kernel as a process does that has compiled nothing."""

    def run() -> tuple[int, int, list[str]]:
        monkeypatch.setattr(cache, "SHELF", shelf := Shelf())
        caplog.clear()
        compiled(raised)(numbers := np.zeros(2, np.int64))
        assert numbers.tolist() == [1, 1]
        return len(shelf.compiled), len(shelf.loaded), caplog.messages.copy()

    return run


Run = Callable[[], tuple[int, int, list[str]]]  # -> kernels compiled, loaded, what was said


def test_the_next_process_compiles_nothing(folder: Path, run: Run) -> None:
    before = os.umask(0)
    try:
        assert run() == (1, 0, [])
    finally:
        os.umask(before)
    assert run() == (0, 1, [])
    (kept,) = folder.glob("*.kernel")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)


def shorten(path: Path) -> None:
    os.truncate(path, 60)


def empty(path: Path) -> None:
    os.truncate(path, 0)


@pytest.mark.parametrize("harm", [damage, shorten, empty])
def test_a_damaged_kernel_is_compiled_anew_with_a_sentence(
    folder: Path, run: Run, harm: Callable[[Path], None]
) -> None:
    run()
    (kept,) = folder.glob("*.kernel")
    harm(kept)
    said = f"A compiled kernel is damaged and is compiled anew: {kept}."
    assert run() == (1, 0, [said])
    assert run() == (0, 1, [])


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_write_is_refused_with_a_sentence(
    folder: Path, run: Run, mode: int
) -> None:
    run()
    folder.chmod(mode)
    compiled, loaded, said = run()
    assert (compiled, loaded) == (1, 0)
    assert len(said) == 1
    assert f"{folder} can be written by other users (chmod go-w mends that)" in said[0]
    folder.chmod(0o755)
    assert run() == (0, 1, [])


def test_a_kernel_that_others_can_write_is_not_loaded(folder: Path, run: Run) -> None:
    run()
    (kept,) = folder.glob("*.kernel")
    kept.chmod(0o666)
    compiled, loaded, said = run()
    assert (compiled, loaded) == (1, 0)
    assert "can be written by other users" in said[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused_with_a_sentence(folder: Path, run: Run) -> None:
    run()
    os.chown(folder, 54321, 54321)
    compiled, loaded, said = run()
    assert (compiled, loaded) == (1, 0)
    assert f"{folder} belongs to another user" in said[0]


def test_a_place_that_cannot_be_a_folder_is_told_once(folder: Path, run: Run) -> None:
    folder.parent.write_text("a file")
    compiled, loaded, said = run()
    assert (compiled, loaded) == (1, 0)
    assert said[0].startswith("Compiled kernels are not kept, so each run compiles them: ")
    assert len(said) == 1


def test_what_nobody_has_read_for_long_is_removed(folder: Path, run: Run) -> None:
    run()
    (kept,) = folder.glob("*.kernel")
    old, broken, other = folder / "old.kernel", folder / ".new-1", folder / "README"
    for path in (old, broken, other):
        path.write_bytes(b"")
        os.utime(path, (0, 0))
    kept.unlink()
    run()
    assert sorted(folder.glob("[!.]*")) == sorted([kept, other])
    assert not broken.exists()
    os.utime(kept, (0, 0))
    run()  # reads it
    shelf.remove_unused(folder)
    assert kept.exists()


def test_processes_that_start_at_once_leave_what_the_next_one_loads(
    tmp_path: Path, folder: Path
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(QUERY)
    started = [
        subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate()[0] for process in started]
    assert {line.partition("]")[0] for line in said} == {"[3.0, 7.0"}
    assert not list(folder.glob(".new-*"))
    assert subprocess.check_output([sys.executable, path], text=True).endswith("False True\n")


def test_code_of_users_is_compiled_again_where_it_changes_and_not_where_it_moves(
    tmp_path: Path, folder: Path
) -> None:
    def run(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_text(text)
        done = subprocess.run([sys.executable, path], stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout

    assert run("one.py", QUERY) == "[3.0, 7.0] True False\n"
    assert run("another.py", "# a comment\n" + QUERY) == "[3.0, 7.0] False True\n"
    assert run("one.py", QUERY.replace("+ 1.0", "+ 2.0")).startswith("[4.0, 8.0] True")


def test_the_folder_is_the_named_one_else_the_user_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, "/somewhere/kernels")
    assert folder_path() == Path("/somewhere/kernels")
    monkeypatch.delenv(FOLDER_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    monkeypatch.setattr(sys, "platform", "linux")
    assert folder_path() == Path("/caches/elsinore")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert folder_path() == Path.home() / ".cache" / "elsinore"


def test_numba_is_loaded_as_a_whole_only_where_a_kernel_needs_more_than_there_is(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    refreshed: list[bool] = []
    cpu_target.target_context.refresh()  # what compiles is there, whichever test came before
    monkeypatch.setattr(cpu_target.target_context, "refresh", lambda: refreshed.append(True))
    run()
    assert refreshed  # to compile
    refreshed.clear()
    assert run() == (0, 1, [])
    assert not refreshed
    undocumented.get_ready(cpu_target.target_context, ["NRT_Free", "malloc"])
    assert not refreshed
    undocumented.get_ready(cpu_target.target_context, ["what_there_is_not"])
    undocumented.get_ready(cpu_target.target_context, None)
    assert len(refreshed) == 2
