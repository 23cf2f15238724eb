"""The symbolic alphabet: what a transition asks of an event, and what an event can be.

A *symbol* asks for a type and for some predicates to hold. A *letter* is a class of events that no
symbol tells apart: a type, and exactly which of the predicates on that type are true. The letters
of a set of symbols are its satisfiable minterms (D'Antoni and Veanes, Minimization of Symbolic
Automata, POPL 2014).
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
        """Return whether events of a letter are what the symbol asks for."""
        return self.type == letter.type and self.predicates <= letter.true

    def is_dead(self) -> bool:
        """Return whether no event is what the symbol asks for, as with `v < 3 AND v > 5`."""
        return contradictory(self.predicates)


@dataclass(frozen=True, slots=True)
class Letter:
    """A class of events: their type and the predicates that are true, all others being not true."""

    type: str
    true: frozenset[Expression] = frozenset()


Word = tuple[Letter, ...]


def letters(symbols: Iterable[Symbol]) -> tuple[Letter, ...]:
    """Return all letters that symbols tell apart, types in order of first occurrence.

    A predicate that is unknown, as a comparison with null is, counts as not true. Raises
    QuerySemanticError where the predicates on one type make too many letters.

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
    """Return the predicates that symbols ask for, by type, in an order that is always the same."""
    by_type: dict[str, dict[Expression, None]] = {}
    for symbol in symbols:
        ordered = sorted(symbol.predicates, key=repr)
        by_type.setdefault(symbol.type, {}).update(dict.fromkeys(ordered))
    return {name: tuple(predicates) for name, predicates in by_type.items()}


class Meeting:
    """What symbols have in common, found without making all the letters there are.

    >>> from elsinore.model.expression import Attribute, Binary, Literal, Operator
    >>> low = Symbol("A", frozenset({Binary(Operator.LT, Attribute("A", "v"), Literal(3))}))
    >>> high = Symbol("A", frozenset({Binary(Operator.GT, Attribute("A", "v"), Literal(5))}))
    >>> meeting = Meeting([low, high, Symbol("B")])
    >>> meeting.symbol(low, high), meeting.symbol(low, Symbol("A")) == low
    (None, True)
    >>> meeting.letter(Symbol("A")).true, meeting.letter(low).true == low.predicates
    (frozenset(), True)
    """

    def __init__(self, symbols: Iterable[Symbol]) -> None:
        self._symbols = tuple(symbols)
        self._asked: dict[str, tuple[Expression, ...]] | None = None  # made for the first letter
        self._known: dict[tuple[Symbol, Symbol], Symbol | None] = {}

    def symbol(self, left: Symbol, right: Symbol) -> Symbol | None:
        """Return the symbol that asks for what both ask for, None where no event is both."""
        if (left, right) not in self._known:
            both = Symbol(left.type, left.predicates | right.predicates)
            meets = left.type == right.type and not both.is_dead()
            self._known[left, right] = both if meets else None
        return self._known[left, right]

    def letter(self, symbol: Symbol) -> Letter:
        """Return a letter of a symbol; of the predicates it leaves open few are true in it."""
        if self._asked is None:
            self._asked = predicates_by_type(self._symbols)
        true, false = set(symbol.predicates), set[Expression]()
        for predicate in self._asked.get(symbol.type, ()):
            if predicate not in true:
                if satisfiable(true, {*false, predicate}):
                    false.add(predicate)
                else:
                    true.add(predicate)
        return Letter(symbol.type, frozenset(true))

    def word(self, symbols: Iterable[Symbol]) -> Word:
        """Return a word of letters of one symbol after another."""
        return tuple(self.letter(symbol) for symbol in symbols)
