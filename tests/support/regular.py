"""Random patterns of three types, and their equivalent regular expressions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from elsinore.automata import Nfa, Symbol, glushkov
from elsinore.model import Disjunction, Event, Kleene, Pattern, Sequence

LETTERS = ("A", "B", "C")
REPETITIONS = ((1, None), (0, None), (0, 1), (2, 2), (2, None), (1, 3), (0, 2), (1, 1))
MOST_POSITIONS = 14


@st.composite
def patterns(draw: Any) -> Pattern:
    """Draw a pattern of events, SEQ, repetition and OR; it may match the empty sequence."""
    numbers = itertools.count()

    def grow(depth: int) -> Pattern:
        shape = draw(st.sampled_from("eesskkd" if depth else "e"))
        if shape == "e":
            return Event(draw(st.sampled_from(LETTERS)), f"x{next(numbers)}")
        if shape == "k":
            return Kleene(grow(depth - 1), *draw(st.sampled_from(REPETITIONS)))
        parts = tuple(grow(depth - 1) for _ in range(draw(st.integers(2, 3))))
        return Sequence(parts) if shape == "s" else Disjunction(parts)

    pattern = grow(3)
    assume(_is_small(pattern))
    return pattern


def _is_small(pattern: Pattern) -> bool:
    return len(glushkov(pattern, lambda event: Symbol(event.type)).events) <= MOST_POSITIONS


def automaton(pattern: Pattern) -> Nfa:
    """Return the position automaton of a pattern without predicates."""
    return glushkov(pattern, lambda event: Symbol(event.type)).nfa


def regular_expression(pattern: Pattern) -> str:
    """Return a pattern as a regular expression over its types' letters."""
    match pattern:
        case Event(name, _):
            return name
        case Sequence(parts):
            return "".join(map(regular_expression, parts))
        case Disjunction(parts):
            return f"(?:{'|'.join(map(regular_expression, parts))})"
        case Kleene(inner, least, most):
            return f"(?:{regular_expression(inner)}){{{least},{'' if most is None else most}}}"
        case _:
            raise TypeError(f"not a regular pattern: {pattern}")


def words(longest: int) -> Iterator[tuple[str, ...]]:
    """Yield all words up to a length, short ones first."""
    for length in range(longest + 1):
        yield from itertools.product(LETTERS, repeat=length)
