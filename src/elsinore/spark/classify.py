"""Events' classes as a Spark column, computed by generated code before the shuffle."""

from __future__ import annotations

from functools import reduce
from operator import add, or_

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from elsinore.model.expression import Expression
from elsinore.plan import Unit
from elsinore.plan.classes import Bit, Choices, Cuts, Digit, TypeClasses
from elsinore.spark.expressions import Columns


def class_column(unit: Unit, type_column: Column, columns: Columns) -> Column:
    """Return each event's class as a bigint; null for events that no query uses."""
    predicate_sets = dict(unit.predicate_sets)
    result: Column | None = None
    for type_classes in unit.classes.types:
        needs = predicate_sets.get(type_classes.type, (frozenset(),))
        code = _code(type_classes, columns)
        if frozenset() not in needs:
            code = F.when(
                reduce(or_, (_all(type_classes, columns) for type_classes in needs)), code
            )
        is_type = type_column == F.lit(type_classes.type)
        result = F.when(is_type, code) if result is None else result.when(is_type, code)
    return F.lit(None).cast("bigint") if result is None else result


def _all(predicates: frozenset[Expression], columns: Columns) -> Column:
    ordered = sorted(predicates, key=repr)
    return reduce(lambda a, b: a & b, (columns.evaluate(predicate) for predicate in ordered))


def _code(classes: TypeClasses, columns: Columns) -> Column:
    """Return the number of a type's class: its offset plus its digits' mixed-radix number."""
    number: Column = F.lit(0).cast("bigint")
    for digit in classes.digits:
        number = number * F.lit(digit.radix).cast("bigint") + _digit(digit, columns)
    return number + F.lit(classes.offset).cast("bigint")


def _digit(digit: Digit, columns: Columns) -> Column:
    """Return the column of a digit: a predicate's truth, or a value's region or choice."""
    match digit:
        case Cuts(attribute, points, _):
            value = columns.value(attribute)
            passed = [
                (value > F.lit(point)).cast("int") + (value >= F.lit(point)).cast("int")
                for point in points
            ]
            return F.coalesce(reduce(add, passed) + F.lit(1), F.lit(0)).cast("bigint")
        case Choices(attribute):
            place = F.when(columns.value(attribute).isNull(), F.lit(0))
            for number, test in enumerate(digit.tests()):
                place = place.when(columns.evaluate(test), F.lit(number + 2))
            return place.otherwise(F.lit(1)).cast("bigint")
        case Bit(predicate):
            return F.coalesce(columns.evaluate(predicate).cast("boolean"), F.lit(False)).cast(
                "bigint"
            )
