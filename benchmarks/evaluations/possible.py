"""Which queries evaluations of the literature can run, and why not others."""

from __future__ import annotations

from elsinore.matches.returns import ColumnKind
from elsinore.matches.template import MatchTemplate
from elsinore.model.expression import CONTAINS, Call, walk
from elsinore.model.kinds import Strategy


def why_only_by_the_engine(template: MatchTemplate) -> str | None:
    """Return why only the engine can evaluate a query, or None if others can."""
    query = template.query
    if query.collapsed:
        return "COLLAPSED does not list single matches"
    if query.after_match is not None or query.suppress is not None:
        return "AFTER MATCH and SUPPRESS select among matches"
    if any(register.position for register in template.registers):
        return "it reads events at a position, or aggregates of the latest ones"
    if template.relates_negatives:
        return "NOT is related to other variables"
    if _looks_into_lists(template):
        return "a value is looked up in the list of another event"
    if template.uncertain is not None:
        return "times are uncertain"
    if any(column.kind is ColumnKind.MATCH_NUMBER for column in template.columns):
        return (
            "MATCH_NUMBER() numbers matches that end with the same event in the order of the search"
        )
    return None


def _looks_into_lists(template: MatchTemplate) -> bool:
    """Return whether a condition asks if the list of an event has a value of another."""
    return any(
        isinstance(node, Call) and node.name == CONTAINS
        for condition in template.conditions
        for node in walk(condition.expression)
    ) or any(map(_looks_into_lists, template.negatives))


def why_not_postponed(template: MatchTemplate) -> str | None:
    """Return why predicates of a query cannot be postponed, or None if they can."""
    reason = why_only_by_the_engine(template)
    if reason is None and template.strategy is not Strategy.ANY:
        return f"it requires SKIP TILL ANY MATCH, not {template.strategy.value}"
    return reason
