"""From tokens to statements, and from a statement to its clauses.

A text is cut at every `;` and before every QUERY, a statement before every clause's first word.
Each clause is parsed alone: clauses stand in any order, and one with an error hides no error of
another. A misspelt clause word is reported, and the clause is read as if it were spelt well.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lark import Token

from elsinore.errors import QuerySyntaxError, Span
from elsinore.language.clauses import (
    MOST_FORMS,
    UnexpectedInput,
    parse_clause,
    recipe_for,
    start_of,
)
from elsinore.language.expected import (
    FOREIGN,
    keyword_hint,
    listed,
    strategy_in_a_condition,
    unexpected,
)
from elsinore.language.keywords import CLAUSES, nearest, nearest_clause
from elsinore.language.parts import span_of
from elsinore.language.recipe import Recipe
from elsinore.language.tokens import renamed

ONLY_WITHIN = ("SLIDE", "ORIGIN")


@dataclass(slots=True)
class Statement:
    """The tokens of a query, and the token that ends it: a `;`, a QUERY or the text's end."""

    tokens: list[Token]
    end: Token

    @property
    def types(self) -> tuple[str, ...]:
        """The types of its tokens."""
        return tuple([token.type for token in self.tokens])


@dataclass(slots=True)
class Clauses:
    """What was read of a statement: each clause's value, first word and text; what is wrong."""

    values: dict[str, Any] = field(default_factory=dict)
    words: dict[str, Token] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)
    errors: list[QuerySyntaxError] = field(default_factory=list)


def split_statements(tokens: list[Token], end: Token) -> Iterator[Statement]:
    """Cut tokens at every `;` and before every QUERY; empty statements are left out.

    A QUERY amid a statement counts when a clause follows its name: `SEQ(Query q, Click c)` is no
    new query.
    """
    first = 0
    types = [token.type for token in tokens]
    for at, kind in enumerate(types):
        if kind == "_SEMICOLON" or (kind == "QUERY" and _begins(tokens[at + 2 : at + 3])):
            if first < at:
                yield Statement(tokens[first:at], tokens[at])
            first = at + 1 if kind == "_SEMICOLON" else at
    if first < len(tokens):
        yield Statement(tokens[first:], end)


def _begins(after_name: list[Token]) -> bool:
    """Return whether what follows `QUERY name` may be a clause."""
    if not after_name:
        return True
    first = after_name[0]
    return first.type in CLAUSES or (first.type == "NAME" and nearest_clause(first) is not None)


def read_clauses(statement: Statement) -> Clauses:
    """Read the clauses of a statement, as many as can be read.

    Every error but those of a query's meaning is found here: text that is in no clause, a clause
    that cannot be read, one that is given twice, SLIDE or ORIGIN without WITHIN.
    """
    return _read_well_formed(statement) or _read_all(statement)


def _read_well_formed(statement: Statement) -> Clauses | None:
    """Read the clauses of a statement that has no error; None where there is one."""
    tokens, clauses = statement.tokens, Clauses()
    for start, stop, recipe in _cuts(statement.types):
        word = tokens[start]
        kind = word.type
        try:
            clauses.values[kind] = recipe.follow(tokens[start + 1 : stop])
        except QuerySyntaxError:
            return None
        clauses.words[kind] = word
        clauses.spans[kind] = Span(word.start_pos or 0, tokens[stop - 1].end_pos or 0)
    return clauses if clauses.words else None


@lru_cache(MOST_FORMS)
def _cuts(types: tuple[str, ...]) -> tuple[tuple[int, int, Recipe], ...]:
    """Return where the clauses of a statement begin and end, and how each is read.

    There is nothing where there is an error.
    """
    starts = [at for at, kind in enumerate(types) if kind in CLAUSES]
    kinds = [types[at] for at in starts]
    window_is_whole = "WITHIN" in kinds or not any(kind in kinds for kind in ONLY_WITHIN)
    if starts[:1] != [0] or len(set(kinds)) < len(kinds) or not window_is_whole:
        return ()
    cuts = []
    for start, stop in zip(starts, [*starts[1:], len(types)], strict=True):
        try:
            recipe = recipe_for(start_of(types[start]), types[start + 1 : stop])
        except UnexpectedInput:
            return ()
        cuts.append((start, stop, recipe))
    return tuple(cuts)


