"""Automata of rates, on which the type rules of queries are decided."""

from __future__ import annotations

import functools

from elsinore.automata import Nfa, glushkov
from elsinore.automata.bisimilar import merge_bisimilar
from elsinore.model import pattern as pt
from elsinore.quantitative.regex import (
    Concatenation,
    Plus,
    Predicate,
    Regex,
    Star,
    Times,
    Union,
    predicates,
)

CACHED = 1024  # automata: the type rules of a query need those of its parts


@functools.lru_cache(maxsize=CACHED)
def automaton(regex: Regex) -> Nfa:
    """Return a small automaton of the language, unambiguous if the expression is."""
    leaves = predicates(regex)
    number = {leaf: str(place) for place, leaf in enumerate(leaves)}
    symbols = [leaf.symbol for leaf in leaves]
    built = glushkov(_pattern(regex, number), lambda leaf: symbols[int(leaf.type)])
    return merge_bisimilar(built.nfa)


def _pattern(regex: Regex, number: dict[Predicate, str]) -> pt.Pattern:
    """Return the expression as a pattern, with the number of a predicate as event type."""
    match regex:
        case Predicate():
            return pt.Event(number[regex], number[regex])
        case Concatenation(parts):
            return pt.Sequence(tuple(_pattern(part, number) for part in parts))
        case Union(parts):
            return pt.Disjunction(tuple(_pattern(part, number) for part in parts))
        case Star(inner):
            return pt.Kleene(_pattern(inner, number), 0, None)
        case Plus(inner):
            return pt.Kleene(_pattern(inner, number), 1, None)
        case Times(inner, count):
            return pt.Sequence((_pattern(inner, number),) * count)
        case _:
            return pt.Sequence(())
