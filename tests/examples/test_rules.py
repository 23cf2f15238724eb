"""The example repository of rules: its tests pass, and its Makefile prints alerts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RULES = Path(__file__).parents[2] / "examples" / "rules"
BIN = Path(sys.executable).parent


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            "make",
            "--silent",
            f"ELSINORE={BIN / 'elsinore'}",
            f"PYTHON={sys.executable}",
            *arguments,
        ],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RULES, tmp_path / "rules"))


def test_its_rules_pass_their_tests(folder: Path) -> None:
    done = make(folder, "test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 passed" in done.stdout


def test_alerts_are_printed_and_end_with_status_3(folder: Path) -> None:
    names = {"user": "ann", "order_id": None}
    log = [
        {"time": f"2024-01-01T08:00:{second:02}", "type": kind, **names}
        for second, kind in ((0, "failure"), (1, "failure"), (2, "failure"), (3, "success"))
    ]
    for events, rows in ((log, 1), (log[:1], 0)):
        (folder / "today.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))
        rules = [] if rows else ["RULES=rules/logins.cep"]
        done = make(folder, "alerts", "EVENTS=today.jsonl", *rules)
        # make itself ends with 2 if what it runs fails
        assert done.returncode == (2 if rows else 0), done.stderr
        assert len(done.stdout.splitlines()) == rows
        assert ("Error 3" in done.stderr) == bool(rows)


def test_only_alerts_of_files_that_were_added_are_printed(folder: Path) -> None:
    (folder / "logs").mkdir()
    kinds = ((0, "failure"), (1, "failure"), (2, "failure"), (3, "success"), (59, "other"))
    for name, hour, rows in (("first", 8, 1), (None, 8, 0), ("second", 11, 1)):
        if name is not None:
            log = [
                {"time": f"2024-01-01T{hour:02}:00:{n:02}", "type": kind, "user": "ann"}
                | {"order_id": None}
                for n, kind in kinds
            ]
            text = "".join(f"{json.dumps(event)}\n" for event in log)
            added = folder / "logs" / f"{name}.jsonl"
            added.write_text(text)
            os.utime(added, (1, 1))  # a file that was changed just now is left for the next time
        done = make(folder, "new", "RULES=rules/logins.cep")
        assert (done.returncode, done.stderr) == (0, "")
        assert len(done.stdout.splitlines()) == rows
