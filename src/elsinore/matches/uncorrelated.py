"""Which Kleene variables are uncorrelated: nothing in the query reads their events' order.

See SASE++, Section 4: "events can satisfy a Kleene+ independently, which is called the uncorrelated
case".
"""

from __future__ import annotations

from collections.abc import Iterator

from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.expression import Reference, attributes
from elsinore.model.query import Query

ORDERED = set(Reference) - {Reference.PLAIN, Reference.CURRENT, Reference.ALL}
EACH = {Reference.PLAIN, Reference.CURRENT}


def uncorrelated(query: Query) -> tuple[str, ...]:
    """Return the variables of repeated single events whose order no condition and no column reads.

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
        # a later event, or any of a repeated one, is compared with the last one before it
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
    """Yield the variables of single events that are repeated, and in nothing else that is."""
    if isinstance(pattern, pt.Kleene):
        if isinstance(pattern.pattern, pt.Event) and pattern.most != 1:
            yield pattern.pattern.variable
        elif pattern.most == 1:
            yield from _repeated(pattern.pattern)
        return
    if not isinstance(pattern, pt.Negation):
        for part in pt.children(pattern):
            yield from _repeated(part)
