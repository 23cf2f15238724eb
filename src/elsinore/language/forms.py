"""Forms of queries: queries of one form differ only in names, so one check is valid for all.

Large workloads often contain thousands of queries that differ only in the types that they name. No
rule of `model.check` depends on the spelling of a type, so queries are checked once per form, and
planned once (`elsinore.plan.paths`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple

from lark import Token

from elsinore.language.clauses import CACHED_FORMS
from elsinore.language.keywords import CLAUSES
from elsinore.language.tokens import name_of


class TextForm(NamedTuple):
    """The form of a query: `key` identifies it; `names` fill its placeholders, in order."""

    key: Hashable
    names: tuple[str, ...]


def form_of(tokens: Sequence[Token], types: tuple[str, ...]) -> TextForm:
    """Return the form of a query's tokens, in which names that occur only in PATTERN are numbered.

    `types` are the tokens' types. All other tokens are part of the form: a name that also occurs in
    another clause may be part of a column's name. The query's name is ignored.

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
    pattern_names: list[int | str] = []
    for place in open_places:
        name = str(tokens[place])
        pattern_names.append(name if name in elsewhere else number.setdefault(name, len(number)))
    return TextForm((types, other_words, tuple(pattern_names)), tuple(number))


@lru_cache(CACHED_FORMS)
def _places(types: tuple[str, ...]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the indices of names in PATTERN, of other tokens except `QUERY name`, of quotes."""
    within: list[int] = []
    outside: list[int] = []
    inside = False
    for place in range(2 if types[0] == "QUERY" else 0, len(types)):
        if types[place] in CLAUSES:
            inside = types[place] == "PATTERN"
        (within if inside and types[place] == "NAME" else outside).append(place)
    quoted = tuple(place for place in outside if types[place] == "QUOTED")
    return tuple(within), tuple(outside), quoted
