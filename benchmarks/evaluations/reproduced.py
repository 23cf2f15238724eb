"""A kind of match query that finds single matches in another way than the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.evaluations.marked import MarkedSearch
from benchmarks.evaluations.statistics import EvaluationStatistics, QueryStatistics
from elsinore.matches.kind import Matches
from elsinore.matches.operands import Layout
from elsinore.matches.operator import MatchOperator
from elsinore.matches.query import QuerySearch
from elsinore.matches.searches import ListSearch
from elsinore.matches.spec import plan_matches, spec_of
from elsinore.matches.template import MatchTemplate
from elsinore.model.query import Query
from elsinore.operators import Operator, OperatorOptions
from elsinore.plan import PlanOptions, Unit

SearchClass = Callable[[MatchTemplate, Layout, QueryStatistics], MarkedSearch]


class ReproducedMatches(Matches):
    """The matches of a pattern, found by the evaluation of a paper."""

    def __init__(
        self,
        name: str,
        search: SearchClass,
        why_not: Callable[[MatchTemplate], str | None],
    ) -> None:
        """`why_not` returns why a query cannot be evaluated by `search`, or None if it can."""
        self._module = f"benchmarks.evaluations.{name}"
        self._search = search
        self.why_not = why_not

    def plan(self, queries: Sequence[tuple[int, Query]], options: PlanOptions) -> Sequence[Unit]:
        """Plan match queries; those that cannot be evaluated this way are left to the engine."""
        return plan_matches(
            queries, self._module, options.aggregates, options.attributes, options.uncertain
        )

    def operator(self, unit: Unit, options: OperatorOptions) -> Operator:
        """Return a new operator that finds matches by the evaluation."""
        statistics = self._statistics(unit)
        operator = MatchOperator(unit, options, self._listing(statistics))
        operator.statistics = statistics
        return operator

    def statistics(self) -> EvaluationStatistics:
        """Return the statistics of an operator that has done nothing yet."""
        return EvaluationStatistics()

    def load(self, unit: Unit, blob: bytes) -> Operator:
        """Return the operator from the bytes that `save` returned."""
        statistics = self._statistics(unit)
        operator = MatchOperator.load(unit, blob, self._listing(statistics))
        operator.statistics = statistics
        return operator

    def _statistics(self, unit: Unit) -> EvaluationStatistics:
        queries = tuple(QueryStatistics(t.query.name) for t in spec_of(unit).templates)
        return EvaluationStatistics(queries=queries, open_windows=(0,) * len(queries))

    def _listing(self, statistics: EvaluationStatistics) -> ListSearch:
        by_name = {query.name: query for query in statistics.queries}

        def search(template: MatchTemplate, layout: Layout) -> QuerySearch:
            if self.why_not(template) is not None:
                return QuerySearch(template, layout)
            return self._search(template, layout, by_name[template.query.name])

        return search
