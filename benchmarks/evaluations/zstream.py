"""Match queries evaluated by runs behind the buffers of ZStream."""

from __future__ import annotations

from benchmarks.evaluations.reproduced import ReproducedMatches
from benchmarks.evaluations.run_search import RunSearch, why_not_by_runs

KIND = ReproducedMatches("zstream", RunSearch, why_not_by_runs)
