"""Type inference of expressions, by one table of operators and functions.

The checks of queries, the evaluation in process, on Spark and in the engines all use this module.
For attributes of unknown kind, every possible kind is considered; an expression that no row of the
tables allows has no type, and is a mistake with a place and a reason.

Times and durations are types of their own. `time - time` is a duration; so are sums and differences
of durations, and a duration times or divided by a number; a duration divided by a duration is a
number. A time column of numbers is a time as well (TICKS): its differences (TICK_SPAN) are numbers
of the column's unit, and only beside these is a bare number in that unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from elsinore.errors import Span
from elsinore.model.comparable import no_comparison
from elsinore.model.computed import ComputedName
from elsinore.model.expression import (
    CONTAINS,
    SPREADS,
    Attribute,
    Binary,
    Call,
    Column,
    Duration,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
    Operator,
    attributes,
)
from elsinore.model.schema import AttributeKind
from elsinore.model.text_times import seconds_from_text

INTEGER, NUMBER = AttributeKind.INTEGER, AttributeKind.NUMBER
TRUTH, TEXT = AttributeKind.BOOLEAN, AttributeKind.STRING
TIME, DURATION = AttributeKind.TIME, AttributeKind.DURATION
TICKS, TICK_SPAN = AttributeKind.TICKS, AttributeKind.TICK_SPAN
QUANTITY = AttributeKind.QUANTITY

Kinds = Callable[[Attribute | Column], AttributeKind | None]  # None: not known

_NUMBERS = (INTEGER, NUMBER)
_SIGNED = (*_NUMBERS, DURATION, TICK_SPAN)  # operands of the unary minus
_QUANTITIES = (*_NUMBERS, TIME, DURATION, TICKS, TICK_SPAN)
_UNKNOWN = {AttributeKind.NULL}  # fits every operand


class Rule(NamedTuple):
    """Operators, the kinds of their operands, and the kind of the result."""

    operators: frozenset[Operator]
    left: AttributeKind
    right: AttributeKind
    result: AttributeKind


def _rules() -> Iterator[Rule]:
    add, sub, mul, div, mod = (
        frozenset((Operator[name],)) for name in ("ADD", "SUB", "MUL", "DIV", "MOD")
    )
    for left in _NUMBERS:
        for right in _NUMBERS:
            result = INTEGER if left is right is INTEGER else NUMBER
            yield Rule(add | sub | mul | mod, left, right, result)
            yield Rule(div, left, right, NUMBER)
    for time, span in ((TIME, DURATION), (TICKS, TICK_SPAN)):
        yield Rule(sub, time, time, span)
        yield Rule(add | sub, time, span, time)
        yield Rule(add, span, time, time)
        yield Rule(add | sub, span, span, span)
        yield Rule(div, span, span, NUMBER)
        for number in _NUMBERS:
            yield Rule(mul | div, span, number, span)
            yield Rule(mul, number, span, span)
    for number in _NUMBERS:  # a bare number beside a numeric time is in the column's unit
        yield Rule(add | sub, TICKS, number, TICKS)
        yield Rule(add, number, TICKS, TICKS)
        yield Rule(sub, number, TICKS, TICK_SPAN)
        yield Rule(add | sub, TICK_SPAN, number, TICK_SPAN)
        yield Rule(add | sub, number, TICK_SPAN, TICK_SPAN)


ARITHMETIC: tuple[Rule, ...] = tuple(_rules())
# The pairs of kinds that are comparable, besides each kind with itself.
COMPARABLE = frozenset(
    {
        frozenset((INTEGER, NUMBER)),
        frozenset((AttributeKind.BYTES, TEXT)),  # old writers of Parquet declare text so
        *(frozenset((time, number)) for time in (TICKS, TICK_SPAN) for number in _NUMBERS),
    }
)
# The kinds that functions of one argument accept, with the kind of the result.
FUNCTIONS: dict[str, dict[AttributeKind, AttributeKind]] = {
    "ABS": {kind: kind for kind in _SIGNED},
    "LOG2": dict.fromkeys(_NUMBERS, NUMBER),
    "SUM": {kind: kind for kind in (*_NUMBERS, DURATION, TICK_SPAN)},
    "AVG": dict.fromkeys(_NUMBERS, NUMBER) | {DURATION: DURATION, TICK_SPAN: TICK_SPAN},
    "MIN": {kind: kind for kind in (*_QUANTITIES, TRUTH)},
    "MAX": {kind: kind for kind in (*_QUANTITIES, TRUTH)},
    "MEDIAN": dict.fromkeys(_NUMBERS, NUMBER) | {TEXT: TEXT},
    "COUNT_DISTINCT": dict.fromkeys(set(AttributeKind) - {AttributeKind.NESTED}, INTEGER),
} | {name: dict.fromkeys(_NUMBERS, NUMBER) for name in SPREADS}
_MATCH_FUNCTIONS = {
    "COUNT": INTEGER,
    "MATCH_NUMBER": INTEGER,
    "CONFIDENCE": NUMBER,
    "EVENT_IDS": AttributeKind.NESTED,
}
USER_ARGUMENTS = frozenset((*_NUMBERS, TRUTH, TEXT))  # accepted by user-defined aggregates


class Mistake(NamedTuple):
    """The reason why an expression has no type, and its place in the text."""

    message: str
    span: Span | None


def kind_of(expression: Expression, kinds: Kinds) -> AttributeKind | None:
    """Return the kind of an expression; None if it is unknown, null or a mistake.

    >>> difference = Binary(Operator.SUB, Attribute("b", "time"), Attribute("a", "time"))
    >>> kind_of(difference, lambda _: TIME)
    <AttributeKind.DURATION: 'duration'>
    """
    return _Inference(kinds).kind(expression)


def mistakes(
    expression: Expression, kinds: Kinds, required: AttributeKind | None = None
) -> Iterator[Mistake]:
    """Yield the type errors in an expression, each once.

    `required` is the kind that the whole expression must have: TRUTH for conditions.

    >>> [mistake.message for mistake in mistakes(Literal(1), lambda _: None, TRUTH)]
    ['A condition is true or false, and this is a number. Compare it with something.']
    """
    inference = _Inference(kinds)
    kind = inference.kind(expression)
    if required is not None:
        inference.expect(expression, kind, required)
    yield from dict.fromkeys(inference.mistakes)


class _Inference:
    """Infers the types of an expression bottom-up, and collects mistakes."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self.mistakes: list[Mistake] = []

    def kind(self, node: Expression) -> AttributeKind | None:
        """Return the kind of a node; None if it is unknown or a mistake was recorded."""
        match node:
            case Literal(value, is_ticks=is_ticks):
                return TICK_SPAN if is_ticks else _literal_kind(value)
            case Duration():
                return DURATION
            case Attribute() | Column():
                return self._kinds(node)
            case Not(operand):
                self.expect(operand, self.kind(operand), TRUTH)
                return TRUTH
            case Negative(operand):
                return self._negative(operand)
            case IsNull(operand):
                self.kind(operand)
                return TRUTH
            case Like(operand):
                self.expect(operand, self.kind(operand), TEXT)
                return TRUTH
            case InList(operand, choices):
                self._in_list(node, operand, choices)
                return TRUTH
            case Binary(Operator.AND | Operator.OR as joined):
                for part in chain_operands(node, joined):
                    self.expect(part, self.kind(part), TRUTH)
                return TRUTH
            case Binary(operator, left, right) if operator.is_arithmetic:
                return self._arithmetic_kind(node, left, right)
            case Binary(_, left, right):
                message = self._comparison_problem(left, right)
                if message is not None:
                    self._note(message.message, message.span or node.span)
                return TRUTH
            case Call():
                return self._function_kind(node)

    def expect(self, node: Expression, kind: AttributeKind | None, required: AttributeKind) -> None:
        """Record a mistake if `node` is not of the required kind, a truth value or a text."""
        message = None if kind is None else kind_mismatch(node, kind, required)
        if message is not None:
            self._note(message, node.span)

    def _note(self, message: str, span: Span | None) -> None:
        self.mistakes.append(Mistake(message, span))

    def _negative(self, operand: Expression) -> AttributeKind | None:
        kind = self.kind(operand)
        if kind is None or kind in _UNKNOWN:
            return QUANTITY
        if kind in _SIGNED or kind is QUANTITY:
            return kind
        self._note(kind_mismatch(operand, kind, NUMBER) or "", operand.span)
        return None

    def _arithmetic_kind(
        self, node: Binary, left: Expression, right: Expression
    ) -> AttributeKind | None:
        left_kind, right_kind = self.kind(left), self.kind(right)
        fitting = {
            rule.result
            for rule in ARITHMETIC
            if node.operator in rule.operators
            and rule.left in _possible(left_kind)
            and rule.right in _possible(right_kind)
        }
        if fitting:
            return fitting.pop() if len(fitting) == 1 else _common(fitting)
        for side, kind in ((left, left_kind), (right, right_kind)):
            if kind is not None and kind not in _QUANTITIES and kind is not QUANTITY:
                self._note(kind_mismatch(side, kind, NUMBER) or "", side.span or node.span)
                return None
        self._note(_no_rule(node.operator, left_kind, right_kind), node.span)
        return None

    def _in_list(self, node: InList, operand: Expression, choices: tuple[Literal, ...]) -> None:
        for choice in choices:
            mistake = self._comparison_problem(operand, choice)
            if mistake is not None:  # one mistake for all choices
                self._note(mistake.message, mistake.span or node.span)
                return

    def _comparison_problem(self, left: Expression, right: Expression) -> Mistake | None:
        """Return why two expressions cannot be compared; None if they can."""
        left_kind, right_kind = self.kind(left), self.kind(right)
        if incomparable := _incomparable(left, right, left_kind, right_kind):
            return incomparable
        if left_kind is None or right_kind is None or is_comparable(left_kind, right_kind):
            return None
        for text, opposite in ((left, right_kind), (right, left_kind)):
            may_be_time = opposite is not None and TIME in _possible(opposite)
            if may_be_time and isinstance(text, Literal) and isinstance(text.value, str):
                if seconds_from_text(text.value) is not None:
                    return None  # a constant of text is read as a time
                if opposite is QUANTITY:
                    continue
                message = f"'{text.value}' is not a time. Write one as in '2024-01-31T12:00:00'."
                return Mistake(message, text.span)
        spans = [part.span for part in (left, right) if part.span is not None]
        return Mistake(
            f"This puts {kind_text(left_kind)} beside {kind_text(right_kind)}: they cannot be "
            f"compared.{_conversion_hint(left, right_kind)}{_conversion_hint(right, left_kind)}",
            spans[0].until(spans[-1]) if spans else None,
        )

    def _function_kind(self, node: Call) -> AttributeKind | None:
        arguments = [(argument, self.kind(argument)) for argument in node.arguments]
        if node.name == CONTAINS:
            self._check_contains(arguments)
            return TRUTH
        if node.name in _MATCH_FUNCTIONS:
            return _MATCH_FUNCTIONS[node.name]
        accepted_kinds = FUNCTIONS.get(node.name)
        if accepted_kinds is None:  # user-defined, or unknown
            for argument, kind in arguments:
                if not USER_ARGUMENTS.intersection(_possible(kind)):
                    self._note(
                        f"{node.name} is taken of numbers or text; {_operand_name(argument)} is "
                        f"{kind_text(kind)}.",
                        argument.span,
                    )
            return None
        if len(arguments) != 1:
            return None
        ((argument, kind),) = arguments
        results = {accepted_kinds[option] for option in _possible(kind) if option in accepted_kinds}
        if results:
            return results.pop() if len(results) == 1 else _common(results)
        self._note(_unaccepted_argument(node.name, argument, kind), argument.span or node.span)
        return None

    def _check_contains(self, arguments: list[tuple[Expression, AttributeKind | None]]) -> None:
        """Record a mistake if a value is not looked up in a list, or cannot be in one."""
        if len(arguments) != 2:
            return
        (listed, list_kind), (value, kind) = arguments
        if AttributeKind.NESTED not in _possible(list_kind):
            self._note(
                f"IN takes constants in parentheses, or an attribute that is a list; "
                f"{_operand_name(listed)} is {kind_text(list_kind)}.",
                listed.span,
            )
        elif reason := no_comparison(kind, within_an_event=False):
            self._note(reason, value.span)


