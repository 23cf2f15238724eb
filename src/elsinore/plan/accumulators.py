"""Accumulators: what NOT forbids empties sums, so that no event is looked at again.

A trend may go on over a NOT as long as no event that it forbids has come since. So what ends in the
state before the NOT is added up a second time, in a state of its own, the *accumulator* of that
state and NOT, which such an event empties; whatever comes after the NOT goes on from there, and a
trend that ends under the NOT ends there. Before a pattern's first event the accumulator holds one
empty trend from the start of the window (HAMLET, Section 5; GRETA's negative sub-patterns).
"""

from __future__ import annotations

from elsinore.plan.guarded import GuardedTemplate
from elsinore.plan.template import START, Reset, Template, Transition, label

# A state, or START, and the negatives of which no match has ended since: an accumulator where there
# are any, else the state itself.
Kept = tuple[int, frozenset[int]]


def accumulated(guarded: GuardedTemplate) -> Template | str:
    """Return a template with accumulators in place of guards, or why there is none.

    `guarded` has no predicates between events, one side and the strategy ANY.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.assembly import guarded_template
    >>> text = "QUERY q RETURN COUNT(*) PATTERN SEQ(Request, Travel+, NOT Pickup);"
    >>> found = accumulated(guarded_template(parse_workload(text).queries[0]))
    >>> found.labels
    ('Request', 'Travel', 'Travel, no Pickup since')
    """
    if guarded.ambiguous:
        return "the pattern is ambiguous and has NOT"
    steps = [((START, way), edge.target) for edge in guarded.starts for way in edge.ways]
    steps += [((edge.source, way), edge.target) for edge in guarded.moves for way in edge.ways]
    ends = [(edge.source, way) for edge in guarded.ends for way in edge.ways]
    if len(steps) + len(ends) > len(guarded.starts) + len(guarded.moves) + len(guarded.ends):
        return "events may be neighbours in several ways, each with a NOT of its own"
    resets = []
    for negative in guarded.negatives:
        if negative.moves or negative.negatives:
            return "NOT forbids more than single events"
        resets.append([Reset(state.type, state.needs) for state in negative.states])
    begin: Kept = (START, frozenset())
    needed = set(ends)
    pending = list(ends)
    while pending:
        state, _ = pending.pop()
        before = {source for source, target in steps if target == state} - needed - {begin}
        needed |= before
        pending += before
    order = sorted(needed, key=lambda kept: (kept[0], sorted(kept[1])))
    number: dict[Kept, int] = {begin: START} | {kept: place for place, kept in enumerate(order)}
    transitions = tuple(
        Transition(
            number[source],
            number[kept],
            guarded.states[target].type,
            guarded.states[target].needs,
            frozenset(),
            frozenset({guarded.states[target].variable}),
        )
        for source, target in steps
        for kept in order
        if kept[0] == target
    )
    return Template(
        query=guarded.query,
        states=len(order),
        labels=tuple(kept_label(guarded, kept) for kept in order),
        transitions=transitions,
        accepting=frozenset(number[end] for end in ends),
        aggregation=guarded.aggregation,
        determinized=False,
        warnings=guarded.warnings,
        resets=tuple(frozenset(reset for n in way for reset in resets[n]) for _, way in order),
        seeds=frozenset(place for place, (state, _) in enumerate(order) if state == START),
    )


def kept_label(guarded: GuardedTemplate, kept: Kept) -> str:
    """Return what ends in a state, and what has not come since."""
    number, way = kept
    text = "start"
    if number != START:
        state = guarded.states[number]
        text = label(state.type, state.variable)
    names = sorted({state.type for n in way for state in guarded.negatives[n].states})
    return f"{text}, no {' or '.join(names)} since" if names else text
