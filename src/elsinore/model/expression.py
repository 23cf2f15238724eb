"""Expressions over the attributes of events: the nodes of WHERE and RETURN.

An attribute is read through a variable of the pattern, and `Reference` says which of the events
bound to the variable is meant: the one event of a single variable, the current, previous, first or
last event of a Kleene variable, or all or the earlier ones as the argument of an aggregate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from elsinore.errors import Span

MOST_POSITIONS = 100  # each takes a register of every partial match


class Reference(Enum):
    """Which events of a variable an attribute is read from; the value is its spelling."""

    PLAIN = ""  # a.price, T.speed: the event of a single variable; each event of a Kleene one
    CURRENT = "[i]"  # b[i].val: the event being selected
    PREVIOUS = "[i-1]"  # b[i-1].val: its predecessor, bound to the same variable
    FIRST = "[1]"  # b[1].val: the first event bound to the variable
    LAST = "[LEN]"  # b[b.LEN].val: the last one
    ALL = "[]"  # AVG(b[].val): all of them
    EARLIER = "[1..i-1]"  # MAX(b[1..i-1].val): all before the current one
    # those at `Attribute.position` n, and `nearest` m
    NTH = "[n]"  # b[2].val: the second event bound to the variable
    FROM_LAST = "[LEN-n]"  # b[b.LEN-1].val: n events before the last one
    BACK = "[i-n]"  # b[i-2].val: n events before the current one
    RECENT = "[i-n..i-m]"  # AVG(b[i-3..i-1].val): those from n to m events before the current one


class Operator(Enum):
    """The operators of two operands, by their canonical spelling."""

    OR = "OR"
    AND = "AND"
    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    MOD = "%"

    @property
    def is_comparison(self) -> bool:
        """Whether it compares two values."""
        return self in COMPARISONS

    @property
    def is_arithmetic(self) -> bool:
        """Whether it computes a number from two numbers."""
        return self in ARITHMETIC


MIRRORED = {  # comparisons, with those that are equivalent after swapping the operands
    Operator.LT: Operator.GT,
    Operator.LE: Operator.GE,
    Operator.GT: Operator.LT,
    Operator.GE: Operator.LE,
    Operator.EQ: Operator.EQ,
    Operator.NE: Operator.NE,
}
COMPARISONS = frozenset(MIRRORED)
ARITHMETIC = frozenset({Operator.ADD, Operator.SUB, Operator.MUL, Operator.DIV, Operator.MOD})


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: a number, a string, TRUE, FALSE or NULL.

    `is_ticks`: the number is a duration in the unit of a numeric time column. `parameter` is the
    name of a parameter without a value (`model.parameters`); the value is then None.
    """

    value: bool | int | float | str | None
    span: Span | None = field(default=None, compare=False, repr=False)
    is_ticks: bool = field(default=False, repr=False)
    parameter: str | None = field(default=None, repr=False)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value, self.parameter))

    def __eq__(self, other: object) -> bool:
        """Compare type and value: 1, 1.0 and TRUE are three literals."""
        if not isinstance(other, Literal):
            return NotImplemented
        same_type = type(self.value) is type(other.value) and self.is_ticks == other.is_ticks
        return same_type and self.value == other.value and self.parameter == other.parameter


@dataclass(frozen=True, slots=True)
class Duration:
    """A constant length of time, in nanoseconds: `5 minutes`, `-1 day`."""

    nanoseconds: int
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of an event of a variable: `T.speed`, `b[i-1].val`.

    `name` is None for the event itself: `COUNT(b[])`, `b[]` in a RETURN.
    """

    variable: str
    name: str | None
    reference: Reference = Reference.PLAIN
    span: Span | None = field(default=None, compare=False, repr=False)
    position: int = 0
    nearest: int = 0  # of RECENT

    @property
    def index(self) -> str:
        """The index written after the variable: `[1]`, `[i-2]`, `[b.LEN]`, or ""."""
        index = self.reference.value.replace("n", str(self.position))
        index = index.replace("m", str(self.nearest))
        return index.replace("LEN", f"{self.variable}.LEN")


@dataclass(frozen=True, slots=True)
class Column:
    """An attribute that all events of a trend or match share, as after GROUP BY district.

    `quoted` says that it was written in double quotes, which may have been meant as text.
    """

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)
    quoted: bool = field(default=False, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Not:
    """Logical negation."""

    operand: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Negative:
    """Arithmetic negation, `-operand`."""

    operand: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """Two operands and the operator between them."""

    operator: Operator
    left: Expression
    right: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class IsNull:
    """`operand IS NULL`; NaN is null too."""

    operand: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class InList:
    """`operand IN (literal, ...)`."""

    operand: Expression
    choices: tuple[Literal, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Like:
    r"""`operand LIKE 'pattern'`: `%` stands for any text, `_` for one character.

    A backslash escapes `%`, `_` and a backslash.
    """

    operand: Expression
    pattern: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A scalar function or an aggregate over a variable's events: `ABS(x)`, `AVG(b[].val)`.

    `name` is in upper case. `COUNT(*)` has no arguments. `function` is the Python function if the
    user has registered one of this name.
    """

    name: str
    arguments: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
    function: Callable[..., object] | None = field(default=None, compare=False, repr=False)


