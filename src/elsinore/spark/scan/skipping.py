"""Skipping row groups without relevant events by their statistics (predicate pushdown)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa

from elsinore.model.expression import (
    MIRRORED,
    Attribute,
    Binary,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Not,
    Operator,
    attributes,
)
from elsinore.plan import Unit
from elsinore.plan.classes import Bit, TypeClasses
from elsinore.spark.scan.bounds import Statistics, of_folder
from elsinore.spark.scan.conditions import (
    Bounds,
    BoundsOf,
    Comparison,
    Condition,
    Conjunction,
    Disjunction,
    IsIn,
    Negation,
    NullTest,
    Outcome,
    Undecided,
    columns_of,
    outcome,
)
from elsinore.spark.scan.files import FileColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipping:
    """Decides which row groups are read.

    `condition` is the data frame's filter. An event is relevant to some query if it satisfies at
    least one of `interests` (None: all events) and has values in the columns `required`. If
    `strict`, row groups that may contain unusable events are read, in order to reject these.
    `columns` are the events' columns, by the files' names.
    """

    condition: Condition | None
    interests: tuple[Condition, ...] | None
    required: tuple[str, ...]
    time: str
    type: str
    strict: bool
    columns: Mapping[str, FileColumn]

    def skips_file(self, uri: str) -> bool:
        """Return whether a file can be skipped by the names of its folders."""
        if self.condition is None:
            return False
        folders = {name for name, column in self.columns.items() if column.folder}
        if not columns_of(self.condition) & folders:
            return False

        def bounds(name: str) -> Bounds:
            return of_folder(uri, self.columns[name]) if name in folders else Bounds()

        return not outcome(self.condition, bounds) & Outcome.TRUE

    def skips(self, statistics: Statistics, group: int, *, usable: bool) -> bool:
        """Return whether a row group can be skipped; `usable` says that all times are in range."""
        cached_bounds: dict[str, Bounds] = {}

        def bounds(name: str) -> Bounds:
            if name not in cached_bounds:
                cached_bounds[name] = statistics(group, name)
            return cached_bounds[name]

        if self.condition is not None and not outcome(self.condition, bounds) & Outcome.TRUE:
            return True
        if self.strict and not (usable and self._has_times_and_types(bounds)):
            return False
        if any(not (bounds(name).values or bounds(name).nans) for name in self.required):
            return True
        return self.interests is not None and not any(
            outcome(interest, bounds, nan_is_null=True) & Outcome.TRUE
            for interest in self.interests
        )

    def _has_times_and_types(self, bounds: BoundsOf) -> bool:
        """Return whether all events have a time and a type."""
        time_and_type = bounds(self.time), bounds(self.type)
        return not any(side.nulls or side.nans for side in time_and_type)


def interests_of(
    units: Sequence[Unit], names: Mapping[str, str], kind: pa.DataType, type_name: str
) -> tuple[Condition, ...] | None:
    """Return conditions of which each relevant event satisfies at least one; None: all events.

    `names` maps the events' columns, except computed ones, to names in the files; `kind` is the
    Arrow type of the column `type_name` in the files, which has the events' types.
    """
    if any(unit.keeps_all for unit in units):
        return None
    interests: dict[Condition, None] = {}
    for unit in units:
        predicate_sets = dict(unit.predicate_sets)
        for type_classes in unit.classes.types:
            is_type = _is_type(type_classes.type, kind, type_name)
            if is_type is None:
                continue
            needs = (
                predicate_sets.get(type_classes.type, (frozenset(),))
                if _cannot_fail(type_classes)
                else (frozenset(),)
            )
            for predicates in needs:
                parts = [_condition(part, names) for part in sorted(predicates, key=repr)]
                interests[reduce(Conjunction, parts, is_type)] = None
    return tuple(interests)


def _is_type(name: str, kind: pa.DataType, column: str) -> Condition | None:
    """Return the condition that an event has a type; None if no event can have it."""
    if not pa.types.is_integer(kind):
        return IsIn(column, (pa.scalar(name),))
    try:
        number = int(name)
    except ValueError:
        return None
    return IsIn(column, (pa.scalar(number),)) if str(number) == name else None


def _cannot_fail(classes: TypeClasses) -> bool:
    """Return whether no predicate of a type can raise an error."""
    return all(_compares(digit.predicate) for digit in classes.digits if isinstance(digit, Bit))


def _compares(expression: Expression) -> bool:
    match expression:
        case Binary(operator, left, right):
            return not operator.is_arithmetic and _compares(left) and _compares(right)
        case Not(operand) | IsNull(operand) | InList(operand, _) | Like(operand, _):
            return _compares(operand)
        case Attribute() | Literal():
            return True
        case _:
            return False


def _condition(expression: Expression, names: Mapping[str, str]) -> Condition:
    """Return a predicate of a query as a condition over the files' columns."""
    match expression:
        case Binary(Operator.AND, left, right):
            return Conjunction(_condition(left, names), _condition(right, names))
        case Binary(Operator.OR, left, right):
            return Disjunction(_condition(left, names), _condition(right, names))
        case Not(operand):
            return Negation(_condition(operand, names))
        case _ if any(read.name not in names for read in attributes(expression)):
            return Undecided()  # computed by SQL
        case IsNull(Attribute(_, str(name))):
            return NullTest(names[name])
        case Attribute(_, str(name)):
            return IsIn(names[name], (pa.scalar(True),))
        case InList(Attribute(_, str(name)), choices) if choices and all(
            map(_is_arrow_constant, choices)
        ):
            return IsIn(names[name], tuple(pa.scalar(choice.value) for choice in choices))
        case Binary(operator, Literal() as value, Attribute() as attribute):
            return _condition(Binary(MIRRORED.get(operator, operator), attribute, value), names)
        case Binary(operator, Attribute(_, str(name)), Literal() as constant) if _is_arrow_constant(
            constant
        ):
            value = pa.scalar(constant.value)
            if operator in {Operator.EQ, Operator.NE}:
                same = IsIn(names[name], (value,))
                return same if operator is Operator.EQ else Negation(same)
            return Comparison(names[name], operator, value) if operator in MIRRORED else Undecided()
        case _:
            return Undecided()


def _is_arrow_constant(constant: Literal) -> bool:
    """Return whether Arrow can represent a constant."""
    value = constant.value
    return value is not None and not (isinstance(value, int) and abs(value) >= 1 << 63)
