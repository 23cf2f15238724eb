"""Determinizing ambiguous patterns, in which a sequence of events may have two readings.

So every trend is counted once. An event is then bound to one variable of its type: an aggregate
over some of several variables is refused, because readings would disagree.
"""

from __future__ import annotations

from dataclasses import replace

from elsinore.automata import Ambiguity, Dfa, Letter, Nfa, Symbol, determinize, minimize
from elsinore.automata import Transition as Step
from elsinore.errors import QuerySemanticError
from elsinore.model import pattern as pt
from elsinore.model.expression import Expression, attributes
from elsinore.model.query import Query
from elsinore.plan.aggregates import Aggregation
from elsinore.plan.template import START, End, Move, State, Template

Variables = frozenset[str]


def unambiguous(guarded: Template) -> Template:
    """Return a guarded template of a plain pattern whose trends have one run each.

    >>> from elsinore.language import parse_workload
    >>> from elsinore.plan.assembly import guarded_template
    >>> text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A a+, A b+);"
    >>> found = unambiguous(guarded_template(parse_workload(text).queries[0]))
    >>> found.ambiguous, [state.variable for state in found.states]
    (False, ['a', 'a'])
    """
    if not guarded.ambiguous:
        return guarded
    dfa, by_type = _automaton(guarded)
    entered: dict[tuple[int, Letter], int] = {}  # a state for each class of events that enter it
    for (_, letter), target in dfa.moves.items():
        entered.setdefault((target, letter), len(entered))
    copies: dict[int, list[int]] = {0: [START]}  # of each state of the automaton
    for (state, _), place in entered.items():
        copies.setdefault(state, []).append(place)
    steps = [(source, entered[target, letter]) for (source, letter), target in dfa.moves.items()]
    return replace(
        guarded,
        states=tuple(
            State(
                type=letter.type,
                needs=letter.true,
                lacks=by_type[letter.type][0] - letter.true,
                variable=min(by_type[letter.type][1]),
            )
            for _, letter in entered
        ),
        moves=tuple(Move(place, target) for source, target in steps for place in copies[source]),
        ends=tuple(End(n) for (state, _), n in entered.items() if state in dfa.accepting),
        ambiguous=False,
    )


def _automaton(
    guarded: Template,
) -> tuple[Dfa, dict[str, tuple[frozenset[Expression], Variables]]]:
    """Return the deterministic automaton, and each type's predicates and variables."""
    symbols = [Symbol(state.type, state.needs) for state in guarded.states]
    steps = [Step(m.source + 1, symbols[m.target], m.target + 1) for m in guarded.moves]
    nfa = Nfa(len(symbols) + 1, tuple(steps), frozenset(end.source + 1 for end in guarded.ends))
    by_type: dict[str, tuple[frozenset[Expression], Variables]] = {}
    for state in guarded.states:
        needed, variables = by_type.get(state.type, (frozenset(), frozenset()))
        by_type[state.type] = needed | state.needs, variables | {state.variable}
    return minimize(determinize(nfa)), by_type


def refuse_readings(
    query: Query, fields: Aggregation, events: tuple[pt.Event, ...], witness: Ambiguity
) -> None:
    """Refuse an aggregate over some of a type's variables, on which readings disagree."""
    variables: dict[str, set[str]] = {}
    for event in pt.positive_events(query.pattern):
        variables.setdefault(event.type, set()).add(event.variable)
    types = {event.variable: event.type for event in pt.positive_events(query.pattern)}
    for entry in fields.linear + fields.extremes:
        if all(variables[types[name]] <= entry.variables for name in entry.variables):
            continue
        name = next(iter(sorted(entry.variables)))
        word = " ".join(letter.type for letter in witness.word)
        of_type, of_variables = (
            ", ".join(
                f"{letter.type} as {events[state - 1].variable}"
                for letter, state in zip(witness.word, run, strict=True)
            )
            for run in (witness.first, witness.second)
        )
        spans = [
            attribute.span
            for item in query.returns
            for attribute in attributes(item.expression)
            if attribute.variable == name
        ]
        raise QuerySemanticError(
            f"The pattern is ambiguous, so an aggregate over '{name}' alone has no one value: the "
            f"events {word} can be read as {of_type}, or as {of_variables}. Aggregate over the "
            f"type instead: {types[name]}.",
            span=next(iter(spans), None) or query.span,
            query=query.name,
        )