def chain_operands(expression: Expression, joined: Operator) -> list[Expression]:
    """Return the operands of a chain of ANDs or of ORs; no recursion: it may be thousands long."""
    parts: list[Expression] = []
    pending = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, Binary) and node.operator is joined:
            pending += (node.right, node.left)
        else:
            parts.append(node)
    return parts


def _literal_kind(value: bool | float | str | None) -> AttributeKind | None:
    match value:
        case None:
            return None
        case bool():
            return TRUTH
        case str():
            return TEXT
        case int():
            return INTEGER
        case _:
            return NUMBER


def _possible(kind: AttributeKind | None) -> frozenset[AttributeKind]:
    """Return the kinds that a value of a possibly unknown kind can have."""
    if kind is None or kind in _UNKNOWN:
        return frozenset(AttributeKind) - {QUANTITY}
    return frozenset(_QUANTITIES) if kind is QUANTITY else frozenset((kind,))


def _common(kinds: set[AttributeKind]) -> AttributeKind | None:
    """Return the most specific kind that covers several possible kinds."""
    if kinds <= set(_NUMBERS):
        return NUMBER
    return QUANTITY if kinds <= set(_QUANTITIES) else None


def is_comparable(left: AttributeKind, right: AttributeKind) -> bool:
    """Return whether values of two kinds can be compared.

    >>> is_comparable(INTEGER, NUMBER), is_comparable(DURATION, NUMBER)
    (True, False)
    """
    return any(
        left_kind is right_kind or frozenset((left_kind, right_kind)) in COMPARABLE
        for left_kind in _possible(left)
        for right_kind in _possible(right)
    )


