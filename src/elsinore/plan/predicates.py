"""Sorting a trend query's predicates: local to one event, or between events (SEMANTICS 3).

Local predicates are rewritten so that they read the *type* instead of the variable: the same
condition on two variables of a type, or in two queries, is then one predicate and looked at once.
"""

from __future__ import annotations

from dataclasses import replace

from elsinore.errors import Span, UnsupportedError
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.model.check import variables_named
from elsinore.model.expression import Attribute, Expression, Reference
from elsinore.model.query import Query


def local_predicates(query: Query) -> dict[str, frozenset[Expression]]:
    """Return for each variable the local predicates its events must satisfy, over the type.

    Predicates without any attribute (constants) bind every variable. Raises UnsupportedError
    for a predicate between two events.

    >>> from elsinore.model import *
    >>> slow = Binary(Operator.LT, Attribute("T", "speed"), Literal(10))
    >>> pattern, count = Kleene(Event("Travel", "T"), 1, None), ReturnItem(Call("COUNT", ()))
    >>> query = Query(name="q", returns=(count,), pattern=pattern, where=(slow,))
    >>> [attribute.variable for p in local_predicates(query)["T"] for attribute in ex.attributes(p)]
    ['Travel']
    """
    types = {event.variable: event.type for event in pt.events(query.pattern)}
    found: dict[str, set[Expression]] = {variable: set() for variable in types}
    for predicate in query.where:
        read = ex.attributes(predicate)
        names = {attribute.variable for attribute in read}
        own = all(attribute.reference in {Reference.PLAIN, Reference.CURRENT} for attribute in read)
        if len(names) > 1 or not own:
            raise UnsupportedError(
                "WHERE: predicates between two events of a trend are not supported yet; local "
                "predicates, such as T.speed < 10, and [attribute] are.",
                span=_span(predicate),
                query=query.name,
            )
        bound = variables_named(query.pattern, names.pop()) if names else tuple(types)
        for variable in bound:
            found[variable].add(over_type(predicate, types[variable]))
    return {variable: frozenset(predicates) for variable, predicates in found.items()}


def over_type(predicate: Expression, type_name: str) -> Expression:
    """Return a local predicate that reads its attributes from `type_name`, spans left out."""
    match predicate:
        case Attribute():
            return Attribute(type_name, predicate.name)
        case ex.Not(operand) | ex.Negative(operand) | ex.IsNull(operand):
            return replace(predicate, operand=over_type(operand, type_name), span=None)
        case ex.InList(operand, choices):
            return ex.InList(over_type(operand, type_name), choices)
        case ex.Binary(operator, left, right):
            return ex.Binary(operator, over_type(left, type_name), over_type(right, type_name))
        case ex.Call(name, arguments):
            return ex.Call(name, tuple(over_type(argument, type_name) for argument in arguments))
        case _:
            return predicate


def _span(expression: Expression) -> Span | None:
    spans = [node.span for node in ex.walk(expression) if node.span is not None]
    if not spans:
        return None
    return Span(min(span.start for span in spans), max(span.stop for span in spans))
