"""The symbolic alphabet: what a transition asks of an event, and what an event can be.

A *symbol* asks for a type and for some predicates to hold. A *letter* is a class of events that no
symbol tells apart: a type, and exactly which of the predicates on that type are true. The letters
of a set of symbols are its satisfiable minterms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from elsinore.automata.satisfiable import satisfiable_truths
from elsinore.model.expression import Expression


@dataclass(frozen=True, slots=True)
class Symbol:
    """An event of a type for which all of `predicates` are true.

    Predicates are over one event; they read attributes from the type's name, so that the same
    condition on two variables is one predicate.
    """

    type: str
    predicates: frozenset[Expression] = frozenset()

    def holds(self, letter: Letter) -> bool:
        """Return whether events of a letter are what the symbol asks for."""
        return self.type == letter.type and self.predicates <= letter.true


@dataclass(frozen=True, slots=True)
class Letter:
    """A class of events: their type and the predicates that are true, all others being not true."""

    type: str
    true: frozenset[Expression] = frozenset()


def letters(symbols: Iterable[Symbol]) -> tuple[Letter, ...]:
    """Return all letters that symbols tell apart, types in order of first occurrence.

    A predicate that is unknown, as a comparison with null is, counts as not true.

    >>> from elsinore.model.expression import Attribute, Binary, Literal, Operator
    >>> low = Binary(Operator.LT, Attribute("A", "v"), Literal(3))
    >>> high = Binary(Operator.GT, Attribute("A", "v"), Literal(5))
    >>> found = letters([Symbol("A", frozenset({low})), Symbol("A", frozenset({high}))])
    >>> sorted(len(letter.true) for letter in found)  # neither, low, high; never both
    [0, 1, 1]
    """
    by_type: dict[str, dict[Expression, None]] = {}
    for symbol in symbols:
        ordered = sorted(symbol.predicates, key=repr)
        by_type.setdefault(symbol.type, {}).update(dict.fromkeys(ordered))
    return tuple(
        Letter(name, true)
        for name, predicates in by_type.items()
        for true in satisfiable_truths(tuple(predicates))
    )
