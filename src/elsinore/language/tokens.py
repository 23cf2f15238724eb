"""The tokenizer: words, numbers, strings and signs, each with its position.

Keywords are recognized here and not in the grammar, because that depends on the context: `T.limit`
and `[limit]` name an attribute, `LIMIT 10` is a clause.
"""

from __future__ import annotations

import itertools
import re

from lark import Token

from elsinore.language.durations import is_unit
from elsinore.language.keywords import CLAUSES, OPERATOR_WORDS

SIGNS = {
    ",": "_COMMA",
    ";": "_SEMICOLON",
    ":": "_COLON",
    "(": "_LPAR",
    ")": "_RPAR",
    "[": "_LSQB",
    "]": "_RSQB",
    "{": "_LBRACE",
    "}": "_RBRACE",
    "..": "DOTS",
    ".": "_DOT",
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "%": "PERCENT",
    "?": "QMARK",
    "=": "EQ",
    "==": "EQ",
    "!=": "NE",
    "<>": "NE",
    "≠": "NE",
    "<": "LT",
    "<=": "LE",
    "≤": "LE",
    ">": "GT",
    ">=": "GE",
    "≥": "GE",
    "∧": "_AND",
    "&": "_AND",
    "&&": "_AND",
    "∨": "_OR",
    "|": "_OR",
    "||": "_OR",
    "¬": "_NOT",
    "!": "_NOT",
}
_SIGN = "|".join(re.escape(sign) for sign in sorted(SIGNS, key=len, reverse=True))
TOKEN = re.compile(
    rf"""
      (?P<SPACE>      \s+ | --[^\n]* | /\*.*?\*/ | \ufeff )
    | (?P<OPEN>       /\* )
    | (?P<STRING>     '(?:[^']|'')*' )
    | (?P<QUOTED>     "(?:[^"]|"")+" | `(?:[^`]|``)+` )
    | (?P<FLOAT>      [0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?(?![0-9]) | [0-9]+[eE][+-]?[0-9]+ )
    | (?P<INT>        [0-9]+ )
    | (?P<GROUP_BY>   (?i:group(?:-|_|\s+)?by)\b )
    | (?P<AFTER_MATCH> (?i:after\s+match)\b )
    | (?P<COLLAPSED>  (?i:output\s+collapsed)\b )
    | (?P<WORD>       [^\W\d]\w* )
    | (?P<PARAMETER>  (?<![\w"`]):[^\W\d]\w* )
    | (?P<SIGN>       {_SIGN} )
    | (?P<BAD>        . )
    """,
    re.VERBOSE | re.DOTALL,
)
OPENING = re.compile(r"\s*\(")
QUOTES = {"'": "text", '"': "name", "`": "name"}
COUNTED = {"event", "events", "row", "rows"}  # after a number: windows of so many
_TELLING = frozenset({"_DOT", "_COLON", "_LSQB", "_COMMA", "INT", "FLOAT", "RETURN"})
_WORDS = OPERATOR_WORDS | {word: word for word in (*CLAUSES, "EXACT", "GROUP", "BY")}
_new_string = str.__new__


def tokenize(text: str) -> list[Token]:
    """Split a text into tokens; spaces and comments are skipped.

    Invalid text becomes a token of type BAD, which no rule accepts, so that it is reported at its
    position.

    >>> [token.type for token in tokenize("WHERE T.limit <= 30 min -- a remark")]
    ['WHERE', 'NAME', '_DOT', 'NAME', 'LE', 'INT', 'UNIT']
    """
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        position = _read_tokens(text, position, tokens)
    return tokens


def _read_tokens(text: str, position: int, tokens: list[Token]) -> int:
    """Add tokens up to the end of the text, or of a line with an unclosed quote or comment.

    Returns that position.
    """
    for match in TOKEN.finditer(text, position):
        kind = match.lastgroup
        if kind == "SPACE" or kind is None:
            continue
        value = match[0]
        start, stop = match.span()
        if (kind == "BAD" and value in QUOTES) or kind == "OPEN":  # never closed: take the line
            stop = text.find("\n", start)
            stop = len(text) if stop < 0 else stop
            tokens.append(_token("BAD", text[start:stop], start, stop))
            return stop
        if kind == "SIGN":
            kind = SIGNS[value]
        elif kind in {"WORD", "GROUP_BY"}:
            kind = _kind_of_word(kind, value, tokens)
            if kind == "NAME" and value.upper() in _SQL_WORDS:
                kind = _kind_of_sql_word(value.upper(), text, stop, tokens)
            if kind == "CONFIDENCE" and OPENING.match(text, stop):
                kind = "NAME"  # CONFIDENCE() is a value of a match, CONFIDENCE >= 0.9 a clause
            elif kind == "NAME" and value.upper() == "PERMUTE" and OPENING.match(text, stop):
                kind = "PERMUTE"
        tokens.append(_token(kind, value, start, stop))
    return len(text)


