"""The search for the matches of a query."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from elsinore.matches.operands import Layout
from elsinore.matches.query import QuerySearch
from elsinore.matches.statistics import QueryStatistics
from elsinore.matches.template import MatchTemplate
from elsinore.plan.classes import Classes

if TYPE_CHECKING:
    from elsinore.matches.by_window import WindowSearch
    from elsinore.matches.collapsed import CollapsedSearch
    from elsinore.matches.uncertain import UncertainSearch

    Search = QuerySearch | UncertainSearch | CollapsedSearch | WindowSearch


def listed_matches(
    template: MatchTemplate,
    classes: Classes,
    layout: Layout,
    size: int,
    statistics: QueryStatistics,  # noqa: ARG001 - of searches that count what they do
) -> QuerySearch:
    """Return the search that lists single matches of exact times."""
    return QuerySearch(template, classes, layout, size)


ListSearch = Callable[[MatchTemplate, Classes, Layout, int, QueryStatistics], QuerySearch]


def search_of(
    template: MatchTemplate,
    classes: Classes,
    layout: Layout,
    size: int,
    statistics: QueryStatistics,
    listing: ListSearch = listed_matches,
) -> Search:
    """Return the search for a query's matches, which counts its work into `statistics`.

    `listing` makes the search if single matches of exact times are requested.
    """
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
    search = listing(template, classes, layout, size, statistics)
    if template.depends_on_window:
        from elsinore.matches.by_window import WindowSearch  # noqa: PLC0415

        return WindowSearch(search)
    return search
