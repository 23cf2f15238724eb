"""`make demo-live`: a broker, events, queries and the page, stopped by Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "live" / "demo.py"
PATIENCE = 300  # seconds; the broker's artifacts may have to be downloaded


@pytest.mark.parametrize("ending", ["interrupt", "seconds"])
def test_the_demonstration_runs_and_stops_without_a_trace(tmp_path: Path, ending: str) -> None:
    pytest.importorskip("confluent_kafka")
    seconds = [] if ending == "interrupt" else ["--seconds", "1"]
    process = subprocess.Popen(
        [sys.executable, str(DEMO), "--page", "0", "--rate", "5000", *seconds],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        lines = []
        if ending == "interrupt":
            for line in process.stdout:
                lines.append(line)
                if line.startswith("Page: "):
                    break
            assert lines, "the demonstration said nothing"
            assert lines[-1].startswith("Page: "), lines
            state = first_results(lines[-1].removeprefix("Page: ").strip())
            assert state["source"].startswith("kafka:trips@127.0.0.1:")
            assert {query["name"] for query in state["queries"]} == {"crawling", "given_up"}
            os.killpg(process.pid, signal.SIGINT)
        rest, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, [*lines, rest]
        assert "Traceback" not in rest
        assert not list(tmp_path.glob("elsinore-live-*"))
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()


def first_results(address: str) -> dict[str, Any]:
    """Return what the page shows once a query has returned rows."""
    with urllib.request.urlopen(address + "events", timeout=PATIENCE) as answer:
        for line in answer:
            if line.startswith(b"data: "):
                state: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
                if any(query["latest"] for query in state["queries"]):
                    return state
    raise AssertionError("the page ended before there were results")
