"""Figure 10 of HAMLET: memory beside other systems, ridesharing; the sweeps are Figure 9's."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.papers.hamlet_fig9 import PLAN as FIGURE_9

PLAN = replace(
    FIGURE_9,
    title="HAMLET beside other systems: memory (Figure 10)",
    paper="HAMLET, GRETA and MCEP perform similarly; SHARON requires 2 to 3 orders of magnitude "
    "more memory (Section 6.2).",
    metrics=("memory",),
)
