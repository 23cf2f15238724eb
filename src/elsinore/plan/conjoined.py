"""AND as sums per state: pairs of trends are counted from the trends of either pattern and of both.

`P1 AND P2` counts the unordered pairs of different trends, one of each pattern. How many there are
is told by three numbers: the trends of P1, those of P2, and those that are trends of both (HAMLET,
Section 5). So its template has the states of P1, those of P2, and pairs of them: a trend of both
goes through the two automata side by side. Each of these states is merged with its equals, of the
same query or of others (`elsinore.plan.merged`).
"""

from __future__ import annotations

import itertools
from dataclasses import replace

from elsinore.plan.accumulators import accumulated
from elsinore.plan.guarded import GuardedTemplate
from elsinore.plan.predicates import joined_parts
from elsinore.plan.side_by_side import BEGIN, product_of
from elsinore.plan.template import START, Reset, Template, Transition, template

MOST_STATES = 400  # of a template, as many as places in a pattern


def conjoined(guarded: GuardedTemplate) -> Template | str:
    """Return a template that counts the trends of both sides of AND, or why there is none.

    `guarded` has no predicates between events and the strategy ANY.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.assembly import guarded_template
    >>> text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A a, B b+) AND SEQ(A c, B d);"
    >>> found = conjoined(guarded_template(parse_workload(text).queries[0]))
    >>> found.labels
    ('A a', 'B b', 'A c', 'B d', 'A a and A c', 'B b and B d')
    >>> [sorted(states) for states in found.sides]
    [[1], [3], [5]]
    """
    query = guarded.query
    parts: list[Template] = []
    for whole, side in zip(joined_parts(query.pattern), guarded.parts, strict=True):
        is_plain = side.ambiguous and not side.negatives
        side_template = template(query, whole) if is_plain else accumulated(side)
        if isinstance(side_template, str):
            return side_template
        parts.append(side_template)
    left, right = parts
    both = _both(left, right)
    if left.states + right.states + both.states > MOST_STATES:
        return f"AND counts pairs of trends, of more than {MOST_STATES} states here"
    together = [left, right, both]
    if not (left.accepting and right.accepting):  # there are no pairs, and nothing ends
        together = [replace(part, accepting=frozenset()) for part in together]
    shifted = list(zip(together, (0, left.states, left.states + right.states), strict=True))
    sides = tuple(frozenset(s + shift for s in part.accepting) for part, shift in shifted)
    return Template(
        query=query,
        states=sum(part.states for part in together),
        labels=left.labels + right.labels + both.labels,
        transitions=tuple(
            _moved(move, shift) for part, shift in shifted for move in part.transitions
        ),
        accepting=frozenset[int]().union(*sides),
        aggregation=guarded.aggregation,
        determinized=False,
        warnings=guarded.warnings,
        resets=tuple(part.reset_by(s) for part in together for s in range(part.states)),
        seeds=frozenset(s + shift for part, shift in shifted for s in part.seeds),
        sides=sides,
    )


def _moved(move: Transition, shift: int) -> Transition:
    source = START if move.source == START else move.source + shift
    return replace(move, source=source, target=move.target + shift)


def _both(left: Template, right: Template) -> Template:
    """Return the template of the trends of both; a state is a pair of states.

    A sequence of events has one run in either template at most, and so one in this.
    """

    def met(move: Transition, along: Transition) -> Transition | None:
        needs, lacks = move.needs | along.needs, move.lacks | along.lacks
        if move.type != along.type or needs & lacks:
            return None
        return Transition(START, START, move.type, needs, lacks, move.variables | along.variables)

    pairs, steps = product_of(
        [(move.source, move.target, move) for move in left.transitions],
        [(move.source, move.target, move) for move in right.transitions],
        met,
        set(itertools.product((START, *left.seeds), (START, *right.seeds))),
        set(itertools.product(left.accepting, right.accepting)),
    )
    new = {pair: place for place, pair in enumerate(pairs)} | {BEGIN: START}
    return Template(
        query=left.query,
        states=len(pairs),
        labels=tuple(_label(left, right, *pair) for pair in pairs),
        transitions=tuple(
            replace(move, source=new[source], target=new[target]) for source, target, move in steps
        ),
        accepting=frozenset(
            place
            for place, (a, b) in enumerate(pairs)
            if a in left.accepting and b in right.accepting
        ),
        aggregation=left.aggregation,
        determinized=False,
        resets=tuple(_resets(left, a) | _resets(right, b) for a, b in pairs),
        seeds=frozenset(
            place
            for place, (a, b) in enumerate(pairs)
            if a in (START, *left.seeds) and b in (START, *right.seeds)
        ),
    )


def _resets(part: Template, state: int) -> frozenset[Reset]:
    return frozenset() if state == START else part.reset_by(state)


def _label(left: Template, right: Template, *pair: int) -> str:
    labels = [
        "start" if state == START else part.labels[state]
        for part, state in zip((left, right), pair, strict=True)
    ]
    return " and ".join(labels)
