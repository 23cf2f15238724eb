"""Figure 7 of SASE++, (e) and (f): the six queries of the case study, and what speeds up Q5 and Q6.

The log is generated (`elsinore generate cluster`), as the paper's is not public; the queries are
those of `examples/cluster`, one by one. Panel (f) has Q5 and Q6 under SKIP TILL ANY MATCH: with
exact times by postponing and on the fly, and with the 15 seconds of each poll as its possible times
by the recurrence, at a confidence of 0.999. Processor seconds of a whole run in one process, from
an Arrow table to an Arrow table. All that should find the same matches is compared.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from matplotlib.figure import Figure as Picture

from benchmarks.evaluations import ENGINE, run_by
from benchmarks.papers.figure import Figure
from benchmarks.papers.sase import COLOURS, OVER, PAPER, Refused, limited
from elsinore.datasets.cluster import cluster
from elsinore.kernels import compiling
from elsinore.workload import Workload

QUERIES = Path(__file__).parents[2] / "examples" / "cluster" / "monitoring.cep"
EVENTS = 1_000_000
FEW = 100_000  # events of panel (f)
INTERVALS = {"time_interval": ("time_lo", "time_hi")}
SYSTEMS: dict[str, Mapping[str, Any]] = {
    "postponing": {"evaluation": "postponing"},
    "on-the-fly": {"evaluation": "on-the-fly"},
    "Elsinore": {},
    "DP 0.999": INTERVALS,
}
FOUND = (
    "300,000 to over 7 million events/s for Q1 to Q6, 13.62 events/s a node, so that one server "
    "watches 22,000 nodes (Section 6.5)"
)


def queries() -> dict[str, str]:
    """Return the texts of the case study's queries by name: Q1 to Q6."""
    text = re.sub(r"--.*", "", QUERIES.read_text())
    return {
        match[1].upper(): match[0] for match in re.finditer(r"QUERY (q\d)\n.*?;", text, re.DOTALL)
    }


