"""The processor's cycle counter: how long decisions take, at a cost that does not matter."""

from __future__ import annotations

import time


def cycles() -> int:
    """Return a count that grows evenly with time: compiled, the processor's cycle counter."""
    return time.perf_counter_ns()
