"""The parser of grammar.lark, with parse tables stored in the cache folder.

Computing the tables takes ten times as long as loading them. They are loaded by `pickle`, so only
files that no other user could have written are read (`elsinore.cache_folder`).
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import lark
from lark import Lark, Token
from lark.common import LexerConf
from lark.lexer import Lexer

from elsinore.cache_folder import (
    UnusableError,
    check_folder,
    folder_path,
    make_private,
    read_file,
    write_file,
)
from elsinore.language.keywords import CLAUSES

PATTERN = "alternation"
EXPRESSION = "condition"


class _Tokens(Lexer):
    """A lexer for input that is already a list of tokens."""

    def __init__(self, _: LexerConf) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any = None) -> Iterator[Token]:  # noqa: ARG002
        yield from lexer_state


@cache
def grammar() -> Lark:
    """Return the parser of clauses, patterns and expressions, with cached tables if possible.

    If the cache is unusable or damaged, the tables are computed.

    >>> grammar() is grammar()
    True
    """
    text = files("elsinore.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    starts = [f"{kind.lower()}_clause" for kind in CLAUSES] + [PATTERN, EXPRESSION]
    path = _path(text, starts)
    parser = _load_tables(path) if path else None
    if parser is None:
        parser = Lark(text, parser="lalr", lexer=_Tokens, propagate_positions=True, start=starts)
        if path:
            _store(parser, path)
    return parser


def _path(text: str, starts: list[str]) -> Path | None:
    """Return the cache file of the tables for this grammar, version of lark and Python."""
    about = repr((text, starts, _Tokens.__qualname__, lark.__version__, sys.version))
    try:
        return folder_path() / f"grammar-{sha256(about.encode()).hexdigest()[:40]}.lark"
    except UnusableError:
        return None


def _load_tables(path: Path) -> Lark | None:
    try:
        check_folder(path.parent)
        content = read_file(path)
    except UnusableError:
        return None
    if content is None:
        return None
    try:
        return Lark.load(io.BytesIO(content))
    except Exception:  # damaged bytes raise any error
        return None


def _store(parser: Lark, path: Path) -> None:
    tables = io.BytesIO()
    parser.save(tables)
    with suppress(UnusableError):
        make_private(path.parent)
        check_folder(path.parent)
        write_file(path, tables.getvalue())
