"""Parsing one clause, pattern or expression from tokens, by the grammar in grammar.lark."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lark import Token, UnexpectedToken

from elsinore.language.grammar import grammar
from elsinore.language.recipe import Recipe, recipe_of
from elsinore.language.transform import ToNodes

TO_NODES = ToNodes()
CACHED_FORMS = 4096  # cached forms of clauses, each a few kB


class UnexpectedInput(Exception):  # noqa: N818 - it is data for an error, not one that users see
    """An unexpected token, by its index from 0; None means that tokens are missing at the end."""

    def __init__(self, index: int | None, expected: frozenset[str]) -> None:
        super().__init__(index, expected)
        self.index = index
        self.expected = expected


def _expected_types(start: str, before: list[Token]) -> frozenset[str]:
    """Return the token types that may follow `before`.

    It uses a new parser: the failed one has already reduced for the unexpected token, and returns
    too few types.
    """
    parser = grammar().parse_interactive(None, start)
    for token in before:
        parser.feed_token(token)
    return frozenset(parser.accepts())  # type: ignore[no-untyped-call]


def parse_clause(kind: str, body: list[Token]) -> Any:
    """Parse a clause from the tokens after its keyword; return the value of `ToNodes`.

    Raises UnexpectedInput for tokens that the grammar rejects, QuerySyntaxError for other errors.
    """
    return parse_tokens(start_of(kind), body)


def start_of(kind: str) -> str:
    """Return the start rule of a clause.

    >>> start_of("GROUP_BY")
    'group_by_clause'
    """
    return f"{kind.lower()}_clause"


def parse_tokens(start: str, tokens: list[Token]) -> Any:
    """Return the result of `ToNodes` for tokens under one of the grammar's start rules."""
    return recipe_for(start, tuple([token.type for token in tokens])).follow(tokens)


@lru_cache(CACHED_FORMS)
def recipe_for(start: str, types: tuple[str, ...]) -> Recipe:
    """Return the recipe for tokens of these types under one of the grammar's start rules.

    Raises UnexpectedInput if the grammar does not derive them.
    """
    tokens = [Token(kind, "", start_pos=n, end_pos=n + 1) for n, kind in enumerate(types)]
    try:
        return recipe_of(grammar().parse(tokens, start), TO_NODES.rule)
    except UnexpectedToken as problem:
        index = problem.token.start_pos if problem.token.type != "$END" else None
        raise UnexpectedInput(index, _expected_types(start, tokens[:index])) from None
