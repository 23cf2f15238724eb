"""Figure 12 of HAMLET: dynamic beside static decisions, stocks; the diverse workload.

`always` shares what can be shared, `never` nothing: the paper's static plan is decided at compile
time and shares always.
"""

from __future__ import annotations

from typing import Any

from benchmarks.claims import over_static
from benchmarks.papers.hamlet import Plan, Sweep

MINUTES = 30
SWEEPS = (
    Sweep(
        case="trades",
        title="Stock",
        name="rate",
        values=(2_000, 2_500, 3_000, 3_500, 4_000),
        fixed={"queries": 50, "minutes": MINUTES},
    ),
    Sweep(
        case="trades",
        title="Stock",
        name="queries",
        values=(20, 40, 60, 80, 100),
        fixed={"rate": 4_000, "minutes": MINUTES},
    ),
    Sweep(
        case="trades",
        title="Stock, neighbours compared",
        name="queries",
        values=(20, 60, 100),
        fixed={"rate": 2_000, "minutes": MINUTES, "rising": True},
    ),
)


def beside_static(rows: list[dict[str, Any]]) -> list[str]:
    """Return how dynamic decisions compare with the better static ones at each point."""
    ratios = [1 / ratio for ratio in over_static(rows)]
    if not ratios:
        return []
    span = f"{min(ratios):.2f} to {max(ratios):.2f} times"
    return [f"Dynamic decisions take {span} the time of the better static ones, per event."]


PLAN = Plan(
    title="Dynamic beside static sharing decisions (Figure 12)",
    paper="dynamic decisions are 21 to 34 % faster than static ones, with 27 to 52 % more "
    "throughput; about 90 % of bursts are shared (Section 6.2).",
    sweeps=SWEEPS,
    systems=("Elsinore", "always", "never", "running sums", "decided once", "GRETA"),
    metrics=("latency", "speed"),
    remarks=beside_static,
)
