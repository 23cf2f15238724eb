"""Peak memory while keys come and go: it depends on open keys, not on the number of all keys.

Each key has three events within three milliseconds and never returns; a thousand keys begin every
second. After each batch, whatever is final is closed, as the driver of a live stream would do.
"""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pyarrow as pa

from benchmarks.measure import Row
from benchmarks.processes import peak_memory

COMMAND = "python -m benchmarks keys"
QUERY = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [key] WITHIN 10 seconds;"
BATCH = 20_000  # keys
WINDOW, MILLISECOND = 10_000_000, 1_000  # microseconds
GROWTH = 1.10  # more than this for ten times the keys would mean that keys are kept


def main(quick: bool) -> list[Row]:
    """Measure in a process of its own for each number of keys."""
    sizes = (100_000, 1_000_000) if quick else (1_000_000, 10_000_000)
    measured = []
    for size in sizes:
        command = [sys.executable, "-m", "benchmarks.keys", str(size)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        measured.append([float(word) for word in done.stdout.split()[-3:]])
    (small, state, _), (large, large_state, seconds) = measured
    growth = max(large / small, large_state / state)
    events = 3 * sizes[1] / seconds / 1e6
    return [
        Row(
            f"peak memory, {sizes[0]:,} keys {small:.0f} MB, {sizes[1]:,} keys {large:.0f} MB; "
            f"of the operator {state:.1f} and {large_state:.1f} MB; {events:.1f} M events a second",
            f"{growth:.2f} times",
            f"at most {GROWTH}",
            growth <= GROWTH,
        )
    ]


def measure(keys: int) -> tuple[float, float, float]:
    """Run the keys through an operator; return its process's and its own memory in MB, and time."""
    from elsinore.language import parse_workload  # noqa: PLC0415
    from elsinore.operators import OperatorOptions, kind_for, plan  # noqa: PLC0415

    (unit,) = plan(parse_workload(QUERY)).units
    operator = kind_for(unit).operator(unit, OperatorOptions(ordered=True))
    classes = np.array([one.offset for one in unit.classes.types])[[0, 1, 1]]
    found, expected, taken = 0.0, 0, 0.0
    for first in range(0, keys, BATCH):
        key = np.repeat(np.arange(first, min(first + BATCH, keys), dtype=np.int32), 3)
        times = MILLISECOND * key.astype(np.int64)
        times += np.tile(np.array([0, 1, 2]) * MILLISECOND, len(key) // 3)
        order = np.argsort(times, kind="stable")
        window = times // WINDOW
        expected += int((window[0::3] == window[1::3]).sum())
        expected += 2 * int((window[0::3] == window[2::3]).sum())
        batch = pa.record_batch(
            {
                "key": pa.array(key[order]),
                "group": pa.array(np.zeros(len(key), dtype=np.int32)),
                "time": pa.array(times[order]),
                "class": pa.array(np.tile(classes, len(key) // 3)[order]),
            }
        )
        start = time.perf_counter()
        outputs = [*operator.process(batch), *operator.close(int(times.max()))]
        taken += time.perf_counter() - start
        found += sum(pa.compute.sum(output.column("cell0")).as_py() for output in outputs)
    found += sum(pa.compute.sum(output.column("cell0")).as_py() for output in operator.close())
    if found != expected:
        raise AssertionError(f"{found} trends, and not {expected}")
    peak = peak_memory()
    return peak, operator.statistics.state_bytes / 1e6, taken


if __name__ == "__main__":
    print(*measure(int(sys.argv[1])))
