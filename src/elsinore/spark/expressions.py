"""Expressions as Spark columns, in SQL's three-valued logic.

The counterpart of `elsinore.runtime.expressions`: NaN counts as null, a comparison with null is
null, division by zero is null, whole numbers that overflow stop the run (Spark's ANSI mode).
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql import types as T  # noqa: N812

from elsinore.model.expression import (
    Attribute,
    Binary,
    Call,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
    Operator,
)
from elsinore.numeric.constants import held, moment

FEW_BITS = (T.ByteType, T.ShortType, T.IntegerType)


class Columns:
    """The columns that expressions read, by name, as expressions see them."""

    def __init__(self, frame: DataFrame) -> None:
        self._types = {field.name: field.dataType for field in frame.schema.fields}

    def value(self, name: str) -> Column:
        """Return an attribute's column; decimals as doubles, NaN as null."""
        column = F.col(quoted(name))
        kind = self._types[name]
        if isinstance(kind, T.DecimalType):
            return column.cast("double")
        if isinstance(kind, T.DoubleType | T.FloatType):
            return _known(column)
        return column

    def evaluate(self, expression: Expression) -> Column:
        """Return an expression over one event as a column."""
        match expression:
            case Literal(value):
                return F.lit(held(value))
            case Attribute(_, str(name)):
                return self.value(name)
            case Not(operand):
                return ~self.evaluate(operand)
            case Negative(operand):
                return -self._number(operand)
            case IsNull(operand):
                return self.evaluate(operand).isNull()
            case InList(operand, choices):
                return self._in_list(operand, choices)
            case Like(operand, pattern):
                return self.evaluate(operand).like(pattern)
            case Call("ABS", (operand,)):
                return F.abs(self._number(operand))
            case Call("LOG2", (operand,)):
                number = self.evaluate(operand)
                return F.when(number > 0, F.log2(number))
            case Binary(operator, left, right) if operator.is_arithmetic:
                return _known(_combine(operator, self._number(left), self._number(right)))
            case Binary(operator, left, right):
                return _combine(operator, self._beside(left, right), self._beside(right, left))
            case _:
                raise TypeError(f"not an expression over one event: {expression}")

    def _number(self, operand: Expression) -> Column:
        """Return what is computed with: whole numbers of few bits as such of 64."""
        value = self.evaluate(operand)
        match operand:
            case Attribute(_, str(name)) if isinstance(self._types[name], FEW_BITS):
                return value.cast("long")
            case Literal(constant) if isinstance(held(constant), int):
                return value.cast("long")
        return value

    def _in_list(self, operand: Expression, choices: tuple[Literal, ...]) -> Column:
        value = self.evaluate(operand)
        verdict: Column = F.lit(False)
        for choice in choices:
            verdict = verdict | (value == self._beside(choice, operand))
        return verdict

    def _beside(self, part: Expression, opposite: Expression) -> Column:
        """Return a side of a comparison; a text beside a time is one, UTC if it has no zone.

        Spark would take it for one of the session's zone, or leave its zone out.
        """
        match part, opposite:
            case Literal(str(text)), Attribute(_, str(name)):
                kind = self._types[name]
                if isinstance(kind, T.TimestampType | T.TimestampNTZType):
                    zone = "Z" if isinstance(kind, T.TimestampType) else ""
                    utc = moment(text, pa.timestamp("us")).as_py().isoformat()
                    return F.lit(utc + zone).cast(kind)
        return self.evaluate(part)


def quoted(name: str) -> str:
    """Return a column's name so that Spark takes it as it is.

    >>> quoted("a.b")
    '`a.b`'
    """
    return f"`{name.replace('`', '``')}`"


def tried(column: Column) -> Column:
    """Return a column that is null for rows for which it fails, instead of failing the job.

    Spark has an expression for that, of which its functions `try_...` are made; over Spark Connect
    it cannot be named, and the column is returned as it is.
    """
    if not hasattr(column, "_jc"):
        return column
    from pyspark import SparkContext  # noqa: PLC0415 - clients of Spark Connect have none
    from pyspark.sql.classic.column import Column as ClassicColumn  # noqa: PLC0415

    jvm: Any = SparkContext.getOrCreate()._jvm
    expressions = jvm.org.apache.spark.sql.classic.ExpressionUtils
    catalyst = jvm.org.apache.spark.sql.catalyst.expressions
    return ClassicColumn(expressions.column(catalyst.TryEval(expressions.expression(column._jc))))


def _known(number: Column) -> Column:
    """Return a number as it is, NaN (such as what infinity less infinity gives) as null."""
    return F.when(~F.isnan(number), number)


def _combine(operator: Operator, left: Column, right: Column) -> Column:
    match operator:
        case Operator.AND:
            return left & right
        case Operator.OR:
            return left | right
        case Operator.EQ:
            return left == right
        case Operator.NE:
            return left != right
        case Operator.LT:
            return left < right
        case Operator.LE:
            return left <= right
        case Operator.GT:
            return left > right
        case Operator.GE:
            return left >= right
        case Operator.ADD:
            return left + right
        case Operator.SUB:
            return left - right
        case Operator.MUL:
            return left * right
        case Operator.DIV:
            return left.cast("double") / F.when(right != 0, right.cast("double"))
        case _:
            return left % F.when(right != 0, right)