_TEXTS = {
    INTEGER: "a number",
    NUMBER: "a number",
    TEXT: "text",
    TRUTH: "a truth value",
    TIME: "a time",
    TICKS: "a time",
    AttributeKind.NESTED: "a struct, an array or a map",
    AttributeKind.BYTES: "bytes",
    AttributeKind.CLOCK: "a time of day",
    DURATION: "a length of time",
    TICK_SPAN: "a length of time",
    QUANTITY: "a number, a time or a length of time",
    AttributeKind.INTERVAL: "an interval with months",
    AttributeKind.COLLATED: "text with a collation other than binary",
    AttributeKind.OTHER: "of a type that is only returned",
}


def kind_text(kind: AttributeKind | None) -> str:
    """Return the name of a kind of value in messages."""
    return "null" if kind is None else _TEXTS.get(kind, "null")


def kind_mismatch(node: Expression, kind: AttributeKind, required: AttributeKind) -> str | None:
    """Return the message for a value that is not of the `required` kind; None if it is.

    >>> kind_mismatch(Literal(1), NUMBER, TRUTH)
    'A condition is true or false, and this is a number. Compare it with something.'
    """
    if kind is required or kind not in _TEXTS or (kind.is_numeric and required is NUMBER):
        return None
    actual = kind_text(kind)
    if kind is QUANTITY:
        actual = "a number"
    if required is TEXT:
        return f"LIKE is for text, and this is {actual}."
    if required is NUMBER:
        casts = ""
        if kind is TEXT and isinstance(node, Attribute):
            casts = " CAST(x AS TIMESTAMP) makes text a time, and CAST(x AS DOUBLE) a number."
        return f"A number is needed here, and this is {actual}.{casts}"
    example = ""
    is_column = isinstance(node, Attribute) and not isinstance(node.name, ComputedName)
    if isinstance(node, Attribute) and is_column and kind is not AttributeKind.NESTED:
        constant = "> 0" if kind.is_numeric or kind is TICKS else "= 'a text'"
        constant = "> '2024-01-01'" if kind is TIME else constant
        constant = "> 5 minutes" if kind is DURATION else constant
        example = f", as in {node.variable}{node.reference.value}.{node.name} {constant}"
    return (
        f"A condition is true or false, and this is {actual}. Compare it with something{example}."
    )


