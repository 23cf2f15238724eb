"""A kind of match query that finds single matches in another way than the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from elsinore.matches.evaluation.choice import listed_matches
from elsinore.matches.evaluation.marked import MarkedSearch
from elsinore.matches.evaluation.possible import PATHS, Evaluated
from elsinore.matches.evaluation.statistics import QueryStatistics
from elsinore.matches.kind import Matches
from elsinore.matches.operands import Layout
from elsinore.matches.operator import MatchOperator
from elsinore.matches.query import QuerySearch
from elsinore.matches.spec import plan_matches, spec_of
from elsinore.matches.template import MatchTemplate
from elsinore.model.query import Query
from elsinore.operators import Operator, OperatorOptions
from elsinore.plan import PlanOptions, Unit
from elsinore.plan.classes import Classes
from elsinore.plan.modes import Evaluation

SearchClass = Callable[[MatchTemplate, Classes, Layout, int, QueryStatistics], MarkedSearch]


class ReproducedMatches(Matches):
    """The matches of a pattern, found by the evaluation of a paper."""

    def __init__(
        self,
        name: str,
        search: SearchClass,
        why_not: Callable[[MatchTemplate], str | None],
    ) -> None:
        """`why_not` returns why a query cannot be evaluated by `search`, or None if it can."""
        self._evaluation = name
        self._search = search
        self._why_not = why_not

    def plan(self, queries: Sequence[tuple[int, Query]], options: PlanOptions) -> Sequence[Unit]:
        """Plan match queries; those that cannot be evaluated this way are evaluated by paths."""
        units = plan_matches(
            queries,
            f"benchmarks.evaluations.{self._evaluation}",
            options.aggregates,
            options.attributes,
            options.uncertain,
            Evaluation.PATHS,
        )
        return tuple(self._evaluated(unit) for unit in units)

    def operator(self, unit: Unit, options: OperatorOptions) -> Operator:
        """Return a new operator that finds matches by the evaluation."""
        return MatchOperator(unit, options, self._listing)

    def load(self, unit: Unit, blob: bytes) -> Operator:
        """Return the operator from the bytes that `save` returned."""
        return MatchOperator.load(unit, blob, self._listing)

    def _evaluated(self, unit: Unit) -> Unit:
        spec = spec_of(unit)
        reasons = [self._why_not(template) for template in spec.templates]
        evaluations = tuple(
            Evaluated(self._evaluation, "as requested")
            if reason is None
            else Evaluated(PATHS, f"not {self._evaluation}: {reason}")
            for reason in reasons
        )
        return replace(unit, spec=replace(spec, evaluations=evaluations))

    def _listing(
        self,
        template: MatchTemplate,
        classes: Classes,
        layout: Layout,
        size: int,
        statistics: QueryStatistics,
    ) -> QuerySearch:
        if statistics.evaluation != self._evaluation:
            return listed_matches(template, classes, layout, size, statistics)
        return self._search(template, classes, layout, size, statistics)
