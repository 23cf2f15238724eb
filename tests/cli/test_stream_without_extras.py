"""`elsinore stream` needs no more packages than what it is asked for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from elsinore.cli.app import app


def test_a_stream_without_metrics_and_page_needs_no_packages_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("prometheus_client", "starlette", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("metrics", "server"):
        monkeypatch.delitem(sys.modules, f"elsinore.monitor.{name}", raising=False)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("time,type\n1,A\n2,B\n")
    command = ["stream", "-q", "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 5 seconds"]
    command += ["--events", str(tmp_path / "in"), "--out", str(tmp_path / "out")]
    command += ["--checkpoint", str(tmp_path / "checkpoint"), "--engine", "local"]
    once = ["--trigger", "once", "--end-on-idle", "1 second", "--format", "csv"]
    done = CliRunner().invoke(app, [*command, *once])
    assert done.exit_code == 0, done.output
    assert [path.name for path in tmp_path.glob("out/*/*/*.csv")] == ["part-00000.csv"]
    refused = CliRunner().invoke(app, [*command, *once, "--metrics", "0"])
    assert (refused.exit_code, "elsinore[monitor]" in refused.output) == (1, True)
