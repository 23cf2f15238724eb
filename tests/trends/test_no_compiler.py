"""No trend query imports a compiler: engines are compiled when Elsinore is built."""

import subprocess
import sys

PROGRAM = """
import sys
import warnings
import elsinore as el
from elsinore.operators.panes import Panes
from elsinore.operators.registry import kind_for

warnings.simplefilter("ignore")
CLAUSES = [
    "COUNT(*), LOG2(COUNT(*)), COUNT(B), SUM(B.v), AVG(B.v), MIN(B.v), MAX(B.v) PATTERN SEQ(A, B+)",
    "VARIANCE(B.v), STDDEV_POP(B.v) PATTERN SEQ(A, B+)",
    "COUNT(*) PATTERN SEQ(A, B+) WHERE B[i].v >= B[i-1].v",
    "COUNT(*) PATTERN SEQ(A, B+) WHERE ABS(B[i].v - B[i-1].v) <= 2",
    "COUNT(*), SUM(B.v) PATTERN SEQ(A, B+) WHERE B[i].v * B[i-1].v > 1",
    "COUNT(*) PATTERN SEQ(A, B+) WHERE B[i].v > A.v",
    "COUNT(*) PATTERN SEQ(A, NOT C, B+)",
    "COUNT(*) PATTERN SEQ(A, NOT SEQ(C, B c), B+) WHERE B[i].v >= B[i-1].v",
    "COUNT(*) PATTERN SEQ(A, B+) STRATEGY SKIP TILL NEXT MATCH",
    "COUNT(*) PATTERN SEQ(A, B+) STRATEGY CONTIGUOUS",
    "COUNT(*) PATTERN SEQ(A, B+) AND SEQ(C, B b)",
    "COUNT(*) PATTERN SEQ(B x*, B+)",
    "COUNT(*) PATTERN SEQ(B x*, NOT C, B+) WHERE B[i].v >= B[i-1].v",
]
WINDOWS = "", "WITHIN 20", "WITHIN 20 SLIDE 7"
events = [
    {"time": t // 2, "type": "ABBCBB"[t % 6], "k": t % 5 % 2, "v": t % 7 - 2.5} for t in range(60)
]
for exact in ("", "EXACT;"):
    text = " ".join(
        f"QUERY q{number}w{place} RETURN {clauses} {window};"
        for number, clauses in enumerate(CLAUSES)
        for place, window in enumerate(WINDOWS)
    )
    workload = el.Workload.parse(f"{exact} {text}")
    assert str(workload.explain())
    for sharing in ("dynamic",) if exact else ("dynamic", "always", "never"):
        results = workload.run(events, sharing=sharing, record=sharing == "dynamic")
        assert all(results[name].num_rows for name in ("q0w0", "q1w2", "q12w1"))
for unit in workload.plan.units:
    panes = kind_for(unit).panes(unit)
    if isinstance(panes, Panes):
        panes.combiner(ordered=False), panes.folder(ordered=False)
print([name for name in ("numba", "llvmlite") if name in sys.modules])
"""


def test_no_kind_of_trend_query_imports_numba() -> None:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr[-2000:]