def _token(kind: str, value: str, start: int, stop: int) -> Token:
    """Return a token; bypasses its constructor for speed."""
    token = _new_string(Token, value)
    token.type, token.start_pos, token.end_pos = kind, start, stop
    return token


def renamed(token: Token, kind: str) -> Token:
    """Return a token with another type."""
    return _token(kind, str(token), token.start_pos or 0, token.end_pos or 0)


def end_token(text: str) -> Token:
    """Return a token for the end of a text, after its last visible character."""
    stop = len(text.rstrip())
    return _token("END", "", stop, stop + 1)


def _kind_of_word(kind: str, value: str, before: list[Token]) -> str:
    previous = before[-1].type if before else None
    if previous in _TELLING:
        if previous in {"_DOT", "_COLON"}:
            return "NAME"
        if previous in {"_LSQB", "_COMMA"} and _in_brackets(before):
            return "NAME"
        if kind == "WORD" and previous in {"INT", "FLOAT"} and is_unit(value):
            return "UNIT"
        if kind == "WORD" and previous == "INT" and value.lower() in COUNTED:
            return "EVENTS"
        if kind == "WORD" and previous == "RETURN" and value.upper() == "DISTINCT":
            return "DISTINCT"
    if value.upper() == "DISTINCT" and [token.upper() for token in before[-2:]] == ["COUNT", "("]:
        return "DISTINCT"
    if kind == "GROUP_BY":
        return kind
    clause = _WORDS.get(value.upper(), "NAME")
    return "NAME" if clause == "FROM" and not _begins_from(before) else clause


_SQL_WORDS = frozenset({"CASE", "WHEN", "THEN", "ELSE", "END", "ILIKE", "RLIKE", "REGEXP"})
_WHEN = re.compile(r"\s+WHEN\b", re.IGNORECASE)
_TEXT = re.compile(r"\s*['\:]")
_END_OF_VALUE = frozenset({"NAME", "QUOTED", "_RPAR", "_RSQB", "_NOT", "STRING", "_END"})


def _kind_of_sql_word(word: str, text: str, stop: int, before: list[Token]) -> str:
    """Return the kind of a word that is a keyword of SQL in some contexts and a name in others.

    Keywords are CASE before WHEN, the words of an open CASE, and RLIKE between a value and a text.
    """
    previous = before[-1].type if before else None
    if previous in {"_DOT", "_COLON", "_AS", "QUERY"}:
        return "NAME"
    if word == "CASE":
        return "CASE" if _WHEN.match(text, stop) else "NAME"
    if word in {"ILIKE", "RLIKE", "REGEXP"}:
        is_operator = previous in _END_OF_VALUE and _TEXT.match(text, stop)
        return {"REGEXP": "RLIKE"}.get(word, word) if is_operator else "NAME"
    of_query = itertools.takewhile(lambda token: token.type != "_SEMICOLON", reversed(before))
    open_cases = sum((token.type == "CASE") - (token.type == "_END") for token in of_query)
    return f"_{word}" if open_cases > 0 else "NAME"


def _begins_from(before: list[Token]) -> bool:
    """Return whether a FROM here is the clause: it is first, or after `QUERY name`."""
    if not before or before[-1].type == "_SEMICOLON":
        return True
    return len(before) > 1 and before[-2].type == "QUERY"


def _in_brackets(before: list[Token]) -> bool:
    """Return whether the tokens end inside `[`, after names and commas only."""
    for token in reversed(before):
        if token.type == "_LSQB":
            return True
        if token.type not in {"NAME", "QUOTED", "_COMMA"}:
            return False
    return False


def name_of(token: Token) -> str:
    """Return the name in a NAME or QUOTED token, without quotes.

    >>> name_of(tokenize('"odd ""name"')[0])
    'odd "name'
    """
    if token.type != "QUOTED":
        return str(token)
    quote = token[0]
    return token[1:-1].replace(quote * 2, quote)
