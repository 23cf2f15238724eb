"""Queries of one automaton: they ask the same of the events, and differ in what they add up.

Where the states of two queries are equal, and how trends begin, go on and end in them, whatever the
strategy and whatever stands under NOT or AND, the same trends end in each. So they are gone over
once, with the sums of all of the queries side by side, as the merged template does on the path that
keeps sums (`elsinore.plan.merged`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from elsinore.model.kinds import Strategy
from elsinore.plan.guarded import GuardedState, GuardedTemplate, Move

_OF_THE_QUERY = {"query", "aggregation", "warnings", "anchors", "states", "negatives", "parts"}
_COMPARED = tuple(
    entry.name for entry in fields(GuardedTemplate) if entry.name not in _OF_THE_QUERY
)


def shape(template: GuardedTemplate) -> object:
    """Return what two queries of one automaton agree in: all but names and aggregates.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.assembly import guarded_template
    >>> one, other = (guarded_template(query) for query in parse_workload('''
    ...     QUERY one RETURN COUNT(*) PATTERN SEQ(A x, B y+) STRATEGY CONTIGUOUS;
    ...     QUERY other RETURN SUM(b.v) PATTERN SEQ(A a, B b+) STRATEGY CONTIGUOUS;
    ... ''').queries)
    >>> shape(one) == shape(other)
    True
    """
    return (
        template.query.strategy,
        template.query.window,
        len(template.anchors),
        tuple(_state(state) for state in template.states),
        tuple(shape(negative) for negative in template.negatives),
        *(getattr(template, name) for name in _COMPARED),
    )


def begins_with(longer: GuardedTemplate, template: GuardedTemplate) -> bool:
    """Return whether an automaton is the beginning of another, but for which events fit states.

    Under NEXT and CONTIGUOUS two such queries are lanes of one sweep over the events, also where
    both have all states (`elsinore.trends.graph.steps`). Where trends end may differ.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.assembly import guarded_template
    >>> one, other, third = (guarded_template(query) for query in parse_workload('''
    ...     QUERY one RETURN COUNT(*) PATTERN SEQ(A x, B y+) STRATEGY CONTIGUOUS;
    ...     QUERY other RETURN COUNT(*) PATTERN SEQ(C c, D d+) WHERE d.v > 2 STRATEGY CONTIGUOUS;
    ...     QUERY third RETURN COUNT(*) PATTERN SEQ(A a, B b+, C c) STRATEGY CONTIGUOUS;
    ... ''').queries)
    >>> begins_with(one, other), begins_with(third, one), begins_with(one, third)
    (True, True, False)
    """
    return why_no_lanes(longer, template) is None


def why_no_lanes(longer: GuardedTemplate, template: GuardedTemplate) -> str | None:
    """Return why `begins_with` is false; None where it is not."""
    if longer.query.strategy is not template.query.strategy:
        return "their strategies differ"
    if longer.query.window != template.query.window:
        return "their windows differ"
    states = len(template.states)
    first = [move for move in longer.moves if move.source < states and move.target < states]
    ways = {(move.source, move.target) for move in first}
    if (
        len(longer.states) < states
        or set(longer.starts) != set(template.starts)
        or ways != {(move.source, move.target) for move in template.moves}
    ):
        return "they differ in which events may follow which, or begin a trend"
    if _conditions(longer, first) != _conditions(template, template.moves):
        return "their conditions between events differ"
    return None


def equal_states(templates: Sequence[GuardedTemplate]) -> list[list[int]]:
    """Return which states are equal, of templates that the first one `begins_with`.

    [state][template] is a number, the same where the same trends end in the state and may be
    followed: the same events are taken to it, and to the states before it. Under NEXT the same
    events must go on from it too, as what one of them goes on with cannot be followed again; a
    state that none goes on from is equal to any. -1: the template has no such state, and none that
    such a state leads to.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.assembly import guarded_template
    >>> def equal(strategy):
    ...     return equal_states([guarded_template(query) for query in parse_workload(f'''
    ...         QUERY one RETURN COUNT(*) PATTERN SEQ(A a, B b+, C c) STRATEGY {strategy};
    ...         QUERY other RETURN COUNT(*) PATTERN SEQ(A a, B b+, D d) STRATEGY {strategy};
    ...         QUERY third RETURN COUNT(*) PATTERN SEQ(A a, B b+) STRATEGY {strategy};
    ...     ''').queries])
    >>> equal("CONTIGUOUS"), equal("SKIP TILL NEXT MATCH")
    ([[0, 0, 0], [0, 0, 0], [0, 1, -1]], [[0, 0, 0], [0, 1, 2], [0, 1, -1]])
    """
    count = len(templates[0].states)
    sources = [_sources(template) for template in templates]
    after = [_after(template) for template in templates]
    has = [range(len(template.states)) for template in templates]
    equal = [[0 if state in states_there else -1 for states_there in has] for state in range(count)]
    for _ in range(count + 1):  # what leads to a state is as long at most
        finer = []
        for state in range(count):
            numbers: dict[object, int] = {}
            follow: dict[object, object] = {}  # what goes on from some that are equal else
            row = []
            for number, template in enumerate(templates):
                if state not in has[number]:
                    row.append(-1)
                    continue
                standing = template.states[state]
                before = frozenset((s, equal[s][number]) for s in sources[number][state])
                name = standing.type, standing.needs, before
                going = after[number][state] or follow.get(name)
                if going:
                    follow.setdefault(name, going)
                row.append(numbers.setdefault((name, going), len(numbers)))
            finer.append(row)
        if finer == equal:
            break
        equal = finer
    for number, states_there in enumerate(has):
        if any(
            move.target in states_there and move.source not in states_there
            for move in templates[0].moves
        ):
            for row in equal[len(states_there) :]:  # no event is taken to them, in this one
                row[number] = len(templates)
    return equal


def _sources(template: GuardedTemplate) -> list[set[int]]:
    sources: list[set[int]] = [set() for _ in template.states]
    for move in template.moves:
        sources[move.target].add(move.source)
    return sources


def _after(template: GuardedTemplate) -> list[frozenset[object]]:
    """Return what goes on from each state: the events taken, and what is asked of them."""
    after: list[set[object]] = [set() for _ in template.states]
    if template.query.strategy is Strategy.NEXT:
        for move in template.moves:
            target = template.states[move.target]
            after[move.source].add((target.type, target.needs, template.conditions_of(move)))
    return [frozenset(following) for following in after]


def _conditions(template: GuardedTemplate, moves: Sequence[Move]) -> object:
    return {(move.source, move.target, template.conditions_of(move)) for move in moves}


def _state(state: GuardedState) -> object:
    return state.type, state.needs, state.anchor


def alike(templates: Sequence[GuardedTemplate]) -> list[tuple[int, ...]]:
    """Put queries, by number, of one automaton together, in the order of their first ones."""
    by_shape: dict[object, list[int]] = {}
    for query, template in enumerate(templates):
        by_shape.setdefault(shape(template), []).append(query)
    return [tuple(queries) for queries in by_shape.values()]


def why_apart(left: GuardedTemplate, right: GuardedTemplate) -> str | None:
    """Return in what the automata of two queries differ; None where they do not."""
    if shape(left) == shape(right):
        return None
    if left.query.strategy is not right.query.strategy:
        return "their strategies differ"
    if left.query.window != right.query.window:
        return "their windows differ"
    wanted, other_wanted = (
        [(state.type, state.needs) for state in template.states] for template in (left, right)
    )
    if wanted != other_wanted:
        return "they look for different events"
    if tuple(map(_state, left.states)) != tuple(map(_state, right.states)):
        return "they compare different things with a single earlier event"
    if tuple(map(shape, left.negatives)) != tuple(map(shape, right.negatives)):
        return "they forbid different things"
    if left.conditions != right.conditions:
        return "their conditions between events differ"
    return "they differ in which events may follow which, or end a trend"
