"""Start-up: from `python` to a result, in fresh processes.

The README's five events, the same with a comparison between neighbours, matches of them, and the
same queries over many events. Processor time of the process, and wall time; over five events the
median of several processes.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import Row

COMMAND = "python -m benchmarks startup"
MANY = 200_000
RUNS = 5

EXAMPLE = '''
import elsinore as el

rows = [(0, "Request", None), (60, "Travel", 8.0), (120, "Travel", 6.0), (180, "Travel", 31.0),
        (240, "Pickup", None)]
rows = [(time + 300 * n, kind, speed) for n in range({count} // 5) for time, kind, speed in rows]
events = [{{"time": t, "type": kind, "rider": 7, "speed": speed}} for t, kind, speed in rows]
result = el.Workload.parse("""{query}""").run(events)["slow"]
print(len(result), result.to_pylist()[0]["shown"])
'''
TRENDS = """
    QUERY slow
    RETURN   rider, COUNT(*) AS shown, AVG(T.speed) AS speed
    PATTERN  SEQ(Request R, Travel T+, Pickup P)
    WHERE    [rider] AND {condition}
    GROUP BY rider
    WITHIN   30 minutes;
"""
MATCHES = """
    QUERY slow
    RETURN   R.time AS begun, COUNT(T[]) AS shown, AVG(T[].speed) AS speed
    PATTERN  SEQ(Request R, Travel+ T[], Pickup P)
    WHERE    [rider] {condition}
    STRATEGY {strategy} WITHIN 5 minutes;
"""
ANY, NEXT = "SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH"
QUERIES = {
    "the README's five events": TRENDS.format(condition="T.speed < 10"),
    "the same with a comparison between neighbours": TRENDS.format(
        condition="T[i].speed >= T[i-1].speed"
    ),
    "all matches of them": MATCHES.format(condition="", strategy=ANY),
    "the next matches": MATCHES.format(condition="", strategy=NEXT),
    "all matches, with a comparison between neighbours": MATCHES.format(
        condition="AND T[i].speed <= T[i-1].speed", strategy=ANY
    ),
    "all matches, with NOT and an aggregate so far": MATCHES.format(
        condition="AND T[i].speed > AVG(T[1..i-1].speed) / 2", strategy=ANY
    ).replace("Travel+", "NOT Drop D, Travel+"),
}


def fresh(query: str, count: int, bytecode: Path) -> tuple[float, float, str]:
    """Run the example in a new process; return its seconds, its processor's, and what it printed.

    Python's own files of bytecode are kept in a folder, as in any installation.
    """
    environment = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
    program = EXAMPLE.format(query=query, count=count)
    before, began = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    took, after = time.perf_counter() - began, os.times()
    cpu = after.children_user + after.children_system
    return took, cpu - before.children_user - before.children_system, done.stdout


def main(quick: bool) -> list[Row]:
    """Measure; `quick` leaves out the runs over many events."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        bytecode = Path(folder)
        fresh(next(iter(QUERIES.values())), 5, bytecode)  # writes it
        for name, query in QUERIES.items():
            runs = [fresh(query, 5, bytecode) for _ in range(RUNS)]
            if len({printed for _, _, printed in runs}) > 1:
                raise AssertionError(f"{name}: the results of runs differ: {runs}")
            took, cpu = (statistics.median(run[which] for run in runs) for which in (0, 1))
            figure = f"{cpu:.2f} s of processor time, {took:.2f} s passed"
            rows.append(Row(name, figure, "at most 1 s", max(cpu, took) <= 1.0))
            if not quick:
                _, cpu, _ = fresh(query, MANY, bytecode)
                figure = f"{cpu:.1f} s of processor time"
                rows.append(Row(f"{name}, {MANY:,} events", figure, "-", True))
    return rows
