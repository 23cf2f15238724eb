"""Peak memory of `elsinore run` in process while it writes matches: it does not grow with them.

Bursts of one A and 16 B, each with 65,535 matches of SEQ(A a, B+ b) under SKIP TILL ANY MATCH, so
that a few thousand events have 10^8 matches. They are written to one Parquet file, which is counted
and removed. The peak is that of the whole process, compiling and reading included.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import Row
from benchmarks.processes import peak_memory

COMMAND = "python -m benchmarks match_memory"
BURST = 16  # Bs of a burst
QUERY = """QUERY q RETURN a.id AS id, COUNT(b[]) AS n, b[b.LEN].v AS last
PATTERN SEQ(A a, B+ b) WITHIN 20;"""
GROWTH = 1.25  # more than this from a hundredth of the matches on would mean that they are kept


def main(quick: bool) -> list[Row]:
    """Measure in a process of its own for each number of matches."""
    sizes = (10**5, 10**7) if quick else (10**6, 10**8)
    found = [_measured(size) for size in sizes]
    growth = found[1][0] / found[0][0]
    text = "; ".join(
        f"{rows:,} matches: {peak:.0f} MB, {seconds:.0f} CPU s" for peak, rows, seconds in found
    )
    return [
        Row(
            f"peak memory while matches are written ({text})",
            f"{growth:.2f} times",
            f"at most {GROWTH}",
            growth <= GROWTH,
        )
    ]


def _measured(size: int) -> tuple[float, int, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.match_memory", str(size)],
        check=True,
        capture_output=True,
        text=True,
    )
    peak, rows, seconds = done.stdout.split()[-3:]
    return float(peak), int(rows), float(seconds)


def events(matches: int) -> pa.Table:
    """Return bursts with at least so many matches together."""
    bursts = -(-matches // (2**BURST - 1))
    size = BURST + 1
    return pa.table(
        {
            "time": (np.arange(bursts)[:, None] * 100 + np.arange(size)).ravel(),
            "type": ["A", *["B"] * BURST] * bursts,
            "id": np.repeat(np.arange(bursts), size),
            "v": np.arange(bursts * size) % 97,
        }
    )


def measure(size: int) -> tuple[float, int, float]:
    """Write so many matches; return the peak in MB, how many there were, and processor seconds."""
    from typer.testing import CliRunner  # noqa: PLC0415

    from elsinore.cli.app import app  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "events.parquet"
        pq.write_table(events(size), given)
        start = time.process_time()
        done = CliRunner().invoke(
            app,
            ["run", "-q", QUERY, "--events", str(given), "--engine", "local", "--out", folder],
        )
        if done.exit_code != 0:
            raise AssertionError(done.stderr)
        seconds = time.process_time() - start
        peak = peak_memory()
        rows = pq.read_metadata(Path(folder) / "q.parquet").num_rows
        expected = events(size).num_rows // (BURST + 1) * (2**BURST - 1)
        if rows != expected:
            raise AssertionError(f"{rows} matches, not {expected}")
        return peak, rows, seconds


if __name__ == "__main__":
    print(*measure(int(sys.argv[1])))
