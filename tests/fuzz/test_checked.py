"""No kernel reads or writes before the beginning of an array that it has a pointer to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from elsinore.kernels import COMPILE_VARIABLE

pytest.importorskip("pyspark")  # a campaign does what its tasks do, too

from fuzz.checked import pointed

WORKLOADS, SEED = 24, 5  # among them strategies, and neighbours that are compared


def test_drawn_workloads_leave_no_array_by_a_pointer() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "fuzz.checked", str(WORKLOADS), str(SEED)],
        cwd=Path(__file__).parents[1],
        env=os.environ | {COMPILE_VARIABLE: "0"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stderr
    compared, *users = told.stdout.split()
    assert int(compared) == WORKLOADS
    assert users == [
        f"elsinore.trends.{name}" for name in ("graph.sweep", "index.windows", "sums.entry")
    ]


def test_a_pointer_that_is_checked_refuses_what_the_compiler_would_not() -> None:
    numbers = pointed(np.array([5, 7]))
    numbers[0] = 6
    assert numbers[0] == 6
    for place in (-1, np.int64(-1), slice(0, 1), 2):
        with pytest.raises(IndexError):
            numbers[place]
    with pytest.raises(IndexError):
        numbers[-1] = 1
    with pytest.raises(TypeError, match="no length"):
        len(numbers)
    with pytest.raises(ValueError, match="contiguous"):
        pointed(np.arange(6)[::2])
