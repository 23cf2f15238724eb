"""Match queries evaluated by the runs of an automaton, as in SASE+."""

from __future__ import annotations

from benchmarks.evaluations.reproduced import ReproducedMatches
from benchmarks.evaluations.run_search import RunSearch, why_not_by_runs

KIND = ReproducedMatches("runs", RunSearch, why_not_by_runs)
