"""Figure 13 of HAMLET: memory of dynamic and static decisions; the sweeps are Figure 12's."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.papers.hamlet_fig12 import PLAN as FIGURE_12

PLAN = replace(
    FIGURE_12,
    title="Memory of dynamic and static sharing decisions (Figure 13)",
    paper="dynamic decisions need 25 % less memory than static ones (Section 6.2).",
    metrics=("memory",),
)
