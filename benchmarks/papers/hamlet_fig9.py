"""Figure 9 of HAMLET: latency and throughput beside other systems, ridesharing.

The authors' stream and patterns for this figure (`trend_cases.rides`). The paper's range of rates
and queries was chosen so that all of its systems end within hours.
"""

from __future__ import annotations

from benchmarks.papers.hamlet import Plan, Sweep

RATES = (10_000, 12_500, 15_000, 17_500, 20_000)
QUERIES = (5, 10, 15, 20, 25)
MINUTES = 10
SYSTEMS = (
    "Elsinore",
    "running sums",
    "HAMLET as written",
    "decided once",
    "GRETA",
    "SHARON",
    "MCEP",
)
SWEEPS = (
    Sweep(
        case="rides",
        title="Ridesharing",
        name="rate",
        values=RATES,
        fixed={"queries": 25, "minutes": MINUTES},
    ),
    Sweep(
        case="rides",
        title="Ridesharing",
        name="queries",
        values=QUERIES,
        fixed={"rate": 10_000, "minutes": MINUTES},
    ),
)
PLAN = Plan(
    title="HAMLET beside other systems: latency and throughput (Figure 9)",
    paper="HAMLET's throughput is above SHARON's by 3 to 5 orders of magnitude, above GRETA's by 1 "
    "to 2, and 7 to 76 times MCEP's; HAMLET needs 25 ms, SHARON up to 50 minutes, GRETA up to 3 "
    "seconds, MCEP up to 1 second (Section 6.2).",
    sweeps=SWEEPS,
    systems=SYSTEMS,
    metrics=("latency", "speed"),
)
