"""Building patterns in Python: events, combined by repetition, | and &."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.errors import QuerySemanticError, kind_of_value
from elsinore.language.terms import EventReference, Term
from elsinore.model import Attribute, Call, Conjunction, Disjunction, Event, Kleene, Pattern
from elsinore.model import Reference as At
from elsinore.model.expression import MOST_POSITIONS


@dataclass(frozen=True, slots=True)
class PatternTerm:
    """A pattern that can be repeated and combined with others.

    `|` is OR, `&` is AND; consecutive operators of one kind create one node, as in text.
    """

    node: Pattern

    def __bool__(self) -> bool:
        raise TypeError(
            "A pattern is neither true nor false. Join patterns by | and &, or put one after "
            "another with seq(A, B); el.no(A) is NOT A."
        )

    def plus(self) -> PatternTerm:
        """Repeat it once or more: `p+`."""
        return self.times(1, None)

    def star(self) -> PatternTerm:
        """Repeat it any number of times: `p*`."""
        return self.times(0, None)

    def optional(self) -> PatternTerm:
        """Make it optional: `p?`."""
        return self.times(0, 1)

    def times(self, least: int, most: int | None = -1) -> PatternTerm:
        """Repeat it exactly `least` times, or `least` to `most` times; `most` None is no limit.

        >>> from elsinore.language.builder import event
        >>> event("A").times(2).node.most, event("A").times(2, None).node.most
        (2, None)

        Raises QuerySemanticError if the pattern is a repetition itself.
        """
        if isinstance(self.node, Kleene):
            raise QuerySemanticError(
                "A repeated pattern cannot be repeated directly: all matches are returned, so "
                "there are no greedy or reluctant repetitions. Use one repetition, such as "
                "p.times(0, 2), or group it first: seq(p.plus()).optional()."
            )
        repetitions = (least,) if most in (-1, None) else (least, most)
        for count in repetitions:
            if isinstance(count, bool) or not isinstance(count, int):
                raise TypeError(
                    f"A pattern is repeated a whole number of times, not {kind_of_value(count)}."
                )
        return PatternTerm(Kleene(self.node, least, least if most == -1 else most))

    def __or__(self, other: PatternTerm | Pattern) -> PatternTerm:
        return PatternTerm(Disjunction((*_parts(self, Disjunction), as_pattern(other))))

    def __and__(self, other: PatternTerm | Pattern) -> PatternTerm:
        return PatternTerm(Conjunction((*_parts(self, Conjunction), as_pattern(other))))


class EventTerm(PatternTerm):
    """An event of a pattern, and its variable in conditions and columns.

    `T.speed` is an attribute; `T["odd name"]` also accepts other names and those of methods. For
    match queries, `b.current`, `b.previous`, `b.first`, `b.last`, `b.all` and `b.earlier` select
    events of a Kleene variable.

    >>> from elsinore.language import render
    >>> from elsinore.language.builder import event
    >>> b = event("LoadStd", "b")
    >>> render((b.current.val >= b.previous.val).node)
    'b[i].val >= b[i-1].val'
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Term:
        if name.startswith("__") or name == "node":  # copying and pickling look for such names
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Term:
        return Term(Attribute(self._variable, name))

    @property
    def _variable(self) -> str:
        node = self.node
        if not isinstance(node, Event):
            raise TypeError("an EventTerm holds an Event")
        return node.variable

    @property
    def current(self) -> EventReference:
        """The event being selected: `b[i]`."""
        return EventReference(self._variable, At.CURRENT)

    @property
    def previous(self) -> EventReference:
        """The event selected before it: `b[i-1]`."""
        return EventReference(self._variable, At.PREVIOUS)

    @property
    def first(self) -> EventReference:
        """The first event: `b[1]`."""
        return EventReference(self._variable, At.FIRST)

    @property
    def last(self) -> EventReference:
        """The last event: `b[b.LEN]`."""
        return EventReference(self._variable, At.LAST)

    def at(self, position: int) -> EventReference:
        """Return the event at a position, counted from 1: `b[2]`."""
        return _at(self._variable, At.FIRST, At.NTH, position, 1)

    def before_last(self, count: int) -> EventReference:
        """Return the event `count` events before the last one: `b[b.LEN-1]`."""
        return _at(self._variable, At.LAST, At.FROM_LAST, count, 0)

    def back(self, count: int) -> EventReference:
        """Return the event selected `count` events before the current one: `b[i-2]`."""
        return _at(self._variable, At.PREVIOUS, At.BACK, count, 1)

    @property
    def all(self) -> EventReference:
        """All events: `b[]`."""
        return EventReference(self._variable, At.ALL)

    @property
    def earlier(self) -> EventReference:
        """All events before the current one: `b[1..i-1]`."""
        return EventReference(self._variable, At.EARLIER)

    def recent(self, count: int, until: int = 1) -> EventReference:
        """Return the events from `count` to `until` events before the current one.

        `b.recent(3)` is `b[i-3..i-1]`; near the beginning of a match it has fewer events.
        """
        if not 1 <= until <= count <= MOST_POSITIONS:
            raise ValueError(
                f"recent(count, until) takes 1 <= until <= count <= {MOST_POSITIONS}, not {count} "
                f"and {until}."
            )
        return EventReference(self._variable, At.RECENT, count, until)

    def count(self) -> Term:
        """Return the number of the variable's events over all trends: `COUNT(T)`."""
        return Term(Call("COUNT", (Attribute(self._variable, None),)))


def _at(variable: str, near: At, far: At, position: int, least: int) -> EventReference:
    """Return a reference by position; the least position has a special reference."""
    if not least <= position <= MOST_POSITIONS:
        raise ValueError(f"A position is from {least} to {MOST_POSITIONS}, not {position}.")
    if position == least:
        return EventReference(variable, near)
    return EventReference(variable, far, position)


def as_pattern(item: object) -> Pattern:
    """Return the node of a pattern; raise TypeError for other objects."""
    if isinstance(item, PatternTerm):
        return item.node
    if isinstance(item, Pattern):
        return item
    example = f"event({item!r})" if isinstance(item, str) and item else 'event("A")'
    raise TypeError(
        f"A pattern is made of events, such as {example}; this is {kind_of_value(item)}."
    )


def _parts(term: PatternTerm, kind: type[Disjunction | Conjunction]) -> tuple[Pattern, ...]:
    return term.node.parts if isinstance(term.node, kind) else (term.node,)
