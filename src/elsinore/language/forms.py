"""Which queries of a text are alike: what is valid of one is valid of all of its form.

Ten thousand queries of one workload often differ in the types they name and in nothing else, and no
rule of `model.check` asks how a type is spelt. So a workload's queries are checked once per form.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from lark import Token

from elsinore.language.keywords import CLAUSES
from elsinore.language.tokens import name_of


def form_of(tokens: Sequence[Token]) -> Hashable:
    """Return the form of a query's tokens: names that stand in PATTERN alone count by their order.

    All else counts as it is written: a name that another clause has too may be part of a column's
    name there. The query's own name does not count.

    >>> from elsinore.language.tokens import tokenize
    >>> text = "QUERY {} RETURN COUNT(*) PATTERN SEQ({}, B+)"
    >>> form_of(tokenize(text.format("p", "A"))) == form_of(tokenize(text.format("q", "C")))
    True
    >>> form_of(tokenize(text.format("p", "A"))) == form_of(tokenize(text.format("p", "B")))
    False
    """
    body = tokens[2:] if tokens[0].type == "QUERY" else tokens
    within_pattern = _in_pattern(body)
    elsewhere = {
        name_of(token)
        for token, inside in zip(body, within_pattern, strict=True)
        if not inside or token.type == "QUOTED"
    }
    number: dict[str, int] = {}
    return tuple(
        number.setdefault(token, len(number))
        if inside and token.type == "NAME" and token not in elsewhere
        else (token.type, str(token))
        for token, inside in zip(body, within_pattern, strict=True)
    )


def _in_pattern(tokens: Sequence[Token]) -> list[bool]:
    """Return for each token whether it stands in the PATTERN clause."""
    answers, inside = [], False
    for token in tokens:
        if token.type in CLAUSES:
            inside = token.type == "PATTERN"
        answers.append(inside)
    return answers
