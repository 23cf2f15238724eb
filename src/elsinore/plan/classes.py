"""Classes: one integer per event encodes its type and the truth of its local predicates.

The class of an event is `offset of its type + mixed-radix number of its digits`. A digit encodes
some of the type's local predicates:

- `Cuts`: comparisons of one numeric attribute with constants. m constants cut the numbers into
  2m + 1 regions (below, at and between them); digit 0 is null. A thousand thresholds on one
  attribute are one search, not a thousand passes.
- `Choices`: =, != and IN of one attribute with strings or truth values; digit 0 is null, 1 another
  value than those named. Strings that may be times must have one format, because one time can be
  written in several.
- `Bit`: any other predicate: 1 where it is true.

(Classification happens before the engine: docs/ARCHITECTURE.md. The regions are the minterms of the
predicates.)
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from elsinore.errors import UnsupportedError
from elsinore.model.evaluate import COMPARE
from elsinore.model.expression import (
    MIRRORED,
    Attribute,
    Binary,
    Expression,
    InList,
    Literal,
    Negative,
    Operator,
    attributes,
)

CLASS_LIMIT = 2**62  # classes are 64-bit integers, below 0 meaning none
EXACT_DOUBLES = 2**53  # whole numbers below it are doubles, so that cuts order them rightly
TIME = re.compile(r"\s*(\d{4}-\d\d-\d\d|\d\d:\d\d(:\d\d(\.\d+)?)?\s*$)")  # as texts may begin
_CLOCK = r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?"
PLAIN_TIME = re.compile(rf"\d{{4}}-\d\d-\d\d([ T]{_CLOCK}Z?)?|{_CLOCK}")  # of no zone but UTC
FEW = 2  # up to so many predicates on an attribute bits are no more work than cuts


@dataclass(frozen=True, slots=True)
class Cuts:
    """Comparisons of one attribute with numbers; `points` ascending."""

    attribute: str
    points: tuple[int | float, ...]
    predicates: tuple[Expression, ...]
    tests: tuple[tuple[Expression, Operator, int], ...] = field(
        init=False, compare=False, repr=False
    )  # of each predicate its operator and the region of its constant

    def __post_init__(self) -> None:
        object.__setattr__(self, "tests", tuple(map(self._test, self.predicates)))

    @property
    def radix(self) -> int:
        """How many values the digit has."""
        return 2 * len(self.points) + 2

    def true(self, digit: int) -> frozenset[Expression]:
        """Return the predicates that hold where the attribute is in the digit's region.

        Region r is below the points r/2, ... for even r and at point (r-1)/2 for odd r.
        """
        if digit == 0:
            return frozenset()
        region = digit - 1
        return frozenset(
            predicate for predicate, test, place in self.tests if COMPARE[test](region, place)
        )

    def _test(self, predicate: Expression) -> tuple[Expression, Operator, int]:
        comparison = comparison_with_number(predicate)
        if comparison is None:
            raise TypeError(f"not a comparison with a number: {predicate}")
        _, test, point = comparison
        return predicate, test, 2 * bisect.bisect_left(self.points, point) + 1


@dataclass(frozen=True, slots=True)
class Choices:
    """Tests of one attribute for equality with a few values; digit k + 2 is `values[k]`."""

    attribute: str
    values: tuple[str | bool, ...]
    predicates: tuple[Expression, ...]

    @property
    def radix(self) -> int:
        """How many values the digit has."""
        return len(self.values) + 2

    def tests(self) -> Iterator[Expression]:
        """Yield for each of `values` the test that the attribute is equal to it."""
        for value in self.values:
            yield Binary(Operator.EQ, Attribute("", self.attribute), Literal(value))

    def true(self, digit: int) -> frozenset[Expression]:
        """Return the predicates that hold where the attribute has the digit's value."""
        if digit == 0:
            return frozenset()
        value = self.values[digit - 2] if digit > 1 else None
        accepted = set()
        for predicate in self.predicates:
            match predicate:
                case InList(_, choices):
                    holds = any(choice.value == value for choice in choices)
                case Binary(operator, left, right):
                    constant = right if isinstance(right, Literal) else left
                    same = isinstance(constant, Literal) and constant.value == value
                    holds = same == (operator is Operator.EQ)
                case _:
                    raise TypeError(f"not a test of a value: {predicate}")
            if holds:
                accepted.add(predicate)
        return frozenset(accepted)


@dataclass(frozen=True, slots=True)
class Bit:
    """Any one predicate."""

    predicate: Expression

    @property
    def radix(self) -> int:
        """How many values the digit has."""
        return 2

    def true(self, digit: int) -> frozenset[Expression]:
        """Return the predicate where the digit is 1."""
        return frozenset((self.predicate,)) if digit else frozenset()


Digit = Cuts | Choices | Bit


