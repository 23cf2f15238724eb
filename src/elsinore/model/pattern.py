"""Patterns: the sequences of events that a query searches for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from elsinore.errors import Span


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a type, bound to a variable: `Travel T`.

    Without a variable in the text, the type's name is the variable.
    """

    type: str
    variable: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sequence:
    """`SEQ(p1, ..., pn)`: the parts one after another, with any events between them."""

    parts: tuple[Pattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Kleene:
    """A pattern repeated: `p+` (1, None), `p*` (0, None), `p?` (0, 1), `p{n,m}` (n, m)."""

    pattern: Pattern
    least: int
    most: int | None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Disjunction:
    """`p1 OR ... OR pn`: any one of the parts."""

    parts: tuple[Pattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Permutation:
    """`PERMUTE(p1, ..., pn)`: the parts one after another, in any order."""

    parts: tuple[Pattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Conjunction:
    """`p1 AND ... AND pn`: trends of each part; at the top of a query only."""

    parts: tuple[Pattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Negation:
    """`NOT p`: no match of p at this place; a member of a `SEQ` only."""

    pattern: Pattern
    span: Span | None = field(default=None, compare=False, repr=False)


Pattern = Event | Sequence | Kleene | Disjunction | Permutation | Conjunction | Negation


def children(pattern: Pattern) -> tuple[Pattern, ...]:
    """Return the parts of a pattern, in text order."""
    if isinstance(pattern, Sequence | Disjunction | Permutation | Conjunction):
        return pattern.parts
    if isinstance(pattern, Kleene | Negation):
        return (pattern.pattern,)
    return ()


def walk(pattern: Pattern) -> Iterator[Pattern]:
    """Yield a pattern and all below it, each before its parts."""
    pending = [pattern]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, Event):
            pending.extend(reversed(children(node)))


def members(sequence: Sequence) -> tuple[Pattern, ...]:
    """Return the parts of a SEQ, flattening each SEQ among them.

    >>> a, b, c = (Event(name, name.lower()) for name in "ABC")
    >>> members(Sequence((Sequence((a, b)), c))) == (a, b, c)
    True
    """
    parts: list[Pattern] = []
    for part in sequence.parts:
        parts += members(part) if isinstance(part, Sequence) else [part]
    return tuple(parts)


def events(pattern: Pattern) -> tuple[Event, ...]:
    """Return the events of a pattern in text order, including those under NOT."""
    return tuple(node for node in walk(pattern) if isinstance(node, Event))


def positive_events(pattern: Pattern) -> tuple[Event, ...]:
    """Return the events of a pattern in text order, excluding those under NOT."""
    if isinstance(pattern, Negation):
        return ()
    if isinstance(pattern, Event):
        return (pattern,)
    return tuple(event for part in children(pattern) for event in positive_events(part))


def is_single(pattern: Pattern) -> bool:
    """Return whether every match of a pattern is a single event, independent of its neighbours.

    >>> a, b = Event("A", "a"), Event("B", "b")
    >>> is_single(Disjunction((a, b))), is_single(Sequence((a, b)))
    (True, False)
    """
    return all(isinstance(node, Event | Disjunction) for node in walk(pattern))


def nullable(pattern: Pattern) -> bool:
    """Return whether a pattern can match the empty sequence.

    >>> nullable(Kleene(Event("A", "a"), 0, 1)), nullable(Event("A", "a"))
    (True, False)
    """
    match pattern:
        case Event():
            return False
        case Sequence(parts) | Permutation(parts) | Conjunction(parts):
            return all(nullable(part) for part in parts)
        case Disjunction(parts):
            return any(nullable(part) for part in parts)
        case Kleene(inner, least, most):
            return least == 0 or most == 0 or nullable(inner)
        case Negation():
            return True


def always_binds(pattern: Pattern, variables: frozenset[str]) -> bool:
    """Return whether every match of a pattern binds at least one of the variables.

    >>> a, b = Event("A", "a"), Event("B", "b")
    >>> always_binds(Sequence((a, Kleene(b, 0, 1))), frozenset("a"))
    True
    >>> always_binds(Sequence((a, Kleene(b, 0, 1))), frozenset("b"))
    False
    """
    match pattern:
        case Event(_, variable):
            return variable in variables
        case Sequence(parts) | Permutation(parts) | Conjunction(parts):
            return any(always_binds(part, variables) for part in parts)
        case Disjunction(parts):
            return all(always_binds(part, variables) for part in parts)
        case Kleene(inner, least, _):
            return least > 0 and always_binds(inner, variables)
        case Negation():
            return False


def kleene_variables(pattern: Pattern) -> frozenset[str]:
    """Return the variables that may be bound to more than one event of a match.

    >>> kleene_variables(Sequence((Event("A", "a"), Kleene(Event("B", "b"), 1, None))))
    frozenset({'b'})
    """
    variables: set[str] = set()
    for node in walk(pattern):
        if isinstance(node, Kleene) and (node.most is None or node.most > 1):
            variables.update(event.variable for event in events(node.pattern))
    return frozenset(variables)
