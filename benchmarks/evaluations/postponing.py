"""Match queries whose predicates between events are postponed, as in SASE++, Section 5.1."""

from __future__ import annotations

from benchmarks.evaluations.possible import why_not_postponed
from benchmarks.evaluations.postponed_search import PostponedSearch
from benchmarks.evaluations.reproduced import ReproducedMatches


class PostponingSearch(PostponedSearch):
    """The search of one query by postponing, without early filters."""

    filters_early = False


KIND = ReproducedMatches("postponing", PostponingSearch, why_not_postponed)
