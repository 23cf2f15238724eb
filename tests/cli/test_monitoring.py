"""What `elsinore stream` shows of its progress: on a terminal, as a log, and to other programs."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

QUERY = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 seconds;"
COMMAND = [sys.executable, "-m", "elsinore", "stream", "w.cep", "--engine", "local"]
PLACES = ["--events", "in", "--out", "out", "--checkpoint", "checkpoint"]
ONCE = ["--trigger", "once", "--end-on-idle", "1 second"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "w.cep").write_text(QUERY)
    (tmp_path / "in").mkdir()
    rows = "".join(f"{n},{'AB'[n % 2]}\n" for n in range(1000))
    (tmp_path / "in" / "e.csv").write_text("time,type\n" + rows)
    return tmp_path


def test_a_terminal_shows_one_table_that_is_updated(folder: Path) -> None:
    ours, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": "160", "TERM": "xterm"}
    running = subprocess.Popen(
        [*COMMAND, *PLACES, *ONCE], cwd=folder, stderr=theirs, env=environment
    )
    os.close(theirs)
    said = "".join(read_all(ours))
    assert running.wait() == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said)
    last = plain[plain.rindex("events/s") :]
    assert "watermark" in last
    assert re.search(r"│ +1,000 │ +0 │ +999 │", last), last
    assert "batch 0" not in plain


def read_all(terminal: int) -> Iterator[str]:
    """Yield what is written to a terminal until nobody has it open any more."""
    with os.fdopen(terminal, "rb", buffering=0) as file:
        while True:
            try:
                piece = file.read(4096)
            except OSError:  # how Linux reports the end
                return
            if not piece:
                return
            yield piece.decode()


def test_a_log_in_json_has_a_line_for_each_micro_batch(folder: Path) -> None:
    done = subprocess.run(
        [*COMMAND, *PLACES, *ONCE, "--log", "json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert [line["batch"] for line in lines] == [0, 1]
    assert lines[0]["events"] == 1000
    assert lines[0]["open_windows"] == {"q": 1}
    assert lines[0]["watermark_delay"] > 1_000_000_000


@contextmanager
def streaming(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Run a stream that does not end by itself; stop it at the end."""
    process = subprocess.Popen(
        [*COMMAND, *PLACES, *options], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_page_and_metrics_are_served_until_ctrl_c(folder: Path) -> None:
    with streaming(folder, "--page", "0", "--metrics", "127.0.0.1:0") as process:
        assert process.stderr is not None
        addresses = {}
        for line in process.stderr:
            name, _, rest = line.partition(": ")
            addresses[name] = rest.strip()
            if line.startswith("batch 0"):
                break
        with urllib.request.urlopen(addresses["Metrics"], timeout=30) as answer:
            assert b"elsinore_events_total 1000.0" in answer.read()
        with urllib.request.urlopen(addresses["Page"] + "events", timeout=30) as answer:
            state = json.loads(answer.readline().decode().removeprefix("data: "))
        assert state["totals"]["events"] == 1000
        assert state["queries"][0]["name"] == "q"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


@pytest.mark.parametrize("option", ["--page", "--metrics"])
def test_an_address_that_cannot_be_used_is_a_wrong_argument(folder: Path, option: str) -> None:
    done = subprocess.run(
        [*COMMAND, *PLACES, *ONCE, option, "elsewhere"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "'elsewhere' is not an address to listen at" in done.stderr