def measure(*, quick: bool) -> Figure:
    """Measure both panels; with `quick` a fifth of the events and a shorter time budget."""
    pa.set_cpu_count(1)
    budget = 15.0 if quick else 120.0
    log = table(EVENTS // 5 if quick else EVENTS)
    few = table(FEW // 5 if quick else FEW)
    small = few.slice(0, 2_000)
    rows = []
    for name, text in queries().items():
        print(f"{name} ...", flush=True)
        rows.append(_row("(e) all queries", name, "Elsinore", text, log, {}, small, budget))
    for name in ("Q5", "Q6"):
        rows += compared(name, queries()[name], few, small, budget)
    return Figure(
        title="Figure 7 of SASE++: events per second of the case study's queries",
        table=pa.Table.from_pylist(rows),
        remarks=remarks(rows, budget),
        draw=lambda picture: draw(picture, rows),
        size=(10.0, 4.0),
    )


def table(events: int) -> pa.Table:
    """Return a generated log of a cluster."""
    return cluster(events, seed=1)


def compared(
    name: str, text: str, few: pa.Table, small: pa.Table, budget: float
) -> list[dict[str, Any]]:
    """Return the rows of panel (f) for a query; raises AssertionError where matches differ."""
    text = text.replace("SKIP TILL NEXT MATCH", "SKIP TILL ANY MATCH")
    rows = []
    for system, options in SYSTEMS.items():
        print(f"{name}, {system} ...", flush=True)
        asked = text.replace(";", " CONFIDENCE >= 0.999;") if "time_interval" in options else text
        rows.append(_row("(f) optimizations", name, system, asked, few, options, small, budget))
    exact = [row for row in rows if row["system"] != "DP 0.999"]
    counts = {row["matches"] for row in exact if row["matches"] is not None}
    if len(counts) > 1:
        raise AssertionError(f"{name}: {counts} matches")
    return rows


def _row(
    panel: str,
    name: str,
    system: str,
    text: str,
    events: pa.Table,
    options: Mapping[str, Any],
    small: pa.Table,
    budget: float,
) -> dict[str, Any]:
    with compiling():  # kernels are compiled by now
        runner(text, small, options)()
    spent = limited(runner(text, events, options), budget)
    row: dict[str, Any] = {"panel": panel, "query": name, "system": system}
    row |= {"events": events.num_rows, "matches": None, "events/s": None, "note": ""}
    if isinstance(spent, Refused):
        return row | {"note": spent.why.splitlines()[-1].strip()}
    seconds, matches = spent.value
    return row | {"matches": matches, "events/s": events.num_rows / seconds}


def runner(
    text: str, events: pa.Table, options: Mapping[str, Any]
) -> Callable[[], tuple[float, int]]:
    """Return what runs a query: it gives processor seconds and the number of matches."""
    workload = Workload.parse(text)
    clauses = dict(options)
    evaluation = clauses.pop("evaluation", ENGINE)

    def run() -> tuple[float, int]:
        begun = time.process_time()
        (found,) = run_by(evaluation, workload, events, **clauses).tables.values()
        return time.process_time() - begun, found.num_rows

    return run


def remarks(rows: Sequence[Mapping[str, Any]], budget: float) -> list[str]:
    """Return what the paper says, and what was found."""
    told = [f"{PAPER}: {FOUND}."]
    speeds = [r["events/s"] for r in rows if r["panel"].startswith("(e)") and r["events/s"]]
    if speeds:
        told.append(
            f"Found: {min(speeds):,.0f} to {max(speeds):,.0f} events/s for "
            f"{len(speeds)} queries: {min(speeds) / 13.62:,.0f} nodes at the paper's rate."
        )
    for name in ("Q5", "Q6"):
        mine = {r["system"]: r["events/s"] for r in rows if r["query"] == name}
        parts = [
            f"{system} {mine[system]:,.0f}" if mine[system] else f"{system} {OVER}"
            for system in SYSTEMS
        ]
        told.append(f"Found, {name} under SKIP TILL ANY MATCH, events/s: {', '.join(parts)}.")
    told.append(
        "The queries' strategies and windows are those of examples/cluster: NEXT but for Q6, which "
        "has 2 minutes and not 10. The paper's log is of a real cluster, with 53 and 253 GB of "
        "work; this one is drawn."
    )
    told.append(f"Time budget of a run: {budget:g} s; what passes it is marked '{OVER}'.")
    return told


def draw(picture: Picture, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw a panel of bars for all queries, and one for the optimizations of Q5 and Q6."""
    left, right = picture.subplots(1, 2, width_ratios=(3, 4))
    mine = [row for row in rows if row["panel"].startswith("(e)")]
    left.bar([r["query"] for r in mine], [r["events/s"] or 0 for r in mine], color="#0072B2")
    left.set_title("(e) Throughput for all queries", fontsize=9)
    for side, (system, place) in enumerate((s, n) for n, s in enumerate(SYSTEMS)):
        bars = [r for r in rows if r["panel"].startswith("(f)") and r["system"] == system]
        where = [0.2 * (place - 1.5) + number for number in range(len(bars))]
        heights = [r["events/s"] or 0 for r in bars]
        right.bar(where, heights, 0.2, label=system, color=COLOURS.get(system, f"C{side + 3}"))
        for x, row in zip(where, bars, strict=True):
            if row["events/s"] is None:
                right.plot([x], [0.01], "kx", transform=right.get_xaxis_transform())
    right.set_xticks(range(2), ["Q5", "Q6"])
    right.set_title("(f) Optimizations", fontsize=9)
    right.legend(fontsize=7, frameon=False)
    for axes in (left, right):
        axes.set_yscale("log")
        axes.set_ylim(1, 1e8)  # as the paper's
        axes.set_ylabel("events per second", fontsize=8)
        axes.grid(axis="y", linewidth=0.3)