@dataclass(frozen=True, slots=True)
class TypeClasses:
    """The classes of one event type: `offset` and the `size - 1` numbers after it."""

    type: str
    offset: int
    digits: tuple[Digit, ...]

    @property
    def size(self) -> int:
        """How many classes the type has."""
        size = 1
        for digit in self.digits:
            size *= digit.radix
        return size

    def true(self, code: int) -> frozenset[Expression]:
        """Return the predicates that hold for a class of this type."""
        remaining = code - self.offset
        accepted: frozenset[Expression] = frozenset()
        for digit in reversed(self.digits):
            remaining, value = divmod(remaining, digit.radix)
            accepted |= digit.true(value)
        return accepted


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of all types that a set of queries names."""

    types: tuple[TypeClasses, ...]

    @property
    def size(self) -> int:
        """How many classes there are."""
        return self.types[-1].offset + self.types[-1].size if self.types else 0

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes on which an event's class depends."""
        read: set[str] = set()
        for classes in self.types:
            for digit in classes.digits:
                if isinstance(digit, Bit):
                    read.update(attribute.name or "" for attribute in attributes(digit.predicate))
                else:
                    read.add(digit.attribute)
        return frozenset(read)

    def decode(self, code: int) -> tuple[str, frozenset[Expression]]:
        """Return the type of a class and the predicates that hold for it."""
        place = bisect.bisect_right([classes.offset for classes in self.types], code) - 1
        classes = self.types[place]
        return classes.type, classes.true(code)


def comparison_with_number(
    predicate: Expression,
) -> tuple[str, Operator, int | float] | None:
    """Return attribute, operator and constant of a comparison of the two; None for all else."""
    if not isinstance(predicate, Binary) or predicate.operator not in MIRRORED:
        return None
    left, right, operator = predicate.left, predicate.right, predicate.operator
    number = _number(left)
    if number is not None:
        left, right, operator = right, left, MIRRORED[operator]
    number = _number(right)
    if not isinstance(left, Attribute) or left.name is None or number is None:
        return None
    return left.name, operator, number


def _number(expression: Expression) -> int | float | None:
    if isinstance(expression, Negative):
        inner = _number(expression.operand)
        return None if inner is None else -inner
    if isinstance(expression, Literal) and type(expression.value) in (int, float):
        number = expression.value
        if isinstance(number, int | float) and abs(number) < EXACT_DOUBLES:
            return number
    return None


def _choice(predicate: Expression) -> tuple[str, tuple[str | bool, ...]] | None:
    match predicate:
        case InList(Attribute(_, str(name)), choices):
            values = [choice.value for choice in choices]
        case Binary(Operator.EQ | Operator.NE, Attribute(_, str(name)), Literal(value)) | Binary(
            Operator.EQ | Operator.NE, Literal(value), Attribute(_, str(name))
        ):
            values = [value]
        case _:
            return None
    if all(isinstance(value, str) for value in values) or all(
        isinstance(value, bool) for value in values
    ):
        return name, tuple(value for value in values if isinstance(value, str | bool))
    return None


def _values_of(group: Iterable[Expression]) -> list[str | bool]:
    """Return the constants that predicates compare an attribute with, each once, in order."""
    choices = map(_choice, group)
    return sorted({value for choice in choices if choice is not None for value in choice[1]})


def _is_time(value: str | bool) -> bool:
    """Return whether a value is, or begins with, the text of a time."""
    return isinstance(value, str) and TIME.match(value) is not None


def _may_be_one_time(values: Iterable[str | bool]) -> bool:
    """Return whether two of the values may be one time, written in two ways.

    >>> _may_be_one_time(["2024-01-01", "2024-01-02", "none"])
    False
    >>> _may_be_one_time(["2024-01-01", "2024-01-01 00:00"])
    True
    """
    times = [str(value) for value in values if _is_time(value)]
    ways = {re.sub(r"\d", "0", time) for time in times}
    return len(ways) > 1 or not all(map(PLAIN_TIME.fullmatch, times))


def digits_of(predicates: Iterable[Expression]) -> tuple[Digit, ...]:
    """Return the fewest digits that encode a type's predicates."""
    by_number: dict[str, list[Expression]] = {}
    by_choice: dict[tuple[str, type], list[Expression]] = {}
    plain: list[Expression] = []
    for predicate in predicates:
        comparison = comparison_with_number(predicate)
        choice = _choice(predicate)
        if comparison is not None:
            by_number.setdefault(comparison[0], []).append(predicate)
        elif choice is not None:
            by_choice.setdefault((choice[0], type(choice[1][0])), []).append(predicate)
        else:
            plain.append(predicate)
    digits: list[Digit] = []
    for attribute, group in by_number.items():
        if len(group) <= FEW:
            digits.extend(Bit(predicate) for predicate in group)
            continue
        comparisons = (comparison_with_number(predicate) for predicate in group)
        points = sorted({comparison[2] for comparison in comparisons if comparison is not None})
        digits.append(Cuts(attribute, tuple(points), tuple(group)))
    for (attribute, _), tests in by_choice.items():
        group = tests
        if _may_be_one_time(_values_of(tests)):
            group = [test for test in tests if not any(map(_is_time, _values_of([test])))]
            plain.extend(test for test in tests if test not in group)
        if len(group) <= FEW:
            digits.extend(Bit(predicate) for predicate in group)
            continue
        digits.append(Choices(attribute, tuple(_values_of(group)), tuple(group)))
    digits.extend(Bit(predicate) for predicate in plain)
    return tuple(digits)


def classes_of(predicates: Iterable[tuple[str, Iterable[Expression]]]) -> Classes:
    """Number the classes of the given types, each with its local predicates (over the type).

    Raises UnsupportedError where a type has too many predicates to number their combinations.
    """
    types: list[TypeClasses] = []
    offset = 0
    for name, local in predicates:
        classes = TypeClasses(name, offset, digits_of(dict.fromkeys(local)))
        offset += classes.size
        if offset > CLASS_LIMIT:
            raise UnsupportedError(
                f"WHERE: type {name} has more local predicates than can be told apart at once "
                f"(their combinations exceed 2**62). Run the queries as several workloads."
            )
        types.append(classes)
    return Classes(tuple(types))
