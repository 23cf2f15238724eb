"""Which queries of a text are alike: what is valid of one is valid of all of its form.

Ten thousand queries of one workload often differ in the types they name and in nothing else, and no
rule of `model.check` asks how a type is spelt. So a workload's queries are checked once per form,
and planned once (`elsinore.plan.renamed`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple

from lark import Token

from elsinore.language.clauses import MOST_FORMS
from elsinore.language.keywords import CLAUSES
from elsinore.language.tokens import name_of


class TextForm(NamedTuple):
    """The form of a query: equal keys are one form; `names` are those it leaves open, in order."""

    key: Hashable
    names: tuple[str, ...]


def form_of(tokens: Sequence[Token], types: tuple[str, ...]) -> TextForm:
    """Return the form of a query's tokens: names that stand in PATTERN alone count by their order.

    types: those of the tokens. All else counts as it is written: a name that another clause has too
    may be part of a column's name there. The query's own name does not count.

    >>> from elsinore.language.tokens import tokenize
    >>> def form(*names):
    ...     found = tokenize("QUERY {} RETURN COUNT(*) PATTERN SEQ({}, B+)".format(*names))
    ...     return form_of(found, tuple(token.type for token in found))
    >>> form("p", "A").names, form("q", "C").names
    (('A', 'B'), ('C', 'B'))
    >>> form("p", "A").key == form("q", "C").key, form("p", "A").key == form("p", "B").key
    (True, False)
    """
    open_places, other_places, quoted_places = _places(types)
    other_words = tuple([str(tokens[place]) for place in other_places])
    elsewhere = {*other_words, *(name_of(tokens[place]) for place in quoted_places)}
    number: dict[str, int] = {}
    of_places: list[int | str] = []
    for place in open_places:
        name = str(tokens[place])
        of_places.append(name if name in elsewhere else number.setdefault(name, len(number)))
    return TextForm((types, other_words, tuple(of_places)), tuple(number))


@lru_cache(MOST_FORMS)
def _places(types: tuple[str, ...]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return where names stand in PATTERN, where all else but QUERY and its name, where quotes."""
    within: list[int] = []
    outside: list[int] = []
    inside = False
    for place in range(2 if types[0] == "QUERY" else 0, len(types)):
        if types[place] in CLAUSES:
            inside = types[place] == "PATTERN"
        (within if inside and types[place] == "NAME" else outside).append(place)
    quoted = tuple(place for place in outside if types[place] == "QUOTED")
    return tuple(within), tuple(outside), quoted
