"""Which evaluations a query may have: what is asked for where it can be had, and why where not."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.language import render
from elsinore.matches.evaluation.filters import STAYS_FALSE, early_filters
from elsinore.matches.returns import ColumnKind
from elsinore.matches.template import START, MatchTemplate
from elsinore.model.kinds import Strategy
from elsinore.plan.modes import Evaluation
from elsinore.words import listed

BY_RUNS = {Evaluation.RUNS, Evaluation.ZSTREAM}

POSTPONED = {Evaluation.POSTPONING, Evaluation.ON_THE_FLY}


@dataclass(frozen=True, slots=True)
class Evaluated:
    """How a query is evaluated, and why."""

    evaluation: Evaluation
    why: str


def evaluated(template: MatchTemplate, wanted: Evaluation) -> Evaluated:
    """Return how a query is evaluated: as asked, or, where that cannot be, by default."""
    if wanted is Evaluation.AUTO:
        return _by_cost(template)
    reason = why_not(template, wanted)
    if reason is not None:
        return Evaluated(Evaluation.PATHS, f"not {wanted.value}: {reason}")
    return Evaluated(wanted, "as requested")


def _by_cost(template: MatchTemplate) -> Evaluated:
    """Return how a query is evaluated that may be evaluated in any way.

    AUTO where that depends on the events. By paths, what cannot be completed is not begun, as far
    as types and conditions on neighbours tell; a main run's early filters look at others.
    """
    reason = why_not(template, Evaluation.ON_THE_FLY)
    if reason is not None:
        return Evaluated(Evaluation.PATHS, f"postponing is not possible ({reason})")
    if not template.conditions:
        return Evaluated(Evaluation.PATHS, "no condition relates events to one another")
    near = [condition.reads_neighbours_only for condition in template.conditions]
    if any(near[c] for edge in template.edges if edge.source != START for c in edge.checks):
        why = "conditions on neighbours rule out what cannot be completed before it is begun"
        return Evaluated(Evaluation.PATHS, why)
    filters = early_filters(template)
    early = {n for row in filters for n, flags in enumerate(row) if flags & STAYS_FALSE}
    if not early:
        return Evaluated(
            Evaluation.PATHS,
            "no condition rules out events before it is known what a match selects",
        )
    if any(r.aggregate is not None and r.aggregate.initial is None for r in template.registers):
        return Evaluated(Evaluation.PATHS, "the state of an aggregate of your own is an object")
    conditions = listed([render(template.conditions[n].source) for n in sorted(early)])
    return Evaluated(
        Evaluation.AUTO, f"paths, or on-the-fly where {conditions} is expected to rule out enough"
    )


def why_not(template: MatchTemplate, evaluation: Evaluation) -> str | None:
    """Return why a query cannot be evaluated in a way; None where it can be."""
    if evaluation is Evaluation.PATHS:
        return None
    if template.query.collapsed:
        return "COLLAPSED does not list single matches"
    if template.uncertain is not None:
        return "times are uncertain"
    if any(column.kind is ColumnKind.MATCH_NUMBER for column in template.columns):
        return (
            "MATCH_NUMBER() numbers matches that end with the same event in the order of the search"
        )
    if evaluation in POSTPONED and template.strategy is not Strategy.ANY:
        return f"it requires SKIP TILL ANY MATCH, not {template.strategy.value}"
    if evaluation in BY_RUNS:
        for register in template.registers:
            if register.aggregate is not None and register.aggregate.initial is None:
                return f"the state of {register.aggregate.name} is an object, and runs keep numbers"
    return None