def _no_rule(operator: Operator, left: AttributeKind | None, right: AttributeKind | None) -> str:
    """Return the message for an operator that does not accept these times or durations."""
    kinds = {left, right}
    sign = operator.value
    if operator is Operator.ADD and kinds <= {TIME, TICKS}:
        why = "two times cannot be added"
    elif kinds & {TIME, TICKS} and operator in {Operator.MUL, Operator.DIV, Operator.MOD}:
        verb = {Operator.MUL: "multiplied", Operator.DIV: "divided"}.get(operator)
        why = f"a time cannot be {verb}" if verb else f"a time has no remainder ({sign})"
    elif kinds & {TIME, DURATION} and kinds & {INTEGER, NUMBER}:
        why = (
            f"{kind_text(left)} {sign} {kind_text(right)} has no meaning: write the number with "
            "its unit, as in 5 minutes"
        )
    elif kinds & {TIME, DURATION} and kinds & {TICKS, TICK_SPAN}:
        why = (
            "one is in a time column of numbers, the other is a timestamp, a date or an interval; "
            "divide an interval by 1 second (or another unit) for a number"
        )
    else:
        why = f"{kind_text(left)} {sign} {kind_text(right)} has no meaning"
    return (
        f"This cannot be computed: {why}. Times may be subtracted from one another, and lengths of "
        "time added to times and to one another, or multiplied and divided by numbers."
    )


