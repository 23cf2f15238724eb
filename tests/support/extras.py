"""Python processes in which some packages are not installed."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def run_without(packages: Sequence[str], code: str, folder: Path) -> str:
    """Run code in a process without some of the installed packages; return its output.

    `folder` gets links to the other packages. Raises AssertionError with the standard error if the
    process fails.
    """
    site_packages = folder / "site-packages"
    site_packages.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if entry.name.partition(".")[0].partition("-")[0] not in packages:
            (site_packages / entry.name).symlink_to(entry)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (SOURCE, site_packages)))}
    process = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True,
        check=False, cwd=folder,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return process.stdout
