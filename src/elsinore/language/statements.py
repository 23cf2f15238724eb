"""Splitting tokens into statements, and statements into clauses; error recovery.

A text is split at `;` and before QUERY, a statement before each keyword of a clause. Each clause is
parsed separately: clauses may have any order, and the errors of all clauses are reported. A
misspelt keyword is reported, and the clause is parsed as if it were correct.
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
    CACHED_FORMS,
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
    """The tokens of a query, and the token after it: a `;`, a QUERY or the text's end."""

    tokens: list[Token]
    end: Token

    @property
    def types(self) -> tuple[str, ...]:
        """The types of its tokens."""
        return tuple([token.type for token in self.tokens])


@dataclass(slots=True)
class Clauses:
    """The parsed clauses of a statement: values, keywords and spans by clause, and errors."""

    values: dict[str, Any] = field(default_factory=dict)
    words: dict[str, Token] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)
    errors: list[QuerySyntaxError] = field(default_factory=list)


def split_statements(tokens: list[Token], end: Token) -> Iterator[Statement]:
    """Split tokens at `;` and before QUERY; skip empty statements.

    A QUERY within a statement begins a new one only if a clause follows its name: in
    `SEQ(Query q, Click c)` it is a type.
    """
    first = 0
    types = [token.type for token in tokens]
    for at, kind in enumerate(types):
        if kind == "_SEMICOLON" or (kind == "QUERY" and _may_begin_clause(tokens[at + 2 : at + 3])):
            if first < at:
                yield Statement(tokens[first:at], tokens[at])
            first = at + 1 if kind == "_SEMICOLON" else at
    if first < len(tokens):
        yield Statement(tokens[first:], end)


def _may_begin_clause(after_name: list[Token]) -> bool:
    """Return whether the token after `QUERY name`, if any, may be the keyword of a clause."""
    if not after_name:
        return True
    first = after_name[0]
    return first.type in CLAUSES or (first.type == "NAME" and nearest_clause(first) is not None)


def read_clauses(statement: Statement) -> Clauses:
    """Parse the clauses of a statement, and collect its syntax errors.

    Errors are text outside of clauses, clauses that cannot be parsed, duplicate clauses, and SLIDE
    or ORIGIN without WITHIN.
    """
    return _read_well_formed(statement) or _read_with_errors(statement)


def _read_well_formed(statement: Statement) -> Clauses | None:
    """Parse the clauses of a statement without errors; return None if there is an error."""
    tokens, clauses = statement.tokens, Clauses()
    for start, stop, recipe in _clause_ranges(statement.types):
        word = tokens[start]
        kind = word.type
        try:
            clauses.values[kind] = recipe.follow(tokens[start + 1 : stop])
        except QuerySyntaxError:
            return None
        clauses.words[kind] = word
        clauses.spans[kind] = Span(word.start_pos or 0, tokens[stop - 1].end_pos or 0)
    return clauses if clauses.words else None


@lru_cache(CACHED_FORMS)
def _clause_ranges(types: tuple[str, ...]) -> tuple[tuple[int, int, Recipe], ...]:
    """Return the start, end and recipe of each clause of a statement; () if there is an error."""
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


def _read_with_errors(statement: Statement) -> Clauses:
    """Parse the clauses of a statement with error recovery; collect all errors."""
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
                    _strategy_as_function_error(body[:at])
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
    """Return the tokens from the first clause on; report an error for tokens before it."""
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


def _may_follow(present: set[str]) -> list[str]:
    """Return the clauses that may be added to those `present`, in canonical order."""
    hidden = {"QUERY"} if "WITHIN" in present else {"QUERY", *ONLY_WITHIN}
    if present - {"QUERY"}:
        hidden.add("FROM")  # it excludes other clauses
    return [kind for kind in CLAUSES if kind not in present | hidden]


def _meant_as_name(tokens: list[Token], at: int, expected: frozenset[str]) -> bool:
    """Return whether the keyword at `at` was meant as a name, as in `SEQ(Limit l, ...)`.

    That is so if a name is allowed there, and the tokens after it do not parse as the clause.
    """
    if at >= len(tokens) or "NAME" not in expected or tokens[at].type == "GROUP_BY":
        return False
    if tokens[at].type == "QUERY":  # within a statement, QUERY can only be a name
        return True
    stop = next((n for n in range(at + 1, len(tokens)) if tokens[n].type in CLAUSES), len(tokens))
    return not _can_begin(tokens[at].type, tokens[at + 1 : stop])


def _can_begin(kind: str, body: list[Token]) -> bool:
    """Return whether a clause, or at least its first token, can be parsed."""
    try:
        parse_clause(kind, body)
    except UnexpectedInput as problem:
        return problem.index is None or problem.index > 0
    except QuerySyntaxError:
        pass
    return True


def _misspelt_clause(body: list[Token], at: int, may_follow: list[str]) -> tuple[int, str] | None:
    """Return the index and clause of a misspelt keyword at or before an unexpected token."""
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


def _strategy_as_function_error(body: list[Token]) -> QuerySyntaxError | None:
    """Return the error for a strategy that is called as a function, or None."""
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
