"""The search that evaluates a query as it is to be evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elsinore.matches.evaluation.auto_search import AutoSearch
from elsinore.matches.evaluation.possible import BY_RUNS, POSTPONED
from elsinore.matches.evaluation.postponed_search import PostponedSearch
from elsinore.matches.evaluation.statistics import QueryStatistics
from elsinore.matches.operands import Layout
from elsinore.matches.query import QuerySearch
from elsinore.matches.template import MatchTemplate
from elsinore.plan.classes import Classes
from elsinore.plan.modes import Evaluation

if TYPE_CHECKING:
    from elsinore.matches.by_window import WindowSearch
    from elsinore.matches.collapsed import CollapsedSearch
    from elsinore.matches.uncertain import UncertainSearch

    Search = QuerySearch | UncertainSearch | CollapsedSearch | WindowSearch


def search_of(
    template: MatchTemplate,
    classes: Classes,
    layout: Layout,
    size: int,
    statistics: QueryStatistics,
) -> Search:
    """Return the search of a query; what it counts goes into `statistics`."""
    # searches that few queries ask for are loaded with the first of these
    if template.gathers:
        from elsinore.matches.gathered import GatheredSearch  # noqa: PLC0415

        return GatheredSearch(template, classes, layout, size)
    if template.query.collapsed:
        from elsinore.matches.collapsed import CollapsedSearch  # noqa: PLC0415

        return CollapsedSearch(template, classes, layout, size)
    if template.is_unsure:
        from elsinore.matches.negated import NegatedSearch  # noqa: PLC0415

        return NegatedSearch(template, classes, layout, size)
    if template.uncertain is not None:
        from elsinore.matches.uncertain import UncertainSearch  # noqa: PLC0415

        return UncertainSearch(template, classes, layout, size)
    search = _search_by_evaluation(template, classes, layout, size, statistics)
    if template.depends_on_window:
        from elsinore.matches.by_window import WindowSearch  # noqa: PLC0415

        return WindowSearch(search)
    return search


def _search_by_evaluation(
    template: MatchTemplate,
    classes: Classes,
    layout: Layout,
    size: int,
    statistics: QueryStatistics,
) -> QuerySearch:
    """Return the search that makes matches as the query's evaluation says."""
    if statistics.evaluation in BY_RUNS:
        from elsinore.matches.evaluation.run_search import RunSearch  # noqa: PLC0415

        return RunSearch(template, classes, layout, size, statistics)
    if statistics.evaluation in POSTPONED:
        return PostponedSearch(template, classes, layout, size, statistics)
    if statistics.evaluation is Evaluation.AUTO:
        return AutoSearch(template, classes, layout, size, statistics)
    return QuerySearch(template, classes, layout, size)
