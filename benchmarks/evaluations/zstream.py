"""Match queries evaluated by runs behind the buffers of ZStream."""

from __future__ import annotations

from benchmarks.evaluations.reproduced import ReproducedMatches
from benchmarks.evaluations.run_search import RunSearch, why_not_by_runs


class ZStreamSearch(RunSearch):
    """The search of one query by runs behind buffers."""

    is_zstream = True


KIND = ReproducedMatches("zstream", ZStreamSearch, why_not_by_runs)
