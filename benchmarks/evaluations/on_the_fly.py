"""Match queries whose predicates are postponed, behind early filters, as in SASE++, Section 5.2."""

from __future__ import annotations

from benchmarks.evaluations.possible import why_not_postponed
from benchmarks.evaluations.postponed_search import PostponedSearch
from benchmarks.evaluations.reproduced import ReproducedMatches

KIND = ReproducedMatches("on_the_fly", PostponedSearch, why_not_postponed)
