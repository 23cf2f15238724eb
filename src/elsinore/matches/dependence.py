"""Which conditions and columns depend on the events that a match selects, and on their order.

- All matches of a row in collapsed form begin with one event. Conditions on neighbours, NOT, and
  conditions that read no earlier event but the first decide which events are on a path to a match.
  Any other condition depends on the events that a match selects. It is *postponed* (SASE++,
  Section 5.1): it has to be checked when the row is expanded into matches.
- A Kleene variable is *uncorrelated* if nothing in the query reads the order of its events (SASE++,
  Section 4: "events can satisfy a Kleene+ independently").
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from elsinore.automata.positions import FREE
from elsinore.matches.conditions import Condition
from elsinore.matches.registers import RegisterKind, slot_of
from elsinore.matches.template import START, MatchTemplate
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.expression import Reference, attributes
from elsinore.model.query import Query
from elsinore.operators.conditions.code import Moment


def needs_paths(template: MatchTemplate) -> bool:
    """Return whether the sets of a row depend on more than conditions on single events.

    A condition that is checked only where a state follows itself, as `b[i].v > b[i-1].v` in
    `SEQ(A a, B+ b, C c)`, removes no event: each event of b may be the only one. A state in which
    matches begin is an exception: all matches of a row begin with one event.
    """
    begins = [edge.target for edge in template.edges if edge.source == START]
    variables = {template.states[state].variable for state in begins}
    if template.duplicates or len(variables) < len(begins):
        return True
    ways = [edge.ways for edge in template.edges] + [end.ways for end in template.ends]
    if any(way != FREE for way in ways):
        return True
    looked_at = [known_conditions(template, state) for state in begins]
    return any(
        template.conditions[number].reads_neighbours_only or any(k[number] for k in looked_at)
        for edge in template.edges
        if edge.source != edge.target or edge.target in begins
        for number in edge.checks
    )


def postponed(template: MatchTemplate) -> frozenset[int]:
    """Return the conditions that have to be checked when a row is expanded into matches."""
    begins = [edge.target for edge in template.edges if edge.source == START]
    known = np.min([known_conditions(template, state) for state in begins], axis=0)
    return frozenset(
        number
        for number, condition in enumerate(template.conditions)
        if not (condition.reads_neighbours_only or known[number])
    )


def known_conditions(template: MatchTemplate, begin: int) -> NDArray[np.uint8]:
    """Return 1 for conditions that read no earlier event but the first one, in state `begin`.

    Conditions on neighbours alone are always checked: theirs is 0.
    """
    variable = template.states[begin].variable
    later = {template.states[e.target].variable for e in template.edges if e.source != START}
    first = set()
    for number, register in enumerate(template.registers):
        if variable in register.variables and (
            register.kind is RegisterKind.FIRST
            or (register.kind is RegisterKind.LATEST and not later.intersection(register.variables))
        ):
            first.add(number)

    def is_known(condition: Condition) -> bool:
        slots = [slot_of(leaf) for leaf in ex.attributes(condition.expression)]
        read = {*condition.bound, *condition.unbound}
        read |= {slot.register for slot in slots if slot.moment is Moment.BEFORE}
        is_late = condition.bound_finally or any(s.moment is Moment.FINAL for s in slots)
        return bool(read) and not is_late and read <= first

    return np.array([is_known(condition) for condition in template.conditions], dtype=np.uint8)


ORDERED = set(Reference) - {Reference.PLAIN, Reference.CURRENT, Reference.ALL}
EACH = {Reference.PLAIN, Reference.CURRENT}


def uncorrelated(query: Query) -> tuple[str, ...]:
    """Return the variables of repeated single events whose order nothing in a query reads.

    >>> from elsinore.language import parse_workload
    >>> text = "RETURN COUNT(b[]) PATTERN SEQ(A a, B+ b, C+ c) WHERE b.v > a.v AND c[i].v > {};"
    >>> uncorrelated(parse_workload(text.format("c[i-1].v")).queries[0])
    ('b',)
    >>> uncorrelated(parse_workload(text.format("2")).queries[0])
    ('b', 'c')
    """
    repeated = list(_repeated(query.pattern))
    order = [event.variable for event in pt.positive_events(query.pattern)]
    correlated: set[str] = set()
    for expression in query.expressions:
        read = [
            (variable, leaf.reference)
            for leaf in attributes(expression)
            for variable in variables_named(query.pattern, leaf.variable)
        ]
        correlated |= {variable for variable, reference in read if reference in ORDERED}
        each = [variable for variable, reference in read if reference in EACH]
        # later events, and those of repeated variables, are compared with the last one before them
        correlated |= {
            variable
            for variable in each
            if any(
                order.index(beside) > order.index(variable) or beside in repeated
                for beside in each
                if beside != variable
            )
        }
    return tuple(variable for variable in repeated if variable not in correlated)


def _repeated(pattern: pt.Pattern) -> Iterator[str]:
    """Yield the variables of repeated single events that are in no repeated group."""
    if isinstance(pattern, pt.Kleene):
        if isinstance(pattern.pattern, pt.Event) and pattern.most != 1:
            yield pattern.pattern.variable
        elif pattern.most == 1:
            yield from _repeated(pattern.pattern)
        return
    if not isinstance(pattern, pt.Negation):
        for part in pt.children(pattern):
            yield from _repeated(part)
