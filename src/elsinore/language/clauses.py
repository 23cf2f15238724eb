"""One clause, pattern or expression: from tokens to nodes, by the grammar in grammar.lark."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lark import Token, UnexpectedToken

from elsinore.language.grammar import grammar
from elsinore.language.recipe import Recipe, recipe_of
from elsinore.language.transform import ToNodes

TO_NODES = ToNodes()
MOST_FORMS = 4096  # cached forms of clauses, each a few kB


class UnexpectedInput(Exception):  # noqa: N818 - it is data for an error, not one that users see
    """An unexpected token: `index` counts from 0, None means too few tokens."""

    def __init__(self, index: int | None, expected: frozenset[str]) -> None:
        super().__init__(index, expected)
        self.index = index
        self.expected = expected


def _expected(start: str, before: list[Token]) -> frozenset[str]:
    """Return the token types that may follow `before`.

    This uses a new parser: the one that failed has already reduced for the unexpected token, and
    returns too few.
    """
    parser = grammar().parse_interactive(None, start)
    for token in before:
        parser.feed_token(token)
    return frozenset(parser.accepts())  # type: ignore[no-untyped-call]


def parse_clause(kind: str, body: list[Token]) -> Any:
    """Return the value of a clause: the result of `ToNodes` for the tokens after its first word.

    Raises UnexpectedInput where the tokens are not in the grammar, QuerySyntaxError where what they
    say cannot be.
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


@lru_cache(MOST_FORMS)
def recipe_for(start: str, types: tuple[str, ...]) -> Recipe:
    """Return the recipe that parses tokens of these types under one of the grammar's start rules.

    Raises UnexpectedInput if the grammar does not derive them.
    """
    tokens = [Token(kind, "", start_pos=n, end_pos=n + 1) for n, kind in enumerate(types)]
    try:
        return recipe_of(grammar().parse(tokens, start), TO_NODES.rule)
    except UnexpectedToken as problem:
        index = problem.token.start_pos if problem.token.type != "$END" else None
        raise UnexpectedInput(index, _expected(start, tokens[:index])) from None