Constant = Literal | Duration
Expression = Constant | Attribute | Column | Not | Negative | Binary | IsNull | InList | Like | Call

SPREADS = frozenset({"VARIANCE", "STDDEV", "VAR_POP", "STDDEV_POP"})
COUNTS = frozenset({"COUNT", "COUNT_DISTINCT"})  # 0 of a variable that is not bound
OF_ONE_MATCH = frozenset({"MEDIAN", "COUNT_DISTINCT"})  # that trends have no sums for
AGGREGATES = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX"}) | SPREADS | OF_ONE_MATCH
SCALARS = frozenset({"ABS", "LOG2"})
# Whether a list has a value, of two events: of one event it is SQL (`elsinore.model.computed`).
CONTAINS = "ARRAY_CONTAINS"
BETWEEN_EVENTS = SCALARS | {CONTAINS}  # functions that conditions between events compute
# Functions of a whole match in RETURN, with their least and greatest numbers of arguments: its
# number among the matches of its key, the values of an attribute that identifies its events, its
# probability.
MATCH_FUNCTIONS = {"MATCH_NUMBER": (0, 0), "EVENT_IDS": (0, 1), "CONFIDENCE": (0, 0)}
LANGUAGE_FUNCTIONS = AGGREGATES | BETWEEN_EVENTS | MATCH_FUNCTIONS.keys()


def like_regex(pattern: str) -> str:
    r"""Return the regular expression whose full matches are the texts that are LIKE a pattern.

    Raises ValueError for a backslash before another character than `%`, `_` and a backslash.

    >>> print(like_regex("a.c"), like_regex("/shop/%_"))
    a\.c /shop/.*.
    """
    pieces: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            escaped_character = next(characters, "")
            if escaped_character not in ("%", "_", "\\"):
                raise ValueError(
                    "In a LIKE pattern a backslash stands before %, _ or another backslash; "
                    "a backslash itself is written as two."
                )
            pieces.append(re.escape(escaped_character))
        else:
            pieces.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    return "".join(pieces)


def children(expression: Expression) -> tuple[Expression, ...]:
    """Return the operands of an expression, left to right."""
    match expression:
        case Not(operand) | Negative(operand) | IsNull(operand):
            return (operand,)
        case InList(operand, _) | Like(operand, _):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Call(_, arguments):
            return arguments
        case _:
            return ()


def with_children(expression: Expression, parts: tuple[Expression, ...]) -> Expression:
    """Return an expression with its operands replaced by `parts`, in the order of `children`.

    >>> with_children(Negative(Literal(1)), (Literal(2),))
    Negative(operand=Literal(value=2))
    """
    match expression:
        case Binary():
            left, right = parts
            return replace(expression, left=left, right=right)
        case Call():
            return replace(expression, arguments=parts)
        case Not() | Negative() | IsNull() | InList() | Like():
            (operand,) = parts
            return replace(expression, operand=operand)
        case _:
            return expression


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all below it, each before its operands."""
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def attributes(expression: Expression) -> tuple[Attribute, ...]:
    """Return the attributes an expression reads, in text order, repeats included."""
    return tuple(node for node in walk(expression) if isinstance(node, Attribute))


def with_attributes(expression: Expression, put: Callable[[Attribute], Expression]) -> Expression:
    """Replace each attribute of an expression by the result of `put`, without spans.

    >>> other = Attribute("b", "x")
    >>> with_attributes(Negative(Attribute("a", "x")), lambda _: other) == Negative(other)
    True
    """
    match expression:
        case Attribute():
            return put(expression)
        case Not(operand) | Negative(operand) | IsNull(operand):
            return replace(expression, operand=with_attributes(operand, put), span=None)
        case InList(operand, choices):
            return InList(with_attributes(operand, put), choices)
        case Like(operand, pattern):
            return Like(with_attributes(operand, put), pattern)
        case Binary(operator, left, right):
            return Binary(operator, with_attributes(left, put), with_attributes(right, put))
        case Call(arguments=arguments):
            put_in = tuple(with_attributes(argument, put) for argument in arguments)
            return replace(expression, arguments=put_in, span=None)
        case _:
            return expression


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """Return the operands of the outermost ANDs.

    >>> a, b = Literal(value=True), Literal(value=False)
    >>> conjuncts(Binary(Operator.AND, a, b)) == (a, b)
    True
    """
    parts: list[Expression] = []
    pending = [expression]  # no recursion: a WHERE may have thousands of them
    while pending:
        node = pending.pop()
        if isinstance(node, Binary) and node.operator is Operator.AND:
            pending += (node.right, node.left)
        else:
            parts.append(node)
    return tuple(parts)
