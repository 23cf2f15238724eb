"""Expressions as Spark columns, in SQL's three-valued logic.

The counterpart of `elsinore.expressions.columns`: NaN counts as null; comparisons with null,
divisions by zero, and integers, times or durations that overflow 64 bits are null.
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
from elsinore.model.spark_sql import quoted
from elsinore.model.types import DURATION, TIME, kind_of
from elsinore.numeric.constants import engine_constant, moment
from elsinore.spark.column_types import kind_of_field
from elsinore.spark.durations import (
    as_length,
    as_time,
    opposite,
    per_microsecond,
    scaled,
    size,
    ticks_of,
)
from elsinore.spark.quiet import silenced

_COUNTED = {TIME, DURATION}
FEW_BITS = (T.ByteType, T.ShortType, T.IntegerType)


class Columns:
    """The columns that expressions read, by name, with the values that expressions use."""

    def __init__(self, frame: DataFrame) -> None:
        self._types = {field.name: field.dataType for field in frame.schema.fields}
        self._kinds = {field.name: kind_of_field(field) for field in frame.schema.fields}

    def value(self, name: str) -> Column:
        """Return an attribute's column; decimals as doubles, NaN as null."""
        column = F.col(quoted(name))
        kind = self._types[name]
        if isinstance(kind, T.DecimalType):
            return column.cast("double")
        if isinstance(kind, T.DoubleType | T.FloatType):
            return _nan_as_null(column)
        return column

    def double(self, name: str) -> Column:
        """Return an attribute's column as doubles; durations as microseconds."""
        if isinstance(self._types[name], T.DayTimeIntervalType):
            return ticks_of(F.col(quoted(name)), self._types[name]).cast("double")
        return self.value(name).cast("double")

    def evaluate(self, expression: Expression) -> Column:
        """Return an expression over one event as a column."""
        match expression:
            case Literal(value):
                return F.lit(engine_constant(value))
            case Duration() | Negative(Duration()):
                return as_length(self._ticks(expression))
            case Attribute(_, str(name)):
                return self.value(name)
            case Not(operand):
                return ~self.evaluate(operand)
            case Negative() | Call("ABS") if self._kind(expression) is DURATION:
                return self._from_ticks(expression)
            case Negative(operand) if self._kind(operand) is AttributeKind.INTEGER:
                return opposite(self._number(operand))
            case Negative(operand):
                return -self._number(operand)
            case IsNull(operand):
                return self.evaluate(operand).isNull()
            case InList(operand, choices):
                return self._in_list(operand, choices)
            case Like(operand, pattern):
                return self.evaluate(operand).like(pattern)
            case Call("ABS", (operand,)) if self._kind(operand) is AttributeKind.INTEGER:
                return size(self._number(operand))
            case Call("ABS", (operand,)):
                return F.abs(self._number(operand))
            case Call("LOG2", (operand,)):
                number = self.evaluate(operand)
                return F.when(number > 0, F.log2(number))
            case Binary(operator) if operator.is_arithmetic and self._kind(expression) in _COUNTED:
                return self._from_ticks(expression)
            case Binary(Operator.DIV, left, right) if self._kind(left) is DURATION:
                return _combine(Operator.DIV, *self._both_ticks(left, right))
            case Binary(operator, left, right) if operator.is_comparison and self._by_ticks(
                left, right
            ):
                return _combine(operator, *self._both_ticks(left, right, is_wide=True))
            case Binary(operator, left, right) if operator.is_arithmetic:
                return _nan_as_null(_combine(operator, self._number(left), self._number(right)))
            case Binary(operator, left, right):
                return _combine(
                    operator,
                    self._comparison_operand(left, right),
                    self._comparison_operand(right, left),
                )
            case _:
                raise TypeError(f"not an expression over one event: {expression}")

    def _kind(self, node: Expression) -> AttributeKind | None:
        return kind_of(node, lambda read: self._kinds.get(read.name or ""))

    def _by_ticks(self, left: Expression, right: Expression) -> bool:
        """Return whether two operands are times or durations, but not columns of the same type."""
        if {self._kind(left), self._kind(right)} not in ({TIME}, {DURATION}):
            return False
        match left, right:
            case Attribute(_, str(left_name)), Attribute(_, str(right_name)):
                return self._types[left_name] != self._types[right_name]
        return True

    def _both_ticks(
        self, left: Expression, right: Expression, *, is_wide: bool = False
    ) -> tuple[Column, Column]:
        """Return two times, or durations, as ticks of the same unit; `is_wide`: of any size."""
        scales = per_microsecond(left), per_microsecond(right)
        if is_wide and scales[0] != scales[1]:
            return self._wide_ticks(left, max(scales)), self._wide_ticks(right, max(scales))
        return self._ticks(left, max(scales)), self._ticks(right, max(scales))

    def _wide_ticks(self, node: Expression, scale: int) -> Column:
        """Return a time or a duration as a decimal number of ticks, `scale` per microsecond."""
        factor = scale // per_microsecond(node)
        return self._ticks(node).cast("decimal(20,0)") * F.lit(factor)

    def _ticks(self, node: Expression, scale: int | None = None) -> Column:
        """Return a time or a duration as ticks, `scale` of them per microsecond."""
        node_scale = per_microsecond(node)
        match node:
            case Duration(nanoseconds):
                ticks = F.lit(nanoseconds * node_scale // 1_000).cast("bigint")
            case Negative(operand):
                ticks = opposite(self._ticks(operand, node_scale))
            case Call("ABS", (operand,)):
                ticks = size(self._ticks(operand, node_scale))
            case Attribute(_, str(name)):
                ticks = ticks_of(F.col(quoted(name)), self._types[name])
            case Binary(Operator.ADD | Operator.SUB as operator, left, right):
                ticks = _combine(
                    operator, self._ticks(left, node_scale), self._ticks(right, node_scale)
                )
            case Binary(operator, left, right):
                if self._kind(left) is not DURATION:
                    left, right = right, left
                is_whole = self._kind(right) is AttributeKind.INTEGER
                number = self._number(right)
                ticks = scaled(operator, self._ticks(left, node_scale), number, is_whole=is_whole)
            case _:
                raise TypeError(f"not a time or a length of time: {node}")
        factor = (scale or node_scale) // node_scale
        return ticks if factor == 1 else F.try_multiply(ticks, F.lit(factor).cast("bigint"))

    def _from_ticks(self, node: Expression) -> Column:
        """Return a computed time as a timestamp, a computed duration as an interval."""
        ticks = F.call_function("div", self._ticks(node, 1_000), F.lit(1_000).cast("bigint"))
        ticks = self._ticks(node) if per_microsecond(node) == 1 else ticks
        if self._kind(node) is DURATION:
            return as_length(ticks)
        kinds = (self._types[read.name] for read in attributes(node) if read.name in self._types)
        has_zone = any(isinstance(kind, T.TimestampType) for kind in kinds)
        return as_time(ticks, T.TimestampType() if has_zone else T.TimestampNTZType())

    def _number(self, operand: Expression) -> Column:
        """Return an operand of arithmetic: integers as 64-bit integers."""
        value = self.evaluate(operand)
        match operand:
            case Attribute(_, str(name)) if isinstance(self._types[name], FEW_BITS):
                return value.cast("long")
            case Attribute(_, str(name)) if isinstance(self._types[name], T.FloatType):
                return value.cast("double")
            case Literal(constant) if isinstance(engine_constant(constant), int):
                return value.cast("long")
        return value

    def _in_list(self, operand: Expression, choices: tuple[Literal, ...]) -> Column:
        value = self.evaluate(operand)
        verdict: Column = F.lit(False)
        for choice in choices:
            verdict = verdict | (value == self._comparison_operand(choice, operand))
        return verdict

    def _comparison_operand(self, part: Expression, opposite: Expression) -> Column:
        """Return an operand of a comparison; text beside a time is parsed, as UTC without a zone.

        Spark would parse it in the session's zone, or ignore its zone.
        """
        match part, opposite:
            case Literal(str(text)), Attribute(_, str(name)):
                kind = self._types[name]
                if isinstance(kind, T.TimestampType | T.TimestampNTZType):
                    zone = "Z" if isinstance(kind, T.TimestampType) else ""
                    utc = moment(text, pa.timestamp("us")).as_py().isoformat()
                    return F.lit(utc + zone).cast(kind)
                if isinstance(kind, T.DateType):
                    literal = moment(text, pa.date32())
                    is_date = pa.types.is_date(literal.type)
                    beside_dates = T.DateType() if is_date else T.TimestampNTZType()
                    return F.lit(literal.as_py().isoformat()).cast(beside_dates)
        return self.evaluate(part)


def sql_column(frame: DataFrame, text: str) -> Column:
    """Return an SQL expression over a frame's columns, null for rows for which it fails.

    Raises AnalysisException, which PySpark does not log, if it does not fit the columns.
    """
    with silenced():
        column = null_if_failing(F.expr(text))
        _ = frame.select(column).schema  # Spark Connect analyses only now
    return column


def null_if_failing(column: Column) -> Column:
    """Return a column that is null for rows for which it fails, instead of failing the job.

    It wraps the column in Spark's internal expression of the functions `try_...`. Spark Connect
    cannot name that, so there the column is returned unchanged. A condition that is always true
    prevents common subexpression elimination, which would evaluate the column outside of it.
    """
    if not hasattr(column, "_jc"):
        return column
    from pyspark import SparkContext  # noqa: PLC0415 - clients of Spark Connect have none
    from pyspark.sql.classic.column import Column as ClassicColumn  # noqa: PLC0415

    jvm: Any = SparkContext.getOrCreate()._jvm
    expressions = jvm.org.apache.spark.sql.classic.ExpressionUtils
    catalyst = jvm.org.apache.spark.sql.catalyst.expressions
    alone = F.when(F.spark_partition_id() >= F.lit(0), column)
    return ClassicColumn(expressions.column(catalyst.TryEval(expressions.expression(alone._jc))))


def _nan_as_null(number: Column) -> Column:
    """Return a number with NaN (such as infinity less infinity) as null."""
    return F.when(~F.isnan(number), number)


def _combine(operator: Operator, left: Column, right: Column) -> Column:
    """Return the column of an operator of two columns."""
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
            return F.try_add(left, right)
        case Operator.SUB:
            return F.try_subtract(left, right)
        case Operator.MUL:
            return F.try_multiply(left, right)
        case Operator.DIV:
            return left.cast("double") / F.when(right != 0, right.cast("double"))
        case _:
            return left % F.when(right != 0, right)
