"""Which evaluations a query may have: what is asked for where it can be had, and why where not."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.language import render
from elsinore.matches.evaluation.filters import STAYS_FALSE, early_filters
from elsinore.matches.looked_up import lookup_of
from elsinore.matches.returns import ColumnKind
from elsinore.matches.template import START, MatchTemplate
from elsinore.model.kinds import Strategy
from elsinore.plan.modes import Evaluation
from elsinore.words import listed

AUTO, PATHS, ON_THE_FLY = (
    how.value for how in (Evaluation.AUTO, Evaluation.PATHS, Evaluation.ON_THE_FLY)
)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """How a query is evaluated, and why."""

    evaluation: str
    why: str


def evaluated(template: MatchTemplate, wanted: Evaluation) -> Evaluated:
    """Return how a query is evaluated: as requested, or by paths if that is not possible."""
    if wanted is Evaluation.AUTO:
        return _by_cost(template)
    reason = why_not_postponed(template) if wanted is Evaluation.ON_THE_FLY else None
    if reason is not None:
        return Evaluated(PATHS, f"not {wanted.value}: {reason}")
    return Evaluated(wanted.value, "as requested")


def _by_cost(template: MatchTemplate) -> Evaluated:
    """Return how a query is evaluated that may be evaluated in any way.

    AUTO where that depends on the events. By paths, what cannot be completed is not begun, as far
    as types and conditions on neighbours tell; a main run's early filters look at others.
    """
    reason = why_not_postponed(template)
    if reason is not None:
        return Evaluated(PATHS, f"postponing is not possible ({reason})")
    if not template.conditions:
        return Evaluated(PATHS, "no condition relates events to one another")
    near = [condition.reads_neighbours_only for condition in template.conditions]
    if any(near[c] for edge in template.edges if edge.source != START for c in edge.checks):
        why = "conditions on neighbours rule out what cannot be completed before it is begun"
        return Evaluated(PATHS, why)
    filters = early_filters(template)
    early = {n for row in filters for n, flags in enumerate(row) if flags & STAYS_FALSE}
    looked_up = {n: lookup_of(template.conditions[n]) for n in early}
    if early and None not in looked_up.values():
        conditions = listed([render(template.conditions[n].source) for n in sorted(early)])
        return Evaluated(PATHS, f"{conditions} need not be tested for each event")
    if not early:
        return Evaluated(
            PATHS,
            "no condition rules out events before it is known what a match selects",
        )
    if any(r.aggregate is not None and r.aggregate.initial is None for r in template.registers):
        return Evaluated(PATHS, "the state of an aggregate of your own is an object")
    conditions = listed([render(template.conditions[n].source) for n in sorted(early)])
    return Evaluated(
        AUTO, f"paths, or on-the-fly where {conditions} is expected to rule out enough"
    )


def why_only_paths(template: MatchTemplate) -> str | None:
    """Return why a query can only be evaluated by paths, or None if it can be otherwise."""
    if template.query.collapsed:
        return "COLLAPSED does not list single matches"
    if template.uncertain is not None:
        return "times are uncertain"
    if any(register.kind.is_at_position for register in template.registers):
        return "events at a position are asked for"
    if template.relates_negatives:
        return "what NOT forbids depends on the events of the match"
    if any(column.kind is ColumnKind.MATCH_NUMBER for column in template.columns):
        return (
            "MATCH_NUMBER() numbers matches that end with the same event in the order of the search"
        )
    return None


def why_not_postponed(template: MatchTemplate) -> str | None:
    """Return why predicates of a query cannot be postponed, or None if they can."""
    reason = why_only_paths(template)
    if reason is None and template.strategy is not Strategy.ANY:
        return f"it requires SKIP TILL ANY MATCH, not {template.strategy.value}"
    return reason
