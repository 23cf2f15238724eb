"""The types of events, as text."""

from __future__ import annotations

import pyarrow as pa

from elsinore.errors import InputError, option
from elsinore.expressions.reasons import reason
from elsinore.model import AttributeKind
from elsinore.runtime.schema import kind_of
from elsinore.runtime.sql import evaluate_sql


def types_of(table: pa.Table, expression: str) -> pa.Array:
    """Return the type of each event: a column's values or those of an SQL expression, as text.

    Raises InputError for an unknown column, and for values that cannot be converted to text.
    """
    types = evaluate_sql(expression, table, "type")
    if kind_of(types.type) is AttributeKind.STRING:
        return types
    try:
        return types.cast(pa.string())
    except pa.ArrowException as error:
        raise InputError(
            f"The type of an event is text: {reason(error)}. Name another column with "
            f"{option('type')}."
        ) from error
