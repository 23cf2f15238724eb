"""Translating operators and functions of text and regular expressions to DuckDB's SQL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sqlglot import exp

from elsinore.runtime.sql.casts import cast
from elsinore.runtime.sql.database import matches_empty_text
from elsinore.runtime.sql.parts import ExpressionTranslator, Function, Operator, Part, quoted_text
from elsinore.runtime.sql.regexes import JavaOnlyError, to_re2, to_re2_replacement


def _concat(
    translator: ExpressionTranslator, node: exp.Expression, arguments: Sequence[exp.Expression]
) -> Part:
    """Translate a concatenation of values cast to text; null if one value is null."""
    texts = []
    for part in map(translator.translate, arguments):
        text = cast(part.text, part.kind, "VARCHAR")
        if text is None:
            raise translator.rejected(node, f"Spark converts {part.kind.value} to text differently")
        texts.append(text)
    return Part(f"({' || '.join(texts)})", "VARCHAR")


def _concat_operator(translator: ExpressionTranslator, node: exp.Expression) -> Part:
    return _concat(translator, node, [node.left, node.right])


def _concat_ws(
    translator: ExpressionTranslator, node: exp.Expression, arguments: Sequence[exp.Expression]
) -> Part:
    texts = [translator.converted(node, "t", part) for part in arguments]
    return Part(f"concat_ws({', '.join(texts)})", "VARCHAR")


def _like_operator(
    translator: ExpressionTranslator, node: exp.Expression, *, ignore_case: bool = False
) -> Part:
    return _like(translator, node, [node.this, node.expression], ignore_case=ignore_case)


def _like(
    translator: ExpressionTranslator,
    node: exp.Expression,
    arguments: Sequence[exp.Expression],
    *,
    ignore_case: bool = False,
) -> Part:
    if any(isinstance(part, exp.Any | exp.All) for part in arguments) or len(arguments) != 2:
        raise translator.rejected(node)
    if ignore_case:
        arguments = [exp.Anonymous(this="lower", expressions=[part]) for part in arguments]
    text, pattern = (translator.converted(node, "t", part) for part in arguments)
    return Part(f"({text} LIKE {pattern} ESCAPE '\\')", "BOOLEAN")


def constant_text(
    translator: ExpressionTranslator, node: exp.Expression, argument: exp.Expression
) -> str:
    """Return the value of a text literal; raise RejectedError for any other argument."""
    if isinstance(argument, exp.RawString) or (
        isinstance(argument, exp.Literal) and argument.is_string
    ):
        return str(argument.this)
    raise translator.rejected(node, "patterns and formats must be text literals here")


def _re2_pattern(
    translator: ExpressionTranslator,
    node: exp.Expression,
    argument: exp.Expression,
    *,
    may_consume_line_end: bool,
) -> str:
    """Return the RE2 pattern for a constant pattern of Java, as an SQL literal."""
    pattern = constant_text(translator, node, argument)
    try:
        re2_pattern = to_re2(pattern, may_consume_line_end=may_consume_line_end)
    except JavaOnlyError as error:
        raise translator.rejected(
            node, f"the regular expression is not supported: {error}"
        ) from None
    return quoted_text(re2_pattern)


def _rlike_operator(translator: ExpressionTranslator, node: exp.Expression) -> Part:
    return _regexp_like(translator, node, [node.this, node.expression])


def _regexp_like(
    translator: ExpressionTranslator, node: exp.Expression, arguments: Sequence[exp.Expression]
) -> Part:
    pattern = _re2_pattern(translator, node, arguments[1], may_consume_line_end=True)
    text = translator.converted(node, "t", arguments[0])
    return translator.typed_by_duckdb(f"regexp_matches({text}, {pattern})", node)


def _regexp_extract(
    translator: ExpressionTranslator, node: exp.Expression, arguments: Sequence[exp.Expression]
) -> Part:
    group = 1
    if len(arguments) == 3:
        if not (isinstance(arguments[2], exp.Literal) and arguments[2].is_int):
            raise translator.rejected(node, "the group must be a number literal here")
        group = int(arguments[2].this)
    pattern = _re2_pattern(translator, node, arguments[1], may_consume_line_end=group > 0)
    text = translator.converted(node, "t", arguments[0])
    return translator.typed_by_duckdb(f"regexp_extract({text}, {pattern}, {group})", node)


def _regexp_replace(
    translator: ExpressionTranslator, node: exp.Expression, arguments: Sequence[exp.Expression]
) -> Part:
    if len(arguments) != 3:
        raise translator.rejected(node, "it takes 3 arguments here")
    pattern = _re2_pattern(translator, node, arguments[1], may_consume_line_end=False)
    try:
        replacement = to_re2_replacement(constant_text(translator, node, arguments[2]))
    except JavaOnlyError as error:
        raise translator.rejected(node, f"the replacement is not supported: {error}") from None
    text = translator.converted(node, "t", arguments[0])
    return translator.typed_by_duckdb(
        f"regexp_replace({text}, {pattern}, {quoted_text(replacement)}, 'g')", node
    )


def _split(
    translator: ExpressionTranslator, node: exp.Expression, arguments: Sequence[exp.Expression]
) -> Part:
    if len(arguments) != 2:
        raise translator.rejected(node, "it takes 2 arguments here")
    pattern = _re2_pattern(translator, node, arguments[1], may_consume_line_end=False)
    text = translator.converted(node, "t", arguments[0])
    if matches_empty_text(pattern):
        raise translator.rejected(node, "the pattern matches the empty text")
    return translator.typed_by_duckdb(f"string_split_regex({text}, {pattern})", node)


def _sha2(
    translator: ExpressionTranslator, node: exp.Expression, arguments: Sequence[exp.Expression]
) -> Part:
    bits = arguments[1] if len(arguments) == 2 else None
    if not isinstance(bits, exp.Literal) or bits.this not in {"0", "256"}:
        raise translator.rejected(node, "only 256 bits are supported here")
    return Part(f"sha256({translator.converted(node, 't', arguments[0])})", "VARCHAR")


OPERATORS: dict[type[exp.Expression], Operator] = {
    exp.DPipe: _concat_operator,
    exp.Like: _like_operator,
    exp.ILike: partial(_like_operator, ignore_case=True),
    exp.RegexpLike: _rlike_operator,
}
FUNCTIONS: dict[str, Function] = {
    "concat": _concat,
    "concat_ws": _concat_ws,
    "like": _like,
    "ilike": partial(_like, ignore_case=True),
    "rlike": _regexp_like,
    "regexp": _regexp_like,
    "regexp_like": _regexp_like,
    "regexp_extract": _regexp_extract,
    "regexp_replace": _regexp_replace,
    "split": _split,
    "sha2": _sha2,
}
