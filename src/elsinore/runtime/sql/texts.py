"""Operators and functions of texts, and of regular expressions, as DuckDB has them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sqlglot import exp

from elsinore.runtime.sql.casts import cast
from elsinore.runtime.sql.database import matches_nothing
from elsinore.runtime.sql.parts import Function, Operator, Part, Translating, quoted_text
from elsinore.runtime.sql.regexes import JavaOnlyError, to_re2, to_re2_replacement


def _joined(of: Translating, node: exp.Expression, given: Sequence[exp.Expression]) -> Part:
    """Return texts, or what is cast to texts, one after another; null if one is."""
    texts = []
    for part in map(of.translate, given):
        text = cast(part.text, part.kind, "VARCHAR")
        if text is None:
            raise of.rejected(node, f"{part.kind.value} is written as text in another way")
        texts.append(text)
    return Part(f"({' || '.join(texts)})", "VARCHAR")


def _joined_by_sign(of: Translating, node: exp.Expression) -> Part:
    return _joined(of, node, [node.left, node.right])


def _joined_with(of: Translating, node: exp.Expression, given: Sequence[exp.Expression]) -> Part:
    texts = [of.fitted(node, "t", part) for part in given]
    return Part(f"concat_ws({', '.join(texts)})", "VARCHAR")


def _like(of: Translating, node: exp.Expression, *, any_case: bool = False) -> Part:
    return _likeness(of, node, [node.this, node.expression], any_case=any_case)


def _likeness(
    of: Translating,
    node: exp.Expression,
    given: Sequence[exp.Expression],
    *,
    any_case: bool = False,
) -> Part:
    if any(isinstance(part, exp.Any | exp.All) for part in given) or len(given) != 2:
        raise of.rejected(node)
    if any_case:
        given = [exp.Anonymous(this="lower", expressions=[part]) for part in given]
    text, pattern = (of.fitted(node, "t", part) for part in given)
    return Part(f"({text} LIKE {pattern} ESCAPE '\\')", "BOOLEAN")


def constant_text(of: Translating, node: exp.Expression, given: exp.Expression) -> str:
    """Return a text that is written in the expression; rejects anything else."""
    if isinstance(given, exp.RawString) or (isinstance(given, exp.Literal) and given.is_string):
        return str(given.this)
    raise of.rejected(node, "patterns and formats are written texts here")


def _expression_of_re2(
    of: Translating, node: exp.Expression, given: exp.Expression, *, ends_consumed: bool
) -> str:
    pattern = constant_text(of, node, given)
    try:
        found = to_re2(pattern, ends_consumed=ends_consumed)
    except JavaOnlyError as error:
        raise of.rejected(node, f"regular expressions have no {error} here") from None
    return quoted_text(found)


def _matched(of: Translating, node: exp.Expression) -> Part:
    return _regexp_like(of, node, [node.this, node.expression])


def _regexp_like(of: Translating, node: exp.Expression, given: Sequence[exp.Expression]) -> Part:
    pattern = _expression_of_re2(of, node, given[1], ends_consumed=True)
    text = of.fitted(node, "t", given[0])
    return of.probed(f"regexp_matches({text}, {pattern})", node)


def _regexp_extract(of: Translating, node: exp.Expression, given: Sequence[exp.Expression]) -> Part:
    group = 1
    if len(given) == 3:
        if not (isinstance(given[2], exp.Literal) and given[2].is_int):
            raise of.rejected(node, "the group is a written number here")
        group = int(given[2].this)
    pattern = _expression_of_re2(of, node, given[1], ends_consumed=group > 0)
    text = of.fitted(node, "t", given[0])
    return of.probed(f"regexp_extract({text}, {pattern}, {group})", node)


def _regexp_replace(of: Translating, node: exp.Expression, given: Sequence[exp.Expression]) -> Part:
    if len(given) != 3:
        raise of.rejected(node, "it takes 3 arguments here")
    pattern = _expression_of_re2(of, node, given[1], ends_consumed=False)
    try:
        replacement = to_re2_replacement(constant_text(of, node, given[2]))
    except JavaOnlyError as error:
        raise of.rejected(node, f"there is no {error} here") from None
    text = of.fitted(node, "t", given[0])
    return of.probed(f"regexp_replace({text}, {pattern}, {quoted_text(replacement)}, 'g')", node)


def _split(of: Translating, node: exp.Expression, given: Sequence[exp.Expression]) -> Part:
    if len(given) != 2:
        raise of.rejected(node, "it takes 2 arguments here")
    pattern = _expression_of_re2(of, node, given[1], ends_consumed=False)
    text = of.fitted(node, "t", given[0])
    if matches_nothing(pattern):
        raise of.rejected(node, "the pattern matches a text of no length")
    return of.probed(f"string_split_regex({text}, {pattern})", node)


def _digest(of: Translating, node: exp.Expression, given: Sequence[exp.Expression]) -> Part:
    bits = given[1] if len(given) == 2 else None
    if not isinstance(bits, exp.Literal) or bits.this not in {"0", "256"}:
        raise of.rejected(node, "only 256 bits are computed here")
    return Part(f"sha256({of.fitted(node, 't', given[0])})", "VARCHAR")


OPERATORS: dict[type[exp.Expression], Operator] = {
    exp.DPipe: _joined_by_sign,
    exp.Like: _like,
    exp.ILike: partial(_like, any_case=True),
    exp.RegexpLike: _matched,
}
FUNCTIONS: dict[str, Function] = {
    "concat": _joined,
    "concat_ws": _joined_with,
    "like": _likeness,
    "ilike": partial(_likeness, any_case=True),
    "rlike": _regexp_like,
    "regexp": _regexp_like,
    "regexp_like": _regexp_like,
    "regexp_extract": _regexp_extract,
    "regexp_replace": _regexp_replace,
    "split": _split,
    "sha2": _digest,
}