def _unaccepted_argument(name: str, argument: Expression, kind: AttributeKind | None) -> str:
    """Return the message for a function that does not accept an argument of this kind."""
    actual = f"{_operand_name(argument)} is {kind_text(kind)}"
    if name in {"MIN", "MAX"}:
        return f"{name} is for numbers, times and truth values; {actual}."
    if name == "MEDIAN":
        return f"{name} is for numbers and text; {actual}."
    if kind in {TIME, TICKS}:
        or_length = " or a length of time" if DURATION in FUNCTIONS[name] else ""
        return (
            f"{name} needs a number{or_length}; "
            f"{actual}. Take the difference of two times, or MIN and MAX."
        )
    return f"{name} needs a number; {actual}."


def _operand_name(argument: Expression) -> str:
    if isinstance(argument, Attribute) and argument.name is not None:
        return f"'{argument.name}'"
    return "this"


def _incomparable(
    left: Expression,
    right: Expression,
    left_kind: AttributeKind | None,
    right_kind: AttributeKind | None,
) -> Mistake | None:
    """Return the mistake for an operand that cannot be compared; None if both can be."""
    read = (part for side in (left, right) for part in attributes(side))
    events = {(part.variable, part.reference) for part in read}
    for side, kind in ((left, left_kind), (right, right_kind)):
        reason = no_comparison(kind, within_an_event=len(events) <= 1)
        if reason is not None:
            return Mistake(reason, side.span)
    return None


def _conversion_hint(node: Expression, required: AttributeKind) -> str:
    """Return a hint for writing a constant as the kind that it is compared with.

    >>> _conversion_hint(Literal("5"), AttributeKind.NUMBER), _conversion_hint(Literal(5), TEXT)
    (' Write 5 without quotes.', " Write '5' in quotes.")
    """
    if isinstance(node, Duration) and required.is_numeric:
        return " For a number of seconds, divide by 1 second."
    if not isinstance(node, Literal):
        return ""
    value = node.value
    if required is TRUTH:
        return " A truth value stands alone, or after NOT, or is compared with TRUE and FALSE."
    if required is TIME:
        return " A time is written as in '2024-01-31T12:00:00'."
    if required is DURATION:
        return " A length of time is written with its unit, as in 5 minutes."
    if required is TEXT and isinstance(value, int | float):
        return f" Write '{value!r}' in quotes."
    digits = str(value).strip().lstrip("+").rstrip(".")  # as a number is written here
    if required.is_numeric and digits.lstrip("-").replace(".", "", 1).isdecimal():
        return f" Write {digits} without quotes."
    return ""
