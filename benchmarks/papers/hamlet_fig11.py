"""Figure 11 of HAMLET: beside GRETA on taxis and smart homes.

The authors repeat one query, `1+` or `10+`, ten or twenty times. Elsinore keeps equal queries once,
which is no sharing of trends; so the queries here differ (`trend_cases`). The last sweep has the
authors' equal queries: by how much it is faster is what leaving out duplicates gains.
"""

from __future__ import annotations

from benchmarks.papers.hamlet import Plan, Sweep

MINUTES = 60
EQUAL = "Smart homes, equal queries"
PLAN = Plan(
    title="HAMLET beside GRETA: taxis and smart homes (Figure 11)",
    paper="HAMLET outperforms GRETA in throughput and latency by 3 to 5 orders of magnitude; its "
    "response time is within half a second, GRETA's up to 2 hours and 17 minutes (Section 6.2).",
    sweeps=(
        Sweep(
            case="taxis",
            title="New York taxis",
            name="rate",
            values=(100, 200, 300, 400),
            fixed={"queries": 20, "minutes": MINUTES},
        ),
        Sweep(
            case="plugs",
            title="Smart homes",
            name="rate",
            values=(5_000, 10_000, 20_000),
            fixed={"queries": 20, "minutes": MINUTES},
        ),
        Sweep(
            case="plugs",
            title="Smart homes",
            name="queries",
            values=(10, 20, 40),
            fixed={"rate": 5_000, "minutes": MINUTES},
        ),
        Sweep(
            case="plugs",
            title=EQUAL,
            name="queries",
            values=(10, 20, 40),
            fixed={"rate": 5_000, "minutes": MINUTES, "equal": True},
        ),
    ),
    systems=("Elsinore", "running sums", "HAMLET as written", "GRETA"),
    metrics=("latency", "speed", "memory"),
)
