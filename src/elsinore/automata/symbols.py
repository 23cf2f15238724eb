"""The symbolic alphabet: symbols on transitions, and letters, which are classes of events.

A *symbol* requires an event type and some predicates to be true. A *letter* is a class of events
that no symbol distinguishes: a type, and exactly the predicates on that type that are true. The
letters of a set of symbols are its satisfiable minterms (D'Antoni and Veanes, Minimization of
Symbolic Automata, POPL 2014).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from elsinore.automata.satisfiable import contradictory, satisfiable, satisfiable_truths
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
        """Return whether events of a letter satisfy the symbol."""
        return self.type == letter.type and self.predicates <= letter.true

    def is_unsatisfiable(self) -> bool:
        """Return whether no event can satisfy the symbol, as with `v < 3 AND v > 5`."""
        return contradictory(self.predicates)


@dataclass(frozen=True, slots=True)
class Letter:
    """A class of events: their type and all predicates on it that are true (a minterm)."""

    type: str
    true: frozenset[Expression] = frozenset()


Word = tuple[Letter, ...]


def letters(symbols: Iterable[Symbol]) -> tuple[Letter, ...]:
    """Return all letters that symbols distinguish, types in order of first occurrence.

    An unknown predicate, such as a comparison with null, counts as not true. Raises
    QuerySemanticError if the predicates on one type make too many letters.

    >>> from elsinore.model.expression import Attribute, Binary, Literal, Operator
    >>> low = Binary(Operator.LT, Attribute("A", "v"), Literal(3))
    >>> high = Binary(Operator.GT, Attribute("A", "v"), Literal(5))
    >>> found = letters([Symbol("A", frozenset({low})), Symbol("A", frozenset({high}))])
    >>> sorted(len(letter.true) for letter in found)  # neither, low, high; never both
    [0, 1, 1]
    """
    return tuple(
        Letter(name, true)
        for name, predicates in predicates_by_type(symbols).items()
        for true in satisfiable_truths(predicates)
    )


def predicates_by_type(symbols: Iterable[Symbol]) -> dict[str, tuple[Expression, ...]]:
    """Return the predicates of symbols by type, in a deterministic order."""
    by_type: dict[str, dict[Expression, None]] = {}
    for symbol in symbols:
        ordered = sorted(symbol.predicates, key=repr)
        by_type.setdefault(symbol.type, {}).update(dict.fromkeys(ordered))
    return {name: tuple(predicates) for name, predicates in by_type.items()}


class Intersections:
    """Intersections and example letters of symbols, computed without enumerating all letters.

    >>> from elsinore.model.expression import Attribute, Binary, Literal, Operator
    >>> low = Symbol("A", frozenset({Binary(Operator.LT, Attribute("A", "v"), Literal(3))}))
    >>> high = Symbol("A", frozenset({Binary(Operator.GT, Attribute("A", "v"), Literal(5))}))
    >>> intersections = Intersections([low, high, Symbol("B")])
    >>> intersections.intersect(low, high), intersections.intersect(low, Symbol("A")) == low
    (None, True)
    >>> intersections.letter(Symbol("A")).true, intersections.letter(low).true == low.predicates
    (frozenset(), True)
    """

    def __init__(self, symbols: Iterable[Symbol]) -> None:
        self._symbols = tuple(symbols)
        self._predicates: dict[str, tuple[Expression, ...]] | None = (
            None  # filled when first needed
        )
        self._cache: dict[tuple[Symbol, Symbol], Symbol | None] = {}

    def intersect(self, left: Symbol, right: Symbol) -> Symbol | None:
        """Return the conjunction of two symbols; None if no event can satisfy both."""
        if (left, right) not in self._cache:
            conjunction = Symbol(left.type, left.predicates | right.predicates)
            overlap = left.type == right.type and not conjunction.is_unsatisfiable()
            self._cache[left, right] = conjunction if overlap else None
        return self._cache[left, right]

    def letter(self, symbol: Symbol) -> Letter:
        """Return a letter that satisfies a symbol, with few other predicates true."""
        if self._predicates is None:
            self._predicates = predicates_by_type(self._symbols)
        true, false = set(symbol.predicates), set[Expression]()
        for predicate in self._predicates.get(symbol.type, ()):
            if predicate not in true:
                if satisfiable(true, {*false, predicate}):
                    false.add(predicate)
                else:
                    true.add(predicate)
        return Letter(symbol.type, frozenset(true))

    def word(self, symbols: Iterable[Symbol]) -> Word:
        """Return a word with one letter per symbol."""
        return tuple(self.letter(symbol) for symbol in symbols)
