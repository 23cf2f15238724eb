"""What was compiled is there for the next process, and harm to it is no harm to a run."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numba.core.registry import cpu_target

import elsinore
from elsinore.kernels import (
    FOLDER_VARIABLE,
    cache,
    folder_path,
    kernel,
    notice,
    shelf,
    undocumented,
)
from elsinore.kernels.notice import Notice
from elsinore.kernels.shelf import Shelf
from elsinore.quantitative.lowered.heap import LISTED, undo

SOURCES = Path(elsinore.__file__).parents[1]


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
        monkeypatch.setattr(notice, "NOTICE", Notice())
        caplog.clear()
        fresh, journal = kernel(undo.py_func), np.array([LISTED])  # type: ignore[attr-defined]
        fresh(np.zeros(9, np.int64), journal)
        assert journal.tolist() == [LISTED]
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


def test_processes_that_start_at_once_leave_one_file(folder: Path, run: Run) -> None:
    program = (
        "import numpy as np\n"
        "from elsinore.quantitative.lowered.heap import LISTED, undo\n"
        "undo(np.zeros(9, np.int64), journal := np.array([LISTED]))\n"
        "print(journal[0] == LISTED)"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [process.communicate()[0] for process in started]
    assert said == ["True\n"] * 3
    assert len(list(folder.glob("*.kernel"))) == 1
    assert run() == (0, 1, [])


def test_another_checkout_compiles_nothing_until_what_a_kernel_calls_changes(
    tmp_path: Path, folder: Path
) -> None:
    program = """
import numpy as np
from elsinore.kernels import SHELF
from elsinore.quantitative.lowered.heap import LISTED, undo
undo(np.zeros(9, np.int64), journal := np.array([LISTED]))
assert journal.tolist() == [LISTED]
print(sum(name.endswith(".undo") for name in SHELF.compiled), len(SHELF.loaded))
"""
    copy = tmp_path / "copy"

    def run(sources: Path) -> str:
        environment = os.environ | {"PYTHONPATH": str(sources)}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, check=True
        )
        return done.stdout.decode()

    shutil.copytree(
        SOURCES / "elsinore", copy / "elsinore", ignore=shutil.ignore_patterns("__pycache__")
    )
    assert run(SOURCES) == "1 0\n"
    source = copy / "elsinore" / "quantitative" / "lowered" / "heap.py"
    source.write_text("# another comment\n" + source.read_text())
    assert run(copy) == "0 1\n"
    source.write_text(source.read_text().replace("used > LISTED", "LISTED < used"))
    assert run(copy) == "1 0\n"


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


@kernel
def _called(number: int) -> int:
    return number + 1


@kernel
def _short(number: int) -> int:
    return _called(number)


@kernel
def _long(number: int) -> int:
    for _ in range(number):
        number = _short(_called(number)) * _called(number) - _short(number) * _short(number + 2)
        number = _called(_short(number)) * _short(number) - _called(number) * _called(number + 2)
    return number


def test_one_line_tells_how_long_all_takes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(notice, "NOTICE", Notice())
    monkeypatch.setattr(notice, "_SECONDS_PER_BYTE", 3.0 / notice.size_of(_short, set()))
    for each in (_short, _called, _long, _called, _short):  # as the compiler comes to them
        notice.begin_notice(each, "/cache")
    seconds = 3.0 + notice.seconds_of(_long)
    assert seconds > 10
    assert caplog.messages == [Notice().sentence(seconds, "/cache")]
