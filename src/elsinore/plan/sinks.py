"""NOT of single events under SKIP TILL NEXT MATCH as states: what they forbid ends in them.

Where each way on from a state forbids the same single events, a trend that stands there when one of
these comes goes on nowhere: it might as well go on with that event, to a state without any way on
in which no trend ends. So no time of a negative match needs to be known.
"""

from __future__ import annotations

from dataclasses import replace

from elsinore.model.kinds import Strategy
from elsinore.plan.guarded import GuardedState, GuardedTemplate, Move
from elsinore.plan.guards import FREE, Ways

_NOBODY = ""  # the variable of a sink: no aggregate is about it


def with_sinks(template: GuardedTemplate) -> GuardedTemplate:
    """Return a template without negatives; as it is where NOT forbids something else.

    The sinks of a state come right after it, so that what templates begin with alike has the same
    numbers.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.assembly import guarded_template
    >>> text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, NOT C, B+) STRATEGY SKIP TILL NEXT MATCH;"
    >>> found = with_sinks(guarded_template(parse_workload(text).queries[0]))
    >>> [state.type for state in found.states], len(found.negatives)
    (['A', 'C', 'B'], 0)
    """
    forbidden = _forbidden(template)
    if not template.negatives or forbidden is None:
        return template
    states: list[GuardedState] = []
    place: list[int] = []
    moves: list[Move] = []
    for state, negatives in zip(template.states, forbidden, strict=True):
        place.append(len(states))
        states.append(state)
        ends = {
            replace(standing, variable=_NOBODY): None
            for number in negatives
            for standing in template.negatives[number].states
        }
        moves += [Move(place[-1], len(states) + number, FREE) for number in range(len(ends))]
        states += ends
    return replace(
        template,
        states=tuple(states),
        starts=tuple(replace(start, target=place[start.target]) for start in template.starts),
        moves=(
            *(
                replace(move, source=place[move.source], target=place[move.target], ways=FREE)
                for move in template.moves
            ),
            *moves,
        ),
        ends=tuple(replace(end, source=place[end.source]) for end in template.ends),
        negatives=(),
    )


def _forbidden(template: GuardedTemplate) -> list[list[int]] | None:
    """Return which negatives forbid to go on from each state; None where it is not as simple."""
    if (
        template.query.strategy is not Strategy.NEXT
        or any(negative.moves or negative.negatives for negative in template.negatives)
        or any(edge.ways != FREE for edge in template.starts)
        or any(edge.ways != FREE for edge in template.ends)
    ):
        return None
    onward: list[set[Ways]] = [set() for _ in template.states]
    for move in template.moves:
        onward[move.source].add(move.ways)
    if any(len(several) > 1 or any(len(ways) != 1 for ways in several) for several in onward):
        return None
    return [sorted(n for ways in several for way in ways for n in way) for several in onward]
