"""Rendering nodes as canonical text, which parses to equal nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum

from elsinore.language.durations import render_duration, render_origin
from elsinore.language.keywords import is_bare_name
from elsinore.model import (
    Attribute,
    Binary,
    Call,
    Column,
    Conjunction,
    Disjunction,
    Duration,
    Event,
    Expression,
    InList,
    IsNull,
    Kind,
    Kleene,
    Like,
    Literal,
    Negation,
    Negative,
    Not,
    Operator,
    Pattern,
    Permutation,
    PythonQuery,
    Query,
    ReturnItem,
    Sequence,
    Strategy,
    Window,
    Workload,
)
from elsinore.model.computed import ComputedName
from elsinore.model.expression import MATCH_FUNCTIONS, with_attributes

REPETITIONS = {(1, None): "+", (0, None): "*", (0, 1): "?"}


class Level(IntEnum):
    """Operator precedence: an operand of lower precedence needs parentheses."""

    OR = 1
    AND = 2
    NOT = 3
    COMPARISON = 4
    SUM = 5
    PRODUCT = 6
    SIGNED = 7
    ATOM = 8


LEVELS = {
    Operator.OR: Level.OR,
    Operator.AND: Level.AND,
    Operator.ADD: Level.SUM,
    Operator.SUB: Level.SUM,
    Operator.MUL: Level.PRODUCT,
    Operator.DIV: Level.PRODUCT,
    Operator.MOD: Level.PRODUCT,
}


def render(node: Workload | Query | Pattern | Expression) -> str:
    """Return the text of a node; parsing it gives an equal node.

    NaN has no literal and is rendered as NULL, which is equivalent.

    >>> from elsinore.language import parse_expression
    >>> render(parse_expression("not (T.speed<10 or T.x is null)"))
    'NOT (T.speed < 10 OR T.x IS NULL)'
    """
    match node:
        case Workload():
            parts = ["EXACT;"] if node.exact else []
            return "\n\n".join([*parts, *(f"{_query(query)};" for query in node.queries)])
        case Query():
            return f"{_query(node)};"
        case Event() | Sequence() | Kleene() | Disjunction() | Conjunction() | Negation():
            return _pattern(node, Level.OR)
        case Permutation():
            return _pattern(node, Level.OR)
        case _:
            return _expression(node, Level.OR, str.upper)


def column_name(item: ReturnItem) -> str:
    """Return the name of a result's column: the alias, or the text with functions in lower case.

    >>> from elsinore.model import Attribute, Call
    >>> column_name(ReturnItem(Call("SUM", (Attribute("T", "duration"),))))
    'sum(T.duration)'
    """
    if item.alias is not None:
        return item.alias
    if isinstance(item.expression, Column):
        return item.expression.name
    return _expression(item.expression, Level.OR, str.lower)


def render_name(name: str) -> str:
    """Return a name, in double quotes if it would not be parsed as a name without.

    >>> print(render_name("T"), render_name("odd name"), render_name("limit"))
    T "odd name" "limit"
    """
    return name if is_bare_name(name) else _quoted(name)


def _source(source: str) -> str:
    """Return `module:attribute`, with quotes around names that need them.

    >>> print(_source("days.of:limit"))
    days.of:"limit"
    """
    sides = source.split(":")
    return ":".join(".".join(map(render_name, side.split("."))) for side in sides)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(render_name(name) for name in names)


# --- queries --------------------------------------------------------------------------------------


def _query(query: Query) -> str:
    if isinstance(query, PythonQuery):
        return f"QUERY {render_name(query.name)}\nFROM     {_source(query.source)}"
    columns = ", ".join(_item(item) for item in query.returns)
    lines = [
        f"QUERY {render_name(query.name)}",
        f"RETURN   {'DISTINCT ' if query.distinct else ''}{columns}",
        f"PATTERN  {_pattern(query.pattern, Level.OR)}",
    ]
    conditions = [f"[{_names(query.equivalence)}]"] if query.equivalence else []
    conditions += [_expression(part, Level.NOT, str.upper) for part in query.where]
    if conditions:
        lines.append(f"WHERE    {' AND '.join(conditions)}")
    if query.strategy is not Strategy.ANY or query.kind is Kind.MATCHES:
        lines.append(f"STRATEGY {query.strategy.value}")
    if query.group_by:
        lines.append(f"GROUP BY {_names(query.group_by)}")
    if query.window:
        lines.append(_window(query.window))
    if query.after_match is not None:
        lines.append(f"AFTER MATCH {query.after_match.value}")
    if query.suppress is not None:
        length, scale = query.suppress.within, query.suppress.per_microsecond
        bare = bool(query.suppress.bare)
        lines.append(f"SUPPRESS {render_duration(length, scale, bare=bare)}")
    if query.confidence is not None:
        lines.append(f"CONFIDENCE >= {float(query.confidence)!r}")
    if query.collapsed:
        lines.append("COLLAPSED")
    if query.limit is not None:
        lines.append(f"LIMIT    {query.limit}")
    return "\n".join(lines)


def _item(item: ReturnItem) -> str:
    text = _expression(item.expression, Level.OR, str.upper)
    return text if item.alias is None else f"{text} AS {render_name(item.alias)}"


def _window(window: Window) -> str:
    scale, bare = window.per_microsecond, window.bare
    if window.events:
        slide = "" if window.slide is None else f" SLIDE {window.slide} EVENTS"
        return f"WITHIN   {window.within} EVENTS{slide}"
    text = f"WITHIN   {render_duration(window.within, scale, bare='WITHIN' in bare)}"
    if window.slide is not None:
        text += f" SLIDE {render_duration(window.slide, scale, bare='SLIDE' in bare)}"
    if window.origin or window.zone:
        is_bare = "ORIGIN" in bare
        origin = render_origin(window.origin, scale, bare=is_bare, zone=window.zone)
        text += f" ORIGIN {origin}"
    return text


# --- patterns -------------------------------------------------------------------------------------


def _pattern(pattern: Pattern, tightest: Level) -> str:
    """Return the text of a pattern, in parentheses if its precedence is below `tightest`."""
    match pattern:
        case Event(kind, variable):
            same = kind == variable
            return render_name(kind) if same else f"{render_name(kind)} {render_name(variable)}"
        case Sequence(parts):
            return f"SEQ({', '.join(_pattern(part, Level.OR) for part in parts)})"
        case Permutation(parts):
            return f"PERMUTE({', '.join(_pattern(part, Level.OR) for part in parts)})"
        case Kleene(inner, least, most):
            text = _pattern(inner, Level.OR)
            if not isinstance(inner, Event):
                text = f"({text})"
            return text + _repetition(least, most)
        case Negation(inner):
            level, text = Level.NOT, f"NOT {_pattern(inner, Level.NOT)}"
        case Conjunction(parts):
            level, text = Level.AND, " AND ".join(_pattern(part, Level.NOT) for part in parts)
        case Disjunction(parts):
            level, text = Level.OR, " OR ".join(_pattern(part, Level.AND) for part in parts)
    return text if level >= tightest else f"({text})"


def _repetition(least: int, most: int | None) -> str:
    if (least, most) in REPETITIONS:
        return REPETITIONS[least, most]
    if least == most:
        return f"{{{least}}}"
    return f"{{{least},{'' if most is None else most}}}"


# --- expressions ----------------------------------------------------------------------------------


def _expression(node: Expression, tightest: Level, case: Callable[[str], str]) -> str:
    """Return the text of an expression, in parentheses if its precedence is below `tightest`."""
    level, text = _text_with_level(node, case)
    return text if level >= tightest else f"({text})"


def _text_with_level(node: Expression, case: Callable[[str], str]) -> tuple[Level, str]:
    match node:
        case Literal(parameter=str(name)):
            return Level.ATOM, f":{name}"
        case Literal(value):
            negative = isinstance(value, int | float) and value < 0
            return (Level.SIGNED if negative else Level.ATOM), _literal(value)
        case Duration(nanoseconds):
            level = Level.SIGNED if nanoseconds < 0 else Level.ATOM
            return level, render_duration(nanoseconds, 1_000)
        case Column(name):
            return Level.ATOM, render_name(name)
        case Attribute(_, ComputedName() as name):
            with_variable = with_attributes(
                name.expression, lambda leaf: replace(node, name=leaf.name)
            )
            return _text_with_level(with_variable, case)
        case Attribute():
            return Level.ATOM, _attribute(node)
        case Call("CASE", arguments):
            return Level.ATOM, _case(arguments, case)
        case Call("CAST" | "TRY_CAST" as name, (operand, Literal(kind))):
            return Level.ATOM, f"{case(name)}({_expression(operand, Level.OR, case)} AS {kind})"
        case Call("RLIKE" | "ILIKE" as word, (operand, Literal() as pattern)):
            return Level.COMPARISON, _like(operand, word, pattern, case)
        case Call("ELEMENT", (operand, index)):
            parts = _expression(operand, Level.ATOM, case), _expression(index, Level.SUM, case)
            return Level.ATOM, "{}[{}]".format(*parts)
        case Call(name, arguments):
            inside = ", ".join(_expression(argument, Level.OR, case) for argument in arguments)
            star = "*" if name == "COUNT" and not arguments else ""
            if name == "COUNT_DISTINCT":
                return Level.ATOM, f"{case('COUNT')}({case('DISTINCT')} {inside})"
            plain = (is_bare_name(name) or name in MATCH_FUNCTIONS) and name == name.upper()
            return Level.ATOM, f"{case(name) if plain else _quoted(name)}({inside}{star})"
        case Negative(operand):
            text = _expression(operand, Level.ATOM, case)
            number = isinstance(operand, Literal | Duration) and not text.startswith("(")
            return Level.SIGNED, f"-({text})" if number else f"-{text}"  # -5 is one number
        case Not(IsNull(operand)):
            return Level.COMPARISON, f"{_expression(operand, Level.SUM, case)} IS NOT NULL"
        case IsNull(operand):
            return Level.COMPARISON, f"{_expression(operand, Level.SUM, case)} IS NULL"
        case Not(InList(operand, choices)):
            return Level.COMPARISON, _in(operand, "NOT IN", choices, case)
        case InList(operand, choices):
            return Level.COMPARISON, _in(operand, "IN", choices, case)
        case Not(Like(operand, pattern)):
            text = _expression(operand, Level.SUM, case)
            return Level.COMPARISON, f"{text} NOT LIKE {_literal(pattern)}"
        case Like(operand, pattern):
            text = _expression(operand, Level.SUM, case)
            return Level.COMPARISON, f"{text} LIKE {_literal(pattern)}"
        case Not(operand):
            return Level.NOT, f"NOT {_expression(operand, Level.NOT, case)}"
        case Binary(operator, left, right):
            level = LEVELS.get(operator, Level.COMPARISON)
            tighter = Level(level + 1)
            on_left = tighter if level is Level.COMPARISON else level  # a < b < c is not allowed
            first, second = _expression(left, on_left, case), _expression(right, tighter, case)
            return level, f"{first} {operator.value} {second}"


def _like(operand: Expression, word: str, pattern: Literal, case: Callable[[str], str]) -> str:
    texts = _expression(operand, Level.SUM, case), _expression(pattern, Level.ATOM, case)
    return f"{texts[0]} {word} {texts[1]}"


def _case(arguments: tuple[Expression, ...], case: Callable[[str], str]) -> str:
    parts = [_expression(argument, Level.OR, case) for argument in arguments]
    default = f"{case('ELSE')} {parts.pop()} " if len(parts) % 2 else ""
    pairs = zip(parts[::2], parts[1::2], strict=True)
    whens = " ".join(f"{case('WHEN')} {when} {case('THEN')} {then}" for when, then in pairs)
    return f"{case('CASE')} {whens} {default}{case('END')}"


def _in(
    operand: Expression, word: str, choices: tuple[Literal, ...], case: Callable[[str], str]
) -> str:
    listed = ", ".join(_expression(choice, Level.SIGNED, case) for choice in choices)
    return f"{_expression(operand, Level.SUM, case)} {word} ({listed})"


def _attribute(node: Attribute) -> str:
    bound = render_name(node.variable)
    index = replace(node, variable=bound).index
    if node.name is None:
        return f"{bound}{index}"
    parts = node.name.split(".")
    name = node.name if all(map(is_bare_name, parts)) else render_name(node.name)
    return f"{bound}{index}.{name}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: bool | float | str | None) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case int():
            return str(value)
        case float() if math.isnan(value):
            return "NULL"
        case float() if math.isinf(value):
            return "1e999" if value > 0 else "-1e999"  # beyond every double
        case _:
            return repr(value)
