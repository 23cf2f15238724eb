"""Memory that is freed serves again."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import numpy as np
from elsinore.runtime.memory import retain_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

retain_freed_memory()
for stretch in range(4):
    before = faults()
    columns = [np.ones(2**18) for _ in range(3)]
    del columns
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc's malloc")
def test_columns_of_one_stretch_lie_where_those_of_the_last_did() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True
    )
    assert int(ended.stdout) < 100  # of 1,536 pages
