"""Which way a query is run, by what it asks for.

- COARSE: sums per state of the template (COGRA): no predicate or strategy asks for single events,
  nor does NOT ask for more than that none of some has come since.
- GRAPH: what the engine stores event by event (`elsinore.plan.stored`), as GRETA does.
- SETS: integers of any size, and what `elsinore.plan.stored` gives a reason against.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from elsinore.model.kinds import Strategy
from elsinore.model.query import Query
from elsinore.plan.assembly import guarded_template
from elsinore.plan.between import is_local
from elsinore.plan.guarded import GuardedTemplate
from elsinore.plan.implied import without_implied
from elsinore.plan.modes import Granularity
from elsinore.plan.stored import stored
from elsinore.plan.template import Template

_NEGATION = "NOT depends on the events in between"
_LONG_NEGATION = "NOT forbids more than single events"
_CONJUNCTION = "AND counts pairs of trends"
_COMPARISON = "a condition compares events with one another"


class Path(Enum):
    """The ways to run a query."""

    COARSE = "coarse"
    GRAPH = "graph"
    SETS = "sets"


@dataclass(frozen=True, slots=True)
class Routed:
    """A query with its way, the reason for it, its guarded template and what the engine runs."""

    path: Path
    why: str
    guarded: GuardedTemplate
    template: Template | None = None  # None on the path SETS


def route(query: Query, granularity: Granularity, *, exact: bool) -> Routed:
    """Choose a trend query's way and build its templates.

    Raises QuerySemanticError where `guarded_template` does.
    """
    guarded = without_implied(guarded_template(query))
    reasons = _reasons(query, guarded)
    template = stored(guarded)
    if isinstance(template, str):
        return Routed(Path.SETS, f"trends built one by one: {template}", guarded)
    is_fine = granularity is Granularity.FINE and not (exact or guarded.ambiguous)
    if template.is_summed and not is_fine:
        why = "sums per state: no condition compares one event with another"
        if _CONJUNCTION in reasons:
            why = f"sums per state for each pattern and for both: {_CONJUNCTION}"
        elif guarded.negatives:
            why = "sums per state, reset by what NOT forbids: NOT forbids only single events"
        return Routed(Path.COARSE, why, guarded, template)
    guard = next(iter(reasons), "fine granularity was requested")
    if exact:
        return Routed(Path.SETS, f"trends built one by one in exact integers: {guard}", guarded)
    way = "an index over its own events"
    if query.strategy is not Strategy.ANY:
        way = "sums carried from event to event"
    elif any(rows is not None and rows.is_checked for rows in template.rows):
        way = "its own list of events"
    return Routed(Path.GRAPH, f"{way}: {guard}", guarded, template)


def _reasons(query: Query, guarded: GuardedTemplate) -> list[str]:
    """Return what in a query's clauses asks for more than sums per state."""
    reasons = [_CONJUNCTION] if guarded.sides > 1 else []
    if guarded.negatives:
        is_long = any(negative.moves or negative.negatives for negative in guarded.negatives)
        reasons.append(_LONG_NEGATION if is_long else _NEGATION)
    if query.strategy is not Strategy.ANY:
        reasons.append(f"{query.strategy.value} restricts which events may be skipped")
    if not all(map(is_local, query.where)):
        reasons.append(_COMPARISON)
    return reasons
