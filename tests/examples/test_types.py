"""The examples are typed as users' own queries are: strictly, and by the package's types alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_quantitative_examples_pass_mypy_strict(tmp_path: Path) -> None:
    examples = sorted(map(str, (ROOT / "examples/quantitative").glob("*.py")))
    assert len(examples) >= 3
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", tmp_path]
    checked = subprocess.run([*command, *examples], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