def _read_all(statement: Statement) -> Clauses:
    """Read what can be read of a statement, and tell all that cannot."""
    clauses = Clauses()
    tokens = _with_first_word(statement, clauses.errors)
    position = 0
    while position < len(tokens):
        word = tokens[position]
        stop = next(
            (at for at in range(position + 1, len(tokens)) if tokens[at].type in CLAUSES),
            len(tokens),
        )
        end = tokens[stop] if stop < len(tokens) else statement.end
        body = tokens[position + 1 : stop]
        later = {token.type for token in tokens[stop:]}
        may_follow = _may_follow(clauses.words.keys() | {word.type} | later)
        value = None
        try:
            value = parse_clause(word.type, body)
        except QuerySyntaxError as error:
            clauses.errors.append(error)
        except UnexpectedInput as problem:
            at = len(body) if problem.index is None else problem.index
            if at == len(body) and _meant_as_name(tokens, stop, problem.expected):
                message = f"Expected a name.{keyword_hint(end)}"
                clauses.errors.append(QuerySyntaxError(message, span=span_of(end)))
                tokens[stop] = renamed(end, "NAME")
                continue
            misspelt = _misspelt_clause(body, at, may_follow)
            if misspelt is None:
                clauses.errors.append(
                    _strategy_called(body[:at])
                    or unexpected(
                        [*body, end][at],
                        problem.expected,
                        clauses=may_follow,
                        follows="the end of the text" if end.type == "END" else "';'",
                        within=word.type,
                        before=body[at - 1] if at else None,
                        after=body[at + 1] if at + 1 < len(body) else None,
                    )
                )
            else:
                at, kind = misspelt
                clauses.errors.append(_misspelt_error(body[at], kind))
                stop = position + 1 + at
                tokens[stop] = renamed(body[at], kind)
                if kind == "GROUP_BY" and stop + 1 < len(tokens) and tokens[stop + 1].type == "BY":
                    del tokens[stop + 1]
                value = _value_or_none(word.type, body[:at])
        if word.type in clauses.words:
            first = CLAUSES[word.type]
            clauses.errors.append(
                QuerySyntaxError(f"{first} is given twice. Leave one out.", span=span_of(word))
            )
        else:
            clauses.words[word.type], clauses.values[word.type] = word, value
            clauses.spans[word.type] = span_of(word).until(span_of(tokens[stop - 1]))
        position = stop
    _check_window(clauses)
    return clauses


def _with_first_word(statement: Statement, errors: list[QuerySyntaxError]) -> list[Token]:
    """Return the tokens from the first clause on; what stands before it is an error."""
    tokens = list(statement.tokens)
    first = tokens[0]
    if first.type in CLAUSES:
        return tokens
    may_start = [CLAUSES["QUERY"], CLAUSES["RETURN"], CLAUSES["PATTERN"], "EXACT"]
    if first.type == "NAME" and (kind := nearest_clause(first)):
        errors.append(_misspelt_error(first, kind))
        return [renamed(first, kind), *tokens[1:]]
    near = "RETURN" if first.upper() == "SELECT" else nearest(first, ["EXACT"])
    hint = f" Did you mean '{near}'?" if near else ""
    if any(token.upper() == "MATCH_RECOGNIZE" for token in tokens):
        hint = f" {FOREIGN['MATCH_RECOGNIZE']}"
    elif tokens[-1].upper() == "CEP":
        hint = " Here the queries themselves are asked for, not the name of a file with them."
    errors.append(
        QuerySyntaxError(
            f"A query begins with {listed(may_start)}; found '{first}'.{hint}",
            span=span_of(first),
            choices=may_start,
        )
    )
    start = next((at for at, token in enumerate(tokens) if token.type in CLAUSES), len(tokens))
    return tokens[start:]


def _may_follow(given: set[str]) -> list[str]:
    """Return the clauses that a statement with the `given` ones lacks, in canonical order."""
    hidden = {"QUERY"} if "WITHIN" in given else {"QUERY", *ONLY_WITHIN}
    if given - {"QUERY"}:
        hidden.add("FROM")  # it stands alone
    return [kind for kind in CLAUSES if kind not in given | hidden]


def _meant_as_name(tokens: list[Token], at: int, expected: frozenset[str]) -> bool:
    """Return whether the clause word at `at` was meant as a name, as in `SEQ(Limit l, ...)`.

    A name may stand there, and what comes after it is no such clause.
    """
    if at >= len(tokens) or "NAME" not in expected or tokens[at].type == "GROUP_BY":
        return False
    if tokens[at].type == "QUERY":  # amid a statement it can be nothing else
        return True
    stop = next((n for n in range(at + 1, len(tokens)) if tokens[n].type in CLAUSES), len(tokens))
    return not _can_begin(tokens[at].type, tokens[at + 1 : stop])


def _can_begin(kind: str, body: list[Token]) -> bool:
    """Return whether a clause can be read, or at least its first word can."""
    try:
        parse_clause(kind, body)
    except UnexpectedInput as problem:
        return problem.index is None or problem.index > 0
    except QuerySyntaxError:
        pass
    return True


def _misspelt_clause(body: list[Token], at: int, may_follow: list[str]) -> tuple[int, str] | None:
    """Return where the word before or at an unexpected token is a slip of a clause, and which."""
    for index in (at, at - 1):
        if 0 <= index < len(body) and body[index].type in {"NAME", "GROUP"}:
            kind = nearest_clause(body[index])
            if kind in may_follow or (kind in ONLY_WITHIN and index == at):
                return index, kind
    return None


def _misspelt_error(token: Token, kind: str) -> QuerySyntaxError:
    spelling = CLAUSES[kind]
    return QuerySyntaxError(
        f"'{token}' is not a clause. Did you mean '{spelling}'?",
        span=span_of(token),
        choices=(spelling,),
    )


def _strategy_called(body: list[Token]) -> QuerySyntaxError | None:
    """Return the error for a strategy among tokens that is called as a function, if any is."""
    for name, bracket in itertools.pairwise(body):
        if name.type == "NAME" and bracket.type == "_LPAR":
            error = strategy_in_a_condition(name)
            if error is not None:
                return error
    return None


def _value_or_none(kind: str, body: list[Token]) -> Any:
    try:
        return parse_clause(kind, body)
    except (QuerySyntaxError, UnexpectedInput):
        return None


def _check_window(clauses: Clauses) -> None:
    for kind in ONLY_WITHIN:
        if kind in clauses.words and "WITHIN" not in clauses.words:
            clauses.errors.append(
                QuerySyntaxError(
                    f"{kind} needs a WITHIN: a window has a length first.",
                    span=span_of(clauses.words[kind]),
                )
            )
