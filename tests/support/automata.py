"""Small patterns with predicates, the words over them, and slow decisions about them.

Everything here is written from the meaning of patterns alone: events are concrete, and no
automaton is used.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from elsinore.automata import Letter, Nfa, Positions, Symbol, Word, glushkov
from elsinore.model import Attribute, Binary, Expression, IsNull, Literal, Operator
from elsinore.model import pattern as pt
from elsinore.model.evaluate import is_true

VALUES = (None, 1, 3, 5)  # of attribute v: null, and one value of each region of the predicates
REPETITIONS = ((1, None), (0, None), (0, 1), (2, 2), (1, 3), (2, None), (0, 2), (1, 1))
MOST_WORDS = 400

often = settings(max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "60")))


def compare(type_name: str, operator: Operator, constant: Any, name: str = "v") -> Expression:
    return Binary(operator, Attribute(type_name, name), Literal(constant))


def predicates_on(type_name: str) -> tuple[frozenset[Expression], ...]:
    """Return choices of predicates on a variable: none, low, high, both, null, contradictory."""
    low, high = compare(type_name, Operator.LT, 4), compare(type_name, Operator.GT, 2)
    null = IsNull(Attribute(type_name, "v"))
    return tuple(map(frozenset, ([], [low], [high], [low, high], [null], [low, null])))


@dataclass(frozen=True)
class Case:
    """A pattern and the predicates on each of its variables."""

    pattern: pt.Pattern
    predicates: Mapping[str, frozenset[Expression]]

    def symbol(self, event: pt.Event) -> Symbol:
        return Symbol(event.type, self.predicates[event.variable])

    def positions(self) -> Positions:
        return glushkov(self.pattern, self.symbol)

    @property
    def nfa(self) -> Nfa:
        return self.positions().nfa


@st.composite
def cases(draw: Any, *, nullable: bool = True, predicates: bool = True) -> Case:
    """Draw a pattern over few types, each variable bound once."""
    by_variable: dict[str, frozenset[Expression]] = {}
    types = draw(st.sampled_from(["A", "AB", "ABC"]))

    def event() -> pt.Event:
        name = draw(st.sampled_from(types))
        variable = f"{name.lower()}{len(by_variable)}"
        choices = predicates_on(name) if predicates and name == "A" else (frozenset(),)
        by_variable[variable] = draw(st.sampled_from(choices))
        return pt.Event(name, variable)

    def pattern(depth: int) -> pt.Pattern:
        kind = draw(st.sampled_from(["event", "sequence", "or", "kleene"])) if depth else "event"
        if kind == "event":
            return event()
        if kind == "kleene":
            return pt.Kleene(pattern(depth - 1), *draw(st.sampled_from(REPETITIONS)))
        parts = tuple(pattern(depth - 1) for _ in range(draw(st.integers(1, 3))))
        if kind == "sequence" or len(parts) == 1:
            return pt.Sequence(parts)
        return pt.Disjunction(parts)

    shape = pattern(3)
    if not nullable and pt.nullable(shape):
        shape = pt.Sequence((event(), shape))
    return Case(shape, by_variable)


@dataclass(frozen=True)
class Happening:
    """One concrete event."""

    type: str
    v: int | None

    def satisfies(self, predicate: Expression) -> bool:
        return is_true(predicate, lambda _: self.v)


def happenings(*automata: Case) -> list[Happening]:
    """Return an event of each type, and of A one with each value."""
    types = {event.type for case in automata for event in pt.events(case.pattern)}
    return [Happening(t, v) for t in sorted(types) for v in (VALUES if t == "A" else (1,))]


def letter(happening: Happening, *automata: Case) -> Letter:
    """Return the letter of a concrete event: its type and the true predicates on that type."""
    predicates = frozenset(
        predicate
        for case in automata
        for event in pt.events(case.pattern)
        if event.type == happening.type
        for predicate in case.predicates[event.variable]
    )
    return Letter(happening.type, frozenset(filter(happening.satisfies, predicates)))


def alphabet(*automata: Case) -> list[Letter]:
    return list(dict.fromkeys(letter(event, *automata) for event in happenings(*automata)))


def words(letters: list[Letter], longest: int = 6) -> Iterator[Word]:
    """Yield all words, shortest first, up to a limit."""
    count = 0
    for length in range(longest + 1):
        count += len(letters) ** length
        if count > MOST_WORDS and length > 2:
            return
        yield from itertools.product(letters, repeat=length)


def longest_of(letters: list[Letter]) -> int:
    """Return the greatest length of which `words` yields all words."""
    return max(len(word) for word in words(letters))


def ends(case: Case, node: pt.Pattern, word: Word, starts: frozenset[int]) -> frozenset[int]:
    """Return the positions where a part of the pattern may end, given those where it may begin."""
    match node:
        case pt.Event(name, variable):
            return frozenset(
                i + 1
                for i in starts
                if i < len(word)
                and word[i].type == name
                and case.predicates[variable] <= word[i].true
            )
        case pt.Sequence(parts):
            for part in parts:
                starts = ends(case, part, word, starts)
            return starts
        case pt.Disjunction(parts):
            return frozenset().union(*(ends(case, part, word, starts) for part in parts))
        case pt.Kleene(inner, least, most):
            for _ in range(least):
                starts = ends(case, inner, word, starts)
            positions_after = starts
            for _ in range(len(word) if most is None else most - least):
                starts = ends(case, inner, word, starts)
                positions_after |= starts
            return positions_after
    raise AssertionError(node)


def matches(case: Case, word: Word) -> bool:
    return len(word) in ends(case, case.pattern, word, frozenset({0}))


def runs(nfa: Nfa, word: Word) -> list[tuple[int, ...]]:
    """Return all accepted runs over a word: the states after each letter."""
    partial_runs: list[tuple[int, ...]] = [()]
    for symbol in word:
        partial_runs = [
            (*run, target)
            for run in partial_runs
            for target in nfa.successors(run[-1] if run else 0, symbol)
        ]
    return [run for run in partial_runs if (run[-1] if run else 0) in nfa.accepting]
