"""Which evaluations a query may have: what is asked for where it can be had, and why where not."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.matches.returns import ColumnKind
from elsinore.matches.template import MatchTemplate
from elsinore.model.kinds import Strategy
from elsinore.plan.modes import Evaluation

BY_RUNS = {Evaluation.RUNS, Evaluation.ZSTREAM}

POSTPONED = {Evaluation.POSTPONING, Evaluation.ON_THE_FLY}


@dataclass(frozen=True, slots=True)
class Evaluated:
    """How a query is evaluated, and why."""

    evaluation: Evaluation
    why: str


def evaluated(template: MatchTemplate, asked: Evaluation) -> Evaluated:
    """Return how a query is evaluated: as asked, or, where that cannot be, by default."""
    if asked is Evaluation.AUTO:
        return Evaluated(Evaluation.PATHS, "the default")
    reason = why_not(template, asked)
    if reason is not None:
        return Evaluated(Evaluation.PATHS, f"not {asked.value}: {reason}")
    return Evaluated(asked, "as asked")


def why_not(template: MatchTemplate, evaluation: Evaluation) -> str | None:
    """Return why a query cannot be evaluated in a way; None where it can be."""
    if evaluation is Evaluation.PATHS:
        return None
    if template.query.collapsed:
        return "COLLAPSED lists no single matches"
    if template.uncertain is not None:
        return "times are uncertain"
    if any(column.kind is ColumnKind.MATCH_NUMBER for column in template.columns):
        return "MATCH_NUMBER() tells matches apart that end with one event by how they are found"
    if evaluation in POSTPONED and template.strategy is not Strategy.ANY:
        return f"it is for SKIP TILL ANY MATCH, not {template.strategy.value}"
    if evaluation in BY_RUNS:
        for register in template.registers:
            if register.aggregate is not None and register.aggregate.initial is None:
                return f"the state of {register.aggregate.name} is an object, and runs keep numbers"
    return None
