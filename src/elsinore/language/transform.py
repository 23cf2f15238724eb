# ruff: noqa: D102, ARG002 - a method converts the items of the rule of its name in grammar.lark
"""Converting parse trees to the model's nodes: one method per rule of the grammar.

Every node gets the span of its text. Errors that the grammar does not cover (inside of `b[...]`,
names of strategies, invalid numbers) are raised here, with their span.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Sequence as Items
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any, cast

from lark import Token

from elsinore.errors import QuerySyntaxError, Span, did_you_mean
from elsinore.language.durations import parse_origin
from elsinore.language.expected import strategy_in_a_condition
from elsinore.language.keywords import AFTER_MATCH, STRATEGIES, after_match_of, strategy_of
from elsinore.language.parts import (
    Array,
    Condition,
    Equivalence,
    Length,
    Named,
    Number,
    Quantifier,
    Returned,
    checked,
    checked_pattern,
    constant_of,
    count_of,
    expression_of,
    microseconds_of,
    span_of,
)
from elsinore.language.tokens import name_of
from elsinore.model import (
    AfterMatch,
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
    Kleene,
    Like,
    Literal,
    Negation,
    Negative,
    Not,
    Operator,
    Pattern,
    Permutation,
    Reference,
    ReturnItem,
    Sequence,
    Strategy,
)
from elsinore.model.computed import CASE, CAST, ELEMENT, TRY_CAST
from elsinore.model.expression import (
    AGGREGATES,
    CONTAINS,
    MOST_POSITIONS,
    conjuncts,
    like_regex,
)

INDEXES = {
    "": Reference.ALL,
    "i": Reference.CURRENT,
    "i - 1": Reference.PREVIOUS,
    "1": Reference.FIRST,
    "len": Reference.LAST,
    ".. i - 1": Reference.EARLIER,
    "1 .. i - 1": Reference.EARLIER,
}
POSITIONS = {"": Reference.NTH, "len -": Reference.FROM_LAST, "i -": Reference.BACK}
OPERATORS = {  # token type -> operator
    "EQ": Operator.EQ,
    "NE": Operator.NE,
    "LT": Operator.LT,
    "LE": Operator.LE,
    "GT": Operator.GT,
    "GE": Operator.GE,
    "PLUS": Operator.ADD,
    "MINUS": Operator.SUB,
    "STAR": Operator.MUL,
    "SLASH": Operator.DIV,
    "PERCENT": Operator.MOD,
}
QUANTIFIERS = {"PLUS": (1, None), "STAR": (0, None), "QMARK": (0, 1)}
TWO_QUANTIFIERS = (
    "A quantifier cannot directly follow another: all matches are returned, so there are no "
    "greedy or reluctant quantifiers. Write one, such as B+, B* or B{0,2}, or group the repeated "
    "pattern first: (B+)?."
)


class ToNodes:
    """Converts a clause, a pattern or an expression to nodes: one method for each rule."""

    def rule(self, name: str) -> Callable[[Span, Items[Any]], Any]:
        """Return the method of a rule of the grammar."""
        method: Callable[[Span, Items[Any]], Any] = getattr(self, name)
        return method

    # --- names and numbers ----------------------------------------------------------------------

    def name(self, _: Span, items: Items[Token]) -> Named:
        return Named(name_of(items[0]), items[0])

    def number(self, _: Span, items: Items[Token]) -> Token:
        return items[0]

    def quantity(self, place: Span, items: Items[Token]) -> Number:
        texts = [str(item) for item in items]
        if len(texts) == 1:
            return Number(((texts[0], None),), place)
        return Number(tuple(zip(texts[::2], texts[1::2], strict=True)), place)

    # --- clauses --------------------------------------------------------------------------------

    def query_clause(self, _: Span, items: Items[Named]) -> Named:
        return items[0]

    def dotted(self, _: Span, items: Items[Named]) -> str:
        return ".".join(item.text for item in items)

    def from_clause(self, _: Span, items: Items[str]) -> str:
        return ":".join(items)

    def item(self, _: Span, items: Items[Any]) -> ReturnItem:
        alias = items[1].text if len(items) > 1 else None
        return ReturnItem(checked(expression_of(items[0])), alias)

    def return_clause(self, _: Span, items: Items[ReturnItem | Token]) -> Returned:
        columns = tuple(item for item in items if isinstance(item, ReturnItem))
        return Returned(columns, distinct=len(columns) < len(items))

    def pattern_clause(self, _: Span, items: Items[Pattern]) -> Pattern:
        return checked_pattern(items[0])

    def where_clause(self, _: Span, items: Items[Any]) -> Condition:
        names: tuple[str, ...] = ()
        span = None
        where: list[Expression] = []
        for part in conjuncts(expression_of(items[0])):
            marker: object = part
            if isinstance(marker, Equivalence):
                names += marker.names
                span = marker.span
            else:
                where.append(checked(part))
        return Condition(names, tuple(where), span)

    def group_by_clause(self, _: Span, items: Items[Named]) -> tuple[str, ...]:
        return tuple(item.text for item in items)

    def strategy_clause(self, place: Span, items: Items[Token]) -> Strategy:
        spelling = " ".join(item for item in items if item.type == "NAME")
        strategy = strategy_of(spelling)
        if strategy is None:
            names = tuple(STRATEGIES)
            raise QuerySyntaxError(
                f"There is no such strategy.{did_you_mean(spelling, names)} "
                f"Strategies: {', '.join(known.value for known in Strategy)}.",
                span=place,
                choices=names,
            )
        return strategy

    def suppress_clause(self, place: Span, items: Items[Number]) -> Length:
        return Length(microseconds_of(items[0]), place, _is_bare(items[0]))

    def within_clause(self, place: Span, items: Items[Any]) -> Length:
        if len(items) > 1:
            return Length(Fraction(count_of(items[0])), place, events=True)
        return self.suppress_clause(place, items)

    slide_clause = within_clause

    def after_match_clause(self, place: Span, items: Items[Token]) -> AfterMatch:
        spelling = " ".join(item for item in items if item.type == "NAME")
        option = after_match_of(spelling)
        if option is None:
            names = tuple(AFTER_MATCH)
            raise QuerySyntaxError(
                f"AFTER MATCH is followed by {' or '.join(known.value for known in AfterMatch)}."
                f"{did_you_mean(spelling, names)}",
                span=place,
                choices=names,
            )
        return option

    def origin_clause(self, place: Span, items: Items[Any]) -> Length:
        if isinstance(items[0], Token) and items[0].type == "STRING":
            try:
                moment, zone = parse_origin(_string(items[0]))
                return Length(Fraction(moment), place, zone=zone)
            except QuerySyntaxError as error:
                error.span = place
                raise
        value = microseconds_of(items[-1])
        bare = _is_bare(items[-1])
        return Length(-value if len(items) > 1 else value, place, bare)

    def confidence_clause(self, _: Span, items: Items[Token]) -> float:
        return float(items[1])

    def collapsed_clause(self, _: Span, items: Items[Any]) -> bool:
        return True

    def limit_clause(self, _: Span, items: Items[Token]) -> int:
        return count_of(items[0])

    # --- patterns -------------------------------------------------------------------------------

    def event(self, place: Span, items: Items[Named | Quantifier | Array]) -> Pattern:
        names = [item.text for item in items if isinstance(item, Named)]
        quantifiers = [item for item in items if isinstance(item, Quantifier)]
        if not quantifiers and any(isinstance(item, Array) for item in items):
            quantifiers = [Quantifier(1, None, place)]  # SASE: `T[]` is a Kleene plus variable
        event = Event(names[0], names[-1], place)
        return _repeated(event, quantifiers, place)

    def array(self, _: Span, items: Items[Any]) -> Array:
        return Array()

    def repetition(self, place: Span, items: Items[Any]) -> Pattern:
        return _repeated(items[0], items[1:], place)

    def quantifier(self, place: Span, items: Items[Token]) -> Quantifier:
        return Quantifier(*QUANTIFIERS[items[0].type], place)

    def exactly(self, place: Span, items: Items[Token]) -> Quantifier:
        return Quantifier(count_of(items[0]), count_of(items[0]), place)

    def at_least(self, place: Span, items: Items[Token]) -> Quantifier:
        return Quantifier(count_of(items[0]), None, place)

    def at_most(self, place: Span, items: Items[Token]) -> Quantifier:
        return Quantifier(0, count_of(items[0]), place)

    def between_counts(self, place: Span, items: Items[Token]) -> Quantifier:
        return Quantifier(count_of(items[0]), count_of(items[1]), place)

    def sequence(self, place: Span, items: Items[Any]) -> Sequence:
        return Sequence(tuple(items[1:]), place)  # the first item is the word SEQ

    def permutation(self, place: Span, items: Items[Any]) -> Permutation:
        return Permutation(tuple(items[1:]), place)  # the first item is the word PERMUTE

    def disjunction(self, place: Span, items: Items[Pattern]) -> Disjunction:
        return Disjunction(tuple(items), place)

    def conjunction(self, place: Span, items: Items[Pattern]) -> Conjunction:
        return Conjunction(tuple(items), place)

    def negation(self, place: Span, items: Items[Pattern]) -> Negation:
        return Negation(items[0], place)

    def pattern_group(self, place: Span, items: Items[Pattern]) -> Pattern:
        return replace(items[0], span=place)

    # --- expressions ----------------------------------------------------------------------------

    def binary(self, place: Span, items: Items[Any]) -> Binary:
        left, sign, right = items
        return Binary(OPERATORS[sign.type], expression_of(left), expression_of(right), place)

    def either(self, place: Span, items: Items[Any]) -> Binary:
        return Binary(Operator.OR, expression_of(items[0]), expression_of(items[1]), place)

    def both(self, place: Span, items: Items[Any]) -> Binary:
        return Binary(Operator.AND, expression_of(items[0]), expression_of(items[1]), place)

    def not_(self, place: Span, items: Items[Any]) -> Not:
        return Not(expression_of(items[0]), place)

    def is_null(self, place: Span, items: Items[Any]) -> IsNull:
        return IsNull(expression_of(items[0]), place)

    def is_not_null(self, place: Span, items: Items[Any]) -> Not:
        return Not(self.is_null(place, items), place)

    def in_list(self, place: Span, items: Items[Any]) -> InList | Binary:
        operand, choices = expression_of(items[0]), items[1]
        lengths = [choice for choice in choices if isinstance(choice, Duration)]
        if not lengths:
            return InList(operand, choices, place)
        equal = [Binary(Operator.EQ, operand, choice, place) for choice in choices]
        return reduce(lambda one, other: Binary(Operator.OR, one, other, place), equal)

    def not_in_list(self, place: Span, items: Items[Any]) -> Not:
        return Not(self.in_list(place, items), place)

    def in_value(self, place: Span, items: Items[Any]) -> Call:
        operand, columns = map(expression_of, items)
        return Call(CONTAINS, (columns, operand), place)

    def not_in_value(self, place: Span, items: Items[Any]) -> Not:
        return Not(self.in_value(place, items), place)

    def like(self, place: Span, items: Items[Any]) -> Like:
        return Like(expression_of(items[0]), _like_pattern(items[1]), place)

    def not_like(self, place: Span, items: Items[Any]) -> Not:
        return Not(self.like(place, items), place)

    def matched(self, place: Span, items: Items[Any]) -> Call:
        operand, word, pattern = items
        return Call(word.type, (expression_of(operand), expression_of(pattern)), place)

    def not_matched(self, place: Span, items: Items[Any]) -> Not:
        return Not(self.matched(place, items), place)

    def between(self, place: Span, items: Items[Any]) -> Binary:
        value, least, most = (expression_of(item) for item in items)
        above = Binary(Operator.GE, value, least, place)
        return Binary(Operator.AND, above, Binary(Operator.LE, value, most, place), place)

    def not_between(self, place: Span, items: Items[Any]) -> Not:
        return Not(self.between(place, items), place)

    def negative(self, place: Span, items: Items[Any]) -> Negative:
        return Negative(expression_of(items[1]), place)

    def negative_number(self, place: Span, items: Items[Any]) -> Literal | Duration:
        return replace(constant_of(items[1], -1), span=place)

    def string(self, place: Span, items: Items[Token]) -> Literal:
        return Literal(_string(items[0]), place)

    def true(self, place: Span, items: Items[Token]) -> Literal:
        return Literal(value=True, span=place)

    def false(self, place: Span, items: Items[Token]) -> Literal:
        return Literal(value=False, span=place)

    def null(self, place: Span, items: Items[Token]) -> Literal:
        return Literal(None, place)

    def parameter(self, place: Span, items: Items[Token]) -> Literal:
        return Literal(None, place, parameter=str(items[0])[1:])

    def list(self, _: Span, items: Items[Any]) -> tuple[Literal | Duration, ...]:
        return tuple(cast("Literal | Duration", expression_of(item)) for item in items)

    def column(self, place: Span, items: Items[Named]) -> Column:
        quoted = items[0].token.type == "QUOTED"
        return Column(items[0].text, place, quoted=quoted)

    def attribute(self, place: Span, items: Items[Named]) -> Attribute:
        return Attribute(items[0].text, _dotted(items[1:]), span=place)

    def index(self, place: Span, items: Items[Token]) -> tuple[tuple[Token, ...], Span | None]:
        return tuple(items), place if items else None

    def indexed(self, place: Span, items: Items[Any]) -> Attribute:
        variable, (pieces, span) = items[0].text, items[1]
        texts = [str(piece).lower() for piece in pieces]
        if [name_of(piece) for piece in pieces[:1]] == [variable] and texts[1:2] == ["len"]:
            texts = texts[1:]  # b[b.LEN]
        reference, position, nearest = _reference_by_position(texts)
        if reference is None:
            raise QuerySyntaxError(
                f"{variable}[ ] holds i for the current event, i-1 for the previous, 1 for the "
                f"first, {variable}.LEN for the last, 1..i-1 for the earlier ones, or nothing for "
                f"all. Positions go up to {MOST_POSITIONS}, from the first event ({variable}[2]), "
                f"the current one ({variable}[i-2], {variable}[i-3..i-1]) or the last "
                f"({variable}[{variable}.LEN-1]).",
                span=span or place,
                choices=("i", "i-1", "1", f"{variable}.LEN", "1..i-1", ""),
            )
        name = _dotted(items[2:]) if len(items) > 2 else None
        return Attribute(variable, name, reference, place, position, nearest)

    def call(self, place: Span, items: Items[Any]) -> Call:
        name_part = items[0]
        name = name_part.text if name_part.token.type == "QUOTED" else name_part.text.upper()
        strategy = strategy_in_a_condition(name_part.token)
        if strategy is not None:
            raise strategy
        if any(isinstance(item, Token) and item.type == "DISTINCT" for item in items[1:]):
            return Call("COUNT_DISTINCT", (expression_of(items[-1]),), place)
        argument_items = [
            item for item in items[1:] if not isinstance(item, Token)
        ]  # a token is the *
        if len(argument_items) < len(items) - 1 and name != "COUNT":
            if name not in AGGREGATES:
                raise QuerySyntaxError(
                    f"There is no function '{name}' of *.{did_you_mean(name, ['COUNT'])} "
                    "COUNT(*) is the number of trends.",
                    span=place,
                    choices=("COUNT",),
                )
            raise QuerySyntaxError(
                f"Only COUNT takes a *: name what {name} is computed of, as in {name}(T.speed).",
                span=place,
            )
        arguments = tuple(expression_of(item) for item in argument_items)
        if name in AGGREGATES:  # COUNT(T): a bare name is an event, not a column
            arguments = tuple(
                Attribute(argument.name, None, span=argument.span)
                if isinstance(argument, Column)
                else argument
                for argument in arguments
            )
        return Call(name, arguments, place)

    def case(self, place: Span, items: Items[Any]) -> Call:
        return Call(CASE, tuple(map(expression_of, items[1:])), place)

    def type(self, place: Span, items: Items[Any]) -> Literal:
        name, *sizes = items
        sizes_text = f"({', '.join(map(str, sizes))})" if sizes else ""
        return Literal(f"{name.text.upper()}{sizes_text}", place)

    def cast(self, place: Span, items: Items[Any]) -> Call:
        name_part, operand, kind = items
        name = name_part.text.upper()
        if name not in {CAST, TRY_CAST}:
            raise QuerySyntaxError(
                f"AS stands in CAST(x AS type) and after a column of RETURN, not in {name}(...).",
                span=place,
                choices=(CAST, TRY_CAST),
            )
        return Call(name, (expression_of(operand), kind), place)

    def element(self, place: Span, items: Items[Any]) -> Call:
        return Call(ELEMENT, (expression_of(items[0]), expression_of(items[1])), place)

    def group(self, place: Span, items: Items[Any]) -> Expression:
        return replace(expression_of(items[0]), span=place)

    def field(self, place: Span, items: Items[Named]) -> Named:
        if len(items) == 1:
            return items[0]
        return Named(_dotted(items), items[0].token)

    def equivalence(self, place: Span, items: Items[Named]) -> Equivalence:
        return Equivalence(tuple(item.text for item in items), place)


def _string(token: Token) -> str:
    return token[1:-1].replace("''", "'")


def _like_pattern(token: Token) -> str:
    """Return the pattern of a LIKE; raise QuerySyntaxError for an invalid escape."""
    pattern = _string(token)
    try:
        like_regex(pattern)
    except ValueError as error:
        raise QuerySyntaxError(str(error), span=span_of(token)) from None
    return pattern


def _repeated(pattern: Pattern, quantifiers: Items[Quantifier], span: Span) -> Pattern:
    """Return a pattern with at most one quantifier; raise QuerySyntaxError for a second one."""
    if len(quantifiers) > 1:
        raise QuerySyntaxError(TWO_QUANTIFIERS, span=quantifiers[1].span)
    for least, most, _ in quantifiers:
        pattern = Kleene(pattern, least, most, span)
    return pattern


def _is_bare(number: Number) -> bool:
    return all(unit is None for _, unit in number.parts)


def _reference_by_position(texts: list[str]) -> tuple[Reference | None, int, int]:
    """Return the reference of the words between [ ], and its positions; None if invalid.

    >>> _reference_by_position(["i", "-", "2"]), _reference_by_position(["len"])
    ((<Reference.BACK: '[i-n]'>, 2, 0), (<Reference.LAST: '[LEN]'>, 0, 0))
    >>> _reference_by_position(["i", "-", "3", "..", "i", "-", "1"])
    (<Reference.RECENT: '[i-n..i-m]'>, 3, 1)
    """
    known = INDEXES.get(" ".join(texts))
    if known is not None:
        return known, 0, 0
    numbers = [int(text) for text in texts if text.isdecimal()]
    if not numbers or not all(1 <= number <= MOST_POSITIONS for number in numbers):
        return None, 0, 0
    if len(numbers) == 2 and " ".join(texts) == "i - {} .. i - {}".format(*numbers):
        farthest, nearest = numbers
        return Reference.RECENT if farthest >= nearest else None, farthest, nearest
    *before, last = texts
    reference = POSITIONS.get(" ".join(before))
    return reference, int(last) if last.isdecimal() else 0, 0


def _dotted(names: Iterable[Named]) -> str:
    """Return the name of a field of a struct: `user.id`."""
    return ".".join(name.text for name in names)
