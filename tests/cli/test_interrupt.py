"""Ctrl-C at several moments: one line, status 130, no process left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from elsinore.cli import interrupt

QUERY = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 seconds;"
PATIENCE = 120  # seconds until a moment that never comes fails the test

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals and /proc or ps")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "w.cep").write_text(QUERY)
    rows = "".join(f"{n},{'AB'[n % 2]}\n" for n in range(1000))
    (tmp_path / "e.csv").write_text("time,type\n" + rows)
    return tmp_path


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start the command in a group of its own, as a terminal does, and see that it ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "elsinore", *arguments],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for(moment: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not moment():
        assert time.monotonic() < deadline, "the moment never came"
        time.sleep(0.1)  # looking at all processes takes time from the one that is waited for


def commands_below(process: subprocess.Popen[str]) -> dict[int, str]:
    below = interrupt._descendants(process.pid, interrupt._running())
    shown = subprocess.run(
        ["ps", "-o", "pid=,args=", "-p", ",".join(map(str, [*below, process.pid]))],
        capture_output=True,
        text=True,
        check=False,
    )
    actual = (line.split(None, 1) for line in shown.stdout.splitlines())
    return {int(pid): args for pid, args in actual if int(pid) in below}


def interrupted(process: subprocess.Popen[str]) -> None:
    """Send Ctrl-C to the whole group; check what is said, and that nothing is left."""
    below = set(commands_below(process))
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "Interrupted.\n")
    wait_for(lambda: not below & interrupt._running().keys())
    assert [pid for pid, parent in interrupt._running().items() if parent == process.pid] == []


def test_while_a_workload_is_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe.cep")
    with started(folder, "check", "pipe.cep") as process:
        writer: list[int] = []

        def is_read() -> bool:
            try:
                writer.append(os.open(folder / "pipe.cep", os.O_WRONLY | os.O_NONBLOCK))
            except OSError:  # nobody reads yet
                return False
            return True

        wait_for(is_read)
        interrupted(process)
        os.close(writer[0])


def test_while_java_starts(folder: Path) -> None:
    pytest.importorskip("pyspark")
    with started(folder, "run", "w.cep", "--events", "e.csv") as process:
        wait_for(lambda: bool(commands_below(process)))
        interrupted(process)


def test_while_spark_works(folder: Path) -> None:
    pytest.importorskip("pyspark")
    with started(folder, "run", "w.cep", "--events", "e.csv") as process:
        wait_for(lambda: any("pyspark.daemon" in args for args in commands_below(process).values()))
        interrupted(process)


def test_a_process_that_will_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupt, "TIMEOUT_SECONDS", 0.2)
    ignoring = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    with subprocess.Popen(
        [sys.executable, "-c", f"{ignoring} print(1, flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        monkeypatch.setattr(interrupt, "_descendants", lambda *_: {process.pid})
        interrupt.end_children()
        assert process.wait(timeout=PATIENCE) == -signal.SIGKILL


def test_outside_of_the_main_thread_nothing_is_installed() -> None:
    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=interrupt.install)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_request_to_end_leaves_nothing_behind_either(folder: Path) -> None:
    with started(folder, "run", "w.cep", "--events", "-", "--engine", "local") as process:
        assert process.stdin is not None
        process.stdin.write("time,type\n" + "1,A\n" * 20_000)  # more than is looked at first
        process.stdin.flush()
        spooled: list[Path] = []

        def is_spooled() -> bool:
            spooled.extend(_open_below(process.pid, "elsinore-stdin-"))
            return bool(spooled)

        wait_for(is_spooled)
        process.terminate()
        _, told = process.communicate(timeout=PATIENCE)
    assert (process.returncode, told) == (143, "Terminated.\n")
    assert not any(path.exists() for path in spooled)


def _open_below(process: int, name: str) -> list[Path]:
    """Return the files that a process has open in folders of such a name."""
    links = Path(f"/proc/{process}/fd")
    paths = []
    for link in links.iterdir():
        try:
            path = link.readlink()
        except OSError:  # closed since
            continue
        if name in str(path):
            paths.append(path)
    return paths


IN_A_CALLBACK = """
import ctypes, os, signal, time
from elsinore.cli.interrupt import guarded

@ctypes.CFUNCTYPE(None)
def callback():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.01)  # the signal's exception is raised here, and C drops it

def command():
    callback()
    time.sleep(60)

guarded(command)
"""


def test_a_signal_is_not_lost_in_a_callback_from_c() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_CALLBACK],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (143, "Terminated.\n")
