"""AND as three queries: pairs of trends follow from the trends of either pattern and of both.

`P1 AND P2` counts the unordered pairs of different trends, one of each pattern. How many there are
follows from three numbers: the trends of P1, those of P2, and those that are trends of both
(HAMLET, Section 5). Each of them is that of a template like any other query's.
"""

from __future__ import annotations

import itertools
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from elsinore.automata.nfa import closure
from elsinore.automata.positions import Ways
from elsinore.model.expression import Expression
from elsinore.model.kinds import Strategy
from elsinore.plan.determinized import unambiguous
from elsinore.plan.guarded import End, GuardedState, GuardedTemplate, Move, Start
from elsinore.plan.implied import without_implied
from elsinore.plan.template import START

Pair = tuple[int, int]
BEGIN: Pair = (START, START)
_Free = frozenset[frozenset[GuardedTemplate]]  # `Ways`, by the negatives themselves


@dataclass(frozen=True, slots=True)
class _Step:
    """What a step asks for: an event of a state, conditions between neighbours, a free way."""

    state: GuardedState
    conditions: tuple[Expression, ...]
    ways: _Free


def taken_apart(guarded: GuardedTemplate) -> tuple[GuardedTemplate, ...] | str:
    """Return templates of one side for one pattern, the other and both, or why it cannot be.

    `guarded` has two sides. Where no trend is one of both patterns, there are but two templates.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.assembly import guarded_template
    >>> def parts(text):
    ...     text = f"QUERY q RETURN COUNT(*) PATTERN {text};"
    ...     return taken_apart(guarded_template(parse_workload(text).queries[0]))
    >>> _, _, both = parts("SEQ(A, B b+) AND SEQ(A, B c) WHERE b[i].v >= b[i-1].v")
    >>> [state.variable for state in both.states]
    ['A and A', 'b and c']
    >>> len(parts("SEQ(A, B b+) AND SEQ(C, D) WHERE b[i].v >= b[i-1].v"))
    2
    """
    left, right = (
        unambiguous(part) if part.is_plain else part for part in map(without_implied, guarded.parts)
    )
    both = _both(left, right)
    if not both.states:
        return left, right
    why = "AND counts pairs of trends, and "
    if left.ambiguous or right.ambiguous:
        return f"{why}one of its patterns is ambiguous"
    if left.anchors or right.anchors:
        return f"{why}events are compared with one that need not precede them directly"
    if guarded.query.strategy is Strategy.NEXT:
        return f"{why}one of its patterns may skip events that the other may not"
    return left, right, both


def _both(left: GuardedTemplate, right: GuardedTemplate) -> GuardedTemplate:
    """Return the template of the trends of both patterns, anchors left out.

    A state is a pair of states.
    """
    ends = {
        (end.source, last.source): _both_free(_free_of(left, end.ways), _free_of(right, last.ways))
        for end, last in itertools.product(left.ends, right.ends)
    }
    pairs, steps = _product(left, right, ends.keys())
    new = {pair: place for place, pair in enumerate(pairs)}
    states = {new[target]: step.state for _, target, step in steps}
    negatives = tuple(dict.fromkeys(left.negatives + right.negatives))

    def numbered(ways: _Free) -> Ways:
        return frozenset(frozenset(map(negatives.index, way)) for way in ways)

    return replace(
        left,
        states=tuple(states[place] for place in range(len(pairs))),
        starts=tuple(
            Start(new[target], numbered(step.ways))
            for source, target, step in steps
            if source == BEGIN
        ),
        moves=tuple(
            Move(
                new[source],
                new[target],
                numbered(step.ways),
                step.conditions,
            )
            for source, target, step in steps
            if source != BEGIN
        ),
        ends=tuple(End(new[pair], numbered(ends[pair])) for pair in pairs if pair in ends),
        negatives=negatives,
    )


def _product(
    left: GuardedTemplate, right: GuardedTemplate, ends: AbstractSet[Pair]
) -> tuple[list[Pair], list[tuple[Pair, Pair, _Step]]]:
    """Return the pairs of states on the way from `BEGIN` to `ends`, and the steps between them.

    `BEGIN` is not among the pairs.
    """
    leaving = _steps(left), _steps(right)
    pairs: dict[Pair, None] = {BEGIN: None}
    pending = [BEGIN]
    steps = []
    while pending:
        pair = pending.pop()
        both = (by_source.get(state, ()) for by_source, state in zip(leaving, pair, strict=True))
        for (target, step), (beside, along) in itertools.product(*both):
            met = _met(step, along)
            if met is not None:
                steps.append((pair, (target, beside), met))
                if (target, beside) not in pairs:
                    pairs[target, beside] = None
                    pending.append((target, beside))
    useful = closure(ends & pairs.keys(), ((target, source) for source, target, _ in steps))
    kept = [step for step in steps if step[1] in useful]
    return sorted(useful - {BEGIN}), kept


def _met(step: _Step, along: _Step) -> _Step | None:
    """Return the step that is both, or None if no event may take both."""
    here, there = step.state, along.state
    ways = _both_free(step.ways, along.ways)
    needs, lacks = here.needs | there.needs, here.lacks | there.lacks
    if here.type != there.type or not ways or needs & lacks:
        return None
    variable = f"{here.variable} and {there.variable}"
    state = GuardedState(type=here.type, needs=needs, lacks=lacks, variable=variable)
    return _Step(state, tuple(dict.fromkeys(step.conditions + along.conditions)), ways)


def _steps(part: GuardedTemplate) -> dict[int, list[tuple[int, _Step]]]:
    """Return the steps from each state, and from `START`, with the states they lead to."""
    steps: dict[int, list[tuple[int, _Step]]] = {}
    for start in part.starts:
        step = _Step(part.states[start.target], (), _free_of(part, start.ways))
        steps.setdefault(START, []).append((start.target, step))
    for move in part.moves:
        step = _Step(part.states[move.target], move.conditions, _free_of(part, move.ways))
        steps.setdefault(move.source, []).append((move.target, step))
    return steps


def _free_of(part: GuardedTemplate, ways: Ways) -> _Free:
    """Return ways by the negatives themselves."""
    return frozenset(frozenset(part.negatives[n] for n in way) for way in ways)


def _both_free(ways: _Free, more_ways: _Free) -> _Free:
    """Return the ways to be free for both: one of either."""
    return frozenset(way | more for way, more in itertools.product(ways, more_ways))
