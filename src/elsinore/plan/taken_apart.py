"""AND as three templates: of one pattern, of the other, and of the trends of both.

`P1 AND P2` counts the unordered pairs of different trends, one of each pattern. Their number
follows from the numbers of trends of P1, of P2, and of both (HAMLET, Section 5).
"""

from __future__ import annotations

import itertools
from collections.abc import Set as AbstractSet
from dataclasses import replace

from elsinore.automata.nfa import closure
from elsinore.automata.positions import Ways
from elsinore.model.kinds import Strategy
from elsinore.plan.determinized import unambiguous
from elsinore.plan.implied import without_implied
from elsinore.plan.template import START, End, Move, Reads, State, Template, with_negatives

Pair = tuple[int, int]
BEGIN: Pair = (START, START)


def taken_apart(guarded: Template) -> tuple[Template, ...] | str:
    """Return the templates of one pattern, of the other and of both, or why there are none.

    `guarded` has two sides. If no trend can be of both patterns, there are only two templates.

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


def _both(left: Template, right: Template) -> Template:
    """Return the template of the trends of both patterns, without anchors.

    A state is a pair of states.
    """
    negatives = tuple(dict.fromkeys(left.negatives + right.negatives))
    left, right = with_negatives(left, negatives), with_negatives(right, negatives)
    ends = {
        (end.source, other.source): _both_free(end.ways, other.ways)
        for end, other in itertools.product(left.ends, right.ends)
    }
    pairs, steps = _product(left, right, ends.keys())
    number = {pair: place for place, pair in enumerate(pairs)} | {BEGIN: START}
    states = {number[target]: state for _, target, state, _ in steps}
    return replace(
        left,
        states=tuple(states[place] for place in range(len(pairs))),
        moves=tuple(
            Move(number[source], number[target], reads) for source, target, _, reads in steps
        ),
        ends=tuple(End(number[pair], ends[pair]) for pair in pairs if pair in ends),
    )


def _product(
    left: Template, right: Template, ends: AbstractSet[Pair]
) -> tuple[list[Pair], list[tuple[Pair, Pair, State, Reads]]]:
    """Return the pairs of states on the way from `BEGIN` to `ends`, and the moves between them.

    `BEGIN` is not among the pairs. Moves have their source, target, target's state, and guards.
    """
    leaving: list[dict[int, list[Move]]] = [{}, {}]
    for by_source, part in zip(leaving, (left, right), strict=True):
        for move in part.moves:
            by_source.setdefault(move.source, []).append(move)
    pairs: dict[Pair, None] = {BEGIN: None}
    pending = [BEGIN]
    steps = []
    while pending:
        pair = pending.pop()
        moves = (by_source.get(state, ()) for by_source, state in zip(leaving, pair, strict=True))
        for one, other in itertools.product(*moves):
            state = _common_state(left.states[one.target], right.states[other.target])
            conditions = tuple(dict.fromkeys(one.reads.conditions + other.reads.conditions))
            reads = Reads((), conditions, _both_free(one.reads.free, other.reads.free))
            if state is not None and reads.free:
                target = one.target, other.target
                steps.append((pair, target, state, reads))
                if target not in pairs:
                    pairs[target] = None
                    pending.append(target)
    useful = closure(ends & pairs.keys(), ((target, source) for source, target, *_ in steps))
    return sorted(useful - {BEGIN}), [step for step in steps if step[1] in useful]


def _common_state(left: State, right: State) -> State | None:
    """Return the state of the events that fit both states, or None if no event can."""
    needs, lacks = left.needs | right.needs, left.lacks | right.lacks
    if left.type != right.type or needs & lacks:
        return None
    variable = f"{left.variable} and {right.variable}"
    return State(type=left.type, needs=needs, lacks=lacks, variable=variable)


def _both_free(ways: Ways, more_ways: Ways) -> Ways:
    """Return the ways in which a way of either has no negative matches."""
    return frozenset(way | more for way, more in itertools.product(ways, more_ways))
