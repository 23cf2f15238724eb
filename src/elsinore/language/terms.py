"""Building expressions in Python: attributes of events, with operators and methods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial, reduce

from elsinore.errors import QuerySemanticError, kind_of_value
from elsinore.model import (
    Attribute,
    Binary,
    Call,
    Duration,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
    Operator,
    Reference,
    ReturnItem,
)
from elsinore.model.expression import CONTAINS, like_regex

Value = bool | int | float | str | timedelta | None


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """An expression; operators and methods return new ones.

    `&`, `|` and `~` are AND, OR and NOT. Python's `and`, `or` and `not` cannot be overloaded, nor
    can `1 < T.x < 5`: they raise TypeError.

    >>> from elsinore.language import render
    >>> from elsinore.language.builder import event
    >>> T = event("Travel", "T")
    >>> render(((T.speed < 10) | T.fare.is_null()).node)
    'T.speed < 10 OR T.fare IS NULL'
    """

    node: Expression

    # --- conditions -----------------------------------------------------------------------------

    def __eq__(self, other: object) -> Term:  # type: ignore[override]
        return self._with(Operator.EQ, other)

    def __ne__(self, other: object) -> Term:  # type: ignore[override]
        return self._with(Operator.NE, other)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: object) -> Term:
        return self._with(Operator.LT, other)

    def __le__(self, other: object) -> Term:
        return self._with(Operator.LE, other)

    def __gt__(self, other: object) -> Term:
        return self._with(Operator.GT, other)

    def __ge__(self, other: object) -> Term:
        return self._with(Operator.GE, other)

    def __and__(self, other: object) -> Term:
        return self._with(Operator.AND, other)

    def __or__(self, other: object) -> Term:
        return self._with(Operator.OR, other)

    def __invert__(self) -> Term:
        return Term(Not(self.node))

    def __bool__(self) -> bool:
        raise TypeError(
            "A condition on events is neither true nor false yet. Join conditions by & and |, turn "
            "them round by ~, each in parentheses, and write (1 < x) & (x < 5) for 1 < x < 5."
        )

    def is_null(self) -> Term:
        """Return whether the value is null."""
        return Term(IsNull(self.node))

    def is_not_null(self) -> Term:
        """Return whether the value is not null."""
        return Term(Not(IsNull(self.node)))

    def is_in(self, choices: Iterable[Value] | Term) -> Term:
        """Return whether the value is one of `choices`, or in a list attribute.

        >>> from elsinore.language import render
        >>> from elsinore.language.builder import event
        >>> render(event("Connection", "c").ip.is_in(event("Lookup", "d").ips).node)
        'ARRAY_CONTAINS(d.ips, c.ip)'
        """
        if isinstance(choices, Term):
            return Term(Call(CONTAINS, (choices.node, self.node)))
        constants = [constant_for(choice) for choice in choices]
        plain = tuple(choice for choice in constants if isinstance(choice, Literal))
        if len(plain) == len(constants):
            return Term(InList(self.node, plain))
        equal = (Binary(Operator.EQ, self.node, choice) for choice in constants)
        return Term(reduce(partial(Binary, Operator.OR), equal))

    def like(self, pattern: str) -> Term:
        r"""Return whether a text matches a pattern: `%` is any text, `_` any one character.

        A backslash escapes `%`, `_` or a backslash. Raises QuerySemanticError for a backslash
        before another character.

        >>> from elsinore.language import render
        >>> from elsinore.language.builder import event
        >>> render(event("View", "V").page.like("/shop/%").node)
        "V.page LIKE '/shop/%'"
        """
        if not isinstance(pattern, str):
            raise TypeError(f"A LIKE pattern is text, not {kind_of_value(pattern)}.")
        try:
            like_regex(pattern)
        except ValueError as error:
            raise QuerySemanticError(str(error)) from None
        return Term(Like(self.node, pattern))

    def ilike(self, pattern: str) -> Term:
        """Return whether a text matches a pattern (see `like`), ignoring case."""
        return self._sql("ILIKE", pattern)

    def rlike(self, expression: str) -> Term:
        r"""Return whether a text contains a match of a regular expression in Java's syntax.

        >>> from elsinore.language import render
        >>> from elsinore.language.builder import event
        >>> render(event("View", "V").page.rlike(r"^/shop/\d+").node)
        "V.page RLIKE '^/shop/\\d+'"
        """
        return self._sql("RLIKE", expression)

    def cast(self, kind: str) -> Term:
        """Return the value in another type of Spark's SQL, such as "INT"; null if that fails.

        >>> from elsinore.language import render
        >>> from elsinore.language.builder import event
        >>> render(event("View", "V").page.cast("INT").node)
        'CAST(V.page AS INT)'
        """
        return self._sql("CAST", kind)

    def element(self, index: int) -> Term:
        """Return the element of a list at an index from 0; null if there is none."""
        return self._sql("ELEMENT", index)

    def between(self, least: object, most: object) -> Term:
        """Return whether the value is between two others, inclusive."""
        return (self >= least) & (self <= most)

    # --- arithmetic -----------------------------------------------------------------------------

    def __add__(self, other: object) -> Term:
        return self._with(Operator.ADD, other)

    def __radd__(self, other: object) -> Term:
        return Term(as_expression(other))._with(Operator.ADD, self)

    def __sub__(self, other: object) -> Term:
        return self._with(Operator.SUB, other)

    def __rsub__(self, other: object) -> Term:
        return Term(as_expression(other))._with(Operator.SUB, self)

    def __mul__(self, other: object) -> Term:
        return self._with(Operator.MUL, other)

    def __rmul__(self, other: object) -> Term:
        return Term(as_expression(other))._with(Operator.MUL, self)

    def __truediv__(self, other: object) -> Term:
        return self._with(Operator.DIV, other)

    def __rtruediv__(self, other: object) -> Term:
        return Term(as_expression(other))._with(Operator.DIV, self)

    def __mod__(self, other: object) -> Term:
        return self._with(Operator.MOD, other)

    def __rmod__(self, other: object) -> Term:
        return Term(as_expression(other))._with(Operator.MOD, self)

    def __neg__(self) -> Term:
        return Term(Negative(self.node))

    def __abs__(self) -> Term:
        return self._call("ABS")

    # --- functions and columns ------------------------------------------------------------------

    def abs(self) -> Term:
        """Return the absolute value."""
        return self._call("ABS")

    def log2(self) -> Term:
        """Return the binary logarithm."""
        return self._call("LOG2")

    def count(self) -> Term:
        """Return the number of values: for `b.all.x`."""
        return self._call("COUNT")

    def sum(self) -> Term:
        """Return the sum over all trends, or over a match's events for `b.all.x`."""
        return self._call("SUM")

    def avg(self) -> Term:
        """Return the average, over the same values as `sum`."""
        return self._call("AVG")

    def min(self) -> Term:
        """Return the least value, over the same values as `sum`."""
        return self._call("MIN")

    def max(self) -> Term:
        """Return the greatest value, over the same values as `sum`."""
        return self._call("MAX")

    def count_distinct(self) -> Term:
        """Return the number of distinct values in one match: of `b.all.x` or `b.earlier.x`."""
        return self._call("COUNT_DISTINCT")

    def median(self) -> Term:
        """Return the median in one match: of `b.all.x` or `b.earlier.x`, numbers or text.

        For an even number of values, it is the mean of the two in the middle, or for text the lower
        one. Nulls are ignored.
        """
        return self._call("MEDIAN")

    def variance(self) -> Term:
        """Return the sample variance, over the same values as `sum`."""
        return self._call("VARIANCE")

    def stddev(self) -> Term:
        """Return the sample standard deviation, the square root of `variance`."""
        return self._call("STDDEV")

    def var_pop(self) -> Term:
        """Return the population variance, the mean of squared differences from `avg`."""
        return self._call("VAR_POP")

    def stddev_pop(self) -> Term:
        """Return the population standard deviation, the square root of `var_pop`."""
        return self._call("STDDEV_POP")

    def alias(self, name: str) -> ReturnItem:
        """Return the column of this name, for `select`."""
        return ReturnItem(self.node, name)

    def _sql(self, name: str, argument: object) -> Term:
        return Term(Call(name, (self.node, as_expression(argument))))

    def _call(self, name: str) -> Term:
        return Term(Call(name, (self.node,)))

    def _with(self, operator: Operator, other: object) -> Term:
        return Term(Binary(operator, self.node, as_expression(other)))


