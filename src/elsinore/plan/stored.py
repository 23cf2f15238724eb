"""Templates for the engine that stores what events add: guarded templates without guards.

What NOT of single events forbids is a reset, as in `elsinore.plan.accumulators`; a condition
between neighbours is a range of the earlier events in the order of an attribute
(`elsinore.plan.indexed`). Under NEXT and CONTIGUOUS an event removes what it extends.
"""

from __future__ import annotations

from dataclasses import replace

from elsinore.model.kinds import Strategy
from elsinore.plan.accumulators import Kept, kept_label
from elsinore.plan.guarded import GuardedTemplate
from elsinore.plan.guards import FREE
from elsinore.plan.indexed import Indexed, indexed
from elsinore.plan.template import ALL, START, Reads, Reset, Template, Transition


def stored(guarded: GuardedTemplate) -> Template | str:
    """Return a template whose transitions say which earlier events they read, or why there is none.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.assembly import guarded_template
    >>> text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B b+) WHERE b[i].v >= b[i-1].v;"
    >>> found = stored(guarded_template(parse_workload(text).queries[0]))
    >>> [len(move.reads) for move in found.transitions]
    [0, 0, 1]
    """
    if guarded.query.strategy is not Strategy.ANY and (
        guarded.negatives or any(start.ways != FREE for start in guarded.starts)
    ):
        return f"{guarded.query.strategy.value} with NOT"
    form = indexed(replace(guarded, query=replace(guarded.query, strategy=Strategy.ANY)))
    if not isinstance(form, Indexed):
        return form
    resets = [
        frozenset(Reset(state.type, state.needs) for state in negative.states)
        for negative in guarded.negatives
    ]
    steps: list[tuple[Kept, int, Reads]] = [
        ((START, frozenset()), target, ALL) for target in sorted(form.starts)
    ]
    steps += [(form.kept[e.source], e.target, e.ranges) for e in form.extensions]
    order = list(form.kept)
    if guarded.query.strategy is Strategy.NEXT:  # what leads nowhere removes what it extends, too
        targets = sorted({extension.target for extension in form.extensions})
        order += [kept for kept in ((t, frozenset[int]()) for t in targets) if kept not in order]
    number: dict[Kept, int] = {(START, frozenset()): START}
    number |= {kept: place for place, kept in enumerate(order)}
    transitions = tuple(
        Transition(
            number[source],
            place,
            guarded.states[target].type,
            guarded.states[target].needs,
            frozenset(),
            frozenset({guarded.states[target].variable}),
            reads=reads,
        )
        for source, target, reads in steps
        for place, kept in enumerate(order)
        if kept[0] == target
    )
    labels = [kept_label(guarded, kept) for kept in order]
    resets_of = [frozenset[Reset]().union(*(resets[n] for n in way)) for _, way in order]
    accepting = set(form.ends)
    if guarded.query.strategy is not Strategy.ANY:
        transitions, accepting = _emptied(guarded, transitions, accepting, labels, resets_of)
    return Template(
        query=guarded.query,
        states=len(labels),
        labels=tuple(labels),
        transitions=transitions,
        accepting=frozenset(accepting),
        aggregation=guarded.aggregation,
        determinized=False,
        warnings=guarded.warnings,
        resets=tuple(resets_of),
        seeds=frozenset(place for place, (state, _) in enumerate(order) if state == START),
    )


def _emptied(
    guarded: GuardedTemplate,
    transitions: tuple[Transition, ...],
    accepting: set[int],
    labels: list[str],
    resets: list[frozenset[Reset]],
) -> tuple[tuple[Transition, ...], set[int]]:
    """Let states that no condition reads be emptied as a whole; trends end in copies of them.

    Under NEXT an event that extends all trends of a state empties it; under CONTIGUOUS the engine
    empties such states at every event. `labels` and `resets` get those of the copies.
    """
    onward: dict[int, list[Transition]] = {}
    for move in transitions:
        if move.source != START:
            onward.setdefault(move.source, []).append(move)
    ends: set[int] = set()
    added: list[Transition] = []
    for state in range(len(labels)):
        moves = onward.get(state, [])
        if not moves or any(move.reads != ALL for move in moves):
            ends |= {state} & accepting
            continue
        if guarded.query.strategy is Strategy.NEXT:
            resets[state] |= {Reset(move.type, move.needs) for move in moves}
        if state in accepting:
            ends.add(len(labels))
            added += [
                replace(move, target=len(labels)) for move in transitions if move.target == state
            ]
            labels.append(f"{labels[state]}, ended")
            resets.append(frozenset())
    return transitions + tuple(added), ends