@dataclass(frozen=True, slots=True)
class EventReference:
    """Some events of a variable: `b.current`, `b.all`; it has the variable's attributes."""

    _variable: str
    _reference: Reference
    _position: int = 0
    _nearest: int = 0

    def __getattr__(self, name: str) -> Term:
        if name.startswith("__") or name in {"_variable", "_reference", "_position", "_nearest"}:
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Term:
        place = self._position, self._nearest
        return Term(Attribute(self._variable, name, self._reference, None, *place))

    def count(self) -> Term:
        """Return the number of these events: `COUNT(b[])`."""
        return Term(Call("COUNT", (as_expression(self),)))

    def alias(self, name: str) -> ReturnItem:
        """Return the column of this name, for `select`: the events themselves."""
        return ReturnItem(as_expression(self), name)


def as_expression(item: object) -> Expression:
    """Return the node of a term or Python value; raise TypeError for other objects."""
    if isinstance(item, Term):
        return item.node
    if isinstance(item, EventReference):
        place = item._position, item._nearest
        return Attribute(item._variable, None, item._reference, None, *place)
    return constant_for(item)


class OwnName(str):
    """The name of a predicate; its type distinguishes it from a column called `name`."""

    __slots__ = ()


def constant_for(value: object) -> Literal | Duration:
    """Return the constant for a Python value; dates and datetimes become text.

    Raises TypeError for other objects.
    """
    if isinstance(value, OwnName):
        raise TypeError(
            f"{value}.name is the predicate's own name. A column called so is "
            f'{value}["name"], in brackets.'
        )
    if isinstance(value, Literal | Duration):
        return value
    if isinstance(value, date):
        return Literal(value.isoformat())
    if isinstance(value, timedelta):
        return Duration(value // timedelta(microseconds=1) * 1_000)
    if hasattr(value, "item") and callable(value.item):  # a NumPy scalar
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return Literal(value)
    raise TypeError(
        "A condition compares attributes, numbers, strings, dates, timedeltas, True, False and "
        f"None; not {kind_of_value(value)}."
    )
